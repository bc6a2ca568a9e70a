"""The one fold rule, record by record (design section 3)."""

import asyncio
import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guildhall.log.errors import LogShorter, OutOfOrder
from guildhall.log.fold import ClaimSeen, Damaged, Effective, FoldState, Verdict, Void, fold, is_of
from guildhall.log.memory import MemoryBroker
from guildhall.log.port import CLAIM_KEY, Claim, Entry, Position, ProducerRecord, Record
from guildhall.log.reader import AT_A_TIME, READ_LIMIT, fold_to_end
from guildhall.log.values import encode_claim, encode_entry

CLAIM = encode_claim(Claim("me", "here"))


def entry(claim: int, seq: int, digest: bytes = b"h") -> bytes:
    return encode_entry(Entry(claim, digest, b"body", seq))


def fold_all(*records: tuple[str, bytes], state: FoldState | None = None) -> list[Verdict]:
    state = FoldState() if state is None else state
    return [fold(state, Record(state.next_offset, key, value)) for key, value in records]


def kinds(verdicts: list[Verdict]) -> list[str]:
    return [v.reason.value if isinstance(v, Void) else type(v).__name__ for v in verdicts]


def test_a_claim_and_its_entries_count() -> None:
    state = FoldState()
    verdicts = fold_all((CLAIM_KEY, CLAIM), ("a", entry(0, 1)), ("b", entry(0, 1)), ("a", entry(0, 2)), state=state)
    assert verdicts[0] == ClaimSeen(0, Claim("me", "here"))
    assert verdicts[3] == Effective(3, "a", Entry(0, b"h", b"body", 2))
    assert kinds(verdicts) == ["ClaimSeen"] + ["Effective"] * 3
    assert state == FoldState(4, 0, Claim("me", "here"), {"a": 2, "b": 1}, {})
    assert state.position == Position(4, 0)


def test_an_entry_before_any_claim_is_void() -> None:
    assert kinds(fold_all(("a", entry(0, 1)))) == ["claim"]


def test_an_entry_under_an_older_claim_is_void() -> None:
    records = [(CLAIM_KEY, CLAIM), ("a", entry(0, 1)), (CLAIM_KEY, CLAIM), ("a", entry(0, 2)), ("a", entry(2, 2))]
    assert kinds(fold_all(*records)) == ["ClaimSeen", "Effective", "ClaimSeen", "claim", "Effective"]


def test_an_entry_under_a_claim_that_is_still_to_come_is_void() -> None:
    assert kinds(fold_all((CLAIM_KEY, CLAIM), ("a", entry(2, 1)), (CLAIM_KEY, CLAIM))) == [
        "ClaimSeen",
        "claim",
        "ClaimSeen",
    ]


@pytest.mark.parametrize("seq", [1, 2, 4, 5])
def test_an_entry_that_is_not_the_next_of_its_aggregate_is_void(seq: int) -> None:
    records = [(CLAIM_KEY, CLAIM), ("a", entry(0, 1)), ("a", entry(0, 2)), ("a", entry(0, seq)), ("a", entry(0, 3))]
    assert kinds(fold_all(*records)) == ["ClaimSeen", "Effective", "Effective", "seq", "Effective"]


def test_an_aggregate_begins_with_seq_1_and_only_once() -> None:
    records = [(CLAIM_KEY, CLAIM), ("a", entry(0, 2)), ("a", entry(0, 1)), ("a", entry(0, 1))]
    assert kinds(fold_all(*records)) == ["ClaimSeen", "seq", "Effective", "seq"]


def test_a_void_record_moves_the_position_and_nothing_else() -> None:
    state = FoldState()
    fold_all((CLAIM_KEY, CLAIM), ("a", entry(0, 1)), state=state)
    before = copy.deepcopy(state)
    fold_all(("a", entry(0, 7)), state=state)
    before.next_offset += 1
    assert state == before


def test_a_damaged_record_quarantines_its_key_and_no_other() -> None:
    state = FoldState()
    verdicts = fold_all(
        (CLAIM_KEY, CLAIM),
        ("a", entry(0, 1)),
        ("a", entry(0, 2)[:-1]),
        ("b", entry(0, 1)),
        ("a", entry(0, 3)),
        state=state,
    )
    assert kinds(verdicts) == ["ClaimSeen", "Effective", "Damaged", "Effective", "seq"]
    assert isinstance(verdicts[2], Damaged) and verdicts[2].key == "a" and verdicts[2].reason
    assert state.damaged == {"a": 2}
    fold_all(("a", b"junk"), state=state)
    assert state.damaged == {"a": 2}, "the first damaged record is the one to look at"


