"""The writer over every adapter, and over a memory log that misbehaves on command (design section 3)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol, TypeVar

import pytest
from structlog.testing import capture_logs

from guildhall.log.errors import (
    Busy,
    Closed,
    InFlight,
    LogUnavailable,
    LogUnreadable,
    NotOwner,
    Quarantined,
    WrongSeq,
)
from guildhall.log.fold import ClaimSeen, Damaged, Effective, FoldState, Verdict, Void
from guildhall.log.memory import Faults, MemoryBroker
from guildhall.log.port import (
    CLAIM_KEY,
    Appended,
    AppendOutcome,
    Claim,
    Doubt,
    Entry,
    EventsTopic,
    Log,
    Position,
    ProducerRecord,
    Record,
    TooLarge,
)
from guildhall.log.reader import fold_to_end
from guildhall.log.values import encode_claim, encode_entry
from guildhall.log.writer import Limits, Outcome, RuledOut, Writer
from tests.log.conftest import MAX_RECORD_BYTES, Connect
from tests.log.virtual_time import run

# A writer that polls only when a test wants it, so that nothing is found out by chance.
STILL = Limits(poll_seconds=3600, first_pause=0.001, last_pause=0.01)
PARTITION = 2

T = TypeVar("T")


class Owner:
    """A writer and what its listener was told."""

    def __init__(self, events: EventsTopic, instance: str, limits: Limits = STILL) -> None:
        self.told: list[Verdict] = []
        self.writer = Writer(events, PARTITION, Claim(instance, f"{instance}:1"), FoldState(), self.told.append, limits)

    def append(self, aggregate_id: str, seq: int, body: bytes = b"body") -> "asyncio.Future[Outcome]":
        return self.writer.append(aggregate_id, seq, b"hash of " + body[:8], body)

    def effective(self) -> list[tuple[str, int]]:
        return [(v.aggregate_id, v.entry.seq) for v in self.told if isinstance(v, Effective)]


class Own(Protocol):
    def __call__(self, events: EventsTopic, instance: str, limits: Limits = STILL) -> Owner: ...


@pytest.fixture
async def own() -> AsyncIterator[Own]:
    """Makes owners, and closes them at the end without waiting for what is in flight."""
    owners: list[Owner] = []

    def make(events: EventsTopic, instance: str, limits: Limits = STILL) -> Owner:
        owners.append(Owner(events, instance, limits))
        return owners[-1]

    yield make
    for owner in owners:
        closing = asyncio.ensure_future(owner.writer.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])


@pytest.fixture
async def events(log: Log, topic: str) -> EventsTopic:
    return await log.events(topic)


async def verdicts(events: EventsTopic) -> list[Verdict]:
    """What a reader from zero is told."""
    told: list[Verdict] = []
    await fold_to_end(events, PARTITION, FoldState(), told.append)
    return told


# --- on every adapter


async def test_claim_append_confirm(events: EventsTopic, own: Own) -> None:
    owner = own(events, "one")
    serving_before = owner.writer.serving
    assert await owner.writer.claim() == 0
    assert not serving_before
    assert owner.writer.serving and owner.writer.owner == Claim("one", "one:1")
    assert await owner.append("a", 1) == Appended(1)
    assert await owner.append("a", 2) == Appended(2)
    assert await owner.writer.confirm() == Position(3, 0) == owner.writer.position
    assert owner.effective() == [("a", 1), ("a", 2)] and owner.writer.last_seq("a") == 2
    assert await verdicts(events) == owner.told


async def test_appends_of_many_aggregates_go_in_one_batch_in_their_order(events: EventsTopic, own: Own) -> None:
    owner = own(events, "one")
    await owner.writer.claim()
    outcomes = await asyncio.gather(*(owner.append(f"game {n}", 1) for n in range(100)))
    assert outcomes == [Appended(n + 1) for n in range(100)]
    assert owner.effective() == [(f"game {n}", 1) for n in range(100)]


async def test_nothing_is_taken_before_the_claim(events: EventsTopic, own: Own) -> None:
    owner = own(events, "one")
    with pytest.raises(NotOwner):
        owner.append("a", 1)
    with pytest.raises(NotOwner):
        await owner.writer.confirm()
    assert await events.end_offset(PARTITION) == 0


async def test_one_append_in_flight_per_aggregate(events: EventsTopic, own: Own) -> None:
    owner = own(events, "one")
    await owner.writer.claim()
    first = owner.append("a", 1)
    with pytest.raises(InFlight):
        owner.append("a", 2)
    other = owner.append("b", 1)
    await owner.writer.settled("a")
    assert first.done() and first.result() == Appended(1)
    assert await owner.append("a", 2) in (Appended(2), Appended(3)) and await other
    await owner.writer.settled("a")


async def test_a_seq_that_is_not_next_is_refused(events: EventsTopic, own: Own) -> None:
    owner = own(events, "one")
    await owner.writer.claim()
    await owner.append("a", 1)
    for seq in (0, 1, 3):
        with pytest.raises(WrongSeq) as refused:
            owner.append("a", seq)
        assert refused.value.expected == 2
    assert await events.end_offset(PARTITION) == 2


async def test_bad_arguments_are_refused(events: EventsTopic, own: Own) -> None:
    writer = own(events, "one").writer
    await writer.claim()
    for aggregate_id, digest in (("", b"h"), ("a", b""), ("\ud800", b"h")):
        with pytest.raises(ValueError):
            writer.append(aggregate_id, 1, digest, b"")
    assert await writer.append("a", 1, b"h", b"") == Appended(1)


async def test_the_queue_is_bounded(events: EventsTopic, own: Own) -> None:
    owner = Owner(events, "one", Limits(max_in_flight=2, max_in_flight_bytes=100, poll_seconds=3600))
    await owner.writer.claim()
    waiting = [owner.append("a", 1), owner.append("b", 1)]
    with pytest.raises(Busy):
        owner.append("c", 1)
    await asyncio.gather(*waiting)
    waiting = [owner.append("a", 2, b"x" * 60)]
    with pytest.raises(Busy):
        owner.append("b", 2, b"x" * 41)
    await asyncio.gather(*waiting)
    assert await owner.append("b", 2, b"x" * 41) == Appended(4)
    await owner.writer.close()
    assert [type(v).__name__ for v in await verdicts(events)] == ["ClaimSeen"] + ["Effective"] * 4


async def test_too_large_is_final_and_leaves_its_batch_alone(events: EventsTopic, own: Own) -> None:
    owner = own(events, "one")
    await owner.writer.claim()
    outcomes = await asyncio.gather(
        owner.append("a", 1), owner.append("b", 1, b"x" * MAX_RECORD_BYTES), owner.append("c", 1)
    )
    assert list(outcomes) == [Appended(1), TooLarge(MAX_RECORD_BYTES), Appended(2)]
    assert await owner.append("b", 1) == Appended(3)


async def test_the_older_owner_stands_down_at_its_next_append(connect: Connect, topic: str, own: Own) -> None:
    old, new = [own(await (await connect()).events(topic), name) for name in ("old", "new")]
    await old.writer.claim()
    await old.append("a", 1)
    assert await new.writer.claim() == 2
    assert new.effective() == [("a", 1)]
    late = old.append("a", 2)
    assert await late == RuledOut()
    assert not old.writer.serving and old.writer.owner == Claim("new", "new:1")
    with pytest.raises(NotOwner) as refused:
        old.append("a", 2)
    assert (refused.value.claim, refused.value.owner) == (2, Claim("new", "new:1"))
    # The late write lies in the log, void for everybody, and takes nobody's seq.
    assert await new.append("a", 2) == Appended(4)
    assert [type(v).__name__ for v in new.told] == [
        "ClaimSeen",
        "Effective",
        "ClaimSeen",
        "Void",
        "Effective",
    ]


async def test_the_older_owner_stands_down_at_its_next_confirmation(connect: Connect, topic: str, own: Own) -> None:
    old, new = [own(await (await connect()).events(topic), name) for name in ("old", "new")]
    await old.writer.claim()
    await new.writer.claim()
    with pytest.raises(NotOwner):
        await old.writer.confirm()
    assert not old.writer.serving


async def test_the_older_owner_finds_out_even_when_idle(connect: Connect, topic: str) -> None:
    limits = Limits(poll_seconds=0.005)
    old, new = [Owner(await (await connect()).events(topic), name, limits) for name in ("old", "new")]
    await old.writer.claim()
    await new.writer.claim()
    while old.writer.serving:
        await asyncio.sleep(0.005)
    await asyncio.gather(old.writer.close(), new.writer.close())


async def test_who_stood_down_may_claim_again(connect: Connect, topic: str, own: Own) -> None:
    one, two = [own(await (await connect()).events(topic), name) for name in ("one", "two")]
    await one.writer.claim()
    await two.writer.claim()
    await two.append("a", 1)
    assert await one.writer.claim() == 3
    assert one.effective() == [("a", 1)]
    assert await one.append("a", 2) == Appended(4)
    with pytest.raises(NotOwner):
        await two.writer.confirm()
    assert two.effective() == one.effective()


async def test_a_confirmation_reflects_everything_that_was_in_the_log_before(
    connect: Connect, topic: str, own: Own
) -> None:
    owner = own(await (await connect()).events(topic), "one")
    claim = await owner.writer.claim()
    elsewhere = await (await connect()).events(topic)
    for seq in range(1, 20):
        await elsewhere.append(PARTITION, [ProducerRecord("a", encode_entry(Entry(claim, b"h", b"", seq)))])
        await owner.writer.confirm()
        assert owner.writer.last_seq("a") == seq


async def test_a_damaged_record_quarantines_its_game_only(events: EventsTopic, own: Own) -> None:
    first = own(events, "one")
    await first.writer.claim()
    await asyncio.gather(first.append("a", 1), first.append("b", 1))
    await events.append(PARTITION, [ProducerRecord("a", b"\xff\xfe")])
    owner = own(events, "two")
    await owner.writer.claim()
    assert [v for v in owner.told if isinstance(v, Damaged)] and owner.writer.damaged() == {"a": 3}
    with pytest.raises(Quarantined) as refused:
        owner.append("a", 2)
    assert (refused.value.aggregate_id, refused.value.offset) == ("a", 3)
    assert await owner.append("b", 2) == Appended(5)
    assert await owner.writer.append("a", 2, b"h", b"aborted", repair=True) == Appended(6)
    assert owner.writer.damaged() == {}


async def test_closing_finishes_what_is_in_flight(events: EventsTopic) -> None:
    owner = Owner(events, "one")
    await owner.writer.claim()
    waiting = [owner.append(f"game {n}", 1) for n in range(10)]
    await owner.writer.close()
    assert [f.result() for f in waiting] == [Appended(n + 1) for n in range(10)]
    with pytest.raises(Closed):
        owner.append("a", 1)
    with pytest.raises(Closed):
        await owner.writer.confirm()
    with pytest.raises(Closed):
        await owner.writer.claim()
    await owner.writer.close()


# --- on a log that misbehaves


Write = Callable[[ProducerRecord], AppendOutcome]


class Script(Faults):
    """Each append meets the next step of `steps`, and behaves well when there is none left."""

    def __init__(self) -> None:
        self.steps: list[Callable[[Sequence[ProducerRecord], Write], Sequence[AppendOutcome]]] = []
        self.late: list[tuple[Write, ProducerRecord]] = []
        self.appends = 0
        self.requests = 0
        self.down = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def append(
        self, topic: str, partition: int, records: Sequence[ProducerRecord], write: Write
    ) -> Sequence[AppendOutcome]:
        self.appends += 1
        await self.gate.wait()
        if self.down:
            return [Doubt("down")] * len(records)
        if self.steps:
            return self.steps.pop(0)(records, write)
        return [write(record) for record in records]

    async def request(self, topic: str, partition: int) -> None:
        self.requests += 1
        await self.gate.wait()
        if self.down:
            raise LogUnavailable("down")

    def land(self) -> None:
        """The late records arrive."""
        for write, record in self.late:
            write(record)
        self.late.clear()

    # Steps

    def report_lost(self, records: Sequence[ProducerRecord], write: Write) -> Sequence[AppendOutcome]:
        for record in records:
            write(record)
        return [Doubt("report lost")] * len(records)

    def never_written(self, records: Sequence[ProducerRecord], write: Write) -> Sequence[AppendOutcome]:
        return [Doubt("never written")] * len(records)

    def written_late(self, records: Sequence[ProducerRecord], write: Write) -> Sequence[AppendOutcome]:
        self.late += [(write, record) for record in records]
        return [Doubt("written late")] * len(records)

    def reported_at_second_offset(self, records: Sequence[ProducerRecord], write: Write) -> Sequence[AppendOutcome]:
        for record in records:
            write(record)
        return [write(record) for record in records]

    def written_twice(self, records: Sequence[ProducerRecord], write: Write) -> Sequence[AppendOutcome]:
        outcomes = [write(record) for record in records]
        for record in records:
            write(record)
        return outcomes

    def first_in_doubt(self, records: Sequence[ProducerRecord], write: Write) -> Sequence[AppendOutcome]:
        self.late.append((write, records[0]))
        return [Doubt("written late"), *(write(record) for record in records[1:])]


@pytest.fixture
def faults() -> Script:
    return Script()


@pytest.fixture
async def faulty(faults: Script, topic: str) -> EventsTopic:
    return await MemoryBroker().log(faults).events(topic)


async def test_a_lost_report_is_judged_by_reading(faulty: EventsTopic, faults: Script, own: Own) -> None:
    owner = own(faulty, "one")
    await owner.writer.claim()
    faults.steps = [faults.report_lost]
    assert list(await asyncio.gather(owner.append("a", 1), owner.append("b", 1))) == [Appended(1), Appended(2)]
    assert owner.effective() == [("a", 1), ("b", 1)]
    assert await owner.writer.confirm() == Position(3, 0), "no claim was needed"


async def test_a_duplicate_reported_at_its_second_offset_counts_once(
    faulty: EventsTopic, faults: Script, own: Own
) -> None:
    owner = own(faulty, "one")
    await owner.writer.claim()
    faults.steps = [faults.reported_at_second_offset]
    assert await owner.append("a", 1) == Appended(1)
    assert await owner.append("a", 2) == Appended(3)
    assert await verdicts(faulty) == owner.told
    assert owner.effective() == [("a", 1), ("a", 2)]


async def test_a_duplicate_behind_an_acknowledged_record_is_void(faulty: EventsTopic, faults: Script, own: Own) -> None:
    owner = own(faulty, "one")
    await owner.writer.claim()
    faults.steps = [faults.written_twice]
    assert await owner.append("a", 1) == Appended(1)
    assert await owner.append("a", 2) == Appended(3)
    assert [type(v).__name__ for v in owner.told] == ["ClaimSeen", "Effective", "Void", "Effective"]
    assert await verdicts(faulty) == owner.told


async def test_lasting_doubt_ends_behind_an_own_new_claim(faulty: EventsTopic, faults: Script, own: Own) -> None:
    owner = own(faulty, "one")
    await owner.writer.claim()
    faults.steps = [faults.written_late]
    assert await owner.append("a", 1) == RuledOut()
    assert owner.writer.serving and owner.writer.position == Position(2, 1)
    faults.land()
    assert await owner.append("a", 1, b"decided again") == Appended(3)
    assert [type(v).__name__ for v in await verdicts(faulty)] == ["ClaimSeen", "ClaimSeen", "Void", "Effective"]


async def test_a_record_that_lands_before_the_new_claim_counts(faulty: EventsTopic, faults: Script, own: Own) -> None:
    owner = own(faulty, "one")
    await owner.writer.claim()

    def land_first(records: Sequence[ProducerRecord], write: Write) -> Sequence[AppendOutcome]:
        faults.land()
        return [write(record) for record in records]

    faults.steps = [faults.written_late, land_first]
    assert await owner.append("a", 1) == Appended(1)
    assert owner.writer.position == Position(3, 2)


async def test_one_record_in_doubt_leaves_its_batch_alone(faulty: EventsTopic, faults: Script, own: Own) -> None:
    owner = own(faulty, "one")
    await owner.writer.claim()
    faults.steps = [faults.first_in_doubt]
    a, b = owner.append("a", 1), owner.append("b", 1)
    assert await b == Appended(1)
    assert not a.done()
    with pytest.raises(InFlight):
        owner.append("a", 1)
    assert await owner.append("b", 2) == Appended(3)
    assert await a == RuledOut()


async def test_an_own_claim_that_comes_late_is_served_under(faulty: EventsTopic, faults: Script, own: Own) -> None:
    owner = own(faulty, "one")
    faults.steps = [faults.written_late]
    assert await owner.writer.claim() == 0
    faults.land()
    # Sent under claim 0, but claim 1 lies before it.
    assert await owner.append("a", 1) == RuledOut()
    assert owner.writer.serving and owner.writer.position.newest_claim == 1
    assert await owner.append("a", 1) == Appended(3)


async def test_a_claim_whose_report_is_lost_is_found_by_reading(faulty: EventsTopic, faults: Script, own: Own) -> None:
    owner = own(faulty, "one")
    faults.steps = [faults.report_lost]
    assert await owner.writer.claim() == 0
    assert await faulty.end_offset(PARTITION) == 1


async def test_while_the_log_is_down_appends_wait_and_the_queue_stays_bounded(
    faulty: EventsTopic, faults: Script, own: Own
) -> None:
    owner = own(faulty, "one", Limits(max_in_flight=3, poll_seconds=3600, first_pause=0.001, last_pause=0.002))
    await owner.writer.claim()
    faults.down = True
    waiting = [owner.append("a", 1), owner.append("b", 1)]
    with pytest.raises(LogUnavailable):
        await owner.writer.confirm()
    waiting.append(owner.append("c", 1))
    with pytest.raises(Busy):
        owner.append("d", 1)
    assert not any(f.done() for f in waiting)
    faults.down = False
    outcomes = await asyncio.gather(*waiting)
    assert all(isinstance(o, Appended | RuledOut) for o in outcomes)
    # What was sent while it was down is ruled out by a claim of our own; nothing was lost in between or doubled.
    effective = [f"{name}" for name, outcome in zip("abc", outcomes, strict=True) if isinstance(outcome, Appended)]
    assert [name for name, _ in owner.effective()] == effective
    assert await verdicts(faulty) == owner.told


async def test_a_claim_waits_for_a_log_that_is_down(faulty: EventsTopic, faults: Script, own: Own) -> None:
    owner = own(faulty, "one")
    faults.down = True
    claiming = asyncio.ensure_future(owner.writer.claim())
    while faults.requests < 3:
        await asyncio.sleep(0.001)
    faults.down = False
    assert await claiming == 0


async def test_a_log_that_keeps_doubting_meets_pauses_not_a_storm_of_claims(
    faulty: EventsTopic, faults: Script, own: Own
) -> None:
    owner = own(faulty, "one", Limits(poll_seconds=3600, first_pause=0.001, last_pause=3600))
    await owner.writer.claim()
    faults.steps = [faults.written_late] * 1000
    waiting = owner.append("a", 1)
    # The pauses double, so within this time there is room for few attempts only, however fast the machine is.
    await asyncio.wait([waiting], timeout=0.3)
    assert 1 < faults.appends < 20 and not waiting.done()


async def test_cancelling_gives_up_the_answer_and_not_the_append(faulty: EventsTopic, faults: Script, own: Own) -> None:
    owner = own(faulty, "one")
    await owner.writer.claim()
    faults.gate.clear()
    waiting = owner.append("a", 1)
    waiting.cancel()
    with pytest.raises(InFlight):
        owner.append("a", 1)
    faults.gate.set()
    await owner.writer.settled("a")
    assert owner.effective() == [("a", 1)]
    assert await owner.append("a", 2) == Appended(2)


async def test_waiting_callers_share_a_confirmation_begun_after_all_of_them(
    faulty: EventsTopic, faults: Script, own: Own
) -> None:
    owner = own(faulty, "one")
    await owner.writer.claim()
    await owner.writer.confirm()
    before = faults.requests
    await asyncio.gather(*(owner.writer.confirm() for _ in range(50)))
    assert faults.requests == before + 1


async def test_an_append_sent_before_the_question_does_not_confirm(
    faulty: EventsTopic, faults: Script, own: Own
) -> None:
    owner = own(faulty, "one")
    await owner.writer.claim()
    await owner.writer.confirm()
    faults.gate.clear()
    before = faults.appends
    first = owner.append("a", 1)
    while faults.appends == before:
        await asyncio.sleep(0)
    asking = asyncio.ensure_future(owner.writer.confirm())
    await asyncio.sleep(0)
    requests = faults.requests
    faults.gate.set()
    await first
    assert not asking.done()
    await asking
    assert faults.requests == requests + 1, "an end-offset query of its own"


async def test_an_append_sent_after_the_question_confirms(faulty: EventsTopic, faults: Script, own: Own) -> None:
    owner = own(faulty, "one")
    await owner.writer.claim()
    await owner.writer.confirm()
    before = faults.requests
    asking = asyncio.ensure_future(owner.writer.confirm())
    await asyncio.sleep(0)
    await asyncio.gather(owner.append("a", 1), asking)
    assert faults.requests == before


async def test_a_writer_that_is_closed_in_doubt_says_so(faulty: EventsTopic, faults: Script) -> None:
    owner = Owner(faulty, "one")
    await owner.writer.claim()
    faults.gate.clear()
    waiting = owner.append("a", 1)
    asking = asyncio.ensure_future(owner.writer.confirm())
    await asyncio.sleep(0.01)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(owner.writer.close(), 0.01)
    assert isinstance(waiting.result(), Doubt)
    with pytest.raises(Closed):
        await asking


async def test_a_log_that_cannot_be_read_ends_the_writer(
    faulty: EventsTopic, faults: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = Owner(faulty, "one")
    await owner.writer.claim()
    faults.steps = [faults.report_lost]

    async def unreadable(topic: str, partition: int) -> None:
        raise LogUnreadable("the file", "is damaged")

    monkeypatch.setattr(faults, "request", unreadable)
    assert isinstance(await owner.append("a", 1), Doubt)
    assert isinstance(owner.writer.failure, LogUnreadable) and not owner.writer.serving
    with pytest.raises(Closed):
        owner.append("b", 1)
    await owner.writer.close()


async def test_a_foreign_claim_rules_out_what_is_queued_and_what_was_sent(
    faulty: EventsTopic, faults: Script, own: Own
) -> None:
    owner = own(faulty, "one")
    await owner.writer.claim()

    def behind_a_foreign_claim(records: Sequence[ProducerRecord], write: Write) -> Sequence[AppendOutcome]:
        write(ProducerRecord(CLAIM_KEY, encode_claim(Claim("two", "two:1"))))
        return [write(record) for record in records]

    faults.gate.clear()
    faults.steps = [behind_a_foreign_claim]
    before = faults.appends
    sent = owner.append("a", 1)
    while faults.appends == before:
        await asyncio.sleep(0)
    queued = owner.append("b", 1)
    faults.gate.set()
    assert list(await asyncio.gather(sent, queued)) == [RuledOut(), RuledOut()]
    assert [type(v) for v in owner.told] == [ClaimSeen, ClaimSeen, Void]
    assert await faulty.end_offset(PARTITION) == 3, "what was queued was never sent"


# --- on a log that has become shorter, in virtual time


class Losing(Faults):
    """A broker's log that loses its last records, and a deposed broker that answers an end of before."""

    def __init__(self) -> None:
        self.broker = MemoryBroker()
        self.old_end: int | None = None
        self.down = False

    async def ask(self, topic: str, partition: int, answer: Callable[[], T]) -> T:
        found = await super().ask(topic, partition, answer)
        old: Any = self.old_end  # where an end is asked for, so T is int
        return old if isinstance(found, int) and old is not None else found

    async def request(self, topic: str, partition: int) -> None:
        if self.down:
            raise LogUnavailable("down")

    async def events(self) -> EventsTopic:
        return await self.broker.log(self).events("events")

    @property
    def stored(self) -> list[Record]:
        return self.broker.events["events"][PARTITION]


