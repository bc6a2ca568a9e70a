"""What goes wrong in a schedule: on the way to the broker and back, and with the processes themselves."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, TypeVar

from guildhall.log.errors import LogUnavailable
from guildhall.log.memory import Faults
from guildhall.log.port import CLAIM_KEY, AppendOutcome, Doubt, ProducerRecord, TooLarge

if TYPE_CHECKING:
    from tests.log.simulation.owners import Process
    from tests.log.simulation.world import World

T = TypeVar("T")

CHAOS_SECONDS = 3.0
LATEST = 1.5
"""Seconds after which at the latest what was sent lands, if it ever does."""
HOSTED_SHARE = 0.25
"""Of the schedules: they take longer."""
CUT_SECONDS = 0.1
"""How long a process waits for a broker that it can't reach."""


@dataclass(frozen=True)
class Profile:
    """How much of what goes wrong. Delivery faults without crashes, and crashes without delivery faults, each show
    what the other hides.

    `delivery`, `requests`: share of the records and of the other requests that meet a fault; `kinds` of the former;
    `trouble`, `upkeep`: share of the turns at which something happens to a process, or states are stored; `delays`:
    seconds of one way to the broker, one of them each time; `patience`: seconds after which a client gives up on an
    answer, and asks again; `whims`: share of the judgements that refuse for reasons outside the state; `ends`: share of
    the commands that end their game; `two_assigned`: two processes believe to be the owner, also when the faults end;
    `hosted`: the processes are the host's own.
    """

    delivery: float
    kinds: tuple[str, ...]
    requests: float
    trouble: float
    upkeep: float
    delays: tuple[float, ...]
    patience: float
    whims: float
    ends: float
    two_assigned: bool
    hosted: bool

    @property
    def disorder(self) -> float:
        """Share of the produces whose records land in another order, or with others' in between."""
        return 0.5 if self.delivery else 0.0

    @staticmethod
    def drawn(rng: Random) -> "Profile":
        delays = rng.choice(((0.0, 0.001, 0.02), (0.001,), (0.0, 0.005, 0.2)))
        if rng.random() < 0.15:
            return replace(LATE_AND_REFUSED, delays=delays, hosted=rng.random() < HOSTED_SHARE)
        return Profile(
            kinds=KINDS,
            delivery=rng.choice((0.0, 0.03, 0.1, 0.4)),
            requests=rng.choice((0.0, 0.02, 0.1)),
            trouble=rng.choice((0.0, 0.3, 0.8)),
            upkeep=rng.choice((0.1, 0.4, 0.8)),
            delays=delays,
            patience=rng.choice((0.1, 0.5)),
            whims=rng.choice((0.0, 0.1, 0.5)),
            ends=rng.choice((0.03, 0.15)),
            two_assigned=rng.random() < 0.2,
            hosted=rng.random() < HOSTED_SHARE,
        )


KINDS = ("lost report", "never", "late", "late", "second offset", "twice")
"""What becomes of a record."""

LATE_AND_REFUSED = Profile(
    delivery=0.4,
    kinds=("late",),
    requests=0.0,
    trouble=0.0,
    upkeep=0.1,
    delays=(),
    patience=0.05,
    whims=0.5,
    ends=0.03,
    two_assigned=False,
    hosted=False,
)
"""For what a record does that lands under the same claim, after its command was refused. `delays` and `hosted` are
drawn too.
"""


