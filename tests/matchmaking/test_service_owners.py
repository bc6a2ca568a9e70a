"""What a pool makes of its log and of other owners, over a memory log that misbehaves on command."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest
import structlog

from guildhall.cli.pool_log import MatchmakingBook
from guildhall.host import clock
from guildhall.host.failures import shutting_down
from guildhall.kernel import ids
from guildhall.kernel.v1.structs import CommandRef, Record, decode_Record
from guildhall.log.errors import LogError, LogUnavailable
from guildhall.log.memory import Faults, MemoryBroker
from guildhall.log.port import Appended, AppendOutcome, Claim, Doubt, Entry, ProducerRecord, TooLarge
from guildhall.log.recovery import open_store
from guildhall.log.snapshots import checkpoint_key, snapshot_key
from guildhall.log.values import decode
from guildhall.matchmaking.v1 import matchmaking_service_pb2
from guildhall.matchmaking.v1 import structs as wire
from guildhall.rpc.errors import Failure
from guildhall.rpc.forwarding import Elsewhere
from guildhall.rpc.identity import Caller
from guildhall.telemetry import logs, metrics
from services.matchmaking import hosted_pool, stored
from services.matchmaking import service as service_module
from services.matchmaking.accepted import EXPIRED_MS, LONGEST_STEP_MS, REMEMBERED_MS, Accepted, payload_hash
from services.matchmaking.guesses import BURST
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.judging import GROUP, Asked
from services.matchmaking.pool import SCHEMA, Pool, snapshot
from services.matchmaking.pool_partition import PoolPartition
from services.matchmaking.service import MatchmakingService
from services.matchmaking.watching import Told, Watch
from tests.log.late_reports import LateReports
from tests.matchmaking.hall import GAME, HOUSE

TOPIC = "guildhall.matchmaking.events"

T = TypeVar("T")


async def owner(broker: MemoryBroker, instance: str, faults: Faults | None = None) -> PoolPartition:
    """A partition that is folded and claimed."""
    store = await open_store(broker.log(faults), "matchmaking", 1)
    partition = PoolPartition([HOUSE], store, 0, Claim(instance, f"{instance}:1"), lambda *_: None, [])
    await partition.fold()
    await partition.writer.claim()
    return partition


def ticket(subject: str, command_id: str = "", **fields: Any) -> Asked:
    """A subject enters the queue, alone."""
    request = wire.CreateTicketRequest(command_id=command_id or f"{subject}-1", game=GAME, **{"seats": (4,), **fields})
    payload = payload_hash("CreateTicket", wire.encode_CreateTicketRequest(request))
    return Asked(subject, request.command_id, payload, request, request.validate_only)


def entries(broker: MemoryBroker) -> list[Record]:
    """What the log holds, claims aside."""
    values = [decode(record.value) for record in broker.events[TOPIC][0]]
    return [decode_Record(value.body) for value in values if isinstance(value, Entry)]


def state(hosted: HostedPool) -> bytes:
    return snapshot(hosted.pool)


async def test_many_commands_make_few_entries() -> None:
    broker = MemoryBroker()
    partition = await owner(broker, "first")
    hosted = partition.pools[GAME]
    count = 3 * GROUP
    await asyncio.gather(*(hosted.act(ticket(f"player {n}", seats=(2,))) for n in range(count)))
    held = entries(broker)
    accepted = [command.subject for record in held for command in record.commands]
    assert sorted(accepted) == sorted(f"player {n}" for n in range(count))
    assert [record.seq for record in held] == list(range(1, len(held) + 1)) and len(held) <= 8
    assert max(len(record.commands) for record in held) == GROUP
    await partition.finish(1.0)


async def test_commands_soon_after_an_entry_share_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosted_pool, "GATHER_SECONDS", 1.0)
    broker = MemoryBroker()
    partition = await owner(broker, "first")
    hosted = partition.pools[GAME]
    await hosted.act(ticket("alice"))
    bob = asyncio.create_task(hosted.act(ticket("bob", seats=(3,))))
    await asyncio.sleep(0.05)
    await hosted.act(ticket("carol", seats=(2,)))
    await bob
    subjects = [[command.subject for command in record.commands] for record in entries(broker)]
    assert subjects == [["alice"], ["bob", "carol"]]
    await partition.finish(1.0)


async def test_a_full_entry_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosted_pool, "GATHER_SECONDS", 1_000.0)
    broker = MemoryBroker()
    partition = await owner(broker, "first")
    hosted = partition.pools[GAME]
    async with asyncio.timeout(30.0):
        await hosted.act(party("alice"))
        await asyncio.gather(*(hosted.act(party(f"friend {n}")) for n in range(GROUP)))
    assert [len(record.commands) for record in entries(broker)] == [1, GROUP]
    await partition.finish(1.0)


async def test_a_command_is_accepted_once() -> None:
    broker = MemoryBroker()
    partition = await owner(broker, "first")
    hosted = partition.pools[GAME]
    await asyncio.gather(*(hosted.act(ticket("alice")) for _ in range(20)))
    await hosted.act(ticket("alice"))
    with pytest.raises(Failure, match="COMMAND_ID_REUSED"):
        await hosted.act(ticket("alice", seats=(3,)))
    together = await asyncio.gather(
        hosted.act(ticket("bob")), hosted.act(ticket("bob", seats=(3,))), return_exceptions=True
    )
    assert together[0] is None and isinstance(together[1], Failure) and together[1].reason == "COMMAND_ID_REUSED"
    assert [[command.subject for command in record.commands] for record in entries(broker)] == [["alice"], ["bob"]]
    await partition.finish(1.0)


async def test_what_is_refused_or_only_validated_leaves_no_record() -> None:
    broker = MemoryBroker()
    partition = await owner(broker, "first")
    hosted = partition.pools[GAME]
    await hosted.act(ticket("alice"))
    before = state(hosted)
    for asked, reason in (
        (ticket("alice", "again"), "ALREADY_WAITING"),
        (ticket("bob", seats=(99,)), "INVALID_SEATS"),
        (ticket("bot/random/1"), "BOTS_DO_NOT_QUEUE"),
    ):
        with pytest.raises(Failure, match=reason):
            await hosted.act(asked)
    await hosted.act(ticket("bob", validate_only=True))
    assert state(hosted) == before and len(entries(broker)) == 1
    await hosted.act(ticket("bob"))
    assert len(entries(broker)) == 2
    await partition.finish(1.0)


async def test_reads_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosted_pool, "MAX_READING", 3)
    partition = await owner(MemoryBroker(), "first")
    hosted = partition.pools[GAME]
    reads = (hosted.read(lambda pool: len(pool.tickets)) for _ in range(5))
    answers = await asyncio.gather(*reads, return_exceptions=True)
    assert answers[:3] == [0, 0, 0]
    assert [isinstance(answer, Failure) and answer.reason for answer in answers[3:]] == ["GAME_BUSY", "GAME_BUSY"]
    assert await hosted.read(lambda pool: len(pool.tickets)) == 0
    await partition.finish(1.0)


async def test_the_next_owner_folds_the_same_pool_from_events_and_from_a_stored_state() -> None:
    broker = MemoryBroker()
    first = await owner(broker, "first")
    for name in ("alice", "bob", "carol"):
        await first.pools[GAME].act(ticket(name))
    whole = state(first.pools[GAME])
    second = await owner(broker, "second")
    assert state(second.pools[GAME]) == whole
    await second.store_states()
    await second.pools[GAME].act(ticket("dave", seats=(3,)))
    third = await owner(broker, "third")
    assert third.pools[GAME].kept_seq == 3 and third.pools[GAME].seq == 4
    assert state(third.pools[GAME]) == state(second.pools[GAME])
    await third.pools[GAME].act(ticket("alice"))  # known, also from the stored state
    with pytest.raises(Failure, match="COMMAND_ID_REUSED"):
        await third.pools[GAME].act(ticket("bob", seats=(2,)))
    with pytest.raises(Elsewhere):
        await second.pools[GAME].act(ticket("erin"))
    for partition in (first, second, third):
        await partition.finish(1.0)


async def test_what_the_next_owner_added_to_an_entry_in_doubt() -> None:
    """An owner that was cut off learns at once that its entry counts, of another's claim, and of the next entry."""
    broker, faults = MemoryBroker(), LateReports()
    first = await owner(broker, "first", faults)
    hosted = first.pools[GAME]
    await hosted.act(ticket("alice"))
    faults.held = True
    asked = asyncio.create_task(hosted.act(ticket("bob")))
    await faults.written.wait()
    second = await owner(broker, "second")
    await second.pools[GAME].act(ticket("carol"))
    faults.held = False
    faults.given_up.set()
    await asked
    await first.writer.stood_down()
    assert state(hosted) == state(second.pools[GAME])
    assert len(second.pools[GAME].pool.tickets) == 3
    for partition in (first, second):
        await partition.finish(1.0)


