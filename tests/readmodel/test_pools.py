"""The models of matchmaking's pools, as far as they are unlike those of games (test_projection has what is alike)."""

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
from redis.asyncio import Redis

from guildhall.log.memory import MemoryBroker
from guildhall.log.port import Log, ProducerRecord
from guildhall.log.topics import MATCHMAKING
from guildhall.matchmaking.v1.structs import PoolRestored, Rated, RatingChange, encode_event
from guildhall.readmodel import records
from guildhall.readmodel.changes import Models
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.ratings import MIN_GAMES, Rating
from guildhall.readmodel.records import Stopped
from guildhall.rpc.errors import Failure
from services.matchmaking.rating_reads import NEWEST, RatingReads
from services.projection import partition
from services.projection import pools as projecting
from services.projection.audit import Sample
from services.projection.pools import POOLS
from services.projection.pools_audit import audit_pools
from services.projection.rebuild import rebuild, remove_old
from services.projection.service import Projection
from tests.readmodel.pools_played import GAMES, SUBJECTS, Pools

PARTITIONS = 2
GAME = GAMES[0]


@pytest.fixture
def log() -> Log:
    return MemoryBroker().log()


@pytest.fixture
async def pools(log: Log) -> Pools:
    return Pools(await log.events(f"guildhall.{MATCHMAKING}.events", PARTITIONS), Random(7))


@pytest.fixture
async def reads(pools: Pools, redis: Redis) -> AsyncIterator[RatingReads]:
    opened = RatingReads(lambda: pools.topic, lambda: Redis(connection_pool=redis.connection_pool))
    yield opened
    await opened.close()


async def project(log: Log, redis: Redis) -> Projection:
    """One that is level with the log."""
    projection = Projection([], log, redis, pools=True)
    await projection.start()
    await projection.level()
    return projection


async def go_on(pools: Pools, pool: str, games: int) -> None:
    """Until everybody has played so many games in that pool."""
    while min(len(pools.histories.get((pool, subject), ())) for subject in SUBJECTS) < games:
        await pools.record(pool)


async def test_ratings_histories_and_the_leaderboard_page_by_page(
    log: Log, redis: Redis, pools: Pools, reads: RatingReads
) -> None:
    await pools.play(0, 30)
    await go_on(pools, GAME, NEWEST + 5)
    projection = await project(log, redis)
    await pools.check(redis)
    board = await reads.leaderboard(GAME, 0, 100, 5.0)
    assert [(rating.subject, rating.ordinal_micros) for rating in board] == pools.board(GAME)
    pages = [await reads.leaderboard(GAME, first, 2, 5.0) for first in (0, 2, 4, 6)]
    assert [rating for page in pages for rating in page] == board
    for place, rating in enumerate(board, 1):
        answer = await reads.rating(GAME, rating.subject, 5.0)
        newest_first = pools.histories[GAME, rating.subject][::-1]
        assert (answer.rating, answer.place) == (rating, place)
        assert list(answer.history) == newest_first[:NEWEST]
        paged, newest, left = [], None, 1
        while left:
            page, left = await reads.history(GAME, rating.subject, newest, 4, 5.0)
            paged += page
            newest = left
        assert paged == newest_first
    await projection.close()


async def test_a_page_of_a_history_goes_on_where_it_was_while_games_come(
    log: Log, redis: Redis, pools: Pools, reads: RatingReads
) -> None:
    await go_on(pools, GAME, 8)
    projection = await project(log, redis)
    before = pools.histories[GAME, "ann"][::-1]
    first, left = await reads.history(GAME, "ann", None, 3, 5.0)
    await go_on(pools, GAME, len(before) + 3)
    rest, none = await reads.history(GAME, "ann", left, 1_000, 5.0)
    assert [*first, *rest] == before and none == 0
    await projection.close()


