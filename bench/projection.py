"""The projection: events a second of one worker, beside bare writes of the same commands to the same Redis; and a
rebuild of everything beside the live models.

`GUILDHALL_BENCH_EVENTS` says how many events: the rebuild's budget is meant for 1,000,000. The log is on Kafka, its
games of Arcane Alley were played at the same time.
"""

import asyncio
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from random import Random

from redis.asyncio import Redis

from bench.processes import GUILDHALL, once_available
from bench.random_games import begin, step
from bench.table import Row
from guildhall.host import packs
from guildhall.log import topics
from guildhall.log.fold import FoldState
from guildhall.log.kafka import open_kafka
from guildhall.log.port import DEFAULT_PARTITIONS, Appended, Claim, Log, partition_of
from guildhall.log.recovery import open_store
from guildhall.log.writer import Writer
from guildhall.readmodel.changes import Changes, Models, Outcome
from guildhall.readmodel.child import RedisChild
from services.arcane_alley.rules import RULES
from services.projection.rebuild import GRACE_SECONDS
from services.projection.service import Projection
from tests.kafka_broker import Missing, bootstrap

EVENTS = int(os.environ.get("GUILDHALL_BENCH_EVENTS", "50000"))
AT_ONCE = 250
"""Games that are played at the same time."""
PLAYERS = 3
BARE_AT_ONCE = 1_000
"""Commands of a pipeline, as bare writes are sent."""


def rows() -> Iterable[Row]:
    """Nothing where no broker can be had."""
    try:
        with bootstrap() as kafka:
            yield from asyncio.run(measure(kafka))
    except Missing as missing:
        print(f"not measured: {missing}")


async def measure(kafka: str) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="guildhall-bench-") as directory:
        child = RedisChild(Path(directory))
        await child.start()
        log = open_kafka(kafka, single_broker_not_durable=True)
        try:
            await once_available(lambda: packs.sync(log, [RULES]))
            await log.compacted(topics.OPERATIONS, 1)
            await log.compacted(topics.OWNERS, 1)
            events, records = await fill(log)
            async with Redis.from_url(child.url) as redis:
                projected, batches = await project(log, redis)
                keys, memory = int(await redis.dbsize()), int((await redis.info("memory"))["used_memory"])
            rebuilt = await rebuild(kafka, child.url)
            async with Redis.from_url(child.url) as redis:
                bare = await write_bare(redis, batches)
        finally:
            await log.close()
            await child.stop()
    size = sum(changes.size for changes in batches)
    commands = sum(len(changes.commands) for changes in batches)
    what = f"{events:,} events, {records:,} records"
    writes = f"{commands:,} commands, {size / 1e6:,.0f} MB"
    return [
        Row(
            "projection, one worker",
            events / projected,
            "events/s",
            beside=f"{what}, {records / projected:,.0f} records/s",
        ),
        Row("… its writes alone, bare", events / bare, "events/s", beside=f"{writes}, pipelined to the same Redis"),
        Row(
            "rebuild beside the live models, compared", rebuilt, "s", beside=f"{what}; {events / rebuilt:,.0f} events/s"
        ),
        Row("models in Redis", memory / 1e6, "MB", beside=f"{keys:,} keys"),
    ]


async def fill(log: Log) -> tuple[int, int]:
    """`EVENTS` events or a little more, of games played to their end; how many events and records."""
    store = await once_available(lambda: open_store(log, RULES.game))
    writers = []
    for partition in range(DEFAULT_PARTITIONS):
        writers.append(Writer(store.events, partition, Claim("filler", "nowhere"), FoldState(), lambda verdict: None))
        await writers[-1].claim()
    events = records = 0
    numbers = itertools.count()

    async def play() -> None:
        nonlocal events, records
        while events < EVENTS:
            random = Random(next(numbers))
            game, decided = begin(RULES, random, PLAYERS)
            game_id = game.created.game_id
            writer = writers[partition_of(game_id, DEFAULT_PARTITIONS)]
            while True:
                appended = await writer.append(game_id, decided.record.seq, decided.hash, decided.body)
                assert isinstance(appended, Appended)
                events += len(decided.events)
                records += 1
                if game.ended is not None or events >= EVENTS:
                    break
                decided = step(game, random)

    await asyncio.gather(*(play() for _ in range(AT_ONCE)))
    for writer in writers:
        await writer.close()
    return events, records


class _Kept(Models):
    """Models that keep what was written to them."""

    batches: list[Changes]

    async def apply(self, changes: Changes, expected: bytes, position: bytes, *, building: bool = False) -> Outcome:
        self.batches.append(changes)
        return await super().apply(changes, expected, position, building=building)


async def project(log: Log, redis: Redis) -> tuple[float, list[Changes]]:
    """Seconds of one worker from nothing to the end of the log, and what it wrote."""
    projection = Projection([RULES], log, redis)
    kept = _Kept(redis)
    kept.batches = []
    projection._models = kept
    begin = time.perf_counter()
    await projection.start()
    await projection.level()
    seconds = time.perf_counter() - begin
    await projection.close()
    return seconds, kept.batches


async def rebuild(kafka: str, redis: str) -> float:
    """Seconds of `guildhall projection rebuild`, less the time for which it leaves the old models to their readers."""
    words = ("projection", "rebuild", "--game", "arcane-alley", "--kafka", kafka, "--redis", redis)
    begin = time.perf_counter()
    process = await asyncio.create_subprocess_exec(GUILDHALL, *words, "--single-broker-not-durable", stdout=sys.stderr)
    assert await process.wait() == 0
    return time.perf_counter() - begin - GRACE_SECONDS


async def write_bare(redis: Redis, batches: list[Changes]) -> float:
    """Seconds of the same commands in pipelines, without script and guard, to an empty Redis."""
    await redis.flushall()
    commands = [command for changes in batches for command in changes.commands]
    begin = time.perf_counter()
    for first in range(0, len(commands), BARE_AT_ONCE):
        async with redis.pipeline(transaction=False) as at_once:
            for command in commands[first : first + BARE_AT_ONCE]:
                at_once.execute_command(*command)
            await at_once.execute()
    return time.perf_counter() - begin
