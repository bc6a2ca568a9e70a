"""One seeded schedule of a small hall over the memory log: several owners, everything that can go wrong, and its judge.

A world has one partition, some processes that may own it, clients that send commands through any of them, and a chaos
that crashes, pauses and reassigns processes, writes checkpoints, and loses, delays and doubles appends and reports.
All in virtual time, all from one seed. When the chaos ends, the judge reads the raw records by a fold rule of his own
and compares: what clients were told, what every process believes, what readers from zero and from checkpoints see.
"""

import asyncio
import hashlib
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from guildhall.log.errors import Busy, Closed, InFlight, LogUnavailable, NotOwner
from guildhall.log.fold import Effective, FoldState, Verdict
from guildhall.log.memory import Faults, MemoryBroker
from guildhall.log.port import (
    NO_CLAIM,
    Appended,
    AppendOutcome,
    Claim,
    Doubt,
    ProducerRecord,
    TooLarge,
)
from guildhall.log.reader import fold_to_end
from guildhall.log.recovery import Store, open_store, recover
from guildhall.log.snapshots import Snapshot, checkpoint_key, encode, snapshot_key
from guildhall.log.values import decode
from guildhall.log.writer import Limits, RuledOut, Writer
from tests.log.virtual_time import run

GAMES = ["a", "b", "c", "d"]
SCHEMA = "s1"
MAX_RECORD_BYTES = 200
CHAOS_SECONDS = 4.0
CALM_SECONDS = 60.0


class Violation(AssertionError):
    """A promise that didn't hold in this schedule."""


class Unavailable(Exception):
    """Outcome unknown: send the same id again."""


class Refused(Exception):
    """Final, for a reason outside the state."""


@dataclass
class Game:
    """A game is the list of its accepted commands."""

    commands: list[str] = field(default_factory=list)
    digest: bytes = b""