def test_an_effective_record_behind_the_damage_ends_the_quarantine() -> None:
    state = FoldState()
    fold_all((CLAIM_KEY, CLAIM), ("a", entry(0, 1)), ("a", b"junk"), ("a", entry(0, 2)), state=state)
    assert state.damaged == {} and state.seqs == {"a": 2}


def test_a_damaged_claim_is_a_claim_by_nobody() -> None:
    state = FoldState()
    records = [(CLAIM_KEY, CLAIM), (CLAIM_KEY, CLAIM[:-1]), ("a", entry(0, 1)), ("a", entry(1, 1))]
    assert kinds(fold_all(*records, state=state)) == ["ClaimSeen", "Damaged", "claim", "Effective"]
    assert state.owner is None and state.newest_claim == 1 and state.damaged == {}


def test_values_under_the_wrong_kind_of_key_are_damaged() -> None:
    state = FoldState()
    assert kinds(fold_all(("a", CLAIM), (CLAIM_KEY, entry(0, 1)), state=state)) == ["Damaged", "Damaged"]
    assert state.damaged == {"a": 0} and state.newest_claim == 1


@pytest.mark.parametrize("offset", [0, 2])
def test_a_record_out_of_order_is_an_error_and_changes_nothing(offset: int) -> None:
    state = FoldState()
    fold_all((CLAIM_KEY, CLAIM), state=state)
    before = copy.deepcopy(state)
    with pytest.raises(OutOfOrder):
        fold(state, Record(offset, "a", entry(0, 1)))
    assert state == before


values = st.one_of(
    st.just((CLAIM_KEY, CLAIM)),
    st.tuples(st.sampled_from("ab"), st.builds(entry, st.integers(0, 8), st.integers(1, 4))),
    st.just(("a", b"junk")),
)


@given(st.lists(values, max_size=30), st.data())
def test_a_reader_that_starts_from_a_position_agrees(records: list[tuple[str, bytes]], data: st.DataObject) -> None:
    whole = FoldState()
    verdicts = fold_all(*records, state=whole)
    cut = data.draw(st.integers(0, len(records)))
    early = FoldState()
    fold_all(*records[:cut], state=early)
    position = early.position
    resumed = FoldState(position.next_offset, position.newest_claim, None, dict(early.seqs), dict(early.damaged))
    assert fold_all(*records[cut:], state=resumed) == verdicts[cut:]
    assert (resumed.position, resumed.seqs, resumed.damaged) == (whole.position, whole.seqs, whole.damaged)


async def test_others_have_their_turn_while_a_partition_is_folded() -> None:
    """However long it is, and what is read ahead is read once."""
    broker = MemoryBroker()
    events = await broker.log().events("events", 1)
    records = [ProducerRecord(CLAIM_KEY, CLAIM), *(ProducerRecord("a", entry(0, n)) for n in range(1, 2 * READ_LIMIT))]
    await events.append(0, records)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    state = FoldState()
    verdicts: list[Verdict] = []
    await fold_to_end(events, 0, state, verdicts.append)
    beside.cancel()
    assert turns >= 2 * READ_LIMIT / AT_A_TIME
    assert [verdict.offset for verdict in verdicts] == list(range(2 * READ_LIMIT))
    assert state.seqs == {"a": 2 * READ_LIMIT - 1}


async def test_a_log_that_ends_before_what_was_folded_is_told() -> None:
    events = await MemoryBroker().log().events("t")
    await events.append(0, [ProducerRecord("a", b"x")] * 3)
    told: list[Verdict] = []
    with pytest.raises(LogShorter) as shorter:
        await fold_to_end(events, 0, FoldState(next_offset=5), told.append)
    assert (shorter.value.end, shorter.value.folded, told) == (3, 5, [])


def test_a_verdict_knows_its_record() -> None:
    claim = Record(0, CLAIM_KEY, encode_claim(Claim("me", "here")))
    records = [
        claim,
        *(Record(n, "a", encode_entry(Entry(0, b"h", b"%d" % n, n))) for n in (1, 2)),
        Record(3, "a", encode_entry(Entry(0, b"h", b"void", 1))),
        Record(4, "b", b"damaged"),
    ]
    state = FoldState()
    for verdict in [fold(state, record) for record in records]:
        same = [record for record in records if is_of(verdict, record)]
        moved = [r for r in records if is_of(verdict, Record(verdict.offset, r.key, r.value))]
        assert same == moved == [records[verdict.offset]]
