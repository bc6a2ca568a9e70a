"""`serve views` as a process: when it begins, and what its health says."""

import asyncio
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as NoConnection

from guildhall.cli import read_side
from guildhall.cli.read_side import ViewsConfig, ViewsProcess
from guildhall.log.memory import MemoryBroker
from guildhall.readmodel.child import RedisChild
from services.arcane_alley.rules import RULES as ARCANE
from services.views import service
from services.views.service import Views
from tests.kernel.tiny.game import RULES as TINY

HEALTH = health_pb2.HealthCheckResponse
SERVICES = ("", "guildhall.tiny.v1.ViewService", "guildhall.games.v1.GamesService")


async def until_health(port: int, status: int) -> None:
    """Returns when health says so of all services."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel, asyncio.timeout(60):
        stub = health_pb2_grpc.HealthStub(channel)
        for name in SERVICES:
            while (await stub.Check(health_pb2.HealthCheckRequest(service=name))).status != status:
                await asyncio.sleep(0.02)


async def test_health_says_when_views_cannot_be_read(
    server: RedisChild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_side, "_LOOK_SECONDS", 0.02)
    monkeypatch.setattr(service, "CUT_OFF_SECONDS", 3.0)
    process = ViewsProcess(
        ViewsConfig(data=tmp_path, port=0, games=[TINY], open_log=MemoryBroker().log, redis=server.url)
    )
    await process.start()
    for _ in range(2):
        await until_health(process.port, HEALTH.SERVING)
        await server.stop()
        await until_health(process.port, HEALTH.NOT_SERVING)
        await server.start()
    await until_health(process.port, HEALTH.SERVING)
    await process.stop()


def followers() -> int:
    """How many tasks read news."""
    return sum(getattr(task.get_coro(), "__qualname__", "") == "News._read" for task in asyncio.all_tasks())


async def test_a_start_that_fails_leaves_nothing_that_goes_on(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried again: nobody reads the same news twice."""
    views = Views([TINY, ARCANE], redis)
    await views.open(MemoryBroker().log())
    news = views.games[ARCANE.game].news

    async def away() -> None:
        raise NoConnection("Redis is away")

    with monkeypatch.context() as broken:
        broken.setattr(news, "start", away)
        for _ in range(2):
            with pytest.raises(NoConnection):
                await views.start()
            assert followers() == 0
    await views.start()
    assert followers() == 2
    heard: asyncio.Queue[int] = asyncio.Queue()
    first = views.games[TINY.game].news
    first.listen("game", lambda version, record: heard.put_nowait(version))
    for version in (1, 2):
        await redis.xadd(first.keys(0).news, {"g": "game", "v": version, "r": b"a"}, f"{version}-0")
    async with asyncio.timeout(20):
        assert [await heard.get(), await heard.get()] == [1, 2]
    await views.stop()
