"""A pool with a record that cannot be read or folded: it is told of, and put back by an operator's record."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from guildhall.host.operations import PoolOrder
from guildhall.kernel import ids
from guildhall.kernel.v1.structs import CommandRef, EndReason, Record, decode_Record, encode_Record
from guildhall.log.fold import Effective, FoldState, fold
from guildhall.log.memory import Faults, MemoryBroker
from guildhall.log.port import Appended, AppendOutcome, Claim, Doubt, Entry, ProducerRecord
from guildhall.log.port import Record as Stored
from guildhall.log.recovery import open_store
from guildhall.log.values import encode_entry
from guildhall.matchmaking.v1 import structs as wire
from guildhall.rpc.errors import Failure
from services.matchmaking import hosted_pool
from services.matchmaking.accepted import payload_hash
from services.matchmaking.commands import CreationRefused, GameMade, Result, TakeResults
from services.matchmaking.creating import tell
from services.matchmaking.deciding import MOST_TIMERS
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.house import MATCHMAKER
from services.matchmaking.judging import Asked
from services.matchmaking.pool_partition import PoolPartition
from tests.matchmaking.hall import GAME, HOUSE
from tests.matchmaking.test_results import agreed, end, taken
from tests.matchmaking.test_service_owners import TOPIC, StoresMeanwhile, owner, state, ticket

UNKNOWN = b"\xa2\x06\x00"
"""An event of a kind that no version of the program knows yet: field 100, empty."""


def order(command_id: str = "mend", **fields: Any) -> PoolOrder:
    told: dict[str, Any] = {
        "game": GAME,
        "subject": "olga",
        "command_id": command_id,
        "why": "a disk went bad",
        "validate_only": False,
    }
    return PoolOrder(**{**told, **fields})


async def write(broker: MemoryBroker, key: str, value: bytes) -> int:
    """A record that no owner wrote; its offset."""
    topic = await broker.log(None).events(TOPIC, 1)
    [outcome] = await topic.append(0, [ProducerRecord(key, value)])
    assert isinstance(outcome, Appended)
    return outcome.offset


def readable(broker: MemoryBroker) -> list[Record]:
    """The pool's records that count."""
    fold_state = FoldState()
    verdicts = [fold(fold_state, record) for record in broker.events[TOPIC][0]]
    return [decode_Record(verdict.entry.body) for verdict in verdicts if isinstance(verdict, Effective)]


def newest(records: Iterable[Stored]) -> tuple[int, int, bytes]:
    """(claim, seq, hash) of the pool, by the log's rule."""
    fold_state, seq, digest = FoldState(), 0, b""
    for record in records:
        verdict = fold(fold_state, record)
        if isinstance(verdict, Effective):
            seq, digest = verdict.entry.seq, verdict.entry.hash
    return fold_state.newest_claim, seq, digest


async def write_entry(
    broker: MemoryBroker,
    events: tuple[bytes, ...],
    *,
    accepted: str = "",
    ref: CommandRef | None = None,
    spoilt: bool = False,
) -> int:
    """The next entry of the pool, with these events; `spoilt`: its hash is not that of its body. Its command is `ref`,
    or a ticket of dave's under the id `accepted`.
    """
    claim, seq, before = newest(broker.events[TOPIC][0])
    ref = ref or CommandRef("dave", accepted, ticket("dave", accepted).payload)
    at_ms = readable(broker)[-1].at_ms + 1
    body = encode_Record(Record(GAME, seq + 1, (ref,), at_ms=at_ms, rules="2", events=events, prev_hash=before))
    digest = ids.version_hash(before, b"", seq + 1, body)
    digest = bytes([digest[0] ^ spoilt]) + digest[1:]
    return await write(broker, GAME, encode_entry(Entry(claim, digest, body, seq + 1)))


def a_ticket(subject: str) -> bytes:
    created = wire.TicketCreated(f"of {subject}", (subject,), terms_id="none", seats=(4,), expires_ms=1 << 60)
    return wire.encode_event(created)


