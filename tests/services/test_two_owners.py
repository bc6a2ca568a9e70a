"""What a game makes of another owner's records, over a memory log that misbehaves on command."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from guildhall.host.game_host import GameHost
from guildhall.host.hosted_game import Attempt
from guildhall.host.operations import game_status
from guildhall.host.owners import Owners
from guildhall.host.partition import Upkeep
from guildhall.kernel.decide import Decided, decide
from guildhall.kernel.game import Game
from guildhall.kernel.packs import Packs
from guildhall.log import topics
from guildhall.log.fold import FoldState
from guildhall.log.memory import Faults, MemoryBroker
from guildhall.log.port import AppendOutcome, Claim, Doubt, ProducerRecord
from guildhall.log.writer import Writer
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import RULES, parse
from tests.log.late_reports import LateReports
from tests.services.hall import SEATS
from tests.services.owners import GAME_ID, abort, creating, owner, tiny_store


def bid(seat: int, at_ms: int) -> Attempt:
    def attempt(game: Game | None) -> Decided:
        assert game is not None
        name = SEATS[seat]
        return decide(game, seat, f"1.{seat}", t.Bid(0), subject=name, command_id=name, at_ms=at_ms)

    return attempt


async def test_what_the_next_owner_added_to_a_record_in_doubt() -> None:
    """An owner that was cut off learns at once that its record counts, of another's claim, and of the next version."""
    broker, faults = MemoryBroker(), LateReports()
    first = await owner(broker, "first", faults)
    hosted = first.slot(GAME_ID)
    assert await hosted.act(creating()) == 1
    faults.held = True
    asked = asyncio.create_task(hosted.act(bid(0, 2)))
    await faults.written.wait()
    told = game_status(first, hosted)
    assert (told.version, told.waiting_for) == (1, ()), "what is not acknowledged is not told, to operators either"

    second = await owner(broker, "second")
    assert await second.slot(GAME_ID).act(bid(1, 3)) == 3
    faults.held = False
    faults.given_up.set()

    assert await asked == 2
    await first.writer.stood_down()
    mine, theirs = await hosted.read(), second.slot(GAME_ID).game
    assert mine is not None and theirs is not None
    assert (mine.version, mine.hash) == (3, theirs.hash)
    assert hosted.quarantined == "" and hosted.settled
    assert hosted.offsets == second.slot(GAME_ID).offsets
    for partition in (first, second):
        await partition.finish(1.0)


class NotSent(LateReports):
    """While `held`, nothing is written either."""

    async def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducerRecord],
        write: Callable[[ProducerRecord], AppendOutcome],
    ) -> Sequence[AppendOutcome]:
        return await super().append(topic, partition, records, (lambda _: Doubt("not sent")) if self.held else write)


async def test_the_next_owner_wrote_the_very_same_record() -> None:
    """Sent the same command, at the same time by its clock: an owner that was cut off learns of its claim and of that
    record at once, and goes on from it.
    """
    broker, faults = MemoryBroker(), NotSent()
    first = await owner(broker, "first", faults)
    hosted = first.slot(GAME_ID)
    assert await hosted.act(creating()) == 1
    faults.held = True
    asked = asyncio.create_task(hosted.act(bid(0, 2)))
    await faults.written.wait()

    second = await owner(broker, "second")
    assert await second.slot(GAME_ID).act(bid(0, 2)) == 2
    faults.held = False
    faults.given_up.set()

    assert await asked == 2
    mine, theirs = await hosted.read(), second.slot(GAME_ID).game
    assert mine is not None and theirs is not None
    assert (mine.version, mine.hash) == (2, theirs.hash)
    assert hosted.offsets == second.slot(GAME_ID).offsets
    for partition in (first, second):
        await partition.finish(1.0)


async def test_a_place_where_no_game_came_to_be_is_forgotten_alone() -> None:
    """Not the place that another request for the same creation has made since, in which the game has begun."""
    partition = await owner(MemoryBroker(), "first")
    empty = partition.slot(GAME_ID)
    partition.drop_empty(empty)
    assert GAME_ID not in partition.hosted
    hosted = partition.slot(GAME_ID)
    assert await hosted.act(creating()) == 1
    partition.drop_empty(empty)
    assert partition.hosted[GAME_ID] is hosted
    await partition.finish(1.0)


