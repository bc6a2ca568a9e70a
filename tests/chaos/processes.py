"""Rules services as processes: started, paused, killed and drained, each at its own port."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

ROOT = Path(__file__).resolve().parents[2]
GUILDHALL = [sys.executable, "-c", "from guildhall.cli.main import main; main()"]
DRAIN_SECONDS = 30.0


class Service:
    """One process at a time, with what it says appended to a file. Each start is a new incarnation."""

    def __init__(self, name: str, port: int, words: Sequence[str], output: Path) -> None:
        """`words`: the rest of the command line."""
        self.name = name
        self.port = port
        self._words = [*words, "--port", str(port)]
        self._output = output
        self._process: asyncio.subprocess.Process | None = None

    @property
    def running(self) -> bool:
        """Whether there is a process, perhaps a paused one."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Starts it; it may take a while until it serves."""
        with self._output.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *GUILDHALL, *self._words, cwd=ROOT, stdout=output, stderr=output, stdin=asyncio.subprocess.DEVNULL
            )

    def send(self, number: signal.Signals) -> None:
        """Sends a signal, if it runs."""
        if self.running:
            assert self._process is not None
            self._process.send_signal(number)

    async def kill(self) -> None:
        """Ends it at once."""
        self.send(signal.SIGKILL)
        if self._process is not None:
            await self._process.wait()

    async def drain(self) -> int | None:
        """Asks it to end; its exit code, None if it didn't within `DRAIN_SECONDS`, after which it is killed."""
        self.send(signal.SIGTERM)
        assert self._process is not None
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                return await self._process.wait()
        except TimeoutError:
            await self.kill()
            return None

    async def ready(self, seconds: float) -> bool:
        """Whether it owns and serves what it was given, within so many seconds."""
        try:
            async with asyncio.timeout(seconds), grpc.aio.insecure_channel(f"127.0.0.1:{self.port}") as channel:
                stub: Any = health_pb2_grpc.HealthStub(channel)
                while True:
                    try:
                        answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=2.0)
                        if answer.status == health_pb2.HealthCheckResponse.SERVING:
                            return True
                    except grpc.aio.AioRpcError:
                        pass
                    await asyncio.sleep(0.1)
        except TimeoutError:
            return False

    def output(self) -> str:
        """The end of what it said."""
        return self._output.read_text(errors="replace")[-4000:] if self._output.exists() else ""
