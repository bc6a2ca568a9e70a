"""A rebuild beside the live models: nobody misses anything, and what was wrong is found and right afterwards."""

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
from redis.asyncio import Redis

from guildhall.log.memory import MemoryBroker
from guildhall.log.port import Log, partition_of
from guildhall.readmodel import records
from guildhall.readmodel.changes import Models
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.records import Standing
from services.projection import rebuild as building
from services.projection.audit import Audited, Sample, audit
from services.projection.partition import NewerModels, PartitionProjection
from services.projection.rebuild import Contended, Rebuilt, remove_old
from services.projection.service import Projection
from services.projection.status import status
from services.projection.whole_game import read
from tests.kernel.tiny.game import RULES
from tests.readmodel.played import SUBJECTS, Table
from tests.readmodel.test_projection import PARTITIONS, caught_up

EVERY = Sample()


@pytest.fixture
def log() -> Log:
    return MemoryBroker().log()


@pytest.fixture
async def table(log: Log) -> Table:
    return Table(await log.events(f"guildhall.{RULES.game}.events", PARTITIONS), Random(7))


@pytest.fixture
async def projection(log: Log, redis: Redis) -> AsyncIterator[Projection]:
    running = Projection([RULES], log, redis)
    await running.start()
    yield running
    await running.close()


async def rebuild_all(table: Table, redis: Redis, **options: Any) -> list[Rebuilt]:
    tail = table.topic.tail()
    done = [
        await building.rebuild(RULES, table.topic, tail, partition, Models(redis), **options)
        for partition in range(PARTITIONS)
    ]
    await tail.close()
    for each in done:
        await remove_old(Models(redis), each, 0.0)
    return done


async def audit_all(table: Table, redis: Redis, sample: Sample = EVERY, *, mend: bool = True) -> list[Audited]:
    return [
        await audit(RULES, table.topic, partition, Models(redis), sample, mend=mend) for partition in range(PARTITIONS)
    ]


async def keys_of(redis: Redis, game_id: str) -> Keys:
    partition = partition_of(game_id, PARTITIONS)
    return Keys(RULES.game, partition, await Models(redis).generation(RULES.game, partition))


async def check_all(redis: Redis, table: Table) -> None:
    """The models of every game against the games as they were played."""
    for game_id, game in table.games.items():
        _, [models] = await read(redis, await keys_of(redis, game_id), [game_id])
        assert (models.version, models.snapshot) == (game.version, table.snapshots[game_id][-1])
    assert not any(found.wrong or found.missing for found in await audit_all(table, redis, mend=False))


async def spoil(redis: Redis, table: Table) -> list[str]:
    """Something else is wrong in each of some games; their names."""
    names = sorted(table.games)[:5]
    keys = [await keys_of(redis, name) for name in names]
    other = sorted(table.games)[-1]
    await redis.set(keys[0].state(names[0]), await redis.get((await keys_of(redis, other)).state(other)))
    await redis.hset(keys[1].feed(names[1]), "2", b"torn")
    await redis.setrange(keys[2].offsets(names[2]), 8, b"\0" * 8)
    await redis.set(keys[3].summary(names[3]), b"\xc1")
    await redis.zrem(keys[4].games(SUBJECTS[0]), names[4])
    return names


async def test_models_are_rebuilt_while_everything_goes_on(redis: Redis, table: Table, projection: Projection) -> None:
    await table.play(6, 150)
    playing = asyncio.create_task(table.play(3, 300))
    done = await rebuild_all(table, redis)
    await playing
    assert all(each.switched and not each.wrong and not each.wrong_lists for each in done)
    assert sum(each.compared for each in done) >= 6
    await table.play(1, 20)
    await caught_up_live(redis, table)
    await check_all(redis, table)
    names = [records.raw(name) async for name in redis.scan_iter()]
    assert not any(b"}:1:" in name for name in names)
    again = await rebuild_all(table, redis)
    assert {each.new.generation for each in again} == {"3"}
    await check_all(redis, table)


async def caught_up_live(redis: Redis, table: Table) -> None:
    async with asyncio.timeout(20):
        for partition in range(PARTITIONS):
            while (await status(RULES, table.topic, partition, Models(redis))).lag:
                await asyncio.sleep(0.01)