class Lost(Faults):
    """While `losing`, entries are lost without a report."""

    def __init__(self) -> None:
        self.losing = False
        self.lost = asyncio.Event()

    async def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducerRecord],
        write: Callable[[ProducerRecord], AppendOutcome],
    ) -> Sequence[AppendOutcome]:
        if self.losing and any(record.key for record in records):
            self.lost.set()
            return [Doubt("lost")] * len(records)
        return [write(record) for record in records]


async def test_an_entry_that_was_lost_is_judged_again() -> None:
    """The owner claims again, takes back what was not in the log, and the same commands make a new entry."""
    broker, faults = MemoryBroker(), Lost()
    partition = await owner(broker, "first", faults)
    hosted = partition.pools[GAME]
    await hosted.act(ticket("alice"))
    faults.losing = True
    asked = [asyncio.create_task(hosted.act(ticket(name))) for name in ("bob", "carol")]
    refused = asyncio.create_task(hosted.act(ticket("alice", "again")))
    await faults.lost.wait()
    faults.losing = False
    await asyncio.gather(*asked)
    with pytest.raises(Failure, match="ALREADY_WAITING"):
        await refused
    assert sorted(hosted.pool.ticket_of) == ["alice", "bob", "carol"]
    again = await owner(broker, "second")
    assert state(again.pools[GAME]) == state(hosted)
    for each in (partition, again):
        await each.finish(1.0)


