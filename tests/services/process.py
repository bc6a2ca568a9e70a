"""Halls as processes of their own, to be killed."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


class HallProcess:
    """A running hall of the tiny game."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process = process
        self.port = port

    async def end(self, number: signal.Signals) -> int:
        """Send a signal and wait; the exit code."""
        self.process.send_signal(number)
        return await self.process.wait()


@asynccontextmanager
async def hall_process(data: Path) -> AsyncIterator[HallProcess]:
    """A hall over this directory, killed at the end if it still runs."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.services.serve_tiny",
        str(data),
        cwd=Path(__file__).resolve().parents[2],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        line = await process.stdout.readline()
        assert line, f"the hall did not start: {await process.wait()}"
        yield HallProcess(process, int(line))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
