"""One partition, from its assignment until another instance serves it: fold, claim, serve, stand down, claim again.

When to claim is the matter of `guildhall.log.ownership`. What cannot be read is tried again from the start.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from guildhall.host.failures import log_failed
from guildhall.log.errors import LogUnavailable
from guildhall.log.ownership import BackOff, Ownership
from guildhall.log.writer import Writer
from guildhall.rpc.errors import Failure
from guildhall.shared import shared
from guildhall.telemetry import logs

FOLD_AGAIN = BackOff(first_seconds=0.5, last_seconds=30.0)
"""Pauses after a fold or a writer that failed."""

REACH_AGAIN_SECONDS = 2.0
"""The longest pause after a log that cannot be reached: it is back at any moment, and others wait for that."""

FINISH_SECONDS = 5.0
"""How long what is in flight is waited for when a partition is left to another instance."""

_log = logs.get("host")


class Held(Protocol):
    """A partition that is folded: what its tenure and its host need of it."""

    @property
    def writer(self) -> Writer: ...

    @property
    def serving(self) -> bool:
        """Whether this instance owns the partition and takes requests for it."""
        ...

    async def finish(self, seconds: float) -> None:
        """Take nothing more, and wait until it is known what became of what is in flight, but no longer than that."""
        ...

    async def store_all(self, seconds: float) -> None:
        """Store every changed state, for as long as that."""
        ...

    def end_streams(self, why: Failure) -> None:
        """Nothing more will come from here."""
        ...


P = TypeVar("P", bound=Held)


class Tenure(Generic[P]):
    """This instance's hold on one partition. Made when it is assigned; over when `over` is told."""

    def __init__(
        self,
        where: dict[str, object],
        make: Callable[[], Awaitable[P]],
        prepare: Callable[[], Awaitable[None]],
        over: Callable[["Tenure[P]"], None],
        before: "Tenure[P] | None" = None,
    ) -> None:
        """`where` names it in the log; `make` gives a folded partition; `prepare` is awaited before each claim;
        `before` is the hold that must end first.
        """
        self.partition: P | None = None
        """The partition, once it is folded."""
        self.assigned = True
        """Whether it is to be owned here."""
        self.leaving: asyncio.Task[None] | None = None
        """Set when it is being let go of."""
        self.folded = False
        """Whether it is folded and was claimed here, maybe by another instance since."""
        self._where = where
        self._make = make
        self._prepare = prepare
        self._over = over
        self._ownership: Ownership | None = None
        self._first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.get_running_loop().create_task(self._run(before))

    @property
    def serving(self) -> bool:
        """Whether requests are answered here."""
        return self.partition is not None and self.partition.serving

    async def claimed(self) -> None:
        """Returns when it is claimed for the first time. Raises what kept it from that, such as LogError, BadPack."""
        await shared(self._first)

    def assign(self) -> None:
        """It is this instance's again."""
        self.assigned = True
        if self._ownership is not None:
            self._ownership.assign()

    def revoke(self) -> None:
        """It is to be another's, who is not waited for: what is served here is served until the other has claimed."""
        self.assigned = False
        if self._ownership is not None:
            self._ownership.revoke()
            if not self.serving:
                self._leave()

    def owner_changed(self, mine: bool) -> None:
        """A claim has been folded."""
        if mine:
            self.folded = True
            if not self._first.done():
                self._first.set_result(None)
        elif not self.assigned:
            self._leave()

    async def finish(self, seconds: float) -> None:
        """Take nothing more, and wait for what is in flight; the partition keeps its states for storing them."""
        self.assigned = False
        if self._ownership is None:
            self._task.cancel()
        elif self.partition is not None:
            await self.partition.finish(seconds)
        await asyncio.wait([self._task])

    def _leave(self) -> None:
        """Let go of it; not at once, since the writer may be who is asking."""
        if self.partition is not None and self.leaving is None:
            self.leaving = asyncio.get_running_loop().create_task(self.partition.finish(FINISH_SECONDS))

    async def _run(self, before: "Tenure[P] | None") -> None:
        if before is not None:
            await asyncio.wait([before._task])
        pause = FOLD_AGAIN.first_seconds
        try:
            while self.assigned:
                why = await self._hold()
                self.folded = False
                if why is None or not self.assigned:
                    break
                if isinstance(why, LogUnavailable):
                    _log.warning("a partition can't be folded now", **self._where, why=logs.said(why))
                else:
                    _log.error("a partition failed; it is folded again", **self._where, exc_info=why)
                if not self._first.done():
                    self._first.set_exception(why)
                    self._first.exception()  # told to whoever waits, if anybody does
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))
                longest = REACH_AGAIN_SECONDS if isinstance(why, LogUnavailable) else FOLD_AGAIN.last_seconds
                pause = min(2 * pause, longest)
        finally:
            self._over(self)

    async def _hold(self) -> Exception | None:
        """Returns when it is left to another (None), or why it cannot be held."""
        failure: Exception | None = None
        try:
            partition = await self._make()
        except Exception as error:  # also a fault of ours: it must be told, and must not end the hold in silence
            return error
        if self.assigned:
            self.partition = partition
            self._ownership = Ownership(partition.writer, prepare=self._prepare)
            self._ownership.assign()
            try:
                await self._ownership.run()
                failure = partition.writer.failure
            except Exception as error:  # what must be there before a claim is not, or cannot be used
                failure = error
            self._ownership = None
        if failure is not None:
            partition.end_streams(log_failed(LogUnavailable("the partition failed")))
        await partition.finish(0.0)
        return failure