async def test_an_entry_that_another_owner_came_before_is_not_told_as_accepted() -> None:
    """Lost, and then another owner takes the same subject's other ticket: the first owner sends its caller there."""
    broker, faults = MemoryBroker(), Lost()
    first = await owner(broker, "first", faults)
    faults.losing = True
    asked = asyncio.create_task(first.pools[GAME].act(ticket("alice")))
    await faults.lost.wait()
    second = await owner(broker, "second")
    await second.pools[GAME].act(ticket("alice", "other", seats=(3,)))
    with pytest.raises(Elsewhere):
        await asked
    await first.writer.stood_down()
    assert state(first.pools[GAME]) == state(second.pools[GAME])
    for each in (first, second):
        await each.finish(1.0)


async def test_reads_wait_for_what_is_in_flight() -> None:
    broker, faults = MemoryBroker(), LateReports()
    partition = await owner(broker, "first", faults)
    hosted = partition.pools[GAME]
    faults.held = True
    asked = asyncio.create_task(hosted.act(ticket("alice")))
    await faults.written.wait()
    read = asyncio.create_task(hosted.read(lambda pool: len(pool.tickets)))
    await asyncio.sleep(0.05)
    assert not read.done()
    faults.held = False
    faults.given_up.set()
    assert await read == 1
    await asked
    await partition.finish(1.0)


async def test_a_damaged_record_stops_its_pool_alone() -> None:
    broker = MemoryBroker()
    first = await owner(broker, "first")
    await first.pools[GAME].act(ticket("alice"))
    await first.finish(1.0)
    log = broker.log(None)
    topic = await log.events(TOPIC, 1)
    [outcome] = await topic.append(0, [ProducerRecord(GAME, b"\xff nonsense")])
    assert isinstance(outcome, Appended)
    second = await owner(broker, "second")
    with pytest.raises(Failure, match="GAME_QUARANTINED"):
        await second.pools[GAME].act(ticket("bob"))
    with pytest.raises(Failure, match="GAME_QUARANTINED"):
        await second.pools[GAME].read(len)
    await second.finish(1.0)


