"""Flow: the order of frames, results of calls, bounds, and that whatever fails changes nothing."""

from typing import Any

import pytest
from msgspec.structs import replace

from guildhall.kernel.decide import MAX_BYTES
from guildhall.kernel.frames import Back, Choice, Frame
from guildhall.kernel.table import MAX_EVENTS, Overrun
from tests.kernel.stage import Ask, Play, points, score, staged
from tests.kernel.tiny.build import structs as t


class Digit(Frame, tag="digit"):
    """Writes a digit behind the points of seat 0."""

    digit: int

    def run(self, table: Any) -> None:
        score(table, 0, 9 * table.hall.seats[0].points + self.digit)


class Fork(Frame, tag="fork"):
    """Queues three frames in two calls."""

    def run(self, table: Any) -> None:
        table.then(Digit(1), Digit(2))
        table.then(Digit(3))


def test_what_is_queued_comes_in_its_order_and_before_what_was_on_the_agenda() -> None:
    play = Play(staged(Fork(), Digit(4), Fork(), Digit(5), frames=(Digit,)))
    assert points(play.game)[0] == 12341235


class Give(Frame, tag="give"):
    value: int

    def run(self, table: Any) -> None:
        table.give(self.value)


class Keep(Frame, tag="keep"):
    """Gives nothing."""

    def run(self, table: Any) -> None:
        table.then()


class Write(Back, tag="write"):
    """Writes the result that it got."""

    def got(self, table: Any, value: int) -> None:
        score(table, 0, 9 * table.hall.seats[0].points + value)


class Call(Frame, tag="call"):
    """Calls children, one after the other, in one step; 0 stands for a child that gives nothing."""

    values: list[int]

    def run(self, table: Any) -> None:
        for value in self.values:
            table.call(Give(value) if value else Keep(), Write())


class Nested(Frame, tag="nested"):
    """Calls a frame that itself calls, gives nothing, and goes on."""

    def run(self, table: Any) -> None:
        table.call(Call([7]), Write())


CALLS = (Give, Keep, Write, Call)


def test_a_result_goes_to_its_caller_and_to_nobody_else() -> None:
    assert points(Play(staged(Call([5]), frames=CALLS)).game)[0] == 5
    assert points(Play(staged(Call([5, 0, 6]), frames=CALLS)).game)[0] == 506
    assert points(Play(staged(Call([5]), Call([0]), frames=CALLS)).game)[0] == 50
    assert points(Play(staged(Give(8), Call([0]), Digit(1), frames=CALLS)).game)[0] == 1


def test_a_result_that_was_taken_does_not_go_on_to_the_outer_caller() -> None:
    assert points(Play(staged(Nested(), frames=CALLS)).game)[0] == 70


class Pick(Ask, tag="pick"):
    def choose(self, table: Any, seat: int, command: Any) -> None:
        table.give(command.coins)


class CallPick(Frame, tag="call_pick"):
    def run(self, table: Any) -> None:
        table.call(Pick(1), Write())


def test_a_called_frame_can_ask_and_the_game_can_be_stored_meanwhile() -> None:
    play = Play(staged(CallPick(), frames=(Pick, Write)))
    play.check_stored()
    play.game = play.restored()
    play.do(1, t.Bid(2))
    assert points(play.game) == [2, 0]
    play.check_stored()


class Trouble(Choice, tag="trouble"):
    """Each command but `Allow` fails in its own way, after it has changed things."""

    def asked(self, hall: Any) -> list[int]:
        return [0]

    def options(self, hall: Any, seat: int) -> list[Any]:
        return [t.Allow(), *(t.Bid(n) for n in range(len(FAILURES)))]

    def default(self, hall: Any, seat: int) -> Any:
        return t.Allow()

    def choose(self, table: Any, seat: int, command: Any) -> None:
        table.emit(t.Marked(0))
        if isinstance(command, t.Bid):
            table.rng.shuffle(range(5))
            FAILURES[command.coins][0](table)