async def test_a_rebuild_says_what_was_wrong_and_whoever_follows_is_told(
    redis: Redis, table: Table, projection: Projection
) -> None:
    await table.play(8, 200)
    await caught_up(redis, table.topic)
    names = await spoil(redis, table)
    await redis.hset(Keys(RULES.game, 1).standings, "nobody", records.encode(Standing(9, 9)))
    done = await rebuild_all(table, redis)
    wrong = {name: what for each in done for name, what in each.wrong.items()}
    assert wrong.keys() == set(names)
    assert "state" in wrong[names[0]][0] and wrong[names[1]] == ["feed"] and wrong[names[2]] == ["offsets"]
    assert wrong[names[3]][0].startswith("cannot be read") and wrong[names[4]] == ["places"]
    assert {name for each in done for name in each.wrong_lists} == {"standings", f"games:{SUBJECTS[0]}"}
    for name in names:
        news = await redis.xrange((await keys_of(redis, name)).news)
        assert [fields[b"v"] for _, fields in news if fields[b"g"] == name.encode()][-1] == b"0"
    await check_all(redis, table)


async def test_a_rebuild_without_any_models_makes_them(log: Log, redis: Redis, table: Table) -> None:
    await table.play(4, 80)
    done = await rebuild_all(table, redis)
    assert all(each.switched and not each.compared for each in done)
    await check_all(redis, table)


