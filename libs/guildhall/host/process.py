"""A process of the hall from its start until it is told to end."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import uvloop

from guildhall.host.door import DoorConfig
from guildhall.telemetry import logs

_log = logs.get("process")


class Process(Protocol):
    """What runs until SIGINT or SIGTERM."""

    @property
    def config(self) -> DoorConfig: ...

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
    try:
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            _log.info("told to stop while starting")
            starting.cancel()
            await _in_time(asyncio.wait([starting]), process)
            return
        await starting
        _set_garbage_collection()
        started(process)
        draining = asyncio.create_task(process.draining.wait())
        await asyncio.wait({stopping, draining}, return_when=asyncio.FIRST_COMPLETED)
        draining.cancel()
        _log.info("draining")
        await _in_time(process.stop(), process)
        _log.info("stopped")
    finally:
        stopping.cancel()


def _set_garbage_collection() -> None:
    """Let it look at what came after the start only, and seldom: nearly all of it is freed without.

    Measured in a hall of pools with 1,300 open streams: a full collection kept everybody waiting for 190 ms, now for
    75, and 3 % of the time went there (decision 32).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 5)


async def _in_time(ending: Awaitable[object], process: Process) -> None:
    """An end that does not come is told, and not waited for: what was acknowledged is in the log, whatever blocks."""
    try:
        async with asyncio.timeout(2 * process.config.drain_seconds + 0.5):
            await ending
    except TimeoutError:
        _log.error("not ended in time; it is not waited for")


def run_process(
    process: P,
    started: Callable[[P], None],
    well: Callable[[], bool] = lambda: True,
    at_end: Callable[[], None] = lambda: None,
) -> None:
    """`run` as all that this operating system's process does, which it ends: with 0 if `well()`. `at_end()` is called
    in any case. Raises as the process's `start`.
    """
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    try:
        runner.run(run(process, started))
    except BaseException:
        runner.close()
        raise
    finally:
        at_end()
    sys.stdout.flush()
    sys.stderr.flush()
    # All is drained. Taking apart what the clients of Kafka and gRPC have made would take longer than the drain did,
    # and a thread that waits for a broker would be waited for.
    os._exit(0 if well() else 1)