async def serving(losing: Losing) -> Owner:
    """An owner that has folded its claim and four entries of a game."""
    owner = Owner(await losing.events(), "one", Limits())
    await owner.writer.claim()
    for seq in range(1, 5):
        assert await owner.append("a", seq) == Appended(seq)
    return owner


async def has_failed(owner: Owner) -> None:
    await owner.writer.ended()
    assert isinstance(owner.writer.failure, LogUnreadable) and not owner.writer.serving
    await owner.writer.close()


def test_a_log_that_lost_records_ends_the_writer() -> None:
    async def main() -> None:
        losing = Losing()
        owner = await serving(losing)
        del losing.stored[3:]
        with capture_logs() as lines:
            with pytest.raises(LogUnavailable):
                await owner.writer.confirm()
            waiting = owner.append("b", 1)
            with pytest.raises(LogUnavailable):
                await owner.writer.confirm()
            await has_failed(owner)
        assert isinstance(await waiting, Doubt)
        assert len(losing.stored) == 3, "nothing was appended behind the hole, no claim either"
        assert [line["log_level"] for line in lines] == ["error"], "told once"

    run(main())


def test_an_append_that_comes_to_lie_below_what_was_folded_ends_the_writer() -> None:
    async def main() -> None:
        losing = Losing()
        owner = await serving(losing)
        del losing.stored[3:]
        assert isinstance(await owner.append("b", 1), Doubt)
        await has_failed(owner)
        assert len(losing.stored) == 4

    run(main())