class Network(Faults):
    """Between one process and the broker. What was sent lands though the process is held or ended."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.cut = False

    async def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducerRecord],
        write: Callable[[ProducerRecord], AppendOutcome],
    ) -> Sequence[AppendOutcome]:
        world = self.world
        reported: asyncio.Future[list[AppendOutcome]] = asyncio.get_running_loop().create_future()
        outcomes: list[AppendOutcome] = [Doubt("no connection") for _ in records]
        if self.cut:
            world.after(CUT_SECONDS, _tell, reported, outcomes)
            return await reported
        order = list(range(len(records)))
        if len(order) > 1 and world.fault(world.profile.disorder):
            world.meet("reordered")
            world.rng.shuffle(order)
        # Others' records may come to lie between those of one produce.
        apart = world.fault(world.profile.disorder)

        def land() -> None:
            while order:
                number = order.pop(0)
                outcomes[number] = self.deliver(records[number], write)
                if apart and order:
                    world.after(world.delay(), land)
                    return
            world.after(world.delay(), _tell, reported, outcomes)

        world.after(world.delay(), land)
        return await reported

    def deliver(self, record: ProducerRecord, write: Callable[[ProducerRecord], AppendOutcome]) -> AppendOutcome:
        world = self.world
        if not world.fault(world.profile.delivery):
            outcome = write(record)
            if isinstance(outcome, TooLarge):
                world.meet("too large", record.key)
            return outcome
        kind = world.rng.choice(world.profile.kinds)
        world.meet(kind if record.key != CLAIM_KEY else f"claim {kind}", record.key)
        match kind:
            case "lost report":
                write(record)
                return Doubt("a success without an offset")
            case "never":
                return Doubt("never")
            case "late":
                world.after(world.lateness(), land_late, world, record, write)
                return Doubt("late")
            case "second offset":
                write(record)
                return write(record)
            case _:
                outcome = write(record)
                write(record)
                return outcome

    async def ask(self, topic: str, partition: int, answer: Callable[[], T]) -> T:
        world = self.world
        answered: asyncio.Future[T | LogUnavailable] = asyncio.get_running_loop().create_future()
        kind = world.rng.choice(("never", "late", "no answer")) if world.fault(world.profile.requests) else ""
        if kind:
            world.meet(f"request {kind}")

        def at_broker() -> None:
            found = answer()
            world.after(world.delay(), _tell, answered, found)

        if self.cut or kind:
            if not self.cut and kind != "never":
                world.after(world.lateness() if kind == "late" else world.delay(), answer)
            world.after(CUT_SECONDS, _tell, answered, LogUnavailable("no answer"))
        else:
            world.after(world.delay(), at_broker)
        result = await answered
        if isinstance(result, LogUnavailable):
            raise result
        return result


def land_late(world: "World", record: ProducerRecord, write: Callable[[ProducerRecord], AppendOutcome]) -> None:
    write(record)
    if world.calm and record.key == CLAIM_KEY:
        world.late_claims += 1


def _tell(future: "asyncio.Future[T]", what: T) -> None:
    if not future.done():
        future.set_result(what)


async def chaos(world: "World") -> None:
    """Crashes, pauses, cuts off, drains and reassigns processes, and has them store what they know, for a while."""
    rng = world.rng
    while world.loop.now < CHAOS_SECONDS:
        await asyncio.sleep(rng.uniform(0.0, 0.25))
        process = rng.choice(world.processes)
        if rng.random() < world.profile.upkeep:
            process.go(process.store_states)
        if rng.random() < world.profile.trouble:
            what = rng.choice(("crash", "pause", "clock", "cut", "assign", "assign", "assign too", "drain"))
            world.meet(what, process.instance)
            trouble(world, process, what)
    world.calm = True
    for process in world.processes:
        process.network.cut = False
        process.release()


def trouble(world: "World", process: "Process", what: str) -> None:
    """One thing that happens to a process."""
    rng = world.rng
    match what:
        case "crash":
            start_another(world, process)
        case "pause" | "clock":
            if not process.actor.held:
                process.hold(clock_stands_still=what == "clock")
                world.after(rng.uniform(0.0, 1.0), process.release)
        case "cut":
            process.network.cut = True
            world.after(rng.uniform(0.0, 0.6), mend, process)
        case "assign":
            world.assign(process)
        case "assign too":
            process.assign()
        case "drain":
            process.go(process.drain)
            world.assign(rng.choice(world.processes))
            world.after(rng.uniform(0.0, 0.5), start_another, world, process)


def mend(process: "Process") -> None:
    process.network.cut = False


def start_another(world: "World", process: "Process") -> None:
    """The process is killed, and another one is started in its place."""
    if process in world.processes:
        process.kill()
        world.processes.remove(process)
        world.start(assigned=process.assigned)
