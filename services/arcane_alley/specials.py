"""Special items (AA-105 to AA-111): activation, and what each lets its owner choose."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from guildhall.arcane_alley.v1.structs import (
    Cause,
    ChoosePlayer,
    DiscardItemPlayed,
    ItemsSwapped,
    ItemTurnedUp,
    LookedAtItemPlayed,
    Play,
    PlayFromDiscard,
    SpecialActivated,
    StashLookedAt,
    Swap,
    TurnedUpItemPlayed,
)
from guildhall.kernel.cards import FRONT
from guildhall.kernel.refusal import Refusal
from services.arcane_alley import commands, effects
from services.arcane_alley.asking import Ask, HallTable
from services.arcane_alley.cells import no_such_cell, open_cells, why_not_cell
from services.arcane_alley.content import content_of
from services.arcane_alley.deck import after_draw, can_draw, ready_to_draw
from services.arcane_alley.effect_steps import (
    GainInfamy,
    LookAtStashAndPlay,
    RevealAndPlay,
    Step,
    SwapItems,
)
from services.arcane_alley.effect_steps import PlayFromDiscard as PlayFromDiscardStep
from services.arcane_alley.hall import REVEALED, Hall, hidden_cells, stash_of
from services.arcane_alley.playing import go_on_playing
from services.arcane_alley.sale import FelineSets
from services.arcane_alley.sold import no_such_seat


def activate(table: HallTable, seat: int, item: int) -> None:
    """Reveal a special item of the stash, set it aside, and resolve its effect.

    Where an effect can do nothing, for want of a source, a cell or a partner, it ends after the infamy
    and shows nothing to anybody (AA-178, RES-22, RES-45, RES-48).
    """
    table.emit(SpecialActivated(seat, item))
    for step in table.content.activated[item]:
        _SPECIAL[type(step)](table, step, seat, item)


def _gain_infamy(table: HallTable, step: GainInfamy, seat: int, item: int) -> None:
    effects.gain_infamy(table, step, seat, item, Cause.SPECIAL, effects.NO_PLAYER)


def _reveal_and_play(table: HallTable, step: RevealAndPlay, seat: int, item: int) -> None:
    hall = table.hall
    if not open_cells(hall, table.content, seat) or not can_draw(hall):
        return
    for _ in range(step.count):
        if ready_to_draw(table):
            table.emit(ItemTurnedUp(seat, hall.deck[-1] & FRONT))
            after_draw(table)
    table.then(LampPlay(seat))


def _look_at_stash(table: HallTable, step: LookAtStashAndPlay, seat: int, item: int) -> None:
    if open_cells(table.hall, table.content, seat) and with_stash(table.hall, seat):
        table.then(ChalicePlayer(seat))


def _play_from_discard(table: HallTable, step: PlayFromDiscardStep, seat: int, item: int) -> None:
    if open_cells(table.hall, table.content, seat) and table.hall.discard:
        table.then(WatchPlay(seat, step.count))


def _swap_items(table: HallTable, step: SwapItems, seat: int, item: int) -> None:
    if hidden_cells(table.hall, seat) and any(revealed_of_others(table.hall, seat)):
        table.then(LockboxSwap(seat))


_SPECIAL: dict[type[Step], Callable[[HallTable, Any, int, int], None]] = {
    GainInfamy: _gain_infamy,
    RevealAndPlay: _reveal_and_play,
    LookAtStashAndPlay: _look_at_stash,
    PlayFromDiscardStep: _play_from_discard,
    SwapItems: _swap_items,
}


class LampPlay(Ask, tag="lamp"):
    """Mystical Lamp: which of the items turned up is played, and where (AA-171, AA-172)."""

    FORCED: ClassVar[bool] = True
    ASKS: ClassVar[str] = "play one of the items turned up by the Mystical Lamp"
    RULE: ClassVar[str] = "AA-172"
    EXPECTED: ClassVar[tuple[type, ...]] = (Play,)

    def options(self, hall: Hall, seat: int) -> Iterable[Play]:
        cells = open_cells(hall, content_of(hall), seat)
        items = dict.fromkeys(card & FRONT for card in hall.turned_up)
        return [commands.PLAYS[item][cell] for item in items for cell in cells]

    def why_not(self, hall: Hall, seat: int, command: Play) -> Refusal:
        if command.item not in {card & FRONT for card in hall.turned_up}:
            return Refusal("NOT_TURNED_UP", "That item was not turned up.", "AA-171")
        return why_not_cell(hall, content_of(hall), seat, command.cell)

    def choose(self, table: HallTable, seat: int, command: Play) -> None:
        table.emit(TurnedUpItemPlayed(seat, command.item, command.cell))
        go_on_playing(table, seat, command.cell)


def with_stash(hall: Hall, seat: int) -> list[int]:
    """The other seats that have a stash to look at (RES-48)."""
    return [other for other, stash in enumerate(hall.stashes) if other != seat and stash]


class ChalicePlayer(Ask, tag="chalice_player"):
    """Sacred Chalice: whose stash is looked at (AA-181)."""

    FORCED: ClassVar[bool] = True
    ASKS: ClassVar[str] = "choose the player whose stash you look at"
    RULE: ClassVar[str] = "AA-181"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChoosePlayer,)

    def options(self, hall: Hall, seat: int) -> Iterable[ChoosePlayer]:
        return [commands.PLAYERS[other] for other in with_stash(hall, seat)]

    def why_not(self, hall: Hall, seat: int, command: ChoosePlayer) -> Refusal:
        if command.target_seat == seat:
            return Refusal("NOT_YOURSELF", "The Chalice looks at another player's stash.", "AA-181")
        if command.target_seat >= len(hall.gold):
            return no_such_seat(hall)
        return Refusal("EMPTY_STASH", "That player's stash is empty.", "RES-48")

    def choose(self, table: HallTable, seat: int, command: ChoosePlayer) -> None:
        target = command.target_seat
        items = tuple(sorted(card & FRONT for card in table.hall.stashes[target]))
        table.emit(StashLookedAt(seat, target, items))
        table.then(ChalicePlay(seat, target))


class ChalicePlay(Ask, tag="chalice"):
    """Sacred Chalice: which item of the stash is played, and where (AA-181, AA-182)."""

    target: int

    ASKS: ClassVar[str] = "play an item of the stash that you looked at"
    RULE: ClassVar[str] = "AA-182"
    EXPECTED: ClassVar[tuple[type, ...]] = (Play,)

    def options(self, hall: Hall, seat: int) -> Iterable[Play]:
        cells = open_cells(hall, content_of(hall), seat)
        return [commands.PLAYS[item][cell] for item in stash_of(hall, self.target) for cell in cells]

    def why_not(self, hall: Hall, seat: int, command: Play) -> Refusal:
        if command.item not in stash_of(hall, self.target):
            return Refusal("NOT_IN_STASH", "There is no such item in that stash.", "AA-181")
        return why_not_cell(hall, content_of(hall), seat, command.cell)

    def choose(self, table: HallTable, seat: int, command: Play) -> None:
        table.emit(LookedAtItemPlayed(seat, self.target, command.item, command.cell))
        go_on_playing(table, seat, command.cell)


class WatchPlay(Ask, tag="watch"):
    """Wizard's Watch: which of the top items of the discard is played, and where (AA-195 to AA-197)."""

    count: int
    """How many items from the top can be chosen."""

    FORCED: ClassVar[bool] = True
    ASKS: ClassVar[str] = "play one of the top items of the discard"
    RULE: ClassVar[str] = "AA-196"
    EXPECTED: ClassVar[tuple[type, ...]] = (PlayFromDiscard,)

    def options(self, hall: Hall, seat: int) -> Iterable[PlayFromDiscard]:
        cells = open_cells(hall, content_of(hall), seat)
        positions = range(min(self.count, len(hall.discard)))
        return [commands.FROM_DISCARD[position][cell] for position in positions for cell in cells]

    def why_not(self, hall: Hall, seat: int, command: PlayFromDiscard) -> Refusal:
        reach = min(self.count, len(hall.discard))
        if command.position >= reach:
            return Refusal("TOO_DEEP", f"The Watch reaches the top {reach} items of the discard.", "AA-195")
        return why_not_cell(hall, content_of(hall), seat, command.cell)

    def choose(self, table: HallTable, seat: int, command: PlayFromDiscard) -> None:
        item = table.hall.discard[-1 - command.position] & FRONT
        table.emit(DiscardItemPlayed(seat, command.position, item, command.cell))
        go_on_playing(table, seat, command.cell)


