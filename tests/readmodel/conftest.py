"""A real Redis for the tests of the read side: an address in the environment, else a server of our own."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from guildhall.readmodel.child import RedisChild


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RedisChild]:
    """A Redis of the test's own, which it may kill."""
    child = RedisChild(tmp_path / "redis")
    await child.start()
    yield child
    await child.stop()


@pytest.fixture
async def redis(server: RedisChild) -> AsyncIterator[Redis]:
    client = Redis.from_url(os.environ.get("GUILDHALL_TEST_REDIS", server.url))
    yield client
    await client.aclose()
