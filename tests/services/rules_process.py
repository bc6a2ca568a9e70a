"""Processes of the tiny game on a real broker, to be killed, stopped and paused."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from guildhall.host.owners import read
from guildhall.log.kafka import open_kafka
from guildhall.log.port import DEFAULT_PARTITIONS, partition_of
from tests.services.hall import ALL_SCOPES, SEATS, Client
from tests.services.process import HallProcess

T = TypeVar("T")

SERVICE = "guildhall.tiny.v1.RulesService"


@asynccontextmanager
async def rules_process(bootstrap: str, data: Path, log: Path | None = None) -> AsyncIterator[HallProcess]:
    """A process that listens; killed at the end if it still runs. `log` is a file to which it says what it does."""
    async with _process(log, str(data), bootstrap, "rules") as process:
        yield process


@asynccontextmanager
async def read_process(role: str, bootstrap: str, data: Path, redis: str) -> AsyncIterator[HallProcess]:
    """The same for a process of the read side: `projection` or `views`."""
    async with _process(data / f"{role}.log", str(data), bootstrap, role, redis) as process:
        yield process


@asynccontextmanager
async def _process(log: Path | None, *words: str) -> AsyncIterator[HallProcess]:
    with open(log or "/dev/null", "ab") as said:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.services.serve_tiny_kafka", *words),
            cwd=Path(__file__).resolve().parents[2],
            stdout=asyncio.subprocess.PIPE,
            stderr=said,
        )
    try:
        assert process.stdout is not None
        line = await process.stdout.readline()
        assert line, f"the process did not start: {await process.wait()}"
        yield HallProcess(process, int(line))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def ready(port: int, service: str = SERVICE, seconds: float = 30.0) -> None:
    """Returns when health says that the process has folded what it owns."""
    until = time.monotonic() + seconds
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        while True:
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
            if answer.status == health_pb2.HealthCheckResponse.SERVING:
                return
            assert time.monotonic() < until, "not ready in time"
            await asyncio.sleep(0.02)


@asynccontextmanager
async def rules_processes(bootstrap: str, data: Path, count: int) -> AsyncIterator[Sequence[HallProcess]]:
    """So many processes, all ready."""
    async with AsyncExitStack() as stack:
        starting = [rules_process(bootstrap, data, data / f"process-{n}.log") for n in range(count)]
        processes = await asyncio.gather(*(stack.enter_async_context(process) for process in starting))
        await asyncio.gather(*(ready(process.port) for process in processes))
        yield processes


class Replicas:
    """The same subjects at several processes, and a game of theirs."""

    def __init__(
        self,
        ports: Sequence[int],
        data: Path,
        random: Random,
        bootstrap: str,
        subjects: Sequence[str] = SEATS,
    ) -> None:
        self.ports = list(ports)
        self.bootstrap = bootstrap
        self.random = random
        self.seats = len(subjects)
        self.clients = {
            (port, seat): Client(port, data, subject, ALL_SCOPES)
            for port in ports
            for seat, subject in enumerate(subjects)
        }
        self.game_id = ""

    async def close(self) -> None:
        for client in self.clients.values():
            await client.channel.close()

    def at(self, port: int, seat: int = 0) -> Client:
        """That seat's client of that process."""
        return self.clients[port, seat]

    async def anywhere(self, call: Callable[[Client], Awaitable[T]], seat: int = 0, seconds: float = 60.0) -> T:
        """The answer of any process; asked of another one again for as long as the outcome is not known."""
        until = time.monotonic() + seconds
        while True:
            try:
                return await call(self.at(self.random.choice(self.ports), seat))
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE or time.monotonic() > until:
                    raise
                await asyncio.sleep(0.02)

    async def create(self) -> None:
        """A new game."""
        command_id = f"create-{time.monotonic_ns()}"
        self.game_id = await self.anywhere(lambda client: client.create(command_id=command_id))

    async def step(self) -> "Step | None":
        """One legal command by some seat that is waited for; None when the game is over."""
        for seat in self.random.sample(range(self.seats), self.seats):
            legal = await self.anywhere(lambda client: client.legal(self.game_id), seat)
            if legal.decisions:
                [decision] = legal.decisions
                command_id = f"s-{time.monotonic_ns()}"
                step = Step(seat, decision.decision.id, self.random.choice(decision.commands), command_id, 0)
                step.version = await self.send(step)
                return step
        return None

    async def send(self, step: "Step") -> int:
        """Send a command, maybe again; its version."""

        async def submit(client: Client) -> int:
            return await client.submit(self.game_id, step.decision_id, step.command, command_id=step.command_id)

        return await self.anywhere(submit, step.seat)


@dataclass
class Step:
    """An accepted command and the version that was told."""

    seat: int
    decision_id: str
    command: Any
    command_id: str
    version: int


@asynccontextmanager
async def replicas(
    processes: Sequence[HallProcess], data: Path, random: Random, bootstrap: str
) -> AsyncIterator[Replicas]:
    """Clients of those processes, and a new game."""
    clients = Replicas([process.port for process in processes], data, random, bootstrap)
    try:
        await clients.create()
        yield clients
    finally:
        await clients.close()


async def owners(bootstrap: str) -> dict[int, str]:
    """The address of each partition's owner, as the topic tells it."""
    log = open_kafka(bootstrap, single_broker_not_durable=True)
    try:
        return {owner.partition: owner.address for owner in await read(log)}
    finally:
        await log.close()


async def owner_of(bootstrap: str, game_id: str, processes: Sequence[HallProcess]) -> HallProcess:
    """The process that serves a game."""
    address = (await owners(bootstrap))[partition_of(game_id, DEFAULT_PARTITIONS)]
    return next(process for process in processes if address.endswith(f":{process.port}"))


async def until_spread(bootstrap: str, processes: Sequence[HallProcess]) -> None:
    """Returns when each of these processes, and nobody else, owns partitions, nearly as many as any other."""
    addresses = {f"127.0.0.1:{process.port}" for process in processes}
    while True:
        counts = Counter((await owners(bootstrap)).values())
        if set(counts) == addresses and max(counts.values()) - min(counts.values()) <= 1:
            return
        await asyncio.sleep(0.1)
