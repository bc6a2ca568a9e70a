"""What the read models show is what the games were, at every version, to whoever may see it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Any, cast

import pytest
from redis.asyncio import Redis

from guildhall.host.messages import Messages
from guildhall.kernel.game import restore
from guildhall.kernel.rules import Rules
from guildhall.log.memory import MemoryBroker
from guildhall.log.port import EventsTopic, partition_of
from guildhall.readmodel.changes import Models
from guildhall.readmodel.child import RedisChild
from guildhall.readmodel.connection import open_redis
from guildhall.readmodel.keys import Keys, live
from guildhall.rpc import pages
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from guildhall.telemetry import metrics
from services.projection import partition as projection_partition
from services.projection.partition import PartitionProjection
from services.projection.refold import refold
from services.projection.service import Projection
from services.views import live_games, view_service
from services.views.live_games import LiveGames, Published, newest_version
from services.views.news import News
from services.views.reads import RedisReadSide, Seen
from services.views.view_service import ViewService
from services.views.watch import Watch, WatchLimits
from tests.kernel.tiny.game import RULES, MayBlock
from tests.readmodel.played import Table, a_theft

PARTITIONS = 3
PATIENCE = 10.0
ALICE = Caller("alice", frozenset({"play"}), 1e12)
SAM = Caller("sam", frozenset({"spectate"}), 1e12)
EVE = Caller("eve", frozenset({"play"}), 1e12)


class Heard:
    """A watcher that keeps what it is told."""

    def __init__(self) -> None:
        self.versions: list[int] = []
        self.ended: Failure | None = None

    def hear(self, published: Published) -> None:
        self.versions.append(published.record.seq)

    def end(self, why: Failure) -> None:
        self.ended = why


async def messages(watch: Watch, after: int | None) -> AsyncGenerator[bytes, None]:
    """All that a watcher's stream tells."""
    async for message in watch.beginning(after, PATIENCE):
        yield message
    while not watch.over:
        yield await watch.next()


class Side:
    """A projection and a read side over one log and one Redis."""

    def __init__(self, topic: EventsTopic, redis: Redis, projection: Projection, rules: Rules = RULES) -> None:
        """`rules`: those that the read side knows."""
        self.rules = rules
        self.table = Table(topic, Random(3))
        self.projection = projection
        self.redis = redis
        self.news = News(RULES.game, topic.partitions, redis)
        self.live = LiveGames(Messages(rules), self.news, topic, self._no_packs)
        self.reads = RedisReadSide(rules, topic, self.news, self.live)

    async def _no_packs(self) -> None:
        raise AssertionError("every pack is known")

    async def seen(self, game_id: str, caller: Caller = ALICE) -> Seen:
        return await self.reads.visible(game_id, caller, PATIENCE)

    def watch(
        self, seen: Seen, after: int | None, caller: Caller = ALICE, *, events: bool = True
    ) -> AsyncGenerator[bytes, None]:
        return messages(Watch(self.reads, Messages(self.rules), seen, caller, WatchLimits(), events=events), after)

    async def at_newest(self, seen: Seen) -> Any:
        return await self.reads.newest(seen, self.table.games[seen.live.game_id].version, PATIENCE)


@asynccontextmanager
async def read_side(redis: Redis, partitions: int = PARTITIONS) -> AsyncIterator[Side]:
    log = MemoryBroker().log()
    topic = await log.events(f"guildhall.{RULES.game}.events", partitions)
    projection = Projection([RULES], log, redis)
    await projection.start()
    side = Side(topic, redis, projection)
    await side.news.start()
    side.live.start()
    yield side
    await side.live.close()
    await side.news.close()
    await projection.close()


@pytest.fixture
async def side(redis: Redis) -> AsyncIterator[Side]:
    async with read_side(redis) as opened:
        yield opened