class Lost(Faults):
    """While `lost`, the next append is lost without a report."""

    lost = False

    async def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducerRecord],
        write: Callable[[ProducerRecord], AppendOutcome],
    ) -> Sequence[AppendOutcome]:
        if self.lost:
            self.lost = False
            return [Doubt("no report")] * len(records)
        return [write(record) for record in records]


async def test_a_time_out_in_doubt_leaves_time_after_the_new_claim() -> None:
    """Nobody could play while the log was away."""
    faults = Lost()
    first = await owner(MemoryBroker(), "first", faults)
    hosted = first.slot(GAME_ID)

    assert await hosted.act(creating(decision_ms=60_000)) == 1
    await hosted.read()
    faults.lost, first.claimed_ms = True, 0
    first.changed(hosted)
    while faults.lost:
        await asyncio.sleep(0.01)
    await first.writer.settled(GAME_ID)
    await first.writer.confirm()
    game = await hosted.read()
    assert game is not None and game.version == 1
    assert hosted.timer is not None
    await first.finish(1.0)


async def test_a_newer_hall_s_pack_is_known_before_its_games_are_served() -> None:
    """Also by an owner that was there before, stood down, and claims again without a new start."""
    broker = MemoryBroker()
    log = broker.log()
    me, newer = Claim("me", "me:1"), Claim("newer", "newer:1")
    known = Packs(parse)
    known.add(RULES.packs.data(RULES.pack_hash))
    rules = replace(RULES, packs=known)
    owners = Owners(await log.compacted(topics.OWNERS, 1), me)
    host = GameHost(rules, log, me, owners, Upkeep())
    await host.open()
    host.holdings.assign([0])
    await host.holdings.claimed()
    data = b"size=7"
    pack_hash = hashlib.sha256(data).digest()
    await (await log.compacted(topics.PACKS, 1)).put(0, f"tiny/{pack_hash.hex()}", data)
    other = Writer(host.store.events, 0, newer, FoldState(), lambda verdict: None)
    await other.claim()
    [partition] = host.partitions
    await partition.writer.stood_down()
    assert pack_hash not in known
    async with asyncio.timeout(10):
        while not partition.serving:
            await asyncio.sleep(0.05)
    assert pack_hash in known
    await other.close()
    await host.holdings.stop(1.0, 0.0)


class NoAnswers(Faults):
    """While `held`, requests wait."""

    def __init__(self) -> None:
        self.held = False
        self.let_go = asyncio.Event()

    async def request(self, topic: str, partition: int) -> None:
        if self.held:
            await self.let_go.wait()


async def test_a_quarantine_is_told_only_when_confirmed() -> None:
    """Another owner may have mended the game, before this one has read that."""
    broker, faults = MemoryBroker(), NoAnswers()
    store = await tiny_store(broker)
    log, me = broker.log(faults), Claim("first", "first:1")
    host = GameHost(RULES, log, me, Owners(await log.compacted(topics.OWNERS, 1), me), Upkeep())
    await host.open()
    host.holdings.assign([0])
    await host.holdings.claimed()
    [first] = host.partitions
    assert await first.slot(GAME_ID).act(creating()) == 1
    await store.events.append(0, [ProducerRecord(GAME_ID, b"junk")])
    caller = Caller(SEATS[0], frozenset({"play"}), time.time() + 600)
    await first.writer.confirm()
    with pytest.raises(Failure, match="damaged") as told:
        await host.visible(GAME_ID, caller)
    assert told.value.reason == "GAME_QUARANTINED"

    faults.held = True
    second = await owner(broker, "second")
    assert await second.slot(GAME_ID).act(abort, repair=True) == 2
    asked = asyncio.create_task(host.visible(GAME_ID, caller))
    for _ in range(10):
        await asyncio.sleep(0)
    assert first.hosted[GAME_ID].quarantined, "it has not read on"
    faults.held = False
    faults.let_go.set()
    with pytest.raises(Failure) as told:
        await asked
    assert told.value.reason == "NOT_OWNER"
    await host.holdings.stop(1.0, 0.0)
    await second.finish(1.0)
