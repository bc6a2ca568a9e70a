"""Rules processes of the tiny game on a real broker, to be killed, stopped and paused."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.services.process import HallProcess

SERVICE = "guildhall.tiny.v1.RulesService"


@asynccontextmanager
async def rules_process(bootstrap: str, data: Path, log: Path | None = None) -> AsyncIterator[HallProcess]:
    """A process that listens; killed at the end if it still runs. `log` is a file to which it says what it does."""
    with open(log or "/dev/null", "ab") as said:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.services.serve_tiny_kafka", str(data), bootstrap),
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
