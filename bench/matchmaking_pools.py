"""Pools alone: so many tickets a second accepted, offered, confirmed and over through the log, without gRPC.

Five pools shared out among two processes, with their players in them: what is left of a ticket when nobody calls from
outside. At the rate of the budget for `GUILDHALL_BENCH_SECONDS` (60).
"""

import asyncio
import os
import tempfile
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from bench.host_latency import percentile
from bench.matchmaking_hall import POOLS
from bench.matchmaking_players import Measured
from bench.matchmaking_service import KEPT, MUST, P99_MS, child, line_of
from bench.table import Row

SECONDS = float(os.environ.get("GUILDHALL_BENCH_SECONDS", "60"))
PROCESSES = 2


async def measure() -> list[Measured]:
    """What each process measured; each has its pools' share of the rate."""
    with tempfile.TemporaryDirectory(prefix="guildhall-bench-") as directory:
        async with AsyncExitStack() as stack:
            processes = []
            for number in range(PROCESSES):
                pools = POOLS[number::PROCESSES]
                data = Path(directory) / str(number)
                data.mkdir()
                rate = MUST * len(pools) / len(POOLS)
                words = (str(rate), str(SECONDS), str(data), *pools)
                processes.append(await stack.enter_async_context(child("bench.matchmaking_players", *words)))
            lines = await asyncio.gather(*map(line_of, processes))
    return [msgspec.json.decode(line, type=Measured) for line in lines]


def rows() -> Iterable[Row]:
    """The rate, how long each step took, and what a ticket costs."""
    parts = asyncio.run(measure())
    created = [seconds for part in parts for seconds in part.created]
    over = [seconds for part in parts for seconds in part.over]
    rate = sum(len(part.over) / part.seconds for part in parts)
    entries = sum(part.entries for part in parts) / len(over)
    beside = f"asked for {MUST:.0f}/s, {SECONDS:.0f} s, five pools, {PROCESSES} processes, {entries:.2f} entries each"
    yield Row("pools alone: tickets accepted, offered and confirmed", rate, "/s", KEPT * MUST, beside=beside)
    yield Row("… create, p99", percentile(created, 0.99), "ms", P99_MS, True)
    yield Row("… create, p50", percentile(created, 0.5), "ms")
    yield Row("… from the ticket to the end of its game, p50", percentile(over, 0.5), "ms")
    yield Row("… processor of each, all threads", 1e3 * sum(part.processor for part in parts) / len(over), "ms")
