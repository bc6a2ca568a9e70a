"""Processes for the measures: the roles of a hall on Kafka, and a bare echo."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from guildhall.log.errors import LogUnavailable
from guildhall.readmodel.child import RedisChild

T = TypeVar("T")

ROOT = Path(__file__).parent.parent
READY_SECONDS = 120.0
GUILDHALL = str(Path(sys.executable).with_name("guildhall"))
GAME = "arcane-alley"


@asynccontextmanager
async def rules_process(kafka: str, data: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """`guildhall serve rules` of Arcane Alley, and its address; ready. Killed at the end if it still runs."""
    async with _role("rules", kafka, data) as there:
        yield there


@asynccontextmanager
async def echo_process() -> AsyncIterator[str]:
    """`bench.echo`; its address."""
    async with _listening((sys.executable, "-m", "bench.echo"), r"([\d.]+:\d+)") as (_, address):
        yield address


@dataclass(frozen=True)
class HallOnKafka:
    """Arcane Alley as one process of each role, with a Redis of their own."""

    data: Path
    rules: str
    views: str
    views_pid: int
    redis: str


@asynccontextmanager
async def hall_on_kafka(kafka: str, data: Path) -> AsyncIterator[HallOnKafka]:
    """All roles, ready."""
    async with AsyncExitStack() as stack:
        child = RedisChild(data / "redis")
        await child.start()
        stack.push_async_callback(child.stop)
        _, rules = await stack.enter_async_context(rules_process(kafka, data))
        await stack.enter_async_context(_role("projection", kafka, data, "--redis", child.url))
        views, address = await stack.enter_async_context(_role("views", kafka, data, "--redis", child.url))
        yield HallOnKafka(data, rules, address, views.pid, child.url)


@asynccontextmanager
async def _role(
    role: str, kafka: str, data: Path, *options: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    arguments = ("serve", role, "--game", GAME, "--kafka", kafka, "--single-broker-not-durable")
    command = (GUILDHALL, *arguments, "--port", "0", "--data", str(data), *options)
    async with _listening(command, r"listens on ([\d.]+:\d+)") as (process, address):
        await _ready(address)
        yield process, address


@asynccontextmanager
async def _listening(command: tuple[str, ...], address: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert process.stdout is not None
    try:
        found = None
        while found is None:
            line = await process.stdout.readline()
            if not line:
                raise RuntimeError(f"{' '.join(command)} did not start: exit code {await process.wait()}")
            found = re.search(address, line.decode())
        yield process, found[1]
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _ready(address: str) -> None:
    async with asyncio.timeout(READY_SECONDS), grpc.aio.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        serving = health_pb2.HealthCheckResponse.SERVING
        while (await stub.Check(health_pb2.HealthCheckRequest())).status != serving:
            await asyncio.sleep(0.05)


async def once_available(work: Callable[[], Awaitable[T]]) -> T:
    """What a broker that has just been started may not do at once."""
    async with asyncio.timeout(READY_SECONDS):
        while True:
            try:
                return await work()
            except LogUnavailable:
                await asyncio.sleep(0.5)
