"""Views on a real broker: rules processes write, a projection folds, and any views process shows."""

import asyncio
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest

from guildhall.readmodel.child import RedisChild
from tests.kafka_broker import Broker
from tests.services.hall import ALL_SCOPES, Client, failure
from tests.services.rules_process import owner_of, read_process, ready, replicas, rules_processes, until_spread

CODE = grpc.StatusCode


@asynccontextmanager
async def own_redis() -> AsyncIterator[str]:
    """The address of a Redis of the test's own. Its socket's name must be short."""
    with tempfile.TemporaryDirectory() as directory:
        child = RedisChild(Path(directory) / "redis")
        await child.start()
        yield child.url
        await child.stop()


async def until_version(call: Any, version: int) -> list[int]:
    """The versions that a stream tells up to that one."""
    told: list[int] = []
    while not told or told[-1] < version:
        message = await call.read()
        if message.heartbeat is None:
            told.append(message.version)
    return told


async def test_views_of_what_is_played_elsewhere(broker: Broker, tmp_path: Path) -> None:
    """Owners, views and projections come and go; streams tell every version once, and all views the same."""
    async with (
        own_redis() as redis,
        rules_processes(broker.bootstrap, tmp_path, 2) as processes,
        read_process("projection", broker.bootstrap, tmp_path, redis) as projection,
        read_process("views", broker.bootstrap, tmp_path, redis) as one,
        read_process("views", broker.bootstrap, tmp_path, redis) as two,
        replicas(processes, tmp_path, Random(1), broker.bootstrap) as game,
        Client(one.port, tmp_path, "alice", ALL_SCOPES) as here,
        Client(two.port, tmp_path, "alice", ALL_SCOPES) as there,
    ):
        await asyncio.gather(ready(projection.port, ""), ready(one.port, ""), ready(two.port, ""))
        await until_spread(broker.bootstrap, processes)
        watching = here.watch(game.game_id, events=True, after=0, timeout=120.0)
        first = await game.step()
        assert first is not None
        assert await until_version(watching, first.version) == list(range(1, first.version + 1))

        # The owner goes: nobody who watches notices.
        owner = await owner_of(broker.bootstrap, game.game_id, processes)
        game.ports = [process.port for process in processes if process is not owner]
        await owner.end(signal.SIGKILL)
        second = await game.step()
        assert second is not None
        assert await until_version(watching, second.version) == [second.version]

        async def told(client: Client) -> list[Any]:
            return [
                await client.view(game.game_id, min_version=second.version),
                await client.view(game.game_id, at_version=1),
                await client.call("ListEvents", game_id=game.game_id, min_version=second.version),
                await failure(client.view(game.game_id, at_version=999)),
                await failure(client.view("x" * 26)),
            ]

        assert await told(here) == await told(there)

        # Views are drained: the stream goes on at the others, after the version that it has.
        assert await one.end(signal.SIGTERM) == 0
        with pytest.raises(grpc.aio.AioRpcError):
            while (message := await watching.read()) is not grpc.aio.EOF:
                assert message.heartbeat is not None
        watching = there.watch(game.game_id, events=True, after=second.version, timeout=120.0)

        # Without a projection views stand still, and say so; the next one goes on where the last was.
        await projection.end(signal.SIGKILL)
        third = await game.step()
        assert third is not None
        late = there.view(game.game_id, min_version=third.version, timeout=1.0)
        assert (await failure(late))[:2] == ("VERSION_NOT_REACHED", CODE.DEADLINE_EXCEEDED)
        async with read_process("projection", broker.bootstrap, tmp_path, redis) as next_one:
            await ready(next_one.port, "")
            assert (await until_version(watching, third.version))[-1] == third.version
            assert (await there.view(game.game_id, min_version=third.version)).game.version == third.version
            assert await next_one.end(signal.SIGTERM) == 0
        watching.cancel()