async def test_every_version_is_as_it_was(side: Side) -> None:
    await side.table.play(3, 60)
    for game_id, snapshots in side.table.snapshots.items():
        seen = await side.seen(game_id)
        assert seen.seat == 0
        assert (await side.at_newest(seen)).snapshot() == snapshots[-1]
        for version, snapshot in enumerate(snapshots, 1):
            assert (await side.reads.at(seen, version)).snapshot() == snapshot
        bodies = side.table.bodies[game_id]
        pairs = await side.reads.records(seen, 1, len(bodies))
        assert [each.hash + each.body for each in pairs] == bodies


async def test_records_that_the_feed_has_no_more_come_from_the_log(side: Side) -> None:
    await side.table.play(2, 30)
    game_id = next(iter(side.table.games))
    seen = await side.seen(game_id)
    await side.at_newest(seen)
    bodies = side.table.bodies[game_id]
    keys = side.news.keys_of(game_id)
    await side.redis.hdel(keys.feed(game_id), *[str(version) for version in range(1, len(bodies) // 2 + 1)])
    for first in range(1, len(bodies) + 1):
        pairs = await side.reads.records(seen, first, len(bodies))
        assert [each.hash + each.body for each in pairs] == bodies[first - 1 :]
    assert (await side.reads.at(seen, 1)).snapshot() == side.table.snapshots[game_id][0]


async def test_a_game_whose_state_cannot_be_read_is_folded_from_the_log(side: Side) -> None:
    await side.table.play(2, 30)
    await side.projection.level()
    for game_id, game in side.table.games.items():
        keys = side.news.keys_of(game_id)
        await side.redis.set(keys.state(game_id), b"torn")
        seen = await side.seen(game_id)
        assert (await side.at_newest(seen)).snapshot() == game.snapshot()
        if game.ended is None:
            await side.table.step(game_id)
            assert (await side.at_newest(seen)).snapshot() == game.snapshot()


async def test_a_watcher_hears_every_version_once_in_order(side: Side) -> None:
    game_id = await side.table.create()
    seen = await side.seen(game_id)
    begin = (await side.reads.newest(seen, 0, 0.0)).version
    heard = Heard()
    end = side.reads.subscribe(seen, heard)
    while side.table.games[game_id].ended is None:
        await side.table.step(game_id)
    game = await side.at_newest(seen)
    assert heard.versions == list(range(begin + 1, game.version + 1))
    assert game.ended is not None and heard.ended is None
    end()
    assert not seen.live.watchers


@pytest.mark.parametrize("events", [True, False])
async def test_a_feed_that_is_damaged_leaves_nothing_out(
    side: Side, events: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever byte it is, of hash or body: what the feed cannot show comes from the log, and is set right."""
    game_id = await side.table.create()
    while side.table.games[game_id].version < 14 and side.table.games[game_id].ended is None:
        await side.table.step(game_id)
    await side.projection.level()
    newest = side.table.games[game_id].version
    # To set a game right ends its streams: not while one is read here.
    may_mend = late_refolds(monkeypatch)
    keys = side.news.keys_of(game_id)
    feed = keys.feed(game_id)
    right = await redis_feed(side, feed)
    doubted = metrics.UNREADABLE_MODELS.labels(RULES.game)
    for version in range(1, newest + 1):
        stored = right[version]
        at = side.table.random.randrange(len(stored))
        await side.redis.hset(feed, str(version), stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :])
        before = doubted._value.get()
        seen = await side.seen(game_id)
        got: list[int] = []
        async with aclosing(side.watch(seen, version - 1, events=events)) as stream:
            async for message in stream:
                got.append(RULES.wire.decode_WatchViewResponse(message).version)
                if got[-1] == newest:
                    break
        assert got == list(range(version, newest + 1))
        assert doubted._value.get() > before
        pairs = await side.reads.records(seen, 1, newest)
        assert [each.hash + each.body for each in pairs] == side.table.bodies[game_id]
        heard = Heard()
        side.reads.subscribe(seen, heard)
        may_mend.set()
        async with asyncio.timeout(PATIENCE):
            # Redis has it before the views have heard of it, and then they end what is watched, also what begins here.
            while heard.ended is None or await redis_feed(side, feed) != right or await side.redis.exists(keys.doubted):
                await asyncio.sleep(0.02)
        may_mend.clear()


def late_refolds(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Games are folded again only while this is set."""
    may_go_on = asyncio.Event()

    async def refold_late(*of: Any) -> bool:
        await may_go_on.wait()
        return await refold(*of)

    monkeypatch.setattr(projection_partition, "refold", refold_late)
    return may_go_on


async def redis_feed(side: Side, key: str) -> dict[int, bytes]:
    return {int(version): value for version, value in (await side.redis.hgetall(key)).items()}


async def test_news_that_cannot_be_folded_are_told_to_the_projection(side: Side) -> None:
    game_id = await side.table.create()
    seen = await side.seen(game_id)
    heard = Heard()
    side.reads.subscribe(seen, heard)
    before = metrics.UNREADABLE_MODELS.labels(RULES.game)._value.get()
    side.live._told(seen.live, 2, bytes(40))
    assert heard.ended is not None and heard.ended.reason == "GAME_QUARANTINED"
    async with asyncio.timeout(PATIENCE):
        while metrics.UNREADABLE_MODELS.labels(RULES.game)._value.get() == before:
            await asyncio.sleep(0.01)
    assert (await side.at_newest(await side.seen(game_id))).version == 1


async def test_views_that_do_not_know_a_frame_show_its_games_no_further(side: Side) -> None:
    frames = tuple(frame for frame in RULES.frames if frame is not MayBlock)
    older = Side(side.table.topic, side.redis, side.projection, replace(RULES, frames=frames))
    older.table, side.table.pick = side.table, a_theft
    await older.news.start()
    older.live.start()
    game_id, other = await side.table.create(), await side.table.create()
    seen, heard = await older.seen(game_id), Heard()
    older.reads.subscribe(seen, heard)
    while not any(isinstance(frame, MayBlock) for frame in side.table.games[game_id].agenda):
        assert side.table.games[game_id].ended is None
        await side.table.step(game_id)
    unknown = side.table.games[game_id].version
    async with asyncio.timeout(PATIENCE):
        while heard.ended is None:
            await asyncio.sleep(0.01)
    assert heard.ended.reason == "GAME_QUARANTINED" and heard.versions == list(range(2, unknown))
    assert (await older.reads.at(seen, unknown - 1)).snapshot() == side.table.snapshots[game_id][unknown - 2]
    with pytest.raises(Failure, match="GAME_QUARANTINED"):
        await older.reads.at(seen, unknown)
    with pytest.raises(Failure, match="READ_MODELS_UNAVAILABLE"):
        await older.reads.visible(game_id, ALICE, 0.5)
    await side.table.step(game_id)
    seen = await older.seen(game_id)
    assert (await older.at_newest(seen)).snapshot() == side.table.snapshots[game_id][-1]
    # Nothing is wrong with that version; but to whom the one before is unknown here it is not shown without it.
    got: list[int] = []
    with pytest.raises(Failure, match="GAME_QUARANTINED"):
        async for message in older.watch(seen, 0):
            got.append(RULES.wire.decode_WatchViewResponse(message).version)
    assert got == list(range(1, unknown))
    assert (await older.reads.newest(await older.seen(other), 1, PATIENCE)).version == 1
    await older.live.close()
    await older.news.close()


async def test_a_game_that_was_put_back_is_waited_for(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record moves the models first, and is folded with all before it next: whoever ordered it sees it at once."""
    await side.table.play(1, 12)
    [game_id] = side.table.games
    await side.table.spoil(game_id)
    with pytest.raises(Failure, match="GAME_QUARANTINED"):
        await side.seen(game_id)
    may_go_on = late_refolds(monkeypatch)
    await side.table.put_back(game_id, side.table.games[game_id].version - 1)
    seeing = asyncio.create_task(side.seen(game_id))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(seeing), 0.3)
    may_go_on.set()
    assert (await side.at_newest(await seeing)).version == side.table.games[game_id].version


async def test_news_that_were_left_out_are_found_in_the_feed(side: Side) -> None:
    game_id = await side.table.create()
    seen = await side.seen(game_id)
    heard = Heard()
    side.reads.subscribe(seen, heard)
    side.news.forget(game_id)
    for _ in range(4):
        await side.table.step(game_id)
    await asyncio.sleep(0.2)
    assert heard.versions == []
    side.news.listen(game_id, lambda version, record: side.live._told(seen.live, version, record))
    await side.table.step(game_id)
    newest = (await side.at_newest(seen)).version
    assert heard.versions == list(range(2, newest + 1))


async def test_a_stranger_and_a_game_that_is_not_there_look_the_same(side: Side) -> None:
    game_id = await side.table.create()
    assert (await side.seen(game_id, SAM)).seat is None
    for name, caller in ((game_id, EVE), ("nosuchgame", EVE), ("nosuchgame", SAM)):
        with pytest.raises(Failure) as failure:
            await side.seen(name, caller)
        assert failure.value.reason == "GAME_NOT_FOUND"


async def test_a_version_told_while_a_catch_up_ends_is_not_lost(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    game_id = await side.table.create()
    followed = (await side.seen(game_id)).live
    assert side.live._looking is not None
    side.live._looking.cancel()  # would find it, seconds later
    asked, answer = asyncio.Event(), asyncio.Event()

    async def answered_late(*of: Any) -> int:
        newest = await newest_version(*of)
        asked.set()
        await answer.wait()
        return newest

    monkeypatch.setattr(live_games, "newest_version", answered_late)
    side.live._do(followed, side.live._caught_up(followed))
    await asked.wait()
    await side.table.step(game_id)
    while followed.newest_told < 2:
        await asyncio.sleep(0.01)
    answer.set()
    await followed.reach(2, PATIENCE)


async def test_a_version_that_was_told_and_lost_ends_what_follows(side: Side) -> None:
    game_id = await side.table.create()
    seen = await side.seen(game_id)
    heard = Heard()
    side.reads.subscribe(seen, heard)
    side.live._told(seen.live, 3, b"")
    async with asyncio.timeout(PATIENCE):
        while heard.ended is None:
            await asyncio.sleep(0.01)
    assert heard.ended.reason == "VIEW_BEHIND"


async def test_games_whose_news_are_left_out_are_looked_after(side: Side) -> None:
    game_ids = [await side.table.create() for _ in range(5)]
    games = [(await side.seen(game_id)).live for game_id in game_ids]
    for game_id in game_ids:
        side.news.forget(game_id)
        await side.table.step(game_id)
    await side.projection.level()
    await side.live._look_at(games)
    for game in games:
        await game.reach(2, PATIENCE)


async def commands(side: Side, game_id: str, caller: Caller) -> dict[str, int]:
    """What Redis is asked when this caller asks for that game, which it may not see."""
    await side.redis.config_resetstat()
    with pytest.raises(Failure) as failure:
        await side.reads.visible(game_id, caller, PATIENCE)
    assert failure.value.reason == "GAME_NOT_FOUND"
    asked = await side.redis.info("commandstats")
    return {name: of["calls"] for name, of in asked.items() if "config" not in name and "info" not in name}


async def test_a_hidden_game_costs_a_stranger_what_none_costs(side: Side) -> None:
    """However many commands are sent, and whether the game is followed here or not."""
    game_id = await side.table.create(spectators=False)
    await side.projection.level()
    await side.projection.close()
    await side.news.close()
    for caller in (EVE, SAM):
        nothing = await commands(side, "nosuchgame", caller)
        assert nothing and await commands(side, game_id, caller) == nothing
        assert side.live.followed(game_id) is None
    await side.seen(game_id)
    for caller in (EVE, SAM):
        assert await commands(side, game_id, caller) == await commands(side, "nosuchgame", caller)


async def test_models_that_are_built_again_show_no_older_state_as_the_newest(side: Side) -> None:
    game_id = await side.table.create()
    for _ in range(3):
        await side.table.step(game_id)
    await side.projection.close()
    await side.redis.flushall()
    topic, partition = side.table.topic, partition_of(game_id, PARTITIONS)
    building = PartitionProjection(RULES, topic, partition, Models(side.redis))
    await building.load()
    written = await topic.read(partition, 0, 100)
    await building.advance(written[:-1])
    with pytest.raises(Failure) as failure:
        await side.reads.visible(game_id, ALICE, 0.05)
    assert failure.value.reason == "READ_MODELS_UNAVAILABLE"
    await building.advance(written[-1:])
    assert (await side.seen(game_id)).live.game.version == side.table.games[game_id].version


async def test_models_that_are_behind_say_so(side: Side) -> None:
    await side.projection.close()
    game_id = await side.table.create()
    with pytest.raises(Failure) as failure:
        await side.reads.visible(game_id, ALICE, 0.05)
    assert failure.value.reason == "READ_MODELS_UNAVAILABLE"


async def test_a_version_that_does_not_come_is_waited_for_only_so_long(side: Side) -> None:
    game_id = await side.table.create()
    seen = await side.seen(game_id)
    with pytest.raises(Failure) as failure:
        await side.reads.newest(seen, 99, 0.05)
    assert failure.value.reason == "VERSION_NOT_REACHED"
    assert restore(RULES, side.table.snapshots[game_id][0]).version == seen.live.game.version


async def test_each_watcher_is_told_where_its_own_stream_ended(side: Side) -> None:
    game_id = await side.table.create()
    for _ in range(3):
        await side.table.step(game_id)
    seen = await side.seen(game_id)
    newest = (await side.at_newest(seen)).version
    ahead, behind = side.watch(seen, None), side.watch(seen, 0)
    await anext(ahead)
    await anext(behind)
    seen.live.fail(Failure("VIEW_BEHIND", "Come again."))
    told = []
    for stream in (ahead, behind):
        with pytest.raises(Failure) as failure:
            while True:
                await anext(stream)
        told.append((failure.value.reason, failure.value.metadata))
    assert told == [("VIEW_BEHIND", {"after_version": str(newest)}), ("VIEW_BEHIND", {"after_version": "1"})]
    assert seen.live.failed is not None and seen.live.failed.metadata == {}


async def test_those_who_wait_for_news_take_nobodys_connection(server: RedisChild) -> None:
    redis = open_redis(server.url, connections=2)
    news = News(RULES.game, 8, redis)
    await news.start()
    for partition in range(8):
        await redis.set(news.keys(partition).position, b"here")
    answers = await asyncio.gather(*(redis.get(news.keys(number % 8).position) for number in range(300)))
    assert set(answers) == {b"here"}
    await news.close()
    await redis.aclose()


async def test_news_are_heard_though_another_generation_became_live_while_they_began(redis: Redis) -> None:
    """As if that was between the question which one is live and the one for the newest news."""
    old, new = Keys(RULES.game, 0, "1"), Keys(RULES.game, 0, "2")
    await redis.xadd(old.news, {"g": "game", "v": "1", "r": b"a"}, "5-0")
    await redis.xadd(old.news, {"moved": "2"})
    news = News(RULES.game, 1, redis)
    heard: asyncio.Queue[int] = asyncio.Queue()
    news.listen("game", lambda version, record: heard.put_nowait(version))
    await news.start()
    await redis.set(live(RULES.game, 0), "2")
    await redis.xadd(new.news, {"g": "game", "v": "2", "r": b"b"}, "6-0")
    async with asyncio.timeout(PATIENCE):
        assert await heard.get() == 2
    await news.close()


async def test_what_was_queued_is_sent_before_a_stream_ends(side: Side) -> None:
    game_id = await side.table.create()
    seen = await side.seen(game_id)
    stream = side.watch(seen, None)
    await anext(stream)
    for _ in range(2):
        await side.table.step(game_id)
    await side.at_newest(seen)
    seen.live.fail(Failure("VIEW_BEHIND", "Come again."))
    sent = []
    with pytest.raises(Failure) as failure:
        while True:
            sent.append(RULES.wire.decode_WatchViewResponse(await anext(stream)).version)
    assert sent == [2, 3] and failure.value.metadata == {"after_version": "3"}


class NoDeadline:
    """The context of a call whose client waits as long as it takes."""

    def time_remaining(self) -> None:
        return None


async def finished(side: Side) -> str:
    game_id = await side.table.create()
    while side.table.games[game_id].ended is None:
        await side.table.step(game_id)
    return game_id


async def test_records_end_with_their_token(side: Side) -> None:
    game_id = await finished(side)
    service = ViewService(side.reads, Messages(RULES), WatchLimits())
    caller = Caller("alice", frozenset({"play"}), 1e12)
    request = RULES.wire.encode_GetRecordsRequest(RULES.wire.GetRecordsRequest(game_id))
    records = service.get_records(request, caller, cast(Any, NoDeadline()))
    await anext(records)
    object.__setattr__(caller, "expires", 0.0)
    with pytest.raises(Failure) as failure:
        await anext(records)
    assert failure.value.reason == "TOKEN_EXPIRED"


@pytest.mark.parametrize("chunk", [2, 100])
async def test_a_page_ends_by_what_it_shows(side: Side, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    game_id = await finished(side)
    wire = RULES.wire
    service = ViewService(side.reads, Messages(RULES), WatchLimits())

    async def page(token: str = "") -> Any:
        asked = wire.ListEventsRequest(game_id, page_token=token)
        answer = await service.list_events(wire.encode_ListEventsRequest(asked), ALICE, cast(Any, NoDeadline()))
        return wire.decode_ListEventsResponse(answer)

    whole = (await page()).versions
    sizes = [len(wire.encode_ListEventsResponse(wire.ListEventsResponse((batch,), ""))) for batch in whole]
    limit = sum(sizes[:3])
    monkeypatch.setattr(view_service, "PAGE_BYTES", limit)
    monkeypatch.setattr(view_service, "_CHUNK", chunk)
    first = await page()
    assert first.versions == whole[:4]
    got, token = list(first.versions), first.next_page_token
    while token:
        following = await page(token)
        got += following.versions
        token = following.next_page_token
    assert tuple(got) == tuple(whole) and len(whole) == side.table.games[game_id].version


async def test_a_page_that_takes_long_ends_early(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    game_id = await finished(side)
    wire = RULES.wire
    service = ViewService(side.reads, Messages(RULES), WatchLimits())
    monkeypatch.setattr(view_service, "PAGE_SECONDS", 0.0)
    monkeypatch.setattr(view_service, "_CHUNK", 2)
    got: list[int] = []
    token = ""
    while token or not got:
        asked = wire.ListEventsRequest(game_id, page_token=token)
        answer = await service.list_events(wire.encode_ListEventsRequest(asked), ALICE, cast(Any, NoDeadline()))
        page = wire.decode_ListEventsResponse(answer)
        assert len(page.versions) <= 2
        got += [batch.version for batch in page.versions]
        token = page.next_page_token
    assert got == list(range(1, side.table.games[game_id].version + 1))


@pytest.mark.parametrize("place", [bytes(8), b"\0"])
async def test_a_token_that_a_seat_has_made_up_is_none(side: Side, place: bytes) -> None:
    """When the game is over its seats know the seed."""
    game_id = await finished(side)
    service = ViewService(side.reads, Messages(RULES), WatchLimits())
    key = pages.game_key(side.table.games[game_id].created.seed)
    asked = RULES.wire.ListEventsRequest(game_id, page_token=pages.sealed(key, "alice", place))
    with pytest.raises(Failure) as failure:
        await service.list_events(RULES.wire.encode_ListEventsRequest(asked), ALICE, cast(Any, NoDeadline()))
    assert (failure.value.reason, failure.value.field) == ("INVALID_PAGE_TOKEN", "page_token")
