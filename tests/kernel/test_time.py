"""Time-outs, abandonment and resignation."""

import pytest

from guildhall.kernel.decide import time_out
from guildhall.kernel.ids import CLOCK, decision_id
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import EndReason, GameEnded, Resigned, TimedOut
from tests.kernel.stage import START_MS, Ask, Play, points, staged
from tests.kernel.test_together import Revisable
from tests.kernel.tiny.build import structs as t


def asks(*seats: int) -> tuple[Ask, ...]:
    return tuple(Ask(seat) for seat in seats)


def ended(play: Play) -> GameEnded:
    assert play.game.ended is not None and play.game.open == ()
    assert play.steps[-1].events[-1] == play.game.ended
    play.check_stored()
    return play.game.ended


def test_a_decision_has_the_deadline_of_its_opening() -> None:
    play = Play(staged(Revisable(seats=[0, 1]), *asks(0)), decision_ms=60_000)
    assert {d.deadline_ms for d in play.game.open} == {START_MS + 60_000}
    play.do(0, t.Bid(1))
    assert {d.deadline_ms for d in play.game.open} == {START_MS + 60_000}, "others' answers give no more time"
    play.do(1, t.Bid(1))
    assert [d.deadline_ms for d in play.game.open] == [play.now + 60_000]
    assert play.game.view(None).game.waiting_for[0].deadline_ms == play.now + 60_000


def test_without_a_clock_there_is_no_deadline() -> None:
    assert Play(staged(*asks(0))).game.open[0].deadline_ms == 0


def test_a_time_out_plays_the_default_as_a_command_of_the_clock() -> None:
    play = Play(staged(*asks(0, 1)), decision_ms=60_000)
    decided = play.time_out(0)
    assert decided.events[0] == TimedOut(0, "1.0")
    assert points(play.game) == [0, 0] and play.open_ids() == ["2.1"]
    (ref,) = decided.record.commands
    assert (ref.subject, ref.command_id) == (CLOCK, "timeout:1.0") and decided.record.seat is None
    play.check_stored()


def test_an_answered_decision_cannot_time_out() -> None:
    play = Play(staged(*asks(0, 1)), decision_ms=60_000)
    play.do(0, t.Bid(2))
    before = play.game.snapshot()
    for stale in ("1.0", "2.0", "x"):
        with pytest.raises(Refusal, match="STALE_DECISION"):
            time_out(play.game, stale, at_ms=play.now)
    assert play.game.snapshot() == before


def test_when_the_last_two_decisions_of_every_seat_timed_out_the_game_is_abandoned() -> None:
    play = Play(staged(*asks(0, 1, 0, 1, 0)), decision_ms=60_000)
    for seat in (0, 1, 0):
        play.time_out(seat)
        assert play.game.ended is None
        play.check_stored()
    play.time_out(1)
    assert ended(play).reason == EndReason.ABANDONED
    assert sorted(ended(play).ranks)[0] == 1


def test_one_answer_keeps_a_game_alive() -> None:
    play = Play(staged(*asks(0, 0, 1, 1, 1, 0, 0)), decision_ms=60_000)
    for seat in (0, 0, 1):
        play.time_out(seat)
    play.do(1, t.Bid(1))
    play.time_out(1)
    assert play.game.ended is None and play.game.timeouts == (2, 1)
    play.do(0, t.Bid(1))
    assert play.game.timeouts == (0, 1)
    play.check_stored()


def test_seats_that_resigned_do_not_keep_a_game_alive() -> None:
    play = Play(staged(*asks(0, 1, 2, 0, 1, 0)), seats=3, decision_ms=60_000)
    play.resign(2)
    for seat in (0, 1, 0, 1):
        play.time_out(seat)
    assert ended(play).reason == EndReason.ABANDONED


def test_who_resigns_plays_defaults_from_then_on() -> None:
    play = Play(staged(*asks(1, 0, 1, 1, 2)), seats=3)
    decided = play.resign(1)
    assert decided.events[0] == Resigned(1) and decided.record.seat == 1
    assert [d.seat for d in play.game.open] == [0]
    play.do(0, t.Bid(2))
    assert [d.seat for d in play.game.open] == [2]
    assert points(play.game) == [2, 0, 0]
    assert play.game.view(0).game.seats[1].resigned
    play.check_stored()


def test_a_resignation_leaves_anothers_decision_as_it_is() -> None:
    play = Play(staged(*asks(0, 1)), seats=3, decision_ms=60_000)
    before = play.game.open
    listed = play.game.legal(0)
    play.resign(2)
    assert play.game.open == before and play.game.legal(0) == listed
    play.do(0, t.Bid(1), of="1.0")
    play.check_stored()


def test_a_resignation_is_told_once_and_of_nobody_elses_decision() -> None:
    play = Play(staged(*asks(0, 1)), seats=3)
    play.resign(1)
    with pytest.raises(Refusal, match="ALREADY_RESIGNED"):
        play.resign(1)
    assert decision_id(1, 0) in play.open_ids()


def test_when_all_but_one_have_resigned_the_game_is_over() -> None:
    play = Play(staged(*asks(0, 1, 2)), seats=3)
    play.do(0, t.Bid(2))
    play.resign(0)
    assert play.game.ended is None
    play.resign(1)
    assert ended(play) == GameEnded(EndReason.RESIGNED, (2, 2, 1))


def test_who_resigned_ranks_last_whatever_it_had() -> None:
    play = Play(staged(*asks(0, 1, 2, 3)), seats=4)
    play.do(0, t.Bid(2))
    play.resign(0)
    play.do(1, t.Bid(1))
    play.do(2, t.Bid(1))
    play.do(3, t.Bid(0))
    assert ended(play) == GameEnded(EndReason.FINISHED, (4, 1, 1, 3))


def test_time_outs_before_a_resignation_are_the_same_in_the_log() -> None:
    play = Play(staged(*asks(0, 1, 2)), seats=3, decision_ms=60_000)
    play.time_out(0)
    play.resign(0)
    assert play.game.timeouts == (0, 0, 0)
    play.check_stored()


def test_a_whole_game_can_be_played_by_the_clock_and_by_those_who_left() -> None:
    play = Play(seats=3, decision_ms=60_000)
    play.resign(1)
    while play.game.ended is None:
        seat = play.game.waiting()[0].seat
        play.time_out(seat)
        play.check_stored()
    assert ended(play).reason == EndReason.ABANDONED
    assert ended(play).ranks[1] == 3
