"""A hall of one machine as a client feels it: an accepted command, beside a bare commit of SQLite in the same run."""

import asyncio
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from bench.table import Row
from guildhall.cli.client import Client
from guildhall.cli.tokens import dev_token

COMMANDS = 3_000
PATIENCE = 60.0
"""Seconds for which a busy machine is waited for."""
BODY = 700
"""Bytes of a record, as a bare commit writes it."""


def percentile(seconds: list[float], share: float) -> float:
    """In milliseconds."""
    return sorted(seconds)[int(len(seconds) * share)] * 1e3


def bare_commits(directory: Path) -> list[float]:
    """Seconds of one insert and its commit, synchronous=FULL, one at a time."""
    with sqlite3.connect(directory / "bare.sqlite", isolation_level=None) as log:
        log.execute("pragma journal_mode=wal")
        log.execute("pragma synchronous=full")
        log.execute("create table records (at integer primary key, value blob)")
        seconds = []
        for _ in range(COMMANDS):
            before = time.perf_counter()
            log.execute("begin")
            log.execute("insert into records (value) values (?)", (random.randbytes(BODY),))
            log.execute("commit")
            seconds.append(time.perf_counter() - before)
    return seconds


@asynccontextmanager
async def hall(data: Path) -> AsyncIterator[str]:
    """A hall in a process of its own; its address."""
    process = await asyncio.create_subprocess_exec(
        *(str(Path(sys.executable).with_name("guildhall")), "serve", "all", "--port", "0", "--data", str(data)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        while b"listens on" not in (line := await process.stdout.readline()):
            if not line:
                raise RuntimeError("the hall did not start")
        yield next(word for word in line.decode().split() if word.startswith("127.0.0.1:"))
    finally:
        process.terminate()
        await process.communicate()


class Table:
    """Two seats and the stream on which each learns what it may do; its commands are legal and random."""

    def __init__(self, address: str, data: Path, name: str) -> None:
        self.subjects = [f"{name}-{seat}" for seat in range(2)]
        tokens = [dev_token(data, subject, ("play", "seat")) for subject in self.subjects]
        self.clients = [Client("arcane_alley", address, token, PATIENCE) for token in tokens]
        self.random = random.Random(name)
        self.game_id = ""

    async def moves(self, count: int) -> AsyncIterator[tuple[Client, str, object]]:
        """Decisions and commands, one at a time; a new game when one ends."""
        while count:
            options = {"wizard_powers": "false"}
            self.game_id = await self.clients[0].create(subjects=tuple(self.subjects), options=tuple(options.items()))
            open_ = True
            while open_ and count:
                open_ = False
                for client in self.clients:
                    for legal in (
                        await client.call("RulesService", "ListLegalCommands", game_id=self.game_id)
                    ).decisions:
                        open_ = True
                        yield client, legal.decision.id, self.random.choice(legal.commands)
                        count -= 1
                        if not count:
                            return


async def unary(address: str, data: Path) -> list[float]:
    """Seconds of SubmitCommand, one in flight."""
    table = Table(address, data, "unary")
    seconds = []
    async for client, decision, command in table.moves(COMMANDS):
        before = time.perf_counter()
        await client.submit(table.game_id, decision, command)
        seconds.append(time.perf_counter() - before)
    return seconds


async def measure() -> tuple[list[float], list[float]]:
    """Bare commits and accepted commands."""
    with tempfile.TemporaryDirectory(prefix="guildhall-bench-") as directory:
        data = Path(directory)
        async with hall(data) as address:
            accepted = await unary(address, data)
        return bare_commits(data), accepted


def rows() -> Iterable[Row]:
    """Latencies of the one-machine mode."""
    bare, accepted = asyncio.run(measure())
    base = percentile(bare, 0.5)
    beside = f"bare SQLite commit, synchronous=FULL: p50 {base:.3f} ms, p99 {percentile(bare, 0.99):.3f} ms"
    yield Row("accepted command, 1 in flight, p50", percentile(accepted, 0.5), "ms", base + 1.5, True, beside)
    yield Row("accepted command, 1 in flight, p99", percentile(accepted, 0.99), "ms")
    yield Row("accepted command, 1 in flight, mean", statistics.fmean(accepted) * 1e3, "ms")