@pytest.mark.parametrize("spoil", ["unreadable", "unknown event", "wrong hash"])
async def test_a_quarantined_pool_is_told_of_and_put_back(spoil: str) -> None:
    broker = MemoryBroker()
    first = await owner(broker, "first")
    for name in ("alice", "bob"):
        await first.pools[GAME].act(ticket(name))
    whole = state(first.pools[GAME])
    await first.finish(1.0)
    if spoil == "unreadable":
        at = await write(broker, GAME, b"\xff nonsense")
    else:
        events = (UNKNOWN,) if spoil == "unknown event" else (a_ticket("dave"),)
        at = await write_entry(broker, events, accepted="dave-1", spoilt=spoil == "wrong hash")
        await write_entry(broker, (a_ticket("erin"),), accepted="erin-1")
    passed_over = 0 if spoil == "unreadable" else 2
    second = await owner(broker, "second")
    hosted = second.pools[GAME]
    assert hosted.damaged and (hosted.damaged_at, hosted.whole, hosted.passed_over) == (at, 2, passed_over)
    for attempt in (hosted.act(ticket("carol")), hosted.read(len)):
        with pytest.raises(Failure, match="GAME_QUARANTINED"):
            await attempt
    before = len(broker.events[TOPIC][0])
    assert await hosted.repair(order(validate_only=True)) == (2 + passed_over, 2)
    assert hosted.damaged and len(broker.events[TOPIC][0]) == before, "only checked"
    assert await hosted.repair(order()) == (3 + passed_over, 2)
    assert not hosted.damaged and sorted(hosted.pool.ticket_of) == ["alice", "bob"]
    assert await hosted.repair(order()) == (3 + passed_over, None), "sent again"
    with pytest.raises(Failure, match="COMMAND_ID_REUSED"):
        await hosted.repair(order(why="another reason"))
    with pytest.raises(Failure, match="POOL_NOT_QUARANTINED"):
        await hosted.repair(order("again"))
    with pytest.raises(Failure, match="ALREADY_WAITING"):
        await hosted.act(ticket("alice", "again"))
    await hosted.act(ticket("alice"))  # a retry: known from before
    await hosted.act(ticket("carol"))
    if passed_over:
        await hosted.act(ticket("dave"))  # what was accepted stays known, though it is undone
        assert sorted(hosted.pool.ticket_of) == ["alice", "bob", "carol"]
    [mended] = [each for each in readable(broker) if each.commands and each.commands[0].subject == "olga"]
    assert wire.decode_event(mended.events[0]) == wire.PoolRestored("a disk went bad", 2)
    third = await owner(broker, "third")
    assert state(third.pools[GAME]) == state(hosted) != whole and third.pools[GAME].accepted == hosted.accepted
    await third.store_states()
    fourth = await owner(broker, "fourth")
    assert fourth.pools[GAME].kept_seq == 4 + passed_over and state(fourth.pools[GAME]) == state(hosted)
    for partition in (second, third, fourth):
        await partition.finish(1.0)