async def test_too_few_games_and_none(log: Log, redis: Redis, pools: Pools, reads: RatingReads) -> None:
    for number in range(MIN_GAMES):
        change = RatingChange(f"g{number}", 1, 1, 2, 30_000_000, 1_000_000)
        assert not await redis.exists(pools.keys(GAME).board)
        await pools.append(GAME, (encode_event(Rated("ann", change)),))
        projection = await project(log, redis)
        answer = await reads.rating(GAME, "ann", 5.0)
        assert answer.rating is not None
        assert (answer.rating.games, answer.place) == (number + 1, int(number + 1 == MIN_GAMES))
        await projection.close()
    stranger = await reads.rating(GAME, "nobody", 5.0)
    assert stranger.rating is not None and (stranger.rating.mu_micros, stranger.place) == (25_000_000, 0)
    assert await reads.history(GAME, "nobody", None, 10, 5.0) == ([], 0)


async def test_equals_share_a_place_and_stand_in_the_order_of_their_names(
    log: Log, redis: Redis, pools: Pools, reads: RatingReads
) -> None:
    for number in range(MIN_GAMES):
        same = RatingChange(f"g{number}", 1, 1, 2, 30_000_000, 1_000_000)
        better = RatingChange(f"g{number}", 1, 1, 2, 30_000_001, 1_000_000)
        rated = [("eve", same), ("Zoe", same), ("bob", better), ("öle", same)]
        await pools.append(GAME, tuple(encode_event(Rated(subject, change)) for subject, change in rated))
    projection = await project(log, redis)
    assert [rating.subject for rating in await reads.leaderboard(GAME, 0, 9, 5.0)] == ["bob", "Zoe", "eve", "öle"]
    places = [(await reads.rating(GAME, name, 5.0)).place for name in ("bob", "Zoe", "eve", "öle")]
    assert places == [1, 2, 2, 2]
    await projection.close()


async def test_what_the_models_lack_is_waited_for_and_never_told_as_nothing(
    log: Log, redis: Redis, pools: Pools, reads: RatingReads
) -> None:
    await go_on(pools, GAME, MIN_GAMES)
    with pytest.raises(Failure, match="READ_MODELS_UNAVAILABLE"):
        await reads.leaderboard(GAME, 0, 10, 0.1)
    asked = asyncio.create_task(reads.leaderboard(GAME, 0, 10, 10.0))
    projection = await project(log, redis)
    assert len(await asked) == len(SUBJECTS)
    await projection.close()
    await redis.flushall()
    for read in (reads.rating(GAME, "ann", 0.1), reads.history(GAME, "ann", None, 5, 0.1)):
        with pytest.raises(Failure, match="READ_MODELS_UNAVAILABLE"):
            await read


async def test_without_redis_nothing_is_told(pools: Pools) -> None:
    for opened in (None, lambda: Redis(unix_socket_path="/nowhere/redis.sock")):
        reads = RatingReads(lambda: pools.topic, opened)
        with pytest.raises(Failure, match="READ_MODELS_UNAVAILABLE"):
            await reads.rating(GAME, "ann", 1.0)
        await reads.close()