async def test_ids_are_remembered_for_a_day_and_known_to_be_too_late_for_another() -> None:
    accepted = Accepted()
    asked = ticket("alice")
    command = CommandRef(asked.subject, asked.command_id, asked.payload)
    accepted.take([command], 1_000)
    go_by(accepted, 1_000, REMEMBERED_MS)
    assert accepted.holds("alice", asked.command_id, asked.payload, 1_000 + REMEMBERED_MS)
    assert not accepted.holds("bob", asked.command_id, asked.payload, 1_000 + REMEMBERED_MS)
    with pytest.raises(Failure, match="COMMAND_ID_REUSED"):
        accepted.holds("alice", asked.command_id, bytes(32), 1_000 + REMEMBERED_MS)
    with pytest.raises(Failure, match="COMMAND_ID_EXPIRED"):
        accepted.holds("alice", asked.command_id, asked.payload, 1_001 + REMEMBERED_MS)
    again = Accepted(accepted.kept())
    assert again.kept() == accepted.kept()
    go_by(accepted, 1_000 + REMEMBERED_MS, EXPIRED_MS)
    assert len(accepted) == 1
    assert not accepted.holds("alice", asked.command_id, asked.payload, 1_001 + REMEMBERED_MS + EXPIRED_MS)
    accepted.take([command], 1_001 + REMEMBERED_MS + EXPIRED_MS)  # new, and the old one goes
    assert len(accepted) == 1
    assert accepted.holds("alice", asked.command_id, asked.payload, 1_001 + REMEMBERED_MS + EXPIRED_MS)
    assert Accepted(accepted.kept()).kept() == accepted.kept()
    for spoilt in (b"x", accepted.kept()[:-1]):
        with pytest.raises(ValueError):
            Accepted(spoilt)


def go_by(accepted: Accepted, at_ms: int, ms: int) -> None:
    """Entries come, no further apart than counts."""
    for later in range(0, ms, LONGEST_STEP_MS):
        accepted.take([], at_ms + later)
    accepted.take([], at_ms + ms)


async def test_an_entry_that_is_dated_far_ahead_has_no_id_forgotten() -> None:
    accepted = Accepted()
    asked = ticket("alice")
    accepted.take([CommandRef(asked.subject, asked.command_id, asked.payload)], 1_000)
    year_ms = 365 * REMEMBERED_MS
    accepted.take([], year_ms)
    assert accepted.holds("alice", asked.command_id, asked.payload, year_ms)
    go_by(accepted, year_ms, REMEMBERED_MS + LONGEST_STEP_MS)
    with pytest.raises(Failure, match="COMMAND_ID_EXPIRED"):
        accepted.holds("alice", asked.command_id, asked.payload, year_ms + REMEMBERED_MS + LONGEST_STEP_MS)


async def test_an_owner_whose_clock_was_ahead_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = MemoryBroker()
    first = await owner(broker, "first")
    right = clock.now_ms
    with monkeypatch.context() as ahead:
        ahead.setattr(clock, "now_ms", lambda: right() + 3_600_000)
        await first.pools[GAME].act(ticket("zed"))
    second = await owner(broker, "second")
    hosted = second.pools[GAME]
    async with asyncio.timeout(20.0):
        for number in range(3):
            names = [f"{name} {number}" for name in ("alice", "bob")]
            for name in names:
                await hosted.act(ticket(name, seats=(2,)))
            while not all(hosted.pool.tickets[hosted.pool.ticket_of[name]].offer_id for name in names):
                await hosted.news.wait()
    assert hosted.pool.at_ms > right() + 3_000_000
    for each in (first, second):
        await each.finish(1.0)