async def test_a_restart_does_not_lift_it_and_a_right_version_does(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = MemoryBroker()
    first = await owner(broker, "first")
    await first.pools[GAME].act(ticket("alice"))
    await first.finish(1.0)
    await write_entry(broker, (UNKNOWN,), accepted="dave-1")
    second = await owner(broker, "second")
    assert second.pools[GAME].damaged
    know_better(monkeypatch)
    third = await owner(broker, "third")
    assert not third.pools[GAME].damaged and "dave" in third.pools[GAME].pool.ticket_of
    for partition in (second, third):
        await partition.finish(1.0)


def know_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on the program is one that knows the event."""
    decode = hosted_pool.decode_event

    def newer(data: bytes) -> object:
        return decode(a_ticket("dave") if data == UNKNOWN else data)

    monkeypatch.setattr(hosted_pool, "decode_event", newer)


async def test_whoever_can_fold_what_did_not_happen_ends_in_the_same_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of a newer version learns of the repair behind what it has folded."""
    broker = MemoryBroker()
    first = await owner(broker, "first")
    await first.pools[GAME].act(ticket("alice"))
    await first.store_states()
    await first.finish(1.0)
    await write_entry(broker, (UNKNOWN,), accepted="dave-1")
    second = await owner(broker, "second")
    await second.pools[GAME].repair(order())
    await second.pools[GAME].act(ticket("bob"))
    know_better(monkeypatch)
    third = await owner(broker, "third")
    assert state(third.pools[GAME]) == state(second.pools[GAME]) and not third.pools[GAME].damaged
    assert sorted(third.pools[GAME].pool.ticket_of) == ["alice", "bob"]
    await third.pools[GAME].act(ticket("carol"))
    for partition in (second, third):
        await partition.finish(1.0)


async def test_whoever_folds_again_stands_where_its_writer_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the owner of now goes on meanwhile."""
    broker = MemoryBroker()
    first = await owner(broker, "first")
    await first.pools[GAME].act(ticket("alice"))
    await first.finish(1.0)
    await write_entry(broker, (UNKNOWN,), accepted="dave-1")
    second = await owner(broker, "second")
    await second.pools[GAME].repair(order())
    know_better(monkeypatch)
    meanwhile = StoresMeanwhile(second, "events")
    store = await open_store(broker.log(meanwhile), "matchmaking", 1)
    third = PoolPartition([HOUSE], store, 0, Claim("third", "third:1"), lambda *_: None, [])
    await third.fold()
    assert third.pools[GAME].seq == third.writer.last_seq(GAME)
    meanwhile.most = 0
    await third.writer.claim()
    assert not third.pools[GAME].damaged
    for partition in (second, third):
        await partition.finish(1.0)


async def test_whoever_stands_by_with_a_newer_version_folds_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its writer ends, so that its tenure makes a new partition."""
    broker = MemoryBroker()
    first = await owner(broker, "first")
    await first.pools[GAME].act(ticket("alice"))
    await write_entry(broker, (UNKNOWN,), accepted="dave-1")
    second = await owner(broker, "second")
    know_better(monkeypatch)
    third = await owner(broker, "third")
    assert "dave" in third.pools[GAME].pool.ticket_of
    monkeypatch.undo()
    await second.writer.claim()
    await second.pools[GAME].repair(order())
    know_better(monkeypatch)
    await third.writer.ended()
    assert third.writer.failure is not None
    again = await owner(broker, "third")
    assert state(again.pools[GAME]) == state(second.pools[GAME])
    for partition in (first, second, again):
        await partition.finish(1.0)


async def test_an_offer_that_nobody_could_confirm_lapses_and_no_one_loses_its_place() -> None:
    broker = MemoryBroker()
    first = await owner(broker, "first")
    hosted = first.pools[GAME]
    for name in ("alice", "bob"):
        await hosted.act(ticket(name, seats=(2,)))
    await until_offered(hosted)
    waited = {each.ticket_id: each.age for each in hosted.pool.tickets.values()}
    await write(broker, GAME, b"\xff nonsense")
    second = await owner(broker, "second")
    mended = second.pools[GAME]
    await mended.repair(order())
    [open_offer] = mended.pool.offers.values()
    late = wire.ConfirmOfferRequest("late", GAME, open_offer.offer_id)
    with pytest.raises(Failure, match="OFFER_OVER"):
        await mended.act(Asked("alice", "late", payload_hash("ConfirmOffer", b"late"), late))
    async with asyncio.timeout(20.0):
        while open_offer.offer_id in await mended.at_rest(lambda: list(mended.pool.offers)):
            await mended.news.wait()
    events = [[type(wire.decode_event(event)) for event in record.events] for record in readable(broker)[-2:]]
    assert events[0] == [wire.PoolRestored] and events[1][0] == wire.OfferLapsed
    assert wire.TicketEnded not in events[1] and not mended.pool.missed
    assert {each.ticket_id: each.age for each in mended.pool.tickets.values()} == waited
    await until_offered(mended)  # they are matched again
    for partition in (first, second):
        await partition.finish(1.0)


class Away(Faults):
    """While it is away, entries wait; then they are written, or lost."""

    def __init__(self, lost: bool) -> None:
        self.lost = lost
        self.asked = asyncio.Event()
        self.back = asyncio.Event()
        self.back.set()

    async def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducerRecord],
        write: Callable[[ProducerRecord], AppendOutcome],
    ) -> Sequence[AppendOutcome]:
        if not self.back.is_set():
            self.asked.set()
            await self.back.wait()
            if self.lost:
                return [Doubt("lost")] * len(records)
        return [write(record) for record in records]


