"""Fold, verify, snapshots: what the log tells is the game, and what was altered is found."""

from collections.abc import Callable
from dataclasses import replace as replace_rules
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from guildhall.kernel.fold import Unfoldable, fold, fold_all, follow
from guildhall.kernel.game import UNDO, restore
from guildhall.kernel.ids import version_hash
from guildhall.kernel.v1.structs import Draw, GameCreated, Record, Resigned, TimedOut, decode_Record, encode_Record
from guildhall.kernel.verify import Altered, verify
from tests.kernel.stage import SEED, Ask, Play, staged
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import RULES

Records = list[tuple[bytes, bytes]]


def whole_game() -> Play:
    """A finished tiny game with draws, an undo and a resignation."""
    play = Play(seats=3)
    random = Random(5)
    for seat in (0, 1, 2):
        play.do(seat, t.Bid(1 if seat == 1 else 0))
    play.do(1, t.Mark())
    play.do(1, UNDO)
    play.do(1, t.Roll())
    play.resign(2)
    while play.game.ended is None:
        seat = play.game.waiting()[0].seat
        play.do(seat, random.choice([c for c in play.game.legal(seat).commands if c != UNDO]))
    return play


PLAYED = whole_game()
RECORDS = PLAYED.records()
DRAWN = next(n for n, step in enumerate(PLAYED.steps) if n and step.record.draws)


def rewritten(change: Callable[[int, Record], Record], seed: bytes = SEED) -> Records:
    """The log with changed records, its chain of hashes made anew by somebody who knows the seed."""
    out: Records = []
    before = b""
    for number, (body, _) in enumerate(RECORDS):
        record = replace(change(number, decode_Record(body)), prev_hash=before)
        body = encode_Record(record)
        before = version_hash(before, seed, record.seq, body)
        out.append((body, before))
    return out


def at(number: int, **changes: Any) -> Records:
    """The rewritten log with these changes in one record."""
    return rewritten(lambda n, record: replace(record, **changes) if n == number else record)


def with_first_event(event: Any) -> Records:
    events = decode_Record(RECORDS[0][0]).events
    return at(0, events=(t.encode_event(event), *events[1:]))


def test_a_log_that_is_made_anew_without_a_change_is_the_same() -> None:
    assert rewritten(lambda n, record: record) == RECORDS
    assert fold_all(RULES, RECORDS).snapshot() == PLAYED.game.snapshot()
    checked = verify(RULES, RECORDS)
    assert (checked.versions, checked.game.version) == (len(RECORDS), len(RECORDS))
    assert checked.draws == sum(len(step.record.draws) for step in PLAYED.steps) > 1
    assert checked.events == sum(len(step.events) for step in PLAYED.steps)


def damaged(records: Records, number: int, body: bytes | None = None, digest: bytes | None = None) -> Records:
    old = records[number]
    changed = (old[0] if body is None else body, old[1] if digest is None else digest)
    return [*records[:number], changed, *records[number + 1 :]]


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([], "no records"),
        (RECORDS[1:], "begins no game"),
        ([*RECORDS[:3], *RECORDS[4:]], "version 5 follows version 3"),
        ([*RECORDS[:3], RECORDS[2], *RECORDS[3:]], "version 3 follows version 3"),
        ([RECORDS[0], *RECORDS], "version 1 follows version 1"),
        (damaged(RECORDS, 2, digest=bytes(32)), "hash of version 3 is wrong"),
        (damaged(RECORDS, 2, digest=b""), "hash of version 3 is wrong"),
        (damaged(RECORDS, 2, body=RECORDS[2][0][:-1]), "cannot be read|hash of version 3"),
        (damaged(RECORDS, 2, body=b""), "is of game ''"),
        (damaged(RECORDS, 2, body=b"\xff\xff"), "cannot be read"),
        (at(4, aggregate_id="another"), "is of game 'another', not of 'game'"),
        (at(4, events=(b"\xfa\x07\x00",)), "cannot be read"),
        (at(4, events=(b"",)), "cannot be read"),
        (
            at(4, events=(t.encode_event(t.Marked(9)), t.encode_event(TimedOut(9, "1.9")))),
            "version 5 cannot be applied",
        ),
        (at(4, events=(t.encode_event(Resigned(9)),)), "version 5"),
        (at(4, events=(t.encode_event(PLAYED.game.created),)), "no way to apply GameCreated"),
        (at(4, seat=9), "version 5 cannot be applied"),
        (at(4, undo_depth=9), "further than the game has gone"),
        (with_first_event(replace(PLAYED.game.created, game="chess")), "a game of 'chess'"),
        (with_first_event(replace(PLAYED.game.created, rulings=())), "begins no game: KeyError"),
        (with_first_event(TimedOut(0, "1.0")), "begins no game"),
    ],
)
def test_a_log_that_is_not_its_games_is_not_folded(records: Records, why: str) -> None:
    with pytest.raises(Unfoldable, match=why):
        fold_all(RULES, records)
    with pytest.raises(Altered, match=why):
        verify(RULES, records)


