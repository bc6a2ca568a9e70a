"""The Sell phase: a turn is draw, then act, then its end (AA-36 to AA-53, AA-217 to AA-221)."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from guildhall.arcane_alley.v1.structs import (
    Activate,
    Discard,
    DiscardTaken,
    DrawDeck,
    DrawDiscard,
    InspectionTriggered,
    ItemDiscarded,
    ItemDrawn,
    ItemPlayed,
    Play,
    TurnStarted,
    TurnTrackerMoved,
)
from guildhall.kernel.cards import FRONT
from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from services.arcane_alley import commands
from services.arcane_alley.asking import Ask, HallTable
from services.arcane_alley.cells import open_cells, why_not_cell
from services.arcane_alley.content import content_of
from services.arcane_alley.deck import after_discard, after_draw, can_draw, ready_to_draw
from services.arcane_alley.hall import NOBODY, Hall, hidden_cells, stash_of
from services.arcane_alley.playing import go_on_playing
from services.arcane_alley.specials import activate

FIRST_TRIGGER_TURN = 15
"""Two players: from this turn on an inspection can be triggered (AA-218)."""
LAST_TURN = 20
"""Two players: after this turn the inspection comes by itself (AA-220)."""


class SellPhase(Frame, tag="sell_phase"):
    """Turns follow each other until the inspection."""

    def run(self, table: HallTable) -> None:
        start_turn(table, table.hall.starting)


def start_turn(table: HallTable, seat: int) -> None:
    """A seat's turn begins."""
    table.emit(TurnStarted(seat))
    table.then(Draw(seat), Act(seat), EndTurn(seat))


class Draw(Ask, tag="draw"):
    """Draw an item: the top of the deck or the top of the discard (AA-38)."""

    ASKS: ClassVar[str] = "draw an item"
    RULE: ClassVar[str] = "AA-37"
    EXPECTED: ClassVar[tuple[type, ...]] = (DrawDeck, DrawDiscard)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if hall.discard or hall.deck else ()

    def options(self, hall: Hall, seat: int) -> Iterable[DrawDeck | DrawDiscard]:
        options: list[DrawDeck | DrawDiscard] = []
        if can_draw(hall):
            options.append(commands.DRAW_DECK)
        if hall.discard:
            options.append(commands.DRAW_DISCARD)
        return options

    def why_not(self, hall: Hall, seat: int, command: DrawDeck | DrawDiscard) -> Refusal:
        if isinstance(command, DrawDeck):
            return Refusal("DECK_EMPTY", "The deck is empty and cannot be rebuilt.", "AA-94")
        return Refusal("DISCARD_EMPTY", "The discard is empty.", "AA-38")

    def choose(self, table: HallTable, seat: int, command: DrawDeck | DrawDiscard) -> None:
        if isinstance(command, DrawDeck):
            ready_to_draw(table)
            table.emit(ItemDrawn(seat, table.hall.deck[-1] & FRONT))
            after_draw(table)
        else:
            table.emit(DiscardTaken(seat, table.hall.discard[-1] & FRONT))


class Act(Ask, tag="act"):
    """Play, discard or activate an item of the stash (AA-39, AA-105, AA-106)."""

    ASKS: ClassVar[str] = "play, discard or activate an item of your stash"
    RULE: ClassVar[str] = "AA-37"
    EXPECTED: ClassVar[tuple[type, ...]] = (Play, Discard, Activate)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if hall.drawn or hall.stashes[self.seat] else ()

    def options(self, hall: Hall, seat: int) -> Iterable[Play | Discard | Activate]:
        content = content_of(hall)
        items = stash_of(hall, seat)
        cells = open_cells(hall, content, seat)
        options: list[Play | Discard | Activate] = []
        for item in items:
            plays = commands.PLAYS[item]
            options += plays if len(cells) == 9 else [plays[cell] for cell in cells]
            options.append(commands.DISCARDS[item])
            if item in content.special:
                options.append(commands.ACTIVATES[item])
        return options

    def default(self, hall: Hall, seat: int) -> Discard:
        item = hall.drawn[0] & FRONT if hall.drawn else stash_of(hall, seat)[0]
        return commands.DISCARDS[item]

    def why_not(self, hall: Hall, seat: int, command: Play | Discard | Activate) -> Refusal:
        if command.item not in stash_of(hall, seat):
            return Refusal("NOT_IN_STASH", "You have no such item in your stash.", "AA-39")
        if isinstance(command, Play):
            return why_not_cell(hall, content_of(hall), seat, command.cell)
        return Refusal("NOT_SPECIAL", "Only special items can be activated.", "AA-105")

    def why(self, hall: Hall, seat: int, command: Any) -> Refusal:
        if isinstance(command, DrawDeck | DrawDiscard):
            return Refusal("ALREADY_DRAWN", "You have drawn for this turn.", "AA-38")
        return super().why(hall, seat, command)

    def choose(self, table: HallTable, seat: int, command: Play | Discard | Activate) -> None:
        if isinstance(command, Play):
            table.emit(ItemPlayed(seat, command.item, command.cell))
            go_on_playing(table, seat, command.cell)
        elif isinstance(command, Discard):
            table.emit(ItemDiscarded(seat, command.item))
            after_discard(table)
        else:
            activate(table, seat, command.item)


class EndTurn(Frame, tag="end_turn"):
    """The turn ends: a trigger (AA-47), the turn tracker of two players (AA-217), then the next turn, or no more."""

    seat: int

    def run(self, table: HallTable) -> None:
        hall, seat = table.hall, self.seat
        seats = len(hall.gold)
        if hall.trigger == NOBODY and (seats > 2 or hall.turn >= FIRST_TRIGGER_TURN) and not hidden_cells(hall, seat):
            table.emit(InspectionTriggered(seat))
        if seats == 2 and seat == player_two(hall):
            if hall.turn < LAST_TURN:
                table.emit(TurnTrackerMoved(hall.turn + 1))
            elif hall.trigger == NOBODY:
                return  # The inspection comes by itself.
        following = (seat + 1) % seats
        if following != hall.trigger:
            start_turn(table, following)


def player_two(hall: Hall) -> int:
    """Two players: the seat at the end of whose turns the tracker moves (RES-31)."""
    second = 1 - hall.starting
    if hall.rulings.second_of_this_round:
        return second
    # The starting token has changed seats once each round since the first.
    return second if hall.round % 2 else hall.starting
