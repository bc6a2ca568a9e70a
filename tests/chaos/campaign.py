"""A campaign: a real cluster, several processes of Arcane Alley, players, faults; then everything is judged.

    report = await run(Plan(seconds=0, brokers=1), directory)

What the processes said and the history are left in the directory.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from guildhall.arcane_alley.v1 import event_pb2
from guildhall.rpc.identity import existing_key, own_key
from tests.chaos import faults, history
from tests.chaos.checker import counts, judge
from tests.chaos.client import Client, Doors
from tests.chaos.faults import Faults, ReadSide
from tests.chaos.history import WRITES
from tests.chaos.line import Line
from tests.chaos.players import Players
from tests.chaos.processes import GUILDHALL, ROOT, Service
from tests.chaos.redis_server import RedisServer
from tests.chaos.violations import Rule, Violation
from tests.chaos.watchers import Watchers
from tests.chaos.witness import Told, fold_topic, read_topic
from tests.kafka_jars import Cluster, free_ports, own_cluster
from tests.kafka_jars import Line as BrokerLine

TOPIC = "guildhall.arcane_alley.events"
PROCESSES = 3
READ_SIDE_PROCESSES = 2
"""Projections, and processes that serve views."""
READY_SECONDS = 90.0
QUIET_SECONDS = 5.0
STORM_SECONDS = 60.0
"""When all is well and nobody plays, there must be so many quiet seconds without a claim within so many."""


@dataclass(frozen=True)
class Plan:
    """How long and how hard. `seconds` 0: the fixed budget of faults, however long it takes.

    `tables`: games at once; `think`: mean seconds between two commands of a driver, of whom a table has two; `rest`:
    mean seconds between two faults of a lane; five times that between two of the brokers, which concern everybody.
    `only`: these faults alone, separated by commas; all, if it is empty. `processes` of rules, `watchers`: streams that
    each fold one game, of everybody who may see it.
    """

    seconds: float = 0.0
    brokers: int = 1
    tables: int = 8
    think: float = 0.15
    rest: float = 3.0
    seed: int = 1
    only: str = ""
    processes: int = PROCESSES
    watchers: int = 0


@dataclass
class Report:
    """What was done, and what was found."""

    plan: Plan
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    commands: int = 0
    told: Told = field(default_factory=Told)
    violations: list[Violation] = field(default_factory=list)
    watchers: int = 0
    versions_seen: int = 0
    streams_ended: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        told = self.told
        finished = sum(versions[-1].ended for versions in told.games.values())
        lines = [
            f"{self.seconds:.0f} s, {self.plan.brokers} broker(s), {self.plan.processes} processes of rules, "
            f"seed {self.plan.seed}",
            f"faults      {_listed(self.faults)}",
            f"writes      {self.commands} with {_sum(self.calls, 'write')} calls: "
            f"{_sum(self.calls, 'write accepted')} accepted, {_sum(self.calls, 'write refused')} refused, "
            f"{_sum(self.calls, 'write unknown')} unknown",
            f"reads       {_sum(self.calls, 'read')}, of which {_sum(self.calls, 'read read')} answered",
            f"answers     {_listed(self.calls)}",
            f"log         {told.records} records: {sum(map(len, told.games.values()))} versions of {len(told.games)} "
            f"games ({finished} finished), {told.claims} claims, {told.void_claim} void by claim, "
            f"{told.void_seq} void by seq",
            f"watchers    {self.watchers}, who saw {self.versions_seen} versions; ended {_listed(self.streams_ended)}",
            f"violations  {len(self.violations)}",
            *(f"  {violation}" for violation in self.violations[:50]),
        ]
        return "\n".join(lines)


async def run(plan: Plan, directory: Path) -> Report:
    """One campaign. Raises `Missing` without what a broker needs, RuntimeError if the processes don't start."""
    directory.mkdir(parents=True, exist_ok=True)
    report = Report(plan)
    began = time.monotonic()
    async with _hall(plan, directory) as (cluster, services, broken, client):
        players = Players(client, plan.seed, plan.tables, plan.think)
        playing = asyncio.create_task(players.play())
        watchers = Watchers(client, players, plan.watchers, plan.seed)
        beside = [broken.supervise(), _tell(client, broken, directory / "progress.txt"), watchers.watch()]
        besides = [asyncio.create_task(work) for work in beside]
        try:
            await _break(plan, broken, playing)
            players.stop()
            await playing
            stuck = await players.settle()
            for service in services:
                if not await service.ready(READY_SECONDS):
                    stuck.append(service.name)
            seen_wrong = await watchers.settle(cluster.bootstrap, plan.brokers == 1)
            stuck += await _storms(cluster.bootstrap)
            partitions = await asyncio.to_thread(read_topic, cluster.bootstrap, TOPIC)
        finally:
            history.save(client.calls, directory / "history.jsonl")
            # Before the processes end, else they are started again.
            for task in besides:
                task.cancel()
            await asyncio.gather(*besides, return_exceptions=True)
    report.seconds = time.monotonic() - began
    report.told = fold_topic(partitions, event_pb2.Event)
    report.violations = judge(client.calls, report.told) + broken.found + seen_wrong
    report.watchers = len(watchers.all)
    report.versions_seen = sum(len(watcher.seen) for watcher in watchers.all)
    report.streams_ended = watchers.reasons()
    report.violations += [Violation(Rule.STUCK, name, "does not come to rest when all is well") for name in stuck]
    report.faults = broken.counts
    report.calls = counts(client.calls)
    report.commands = len({(call.subject, call.command_id) for call in client.calls if call.kind in WRITES})
    (directory / "report.txt").write_text(f"{report}\n")
    return report