class FirstTooLarge(Faults):
    """The first entry is too large for the log."""

    def __init__(self) -> None:
        self.refused = False

    async def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducerRecord],
        write: Callable[[ProducerRecord], AppendOutcome],
    ) -> Sequence[AppendOutcome]:
        if not self.refused and any(record.key == GAME for record in records):
            self.refused = True
            return [TooLarge(1)] * len(records)
        return [write(record) for record in records]


def party(subject: str) -> Asked:
    """A subject founds a party."""
    request = wire.CreatePartyRequest(command_id=f"{subject}-party", game=GAME)
    return Asked(subject, request.command_id, payload_hash("CreateParty", b""), request)


async def test_whoever_waits_behind_an_entry_that_is_too_large_is_judged_next() -> None:
    broker = MemoryBroker()
    partition = await owner(broker, "first", FirstTooLarge())
    hosted = partition.pools[GAME]
    async with asyncio.timeout(20.0):
        asked = [hosted.act(party(f"player {n}")) for n in range(GROUP + 2)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(each, Failure) and each.reason == "RULES_FAILED" for each in answers[:GROUP])
    assert answers[GROUP:] == [None, None]
    await partition.finish(1.0)


class LeavesMeanwhile:
    """An owner that stands down while a request confirms that it does not."""

    serving = True

    @property
    def writer(self) -> Any:
        return self

    async def confirm(self) -> None:
        self.serving = False

    def failed(self, error: LogError) -> Failure:
        raise AssertionError(error)

    def left(self) -> Failure:
        return Elsewhere("matchmaking/0", None)


async def test_no_stream_begins_where_the_pool_is_served_no_more() -> None:
    caller = Caller("alice", frozenset({"play"}), time.time() + 600.0)
    messages = Watch(HostedPool(LeavesMeanwhile(), HOUSE), caller, lambda pool: Told(snapshot(pool))).messages()
    with pytest.raises(Elsewhere):
        await anext(messages)


class Here:
    """A host with one pool."""

    def __init__(self, hosted: HostedPool) -> None:
        self._hosted = hosted

    def pool(self, game: str) -> HostedPool:
        return self._hosted


async def test_a_stream_ends_with_its_token_also_while_everything_changes() -> None:
    partition = await owner(MemoryBroker(), "first")
    numbers: list[int] = []

    def tell(_: Pool) -> Told:
        watch.hear()
        numbers.append(len(numbers))
        return Told(b"%d" % len(numbers))

    watch = Watch(partition.pools[GAME], Caller("alice", frozenset(["play"]), time.time() + 0.5), tell)
    with pytest.raises(Failure, match="TOKEN_EXPIRED"):
        async with asyncio.timeout(20.0):
            async for _ in watch.messages():
                assert len(numbers) < 100
    assert len(numbers) > 1
    await partition.finish(1.0)


async def test_what_there_is_to_tell_is_told_before_a_stream_ends() -> None:
    partition = await owner(MemoryBroker(), "first")
    hosted = partition.pools[GAME]
    watch = Watch(hosted, Caller("alice", frozenset({"play"}), time.time() + 600.0), lambda pool: Told(snapshot(pool)))
    messages = watch.messages()
    before = await anext(messages)
    await hosted.act(ticket("alice"))
    watch.end(shutting_down())
    assert await anext(messages) == state(hosted) != before
    watch.hear()  # but no more than that, however much comes
    with pytest.raises(Failure, match="SHUTTING_DOWN"):
        await anext(messages)
    await partition.finish(1.0)


async def test_terms_of_thousands_of_options_are_not_read() -> None:
    partition = await owner(MemoryBroker(), "first")
    service: Any = MatchmakingService(Here(partition.pools[GAME]), b"page key")
    request = matchmaking_service_pb2.CreateTicketRequest(command_id="many", game=GAME, validate_only=True)
    for number in range(7_000):
        request.terms.options[f"{number:x}"] = ""
    with pytest.raises(Failure, match="MALFORMED_MESSAGE") as caught:
        await service.create_ticket(request.SerializeToString(), Caller("mallory", frozenset({"play"}), 1e12), None)
    assert caught.value.field == "terms.options"
    await partition.finish(1.0)


