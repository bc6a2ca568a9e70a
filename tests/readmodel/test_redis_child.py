"""A Redis of one's own, by each server that it may be: the one on the path, and the one that a package ships."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from guildhall.readmodel.child import DUMP, RedisChild, server_binary


@pytest.fixture(params=["on the path", "shipped"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Found where it says; on a machine without one on the path the shipped one is both."""
    if request.param == "shipped":
        monkeypatch.setattr(shutil, "which", lambda name: None)
    yield server_binary()


async def test_what_it_held_is_there_again(server: Path, tmp_path: Path) -> None:
    for expected in (None, b"kept"):
        child = RedisChild(tmp_path / "socket", keep=tmp_path / "kept")
        await child.start()
        client = Redis.from_url(child.url)
        assert await client.get("it") == expected, server
        assert (await client.config_get("save"))["save"] == "300 1 60 10000"
        await client.set("it", "kept")
        await client.aclose()
        await child.stop()
    assert (tmp_path / "kept" / DUMP).exists()


async def test_it_stores_nothing_unless_told_where(server: Path, tmp_path: Path) -> None:
    child = RedisChild(tmp_path)
    await child.start()
    client = Redis.from_url(child.url)
    await client.set("it", "kept")
    assert (await client.config_get("save"))["save"] == ""
    await client.aclose()
    await child.stop()
    assert list(tmp_path.iterdir()) == [], server