class Network(Faults):
    """Between one process and the broker. What was sent lands though the process dies."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.running = asyncio.Event()
        self.running.set()

    async def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducerRecord],
        write: Callable[[ProducerRecord], AppendOutcome],
    ) -> Sequence[AppendOutcome]:
        await self.running.wait()
        rng, loop = self.world.rng, asyncio.get_running_loop()
        reported: asyncio.Future[list[AppendOutcome]] = loop.create_future()

        def land() -> None:
            outcomes: list[AppendOutcome] = [Doubt("not tried")] * len(records)
            order = list(range(len(records)))
            if self.world.fault(0.1):
                rng.shuffle(order)
            for n in order:
                outcomes[n] = self.deliver(records[n], write)
            if not reported.done():
                reported.set_result(outcomes)

        loop.call_later(self.world.delay(), land)
        outcomes = await reported
        await asyncio.sleep(self.world.delay())
        await self.running.wait()
        return outcomes

    def deliver(self, record: ProducerRecord, write: Callable[[ProducerRecord], AppendOutcome]) -> AppendOutcome:
        if not self.world.fault(1.0):
            return write(record)
        match self.world.rng.choice(["lost report", "never", "late", "late", "second offset", "twice"]):
            case "lost report":  # also: success without an offset
                write(record)
                return Doubt("lost report")
            case "never":
                return Doubt("never")
            case "late":
                asyncio.get_running_loop().call_later(self.world.rng.uniform(0, 1.5), write, record)
                return Doubt("late")
            case "second offset":
                write(record)
                return write(record)
            case _:
                outcome = write(record)
                write(record)
                return outcome

    async def request(self, topic: str, partition: int) -> None:
        await self.running.wait()
        await asyncio.sleep(self.world.delay())
        if self.world.fault(0.3):
            raise LogUnavailable("no answer")

    async def response(self, topic: str, partition: int) -> None:
        await asyncio.sleep(self.world.delay())
        await self.running.wait()


class Process:
    """A rules service in small: its games are what its fold told it."""

    def __init__(self, world: "World", instance: str) -> None:
        self.world = world
        self.instance = instance
        self.network = Network(world)
        self.games: dict[str, Game] = {}
        self.locks = {name: asyncio.Lock() for name in GAMES}
        self.assigned = False
        self.claimed = False  # from then on, a writer tails its partition
        self.writer: Writer | None = None
        self.store: Store | None = None
        self.tasks: list[asyncio.Task[Any]] = [asyncio.create_task(self.serve())]

    def restore(self, name: str, snapshot: Snapshot) -> None:
        commands, digest = msgspec.msgpack.decode(snapshot.state, type=tuple[list[str], bytes])
        if len(commands) != snapshot.seq:
            raise Violation(f"snapshot of {name} at {snapshot.seq} holds {len(commands)} commands")
        self.games[name] = Game(commands, digest)

    def told(self, verdict: Verdict) -> None:
        if isinstance(verdict, Effective):
            game = self.games.setdefault(verdict.aggregate_id, Game())
            if verdict.entry.seq != len(game.commands) + 1:
                self.world.violate(f"{self.instance} is told {verdict} after {len(game.commands)}")
            game.commands.append(command_of(verdict.entry.body))
            game.digest = verdict.entry.hash

    async def serve(self) -> None:
        try:
            await self.own_when_assigned()
        except Exception as error:
            self.world.violate(f"{self.instance} failed: {error!r}")

    async def own_when_assigned(self) -> None:
        rng = self.world.rng
        log = self.world.broker.log(self.network)
        while self.writer is None:
            try:
                self.games.clear()
                self.store = await open_store(log, "sim", 1)
                state = await recover(self.store, 0, SCHEMA, self.restore, self.told)
                limits = Limits(max_in_flight=3, poll_seconds=0.2, first_pause=0.01, last_pause=0.2)
                me = Claim(self.instance, "somewhere")
                self.writer = Writer(self.store.events, 0, me, state, self.told, limits, rng)
            except LogUnavailable:
                await asyncio.sleep(rng.uniform(0, 0.1))
        while True:
            if self.assigned and not self.writer.serving:
                self.claimed = True
                try:
                    await self.writer.claim()
                except NotOwner:
                    await asyncio.sleep(rng.uniform(0, 0.5))
            if self.writer.failure is not None:
                self.world.violate(f"{self.instance} failed: {self.writer.failure!r}")
            await asyncio.sleep(rng.uniform(0.01, 0.1))

    async def command(self, name: str, command: str, body: bytes) -> int | TooLarge:
        """The version at which the command is accepted. Raises `Unavailable`, `Refused`."""
        if self.writer is None:
            raise Unavailable
        try:
            async with self.locks[name]:
                while True:
                    game = self.games.get(name) or Game()
                    if command in game.commands and self.world.duplicates_are_known:
                        await self.writer.confirm()
                        return game.commands.index(command) + 1
                    digest = hashlib.sha256(game.digest + body).digest()
                    seq = len(game.commands) + 1
                    match await self.writer.append(name, seq, digest, body):
                        case Appended():
                            return seq
                        case TooLarge() as outcome:
                            return outcome
                        case RuledOut() if self.world.rng.random() < 0.5:
                            await self.writer.confirm()
                            if command not in self.games.get(name, Game()).commands:
                                raise Refused
                        case RuledOut():
                            pass
                        case Doubt():
                            raise Unavailable
        except (NotOwner, Busy, InFlight, Closed, LogUnavailable):
            raise Unavailable from None

    async def checkpoint(self) -> None:
        """Snapshots of some games, then the checkpoint; may be overtaken by another process's anywhere."""
        if self.writer is None or self.store is None:
            return
        checkpoint = self.writer.checkpoint(())
        states = [(n, len(g.commands), msgspec.msgpack.encode((g.commands, g.digest))) for n, g in self.games.items()]
        try:
            for name, seq, state in states:
                if self.world.rng.random() < 0.7:
                    value = encode(Snapshot(seq, checkpoint.position, state))
                    await self.store.snapshots.put(0, snapshot_key(name, SCHEMA), value)
            await self.store.checkpoints.put(0, checkpoint_key(0), encode(checkpoint))
        except LogUnavailable:
            pass

    def go(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        self.tasks.append(asyncio.create_task(work))
        return self.tasks[-1]

    async def crash(self) -> None:
        for task in self.tasks:
            task.cancel()
        if self.writer is not None:
            closing = asyncio.create_task(self.writer.close())
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
        await asyncio.gather(*self.tasks, return_exceptions=True)


class World:
    """One schedule."""

    def __init__(self, seed: int, duplicates_are_known: bool = True) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.duplicates_are_known = duplicates_are_known
        # Delivery faults without crashes, and crashes without delivery faults, each show what the other hides.
        self.fault_rate = self.rng.choice([0.0, 0.03, 0.1, 0.4])
        self.crash_rate = self.rng.choice([0.0, 0.3, 1.0])
        self.broker = MemoryBroker(MAX_RECORD_BYTES)
        self.calm = False
        self.processes: list[Process] = []
        self.started = 0
        self.accepted: dict[str, tuple[str, int]] = {}
        self.refused: list[str] = []
        self.violations: list[str] = []

    def fault(self, weight: float) -> bool:
        return not self.calm and self.rng.random() < self.fault_rate * weight

    def delay(self) -> float:
        return self.rng.choice([0.0, 0.001, 0.02]) if not self.calm else 0.0

    def violate(self, what: str) -> None:
        self.violations.append(what)

    def start(self) -> Process:
        self.started += 1
        process = Process(self, f"process {self.started}")
        self.processes.append(process)
        return process

    async def chaos(self) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + CHAOS_SECONDS
        while loop.time() < until:
            await asyncio.sleep(self.rng.uniform(0.0, 0.3))
            process = self.rng.choice(self.processes)
            if self.rng.random() < 0.2:
                process.go(process.checkpoint())
            if self.rng.random() >= self.crash_rate:
                continue
            match self.rng.choice(["crash", "pause", "pause", "assign", "assign", "assign too"]):
                case "crash":
                    self.processes.remove(process)
                    await process.crash()
                    self.start().assigned = process.assigned
                case "pause":
                    process.network.running.clear()
                    loop.call_later(self.rng.uniform(0.0, 1.0), process.network.running.set)
                case "assign":
                    self.assign(process)
                case _:
                    process.assigned = True
        self.calm = True
        self.assign(self.rng.choice(self.processes))
        for process in self.processes:
            process.network.running.set()

    def assign(self, owner: Process) -> None:
        for process in self.processes:
            process.assigned = process is owner

    async def client(self, number: int) -> None:
        for n in range(8):
            name, command = self.rng.choice(GAMES), f"{number}.{n}"
            body = command.encode() + b" " * (MAX_RECORD_BYTES if self.rng.random() < 0.05 else 0)
            await self.send(name, command, body)
            if command in self.accepted and self.rng.random() < 0.3:  # a retry, later
                await self.send(name, command, body)
            await asyncio.sleep(self.rng.uniform(0, 0.4))

    async def send(self, name: str, command: str, body: bytes) -> None:
        """Until there is an answer, through any process."""
        while True:
            process = self.rng.choice([p for p in self.processes if p.writer and p.writer.serving] or self.processes)
            answering = process.go(process.command(name, command, body))
            try:
                async with asyncio.timeout(0.5):
                    answer = await answering
            except Unavailable:
                await asyncio.sleep(self.rng.uniform(0.0, 0.1))
                continue
            except TimeoutError:
                continue
            except Refused:
                self.refused.append(command)
                return
            except asyncio.CancelledError:
                if not answering.cancelled():
                    raise
                continue  # the process crashed
            if isinstance(answer, TooLarge):
                self.refused.append(command)
            elif self.accepted.setdefault(command, (name, answer)) != (name, answer):
                self.violate(f"{command} was accepted at {self.accepted[command]}, then at {answer}")
            return

    async def reader(self) -> None:
        """Asks processes for fresh answers, and knows what was in the log when it asked."""
        while not self.calm:
            await asyncio.sleep(self.rng.uniform(0, 0.2))
            process = self.rng.choice(self.processes)
            if process.writer is not None and process.writer.serving:
                process.go(self.ask(process.writer))

    async def ask(self, writer: Writer) -> None:
        before = len(self.broker.events["guildhall.sim.events"][0])
        try:
            position = await writer.confirm()
        except (NotOwner, LogUnavailable, Closed):
            return
        if position.next_offset < before:
            self.violate(f"an answer at {position} to a question at {before} is stale")

    async def live(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(3):
            self.start()
        self.processes[0].assigned = True
        clients = [asyncio.create_task(self.client(n)) for n in range(4)]
        reader = asyncio.create_task(self.reader())
        await self.chaos()
        await reader
        claims = self.claims()
        calm_since = loop.time()
        try:
            async with asyncio.timeout(CALM_SECONDS):
                await asyncio.gather(*clients)
        except TimeoutError:
            self.violate(f"clients have no answer {CALM_SECONDS} s after the last fault")
        # Time for what is under way: late records, polls, doubts.
        await asyncio.sleep(5)
        if not any(p.writer and p.writer.serving for p in self.processes):
            self.violate("nobody serves after the last fault")
        if self.claims() - claims > 20:
            self.violate(f"{self.claims() - claims} claims in {loop.time() - calm_since} s without a fault")
        await self.judge()
        for process in self.processes:
            await process.crash()

    def claims(self) -> int:
        return sum(r.key == "" for r in self.broker.events["guildhall.sim.events"][0])

    def history(self) -> tuple[dict[str, list[str]], list[tuple[int, dict[str, int]]]]:
        """The judge's own reading of the raw records: commands by game; newest claim and seqs at each offset."""
        games: dict[str, list[str]] = {}
        states = [(NO_CLAIM, dict[str, int]())]
        newest = NO_CLAIM
        for record in self.broker.events["guildhall.sim.events"][0]:
            value = decode(record.value)
            if isinstance(value, Claim):
                newest = record.offset
            elif value.claim == newest and value.seq == len(games.get(record.key, [])) + 1:
                games.setdefault(record.key, []).append(command_of(value.body))
            states.append((newest, {name: len(commands) for name, commands in games.items()}))
        return games, states

    async def judge(self) -> None:
        games, states = self.history()
        before = states[:-1]
        for command, (name, version) in self.accepted.items():
            if games.get(name, [])[version - 1 : version] != [command]:
                self.violate(f"{command} was accepted at {name} {version}, where there is {games.get(name)}")
        everything = [command for commands in games.values() for command in commands]
        for command in everything:
            if everything.count(command) > 1:
                self.violate(f"{command} took effect twice")
        for command in self.refused:
            if command in everything:
                self.violate(f"{command} was refused, and took effect")
        for process in self.processes:
            if process.writer is None:
                self.violate(f"{process.instance} never started")
                continue
            position = process.writer.position
            if process.claimed and position.next_offset < len(before):
                self.violate(f"{process.instance} tails only to {position}")
            newest, seqs = states[position.next_offset]
            if position.newest_claim != newest:
                self.violate(f"{process.instance} at {position} missed the claim {newest}")
            expected = {name: games[name][:seq] for name, seq in seqs.items()}
            if {name: game.commands for name, game in process.games.items()} != expected:
                self.violate(f"{process.instance} at {position} believes {process.games}")

        store = await open_store(self.broker.log(), "sim", 1)
        seen: dict[str, list[str]] = {}

        def told(verdict: Verdict) -> None:
            if isinstance(verdict, Effective):
                seen.setdefault(verdict.aggregate_id, []).append(command_of(verdict.entry.body))

        await fold_to_end(store.events, 0, FoldState(), told)
        if seen != games:
            self.violate(f"a reader from zero sees {seen}")
        offset = self.rng.randrange(len(before))
        newest, seqs = before[offset]
        seen = {name: games[name][:seq] for name, seq in seqs.items()}
        await fold_to_end(store.events, 0, FoldState(offset, newest, None, dict(seqs)), told)
        if seen != games:
            self.violate(f"a reader from {offset} sees {seen}")

        seen = {}

        def restore(name: str, snapshot: Snapshot) -> None:
            seen[name] = msgspec.msgpack.decode(snapshot.state, type=tuple[list[str], bytes])[0]

        await recover(store, 0, SCHEMA, restore, told)
        if seen != games:
            self.violate(f"a reader from the checkpoint sees {seen}")


def command_of(body: bytes) -> str:
    return body.decode().rstrip()


def simulate(seed: int, duplicates_are_known: bool = True) -> World:
    """Runs the schedule of this seed. Raises `Violation` naming the seed and what didn't hold."""
    world: World | None = None

    async def live() -> World:
        nonlocal world
        world = World(seed, duplicates_are_known)
        await world.live()
        return world

    try:
        world = run(live())
    except Exception as error:
        if world is None or not world.violations:
            raise Violation(f"seed {seed}: {error!r}") from error
    assert world is not None
    if world.violations:
        raise Violation(f"seed {seed}: " + "; ".join(world.violations[:5]))
    return world
