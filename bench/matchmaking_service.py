"""Matchmaking as players feel it: tickets per second from CreateTicket to the game, over five pools.

One hall over SQLite on this machine, and its clients in one other process; each ticket is accepted, offered, confirmed
and told over its subject's stream. GUILDHALL_TICKETS_PER_SECOND asks for another rate, GUILDHALL_BENCH_SECONDS for
another time.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import grpc

from bench.host_latency import percentile
from bench.matchmaking_hall import POOLS
from bench.processes import ROOT
from bench.table import Row
from guildhall.matchmaking.v1 import structs as wire
from guildhall.rpc.identity import existing_key, mint

RATE = float(os.environ.get("GUILDHALL_TICKETS_PER_SECOND", "1000"))
SECONDS = float(os.environ.get("GUILDHALL_BENCH_SECONDS", "60"))
WARM_UP_SECONDS = 5.0
SUBJECTS = int(4 * RATE)
CHANNELS = 8
SERVICE = "/guildhall.matchmaking.v1.MatchmakingService"


class Numbers:
    """What was measured."""

    def __init__(self) -> None:
        self.created: list[float] = []
        self.confirmed: list[float] = []
        self.whole: list[float] = []
        self.late = 0
        self.hall_cpu = 0.0
        """Seconds that the hall's process used."""

    def clear(self) -> None:
        """Begin here: what came before was to warm up."""
        self.created, self.confirmed, self.whole, self.late = [], [], [], 0


class Subject:
    """One player with an open stream."""

    def __init__(self, channel: grpc.aio.Channel, token: str, pool: str) -> None:
        self._channel = channel
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._pool = pool
        self._number = 0
        self._state = wire.State()
        self._changed = asyncio.Event()

    async def watch(self) -> None:
        """Follow the own state."""
        request = wire.encode_WatchStateRequest(wire.WatchStateRequest(self._pool))
        async for answer in self._channel.unary_stream(f"{SERVICE}/WatchState")(request, metadata=self._metadata):
            self._state = wire.decode_WatchStateResponse(answer).state
            self._changed.set()

    async def once(self, numbers: Numbers) -> None:
        """From a ticket to its game."""
        self._number += 1
        began = time.perf_counter()
        request = wire.CreateTicketRequest(f"create {self._number}", self._pool, seats=(2,))
        answer = await self._ask("CreateTicket", wire.encode_CreateTicketRequest(request))
        ticket_id = wire.decode_CreateTicketResponse(answer).ticket_id
        numbers.created.append(time.perf_counter() - began)
        offer_id = ""
        while not any(ended.ticket_id == ticket_id for ended in self._state.ended):
            offer = self._state.offer
            if offer is not None and not offer.you_confirmed and offer.offer_id != offer_id:
                offer_id = offer.offer_id
                at = time.perf_counter()
                confirm = wire.ConfirmOfferRequest(f"confirm {offer_id}", self._pool, offer_id)
                await self._ask("ConfirmOffer", wire.encode_ConfirmOfferRequest(confirm))
                numbers.confirmed.append(time.perf_counter() - at)
                continue
            self._changed.clear()
            await self._changed.wait()
        numbers.whole.append(time.perf_counter() - began)

    async def _ask(self, method: str, request: bytes) -> bytes:
        call: Any = self._channel.unary_unary(f"{SERVICE}/{method}")
        answer: bytes = await call(request, metadata=self._metadata)
        return answer


def cpu_seconds(pid: int) -> float:
    """That a process has used so far."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def measure(address: str, data: Path, hall: int) -> tuple[Numbers, float]:
    """What was measured, and for how many seconds; `hall` is its process id."""
    key = existing_key(data)
    channels = [grpc.aio.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]) for _ in range(CHANNELS)]
    subjects = [
        Subject(channels[n % CHANNELS], mint(key, f"player {n}", ["play"], 3600.0), POOLS[n % len(POOLS)])
        for n in range(SUBJECTS)
    ]
    streams = [asyncio.create_task(subject.watch()) for subject in subjects]
    await asyncio.sleep(2.0 + SUBJECTS / 1000)
    numbers = Numbers()
    idle: asyncio.Queue[Subject] = asyncio.Queue()
    for subject in subjects:
        idle.put_nowait(subject)
    running: set[asyncio.Task[None]] = set()

    async def one(subject: Subject) -> None:
        await subject.once(numbers)
        idle.put_nowait(subject)

    began = time.perf_counter()
    warm = int(RATE * WARM_UP_SECONDS)
    for number in range(warm + int(RATE * SECONDS)):
        if number == warm:
            numbers.clear()
            numbers.hall_cpu = -cpu_seconds(hall)
        wait = began + number / RATE - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        elif wait < -1.0:
            numbers.late += 1
        task = asyncio.create_task(one(await idle.get()))
        running.add(task)
        task.add_done_callback(running.discard)
    took = time.perf_counter() - began - WARM_UP_SECONDS
    numbers.hall_cpu += cpu_seconds(hall)
    done = len(numbers.whole)
    await asyncio.wait(running, timeout=10.0)
    for stream in streams:
        stream.cancel()
    for channel in channels:
        await channel.close()
    numbers.whole = numbers.whole[:done]
    return numbers, took


async def _measured() -> tuple[Numbers, float]:
    with tempfile.TemporaryDirectory(prefix="guildhall-bench-") as directory:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bench.matchmaking_hall", directory),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            assert process.stdout is not None
            port = int(await process.stdout.readline())
            return await measure(f"127.0.0.1:{port}", Path(directory), process.pid)
        finally:
            process.kill()
            await process.wait()


def rows() -> Iterable[Row]:
    """Tickets per second, and how long each step took."""
    numbers, took = asyncio.run(_measured())
    beside = f"asked for {RATE:.0f}/s for {SECONDS:.0f} s; {numbers.late} were sent late"
    yield Row("tickets accepted, offered and confirmed", len(numbers.whole) / took, "/s", 0.97 * RATE, beside=beside)
    if numbers.whole:
        share = 1000 * numbers.hall_cpu / len(numbers.whole)
        yield Row("… of the hall's processor, each", share, "ms", beside="its whole process, all threads")
        yield Row("CreateTicket, p99", percentile(numbers.created, 0.99), "ms", 50.0, True)
        yield Row("CreateTicket, p50", percentile(numbers.created, 0.5), "ms")
        yield Row("ConfirmOffer, p99", percentile(numbers.confirmed, 0.99), "ms")
        yield Row("from the ticket to its game, p50", percentile(numbers.whole, 0.5), "ms", beside="passes: 1 s apart")
