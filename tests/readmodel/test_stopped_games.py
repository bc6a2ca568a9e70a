"""Games with records that cannot be folded: they stand still alone, and go on when they are put right."""

import asyncio
import struct
from collections.abc import AsyncIterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from redis.asyncio import Redis

from guildhall.kernel.game import restore
from guildhall.log.memory import MemoryBroker
from guildhall.log.port import Entry, Log, ProducerRecord, partition_of
from guildhall.log.values import encode_entry
from guildhall.readmodel import records
from guildhall.readmodel.changes import Models
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.records import Standing, Stopped, Summary
from guildhall.telemetry import metrics
from services.projection import service
from services.projection.audit import Sample, audit
from services.projection.partition import PartitionProjection
from services.projection.rebuild import rebuild
from services.projection.refold import refold, refold_stopped
from services.projection.service import Projection
from services.projection.whole_game import read
from tests.kernel.tiny.game import RULES, MayBlock
from tests.readmodel.played import SUBJECTS, Table, a_theft
from tests.readmodel.test_projection import PARTITIONS, caught_up

OLDER = replace(RULES, frames=tuple(frame for frame in RULES.frames if frame is not MayBlock))
"""Rules that know every event, and one frame less."""


@pytest.fixture
def log() -> Log:
    return MemoryBroker().log()


@pytest.fixture
async def table(log: Log) -> Table:
    return Table(await log.events(f"guildhall.{RULES.game}.events", PARTITIONS), Random(6))


@pytest.fixture
async def projection(log: Log, redis: Redis) -> AsyncIterator[Projection]:
    running = Projection([RULES], log, redis)
    await running.start()
    yield running
    await running.close()


def keys_of(game_id: str) -> Keys:
    return Keys(RULES.game, partition_of(game_id, PARTITIONS))


async def stopped(redis: Redis, game_id: str) -> Stopped | None:
    stored = await redis.hget(keys_of(game_id).stopped, game_id)
    return records.decode(stored, Stopped) if stored is not None else None


async def goes_on(redis: Redis, game_id: str) -> None:
    async with asyncio.timeout(10):
        while await stopped(redis, game_id) is not None:
            await asyncio.sleep(0.01)


async def told_anew(redis: Redis, game_id: str) -> int:
    """How often the news said that whoever follows the game has to look at it anew."""
    news = await redis.xrange(keys_of(game_id).news)
    return sum(fields[b"g"] == game_id.encode() and fields[b"v"] == b"0" for _, fields in news)


async def begun(table: Table, steps: int = 6) -> str:
    game_id = await table.create()
    while table.games[game_id].version < steps:
        await table.step(game_id)
    return game_id


async def test_an_operator_puts_a_game_back_behind_a_record_that_cannot_be_folded(
    redis: Redis, table: Table, projection: Projection
) -> None:
    game_id = await begun(table)
    last = table.games[game_id].version
    await table.spoil(game_id)
    await table.spoil(game_id)
    await table.play(2, 20)
    await caught_up(redis, table.topic)
    stop = await stopped(redis, game_id)
    assert stop is not None and (stop.seq, stop.last_seq) == (last + 1, last + 2)
    summary = records.decode(await redis.get(keys_of(game_id).summary(game_id)), Summary)
    assert summary.stopped and summary.version == last
    assert await told_anew(redis, game_id) == 1
    await table.put_back(game_id, last - 2)
    await goes_on(redis, game_id)
    assert await told_anew(redis, game_id) == 2
    await table.step(game_id)
    await caught_up(redis, table.topic)
    game = table.games[game_id]
    _, [models] = await read(redis, keys_of(game_id), [game_id])
    assert models.version == game.version == last + 5
    assert models.snapshot == table.snapshots[game_id][-1]
    assert models.summary is not None and not models.summary.stopped
    offsets = struct.unpack(f">{game.version}q", models.offsets)
    assert [version for version, offset in enumerate(offsets, 1) if offset < 0] == [last + 1, last + 2]
    for version, offset in enumerate(offsets, 1):
        [record] = await table.topic.read(keys_of(game_id).partition, max(offset, ~offset), 1)
        assert table.bodies[game_id][version - 1][32:] in record.value
    # The feed has no gap: it begins behind what cannot be folded.
    assert models.feed == {version: table.bodies[game_id][version - 1] for version in range(last + 3, last + 6)}


