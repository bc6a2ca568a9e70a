"""A stream of a game: first the whole view, then every version as its viewer may see it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Any

from guildhall.host.failures import quarantined
from guildhall.host.messages import Messages
from guildhall.kernel.game import Game
from guildhall.kernel.v1.structs import Record, Restored, Undone, decode_Record
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from guildhall.telemetry import metrics
from services.views.live_games import Published
from services.views.reads import RedisReadSide, Seen


@dataclass(frozen=True)
class WatchLimits:
    """Bounds and rhythm of a stream: messages that may wait for a slow watcher, seconds between heartbeats."""

    queue: int = 256
    heartbeat_seconds: float = 15.0


class Watch:
    """One watcher's stream. Versions come in order, none twice, none left out."""

    __slots__ = (
        "__weakref__",
        "_caller",
        "_due",
        "_end",
        "_events",
        "_limits",
        "_messages",
        "_over",
        "_queue",
        "_reads",
        "_seen",
        "_sent",
        "_viewer",
        "_waiting",
        "_wire",
    )

    def __init__(
        self,
        reads: RedisReadSide,
        messages: Messages,
        seen: Seen,
        caller: Caller,
        limits: WatchLimits,
        *,
        events: bool,
    ) -> None:
        self._reads = reads
        self._messages = messages
        self._wire = messages.wire
        self._seen = seen
        self._viewer = seen.seat
        self._caller = caller
        self._limits = limits
        self._events = events
        # Thousands may be open in which nothing happens: a list and a future that is made when it is needed are small.
        self._queue: list[tuple[int, bytes, bool]] = []
        self._waiting: asyncio.Future[None] | None = None
        self._due = 0.0
        self._end: Failure | None = None
        self._over = False
        self._sent = 0

    def end(self, why: Failure) -> None:
        """End the stream with this failure as soon as what was queued is gone; while it catches up, at once."""
        self._end = why
        self._wake()

    def unsubscribe(self) -> None:
        """Hear no more of the game."""
        self._seen.live.watchers.discard(self)

    @property
    def over(self) -> bool:
        """Whether the game's last version was given: `next` would wait for ever."""
        return self._over

    async def next(self) -> bytes:
        """The encoded WatchViewResponse that follows `beginning`: the next version, or a heartbeat.

        Raises Failure: TOKEN_EXPIRED, SLOW_WATCHER and whatever `end` was told.
        """
        # All in one coroutine: thousands wait here, each with every coroutine that it is in.
        if not self._queue and self._end is None:
            loop = asyncio.get_running_loop()
            self._due = loop.time() + self._limits.heartbeat_seconds
            self._waiting = loop.create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        self._caller.check_expiry()
        if self._queue:
            self._sent, message, self._over = self._queue.pop(0)
            return message
        self._check()
        return self._encode(self._sent, {}, heartbeat=self._wire.Heartbeat())

    async def beginning(self, after: int | None, seconds: float) -> AsyncGenerator[bytes, None]:
        """Encoded WatchViewResponses: those after a version up to the newest, or that alone; from there on it is heard.

        A version that is not here yet, though in the log, is waited for, for so many seconds.

        Raises Failure VERSION_OUT_OF_RANGE, and as `next`.
        """
        game = await self._reads.having(self._seen, after or 0, seconds, "after_version")
        # Nothing may be awaited from here until the watcher is subscribed: it would miss a version.
        newest, self._over = game.version, game.ended is not None
        open_parts = self._open_parts(game)
        first = self._first(game, open_parts) if after is None else None
        if not self._over:
            self._reads.subscribe(self._seen, self)
        self._sent = newest if after is None else after
        if first is not None:
            yield first
        elif self._sent == newest:
            yield self._encode(newest, open_parts, heartbeat=self._wire.Heartbeat())
        else:
            async for message in self._caught_up(newest, open_parts):
                yield message

    def _first(self, game: Game, open_parts: dict[str, Any]) -> bytes:
        """The whole view, made once for all who begin at this version and see the same."""
        shared = self._seen.live.shared
        key = ("first", self._viewer)
        if key not in shared:
            shared[key] = self._encode(game.version, open_parts, view=game.view(self._viewer))
        return shared[key]

    # --- catching up

    async def _caught_up(self, newest: int, open_parts: dict[str, Any]) -> AsyncIterator[bytes]:
        """The versions after `_sent` up to `newest`, from the log. Raises Failure GAME_QUARANTINED where that is not
        reached.
        """
        begin = self._sent
        before = await self._reads.at(self._seen, begin) if begin else None
        async for game, body in self._reads.states(self._seen, before, begin + 1, newest):
            record = decode_Record(body)
            parts = open_parts if record.seq == newest else {}
            self._sent = record.seq
            yield self._version(game, record, game.hash, self._messages.events(record), parts)
            self._check()
        if self._sent != newest:
            raise quarantined()

    # --- live

    def hear(self, published: Published) -> None:
        """A new version, while the game stands at it."""
        if len(self._queue) >= self._limits.queue:
            self.unsubscribe()
            self._queue.clear()
            metrics.SLOW_WATCHERS.labels(self._messages.rules.game).inc()
            self.end(Failure("SLOW_WATCHER", "This stream was too slow; resume after the version you have."))
            return
        key = (self._viewer, self._events)
        message = published.shared.get(key)
        game = published.game
        if message is None:
            parts = self._open_parts(game)
            message = self._version(game, published.record, published.hash, published.events, parts)
            published.shared[key] = message
        self._queue.append((game.version, message, game.ended is not None))
        self._wake()

    def tick(self, now: float, today: float) -> None:
        """Go on where a heartbeat is due (`now`: the loop's time), or the token has expired (`today`: Unix time).

        Somebody has to call it every now and then: a timer of its own for every wait would take more of the processor
        than all else that a stream does.
        """
        if now >= self._due or today >= self._caller.expires:
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _check(self) -> None:
        """Raises Failure where the stream has to end."""
        self._caller.check_expiry()
        if self._end is not None:
            # All watchers of a game are given the same failure: where this one was is nobody else's.
            raise self._end.told(after_version=str(self._sent))

    # --- messages

    def _version(
        self, game: Game, record: Record, digest: bytes, events: list[Any], open_parts: dict[str, Any]
    ) -> bytes:
        # Going back, a fold of events would need the state that nobody may see: the whole view instead.
        if self._events and not any(type(event) in (Undone, Restored) for event in events):
            batch = self._messages.batch(record, digest, events, self._viewer)
            return self._encode(game.version, open_parts, events=batch)
        return self._encode(game.version, open_parts, view=game.view(self._viewer))

    def _open_parts(self, game: Game) -> dict[str, Any]:
        """What goes beside the newest version only."""
        legal = self._messages.legal(game, self._viewer)
        return {"waiting_for": self._messages.waiting_for(game), "decisions": legal}

    def _encode(self, version: int, open_parts: dict[str, Any], **content: Any) -> bytes:
        answer = self._wire.WatchViewResponse(version=version, **content, **open_parts)
        encoded: bytes = self._wire.encode_WatchViewResponse(answer)
        return encoded
