""" "When played" effects (AA-112 to AA-116), and the peek that one of them asks for."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from guildhall.arcane_alley.v1.structs import Cause, ItemPeeked, ItemPutOnDeck, ItemsHidden, Peek
from guildhall.kernel.cards import FRONT
from guildhall.kernel.refusal import Refusal
from services.arcane_alley import commands, effects, scoring
from services.arcane_alley.asking import Ask, HallTable
from services.arcane_alley.cells import no_such_cell
from services.arcane_alley.effect_steps import (
    DiscardTopToDeck,
    GainGoldPerRevealed,
    GainInfamy,
    HideAdjacent,
    LoseGold,
    Step,
)
from services.arcane_alley.effect_steps import Peek as PeekStep
from services.arcane_alley.geometry import ADJACENT
from services.arcane_alley.hall import FACEUP, REVEALED, Hall, hidden_cells


def resolve_played(table: HallTable, seat: int, cell: int) -> bool:
    """Resolve the effect of the item just played in a cell; whether somebody has to be asked for its rest."""
    item = table.hall.storehouses[seat][cell] & FRONT
    for step in table.content.played[item]:
        _PLAYED[type(step)](table, step, seat, item, cell)
    return bool(table.queued)


def _gain_infamy(table: HallTable, step: GainInfamy, seat: int, item: int, cell: int) -> None:
    effects.gain_infamy(table, step, seat, item, Cause.PLAYED, effects.NO_PLAYER)


def _lose_gold(table: HallTable, step: LoseGold, seat: int, item: int, cell: int) -> None:
    scoring.lose_gold(table, seat, step.amount, Cause.PLAYED, item)


def _gain_gold_per_revealed(table: HallTable, step: GainGoldPerRevealed, seat: int, item: int, cell: int) -> None:
    """The item taken out, hidden items and the one just played do not count (AA-192)."""
    copies = sum(storehouse.count(item | FACEUP) for storehouse in table.hall.storehouses) - 1
    scoring.gain_gold(table, seat, copies * step.amount, Cause.PLAYED, item)


def _hide_adjacent(table: HallTable, step: HideAdjacent, seat: int, item: int, cell: int) -> None:
    hall = table.hall
    storehouse = hall.storehouses[seat]
    cells = tuple(near for near in ADJACENT[hall.shapes[seat]][cell] if storehouse[near] & REVEALED)
    if cells:
        table.emit(ItemsHidden(seat, cells))


def _discard_top_to_deck(table: HallTable, step: DiscardTopToDeck, seat: int, item: int, cell: int) -> None:
    """An empty discard gives nothing (RES-21)."""
    discard = table.hall.discard
    if discard:
        table.emit(ItemPutOnDeck(seat, discard[-1] & FRONT))


def _peek(table: HallTable, step: PeekStep, seat: int, item: int, cell: int) -> None:
    if hidden_cells(table.hall, seat):
        table.then(PeekCell(seat))


_PLAYED: dict[type[Step], Callable[[HallTable, Any, int, int, int], None]] = {
    GainInfamy: _gain_infamy,
    LoseGold: _lose_gold,
    GainGoldPerRevealed: _gain_gold_per_revealed,
    HideAdjacent: _hide_adjacent,
    DiscardTopToDeck: _discard_top_to_deck,
    PeekStep: _peek,
}


class PeekCell(Ask, tag="peek"):
    """Crystal Ball: which hidden item of the own storehouse to look at (AA-133)."""

    FORCED: ClassVar[bool] = True
    ASKS: ClassVar[str] = "look at a hidden item of your storehouse"
    RULE: ClassVar[str] = "AA-133"
    EXPECTED: ClassVar[tuple[type, ...]] = (Peek,)

    def options(self, hall: Hall, seat: int) -> Iterable[Peek]:
        return [commands.PEEKS[cell] for cell in hidden_cells(hall, seat)]

    def why_not(self, hall: Hall, seat: int, command: Peek) -> Refusal:
        if command.cell >= len(hall.storehouses[seat]):
            return no_such_cell(hall, seat)
        return Refusal("NOT_HIDDEN", "That item is not hidden.", self.RULE)

    def choose(self, table: HallTable, seat: int, command: Peek) -> None:
        table.emit(ItemPeeked(seat, command.cell, table.hall.storehouses[seat][command.cell] & FRONT))