def test_a_record_that_does_not_follow_the_hash_before_is_not_folded() -> None:
    other = at(1, at_ms=7)
    with pytest.raises(Unfoldable, match="does not follow the hash"):
        fold_all(RULES, [*RECORDS[:2], *other[2:]])


def test_nothing_follows_the_end() -> None:
    record = replace(decode_Record(RECORDS[-1][0]), seq=len(RECORDS) + 1, prev_hash=RECORDS[-1][1], events=())
    body = encode_Record(record)
    late = (body, version_hash(RECORDS[-1][1], SEED, record.seq, body))
    with pytest.raises(Unfoldable, match="follows the end"):
        fold_all(RULES, [*RECORDS, late])


def test_an_event_without_a_way_to_apply_it_is_never_skipped() -> None:
    evolve = {kind: change for kind, change in RULES.evolve.items() if kind is not t.Marked}
    with pytest.raises(Unfoldable, match="no way to apply Marked"):
        fold_all(replace_rules(RULES, evolve=evolve), RECORDS)


def test_nobody_goes_back_to_a_state_that_was_never_there() -> None:
    number = next(n for n, step in enumerate(PLAYED.steps) if type(step.events[0]).__name__ == "Undone")
    undone = PLAYED.steps[number].events[0]
    for event in (replace(undone, state=undone.state[:-1] + b"\x01"), replace(undone, to_version=1)):
        with pytest.raises(Unfoldable, match="never there"):
            fold_all(RULES, at(number, events=(t.encode_event(event),)))


def test_one_games_record_does_not_continue_another() -> None:
    other = Play()
    with pytest.raises(Unfoldable):
        fold(RULES, other.game, *RECORDS[1])


# --- verify: by somebody who knows the seed and writes the whole chain anew


def draws_of(number: int) -> tuple[Draw, ...]:
    return PLAYED.steps[number].record.draws


@pytest.mark.parametrize(
    "draws",
    [
        (replace(draws_of(DRAWN)[0], results=tuple(1 - min(r, 1) for r in draws_of(DRAWN)[0].results)),),
        (replace(draws_of(DRAWN)[0], n=draws_of(DRAWN)[0].n + 1),),
        (replace(draws_of(DRAWN)[0], bounds=(0,)),),
        (replace(draws_of(DRAWN)[0], bounds=(1,)), *draws_of(DRAWN)[1:]),
        (replace(draws_of(DRAWN)[0], results=()),),
        (*draws_of(DRAWN), draws_of(DRAWN)[0]),
    ],
)
def test_an_altered_draw_is_found(draws: tuple[Draw, ...]) -> None:
    with pytest.raises(Altered, match="draw"):
        verify(RULES, at(DRAWN, draws=draws))


def test_a_draw_that_is_left_out_is_found_by_the_next() -> None:
    with pytest.raises(Altered, match="draw"):
        verify(RULES, at(0, draws=()))


