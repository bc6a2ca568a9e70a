"""A hall of the tiny game as a process of its own: `python -m tests.services.serve_tiny DATA` prints its port."""

import asyncio
import sys
from pathlib import Path

from guildhall.host.hall import Hall
from guildhall.host.process import run
from guildhall.telemetry import logs
from tests.services.hall import config


def started(hall: Hall) -> None:
    print(hall.port, flush=True)


if __name__ == "__main__":
    logs.configure("console")
    asyncio.run(run(Hall(config(Path(sys.argv[1]))), started))