async def test_a_program_that_knows_less_does_not_switch(
    redis: Redis, table: Table, projection: Projection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await table.play(4, 80)
    await caught_up(redis, table.topic)
    victim = max(table.games, key=lambda game_id: table.games[game_id].version)
    from services.projection import games

    def old_code(rules: Any, game: Any, body: bytes, digest: bytes) -> Any:
        if digest + body == table.bodies[victim][2]:
            raise games.Unfoldable("event of an unknown type")
        return whole(rules, game, body, digest)

    whole = games.fold
    monkeypatch.setattr(games, "fold", old_code)
    done = await rebuild_all(table, redis)
    assert {name for each in done for name in each.stopped} == {victim}
    [not_switched] = [each for each in done if not each.switched]
    assert (await keys_of(redis, victim)) == not_switched.old
    assert [each async for each in Models(redis).named(f"{not_switched.new.base}:")] == []
    monkeypatch.setattr(games, "fold", whole)
    await check_all(redis, table)
    monkeypatch.setattr(games, "fold", old_code)
    assert all(each.switched for each in await rebuild_all(table, redis, force=True))


async def test_a_killed_rebuild_leaves_nothing_that_the_next_one_trips_over(redis: Redis, table: Table) -> None:
    await table.play(4, 80)
    projection = PartitionProjection(RULES, table.topic, 0, Models(redis), generation="2")
    await projection.load()
    await projection.advance(await table.topic.read(0, 0, 10))
    await redis.unlink(projection.keys.position)
    assert all(each.switched for each in await rebuild_all(table, redis))
    await check_all(redis, table)


async def test_of_two_rebuilds_at_once_one_gives_up(redis: Redis, table: Table, projection: Projection) -> None:
    await table.play(4, 200)
    outcomes = await asyncio.gather(rebuild_all(table, redis), rebuild_all(table, redis), return_exceptions=True)
    assert any(isinstance(outcome, list) for outcome in outcomes)
    assert all(isinstance(outcome, list | Contended) for outcome in outcomes)
    await table.play(0, 20)
    await caught_up_live(redis, table)
    await check_all(redis, table)


async def test_what_a_rebuild_removes_late_is_never_the_live_generation(
    redis: Redis, table: Table, projection: Projection
) -> None:
    await table.play(4, 60)
    await caught_up(redis, table.topic)
    models, tail = Models(redis), table.topic.tail()
    first, second = [await building.rebuild(RULES, table.topic, tail, 1, models) for _ in range(2)]
    await tail.close()
    assert (first.new, second.new.generation) == (second.old, "3")
    before = {name: await redis.type(name) async for name in redis.scan_iter(match="gh:*.1}:3:*")}
    for done in (first, second):
        await remove_old(models, done, 0.0)
    assert {name: await redis.type(name) async for name in redis.scan_iter(match="gh:*.1}:3:*")} == before != {}
    assert await models.generations(RULES.game, 1) == {"3"}
    position = records.raw(await redis.get(second.new.position) or b"")
    assert not await models.wipe(second.new, position, live_too=False)
    await check_all(redis, table)


async def test_an_older_program_does_not_rebuild_newer_models(redis: Redis, table: Table) -> None:
    await table.play(2, 20)
    position = Keys(RULES.game, 0).position
    newer = records.encode(records.Progress(records.FORMAT + 1, 5, 0))
    await redis.set(position, newer)
    tail = table.topic.tail()
    with pytest.raises(NewerModels):
        await building.rebuild(RULES, table.topic, tail, 0, Models(redis), force=True)
    await tail.close()
    assert await redis.get(position) == newer and len(await redis.keys("*")) == 1


async def test_an_audit_finds_and_mends_what_is_wrong_while_games_are_played(
    redis: Redis, table: Table, projection: Projection
) -> None:
    await table.play(8, 200)
    await caught_up(redis, table.topic)
    names = await spoil(redis, table)
    untouched = await audit_all(table, redis, mend=False)
    assert {name for found in untouched for name in found.wrong} == set(names)
    others = [name for name in sorted(table.games) if name not in names and table.games[name].ended is None]

    async def playing() -> None:
        for _ in range(60):
            live = [name for name in others if table.games[name].ended is None]
            if live:
                await table.step(table.random.choice(live))
            await asyncio.sleep(0.002)

    task = asyncio.create_task(playing())
    found = await audit_all(table, redis)
    await task
    assert {name for each in found for name in each.mended} == set(names)
    # A projection that had one of them in memory does not write it again as it was.
    await table.play(0, 40)
    await caught_up(redis, table.topic)
    await check_all(redis, table)


async def test_an_audit_finds_games_that_are_missing_and_games_that_never_were(
    redis: Redis, table: Table, projection: Projection
) -> None:
    await table.play(4, 60)
    await caught_up(redis, table.topic)
    victim = sorted(table.games)[0]
    keys = await keys_of(redis, victim)
    for kind in (Keys.state, Keys.feed, Keys.states, Keys.offsets, Keys.summary):
        await redis.delete(kind(keys, victim))
    await redis.set(keys.offsets("never-was"), bytes(8))
    found = await audit_all(table, redis)
    assert {name for each in found for name in each.wrong} == {victim, "never-was"}
    await check_all(redis, table)


async def test_a_sample_is_the_same_for_the_same_salt_and_may_be_named(
    redis: Redis, table: Table, projection: Projection
) -> None:
    await table.play(12, 20)
    await caught_up(redis, table.topic)
    name = sorted(table.games)[3]
    assert sum(found.games for found in await audit_all(table, redis, Sample({name}))) == 1
    halves = [{game_id for game_id in table.games if Sample((), 50.0, salt).has(game_id)} for salt in "aab"]
    assert halves[0] == halves[1] != halves[2]
    assert 0 < len(halves[0]) < 12
    assert sum(found.games for found in await audit_all(table, redis, Sample((), 50.0, "a"))) == len(halves[0])


async def test_models_of_another_log_are_built_again(redis: Redis, log: Log, table: Table) -> None:
    first = Projection([RULES], log, redis)
    await first.start()
    await table.play(6, 100)
    await caught_up(redis, table.topic)
    await first.close()
    # A hall whose log was lost: the same name, partitions and offsets, and other games.
    other_log = MemoryBroker().log()
    other = Table(await other_log.events(f"guildhall.{RULES.game}.events", PARTITIONS), Random(8))
    await other.play(12, 200)
    second = Projection([RULES], other_log, redis)
    await second.start()
    await second.level()
    await caught_up_same(redis, other)
    await second.close()
    await check_all(redis, other)
    for game_id in table.games:
        assert await redis.get(Keys(RULES.game, partition_of(game_id, PARTITIONS)).state(game_id)) is None


async def caught_up_same(redis: Redis, table: Table) -> None:
    """Caught up in this log, which the position alone does not tell."""
    async with asyncio.timeout(20):
        for game_id, game in table.games.items():
            while (await read(redis, await keys_of(redis, game_id), [game_id]))[1][0].version < game.version:
                await asyncio.sleep(0.01)


async def test_a_program_leaves_models_of_a_newer_format_alone(redis: Redis, table: Table) -> None:
    await table.play(2, 20)
    keys = Keys(RULES.game, 0)
    newer = records.encode(records.Progress(records.FORMAT + 1, 5, 0))
    await redis.set(keys.position, newer)
    projection = PartitionProjection(RULES, table.topic, 0, Models(redis))
    assert await projection.stored_offset() == 0
    with pytest.raises(NewerModels):
        await projection.load()
    assert await redis.get(keys.position) == newer
    await redis.set(keys.position, records.encode(records.Progress(records.FORMAT - 1, 5, 0)))
    await redis.set(keys.state("left over"), b"old")
    assert await projection.load()
    assert [name async for name in redis.scan_iter()] == []


async def test_status_tells_lag_age_and_stopped_games(redis: Redis, log: Log, table: Table) -> None:
    table.begin_ms = 0
    await table.play(6, 20)
    before = [await status(RULES, table.topic, partition, Models(redis)) for partition in range(PARTITIONS)]
    assert all(each.offset is None and each.lag == each.end for each in before)
    assert all(each.age_seconds > 1e6 for each in before if each.end > 1)  # its games were played in 1970
    victim = sorted(table.games)[0]
    await table.spoil(victim)
    projection = Projection([RULES], log, redis)
    await projection.start()
    await caught_up(redis, table.topic)
    after = [await status(RULES, table.topic, partition, Models(redis)) for partition in range(PARTITIONS)]
    assert all(each.lag == 0 == each.age_seconds for each in after)
    assert {name for each in after for name in each.stopped} == {victim}
    await projection.close()