class Loop(Frame, tag="loop"):
    def run(self, table: Any) -> None:
        table.then(Loop())


class Flood(Frame, tag="flood"):
    """Emits one event a frame."""

    left: int

    def run(self, table: Any) -> None:
        table.emit(t.Marked(0))
        if self.left > 1:
            table.then(Flood(self.left - 1))


class AskTwo(Ask, tag="ask_two"):
    def asked(self, hall: Any) -> list[int]:
        return [0, 1]


class Stop(BaseException):
    """Not even an Exception."""


def raise_stop(table: Any) -> None:
    raise Stop


def emit_after_then(table: Any) -> None:
    table.then(Digit(1))
    table.emit(t.Marked(0))


def grow(table: Any) -> None:
    for _ in range(MAX_EVENTS - 10):
        table.emit(t.Arranged(0, tuple(range(300))))


def take_the_agenda_away(table: Any) -> None:
    table.end()
    table.hall.seats = None


FAILURES: list[tuple[Any, type[BaseException], str]] = [
    (lambda table: table.then(Loop()), Overrun, "frames"),
    (lambda table: table.then(Flood(MAX_EVENTS)), Overrun, "events"),
    (grow, Overrun, "bytes"),
    (lambda table: 1 // 0, ZeroDivisionError, ""),
    (raise_stop, Stop, ""),
    (emit_after_then, AssertionError, "no event may follow"),
    (lambda table: table.emit(t.Bid(1)), KeyError, "Bid"),
    (lambda table: table.emit(t.Stolen(0, 99, 0, 0)), IndexError, ""),
    (lambda table: table.emit(t.Rolled(0, 0, -1)), ValueError, ""),
    (lambda table: table.then(AskTwo(0)), ValueError, ""),
    (lambda table: table.then(Frame()), AssertionError, "nothing to run"),
    (take_the_agenda_away, TypeError, ""),
]


@pytest.mark.parametrize("number", range(len(FAILURES)))
def test_whatever_fails_changes_nothing_and_the_game_goes_on(number: int) -> None:
    _, error, message = FAILURES[number]
    play = Play(staged(Ask(0), Trouble(), Ask(1), frames=(Loop, Flood, AskTwo, Digit)))
    play.do(0, t.Bid(2))
    state, snapshot, agenda = play.game.state_bytes(), play.game.snapshot(), list(play.game.agenda)
    listed, view = play.game.legal(0), play.game.view(0)
    with pytest.raises(error, match=message or None):
        play.do(0, t.Bid(number), command_id="trouble")
    assert play.game.snapshot() == snapshot
    assert play.game.state_bytes() == state and play.game.agenda == agenda
    assert play.game.rules.join_state(play.game.hall, play.game.agenda_bytes) == state
    assert play.game.legal(0) == listed and play.game.view(0) == view
    play.do(0, t.Allow(), command_id="trouble")
    play.do(1, t.Bid(1))
    assert points(play.game) == [2, 1] and play.game.hall.marks == 1
    play.check_stored()


class Wide(Ask, tag="wide"):
    """Its answer makes a record of about `size` bytes."""

    size: int = 0

    def choose(self, table: Any, seat: int, command: Any) -> None:
        table.emit(t.Arranged(seat, (1,) * self.size))


def test_a_record_may_be_as_large_as_the_bound() -> None:
    play = Play(staged(Wide(0, size=1), Ask(1)))
    small = len(play.do(0, t.Bid(0)).body)
    room = MAX_BYTES - small
    play = Play(staged(replace(Wide(0), size=room - 8), Ask(1)))
    assert MAX_BYTES - 20 < len(play.do(0, t.Bid(0)).body) <= MAX_BYTES
    play = Play(staged(Wide(0, size=room + 20), Ask(1)))
    before = play.game.snapshot()
    with pytest.raises(Overrun, match="bytes"):
        play.do(0, t.Bid(0))
    assert play.game.snapshot() == before
