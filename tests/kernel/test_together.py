"""Together: several seats asked at once, each answer its own until all are in."""

from typing import Any, ClassVar

import pytest
from msgspec import field
from msgspec.structs import replace

from guildhall.kernel.decide import MAX_REVISIONS
from guildhall.kernel.frames import Together
from guildhall.kernel.game import NOTHING, UNDO
from guildhall.kernel.redact import redact
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import Answered, Resigned
from tests.kernel.stage import Ask, Play, points, score, staged
from tests.kernel.tiny.build import structs as t


class Bids(Together, tag="bids"):
    """Asked once; all answers are added to the points."""

    seats: list[int] = field(default_factory=list)

    def asked(self, hall: Any) -> list[int]:
        return self.seats

    def options(self, hall: Any, seat: int) -> list[Any]:
        return [t.Bid(n) for n in range(4)]

    def default(self, hall: Any, seat: int) -> Any:
        return t.Bid(0)

    def all_in(self, table: Any, answers: dict[int, Any]) -> None:
        for seat, answer in answers.items():
            score(table, seat, answer.coins)


class Revisable(Bids, tag="revisable"):
    REVISABLE: ClassVar[bool] = True


def test_all_are_asked_at_once_and_ids_stay_while_others_answer() -> None:
    play = Play(staged(Bids(seats=[2, 0, 1])), seats=3)
    assert play.open_ids() == ["1.2", "1.0", "1.1"]
    play.do(0, t.Bid(1))
    assert play.open_ids() == ["1.2", "1.1"]
    play.do(1, t.Bid(2), of="1.1")
    assert play.open_ids() == ["1.2"]
    play.do(2, t.Bid(3), of="1.2")
    assert points(play.game) == [1, 2, 3]
    play.check_stored()


def test_an_answer_that_cannot_be_revised_closes_its_decision() -> None:
    play = Play(staged(Bids(seats=[0, 1])))
    play.do(0, t.Bid(1))
    assert play.refused(0, t.Bid(2), of="1.0").reason == "STALE_DECISION"
    assert play.game.legal(0) == NOTHING


def test_a_revisable_answer_is_sent_again_whole_until_all_are_in() -> None:
    play = Play(staged(Revisable(seats=[0, 1]), Ask(0)))
    for coins in (1, 3, 2):
        play.do(0, t.Bid(coins), of="1.0")
        assert play.open_ids() == ["1.0", "1.1"]
        assert [decision.seat for decision in play.game.waiting()] == [1]
        play.check_stored()
    play.do(1, t.Bid(1))
    assert points(play.game) == [2, 1]
    assert play.refused(0, t.Bid(3), of="1.0").reason == "STALE_DECISION"


def test_what_a_seat_answered_is_its_own_until_all_are_in() -> None:
    for frame in (Bids, Revisable):
        low, high = Play(staged(frame(seats=[0, 1, 2])), seats=3), Play(staged(frame(seats=[0, 1, 2])), seats=3)
        told = [play.do(0, t.Bid(coins)) for play, coins in ((low, 0), (high, 3))]
        for viewer in (1, 2, None):
            assert low.game.view(viewer) == high.game.view(viewer)
            one, other = ([redact(low.rules, event, viewer) for event in decided.events] for decided in told)
            assert one == other == [Answered(0)]
        for seat in (1, 2):
            assert low.game.legal(seat) == high.game.legal(seat)
        assert low.game.open == high.game.open and low.game.waiting() == high.game.waiting()
        assert [redact(low.rules, event, 0) for event in told[1].events] == [Answered(0, t.encode_command(t.Bid(3)))]


def test_that_a_seat_has_answered_is_public() -> None:
    play = Play(staged(Revisable(seats=[0, 1])))
    play.do(0, t.Bid(3))
    assert [decision.seat for decision in play.game.view(None).game.waiting_for] == [1]


