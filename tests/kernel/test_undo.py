"""Undo: open exactly while the same seat alone is asked, nothing was drawn, and nobody learned a card."""

from typing import Any

import pytest

from guildhall.kernel.decide import MAX_UNDO
from guildhall.kernel.frames import Choice, Frame
from guildhall.kernel.game import UNDO, Game
from guildhall.kernel.redact import redact
from guildhall.kernel.v1.structs import Undone
from tests.kernel.stage import Ask, Play, points, staged
from tests.kernel.tiny.build import structs as t


def leading() -> Play:
    """The tiny game where seat 1 leads and is to take steps."""
    play = Play()
    play.do(0, t.Bid(0))
    play.do(1, t.Bid(1))
    assert play.game.waiting()[0].kind == "turn"
    return play


def undo_open(game: Game, seat: int) -> bool:
    return UNDO in game.legal(seat).commands


def test_a_step_is_taken_back_under_a_new_decision() -> None:
    play = leading()
    before, id_before = play.game.state_bytes(), play.id(1)
    assert not undo_open(play.game, 1)
    play.do(1, t.Mark())
    assert undo_open(play.game, 1)
    version = play.game.version
    decided = play.do(1, UNDO)
    assert play.game.state_bytes() == before
    assert play.game.version == version + 1
    assert play.id(1) == f"{version + 1}.1" != id_before
    assert play.refused(1, t.Mark(), of=id_before).reason == "STALE_DECISION"
    assert decided.events == [Undone(1, version - 1, before)]
    play.check_stored()


def test_several_steps_are_taken_back_one_by_one() -> None:
    play = leading()
    states = []
    for _ in range(3):
        states.append(play.game.state_bytes())
        play.do(1, t.Mark())
        play.check_stored()
    for state in reversed(states):
        play.do(1, UNDO)
        assert play.game.state_bytes() == state
        play.check_stored()
    assert not undo_open(play.game, 1)
    assert play.refused(1, UNDO).reason == "UNDO_CLOSED"


def test_after_undo_another_way_can_be_taken_and_taken_back() -> None:
    play = leading()
    start = play.game.state_bytes()
    play.do(1, t.Mark())
    play.do(1, UNDO)
    play.do(1, t.Arrange((1, 0, 0, 0, 0, 2)))
    assert play.game.hall.seats[1].places == [1, 0, 0, 0, 0, 2]
    play.do(1, UNDO)
    assert play.game.state_bytes() == start
    play.check_stored()


@pytest.mark.parametrize("stored", [Play.folded, Play.restored])
def test_a_step_can_be_taken_back_after_a_restart(stored: Any) -> None:
    play = leading()
    before = play.game.state_bytes()
    play.do(1, t.Mark())
    play.do(1, t.Mark())
    play.game = stored(play)
    play.do(1, UNDO)
    play.game = stored(play)
    play.do(1, UNDO)
    assert play.game.state_bytes() == before
    play.check_stored()


@pytest.mark.parametrize("command", [t.Peek(), t.Roll()])
def test_luck_and_learning_close_undo(command: Any) -> None:
    play = leading()
    play.do(1, t.Mark())
    play.do(1, command)
    assert play.open_ids() == [f"{play.game.version}.1"]
    assert not undo_open(play.game, 1)
    play.do(1, t.Mark())
    play.do(1, UNDO)
    assert not undo_open(play.game, 1), "what was before stays closed"
    play.check_stored()


def test_showing_a_card_to_one_other_closes_undo() -> None:
    play = leading()
    show = next(command for command in play.game.legal(1).commands if isinstance(command, t.Show))
    play.do(1, show)
    assert not undo_open(play.game, 1)


def test_asking_another_seat_closes_undo_for_both() -> None:
    play = leading()
    play.do(1, t.Mark())
    play.do(1, t.Steal())
    assert [d.kind for d in play.game.waiting()] == ["may_block"]
    assert not undo_open(play.game, 0)
    play.do(0, t.Allow())
    assert play.game.waiting()[0].seat == 1 and not undo_open(play.game, 1)
    play.check_stored()


def test_draws_and_accepted_ids_and_versions_never_go_back() -> None:
    play = leading()
    play.do(1, t.Mark(), command_id="marked")
    draws, version = play.game.next_draw, play.game.version
    play.do(1, UNDO)
    assert play.game.next_draw == draws and play.game.version == version + 1
    assert play.refused(1, t.Mark(), command_id="marked").reason == "COMMAND_ID_REUSED"
    rolled = play.do(1, t.Roll())
    assert [draw.n for draw in rolled.record.draws] == [draws]