async def test_an_event_of_an_unknown_type_stops_its_pool_alone_and_goes_on_after_the_upgrade(
    log: Log, redis: Redis, pools: Pools, reads: RatingReads, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, other = next((a, b) for a in GAMES for b in GAMES if a != b and pools.keys(a).keys == pools.keys(b).keys)
    await pools.play(0, 30)
    newer = encode_event(Rated("ann", RatingChange("new", 1, 1, 2, 1, 1)))
    await pools.append(victim, (newer,))
    pools.histories.setdefault((victim, "ann"), []).append(RatingChange("new", 1, 1, 2, 1, 1))
    whole = projecting.decode_event

    def old_code(event: bytes) -> Any:
        if event == newer:
            raise ValueError("unknown event")
        return whole(event)

    monkeypatch.setattr(projecting, "decode_event", old_code)
    before = pools.stood[victim][0]
    projection = await project(log, redis)
    for _ in range(projecting.FOLDED_AT_ONCE + 50):
        await pools.record(victim)
    await pools.record(other)
    await projection.level()
    keys = pools.keys(victim)
    stored = await redis.hget(keys.keys.stopped, victim)
    assert stored is not None
    stopped = records.decode(stored, Stopped)
    assert (stopped.seq, stopped.last_seq) == (before, pools.stood[victim][0])
    with pytest.raises(Failure, match="GAME_QUARANTINED"):
        await reads.rating(victim, "ann", 5.0)
    assert (await reads.rating(other, "ann", 5.0)).rating is not None
    await projection.close()
    still = await project(log, redis)  # the same program: it stands still
    await still.close()
    assert await redis.hlen(keys.unfolded) == pools.stood[victim][0] - before + 1
    monkeypatch.setattr(projecting, "decode_event", whole)
    projection = await project(log, redis)
    async with asyncio.timeout(20):
        while await redis.exists(keys.keys.stopped):
            await asyncio.sleep(0.01)
    await pools.play(0, 10)
    await projection.level()
    await pools.check(redis)
    await projection.close()


async def test_a_damaged_record_is_passed_over_once_nothing_is_missing(
    log: Log, redis: Redis, pools: Pools, reads: RatingReads
) -> None:
    await pools.play(0, 20)
    projection = await project(log, redis)
    partition = pools.keys(GAME).keys.partition
    await pools.topic.append(partition, [ProducerRecord(GAME, b"\xff\xff")])
    with pytest.raises(Failure, match="GAME_QUARANTINED"):
        await reads.rating(GAME, "ann", 5.0)
    await pools.record(GAME)
    await pools.play(0, 10)
    await projection.level()
    await pools.check(redis)
    await projection.close()


async def test_an_operator_puts_a_pool_back_behind_what_could_not_be_folded(
    log: Log, redis: Redis, pools: Pools, reads: RatingReads
) -> None:
    await pools.play(0, 30)
    whole = pools.stood[GAME][0]
    await pools.append(GAME, (b"\xff nonsense",))
    projection = await project(log, redis)
    with pytest.raises(Failure, match="GAME_QUARANTINED"):
        await reads.rating(GAME, "ann", 5.0)
    await pools.append(GAME, (encode_event(PoolRestored("It was broken.", whole)),))
    await pools.play(0, 30)
    await projection.level()
    await pools.check(redis)
    assert not any(each.wrong for each in await audited(pools, redis))
    await projection.close()
    await redis.flushall()
    projection = await project(log, redis)
    await pools.check(redis)
    await projection.close()


async def test_what_an_operator_puts_a_pool_back_behind_did_not_happen(
    log: Log, redis: Redis, pools: Pools, reads: RatingReads
) -> None:
    """Also where this program could fold it."""
    await pools.play(0, 30)
    whole, kept = pools.stood[GAME][0], {name: list(changes) for name, changes in pools.histories.items()}
    projection = await project(log, redis)
    for _ in range(5):
        await pools.record(GAME)
    await projection.level()
    await pools.append(GAME, (encode_event(PoolRestored("It was broken.", whole)),))
    pools.histories = kept
    await pools.play(0, 30)
    await projection.level()
    async with asyncio.timeout(20):
        await reads.rating(GAME, "ann", 20.0)
    await pools.check(redis)
    assert not any(each.wrong for each in await audited(pools, redis))
    for number in range(PARTITIONS):
        done = await rebuild(POOLS, pools.topic, pools.topic.tail(), number, Models(redis))
        assert done.switched and not done.wrong_lists
    await pools.check(redis)
    await projection.close()


@pytest.mark.parametrize("spoilt", ["stood", "rating", "stopped"])
async def test_what_cannot_be_read_is_made_again_from_the_log(
    log: Log, redis: Redis, pools: Pools, spoilt: str
) -> None:
    await pools.play(0, 60)
    projection = await project(log, redis)
    await projection.close()
    keys = pools.keys(GAME)
    if spoilt == "stood":
        await redis.set(keys.stood, b"torn")
    elif spoilt == "stopped":
        await redis.hset(keys.keys.stopped, GAME, b"torn")
    else:
        for subject in SUBJECTS:
            await redis.hset(keys.ratings, subject, b"\xc1")
    projection = await project(log, redis)
    for pool in GAMES:
        await go_on(pools, pool, 20)
    await projection.level()
    async with asyncio.timeout(20):
        while await redis.exists(keys.keys.stopped):
            await asyncio.sleep(0.01)
    await projection.level()
    await pools.check(redis)
    await projection.close()


@pytest.mark.parametrize("spoilt", ["rating", "board", "history", "gone"])
async def test_what_a_reader_cannot_read_is_made_again(
    log: Log, redis: Redis, pools: Pools, reads: RatingReads, monkeypatch: pytest.MonkeyPatch, spoilt: str
) -> None:
    """Though nobody plays."""
    monkeypatch.setattr(partition, "_LOOK_SECONDS", 0.05)
    await go_on(pools, GAME, MIN_GAMES)
    projection = await project(log, redis)
    keys = pools.keys(GAME)
    newest = str(pools.rating(GAME, "ann").games)
    match spoilt:
        case "history":
            await redis.hset(keys.history("ann"), newest, b"torn")
        case "gone":
            await redis.hdel(keys.history("ann"), newest)
        case _:
            await redis.hset(keys.ratings, "ann", b"torn")
    refused = 0
    async with asyncio.timeout(20):
        while True:
            try:
                if spoilt == "board":
                    await reads.leaderboard(GAME, 0, 10, 20.0)
                else:
                    await reads.rating(GAME, "ann", 20.0)
                break
            except Failure as failure:
                assert failure.reason == "READ_MODELS_UNAVAILABLE"
                refused += 1
                await asyncio.sleep(0.02)
        while await redis.exists(keys.keys.doubted):
            await asyncio.sleep(0.02)
    assert refused
    await projection.level()
    await pools.check(redis)
    await projection.close()


async def test_an_audit_finds_what_is_wrong_and_sets_it_right(log: Log, redis: Redis, pools: Pools) -> None:
    for pool in GAMES:
        await go_on(pools, pool, MIN_GAMES)
    projection = await project(log, redis)
    keys = pools.keys(GAME)
    await redis.hset(keys.ratings, "ann", records.encode(Rating(1, 1, 3, 1)))
    await redis.zadd(keys.board, {"bob": 5, "nobody": 1})
    await redis.hdel(keys.history("cid"), "3")
    wrong = {f"{GAME}/ann", f"{GAME}/bob", f"{GAME}/cid", f"{GAME}/nobody"}
    for mend in (False, True):
        found = await audited(pools, redis, mend=mend)
        assert {name for each in found for name in each.wrong} == wrong
        assert {name for each in found for name in each.mended} == (wrong if mend else set())
    assert sum(each.games for each in found) == len(pools.histories) + 1
    assert not any(each.wrong for each in await audited(pools, redis))
    await pools.play(0, 30)
    await projection.level()
    await pools.check(redis)
    await projection.close()


async def audited(pools: Pools, redis: Redis, mend: bool = True) -> list[Any]:
    return [await audit_pools(pools.topic, number, Models(redis), Sample(), mend=mend) for number in range(PARTITIONS)]


async def test_a_rebuild_finds_what_was_wrong_and_switches_while_games_are_rated(
    log: Log, redis: Redis, pools: Pools, reads: RatingReads
) -> None:
    for pool in GAMES:
        await go_on(pools, pool, MIN_GAMES)
    projection = await project(log, redis)
    keys = pools.keys(GAME)
    await redis.hset(keys.ratings, "ann", records.encode(Rating(1, 1, 30, 1)))
    await redis.hset(keys.history("bob"), "1", b"")
    await redis.zadd(keys.board, {"nobody": 1})
    models, tail = Models(redis), pools.topic.tail()
    done = []
    for number in range(PARTITIONS):
        playing = asyncio.create_task(pools.play(0, 40))
        done.append(await rebuild(POOLS, pools.topic, tail, number, models))
        await playing
    wrong = {name for each in done for name in each.wrong_lists}
    # The projection may have gone on from ann's wrong rating meanwhile.
    may_be = {f"{name}:{GAME}" for name in ("board", "ratings")} | {f"history:{GAME}:{name}" for name in ("ann", "bob")}
    assert {f"history:{GAME}:bob", f"board:{GAME}"} <= wrong <= may_be
    assert all(each.switched for each in done)
    for each in done:
        await remove_old(models, each, 0.0)
    await pools.play(0, 40)
    answer = await reads.rating(GAME, "ann", 5.0)
    assert answer.rating is not None and answer.rating.games == pools.rating(GAME, "ann").games
    await projection.level()
    await pools.check(redis)
    assert {Keys(MATCHMAKING, number, "2").position.encode() for number in range(PARTITIONS)} == {
        name async for name in redis.scan_iter(match="*:position")
    }
    await tail.close()
    await projection.close()
