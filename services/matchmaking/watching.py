"""Streams of what one subject has in a pool: the newest state, and each that comes after it.

Of changes close together only the last is told, so a slow reader costs nothing and is never dropped.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.pool import Pool

TOGETHER_SECONDS = 0.1
"""Changes that come so soon after a message are told together."""


@dataclass(frozen=True, slots=True)
class Told:
    """One message of a stream, and whether it is the last."""

    message: bytes
    last: bool = False


class Watch:
    """One subject's stream. `tell` makes a message of the pool as it stands; equal ones are not repeated."""

    def __init__(self, hosted: HostedPool, caller: Caller, tell: Callable[[Pool], Told]) -> None:
        self._hosted = hosted
        self._caller = caller
        self._tell = tell
        self._changed = True
        self._end: Failure | None = None
        self._wake = asyncio.Event()
        self._unsubscribe: Callable[[], None] = lambda: None

    def hear(self) -> None:
        """Something of the subject may have changed."""
        self._changed = True
        self._wake.set()

    def end(self, why: Failure) -> None:
        """End the stream as soon as what there is to tell is told."""
        self._end = why
        self._wake.set()

    async def messages(self) -> AsyncGenerator[bytes, None]:
        """Encoded responses. Raises Failure TOKEN_EXPIRED, and whatever `end` was told."""

        told: bytes | None = None
        try:
            await self._hosted.read(lambda _: self._subscribe())
            while True:
                self._caller.check_expiry()
                end = self._end
                if self._changed:
                    self._changed = False
                    newest = await self._hosted.at_rest(lambda: self._tell(self._hosted.pool))
                    if newest.message != told:
                        told = newest.message
                        yield told
                        if newest.last:
                            return
                        await asyncio.sleep(TOGETHER_SECONDS)
                if end is not None:
                    raise end
                await self._woken()
        finally:
            self._unsubscribe()

    def _subscribe(self) -> None:
        # Whoever was asked may have left meanwhile, and nobody would end a stream that begins after that.
        self._hosted.check()
        self._unsubscribe = self._hosted.subscribe(self._caller.subject, self)

    async def _woken(self) -> None:
        """Returns when there may be something to do, at the latest when the token expires."""
        self._wake.clear()
        if self._changed or self._end is not None:
            return
        try:
            async with asyncio.timeout(max(0.0, self._caller.expires - time.time())):
                await self._wake.wait()
        except TimeoutError:
            return
