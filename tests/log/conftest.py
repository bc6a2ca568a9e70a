"""What every adapter of the log is asked, each on a fresh store."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from guildhall.log.memory import MemoryBroker
from guildhall.log.port import Log
from guildhall.log.sqlite import open_sqlite

MAX_RECORD_BYTES = 4000

Connect: TypeAlias = Callable[[], Awaitable[Log]]
"""Opens another connection to the same store, as another process would."""


@pytest.fixture(params=["memory", "sqlite"])
async def connect(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Connect]:
    """An adapter over an empty store that takes records up to `MAX_RECORD_BYTES`; closes whatever was opened."""
    opened: list[Log] = []
    broker = MemoryBroker(max_record_bytes=MAX_RECORD_BYTES)

    async def memory() -> Log:
        opened.append(broker.log())
        return opened[-1]

    async def sqlite() -> Log:
        opened.append(open_sqlite(tmp_path / "log.sqlite", max_record_bytes=MAX_RECORD_BYTES))
        return opened[-1]

    yield {"memory": memory, "sqlite": sqlite}[request.param]
    for log in opened:
        await log.close()


@pytest.fixture
async def log(connect: Connect) -> Log:
    return await connect()


@pytest.fixture
def topic() -> str:
    """A topic name of the test's own."""
    return f"guildhall.test{next(_numbers)}.events"


_numbers = itertools.count()
