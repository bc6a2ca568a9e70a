"""The partitions of one family of topics that this instance holds: told what to own, it folds, claims and serves them.

Of games (`game_host`) and of matchmaking's pools alike; what a partition is made of is the matter of whoever makes it.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from guildhall.host.membership import Membership
from guildhall.host.owners import Owners, place
from guildhall.host.tenure import Held, Tenure
from guildhall.kernel.v1.structs import Owner
from guildhall.log.port import Claim
from guildhall.rpc.forwarding import Elsewhere
from guildhall.telemetry import logs, metrics

_LOOK_SECONDS = 0.01

_log = logs.get("host")

P = TypeVar("P", bound=Held)

Claimed: TypeAlias = Callable[[int, Claim | None], None]
"""Told each claim that comes after a partition's fold: its offset, and who made it (None: nobody knows)."""


async def _nothing() -> None:
    """Nothing needs to be there before a claim."""


class Holdings(Generic[P]):
    """What this instance is to own of `name`, and what it owns. `make` folds a partition; `count` says how much is in
    one, for the log.
    """

    def __init__(
        self,
        name: str,
        me: Claim,
        owners: Owners,
        make: Callable[[int, Claimed], Awaitable[P]],
        count: Callable[[P], int],
        on_change: Callable[[], None] = lambda: None,
        prepare: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        """`name` as in the topics' names; `on_change` is called whenever `ready` may have changed; `prepare` is awaited
        before each claim.
        """
        self.name = name
        self._me = me
        self._owners = owners
        self._make = make
        self._count = count
        self._on_change = on_change
        self._prepare = prepare
        self._tenures: dict[int, Tenure[P]] = {}
        self._membership: Membership | None = None
        self._joined = False
        self._said_ready = False
        self._began = time.monotonic()

    @property
    def partitions(self) -> list[P]:
        """The partitions that are folded here, by number: those that this instance serves, or stands by for."""
        return [tenure.partition for _, tenure in sorted(self._tenures.items()) if tenure.partition is not None]

    @property
    def ready(self) -> bool:
        """Whether it is known what this instance is to own, and all of that is folded and claimed."""
        return self._joined and all(tenure.folded for tenure in self._tenures.values() if tenure.assigned)

    def owners(self) -> list[Owner]:
        """The newest claim of each partition, as far as this instance knows."""
        return self._owners.of(self.name)

    def partition(self, number: int) -> P:
        """A partition that is served here. Raises Elsewhere where another instance serves it."""
        tenure = self._tenures.get(number)
        if tenure is None or tenure.partition is None or not tenure.serving:
            key = place(self.name, number)
            raise Elsewhere(key, self._owners.newest(key))
        return tenure.partition

    def _serves(self, number: int) -> bool:
        tenure = self._tenures.get(number)
        return tenure is not None and tenure.serving

    # --- start and end

    async def join(self, membership: Membership) -> None:
        """Be told from here on what to own: `membership` calls `assign` and `revoke`. Raises as it does."""
        self._membership = membership
        await membership.join()

    async def claimed(self) -> None:
        """Returns when all that is assigned now is folded and claimed. Raises what keeps it from that."""
        outcomes = await asyncio.gather(*(t.claimed() for t in self._tenures.values()), return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def hand_over(self, seconds: float) -> None:
        """Leave, and serve on until others have claimed what is served here, but no longer than that."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if self._membership is not None:
                    await self._membership.leave(seconds)
                while serving := [p for p in self.partitions if p.serving]:
                    # Asked for: a writer that is idle looks for others' claims less often.
                    await asyncio.gather(*(p.writer.confirm() for p in serving), return_exceptions=True)
                    await asyncio.sleep(_LOOK_SECONDS)

    async def stop(self, seconds: float, store_seconds: float) -> None:
        """Drain: take nothing more, let what is in flight become known, leave, and store states meanwhile, as many as
        there is time for: the next owner's fold is the shorter.
        """
        tenures = list(self._tenures.values())
        serving = [tenure.partition for tenure in tenures if tenure.partition is not None and tenure.serving]
        for number in list(self._tenures):
            self._owners.cede(self.name, number)
        await asyncio.gather(*(tenure.finish(seconds) for tenure in tenures))
        leaving = [self._membership.leave(seconds)] if self._membership is not None else []
        await asyncio.gather(*leaving, *(partition.store_all(store_seconds) for partition in serving))

    # --- what to own

    def assign(self, numbers: Iterable[int]) -> None:
        """These partitions are to be owned here, beside those that are already."""
        for number in numbers:
            metrics.ASSIGNMENTS.labels(self.name, "assigned").inc()
            metrics.PARTITIONS.labels(self.name, number).set_function(partial(self._serves, number))
            tenure = self._tenures.get(number)
            if tenure is not None and not tenure.leaving:
                tenure.assign()
            else:
                self._tenures[number] = self._tenure(number, tenure)
        self._joined = True
        self._changed()

    def revoke(self, numbers: Iterable[int]) -> None:
        """These are to be owned elsewhere."""
        for number in numbers:
            tenure = self._tenures.get(number)
            if tenure is not None:
                metrics.ASSIGNMENTS.labels(self.name, "revoked").inc()
                tenure.revoke()
        self._changed()

    def _tenure(self, number: int, before: Tenure[P] | None) -> Tenure[P]:
        async def make() -> P:
            # It is folded anew where it failed: it is not served here until it is claimed again.
            self._owners.cede(self.name, number)
            return await self._make(number, claimed)

        def claimed(offset: int, by: Claim | None) -> None:
            self._claimed(number, tenure, offset, by)

        def over(ended: Tenure[P]) -> None:
            if self._tenures.get(number) is ended:
                del self._tenures[number]
                self._owners.cede(self.name, number)
                self._changed()

        tenure = Tenure(where(self.name, number), make, self._prepare, over, before)
        return tenure

    def _claimed(self, number: int, tenure: Tenure[P], offset: int, by: Claim | None) -> None:
        mine = by is not None and by.instance == self._me.instance
        if mine:
            self._owners.serve(self.name, number, offset)
        elif by is not None:
            self._owners.learn(self.name, number, offset, by)
        # Not while an own claim is under way: that one is yet to be told.
        if not mine and self._owners.here(place(self.name, number)):
            address = by.address if by is not None else ""
            if tenure.assigned:
                metrics.STAND_DOWNS.labels(self.name).inc()
                _log.warning("stood down: another hall has claimed it", **where(self.name, number), address=address)
            else:
                _log.info("left to another hall", **where(self.name, number), address=address)
            self._owners.cede(self.name, number)
            if self._membership is not None:
                self._membership.stood_down(number, by)
        tenure.owner_changed(mine)
        self._changed()

    def _changed(self) -> None:
        ready = self.ready
        if ready and not self._said_ready:
            seconds = time.monotonic() - self._began
            metrics.READY_SECONDS.labels(self.name).set(seconds)
            partitions = self.partitions
            games = sum(self._count(partition) for partition in partitions)
            _log.info("ready", game=self.name, partitions=len(partitions), games=games, seconds=round(seconds, 3))
        if self._said_ready and not ready:
            self._began = time.monotonic()
        self._said_ready = ready
        self._on_change()


def where(name: str, number: int) -> dict[str, object]:
    """A partition, in the log's words."""
    return {"game": name, "partition": number}
