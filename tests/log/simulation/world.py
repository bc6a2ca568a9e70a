"""One seeded schedule of a small hall over the memory log: several owners, everything that can go wrong, and its judge.

A world has one partition, some processes that may own it, clients that send commands through any of them, and a chaos.
All in virtual time, every step from one seed. When the chaos ends, somebody must serve soon; then the judge comes.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from guildhall.log import topics
from guildhall.log.memory import MemoryBroker
from guildhall.log.port import CLAIM_KEY, Record
from tests.log.simulation.clients import CLIENTS, client, spectator
from tests.log.simulation.faults import LATEST, Profile, chaos
from tests.log.simulation.games import OWN
from tests.log.simulation.hosted import HOSTED, HostedGames
from tests.log.simulation.invariants import judge
from tests.log.simulation.owners import GAMES, GONE, OwnGames, Process, Refused
from tests.log.virtual_time import VirtualLoop, context_of, virtual_loop

PROCESSES = 3
SERVES_WITHIN = 5.0
"""Seconds after the last fault within which somebody must serve."""
ANSWERED_WITHIN = 15.0
"""Seconds after the last fault within which every client must have its answers."""
CALM_CLAIMS = 4
"""Claims after the last fault, at most, where one process is assigned, and no claim of before lands late."""
CLAIMS_PER_LATE_CLAIM = 2
"""Further ones, at most, for each that does."""
CLAIMS_PER_SECOND = 4.0
"""Further ones, at most, where two processes stay assigned: each back-off has grown to its longest by then."""


Tell = Callable[[float, str], None]


MOST_STEPS = 10_000
"""A schedule takes two or three thousand."""


class Violation(AssertionError):
    """A promise that didn't hold in this schedule."""


class World:
    """One schedule."""

    def __init__(self, seed: int, loop: VirtualLoop, tell: Tell | None = None) -> None:
        """`tell` is told the time and what happens."""
        self.seed = seed
        self.loop = loop
        self.rng = random.Random(seed)
        self.profile = Profile.drawn(self.rng)
        self.kind: type[Process] = HostedGames if self.profile.hosted else OwnGames
        self.speech = HOSTED if self.profile.hosted else OWN
        self.broker = MemoryBroker(self.speech.max_record_bytes)
        self.broker.events[topics.events("sim")] = [[]]
        self.calm = False
        self.processes: list[Process] = []
        self.started = 0
        self.late_claims = 0
        self.met: Counter[str] = Counter()
        self.violations: list[str] = []
        # What clients were told.
        self.seen = dict.fromkeys(GAMES, 0)
        self.accepted: dict[str, tuple[str, int]] = {}
        self.refused: dict[str, tuple[str, Refused]] = {}
        self.answers: list[tuple[int, str, tuple[str, ...]]] = []
        # Every value that was ever to be stored beside the events, by topic and key.
        self.kept: dict[tuple[str, str], list[bytes | None]] = {}
        self._nobody = context_of(None)
        self._tell = tell

    def records(self) -> list[Record]:
        return self.broker.events[topics.events("sim")][0]

    def end(self) -> int:
        return len(self.records())

    def claims(self) -> int:
        return sum(record.key == CLAIM_KEY for record in self.records())

    def meet(self, what: str, where: str = "") -> None:
        """Counted, so that a test can hold that schedules meet what they are for."""
        self.met[what] += 1
        self.tell(f"{what} {where}")

    def tell(self, what: str) -> None:
        if self._tell is not None:
            self._tell(self.loop.now, what)

    def violate(self, what: str) -> None:
        self.violations.append(what)
        self.tell(f"VIOLATION: {what}")

    def fault(self, share: float) -> bool:
        """Whether this goes wrong, as that share of them does until the faults end."""
        return share > 0 and not self.calm and self.rng.random() < share

    def delay(self) -> float:
        return 0.001 if self.calm else self.rng.choice(self.profile.delays)

    def lateness(self) -> float:
        """Mostly soon, for what lands soon meets most."""
        return LATEST * self.rng.random() ** 3

    def after(self, seconds: float, work: Callable[..., object], *args: Any) -> None:
        """Happens in the world, whatever becomes of the processes meanwhile."""
        self.loop.call_at(self.loop.now + seconds, work, *args, context=self._nobody)

    def start(self, assigned: bool) -> None:
        self.started += 1
        self.processes.append(self.kind(self, f"process {self.started}", assigned))

    def assign(self, owner: Process) -> None:
        """To this one, and no longer to the others."""
        for process in self.processes:
            if process is owner:
                process.assign()
            elif process.assigned:
                process.revoke()

    async def live(self) -> None:
        for number in range(PROCESSES):
            self.start(assigned=number == 0)
        clients = [asyncio.create_task(client(self, number)) for number in range(CLIENTS)]
        looking = asyncio.create_task(spectator(self))
        await chaos(self)
        await looking
        calm_since, claims = self.loop.now, self.claims()
        self.assign(self.rng.choice(self.processes))
        if self.profile.two_assigned:
            self.rng.choice(self.processes).assign()
        await self.somebody_serves(SERVES_WITHIN)
        await asyncio.wait(clients, timeout=calm_since + ANSWERED_WITHIN - self.loop.now)
        if waiting := [number for number, task in enumerate(clients) if not task.done()]:
            self.violate(f"clients {waiting} have no answer {ANSWERED_WITHIN} s after the last fault")
        # Until everything that was sent has landed, and everybody has heard of it.
        await asyncio.sleep(max(0.0, calm_since + LATEST - self.loop.now) + 1.0)
        claims = self.claims() - claims
        seconds = self.loop.now - calm_since
        most = CALM_CLAIMS + CLAIMS_PER_LATE_CLAIM * self.late_claims
        if self.profile.two_assigned:
            most += round(CLAIMS_PER_SECOND * seconds)
        if claims > most:
            self.violate(f"{claims} claims in {seconds:.1f} s after the last fault")
        if self.profile.two_assigned:
            self.assign(self.rng.choice(self.processes))
            await asyncio.sleep(2.0)
        await self.somebody_serves(0.5)
        if sum(process.serving for process in self.processes) != 1:
            self.violate(f"{[p.instance for p in self.processes if p.serving]} serve in the end")

    async def somebody_serves(self, within: float) -> None:
        until = self.loop.now + within
        while self.loop.now < until:
            for process in self.processes:
                if process.serving and process.assigned:
                    request = process.go(confirmed, process)
                    await asyncio.wait((request.done,), timeout=0.5)
                    if request.done.done() and request.done.result():
                        return
            await asyncio.sleep(0.05)
        self.violate(f"nobody serves {within} s after the last fault")


async def confirmed(process: Process) -> bool:
    assert process.writer is not None
    try:
        await process.writer.confirm()
    except GONE:
        return False
    return True


def simulate(seed: int, tell: Tell | None = None) -> World:
    """Runs the schedule of this seed. Raises `Violation` naming the seed and what didn't hold."""
    with virtual_loop(MOST_STEPS) as loop:
        world = World(seed, loop, tell)
        try:
            loop.run_until(loop.create_task(world.live()))
        except Exception as error:
            world.violate(repr(error))
    for failure in loop.failures:
        world.violate(f"failed: {failure!r}")
    judge(world)
    for process in world.processes:
        process.kill()
    if world.violations:
        replay = f"python -m tests.log.simulation replay {seed}"
        raise Violation(f"seed {seed} ({replay}): " + "; ".join(world.violations[:5]))
    return world
