"""Matchmaking as players feel it: tickets per second from CreateTicket to the game, over five pools.

Pools in one or more halls over SQLite, players in a process of their own, all on this machine; each ticket is accepted,
offered, confirmed and told over its subject's session. Asked for is the budget's rate, for `GUILDHALL_BENCH_SECONDS`
(60); where not all comes to a game or the p99 of CreateTicket is beyond 50 ms, again, with less. All is judged as time
goes on this machine (docs/decisions/0015-budgets-are-ratios.md), by the rate of bare echoes right before and right
after. `GUILDHALL_BENCH_HALLS` (1 to 5): so many processes share the pools; `GUILDHALL_BENCH_SHARE`: of the budget's
rate is asked for first.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from bench.echo_rate import echoes
from bench.host_latency import percentile
from bench.matchmaking_client import Ask, Begin, Measured, Place
from bench.matchmaking_hall import POOLS
from bench.processes import ROOT
from bench.table import ECHOES, Pace, Row

MUST = 1000.0
SHARE = float(os.environ.get("GUILDHALL_BENCH_SHARE", "1.02"))
"""A little more, since the machine may be faster after than before."""
SECONDS = float(os.environ.get("GUILDHALL_BENCH_SECONDS", "60"))
HALLS = int(os.environ.get("GUILDHALL_BENCH_HALLS", "2"))
CLIENTS = 1
CHEAP_CLIENT = {"GRPC_EXPERIMENTS": "-event_engine_client"}
"""Of gRPC in the players' process: measured, 0.2 ms less for each ticket, which the halls have then."""
P99_MS = 50.0
KEPT = 0.97
"""Of what was asked for must have come to a game in the time."""
STEP = 0.93
"""Of a rate that was too much is tried next."""
MINUTES = 6
"""Are tried."""
LINE_BYTES = 1 << 26


class Outcome(msgspec.Struct):
    """What one rate came to."""

    rate: float
    measured: Measured
    halls_loop: float
    """Seconds of processor of the halls' main threads, where their loops run."""
    halls_other: float
    """Of their other threads: SQLite's, gRPC's."""
    clients: float
    """Of the clients' processes."""

    @property
    def sustained(self) -> float:
        """Tickets per second that came to a game."""
        return len(self.measured.whole) / self.measured.seconds

    def good(self, p99_ms: float) -> bool:
        """Whether the rate was kept, and creating was as quick as that."""
        came = not self.measured.lost and self.sustained >= KEPT * self.rate
        return came and self.p99_ms <= p99_ms

    @property
    def p99_ms(self) -> float:
        """Of CreateTicket; nan where none was accepted."""
        return percentile(self.measured.created, 0.99) if self.measured.created else float("nan")

    def told(self) -> str:
        """In a few words."""
        came = f"{self.sustained:.0f}/s, create p99 {self.p99_ms:.0f} ms, {self.measured.lost} lost"
        return f"asked for {self.rate:.0f}/s: {came}"


