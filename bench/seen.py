"""How soon a watcher sees an accepted command, beside the rate at which the whole hall, its broker, its Redis and its
load have no processor left on this machine; and what each of these processes needs for a command.

Games are played on `Play` streams and watched from both seats. First the broker's compiler is given the time that it
takes; then the rate that saturates is found, and the delays at shares of it are measured, in three minutes together.

The budget is for a rate, so it is judged as time goes here (docs/decisions/0015-budgets-are-ratios.md): where
bare echoes, before and after, take twice as long as on the machine on which it was set, half the rate is asked for, and
the delays may be twice as long.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from pathlib import Path

import uvloop

from bench.echo_rate import echoes
from bench.host_latency import percentile
from bench.load import Load
from bench.processes import hall_on_kafka
from bench.table import ECHOES, Pace, Row
from tests.kafka_broker import Missing, bootstrap
from tests.kafka_jars import LONG_RUN

GAMES = 100
RATE = 500.0
"""Commands a second of the budget, over all games."""
KEPT = 0.97
"""Of a rate that was asked for must have been accepted in the time."""
SHARES = (0.25, 0.5, 0.75)
"""Of the rate that saturates."""
WRITERS = 64
WARM_UP = float(os.environ.get("GUILDHALL_BENCH_WARM_SECONDS", "65"))
SECONDS = float(os.environ.get("GUILDHALL_BENCH_SECONDS", "15"))
SETTLE = 2.0
"""Seconds at a new rate before it is measured."""

ROLES = {
    "kafka.Kafka": "Kafka",
    "redis-server": "Redis",
    "serve rules": "rules",
    "serve projection": "projection",
    "serve views": "views",
}
"""By what the command line has; whatever else runs here is the load."""
TICKS = os.sysconf("SC_CLK_TCK")


def rows() -> Iterable[Row]:
    """Nothing where no broker can be had."""
    try:
        with bootstrap(LONG_RUN) as kafka:
            before = Pace(ECHOES, asyncio.run(echoes()))
            found, budget = uvloop.run(measure(kafka, RATE / before.slower()))
            pace = Pace(ECHOES, (before.measured + asyncio.run(echoes())) / 2)
    except Missing as missing:
        print(f"not measured: {missing}")
        return
    yield from found
    yield from row(budget, "at the budget's rate on this machine", pace)


async def measure(kafka: str, budget: float) -> tuple[list[Row], "Measured"]:
    """Rows of what is not judged; and how it is at the rate of the budget."""
    with tempfile.TemporaryDirectory(prefix="guildhall-bench-") as directory:
        async with hall_on_kafka(kafka, Path(directory)) as hall:
            load = Load(hall, "seen")
            await asyncio.gather(*(load.create() for _ in range(GAMES)))
            await load.flat_out(WRITERS, WARM_UP)
            saturated = await measured(load, load.flat_out(WRITERS, SECONDS))
            found = row(saturated, "at saturation")
            for share in SHARES:
                found += row(await settled(load, share * saturated.rate), f"at {share:.0%} of it")
            found += row(await settled(load, RATE), "at the budget's rate as it is")
            judged = await settled(load, budget)
            await load.close()
            return found, judged


async def settled(load: Load, rate: float) -> "Measured":
    """How the load fares at that rate."""
    await load.at_rate(rate, SETTLE)
    return await measured(load, load.at_rate(rate, SECONDS))


@dataclass(frozen=True)
class Measured:
    """Of a while of the load."""

    rate: float
    """Accepted commands a second."""
    seen: list[float]
    """Seconds from accepted to seen, of each watcher."""
    answered: list[float]
    """Seconds from sent to accepted."""
    used: dict[str, float]
    """Seconds of processor for a command, by role."""
    busy: float
    """Processors of the machine in use, on average, by whomever."""


async def measured(load: Load, work: Awaitable[object]) -> Measured:
    """How the load fared during this work."""
    begin, used, busy = time.perf_counter(), processor_seconds(), machine_seconds()
    await work
    seconds = time.perf_counter() - begin
    after, busy = processor_seconds(), machine_seconds() - busy
    await asyncio.sleep(0.5)
    times = load.times
    answered = [at - times.sent[key] for key, at in times.accepted.items() if begin < at < begin + seconds]
    needed = {role: (after[role] - used.get(role, 0.0)) / len(answered) for role in after}
    return Measured(len(answered) / seconds, times.since(times.accepted, begin), answered, needed, busy / seconds)


def row(of: Measured, what: str, pace: Pace | None = None) -> list[Row]:
    """The rows of one rate; judged where there is a pace."""
    needed = ", ".join(f"{role} {1e3 * seconds:.2f}" for role, seconds in sorted(of.used.items(), key=lambda i: -i[1]))
    answered = f"sent → accepted p50 {percentile(of.answered, 0.5):.1f}, p99 {percentile(of.answered, 0.99):.1f} ms"
    return [
        Row(
            f"{what}: accepted",
            of.rate,
            "commands/s",
            KEPT * RATE if pace else None,
            pace=pace,
            beside=f"{GAMES} games, {2 * GAMES} watchers; {of.busy:.2f} of {os.cpu_count()} processors busy",
        ),
        Row(
            "… accepted → seen, p50", percentile(of.seen, 0.5), "ms", 10.0 if pace else None, True, answered, pace=pace
        ),
        Row("… accepted → seen, p99", percentile(of.seen, 0.99), "ms", 50.0 if pace else None, True, pace=pace),
        Row("… processor time a command", 1e3 * sum(of.used.values()), "ms", beside=needed),
    ]


def processor_seconds() -> dict[str, float]:
    """What this process and its descendants have used so far, by role."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        pid = int(entry.parent.name)
        parents[pid] = int(fields[1])
        seconds[pid] = (int(fields[11]) + int(fields[12])) / TICKS
    found: dict[str, float] = {}
    for pid in parents:
        above = pid
        while above not in (0, os.getpid()):
            above = parents.get(above, 0)
        if above:
            role = "load" if pid == os.getpid() else role_of(pid)
            found[role] = found.get(role, 0.0) + seconds[pid]
    return found


def role_of(pid: int) -> str:
    """What a process does, by its command line."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return "load"
    return next((role for words, role in ROLES.items() if words in line), "load")


def machine_seconds() -> float:
    """What all processors of the machine have worked so far."""
    user, nice, system, _, _, irq, soft, *_ = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system + irq + soft) / TICKS
