"""ViewService of any game: views, events, streams, and the records of finished games."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from guildhall.host.failures import shutting_down
from guildhall.host.messages import Messages, parse
from guildhall.kernel.game import Game
from guildhall.kernel.v1.structs import decode_Record
from guildhall.rpc import pages
from guildhall.rpc.deadlines import patience
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from guildhall.rpc.server import Context
from services.views.reads import Recorded, RedisReadSide, Seen
from services.views.watch import Watch, WatchLimits

DEFAULT_PAGE = 100
MAX_PAGE = 1_000
PAGE_BYTES = 1024 * 1024
"""A page ends early when its records are larger, so that any client can take it,"""
PAGE_SECONDS = 5.0
"""and when it takes longer: nobody waits for so much in vain."""
_CHUNK = 100
REMEMBERED_VIEWS = 32
"""Views of earlier versions of one game, some KB each."""
TICK_SECONDS = 0.5
"""How late a heartbeat, or the end of a stream whose token has expired, may be."""


class ViewService:
    """One generic servicer; methods take and give bytes, as `rpc.server.handlers` calls them."""

    def __init__(self, reads: RedisReadSide, messages: Messages, watching: WatchLimits) -> None:
        self._reads = reads
        self._messages = messages
        self._wire = messages.wire
        self._watching = watching
        self._watches: set[Watch] = set()
        self._ticking: asyncio.Task[None] | None = None
        self._closing = False

    def close(self) -> None:
        """Take no more requests, and end the open streams."""
        self._closing = True
        for watch in self._watches:
            watch.end(shutting_down())

    async def get_view(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(self._wire.decode_GetViewRequest, request)
        seen = await self._reads.visible(asked.game_id, caller, patience(context))
        game = await self._reads.newest(seen, asked.min_version, patience(context))
        if asked.at_version is not None and asked.at_version != game.version:
            game = await self._reads.having(seen, asked.at_version, patience(context), "at_version")
            if asked.at_version < 1:
                detail = {"version": str(game.version)}
                raise Failure("VERSION_OUT_OF_RANGE", "Versions begin with 1.", detail, "at_version")
            if asked.at_version != game.version:
                return await self._earlier(seen, asked.at_version)
        shared = seen.live.shared
        key = ("GetView", seen.seat)
        if key not in shared:
            shared[key] = self._view(game, seen.seat)
        return shared[key]

    async def _earlier(self, seen: Seen, version: int) -> bytes:
        """A view of an earlier version, which never changes; the last ones of each game are remembered."""
        remembered, key = seen.live.earlier, (version, seen.seat)
        if key not in remembered:
            response = self._view(await self._reads.at(seen, version), seen.seat)
            remembered[key] = response
            if len(remembered) > REMEMBERED_VIEWS:
                remembered.popitem(last=False)
            return response
        remembered.move_to_end(key)
        return remembered[key]

    def _view(self, game: Game, seat: int | None) -> bytes:
        response: bytes = self._wire.encode_GetViewResponse(self._wire.GetViewResponse(game.version, game.view(seat)))
        return response

    async def watch_view(self, request: bytes, caller: Caller, context: Context) -> AsyncGenerator[bytes, None]:
        self._check_open()
        asked = parse(self._wire.decode_WatchViewRequest, request)
        seen = await self._reads.visible(asked.game_id, caller, patience(context))
        await self._reads.newest(seen, asked.min_version, patience(context))
        events = asked.mode == self._wire.WatchMode.EVENTS
        message = b""
        watch = Watch(self._reads, self._messages, seen, caller, self._watching, events=events)
        self._watches.add(watch)
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.create_task(self._tick())
        try:
            async with aclosing(watch.beginning(asked.after_version, patience(context))) as messages:
                async for message in messages:
                    yield message
            # What the beginning needed, a whole state among it, is let go before the long wait for what comes.
            del request, asked, seen, messages, message
            while not watch.over:
                yield await watch.next()
        finally:
            self._watches.discard(watch)
            watch.unsubscribe()

    async def _tick(self) -> None:
        """For as long as there are streams, their heartbeats and the ends of their tokens."""
        loop = asyncio.get_running_loop()
        while self._watches:
            await asyncio.sleep(min(TICK_SECONDS, self._watching.heartbeat_seconds / 4))
            now, today = loop.time(), time.time()
            for watch in tuple(self._watches):
                watch.tick(now, today)

    async def list_events(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(self._wire.decode_ListEventsRequest, request)
        count = pages.page_size(asked.page_size, DEFAULT_PAGE, MAX_PAGE, of="versions")
        seen = await self._reads.visible(asked.game_id, caller, patience(context))
        game = await self._reads.newest(seen, asked.min_version, patience(context))
        key = pages.game_key(game.created.seed)
        first = _first(key, caller, asked.page_token) if asked.page_token else 1
        newest = (await self._reads.having(seen, first, patience(context), "page_token")).version
        last = min(newest, first + count - 1)
        until = time.monotonic() + PAGE_SECONDS
        encoded: list[bytes] = []
        size = 0
        for begin in range(first, last + 1, _CHUNK):
            for recorded in await self._reads.records(seen, begin, min(last, begin + _CHUNK - 1)):
                encoded.append(self._page(self._batch(recorded, seen.seat)))
                # Of what is shown: where a page ends must not depend on what is not.
                size += len(encoded[-1])
                if size > PAGE_BYTES:
                    last = recorded.version
                    break
            if size > PAGE_BYTES:
                break
            if time.monotonic() >= until:
                last = min(last, begin + _CHUNK - 1)
                break
        token = pages.sealed(key, caller.subject, (last + 1).to_bytes(8, "big")) if last < newest else ""
        # Encoded messages one after another are their fields together.
        return b"".join([*encoded, self._page(token=token)])

    def _batch(self, recorded: Recorded, seat: int | None) -> Any:
        """A version's EventBatch, as that seat may see it."""
        if not recorded.folds:
            return self._wire.EventBatch(version=recorded.version, hash=recorded.hash)
        record = decode_Record(recorded.body)
        return self._messages.batch(record, recorded.hash, self._messages.events(record), seat)

    def _page(self, *batches: Any, token: str = "") -> bytes:
        encoded: bytes = self._wire.encode_ListEventsResponse(self._wire.ListEventsResponse(batches, token))
        return encoded

    async def get_records(self, request: bytes, caller: Caller, context: Context) -> AsyncGenerator[bytes, None]:
        self._check_open()
        asked = parse(self._wire.decode_GetRecordsRequest, request)
        seen = await self._reads.visible(asked.game_id, caller, patience(context))
        if seen.seat is None:
            raise Failure("NO_SEAT", "The records of a game open to its seats only.")
        game = await self._reads.newest(seen, asked.min_version, patience(context))
        if game.ended is None:
            raise Failure(
                "GAME_NOT_FINISHED", "The records open when the game is over.", {"version": str(game.version)}
            )
        newest = game.version
        for first in range(1, newest + 1, _CHUNK):
            for recorded in await self._reads.records(seen, first, min(newest, first + _CHUNK - 1)):
                self._check_open()
                caller.check_expiry()
                answer = self._wire.GetRecordsResponse(recorded.body, recorded.hash)
                response: bytes = self._wire.encode_GetRecordsResponse(answer)
                yield response
            await asyncio.sleep(0)

    def _check_open(self) -> None:
        if self._closing:
            raise shutting_down()


def _first(key: bytes, caller: Caller, token: str) -> int:
    """The version with which a page begins. Raises Failure INVALID_PAGE_TOKEN."""
    version = int.from_bytes(pages.opened(key, caller.subject, token), "big")
    if version < 1:
        # The seats of a finished game know its seed, and with it the key.
        raise Failure("INVALID_PAGE_TOKEN", "This page token is not one of this listing.", field="page_token")
    return version
