"""`serve projection`: every partition of some games, folded into the read models of one Redis."""

import asyncio
import contextlib
import time
from collections.abc import Sequence

from redis.asyncio import Redis
from redis.exceptions import RedisError

from guildhall.host import packs
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogError, LogUnavailable
from guildhall.log.port import EventsTopic, Log, Tail
from guildhall.log.recovery import open_store
from guildhall.readmodel.changes import Models
from guildhall.readmodel.connection import cancelled, readers
from guildhall.readmodel.keys import Keys
from guildhall.telemetry import logs, metrics
from services.projection.partition import ModelsOfPartition, PartitionProjection
from services.projection.pools import POOLS, PoolsOfPartition
from services.projection.retention import KEEP_SECONDS
from services.projection.status import age

_MEASURE_SECONDS = 2.0
_ON_ITS_WAY_SECONDS = 0.2
_LEVEL_SECONDS = 0.01
_CONNECTIONS = 1_000

_log = logs.get("projection")


class Evicts(ValueError):
    """A Redis whose settings say that it may lose models, under a position that says that they are there."""


class Projection:
    """Runs until it is closed. Several may run: one works on a partition, the others stand by."""

    def __init__(
        self,
        games: Sequence[Rules],
        log: Log,
        redis: Redis,
        *,
        pools: bool = False,
        keep_seconds: float = KEEP_SECONDS,
    ) -> None:
        """`pools`: of matchmaking too. `keep_seconds`: how long games that are over are kept whole (`retention`)."""
        self.partitions: list[ModelsOfPartition] = []
        self._games = games
        self._pools = pools
        self._log = log
        # Each partition has one connection at most in use: nobody need wait for one, which costs more than it seems.
        self._redis = readers(redis, _CONNECTIONS)
        self._models = Models(self._redis)
        self._keep_seconds = keep_seconds
        self._tails: list[Tail] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Open the topics and begin. Raises `LogError`, BadPack, RedisError, Evicts."""
        await packs.sync(self._log, self._games)
        memory = await self._models.redis.info("memory")
        if memory.get("maxmemory") and memory.get("maxmemory_policy") != "noeviction":
            raise Evicts("Redis would drop read models when it is full: set its maxmemory-policy to noeviction")
        for rules in self._games:
            topic = (await open_store(self._log, rules.game)).events
            made = [
                PartitionProjection(rules, topic, number, self._models, keep_seconds=self._keep_seconds)
                for number in range(topic.partitions)
            ]
            self._run(rules.game, topic, made)
        if self._pools:
            topic = (await open_store(self._log, POOLS.game)).events
            pools = [PoolsOfPartition(topic, number, self._models) for number in range(topic.partitions)]
            self._run(POOLS.game, topic, pools)

    def _run(self, game: str, topic: EventsTopic, made: Sequence[ModelsOfPartition]) -> None:
        metrics.begin_models(game)
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
        await self._redis.aclose()


async def _measure(game: str, partitions: Sequence[ModelsOfPartition]) -> None:
    known, asked = 0.0, time.monotonic()
    while not cancelled():
        try:
            metrics.PROJECTION_LAG.labels(game).set(await lag(partitions))
            metrics.PROJECTION_STOPPED.labels(game).set(await stopped(partitions))
            known, asked = await oldest(partitions), time.monotonic()
        except (LogError, RedisError, OSError) as error:
            _log.warning("cannot tell how the models stand", game=game, error=logs.said(error))
        # While nobody can tell, it gets older.
        metrics.PROJECTION_AGE.labels(game).set(known + time.monotonic() - asked)
        await asyncio.sleep(_MEASURE_SECONDS)


async def oldest(partitions: Sequence[ModelsOfPartition]) -> float:
    """Seconds since the oldest version was written that the models lack; 0 where they have everything that was in the
    log `_ON_ITS_WAY_SECONDS` ago: under play there is always something on its way. Raises RedisError, `LogError`.
    """
    ends = await asyncio.gather(*(partition.topic.end_offset(partition.partition) for partition in partitions))
    await asyncio.sleep(_ON_ITS_WAY_SECONDS)
    found = 0.0
    for partition, end in zip(partitions, ends, strict=True):
        offset = await partition.stored_offset()
        if offset < end:
            found = max(found, await age(partition.topic, partition.partition, offset, end))
    return found


async def lag(partitions: Sequence[ModelsOfPartition]) -> int:
    """Records that the models lack, whoever keeps them. Raises RedisError, `LogUnavailable`."""
    # The log's end last: what the models have is in it.
    stored = [await partition.stored_offset() for partition in partitions]
    ends = await asyncio.gather(*(partition.topic.end_offset(partition.partition) for partition in partitions))
    return sum(max(0, end - offset) for end, offset in zip(ends, stored, strict=True))


async def stopped(partitions: Sequence[ModelsOfPartition]) -> int:
    """Games whose models stand still, whoever keeps them. Raises RedisError."""
    found = 0
    for each in partitions:
        keys = Keys(each.rules.game, each.partition, await each.models.generation(each.rules.game, each.partition))
        found += await each.models.redis.hlen(keys.stopped)
    return found
