"""`serve projection`: every partition of some games, folded into the read models of one Redis."""

import asyncio
import contextlib
import time
from collections.abc import Sequence

from redis.asyncio import Redis
from redis.exceptions import RedisError

from guildhall.host import packs
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogUnavailable
from guildhall.log.port import EventsTopic, Log, Tail
from guildhall.log.recovery import open_store
from guildhall.readmodel.changes import Models
from guildhall.readmodel.connection import cancelled
from guildhall.telemetry import logs, metrics
from services.projection.partition import ModelsOfPartition, PartitionProjection
from services.projection.pools import POOLS, PoolsOfPartition

_MEASURE_SECONDS = 2.0
_LEVEL_SECONDS = 0.01

_log = logs.get("projection")


class Projection:
    """Runs until it is closed. Several may run: one works on a partition, the others stand by."""

    def __init__(self, games: Sequence[Rules], log: Log, redis: Redis, pools: bool = False) -> None:
        """`pools`: of matchmaking too."""
        self.partitions: list[ModelsOfPartition] = []
        self._games = games
        self._pools = pools
        self._log = log
        self._models = Models(redis)
        self._tails: list[Tail] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Open the topics and begin. Raises `LogError`, BadPack, RedisError."""
        await packs.sync(self._log, self._games)
        memory = await self._models.redis.info("memory")
        if memory.get("maxmemory") and memory.get("maxmemory_policy") != "noeviction":
            _log.warning("Redis drops read models when it is full: set maxmemory-policy to noeviction")
        for rules in self._games:
            topic = (await open_store(self._log, rules.game)).events
            made = [PartitionProjection(rules, topic, number, self._models) for number in range(topic.partitions)]
            self._run(rules.game, topic, made)
        if self._pools:
            topic = (await open_store(self._log, POOLS.game)).events
            pools = [PoolsOfPartition(topic, number, self._models) for number in range(topic.partitions)]
            self._run(POOLS.game, topic, pools)

    def _run(self, game: str, topic: EventsTopic, made: Sequence[ModelsOfPartition]) -> None:
        tail = topic.tail()
        self._tails.append(tail)
        self.partitions += made
        self._tasks += [asyncio.create_task(projection.run(tail)) for projection in made]
        self._tasks.append(asyncio.create_task(_measure(game, made)))

    async def level(self) -> None:
        """Returns when the models have what was in the log when this was asked, whoever brought them there.

        Raises `LogUnreadable`.
        """
        await asyncio.gather(*(self._level(partition) for partition in self.partitions))

    async def _level(self, partition: ModelsOfPartition) -> None:
        end: int | None = None
        while True:
            with contextlib.suppress(LogUnavailable, RedisError, OSError):
                if end is None:
                    end = await partition.topic.end_offset(partition.partition)
                if await partition.stored_offset() >= end:
                    return
            await asyncio.sleep(_LEVEL_SECONDS)

    async def failed(self) -> None:
        """Returns when nothing goes on by itself any more, with the error: the log cannot be read."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()

    async def close(self) -> None:
        """End all work; whatever was begun is applied whole or not at all."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for tail in self._tails:
            await tail.close()


async def _measure(game: str, partitions: Sequence[ModelsOfPartition]) -> None:
    level = time.monotonic()
    while not cancelled():
        with contextlib.suppress(LogUnavailable, RedisError, OSError):
            lacking = await lag(partitions)
            metrics.PROJECTION_LAG.labels(game).set(lacking)
            level = time.monotonic() if lacking == 0 else level
        metrics.PROJECTION_AGE.labels(game).set(time.monotonic() - level)
        await asyncio.sleep(_MEASURE_SECONDS)


async def lag(partitions: Sequence[ModelsOfPartition]) -> int:
    """Records that the models lack, whoever keeps them. Raises RedisError, `LogUnavailable`."""
    # The log's end last: what the models have is in it.
    stored = [await partition.stored_offset() for partition in partitions]
    ends = await asyncio.gather(*(partition.topic.end_offset(partition.partition) for partition in partitions))
    return sum(max(0, end - offset) for end, offset in zip(ends, stored, strict=True))
