"""When an instance claims its partition (design section 3): at once on a newer assignment, and after standing down only
after a jittered back-off, while it is still assigned.

Who is assigned is somebody else's matter, such as a consumer group's. That is balance and liveness only: two instances
that both believe to be assigned lose nothing, and their back-offs keep them from taking the partition from each other
all the time.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable

import msgspec

from guildhall.log.errors import Closed, NotOwner
from guildhall.log.writer import Writer


class BackOff(msgspec.Struct, frozen=True):
    """Seconds before claiming again: doubled from `first_seconds` to `last_seconds` each time, jittered down to half.

    Whoever has served for `last_seconds` begins anew.
    """

    first_seconds: float = 1.0
    last_seconds: float = 30.0


async def _nothing() -> None:
    """Nothing has to be done before a claim."""


class Ownership:
    """Keeps this instance the owner of a partition for as long as it is assigned to it.

        ownership = Ownership(writer)
        running = asyncio.create_task(ownership.run())
        ownership.assign()

    Not assigned, the writer still reads on, and so knows who owns the partition.
    """

    def __init__(
        self,
        writer: Writer,
        back_off: BackOff | None = None,
        rng: random.Random | None = None,
        prepare: Callable[[], Awaitable[object]] = _nothing,
    ) -> None:
        """`rng` jitters the back-off; `prepare` is awaited before each claim."""
        self._writer = writer
        self._prepare = prepare
        self._back_off = back_off or BackOff()
        self._rng = rng or random.Random()
        self._pause = self._back_off.first_seconds
        self._newer = False
        self._changed = asyncio.Event()
        self.assigned = False
        """Whether the partition is to be owned here."""

    def assign(self) -> None:
        """A newer assignment: claims at once, if this instance doesn't serve."""
        self.assigned = True
        self._newer = not self._writer.serving
        self._changed.set()

    def revoke(self) -> None:
        """Claims no more. What is owned is served until another's claim is folded, so nobody waits in between."""
        self.assigned = self._newer = False
        self._writer.withdraw_claim()
        self._changed.set()

    async def run(self) -> None:
        """Claims whenever that is due; returns when the writer has ended (`Writer.failure` says of what).

        Raises what `prepare` raises.
        """
        self._writer.start()
        owning = asyncio.create_task(self._own())
        ended = asyncio.create_task(self._writer.ended())
        try:
            await asyncio.wait((owning, ended), return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                owning.result()
                await ended
        finally:
            owning.cancel()
            ended.cancel()

    async def _own(self) -> None:
        time = asyncio.get_running_loop().time
        while True:
            await self._due()
            # What was sent before a revocation may have come late, so that this instance serves already.
            if not self._writer.serving:
                await self._prepare()
                if not self.assigned:
                    continue
                try:
                    await self._writer.claim()
                except NotOwner:
                    continue
                except Closed:
                    return
            since = time()
            await self._writer.stood_down()
            if time() - since >= self._back_off.last_seconds:
                self._pause = self._back_off.first_seconds

    async def _due(self) -> None:
        """Returns when it is time to claim."""
        while not self._newer:
            seconds = self._pause * self._rng.uniform(0.5, 1.0) if self.assigned else None
            self._changed.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                self._pause = min(2 * self._pause, self._back_off.last_seconds)
                return
        self._newer = False
        self._pause = self._back_off.first_seconds