async def test_a_guess_without_an_answer_is_not_taken_for_a_right_one() -> None:
    partition = await owner(MemoryBroker(), "first")
    service: Any = MatchmakingService(Here(partition.pools[GAME]), b"page key")
    caller = Caller("mallory", frozenset({"play"}), time.time() + 600.0)

    def guess(number: int) -> "asyncio.Task[bytes]":
        request = wire.JoinPartyRequest(f"guess {number}", GAME, f"code {number}")
        return asyncio.create_task(service.join_party(wire.encode_JoinPartyRequest(request), caller, None))

    for number in range(BURST):
        asked = guess(number)
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait([asked])
        assert asked.cancelled()
    with pytest.raises(Failure, match="RATE_LIMITED"):
        await guess(BURST)
    await partition.finish(1.0)


class Slow(Faults):
    """While `quick` is not set, entries are on their way."""

    def __init__(self) -> None:
        self.quick = asyncio.Event()
        self.quick.set()

    async def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducerRecord],
        write: Callable[[ProducerRecord], AppendOutcome],
    ) -> Sequence[AppendOutcome]:
        await self.quick.wait()
        return [write(record) for record in records]


async def test_a_write_without_an_outcome_in_time_is_told_so_and_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "LONGEST_WAIT", 0.2)
    faults = Slow()
    partition = await owner(MemoryBroker(), "first", faults)
    hosted = partition.pools[GAME]
    service: Any = MatchmakingService(Here(hosted), b"page key")

    async def create(subject: str, command_id: str) -> str:
        request = wire.encode_CreateTicketRequest(wire.CreateTicketRequest(command_id, GAME, seats=(4,)))
        answer = await service.create_ticket(request, Caller(subject, frozenset({"play"}), time.time() + 600.0), None)
        return wire.decode_CreateTicketResponse(answer).ticket_id

    faults.quick.clear()
    outcomes = await asyncio.gather(create("alice", "in flight"), create("bob", "too"), return_exceptions=True)
    # Nobody has judged this one, and nobody will: whoever asked has been told.
    outcomes.append(*await asyncio.gather(create("carol", "behind"), return_exceptions=True))
    assert [isinstance(outcome, Failure) and outcome.reason for outcome in outcomes] == ["OUTCOME_UNKNOWN"] * 3
    faults.quick.set()
    for subject, command_id in (("alice", "in flight"), ("bob", "too"), ("carol", "behind")):
        made = await create(subject, command_id)
        assert hosted.pool.ticket_of[subject] == made == ids.game_id(subject, command_id)
    assert hosted.seq == 2  # of alice and bob; of carol
    await partition.finish(1.0)


class NoSnapshots(Faults):
    """Snapshots cannot be stored, from some time on."""

    failing = False

    async def request(self, topic: str, partition: int) -> None:
        if self.failing and topic.endswith("snapshots"):
            raise LogUnavailable("too large")


async def test_a_pool_that_cannot_be_stored_is_folded_from_its_events() -> None:
    """And the checkpoint is written all the same."""
    broker = MemoryBroker()
    faults = NoSnapshots()
    first = await owner(broker, "first", faults)
    faults.failing = True
    await first.pools[GAME].act(ticket("alice"))
    await first.store_states()
    store = await open_store(broker.log(), "matchmaking", 1)
    assert await store.checkpoints.get(0, checkpoint_key(0)) is not None
    second = await owner(broker, "second")
    assert state(second.pools[GAME]) == state(first.pools[GAME])
    for each in (first, second):
        await each.finish(1.0)