def confirmation(subject: str, offer_id: str) -> Asked:
    request = wire.ConfirmOfferRequest(f"{subject} confirms", GAME, offer_id)
    return Asked(subject, request.command_id, payload_hash("ConfirmOffer", offer_id.encode()), request)


class Clock:
    """The pool's, which stands still from here on unless it is told otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ms = hosted_pool.clock.now_ms()
        monkeypatch.setattr(hosted_pool.clock, "now_ms", lambda: self.now_ms)


@pytest.mark.parametrize("lost", [False, True])
async def test_an_outage_is_nobodys_fault_and_no_one_loses_its_place(
    monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    """Both confirm in time, but the log is away for longer than the offer."""
    broker, faults = MemoryBroker(), Away(lost)
    partition = await owner(broker, "first", faults)
    hosted = partition.pools[GAME]
    for name in ("alice", "bob"):
        await hosted.act(ticket(name, seats=(2,)))
    await until_offered(hosted)
    waited = {each.ticket_id: each.age for each in hosted.pool.tickets.values()}
    [offer_id] = hosted.pool.offers
    clock = Clock(monkeypatch)
    faults.back.clear()
    alice = asyncio.create_task(hosted.act(confirmation("alice", offer_id)))
    await faults.asked.wait()
    bob = asyncio.create_task(hosted.act(confirmation("bob", offer_id)))
    await asyncio.sleep(0)
    clock.now_ms += 40_000
    faults.back.set()
    answers = await asyncio.gather(alice, bob, return_exceptions=True)
    assert [isinstance(answer, Failure) and answer.reason for answer in answers] == [
        lost and "OFFER_OVER",
        "OFFER_OVER",
    ]
    async with asyncio.timeout(20.0):
        while offer_id in await hosted.at_rest(lambda: list(hosted.pool.offers)):
            await hosted.news.wait()
    assert await hosted.at_rest(lambda: {each.ticket_id: each.age for each in hosted.pool.tickets.values()}) == waited
    assert await hosted.at_rest(lambda: not hosted.pool.missed)
    second = await owner(broker, "second")
    assert len(second.pools[GAME].pool.tickets) == 2 and not second.pools[GAME].pool.missed
    for each in (partition, second):
        await each.finish(1.0)


@pytest.mark.parametrize("away_ms", [0, 20_000])
async def test_an_outage_counts_also_where_it_is_over_before_the_offer_is(
    monkeypatch: pytest.MonkeyPatch, away_ms: int
) -> None:
    """And a pool of which nothing is asked is not away."""
    broker, faults = MemoryBroker(), Away(lost=False)
    partition = await owner(broker, "first", faults)
    hosted = partition.pools[GAME]
    clock = Clock(monkeypatch)
    for name in ("alice", "bob"):
        await hosted.act(ticket(name, seats=(2,)))
    while not hosted.pool.offers:
        clock.now_ms += 10
        hosted.go()
        await hosted.confirm()
        await hosted.at_rest(lambda: None)
    [offer] = hosted.pool.offers.values()
    faults.back.clear()
    alice = asyncio.create_task(hosted.act(confirmation("alice", offer.offer_id)))
    await faults.asked.wait()
    clock.now_ms += away_ms
    faults.back.set()
    await alice
    clock.now_ms = offer.deadline_ms
    await hosted.act(ticket("carol"))
    bob_waits = await hosted.at_rest(lambda: "bob" in hosted.pool.ticket_of)
    assert bob_waits == bool(away_ms) == (not hosted.pool.missed)
    await partition.finish(1.0)


async def test_who_takes_a_pool_over_blames_nobody_for_what_was_before(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = MemoryBroker()
    first = await owner(broker, "first")
    for name in ("alice", "bob"):
        await first.pools[GAME].act(ticket(name, seats=(2,)))
    await until_offered(first.pools[GAME])
    [offer] = first.pools[GAME].pool.offers.values()
    clock = Clock(monkeypatch)
    clock.now_ms += 10_000
    second = await owner(broker, "second")
    clock.now_ms = offer.deadline_ms
    hosted = second.pools[GAME]
    await hosted.act(ticket("carol"))
    assert await hosted.at_rest(lambda: len(hosted.pool.tickets)) == 3
    for partition in (first, second):
        await partition.finish(1.0)


async def test_how_long_players_wait_for_their_game_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = await owner(MemoryBroker(), "first")
    hosted = partition.pools[GAME]
    assert hosted.unmade_seconds() == 0
    game_id = await agreed(hosted, "bob")
    offer = hosted.pool.offers[hosted.pool.starting[game_id]]
    clock = Clock(monkeypatch)
    clock.now_ms = offer.accepted_ms + 31_000
    assert hosted.unmade_seconds() == 31
    assert await tell(hosted, "game", GameMade(offer.offer_id))
    assert hosted.unmade_seconds() == 0
    await partition.finish(1.0)


async def test_so_many_offers_may_be_open_that_their_end_is_more_than_one_entry() -> None:
    broker = MemoryBroker()
    first = await owner(broker, "first")
    await first.pools[GAME].act(ticket("alice"))
    await first.finish(1.0)
    made = [
        wire.OfferMade(f"o{number}", subjects=(f"s{number}",), terms_id="none", deadline_ms=1 << 60)
        for number in range(3 * MOST_TIMERS)
    ]
    await write_entry(broker, tuple(map(wire.encode_event, made)), accepted="dave-1")
    await write(broker, GAME, b"\xff nonsense")
    second = await owner(broker, "second")
    hosted = second.pools[GAME]
    assert hosted.damaged and len(hosted.pool.offers) == 3 * MOST_TIMERS
    await hosted.repair(order())
    async with asyncio.timeout(20.0):
        while await hosted.at_rest(lambda: bool(hosted.pool.offers)):
            await hosted.news.wait()
    ends = [[decode_kind(event) for event in record.events].count(wire.OfferLapsed) for record in readable(broker)]
    assert sum(ends) == 3 * MOST_TIMERS and max(ends) == MOST_TIMERS
    third = await owner(broker, "third")
    assert state(third.pools[GAME]) == state(hosted)
    for partition in (second, third):
        await partition.finish(1.0)


def decode_kind(event: bytes) -> type:
    return type(wire.decode_event(event))


async def test_a_pool_is_put_back_to_nothing_where_its_first_record_is_lost() -> None:
    broker = MemoryBroker()
    first = await owner(broker, "first")
    await first.finish(1.0)
    await write(broker, GAME, b"\xff nonsense")
    second = await owner(broker, "second")
    assert await second.pools[GAME].repair(order()) == (1, 0)
    assert await second.pools[GAME].repair(order()) == (1, None), "sent again"
    await second.finish(1.0)


@pytest.mark.parametrize("made", [True, False])
async def test_what_became_of_a_game_is_told_again_where_the_pool_was_put_back_behind_it(made: bool) -> None:
    """The versions that did not happen held the hall's own command, under the id under which it comes again."""
    broker = MemoryBroker()
    first = await owner(broker, "first")
    game_id = await agreed(first.pools[GAME], "bob")
    offer_id = first.pools[GAME].pool.starting[game_id]
    await first.finish(1.0)
    command = GameMade(offer_id) if made else CreationRefused(offer_id, "UNKNOWN_OPTION")
    await write_entry(broker, (UNKNOWN,), ref=of_the_hall(f"game:{offer_id}", command))
    second = await owner(broker, "second")
    hosted = second.pools[GAME]
    await hosted.repair(order())
    assert list(hosted.pool.starting) == [game_id]
    assert await tell(hosted, f"game:{offer_id}", command)
    assert not hosted.pool.starting and list(hosted.pool.games) == [game_id] * made
    records = len(readable(broker))
    assert await tell(hosted, f"game:{offer_id}", command), "told once more"
    assert len(readable(broker)) == records
    third = await owner(broker, "third")
    assert state(third.pools[GAME]) == state(hosted) and third.pools[GAME].accepted == hosted.accepted
    for partition in (second, third):
        await partition.finish(1.0)