async def test_a_game_that_stops_again_keeps_its_place_in_the_log(
    log: Log, redis: Redis, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upgrade that knows one more event, but not all: whatever comes later is not taken for void."""
    from services.projection import games, whole_game

    game_id = await begun(table, 9)
    unknown = {3, 7}

    def old_code(of: Any) -> Any:
        def fold(rules: Any, game: Any, *record: Any) -> Any:
            body = record[-2]
            if any(body == table.bodies[game_id][version - 1][32:] for version in unknown):
                raise games.Unfoldable("event of an unknown type")
            return of(rules, game, *record)

        return fold

    monkeypatch.setattr(games, "fold", old_code(games.fold))
    monkeypatch.setattr(whole_game, "follow", _never_over(old_code(whole_game.follow)))
    for last_seq, stops_at in ((9, 3), (11, 7), (13, None)):
        projection = Projection([RULES], log, redis)
        await projection.start()
        while table.games[game_id].version < last_seq:
            await table.step(game_id)
        await caught_up(redis, table.topic)
        if stops_at is None:
            await goes_on(redis, game_id)
            _, [models] = await read(redis, keys_of(game_id), [game_id])
            assert models.snapshot == table.snapshots[game_id][-1]
        else:
            async with asyncio.timeout(10):
                stop = await stopped(redis, game_id)
                while stop is None or (stop.seq, stop.last_seq) != (stops_at, last_seq):
                    await asyncio.sleep(0.01)
                    stop = await stopped(redis, game_id)
            unknown.discard(stops_at)
        await projection.close()


def _never_over(follow: Any) -> Any:
    """`follow` of code that does not know an event: the game is lost from there on."""

    def lost(rules: Any, game: Any, seq: Any, body: Any, digest: Any) -> Any:
        from guildhall.kernel import fold as kernel
        from services.projection import games

        try:
            return follow(rules, game, seq, body, digest)
        except games.Unfoldable as error:
            game.lost = game.lost or str(error)
            kernel._pass_over(rules, game, seq, body, digest)
            return game, []

    return lost


def first_unknown(table: Table, game_id: str) -> int:
    """The first version with an agenda that `OLDER` cannot read; 0: none."""
    for version, snapshot in enumerate(table.snapshots[game_id], 1):
        try:
            restore(OLDER, snapshot)
        except ValueError:
            return version
    return 0


async def test_a_frame_of_an_unknown_type_stops_its_game_alone(log: Log, redis: Redis, table: Table) -> None:
    unknown: dict[str, int] = {}
    while len(unknown) < 3:
        await table.play(4, 40)
        unknown = {game_id: version for game_id in table.games if (version := first_unknown(table, game_id))}
    # One waits in that frame, in a partition where others go on.
    table.pick = a_theft
    waits = await table.create()
    while not first_unknown(table, waits):
        await table.step(waits)
    unknown[waits] = table.games[waits].version
    table.pick = None
    while all(keys_of(game_id) != keys_of(waits) for game_id in table.games.keys() - unknown.keys()):
        await table.create()
    for _ in range(2):
        projection = Projection([OLDER], log, redis)
        await projection.start()
        await caught_up(redis, table.topic)
        await projection.close()
    for game_id, game in table.games.items():
        _, [models] = await read(redis, keys_of(game_id), [game_id])
        newest = unknown.get(game_id, game.version + 1) - 1
        assert models.snapshot == table.snapshots[game_id][newest - 1]
        stop = await stopped(redis, game_id)
        assert (stop.seq if stop is not None else 0) == unknown.get(game_id, 0)
    for partition in range(PARTITIONS):
        assert not (await audit(OLDER, table.topic, partition, Models(redis), Sample())).wrong
    projection = Projection([RULES], log, redis)
    await projection.start()
    for game_id, snapshots in table.snapshots.items():
        await goes_on(redis, game_id)
        _, [models] = await read(redis, keys_of(game_id), [game_id])
        assert models.snapshot == snapshots[-1]
    tail = table.topic.tail()
    found = [await rebuild(OLDER, table.topic, tail, partition, Models(redis)) for partition in range(PARTITIONS)]
    assert {game_id for each in found for game_id in each.stopped} == set(unknown)
    assert [each.switched for each in found] == [not each.stopped for each in found]
    await tail.close()
    await projection.close()


async def test_a_game_that_stands_still_is_told_for_as_long_as_it_does(
    log: Log, redis: Redis, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a restart; and one of which a record is damaged."""
    monkeypatch.setattr(service, "_MEASURE_SECONDS", 0.05)
    await begun(table)
    while not any(first_unknown(table, game_id) for game_id in table.games):
        await table.play(1, 10)
    count = sum(first_unknown(table, game_id) > 0 for game_id in table.games)
    gauge = metrics.PROJECTION_STOPPED.labels(RULES.game)
    damaged = await table.create()
    await table.topic.append(keys_of(damaged).partition, [ProducerRecord(damaged, b"\xff")])
    for rules, expected in ((OLDER, count + 1), (OLDER, count + 1), (RULES, 1)):
        gauge.set(-1)
        projection = Projection([rules], log, redis)
        await projection.start()
        async with asyncio.timeout(10):
            while gauge._value.get() != expected:
                await asyncio.sleep(0.02)
        await projection.close()


async def test_a_game_whose_first_record_cannot_be_folded_stops_alone(
    redis: Redis, table: Table, projection: Projection
) -> None:
    name = "broken-from-the-start"
    partition = partition_of(name, PARTITIONS)
    claim = await table.claim(partition)
    value = encode_entry(Entry(claim, bytes(32), b"no record", 1))
    await table.topic.append(partition, [ProducerRecord(name, value)])
    await table.play(4, 40)
    await caught_up(redis, table.topic)
    stop = await stopped(redis, name)
    assert stop is not None and stop.seq == 1
    for other, game in table.games.items():
        _, [models] = await read(redis, keys_of(other), [other])
        assert models.version == game.version


async def finished(table: Table) -> str:
    """A game that anybody may watch, over."""
    game_id = await table.create(spectators=True)
    while table.games[game_id].ended is None:
        await table.step(game_id)
    return game_id


async def stopped_at(
    version: int, redis: Redis, table: Table, game_id: str, monkeypatch: pytest.MonkeyPatch
) -> dict[Any, Any]:
    """The models that a program makes which does not know the game's event of this version."""
    from services.projection import games

    def old_code(rules: Any, game: Any, body: bytes, digest: bytes) -> Any:
        if digest + body == table.bodies[game_id][version - 1]:
            raise games.Unfoldable("event of an unknown type")
        return whole(rules, game, body, digest)

    whole = games.fold
    monkeypatch.setattr(games, "fold", old_code)
    old = await one_projection(redis, table, game_id)
    while found := await table.topic.read(old.partition, old.fold.next_offset, 100):
        assert await old.advance(found)
    monkeypatch.setattr(games, "fold", whole)
    stop = await stopped(redis, game_id)
    assert stop is not None and stop.seq == version
    return {name: await redis.dump(name) for name in await redis.keys("*")}


async def one_projection(redis: Redis, table: Table, game_id: str) -> PartitionProjection:
    projection = PartitionProjection(RULES, table.topic, keys_of(game_id).partition, Models(redis))
    assert await projection.load()
    return projection


async def finished_games(redis: Redis, game_id: str) -> list[int]:
    """Of each subject how many its standing says."""
    stored = await redis.hmget(keys_of(game_id).standings, list(SUBJECTS))
    return [records.decode(value, Standing).games if value is not None else 0 for value in stored]


@pytest.mark.parametrize("version", [1, 2])
async def test_a_game_that_ended_while_it_stood_still_counts_once_by_an_audit(
    redis: Redis, table: Table, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    game_id = await finished(table)
    await stopped_at(version, redis, table, game_id, monkeypatch)
    for wrong in ({game_id}, set[str]()):
        found = await audit(RULES, table.topic, keys_of(game_id).partition, Models(redis), Sample({game_id}))
        assert found.wrong.keys() == found.mended == wrong
        assert await finished_games(redis, game_id) == [1, 1, 1]
    # What is counted is not counted again, whatever its summary says.
    await redis.delete(keys_of(game_id).summary(game_id))
    assert (await audit(RULES, table.topic, keys_of(game_id).partition, Models(redis), Sample())).mended == {game_id}
    assert await finished_games(redis, game_id) == [1, 1, 1]


@pytest.mark.parametrize("version", [1, 2])
async def test_a_game_that_ended_while_it_stood_still_counts_once(
    redis: Redis, table: Table, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Whoever folds it again; and the position moves, for whoever has it in memory as it was."""
    game_id = await finished(table)
    await stopped_at(version, redis, table, game_id, monkeypatch)
    assert await finished_games(redis, game_id) == [0, 0, 0]
    first, second = [await one_projection(redis, table, game_id) for _ in range(2)]
    assert await refold_stopped(first, {})
    assert await stopped(redis, game_id) is None
    assert not await refold(second, game_id)
    assert await second.load() and await refold(second, game_id)
    assert await finished_games(redis, game_id) == [1, 1, 1]
    await table.create()
    await table.claim(first.partition)
    assert await first.advance(await table.topic.read(first.partition, first.fold.next_offset, 100))
    assert not await second.advance(await table.topic.read(second.partition, second.fold.next_offset, 100))


async def test_an_older_projection_does_not_write_a_game_as_it_has_it(
    redis: Redis, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    game_id = await begun(table)
    await stopped_at(2, redis, table, game_id, monkeypatch)
    older, newer = [await one_projection(redis, table, game_id) for _ in range(2)]
    await older._remember({game_id})
    assert await refold_stopped(newer, {})
    await table.step(game_id)
    assert not await older.advance(await table.topic.read(older.partition, older.fold.next_offset, 100))
    assert await stopped(redis, game_id) is None


async def test_a_game_that_went_on_is_folded_again_when_redis_has_gone_back(
    redis: Redis, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    game_id = await begun(table)
    copy = await stopped_at(2, redis, table, game_id, monkeypatch)
    projection = await one_projection(redis, table, game_id)
    tried: dict[str, int] = {}
    for _ in range(2):
        assert await projection.load() and await refold_stopped(projection, tried)
        assert await stopped(redis, game_id) is None
        await redis.flushall()
        for name, value in copy.items():
            await redis.restore(name, 0, value)
        assert await stopped(redis, game_id) is not None