def test_another_seats_resignation_leaves_undo_open() -> None:
    play = Play(staged(Ask(0), Ask(0), Ask(0)), seats=3)
    play.do(0, t.Bid(1))
    play.do(0, t.Bid(2))
    id_ = play.id(0)
    play.resign(2)
    assert play.id(0) == id_ and undo_open(play.game, 0)
    play.check_stored()
    play.do(0, UNDO)
    play.do(0, UNDO)
    assert points(play.game) == [0, 0, 0]
    assert play.game.resigned == (False, False, True), "a resignation is not taken back"
    play.check_stored()


def test_a_time_out_closes_undo_and_is_not_taken_back() -> None:
    play = Play(staged(Ask(0), Ask(0), Ask(0)), decision_ms=60_000)
    play.do(0, t.Bid(1))
    play.time_out(0)
    assert not undo_open(play.game, 0)
    play.check_stored()


def test_undo_counts_as_an_answer_of_its_seat() -> None:
    play = Play(staged(Ask(0), Ask(0), Ask(0), Ask(0)), decision_ms=60_000)
    play.time_out(0)
    assert play.game.timeouts == (1, 0)
    play.do(0, t.Bid(1))
    play.do(0, UNDO)
    assert play.game.timeouts == (0, 0)
    play.check_stored()


def test_taking_back_gives_no_more_time() -> None:
    """Else a seat could play and take back for ever, and the game would stand still."""
    play = Play(staged(Ask(0), Ask(0), Ask(0)), decision_ms=60_000)
    (first,) = play.game.open
    play.do(0, t.Bid(1))
    assert play.game.open[0].deadline_ms == first.deadline_ms + 1_000
    for _ in range(3):
        play.do(0, UNDO)
        assert play.game.open[0].deadline_ms == first.deadline_ms
        play.check_stored()
        play.do(0, t.Bid(1))
    play.check_stored()


class Many(Choice, tag="many"):
    """Asks one seat for ever."""

    def asked(self, hall: Any) -> list[int]:
        return [0]

    def options(self, hall: Any, seat: int) -> list[Any]:
        return [t.Mark()]

    def default(self, hall: Any, seat: int) -> Any:
        return t.Mark()

    def choose(self, table: Any, seat: int, command: Any) -> None:
        table.emit(t.Marked(seat))
        table.then(Many())


def test_the_oldest_of_many_steps_can_no_longer_be_taken_back() -> None:
    play = Play(staged(Many()))
    for _ in range(MAX_UNDO + 3):
        play.do(0, t.Mark())
        play.check_stored()
    for _ in range(MAX_UNDO):
        play.do(0, UNDO)
        play.check_stored()
    assert play.game.hall.marks == 3
    assert not undo_open(play.game, 0)


class Silent(Ask, tag="silent"):
    """A choice that only leads on: no event."""

    def choose(self, table: Any, seat: int, command: Any) -> None:
        table.then(*(Ask(seat) for _ in range(command.coins)))


def test_a_step_without_events_can_be_taken_back() -> None:
    play = Play(staged(Silent(0), Ask(0)))
    decided = play.do(0, t.Bid(2))
    assert decided.events == []
    assert len(play.game.agenda) == 4
    play.check_stored()
    play.do(0, UNDO)
    assert [type(frame) for frame in play.game.agenda][-1] is Silent
    play.check_stored()


class Between(Frame, tag="between"):
    """Asks others nothing, and draws where it is told to."""

    draw: bool

    def run(self, table: Any) -> None:
        if self.draw:
            table.emit(t.Rolled(0, table.rng.die(6), 0))


@pytest.mark.parametrize("draw", [False, True])
def test_a_draw_anywhere_on_the_way_closes_undo(draw: bool) -> None:
    play = Play(staged(Ask(0), Between(draw), Ask(0)))
    play.do(0, t.Bid(0))
    assert undo_open(play.game, 0) != draw


def test_whoever_watches_is_told_that_a_step_was_taken_back_but_not_the_state() -> None:
    play = leading()
    play.do(1, t.Mark())
    (undone,) = play.do(1, UNDO).events
    for viewer in (0, 1, None):
        assert redact(play.rules, undone, viewer) == Undone(1, undone.to_version)
