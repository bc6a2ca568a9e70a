"""Who tells this instance what to own: a consumer group, or, where there is none, that everything is its own.

That is balance and liveness only (design section 3): claims decide who writes.
"""

import asyncio
import random
from collections.abc import Iterable
from typing import Protocol

from guildhall.log.port import Claim
from guildhall.rpc import probe
from guildhall.telemetry import logs

PROBE_SECONDS = 1.0
"""Between two looks at whoever has claimed what this hall had; jittered."""

MISSED = 2
"""Looks in a row at which it must be missing."""

_log = logs.get("host")


class Host(Protocol):
    """Who is told."""

    @property
    def name(self) -> str:
        """As in the topics' names."""
        ...

    def assign(self, numbers: Iterable[int]) -> None: ...
    def revoke(self, numbers: Iterable[int]) -> None: ...


class Membership(Protocol):
    """How an instance comes to what it owns."""

    async def join(self) -> None:
        """Begin to tell the host. Raises ValueError for settings that make no sense."""
        ...

    def stood_down(self, number: int, by: Claim | None) -> None:
        """Another instance has claimed the partition; None: somebody did, whose claim can't be read."""
        ...

    async def leave(self, seconds: float) -> None:
        """Others are to own it all, as of now; waits no longer than that to tell them."""
        ...


class Alone:
    """A hall without a group: everything is its own, until another hall over the same data takes it.

    The newer hall wins, and the older one looks after it: when it is gone, everything is claimed again.
    """

    def __init__(self, host: Host, partitions: int, probe_seconds: float = PROBE_SECONDS) -> None:
        self._host = host
        self._partitions = partitions
        self._probe_seconds = probe_seconds
        self._taken: dict[Claim | None, set[int]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def join(self) -> None:
        self._host.assign(range(self._partitions))

    def stood_down(self, number: int, by: Claim | None) -> None:
        for taken in self._taken.values():
            taken.discard(number)
        self._host.revoke([number])
        if by not in self._taken:
            self._taken[by] = set()
            task = asyncio.get_running_loop().create_task(self._look_after(by))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._taken[by].add(number)

    async def leave(self, seconds: float) -> None:
        for task in self._tasks:
            task.cancel()

    async def _look_after(self, other: Claim | None) -> None:
        """Returns when the other hall is gone and what it had is assigned here again, or somebody else has it."""
        missed = 0
        while missed < MISSED and self._taken[other]:
            await asyncio.sleep(self._probe_seconds * random.uniform(0.5, 1.0))
            there = other is not None and await probe.alive(other.address, other.instance, self._probe_seconds)
            missed = 0 if there else missed + 1
        numbers = sorted(self._taken.pop(other))
        if numbers:
            address = other.address if other is not None else ""
            _log.warning("the other hall is gone; claiming again", address=address, partitions=numbers)
            self._host.assign(numbers)