def revealed_of_others(hall: Hall, seat: int) -> list[list[int]]:
    """The cells, by seat, of the other players' revealed items."""
    return [
        [] if other == seat else [cell for cell, card in enumerate(storehouse) if card & REVEALED]
        for other, storehouse in enumerate(hall.storehouses)
    ]


class LockboxSwap(Ask, tag="lockbox"):
    """Pandora's Lockbox: which items are swapped (AA-177, RES-14)."""

    FORCED: ClassVar[bool] = True
    ASKS: ClassVar[str] = "swap a hidden item of yours with a revealed one of another player"
    RULE: ClassVar[str] = "AA-177"
    EXPECTED: ClassVar[tuple[type, ...]] = (Swap,)

    def options(self, hall: Hall, seat: int) -> Iterable[Swap]:
        theirs = revealed_of_others(hall, seat)
        return [
            Swap(mine, other, cell)
            for mine in hidden_cells(hall, seat)
            for other, cells in enumerate(theirs)
            for cell in cells
        ]

    def why_not(self, hall: Hall, seat: int, command: Swap) -> Refusal:
        other = command.target_seat
        if other >= len(hall.gold):
            return no_such_seat(hall)
        if other == seat:
            return Refusal("NOT_YOURSELF", "The Lockbox swaps with another player.", "AA-177")
        if command.cell >= len(hall.storehouses[seat]):
            return no_such_cell(hall, seat)
        if command.target_cell >= len(hall.storehouses[other]):
            return no_such_cell(hall, other)
        if command.cell not in hidden_cells(hall, seat):
            return Refusal("NOT_HIDDEN", "Your item has to be a hidden one.", "AA-177")
        return Refusal("NOT_REVEALED", "The other player's item has to be a revealed one.", "AA-177")

    def choose(self, table: HallTable, seat: int, command: Swap) -> None:
        table.emit(ItemsSwapped(seat, command.cell, command.target_seat, command.target_cell))
        table.then(FelineSets())
