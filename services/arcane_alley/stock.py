"""The Stock phase (AA-25 to AA-32)."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from guildhall.arcane_alley.v1.structs import (
    DiscardStarted,
    ItemsAddedToStash,
    ItemsRevealed,
    ItemsShuffled,
    RevealItem,
    RevealItems,
    RoundStarted,
    StorehouseDealt,
    Wizard,
)
from guildhall.kernel.cards import FRONT
from guildhall.kernel.frames import Frame, Together
from guildhall.kernel.refusal import Refusal
from services.arcane_alley import commands
from services.arcane_alley.asking import HallTable
from services.arcane_alley.hall import Hall, hidden_cells, turn_order

STASH = 2
"""Items dealt as a stash (AA-29)."""


class Stock(Frame, tag="stock"):
    """Shuffle everything and deal the storehouses; then come the reveals, the stashes and the discard."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        table.emit(RoundStarted(max(hall.round, 1)))
        fronts = table.rng.shuffle(all_items(hall) or table.content.deck(len(hall.gold)))
        table.emit(ItemsShuffled(len(fronts), tuple(fronts)))
        for seat in turn_order(hall):
            table.emit(StorehouseDealt(seat))
        table.then(RevealOne() if hall.rulings.reveal_one_by_one else RevealTwo(), DealStashes())


def all_items(hall: Hall) -> list[int]:
    """The fronts of all items, wherever they lie between two rounds, sorted; none before the first."""
    places = [hall.deck, hall.discard, hall.set_aside, hall.removed, *hall.storehouses, *hall.stashes]
    return sorted(card & FRONT for place in places for card in place if card & FRONT)


class RevealTwo(Together, tag="reveal_items"):
    """Each seat names the two items that it turns up; they are turned when all have (AA-28, RES-37)."""

    REVISABLE: ClassVar[bool] = True

    def asked(self, hall: Hall) -> Sequence[int]:
        return range(len(hall.gold))

    def options(self, hall: Hall, seat: int) -> Iterable[RevealItems]:
        return commands.REVEAL_PAIRS

    def default(self, hall: Hall, seat: int) -> RevealItems:
        return commands.REVEAL_PAIRS[0]

    def why(self, hall: Hall, seat: int, command: Any) -> Refusal:
        if isinstance(command, RevealItems):
            return Refusal("NOT_TWO_ITEMS", "Name two different items of the nine, the lower cell first.", "AA-28")
        return Refusal("ANOTHER_DECISION", "You have to turn up two items of your storehouse now.", "AA-28")

    def all_in(self, table: HallTable, answers: dict[int, RevealItems]) -> None:
        for seat in turn_order(table.hall):
            answer = answers[seat]
            turn_up(table, seat, (answer.first_cell, answer.second_cell))


class RevealOne(Together, tag="reveal_item"):
    """Each seat names one item that it turns up; once again when all have (RES-37, one by one)."""

    again: bool = True
    """Whether the second item comes after this one."""

    REVISABLE: ClassVar[bool] = True

    def asked(self, hall: Hall) -> Sequence[int]:
        return range(len(hall.gold))

    def options(self, hall: Hall, seat: int) -> Iterable[RevealItem]:
        return [commands.REVEALS[cell] for cell in hidden_cells(hall, seat)]

    def default(self, hall: Hall, seat: int) -> RevealItem:
        return commands.REVEALS[hidden_cells(hall, seat)[0]]

    def why(self, hall: Hall, seat: int, command: Any) -> Refusal:
        if isinstance(command, RevealItem):
            return Refusal("NOT_HIDDEN", "There is no hidden item in that cell.", "AA-28")
        return Refusal("ANOTHER_DECISION", "You have to turn up an item of your storehouse now.", "AA-28")

    def all_in(self, table: HallTable, answers: dict[int, RevealItem]) -> None:
        for seat in turn_order(table.hall):
            turn_up(table, seat, (answers[seat].cell,))
        if self.again:
            table.then(RevealOne(again=False))


def turn_up(table: HallTable, seat: int, cells: tuple[int, ...]) -> None:
    """Turn up hidden items of a storehouse."""
    storehouse = table.hall.storehouses[seat]
    table.emit(ItemsRevealed(seat, cells, tuple(storehouse[cell] & FRONT for cell in cells)))


class DealStashes(Frame, tag="deal_stashes"):
    """Deal the stashes and start the discard (AA-29, AA-31, AA-205)."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        for seat in turn_order(hall):
            corvus = hall.powers and hall.wizards[seat] == Wizard.CORVUS
            count = table.content.corvus.items if corvus else STASH
            items = tuple(card & FRONT for card in hall.deck[: -count - 1 : -1])
            table.emit(ItemsAddedToStash(seat, count, items))
        table.emit(DiscardStarted(hall.deck[-1] & FRONT))
