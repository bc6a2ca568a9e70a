"""Streams whose client takes nothing: they are ended by somebody else, for they wait for the client themselves."""

import asyncio
import contextlib
import time
from typing import Any

from guildhall.rpc.deadlines import Context
from guildhall.rpc.errors import Failure, abort
from guildhall.rpc.identity import Caller
from guildhall.telemetry import logs, metrics

STALLED_SECONDS = 30.0
"""For how long a message may wait to be taken."""
LOOK_SECONDS = 1.0
_ABORT_SECONDS = 0.2
"""What it takes to hand gRPC the end of a stream; nobody waits until the client has taken that."""

_log = logs.get("rpc")


class Taking:
    """One open stream. `since`: since when (the loop's time) it waits for its client; 0.0 where it does not."""

    __slots__ = ("caller", "context", "since", "task")

    def __init__(self, caller: Caller, context: Context) -> None:
        self.caller = caller
        self.context = context
        self.since = 0.0
        self.task: asyncio.Task[Any] | None = asyncio.current_task()


class Stalls:
    """All streams of one method."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._open: set[Taking] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None

    def begin(self, caller: Caller, context: Context) -> Taking:
        """A stream is open, in this task, which is cancelled where its client takes nothing; until `end`."""
        taking = Taking(caller, context)
        self._open.add(taking)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return taking

    def end(self, taking: Taking) -> None:
        """The stream has ended."""
        self._open.discard(taking)

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        while self._open:
            await asyncio.sleep(LOOK_SECONDS)
            for taking in tuple(self._open):
                failure = _why(taking, loop.time())
                if failure is not None:
                    self._open.discard(taking)
                    ending = asyncio.create_task(self._end(taking, failure))
                    self._ending.add(ending)
                    ending.add_done_callback(self._ending.discard)

    async def _end(self, taking: Taking, failure: Failure) -> None:
        """The client reads why if it ever reads on; what the stream has is let go at once."""
        metrics.REQUESTS.labels(self._method, failure.reason).inc()
        _log.info("a stream that nobody reads is ended", method=self._method, why=failure.reason)
        telling = asyncio.create_task(abort(taking.context, failure))
        await asyncio.wait([telling], timeout=_ABORT_SECONDS)
        if taking.task is not None:
            taking.task.cancel()
        # gRPC tells by an exception that it has been aborted.
        with contextlib.suppress(Exception):
            await telling


def _why(taking: Taking, now: float) -> Failure | None:
    if not taking.since:
        return None
    if taking.caller.expires <= time.time():
        return Failure("TOKEN_EXPIRED", "The token has expired.")
    if now - taking.since >= STALLED_SECONDS:
        return Failure("SLOW_WATCHER", "Nobody took what this stream has; resume after the version you have.")
    return None
