"""Finished games are let go after a while: what lists and results need stays, and views come from the log."""

import asyncio
from collections.abc import AsyncIterator
from random import Random

import pytest
from redis.asyncio import Redis

from guildhall.host.messages import Messages
from guildhall.log.memory import MemoryBroker
from guildhall.log.port import Log, partition_of
from guildhall.readmodel import records
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.records import Summary
from guildhall.rpc.identity import Caller
from services.projection import partition, retention
from services.projection.service import Projection
from services.projection.whole_game import read
from services.views.live_games import LiveGames
from services.views.news import News
from services.views.reads import RedisReadSide
from tests.kernel.tiny.game import RULES
from tests.readmodel.played import SUBJECTS, Table
from tests.readmodel.test_projection import PARTITIONS, caught_up, check, check_standings
from tests.readmodel.test_rebuild import audit_all, rebuild_all

ALICE = Caller("alice", frozenset({"play"}), 1e12)


@pytest.fixture
def log() -> Log:
    return MemoryBroker().log()


@pytest.fixture
async def table(log: Log) -> Table:
    return Table(await log.events(f"guildhall.{RULES.game}.events", PARTITIONS), Random(11))


@pytest.fixture
async def projection(log: Log, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Projection]:
    """One that lets finished games go as soon as it may."""
    monkeypatch.setattr(partition, "_LET_GO_SECONDS", 0.05)
    monkeypatch.setattr(partition, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(retention, "_AT_ONCE", 2)
    running = Projection([RULES], log, redis, keep_seconds=0.0)
    await running.start()
    yield running
    await running.close()


async def until_let_go(redis: Redis, games: "list[str]") -> None:
    async with asyncio.timeout(20):
        for game_id in games:
            while await redis.exists(Keys(RULES.game, partition_of(game_id, PARTITIONS)).state(game_id)):
                await asyncio.sleep(0.01)


async def played(table: Table, redis: Redis) -> tuple[list[str], list[str]]:
    """Games that are over, and such that are not."""
    await table.play(9, 400)
    over = [game_id for game_id, game in table.games.items() if game.ended is not None]
    still = [game_id for game_id, game in table.games.items() if game.ended is None]
    while len(over) < 5 or not still:
        game_id = await table.create()
        while len(over) < 5 and table.games[game_id].ended is None:
            await table.step(game_id)
        (over if table.games[game_id].ended is not None else still).append(game_id)
    await caught_up(redis, table.topic)
    return over, still


async def test_what_lists_need_stays_and_views_come_from_the_log(
    redis: Redis, table: Table, projection: Projection
) -> None:
    over, still = await played(table, redis)
    await until_let_go(redis, over)
    for game_id, game in table.games.items():
        keys = Keys(RULES.game, partition_of(game_id, PARTITIONS))
        names = [keys.state(game_id), keys.feed(game_id), keys.states(game_id)]
        if game_id in over:
            assert not await redis.exists(*names)
        else:
            assert await redis.exists(*names[:2]) == 2
        summary = records.decode(await redis.get(keys.summary(game_id)), Summary)
        assert (summary.version, summary.ended is None) == (game.version, game_id in still)
        listed = await redis.zscore((keys.results if game_id in over else keys.open)(SUBJECTS[0]), game_id)
        assert listed is not None
        assert await redis.zscore(keys.kept, game_id) is None
    await check_standings(redis, table)
    news = News(RULES.game, PARTITIONS, redis)
    await news.start()

    async def no_packs() -> None:
        raise AssertionError("every pack is known")

    live = LiveGames(Messages(RULES), news, table.topic, no_packs)
    reads = RedisReadSide(RULES, table.topic, news, live)
    for game_id in table.games:
        seen = await reads.visible(game_id, ALICE, 20.0)
        assert seen.live.game.snapshot() == table.snapshots[game_id][-1]
        for version in {1, max(1, seen.live.game.version // 2), seen.live.game.version}:
            assert (await reads.at(seen, version)).snapshot() == table.snapshots[game_id][version - 1]
        found = await reads.records(seen, 1, seen.live.game.version)
        assert [recorded.hash + recorded.body for recorded in found] == table.bodies[game_id]
    await live.close()
    await news.close()


async def test_audit_and_rebuild_take_such_games_for_right(redis: Redis, table: Table, projection: Projection) -> None:
    over, _ = await played(table, redis)
    await until_let_go(redis, over)
    assert not any(found.wrong or found.missing for found in await audit_all(table, redis))
    victim = over[0]
    keys = Keys(RULES.game, partition_of(victim, PARTITIONS))
    await redis.setrange(keys.offsets(victim), 8, b"\0" * 8)
    _, [stored] = await read(redis, keys, [victim])
    assert stored.let_go
    [wrong] = [found.wrong for found in await audit_all(table, redis, mend=False) if found.wrong]
    assert wrong == {victim: ["offsets"]}
    done = await rebuild_all(table, redis)
    assert all(each.switched and not each.wrong_lists for each in done)
    assert {name for each in done for name in each.wrong} == {victim}


async def test_a_game_that_was_let_go_and_has_another_record_is_whole_again(
    log: Log, redis: Redis, table: Table, projection: Projection
) -> None:
    """One that nobody can fold, so that it stands still: at the state that it had."""
    over, _ = await played(table, redis)
    await until_let_go(redis, over)
    await projection.close()
    keeping = Projection([RULES], log, redis)
    await keeping.start()
    whole = table.snapshots[over[0]][-1]
    await table.spoil(over[0])
    await caught_up(redis, table.topic)
    keys = Keys(RULES.game, partition_of(over[0], PARTITIONS))
    async with asyncio.timeout(20):
        while not await redis.exists(keys.state(over[0])):
            await asyncio.sleep(0.01)
    _, [models] = await read(redis, keys, [over[0]])
    assert models.snapshot == whole and models.stopped is not None and not models.let_go
    assert not any(found.wrong or found.missing for found in await audit_all(table, redis))
    await keeping.close()


async def test_games_are_kept_until_their_time_has_come(
    log: Log, redis: Redis, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition, "_LET_GO_SECONDS", 0.05)
    monkeypatch.setattr(partition, "_LOOK_SECONDS", 0.05)
    running = Projection([RULES], log, redis, keep_seconds=3600.0)
    await running.start()
    over, _ = await played(table, redis)
    await asyncio.sleep(0.5)
    await check(redis, table)
    await running.close()
    # An hour later, with models that were all just read.
    monkeypatch.setattr(retention, "_AT_ONCE", 2)
    running = Projection([RULES], log, redis, keep_seconds=0.0)
    await running.start()
    await until_let_go(redis, over)
    await running.close()
    assert not any(found.wrong or found.missing for found in await audit_all(table, redis))


async def test_games_that_ended_long_ago_are_never_written_whole(log: Log, redis: Redis, table: Table) -> None:
    """So a Redis that was lost, and a rebuild, need no more room than what it had."""
    table.begin_ms = 0
    running = Projection([RULES], log, redis)
    await running.start()
    _, still = await played(table, redis)

    async def check_whole(rebuilt: int) -> None:
        for game_id in table.games:
            keys = Keys(RULES.game, partition_of(game_id, PARTITIONS), str(1 + rebuilt))
            whole = await redis.exists(keys.state(game_id), keys.feed(game_id))
            assert whole == (2 if game_id in still else 0)
            assert await redis.exists(keys.summary(game_id), keys.offsets(game_id)) == 2
            assert await redis.zscore(keys.kept, game_id) is None
            assert game_id in still or not await redis.exists(keys.states(game_id))

    await check_whole(0)
    await check_standings(redis, table)
    await redis.flushall()
    await caught_up(redis, table.topic)
    await check_whole(0)
    done = await rebuild_all(table, redis)
    assert all(each.switched and not each.wrong and not each.wrong_lists for each in done)
    await check_whole(1)
    await running.close()


async def test_a_rebuild_lets_go_of_what_the_live_models_still_have(log: Log, redis: Redis, table: Table) -> None:
    table.begin_ms = 0
    running = Projection([RULES], log, redis, keep_seconds=1e9 * 10)
    await running.start()
    over, _ = await played(table, redis)
    await check(redis, table)
    await running.close()
    done = await rebuild_all(table, redis)
    assert all(each.switched and not each.wrong and not each.wrong_lists for each in done)
    for game_id in over:
        keys = Keys(RULES.game, partition_of(game_id, PARTITIONS), "2")
        assert not await redis.exists(keys.state(game_id), keys.feed(game_id), keys.states(game_id))