def of_the_hall(command_id: str, command: Any) -> CommandRef:
    return CommandRef(MATCHMAKER, command_id, payload_hash(type(command).__name__, repr(command).encode()))


@pytest.mark.parametrize("from_offset", [0, 1])
async def test_results_that_did_not_happen_are_taken_in_again(from_offset: int) -> None:
    """Under the id under which they were: with the same beginning, or another one."""
    broker = MemoryBroker()
    first = await owner(broker, "first")
    game_id = await agreed(first.pools[GAME], "bob")
    assert await tell(first.pools[GAME], "game", GameMade(first.pools[GAME].pool.starting[game_id]))
    await first.finish(1.0)
    await end(broker, [game_id])
    results = (Result(game_id, EndReason.FINISHED, (1, 2), 5),)
    command = TakeResults(0, from_offset, 2, 0, results, ())
    await write_entry(broker, (UNKNOWN,), ref=of_the_hall("results:0:2", command))
    second = await owner(broker, "second")
    hosted = second.pools[GAME]
    await hosted.repair(order())
    assert list(hosted.pool.games) == [game_id]
    await taken(broker, hosted, left=0)
    assert hosted.pool.positions[0] == (2, 0)
    await second.finish(1.0)


async def until_offered(hosted: HostedPool) -> None:
    while not await hosted.at_rest(lambda: bool(hosted.pool.offers)):
        await hosted.news.wait()