@asynccontextmanager
async def _hall(plan: Plan, directory: Path) -> AsyncIterator[tuple[Cluster, list[Service], Faults, Client]]:
    """Brokers, lines and processes; all of it ends here."""
    kinds = {"projection": READ_SIDE_PROCESSES, "views": READ_SIDE_PROCESSES}
    beside = [f"{kind}-{number}" for kind, count in kinds.items() for number in range(count)]
    names = [f"rules-{number}" for number in range(plan.processes)] + ["spare", *beside]
    behind = {name: free_ports(plan.brokers) for name in names}
    fronts = {name: free_ports(plan.brokers) for name in names}
    lines = {name: Line(list(zip(fronts[name], behind[name], strict=True))) for name in names}
    to_brokers = [
        [BrokerLine(behind[name][broker], fronts[name][broker]) for name in names] for broker in range(plan.brokers)
    ]
    own_key(directory)
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    async with contextlib.AsyncExitStack() as stack:
        brokers = own_cluster(to_brokers)
        cluster = await asyncio.to_thread(brokers.__enter__)
        stack.push_async_callback(asyncio.to_thread, brokers.__exit__, None, None, None)
        for line in lines.values():
            stack.push_async_callback(line.close)
            await line.open()
        redis = RedisServer(directory / "redis")
        stack.push_async_callback(redis.kill)
        await redis.start()
        services = []
        for name in names:
            kind = "rules" if name == "spare" else name.partition("-")[0]
            words = ["serve", kind, "--game", "arcane-alley", "--data", str(directory)]
            if kind != "rules":
                words += ["--redis", redis.url]
            words += ["--kafka", ",".join(f"127.0.0.1:{port}" for port in fronts[name])]
            if plan.brokers == 1:
                words.append("--single-broker-not-durable")
            services.append(Service(name, ports[name], words, directory / f"{name}.log"))
            stack.push_async_callback(services[-1].kill)
        await _make_topics(cluster.bootstrap, plan.brokers == 1)
        regular, spare = services[: plan.processes], services[plan.processes]
        others = services[plan.processes + 1 :]
        read_side = ReadSide(redis, others[:READ_SIDE_PROCESSES], others[READ_SIDE_PROCESSES:])
        doors = Doors(ports)
        stack.push_async_callback(doors.close)
        doors.open |= {service.name for service in regular}
        doors.views |= {service.name for service in read_side.views}
        broken = Faults(Random(plan.seed), regular, spare, lines, doors, cluster.brokers, read_side)
        await asyncio.gather(*(service.start() for service in [*regular, *others]))
        for service in [*regular, *others]:
            if not await service.ready(READY_SECONDS):
                raise RuntimeError(f"{service.name} does not serve: {service.output()}")
        yield cluster, [*regular, *others], broken, Client(doors, existing_key(directory))


async def _storms(bootstrap: str) -> list[str]:
    """The partitions that are still claimed, again and again."""
    until = time.monotonic() + STORM_SECONDS
    ends: list[int] = []
    while True:
        records = await asyncio.to_thread(read_topic, bootstrap, TOPIC, ends)
        claimed = [number for number, new in enumerate(records) if any(not record.key for record in new)]
        if not claimed:
            return []
        if time.monotonic() > until:
            return [f"partition {number}" for number in claimed]
        ends = [end + len(new) for end, new in zip(ends or [0] * len(records), records, strict=True)]
        await asyncio.sleep(QUIET_SECONDS)


async def _make_topics(bootstrap: str, single: bool) -> None:
    """As an operator does. Raises RuntimeError."""
    words = ["topics", "apply", "--bootstrap", bootstrap, *(["--single-broker-not-durable"] if single else [])]
    process = await asyncio.create_subprocess_exec(
        *GUILDHALL, *words, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError(output.decode())


async def _tell(client: Client, broken: Faults, path: Path) -> None:
    """How far it has come, a line every half minute."""
    began = time.monotonic()
    while True:
        await asyncio.sleep(30.0)
        found = counts(client.calls)
        line = (
            f"{time.monotonic() - began:.0f} s: {len(client.calls)} calls, {_sum(found, 'write accepted')} accepted; "
        )
        with path.open("a") as file:
            file.write(f"{line}{_listed(broken.counts)}\n")


async def _break(plan: Plan, broken: Faults, playing: "asyncio.Task[None]") -> None:
    """Lets the faults happen while the players play; afterwards nothing is broken. Raises what ended the players."""
    lanes = [(faults.PROCESSES, plan.rest), (faults.LINES, plan.rest), (faults.READ_SIDE, plan.rest)]
    lanes.append((faults.BROKERS if plan.brokers < 3 else faults.CLUSTER, 5 * plan.rest))
    wanted = set(plan.only.split(","))
    chosen = [({name: n for name, n in shares.items() if not plan.only or name in wanted}, r) for shares, r in lanes]
    lane = broken.endless if plan.seconds else broken.budget
    if plan.seconds:
        asyncio.get_running_loop().call_later(plan.seconds, broken.stop)
    breaking = asyncio.gather(*(lane(shares, rest) for shares, rest in chosen if shares))
    playing.add_done_callback(lambda _: breaking.cancel())
    try:
        await breaking
    except asyncio.CancelledError:
        await playing
        raise
    await broken.end()


def _sum(found: Counter[str], prefix: str) -> int:
    return sum(number for name, number in found.items() if name.startswith(prefix))


def _listed(found: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(found.items(), key=_by_number)) or "none"


def _by_number(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]
