"""A process that is told to end does so, whatever it was about to do, and whether or not its broker answers."""

import asyncio
import signal
import sys
from pathlib import Path
from random import Random

import pytest

from tests.kafka_broker import Broker
from tests.kafka_jars import free_ports

STARTED = "up"
"""Printed as soon as the program runs."""

PROGRAM = f"""
import sys
from pathlib import Path
from guildhall.host.hall import HallConfig
from guildhall.host.process import run_process
from guildhall.telemetry import logs
from tests.services import serve_tiny_kafka
logs.configure("console")
print({STARTED!r}, flush=True)
# As long as a process stores that others wait for, and not as tests do.
hall = serve_tiny_kafka.rules(Path(sys.argv[1]), sys.argv[2], store_seconds=HallConfig.store_seconds)
run_process(hall, serve_tiny_kafka.started)
"""

LONGEST_SECONDS = 20.0
"""Twice the drain, which waits for commands in flight, and what a busy machine adds."""

START_SECONDS = 2.5
"""At some moment of so many seconds it is told to end: while it starts, or soon after."""

STARTS = 5


async def end(bootstrap: str, data: Path, seconds: float) -> tuple[int, str]:
    """Its exit code, and what it said, when it is told to end after so many seconds."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, str(data), bootstrap),
        cwd=Path(__file__).resolve().parents[2],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        assert process.stdout is not None
        assert (await process.stdout.readline()).decode().strip() == STARTED
        await asyncio.sleep(seconds)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(LONGEST_SECONDS):
            said, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, said.decode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize("weather", ["fair", "paused", "paused soon", "unreachable"])
async def test_at_any_moment_of_a_start(broker: Broker, tmp_path: Path, weather: str) -> None:
    random = Random(weather)
    bootstrap = f"127.0.0.1:{free_ports(1)[0]}" if weather == "unreachable" else broker.bootstrap
    for _ in range(STARTS):
        ending = asyncio.create_task(end(bootstrap, tmp_path, random.uniform(0.0, START_SECONDS)))
        if weather.startswith("paused"):
            await asyncio.sleep(0.0 if weather == "paused" else random.uniform(0.3, 2.0))
            broker.send(signal.SIGSTOP)
        try:
            code, said = await ending
        finally:
            broker.send(signal.SIGCONT)
        # Before anything listens for the signal, it ends a process by itself.
        assert code in (0, -signal.SIGTERM), said
        assert "not ended in time" not in said and "Traceback" not in said, said
