"""Who may read earlier versions from the log now: whoever asks for many waits for itself, and not everybody for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from guildhall.rpc.errors import Failure

AT_ONCE = 2
"""Of one subject."""
LONGEST_WAIT = 20.0
"""Seconds; shorter than a request may take, so that it is told why."""
_AGAIN_SECONDS = 1.0


class Turns:
    """The turns of each subject, in the order in which it asks. Subjects at rest take no memory."""

    def __init__(self) -> None:
        self._of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, subject: str) -> AsyncIterator[None]:
        """One of the subject's turns. Raises Failure RATE_LIMITED where it has too many others before that."""
        own = self._of.setdefault(subject, asyncio.Semaphore(AT_ONCE))
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                await own.acquire()
        except TimeoutError:
            again = {"retry_after_seconds": f"{_AGAIN_SECONDS:.3f}"}
            raise Failure("RATE_LIMITED", "Too many earlier versions are asked for at once.", again) from None
        try:
            yield
        finally:
            own.release()