def test_the_last_of_several_cannot_take_back_what_opened_the_others() -> None:
    """Else it would answer again, knowing theirs."""
    for frame in (Bids, Revisable):
        play = Play(staged(frame(seats=[0, 1]), Ask(1)))
        play.do(0, t.Bid(3))
        play.do(1, t.Bid(0))
        assert play.open_ids() == ["3.1"]
        assert UNDO not in play.game.legal(1).commands


def test_nor_when_the_others_have_resigned_after_they_answered() -> None:
    play = Play(staged(Revisable(seats=[0, 1, 2]), Ask(2)), seats=3)
    play.do(0, t.Bid(3))
    play.resign(0)
    play.do(1, t.Bid(2))
    play.do(2, t.Bid(0))
    assert play.open_ids() == [f"{play.game.version}.2"]
    assert UNDO not in play.game.legal(2).commands
    play.check_stored()


def test_one_seat_asked_alone_can_take_its_answer_back() -> None:
    play = Play(staged(Bids(seats=[1]), Ask(1)))
    play.do(1, t.Bid(3))
    play.do(1, UNDO)
    assert points(play.game) == [0, 0]
    assert play.game.legal(1).commands == [t.Bid(n) for n in range(4)]
    play.check_stored()


def test_who_resigns_keeps_its_answer_and_gives_the_default_without_one() -> None:
    play = Play(staged(Bids(seats=[0, 1, 2]), Ask(2)), seats=4)
    play.do(0, t.Bid(3))
    play.resign(0)
    play.resign(1)
    assert play.open_ids() == ["1.2"]
    play.check_stored()
    play.do(2, t.Bid(2), of="1.2")
    assert points(play.game) == [3, 0, 2, 0]


def test_a_resignation_can_bring_the_last_answer_in() -> None:
    play = Play(staged(Bids(seats=[0, 1]), Ask(2)), seats=3)
    play.do(0, t.Bid(3))
    decided = play.resign(1)
    assert [type(event) for event in decided.events] == [Resigned, Answered, t.Rolled, t.Rolled]
    assert points(play.game) == [3, 0, 0]
    assert play.open_ids() == ["3.2"]


def test_those_who_resigned_before_are_not_asked() -> None:
    play = Play(staged(Ask(0), Bids(seats=[0, 1, 2])), seats=3)
    play.resign(2)
    play.do(0, t.Bid(0))
    assert play.open_ids() == ["3.0", "3.1"]
    play.check_stored()


def test_only_those_who_have_not_answered_can_time_out() -> None:
    play = Play(staged(Revisable(seats=[0, 1]), Ask(0)), decision_ms=60_000)
    play.do(0, t.Bid(3))
    before = play.game.snapshot()
    with pytest.raises(Refusal, match="STALE_DECISION"):
        play.time_out(0)
    assert play.game.snapshot() == before
    play.time_out(1)
    assert points(play.game) == [3, 0]


def test_the_same_frame_asks_again_without_the_old_answers() -> None:
    play = Play(staged(Bids(seats=[0, 1]), Bids(seats=[0, 1])))
    for seat in (0, 1, 0):
        play.do(seat, t.Bid(1))
    assert play.open_ids() == ["3.1"]
    assert points(play.game) == [1, 1]


def test_answers_are_in_the_records_agenda_for_nobodys_eyes() -> None:
    play = Play(staged(Bids(seats=[0, 1])))
    play.do(0, t.Bid(3))
    assert play.folded().agenda == play.game.agenda
    assert play.folded().top() == replace(play.game.top(), answers={0: t.encode_command(t.Bid(3))})


def test_answers_cannot_be_revised_without_end() -> None:
    play = Play(staged(Revisable(seats=[0, 1])), seats=2)
    revisions = 0
    while "1.0" in play.open_ids():
        play.do(0, t.Bid(revisions % 2), of="1.0")
        revisions += 1
        assert revisions <= MAX_REVISIONS
    assert revisions == MAX_REVISIONS
    assert play.open_ids() == ["1.1"], "whoever has not answered still can"
    play.check_stored()
    play.do(1, t.Bid(3), of="1.1")
    assert points(play.game) == [(MAX_REVISIONS - 1) % 2, 3]