async def test_results_are_read_again_from_where_the_pool_is_put_back() -> None:
    """What the readers of results have passed over since is read once more."""
    broker = MemoryBroker()
    first = await owner(broker, "first")
    await first.pools[GAME].act(ticket("alice"))
    await first.finish(1.0)
    await write_entry(broker, (UNKNOWN,), accepted="dave-1")
    second = await owner(broker, "second")
    hosted = second.pools[GAME]
    begun: list[int] = []

    async def attend(pool: HostedPool) -> None:
        begun.append(len(pool.readers))
        pool.readers[0] = b"behind"
        await pool.confirm()
        await asyncio.Event().wait()

    second._attend = [attend]
    second._owner_changed(second.writer.position.newest_claim, second.writer.owner)
    while not begun:
        await hosted.confirm()
    await hosted.repair(order())
    while len(begun) < 2:
        await hosted.confirm()
    assert begun == [0, 0]
    await second.finish(1.0)


async def test_a_good_entry_behind_one_that_cannot_be_read_lifts_it() -> None:
    """It shows that nothing is missing."""
    broker = MemoryBroker()
    first = await owner(broker, "first")
    await first.pools[GAME].act(ticket("alice"))
    await write(broker, GAME, b"\xff nonsense")
    await write_entry(broker, (), accepted="dave-1")
    second = await owner(broker, "second")
    assert not second.pools[GAME].damaged
    await second.pools[GAME].act(ticket("bob"))
    assert sorted(second.pools[GAME].pool.ticket_of) == ["alice", "bob"]
    for partition in (first, second):
        await partition.finish(1.0)
