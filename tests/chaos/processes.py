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
        self._said = 0

    @property
    def listening(self) -> bool:
        """Whether this incarnation has come as far as to take requests; it may have ended since."""
        with self._output.open("rb") as output:
            output.seek(self._said)
            return b" listens on " in output.read()

    @property
    def running(self) -> bool:
        """Whether there is a process, perhaps a paused one."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Starts it; it may take a while until it serves."""
        with self._output.open("ab") as output:
            self._said = output.tell()
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

    async def drain(self) -> str:
        """Asks it to end; what is wrong with how it did, if anything."""
        listened = self.listening
        self.send(signal.SIGTERM)
        assert self._process is not None
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                code = await self._process.wait()
        except TimeoutError:
            await self.kill()
            return f"SIGTERM did not end it within {DRAIN_SECONDS} s"
        return f"SIGTERM ended it with exit code {code}" if code and listened else ""

    async def revive(self) -> str:
        """Starts it again if it has ended by itself, as whoever supervises it does: one that finds no Kafka when it
        starts gives up. What is wrong with that, if anything."""
        if self.running:
            return ""
        assert self._process is not None
        wrong = f"it ended by itself with exit code {self._process.returncode}" if self.listening else ""
        await self.start()
        return wrong

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