async def test_why_a_state_is_not_stored_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where there was no time for it: that error says nothing by itself."""
    logs.configure("json")
    partition = await owner(MemoryBroker(), "first")
    await partition.pools[GAME].act(ticket("alice"))
    await partition.store_all(0.0)
    await partition.finish(1.0)
    structlog.reset_defaults()
    [line] = [line for line in map(json.loads, capsys.readouterr().err.splitlines()) if "stored" in line["event"]]
    assert (line["event"], line["game"]) == ("a pool's state is not stored", GAME)
    assert line["why"] == "it took longer than 0 s"


async def test_a_pool_too_large_for_one_record_is_stored_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its next owner begins with them, and folds nothing again."""
    monkeypatch.setattr(stored, "PART_BYTES", 500)
    broker = MemoryBroker()
    first = await owner(broker, "first")
    for round in range(3):
        await asyncio.gather(*(first.pools[GAME].act(party(f"{round}.{number}")) for number in range(40)))
        await first.store_states()
    second = await owner(broker, "second")
    assert second.pools[GAME].kept_seq == second.pools[GAME].seq == first.pools[GAME].seq
    assert state(second.pools[GAME]) == state(first.pools[GAME])
    await second.pools[GAME].act(party("0.0"))  # known, from the stored state
    assert second.pools[GAME].seq == first.pools[GAME].seq
    for each in (first, second):
        await each.finish(1.0)


class SomeParts(Faults):
    """Takes so many more parts of stored states."""

    left = 10**6

    async def request(self, topic: str, partition: int) -> None:
        if topic.endswith("snapshots"):
            self.left -= 1
            if self.left < 0:
                raise LogUnavailable("away")


async def test_a_crash_while_parts_are_stored_leaves_the_state_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "PART_BYTES", 500)
    broker, faults = MemoryBroker(), SomeParts()
    first = await owner(broker, "first", faults)
    await asyncio.gather(*(first.pools[GAME].act(party(f"0.{number}")) for number in range(40)))
    await first.store_states()
    kept = first.pools[GAME].kept_seq
    await asyncio.gather(*(first.pools[GAME].act(party(f"1.{number}")) for number in range(40)))
    faults.left = 2
    await first.store_states()
    assert first.pools[GAME].kept_seq == kept < first.pools[GAME].seq
    second = await owner(broker, "second")
    assert second.pools[GAME].kept_seq == kept
    assert state(second.pools[GAME]) == state(first.pools[GAME])
    for each in (first, second):
        await each.finish(1.0)


class NamedInDoubt(Faults):
    """Nobody tells whether the record was put that names parts; later, parts themselves are not all taken."""

    key = snapshot_key(GAME, f"{SCHEMA}-{stored.FORMAT}")

    def __init__(self, broker: MemoryBroker, lost: bool) -> None:
        self.broker = broker
        self.lost = lost
        self.in_doubt = False
        self.left = 10**6

    async def ask(self, topic: str, partition: int, answer: Callable[[], T]) -> T:
        there = self.broker.compacted.get(topic, [{}])[partition]
        before, puts = there.get(self.key), self.broker.next_put
        answered = answer()
        self.left -= self.broker.next_put > puts
        if self.in_doubt and there.get(self.key) is not before:
            if self.lost and before is not None:
                there[self.key] = before
            raise LogUnavailable("no report")
        if self.left < 0 and topic.endswith("snapshots"):
            raise LogUnavailable("away")
        return answered


