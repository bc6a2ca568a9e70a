"""A process of the hall from its start until it is told to end."""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Protocol, TypeVar

from guildhall.telemetry import logs

_log = logs.get("process")


class Process(Protocol):
    """What runs until SIGINT or SIGTERM."""

    draining: asyncio.Event
    """Set by whatever asks from inside that the process ends."""

    async def start(self) -> None:
        """Be up when this returns."""
        ...

    async def stop(self) -> None:
        """Drain."""
        ...


P = TypeVar("P", bound=Process)


async def run(process: P, started: Callable[[P], None]) -> None:
    """Run it until SIGINT or SIGTERM, then drain it; `started` is called when it is up. Raises as its `start`."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    starting = asyncio.create_task(process.start())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await starting
        return
    try:
        await starting
        started(process)
        draining = asyncio.create_task(process.draining.wait())
        await asyncio.wait({stopping, draining}, return_when=asyncio.FIRST_COMPLETED)
        draining.cancel()
        _log.info("draining")
        await process.stop()
        _log.info("stopped")
    finally:
        stopping.cancel()
