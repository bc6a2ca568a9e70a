"""The models are what the log says, whatever happens to the projection and to Redis."""

import asyncio
import struct
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from guildhall.log.errors import LogUnreadable
from guildhall.log.memory import MemoryBroker
from guildhall.log.port import EventsTopic, Log, ProducerRecord, Record, partition_of
from guildhall.log.sqlite import open_sqlite
from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes, Models, Outcome
from guildhall.readmodel.child import RedisChild
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.records import FEED_BYTES, FEED_VERSIONS, STATE_EVERY, Standing, State, Stopped, Summary
from guildhall.telemetry import metrics
from services.projection import service
from services.projection.games import too_much
from services.projection.partition import PartitionProjection
from services.projection.rebuild import rebuild
from services.projection.service import Projection, lag, oldest
from tests.kernel.tiny.game import RULES
from tests.readmodel.played import SUBJECTS, Table
from tests.readmodel.pools_played import Pools

PARTITIONS = 3


@pytest.fixture(params=["memory", "sqlite"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Log]:
    opened: Log = MemoryBroker().log() if request.param == "memory" else open_sqlite(tmp_path / "log.sqlite")
    yield opened
    await opened.close()


@pytest.fixture
async def table(log: Log) -> Table:
    return Table(await log.events(f"guildhall.{RULES.game}.events", PARTITIONS), Random(5))


@pytest.fixture(params=["games", "pools"])
async def either(request: pytest.FixtureRequest, log: Log) -> "Table | Pools":
    """What is folded alike, whatever it is."""
    if request.param == "games":
        return Table(await log.events(f"guildhall.{RULES.game}.events", PARTITIONS), Random(5))
    return Pools(await log.events("guildhall.matchmaking.events", PARTITIONS), Random(5))


async def caught_up(redis: Redis, topic: EventsTopic) -> None:
    """Wait until the models have everything that is in the log now."""
    game = topic.name.split(".")[1]
    async with asyncio.timeout(20):
        for partition in range(topic.partitions):
            end = await topic.end_offset(partition)
            while end:
                stored = await redis.get(Keys(game, partition).position)
                if stored is not None and records.decode(stored, records.Progress).next_offset >= end:
                    break
                await asyncio.sleep(0.01)


async def check(redis: Redis, table: Table | Pools) -> None:
    """Every model of every game, against the games as they were decided; or of every pool."""
    if isinstance(table, Pools):
        await table.check(redis)
        return
    subjects: dict[str, set[str]] = {}
    for game_id, game in table.games.items():
        keys = Keys(RULES.game, partition_of(game_id, PARTITIONS))
        state = records.decode(await redis.get(keys.state(game_id)), State)
        assert state.version == game.version
        assert state.snapshot == table.snapshots[game_id][-1]
        summary = records.decode(await redis.get(keys.summary(game_id)), Summary)
        assert (summary.version, summary.changed_ms, summary.subjects) == (game.version, game.at_ms, [*SUBJECTS])
        assert [d.id for d in summary.waiting] == [f"{d.version}.{d.seat}" for d in game.waiting()]
        assert (summary.ended is None) is (game.ended is None)
        feed = {int(version): record for version, record in (await redis.hgetall(keys.feed(game_id))).items()}
        bodies = table.bodies[game_id]
        kept = range(max(1, game.version - FEED_VERSIONS + 1), game.version + 1)
        assert feed == {version: bodies[version - 1] for version in kept}
        assert state.feed == [len(bodies[version - 1]) for version in kept]
        states = {int(version): snapshot for version, snapshot in (await redis.hgetall(keys.states(game_id))).items()}
        assert states.keys() == set(range(STATE_EVERY, game.version + 1, STATE_EVERY))
        assert all(s == table.snapshots[game_id][v - 1] for v, s in states.items())
        index = await redis.get(keys.offsets(game_id))
        offsets = struct.unpack(f">{game.version}q", index)
        for version, offset in enumerate(offsets, 1):
            [record] = await table.topic.read(keys.partition, offset, 1)
            assert record.key == game_id and bodies[version - 1][32:] in record.value
        for seat in {decision.seat for decision in game.waiting()}:
            subjects.setdefault(SUBJECTS[seat], set()).add(game_id)
    for subject in SUBJECTS:
        found: set[str] = set()
        mine: set[str] = set()
        for partition in range(PARTITIONS):
            keys = Keys(RULES.game, partition)
            found |= {name.decode() for name in await redis.zrange(keys.decisions(subject), 0, -1)}
            mine |= {name.decode() for name in await redis.zrange(keys.games(subject), 0, -1)}
            still = {name.decode() for name in await redis.zrange(keys.open(subject), 0, -1)}
            over = {name.decode() for name in await redis.zrange(keys.results(subject), 0, -1)}
            assert not still & over
            assert all(table.games[game_id].ended is None for game_id in still)
            assert all(table.games[game_id].ended is not None for game_id in over)
            assert still | over == {name.decode() for name in await redis.zrange(keys.games(subject), 0, -1)}
        assert found == subjects.get(subject, set())
        assert mine == table.games.keys()
    await check_standings(redis, table)


async def check_standings(redis: Redis, table: Table) -> None:
    finished = [game for game in table.games.values() if game.ended is not None]
    for seat, subject in enumerate(SUBJECTS):
        games = wins = 0
        for partition in range(PARTITIONS):
            stored = await redis.hget(Keys(RULES.game, partition).standings, subject)
            standing = records.decode(stored, Standing) if stored is not None else Standing(0, 0)
            games, wins = games + standing.games, wins + standing.wins
        assert (games, wins) == (len(finished), sum(game.ended.ranks[seat] == 1 for game in finished if game.ended))


async def test_the_models_are_what_the_log_says(log: Log, redis: Redis, either: Table | Pools) -> None:
    projection = Projection([RULES], log, redis, pools=True)
    await projection.start()
    await either.play(8, 300)
    await caught_up(redis, either.topic)
    await check(redis, either)
    await projection.close()


@pytest.mark.parametrize("seed", range(2))
async def test_killed_anywhere_and_started_twice(log: Log, redis: Redis, either: Table | Pools, seed: int) -> None:
    random = Random(seed)
    running = [Projection([RULES], log, redis, pools=True) for _ in range(2)]
    for projection in running:
        await projection.start()
    for _ in range(5):
        await either.play(2, 60)
        await asyncio.sleep(random.random() * 0.02)
        victim = random.randrange(2)
        await running[victim].close()
        running[victim] = Projection([RULES], log, redis, pools=True)
        await running[victim].start()
    await caught_up(redis, either.topic)
    await check(redis, either)
    for projection in running:
        await projection.close()


async def test_redis_flushed_and_gone_back(log: Log, redis: Redis, either: Table | Pools) -> None:
    projection = Projection([RULES], log, redis, pools=True)
    await projection.start()
    await either.play(4, 100)
    await caught_up(redis, either.topic)
    older = {name: await redis.dump(name) async for name in redis.scan_iter()}
    await either.play(2, 100)
    await caught_up(redis, either.topic)
    async with redis.pipeline(transaction=True) as at_once:
        at_once.flushall()
        for name, value in older.items():
            at_once.restore(name, 0, value)
        await at_once.execute()
    await either.play(1, 50)
    await caught_up(redis, either.topic)
    await check(redis, either)
    await redis.flushall()
    await either.play(1, 50)
    await caught_up(redis, either.topic)
    await check(redis, either)
    await projection.close()


async def test_redis_killed_and_started_empty(
    log: Log, server: RedisChild, redis: Redis, either: Table | Pools
) -> None:
    projection = Projection([RULES], log, redis, pools=True)
    await projection.start()
    await either.play(4, 100)
    await server.stop()
    await either.play(2, 50)
    await asyncio.sleep(0.2)
    await server.start()
    await either.play(1, 20)
    await caught_up(redis, either.topic)
    await check(redis, either)
    await projection.close()


async def test_a_record_that_cannot_be_folded_stops_its_game_alone_and_goes_on_after_the_upgrade(
    log: Log, redis: Redis, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    await table.play(4, 60)
    victim = next(game_id for game_id, game in table.games.items() if game.version > 4)
    keys = Keys(RULES.game, partition_of(victim, PARTITIONS))
    from services.projection import games

    def old_code(rules: Any, game: Any, body: bytes, digest: bytes) -> Any:
        if digest + body == table.bodies[victim][2]:
            raise games.Unfoldable("event of an unknown type")
        return whole(rules, game, body, digest)

    whole = games.fold
    monkeypatch.setattr(games, "fold", old_code)
    projection = Projection([RULES], log, redis)
    await projection.start()
    await caught_up(redis, table.topic)
    await projection.close()
    state = records.decode(await redis.get(keys.state(victim)), State)
    assert state.version == 2
    assert state.snapshot == table.snapshots[victim][1]
    stopped = records.decode(await redis.hget(keys.stopped, victim), Stopped)
    assert (stopped.seq, stopped.last_seq, stopped.why) == (3, table.games[victim].version, "event of an unknown type")
    monkeypatch.setattr(games, "fold", whole)
    projection = Projection([RULES], log, redis)
    await projection.start()
    async with asyncio.timeout(10):
        while await redis.hexists(keys.stopped, victim):
            await asyncio.sleep(0.01)
    await check(redis, table)
    await projection.close()


async def test_a_stored_state_that_cannot_be_read_is_folded_from_the_log(log: Log, redis: Redis, table: Table) -> None:
    projection = Projection([RULES], log, redis)
    await projection.start()
    await table.play(6, 30)
    await caught_up(redis, table.topic)
    await projection.close()
    victim = next(game_id for game_id, game in table.games.items() if game.ended is None)
    keys = Keys(RULES.game, partition_of(victim, PARTITIONS))
    state = records.decode(await redis.get(keys.state(victim)), State)
    await redis.set(keys.state(victim), records.encode(State(state.version, b"torn", state.feed)))
    projection = Projection([RULES], log, redis)
    await projection.start()
    await table.step(victim)
    await table.play(0, 10)
    await caught_up(redis, table.topic)
    async with asyncio.timeout(10):
        while await redis.hexists(keys.stopped, victim):
            await asyncio.sleep(0.01)
    await check(redis, table)
    await projection.close()


async def test_whatever_cannot_be_read_is_folded_from_the_log(log: Log, redis: Redis, table: Table) -> None:
    """One of each kind of values; also what begins just then."""
    projection = Projection([RULES], log, redis)
    await projection.start()
    await table.play(9, 60)
    await caught_up(redis, table.topic)
    await projection.close()
    playing = [game_id for game_id, game in table.games.items() if game.ended is None]
    for number, game_id in enumerate(playing):
        keys = Keys(RULES.game, partition_of(game_id, PARTITIONS))
        if number % 3 == 0:
            await redis.set(keys.state(game_id), b"\xc1")
        elif number % 3 == 1:
            await redis.set(keys.summary(game_id), b"torn")
        else:
            await redis.hset(keys.stopped, game_id, b"")
    assert len(playing) >= 3
    projection = Projection([RULES], log, redis)
    await projection.start()
    for game_id in playing:
        await table.step(game_id)
    await table.play(1, 30)
    await caught_up(redis, table.topic)
    async with asyncio.timeout(10):
        while any([await redis.exists(Keys(RULES.game, partition).stopped) for partition in range(PARTITIONS)]):
            await asyncio.sleep(0.01)
    await check(redis, table)
    await projection.close()


async def test_a_standing_that_cannot_be_read_ends_nothing(log: Log, redis: Redis, table: Table) -> None:
    before = metrics.UNREADABLE_MODELS.labels(RULES.game)._value.get()
    for partition in range(PARTITIONS):
        await redis.hset(Keys(RULES.game, partition).standings, SUBJECTS[0], b"torn")
        await redis.set(Keys(RULES.game, partition).position, records.encode(records.Progress(records.FORMAT, 0, -1)))
    projection = Projection([RULES], log, redis)
    await projection.start()
    game_id = await table.create(spectators=True)
    while table.games[game_id].ended is None:
        await table.step(game_id)
    await caught_up(redis, table.topic)
    keys = Keys(RULES.game, partition_of(game_id, PARTITIONS))
    stored = await redis.hmget(keys.standings, list(SUBJECTS))
    # It is left as it is, and does not begin again from nothing: it would be wrong, and nobody would know.
    assert stored[0] == b"torn" and metrics.UNREADABLE_MODELS.labels(RULES.game)._value.get() == before + 1
    assert [records.decode(value, Standing).games for value in stored[1:]] == [1, 1]
    tail = table.topic.tail()
    rebuilt = await rebuild(RULES, table.topic, tail, keys.partition, Models(redis))
    assert rebuilt.switched and rebuilt.wrong_lists == ["standings"]
    stored = await redis.hget(rebuilt.new.standings, SUBJECTS[0])
    assert stored is not None and records.decode(stored, Standing).games == 1
    await tail.close()
    await projection.close()


@pytest.mark.parametrize("kind", ["decisions", "games", "results", "standings"])
async def test_a_script_that_failed_in_its_midst_is_made_good(log: Log, redis: Redis, table: Table, kind: str) -> None:
    """Somebody has put a value of another type under a key: Redis keeps what the script did before it met that."""
    foreign = [
        keys.standings if kind == "standings" else getattr(keys, kind)(SUBJECTS[1])
        for keys in (Keys(RULES.game, partition) for partition in range(PARTITIONS))
    ]
    for key in foreign:
        await redis.set(key, b"not ours")
    for partition in range(PARTITIONS):
        await redis.set(Keys(RULES.game, partition).position, records.encode(records.Progress(records.FORMAT, 0, -1)))
    projection = Projection([RULES], log, redis)
    # To write down a traceback with all that a script was given takes seconds.
    with capture_logs():
        await projection.start()
        await table.play(6, 400)
        failing = [metrics.PROJECTION_FAILING.labels(RULES.game, str(partition)) for partition in range(PARTITIONS)]
        async with asyncio.timeout(20):
            while not any(gauge._value.get() for gauge in failing):
                await asyncio.sleep(0.01)
        await redis.delete(*foreign)
        await caught_up(redis, table.topic)
        async with asyncio.timeout(20):
            while await redis.exists(*(Keys(RULES.game, partition).doubted for partition in range(PARTITIONS))):
                await asyncio.sleep(0.01)
    assert any(game.ended is not None for game in table.games.values())
    await check(redis, table)
    await projection.close()


async def test_a_hash_may_have_any_number_of_fields(redis: Redis) -> None:
    keys, models = Keys(RULES.game, 0), Models(redis)
    values = {number: b"%d" % number for number in range(10_000)}
    changes = Changes(keys)
    changes.put("many", values)
    assert await models.apply(changes, b"", b"1") is Outcome.APPLIED
    assert {int(number): value for number, value in (await redis.hgetall("many")).items()} == values
    changes = Changes(keys)
    changes.drop("many", [*values][:-1])
    assert await models.apply(changes, b"1", b"2") is Outcome.APPLIED
    assert await redis.hgetall("many") == {b"9999": b"9999"}


async def test_lag_is_that_of_the_models_also_for_one_that_stands_by(log: Log, redis: Redis, table: Table) -> None:
    await table.play(4, 20)
    standing_by = [PartitionProjection(RULES, table.topic, number, Models(redis)) for number in range(PARTITIONS)]
    assert await lag(standing_by) == sum([await table.topic.end_offset(number) for number in range(PARTITIONS)])
    working = Projection([RULES], log, redis)
    await working.start()
    await working.level()
    assert await lag(standing_by) == await lag(working.partitions) == 0
    await working.close()


async def test_the_age_is_that_of_what_is_lacking(
    log: Log, redis: Redis, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is as old as play is long, though there is always a record on its way."""
    table.begin_ms = 0
    monkeypatch.setattr(service, "_ON_ITS_WAY_SECONDS", 3.0)
    working = Projection([RULES], log, redis)
    await working.start()

    async def play() -> None:
        await table.create()
        while True:
            await table.play(1, 5)
            await asyncio.sleep(0.001)

    playing = asyncio.create_task(play())
    assert await oldest(working.partitions) == 0.0
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    await working.level()
    await working.close()
    # The table's games are of the first milliseconds of 1970.
    monkeypatch.setattr(service, "_ON_ITS_WAY_SECONDS", 0.0)
    await table.play(1, 3)
    assert await oldest(working.partitions) == pytest.approx(time.time(), abs=60.0)


@pytest.mark.parametrize("fault", [LogUnreadable("events/0", "an offset is missing"), ZeroDivisionError("a bug")])
async def test_a_partition_that_cannot_be_read_stops_alone(
    log: Log, redis: Redis, table: Table, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    working = Projection([RULES], log, redis)
    victim = 1
    taken = PartitionProjection.advance

    async def advance(self: PartitionProjection, found: Sequence[Record]) -> bool:
        if self.partition == victim:
            raise fault
        return await taken(self, found)

    def failing(partition: int) -> float:
        return metrics.PROJECTION_FAILING.labels(RULES.game, str(partition))._value.get()

    with monkeypatch.context() as broken:
        broken.setattr(PartitionProjection, "advance", advance)
        await working.start()
        await table.play(12, 60)
        async with asyncio.timeout(20):
            while not failing(victim):
                await asyncio.sleep(0.01)
        for partition in set(range(PARTITIONS)) - {victim}:
            async with asyncio.timeout(20):
                while await working.partitions[partition].stored_offset() < await table.topic.end_offset(partition):
                    await asyncio.sleep(0.01)
            assert not failing(partition)
        assert await working.partitions[victim].stored_offset() == 0
    await caught_up(redis, table.topic)
    await check(redis, table)
    assert not failing(victim)
    await working.close()


async def test_a_damaged_record_marks_its_game_until_nothing_is_missing(log: Log, redis: Redis, table: Table) -> None:
    projection = Projection([RULES], log, redis)
    await projection.start()
    await table.play(2, 10)
    victim = next(game_id for game_id, game in table.games.items() if game.ended is None)
    keys = Keys(RULES.game, partition_of(victim, PARTITIONS))
    await table.topic.append(keys.partition, [ProducerRecord(victim, b"\xff\xff")])
    await caught_up(redis, table.topic)
    assert await redis.hexists(keys.stopped, victim)
    await table.step(victim)
    await caught_up(redis, table.topic)
    assert not await redis.hexists(keys.stopped, victim)
    await check(redis, table)
    await projection.close()


def test_a_feed_keeps_versions_and_bytes_within_bounds() -> None:
    assert too_much([10] * FEED_VERSIONS) == 0
    assert too_much([10] * (FEED_VERSIONS + 3)) == 3
    assert too_much([FEED_BYTES, 10]) == 1
    assert too_much([10, FEED_BYTES + 1]) == 1
    assert too_much([FEED_BYTES // 2, FEED_BYTES // 2, 1]) == 1