class Processor:
    """Of some processes: the seconds that they used since this was made."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._began = self._now()

    def used(self) -> tuple[float, float]:
        """(main threads, all other threads)."""
        now = self._now()
        return now[0] - self._began[0], now[1] - self._began[1]

    def _now(self) -> tuple[float, float]:
        main = sum(_seconds(Path(f"/proc/{pid}/task/{pid}/stat")) for pid in self._pids)
        return main, sum(_seconds(Path(f"/proc/{pid}/stat")) for pid in self._pids) - main


def _seconds(stat: Path) -> float:
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def child(module: str, *words: str, **environment: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A module of this folder as a process, with this besides in its environment; killed at the end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *words),
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LINE_BYTES,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def line_of(process: asyncio.subprocess.Process) -> bytes:
    """What it prints next."""
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise RuntimeError(f"a process of the measure ended: {await process.wait()}")
    return line


def _tell(process: asyncio.subprocess.Process, message: object) -> None:
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(message) + b"\n")


class Bench:
    """Halls and clients that are up."""

    def __init__(
        self,
        halls: Sequence[asyncio.subprocess.Process],
        clients: Sequence[asyncio.subprocess.Process],
    ) -> None:
        self._halls = halls
        self._clients = clients

    async def at(self, rate: float, seconds: float) -> Outcome:
        """What comes of that rate, asked for by all clients together."""
        halls = Processor([process.pid for process in self._halls])
        clients = Processor([process.pid for process in self._clients])
        for client in self._clients:
            _tell(client, Ask(rate / len(self._clients), seconds))
        answers = [msgspec.json.decode(await line_of(client), type=Measured) for client in self._clients]
        both = Measured(seconds=max(answer.seconds for answer in answers))
        for answer in answers:
            both.created += answer.created
            both.confirmed += answer.confirmed
            both.whole += answer.whole
            both.late += answer.late
            both.lost += answer.lost
            both.again += answer.again
        loop, other = halls.used()
        return Outcome(rate, both, loop, other, sum(clients.used()))


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    """Up, with the pools shared out among the halls."""
    async with AsyncExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="guildhall-bench-")))
        halls, places = [], []
        for number in range(HALLS):
            pools = POOLS[number::HALLS]
            data = root / f"hall-{number}"
            data.mkdir()
            process = await stack.enter_async_context(child("bench.matchmaking_hall", str(data), *pools))
            places.append(Place(f"127.0.0.1:{int(await line_of(process))}", str(data), pools))
            halls.append(process)
        clients = []
        for number in range(CLIENTS):
            process = await stack.enter_async_context(child("bench.matchmaking_client", **CHEAP_CLIENT))
            _tell(process, Begin(f"player {number}", tuple(places)))
            clients.append(process)
        yield Bench(halls, clients)


async def kept() -> tuple[Outcome, Pace]:
    """The outcome of the first minute that is good at the budget's rate; else of the best one, or of the last. With how
    fast the machine was in it.
    """
    best: tuple[Outcome, Pace] | None = None
    async with bench() as up:
        before = Pace(ECHOES, await echoes())
        share = SHARE
        for _ in range(MINUTES):
            outcome = await up.at(share * MUST / before.slower(), SECONDS)
            after = Pace(ECHOES, await echoes())
            pace = Pace(ECHOES, (before.measured + after.measured) / 2)
            before = after
            good = outcome.good(P99_MS * pace.slower())
            print(f"  {outcome.told()}; {pace.words()}{'' if good else ': too much'}", file=sys.stderr)
            if not good:
                share *= STEP
            elif best is None or outcome.sustained * pace.slower() > best[0].sustained * best[1].slower():
                best = outcome, pace
            # Less than the budget's rate was asked for where the machine has become faster.
            if good and outcome.sustained * pace.slower() >= MUST:
                break
    return best or (outcome, pace)


def rows() -> Iterable[Row]:
    """Tickets per second, what each costs, and how long each step took."""
    outcome, pace = asyncio.run(kept())
    measured, tickets = outcome.measured, len(outcome.measured.whole)
    beside = f"{SECONDS:.0f} s, {HALLS} halls, {CLIENTS} clients; late {measured.late}, again {measured.again}"
    yield Row("tickets accepted, offered and confirmed", outcome.sustained, "/s", MUST, beside=beside, pace=pace)
    if tickets:
        warmed = tickets * (1 + 4.0 / SECONDS)
        yield Row("… processor of the halls' loops, each", 1e3 * outcome.halls_loop / warmed, "ms")
        yield Row(
            "… of the halls' other threads, each", 1e3 * outcome.halls_other / warmed, "ms", beside="SQLite, gRPC"
        )
        yield Row("… of the clients, each", 1e3 * outcome.clients / warmed, "ms")
        yield Row("CreateTicket, p99", outcome.p99_ms, "ms", P99_MS, True, pace=pace)
        yield Row("CreateTicket, p50", percentile(measured.created, 0.5), "ms")
        yield Row("ConfirmOffer, p99", percentile(measured.confirmed, 0.99), "ms")
        yield Row("from the ticket to its game, p50", percentile(measured.whole, 0.5), "ms")