@pytest.mark.parametrize("lost", [False, True])
async def test_no_parts_are_written_over_that_may_be_those_of_the_stored_state(
    monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    monkeypatch.setattr(stored, "PART_BYTES", 500)
    broker = MemoryBroker()
    faults = NamedInDoubt(broker, lost)
    first = await owner(broker, "first", faults)
    hosted = first.pools[GAME]
    seqs = []
    for round in range(3):
        await asyncio.gather(*(hosted.act(party(f"{round}.{number}")) for number in range(40)))
        faults.in_doubt = round == 1
        faults.left = 2 if round == 2 else 10**6
        seqs.append(hosted.seq)
        await first.store_states()
    second = await owner(broker, "second")
    assert second.pools[GAME].kept_seq == seqs[0 if lost else 1]
    assert state(second.pools[GAME]) == state(hosted)
    for each in (first, second):
        await each.finish(1.0)


class StoresMeanwhile(Faults):
    """Before each of the first requests to such a topic, another owner goes on and stores its states."""

    def __init__(self, other: PoolPartition, kind: str) -> None:
        self.other = other
        self.kind = kind
        self.requests = 0
        self.most = 10
        """A scan goes on for as long as something comes."""

    async def request(self, topic: str, partition: int) -> None:
        self.requests += topic.endswith(self.kind)
        if not topic.endswith(self.kind) or self.requests > self.most:
            return
        hosted = self.other.pools[GAME]
        await asyncio.gather(*(hosted.act(party(f"{self.requests}.{number}")) for number in range(5)))
        await self.other.store_states()


@pytest.mark.parametrize("asked", ["checkpoints", "markers", "snapshots", "events"])
async def test_states_that_are_stored_while_another_folds_are_found_with_their_parts(
    monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setattr(stored, "PART_BYTES", 500)
    broker = MemoryBroker()
    first = await owner(broker, "first")
    await asyncio.gather(*(first.pools[GAME].act(party(f"0.{number}")) for number in range(40)))
    await first.store_states()
    unreadable = metrics.UNREADABLE_STATES.labels("snapshot")._value.get()
    store = await open_store(broker.log(StoresMeanwhile(first, asked)), "matchmaking", 1)
    second = PoolPartition([HOUSE], store, 0, Claim("second", "second:1"), lambda *_: None, [])
    await second.fold()
    assert metrics.UNREADABLE_STATES.labels("snapshot")._value.get() == unreadable
    assert second.pools[GAME].kept_seq > 0
    for each in (first, second):
        await each.finish(1.0)


async def test_a_check_of_the_log_reports_no_state_that_is_stored_meanwhile() -> None:
    broker = MemoryBroker()
    first = await owner(broker, "first")
    await first.pools[GAME].act(ticket("alice"))
    store = await open_store(broker.log(StoresMeanwhile(first, "events")), "matchmaking", 1)
    book = MatchmakingBook()
    book._games = [HOUSE]
    assert (await book.verify(store)).problems == []
    assert first.pools[GAME].kept_seq > 0
    await first.finish(1.0)


async def test_parts_that_are_not_of_one_state_are_told_by_their_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where an owner that was deposed wrote late: the pool is folded from its events, and nothing is lost."""
    monkeypatch.setattr(stored, "PART_BYTES", 500)
    broker = MemoryBroker()
    first = await owner(broker, "first")
    await asyncio.gather(*(first.pools[GAME].act(party(f"0.{number}")) for number in range(40)))
    await first.store_states()
    store = await open_store(broker.log(), "matchmaking", 1)
    for record in await store.snapshots.scan(0):
        if record.key.endswith(".0"):
            await store.snapshots.put(0, record.key, b"of another state")
    second = await owner(broker, "second")
    assert second.pools[GAME].kept_seq == 0
    assert state(second.pools[GAME]) == state(first.pools[GAME])
    for each in (first, second):
        await each.finish(1.0)


def told_of(metric: Any, **labels: str) -> float:
    """A metric's present value."""
    value: float = metric.labels(GAME, *labels.values())._value.get()
    return value


async def test_metrics_tell_of_waits_and_ends_once_they_are_in_the_log() -> None:
    broker = MemoryBroker()
    first = await owner(broker, "first")
    cancelled = told_of(metrics.TICKETS_ENDED, outcome="cancelled")
    lapsed = told_of(metrics.OFFERS_LAPSED)
    hosted = first.pools[GAME]
    await hosted.act(ticket("alice", seats=(2,)))
    await hosted.act(ticket("bob", seats=(2,)))
    while not hosted.pool.offers:
        await hosted.news.wait()
    request = wire.CancelTicketRequest("cancel", GAME, hosted.pool.ticket_of["alice"])
    await hosted.act(Asked("alice", "cancel", b"cancel", request))
    assert told_of(metrics.TICKETS_ENDED, outcome="cancelled") == cancelled + 1
    assert told_of(metrics.OFFERS_LAPSED) == lapsed + 1
    await first.finish(1.0)
    again = await owner(broker, "second")
    assert told_of(metrics.OFFERS_LAPSED) == lapsed + 1, "who only folds counts nothing"
    await again.finish(1.0)