def test_a_claim_that_comes_to_lie_below_what_was_folded_ends_the_writer() -> None:
    async def main() -> None:
        losing = Losing()
        owner = await serving(losing)
        other = Owner(await losing.events(), "two", STILL)
        await other.writer.claim()
        await owner.writer.stood_down()
        del losing.stored[3:]
        with pytest.raises(LogUnreadable):
            await owner.writer.claim()
        await has_failed(owner)
        assert len(losing.stored) == 4
        await other.writer.close()

    run(main())


def test_an_old_end_is_waited_out() -> None:
    async def main() -> None:
        losing = Losing()
        owner = await serving(losing)
        losing.old_end = 3
        with pytest.raises(LogUnavailable):
            await owner.writer.confirm()
        waiting = owner.append("a", 5)
        await asyncio.sleep(Limits().shorter_seconds / 2)
        assert not waiting.done()
        losing.old_end = None
        assert await waiting == Appended(5)
        assert await owner.writer.confirm() == Position(6, 0)
        await asyncio.sleep(Limits().shorter_seconds)
        assert owner.writer.serving and len(losing.stored) == 6
        losing.old_end = 3
        with pytest.raises(LogUnavailable):
            await owner.writer.confirm()
        await asyncio.sleep(Limits().shorter_seconds / 2)
        losing.old_end = None
        assert await owner.writer.confirm() == Position(6, 0), "asked anew for as long as that"
        await owner.writer.close()

    run(main())


@pytest.mark.parametrize(
    ("how", "more"),
    [*((how, more) for how in ("short seen", "down") for more in (1, 2, 3)), ("neither seen", 1), ("neither seen", 3)],
)
def test_a_hole_that_another_owner_has_filled_is_seen(how: str, more: int) -> None:
    """To just below, to, and beyond where the fold stands. To where it stands and never looked at: nothing tells."""

    async def main() -> None:
        losing = Losing()
        owner = await serving(losing)
        if how == "down":
            losing.down = True
            with pytest.raises(LogUnavailable):
                await owner.writer.confirm()
        del losing.stored[3:]
        if how == "short seen":
            with pytest.raises(LogUnavailable):
                await owner.writer.confirm()
        losing.stored.append(Record(3, CLAIM_KEY, encode_claim(Claim("two", "two:1"))))
        for n in range(1, more):
            losing.stored.append(Record(3 + n, "b", encode_entry(Entry(3, b"hash", b"body", n))))
        losing.down = False
        waiting = owner.append("c", 1)
        await has_failed(owner)
        assert isinstance(await waiting, Doubt)

    run(main())
