"""Earlier versions come from the log in few reads at a time, and whoever asks for many keeps nobody else back."""

import asyncio
import gc
from collections.abc import Sequence
from typing import Any, cast

import pytest
from redis.asyncio import Redis

from guildhall.host import history
from guildhall.host.history import AT_ONCE, History, runs
from guildhall.host.messages import Messages
from guildhall.log.errors import LogUnavailable
from guildhall.log.port import Record
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from services.views import reads, turns
from services.views.turns import Turns
from services.views.view_service import ViewService
from services.views.watch import WatchLimits
from tests.kernel.tiny.game import RULES
from tests.readmodel.test_views import ALICE, SAM, NoDeadline, Side, read_side


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ([], []),
        ([7], [(7, 7)]),
        ([3, 4, 5], [(3, 5)]),
        ([0, 7], [(0, 7)]),
        ([0, 8], [(0, 0), (8, 8)]),
        ([0, 100, 101, 105, 500, 501], [(0, 0), (100, 105), (500, 501)]),
        ([0, 1, 2, 3, 19, 40], [(0, 19), (40, 40)]),
    ],
)
def test_near_offsets_are_read_together(offsets: Sequence[int], expected: Sequence[tuple[int, int]]) -> None:
    assert runs(offsets) == expected


async def test_nothing_more_is_read_for_whoever_has_failed() -> None:
    asked: list[int] = []

    class Broken:
        name = "broken"

        async def read(self, partition: int, offset: int, limit: int) -> Sequence[Record]:
            asked.append(offset)
            raise LogUnavailable("the log is away")

    with pytest.raises(LogUnavailable):
        await History(RULES, cast(Any, Broken())).records(0, "game", range(0, 6_000, 60))
    await asyncio.sleep(0)
    assert asked == [0]


async def forgotten_by_redis(side: Side) -> None:
    """All that is older than the newest state is in the log alone."""
    await side.projection.level()
    for game_id in side.table.games:
        keys = side.news.keys_of(game_id)
        await side.redis.delete(keys.feed(game_id), keys.states(game_id))


async def test_history_for_many_is_refused_to_nobody(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty games lie among each other in one partition, so that nearly every record is a read of its own."""
    async with read_side(redis, partitions=1) as side:
        await side.table.play(60, 700)
        await forgotten_by_redis(side)
        service = ViewService(side.reads, Messages(RULES), WatchLimits())
        topic = side.table.topic
        plain = topic.read
        now, together = 0, 0

        async def read(partition: int, offset: int, limit: int) -> Sequence[Record]:
            nonlocal now, together
            if now >= AT_ONCE:
                raise LogUnavailable("too many requests are waiting")
            now += 1
            together += limit > 1
            try:
                for _ in range(3):
                    await asyncio.sleep(0)
                return await plain(partition, offset, limit)
            finally:
                now -= 1

        monkeypatch.setattr(topic, "read", read)
        wire = RULES.wire
        done: list[str] = []

        async def listed(game_id: str, caller: Caller) -> None:
            asked = wire.encode_ListEventsRequest(wire.ListEventsRequest(game_id, page_size=1_000))
            answer = await service.list_events(asked, caller, cast(Any, NoDeadline()))
            newest = side.table.games[game_id].version
            told = [batch.version for batch in wire.decode_ListEventsResponse(answer).versions]
            assert told == list(range(1, newest + 1))
            done.append(caller.subject)

        games = [*side.table.games, *side.table.games][:64]
        for game_id in side.table.games:
            await side.seen(game_id)
        greedy = [asyncio.create_task(listed(game_id, ALICE)) for game_id in games]
        await asyncio.gather(*greedy, listed(games[5], SAM))
        # Whoever asks for one game is not the last to have it.
        assert sorted(done) == ["alice"] * 64 + ["sam"] and done[-1] == "alice"
        assert together


async def test_a_game_that_was_let_go_is_not_folded_from_its_beginning_each_time(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "STATE_EVERY", 4)
    monkeypatch.setattr(history, "EVERY", 4)
    async with read_side(redis) as side:
        game_id = await side.table.create()
        while side.table.games[game_id].version < 9:
            await side.table.step(game_id)
        await forgotten_by_redis(side)
        seen = await side.seen(game_id)
        read: list[int] = []
        plain = History.records

        async def counted(self: History, partition: int, name: str, offsets: Sequence[int]) -> Any:
            read.append(len(offsets))
            return await plain(self, partition, name, offsets)

        monkeypatch.setattr(History, "records", counted)
        for version, needed in ((9, [9]), (9, [1]), (7, [3]), (8, []), (3, [3])):
            read.clear()
            assert (await side.reads.at(seen, version)).snapshot() == side.table.snapshots[game_id][version - 1]
            assert read == needed


async def test_whoever_has_had_too_much_is_told_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LONGEST_WAIT", 0.01)
    every = Turns()

    async def one_more() -> None:
        async with every.turn("alice"):
            raise AssertionError

    async with every.turn("alice"), every.turn("alice"):
        with pytest.raises(Failure, match="RATE_LIMITED"):
            await asyncio.create_task(one_more())
        async with every.turn("sam"):
            pass
    async with every.turn("alice"):
        pass


async def test_a_subject_at_rest_takes_no_memory() -> None:
    every = Turns()
    async with every.turn("alice"), every.turn("sam"):
        assert sorted(every._of) == ["alice", "sam"]
    gc.collect()
    assert not every._of