def test_a_swapped_seed_is_found() -> None:
    other = bytes(32)
    created = replace(PLAYED.game.created, seed=other)
    events = decode_Record(RECORDS[0][0]).events
    with pytest.raises(Altered, match="hash of version 1"):
        verify(RULES, with_first_event(created))

    def swap(number: int, record: Record) -> Record:
        if number == 0:
            record = replace(record, events=(t.encode_event(created), *events[1:]))
        return replace(record, draws=())

    with pytest.raises(Altered, match="seed is not the one"):
        verify(RULES, rewritten(swap, other))


@pytest.mark.parametrize("number", [0, 3, DRAWN, len(RECORDS) - 1])
def test_any_altered_bit_is_found(number: int) -> None:
    random = Random(number)
    body = RECORDS[number][0]
    for _ in range(40):
        bit = random.randrange(len(body) * 8)
        flipped = bytearray(body)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Altered):
            verify(RULES, damaged(RECORDS, number, body=bytes(flipped)))


@pytest.mark.parametrize("kept", [slice(0, -1), slice(0, 1), slice(1, None)])
def test_missing_versions_at_either_end_are_found(kept: slice) -> None:
    with pytest.raises(Altered, match=r"missing|begins no game"):
        verify(RULES, RECORDS[kept])


# --- snapshots


@pytest.mark.parametrize("version", range(1, len(RECORDS) + 1))
def test_a_snapshot_is_the_whole_game_at_every_version(version: int) -> None:
    game = fold_all(RULES, RECORDS[:version])
    copy = restore(RULES, game.snapshot())
    assert copy.snapshot() == game.snapshot()
    assert copy.hall == game.hall and copy.agenda == game.agenda and copy.ended == game.ended
    assert (copy.open, copy.undo, copy.accepted, copy.hash) == (game.open, game.undo, game.accepted, game.hash)
    for viewer in (0, 1, 2, None):
        assert copy.view(viewer) == game.view(viewer)
    for body, digest in RECORDS[version:]:
        copy, _ = fold(RULES, copy, body, digest)
    assert copy.snapshot() == PLAYED.game.snapshot()


@given(st.binary(max_size=40))
def test_bytes_that_are_no_snapshot_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        restore(RULES, data)


def test_a_damaged_snapshot_is_refused_or_another_game_but_nothing_else() -> None:
    play = Play(staged(Ask(0), Ask(1)))
    play.do(0, t.Bid(1))
    data = play.game.snapshot()
    for size in range(len(data)):
        with pytest.raises(ValueError):
            restore(play.rules, data[:size])


def test_a_game_created_event_survives_the_snapshot() -> None:
    created: GameCreated = restore(RULES, PLAYED.game.snapshot()).created
    assert created == PLAYED.game.created and created.seed == SEED


def frames_after(body: bytes) -> set[type]:
    """The kinds of frames on the agenda that a record leaves."""
    frames, _ = RULES.decode_agenda(decode_Record(body).agenda)
    return set(map(type, frames))


ASKED = sorted(set[type]().union(*(frames_after(body) for body, _ in RECORDS)), key=lambda frame: frame.__name__)


@pytest.mark.parametrize("frame", ASKED)
def test_whoever_follows_is_lost_from_a_frame_of_an_unknown_kind_on_and_not_before(frame: type) -> None:
    older = replace_rules(RULES, frames=tuple(known for known in RULES.frames if known is not frame))
    game, whole = None, None
    for seq, (body, digest) in enumerate(RECORDS, 1):
        if frame in frames_after(body):
            break
        whole, _ = follow(RULES, whole, seq, body, digest)
        game, _ = follow(older, game, seq, body, digest)
        assert not game.lost and game.open == whole.open
    game, events = follow(older, game, seq, body, digest)
    assert f"agenda of version {seq} cannot be read" in game.lost and not events
    assert (game.version, game.hash) == (seq, digest)
