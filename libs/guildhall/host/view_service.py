"""ViewService of any game: views, events, streams, and the records of finished games."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from guildhall.host import page_tokens
from guildhall.host.failures import shutting_down
from guildhall.host.messages import Messages, parse
from guildhall.host.read_side import ReadSide
from guildhall.host.watch import Watch, WatchLimits
from guildhall.kernel.v1.structs import decode_Record
from guildhall.rpc.deadlines import patience
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from guildhall.rpc.server import Context

DEFAULT_PAGE = 100
MAX_PAGE = 1_000
PAGE_BYTES = 1024 * 1024
"""A page ends early when its records are larger, so that any client can take it."""
_CHUNK = 100


class ViewService:
    """One generic servicer; methods take and give bytes, as `rpc.server.handlers` calls them."""

    def __init__(self, reads: ReadSide, messages: Messages, watching: WatchLimits) -> None:
        self._reads = reads
        self._messages = messages
        self._wire = messages.wire
        self._watching = watching
        self._watches: set[Watch] = set()
        self._closing = False

    def close(self) -> None:
        """Take no more requests, and end the open streams."""
        self._closing = True
        for watch in self._watches:
            watch.end(shutting_down())

    async def get_view(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(self._wire.decode_GetViewRequest, request)
        visible = await self._reads.visible(asked.game_id, caller)
        game = await self._reads.newest(visible, asked.min_version, patience(context))
        if asked.at_version is not None and asked.at_version != game.version:
            _check_version(asked.at_version, 1, game.version, "at_version")
            game = await self._reads.at(visible, asked.at_version)
        answer = self._wire.GetViewResponse(game.version, game.view(visible.seat))
        response: bytes = self._wire.encode_GetViewResponse(answer)
        return response

    async def watch_view(self, request: bytes, caller: Caller, context: Context) -> AsyncGenerator[bytes, None]:
        self._check_open()
        asked = parse(self._wire.decode_WatchViewRequest, request)
        visible = await self._reads.visible(asked.game_id, caller)
        events = asked.mode == self._wire.WatchMode.EVENTS
        watch = Watch(self._reads, self._messages, visible, caller, self._watching, events=events)
        self._watches.add(watch)
        try:
            async with aclosing(watch.messages_after(asked.after_version)) as messages:
                async for message in messages:
                    yield message
        finally:
            self._watches.discard(watch)
            watch.unsubscribe()

    async def list_events(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(self._wire.decode_ListEventsRequest, request)
        if asked.page_size > MAX_PAGE:
            raise Failure("INVALID_PAGE_SIZE", f"A page has at most {MAX_PAGE} versions.", field="page_size")
        visible = await self._reads.visible(asked.game_id, caller)
        game = await self._reads.newest(visible, 0, patience(context))
        newest, seed = game.version, game.created.seed
        first = page_tokens.opened(seed, caller.subject, asked.page_token) if asked.page_token else 1
        last = min(newest, first + (asked.page_size or DEFAULT_PAGE) - 1)
        batches, size = [], 0
        for version, (body, digest) in enumerate(await self._reads.records(visible, first, last), first):
            if self._reads.folds(visible, version):
                record = decode_Record(body)
                batches.append(self._messages.batch(record, digest, self._messages.events(record), visible.seat))
            else:
                batches.append(self._wire.EventBatch(version=version, hash=digest))
            size += len(body)
            if size > PAGE_BYTES:
                last = version
                break
        token = page_tokens.seal(seed, caller.subject, last + 1) if last < newest else ""
        response: bytes = self._wire.encode_ListEventsResponse(self._wire.ListEventsResponse(tuple(batches), token))
        return response

    async def get_records(self, request: bytes, caller: Caller, context: Context) -> AsyncGenerator[bytes, None]:
        self._check_open()
        asked = parse(self._wire.decode_GetRecordsRequest, request)
        visible = await self._reads.visible(asked.game_id, caller)
        if visible.seat is None:
            raise Failure("NO_SEAT", "The records of a game open to its seats only.")
        game = await self._reads.newest(visible, 0, patience(context))
        if game.ended is None:
            raise Failure(
                "GAME_NOT_FINISHED", "The records open when the game is over.", {"version": str(game.version)}
            )
        newest = game.version
        for first in range(1, newest + 1, _CHUNK):
            for body, digest in await self._reads.records(visible, first, min(newest, first + _CHUNK - 1)):
                self._check_open()
                response: bytes = self._wire.encode_GetRecordsResponse(self._wire.GetRecordsResponse(body, digest))
                yield response
            await asyncio.sleep(0)

    def _check_open(self) -> None:
        if self._closing:
            raise shutting_down()


def _check_version(version: int, first: int, last: int, field: str) -> None:
    if not first <= version <= last:
        detail: dict[str, Any] = {"version": str(last)}
        raise Failure("VERSION_OUT_OF_RANGE", f"The game has versions {first} to {last}.", detail, field)
