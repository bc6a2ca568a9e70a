"""The deck and the discard: taking from the deck, rebuilding it, what lands on the discard (AA-94, RES-19, RES-20)."""

from guildhall.arcane_alley.v1.structs import DeckRebuilt, RingSank
from guildhall.kernel.cards import FRONT
from guildhall.kernel.table import Table
from services.arcane_alley.hall import Hall


def can_draw(hall: Hall) -> bool:
    """Whether somebody can take from the deck, if need be after rebuilding it; the same on every viewer's hall."""
    return len(hall.discard) > 1 or bool(hall.deck)


def ready_to_draw(table: Table[Hall]) -> bool:
    """Whether the deck has a top item; one that is empty is rebuilt first, if it can be."""
    if not table.hall.deck and len(table.hall.discard) > 1:
        _rebuild(table)
    return bool(table.hall.deck)


def after_draw(table: Table[Hall]) -> None:
    """Something was taken from the deck: an empty one is rebuilt at once (RES-20)."""
    hall = table.hall
    if not hall.deck and len(hall.discard) > 1 and not hall.rulings.lazy_rebuild:
        _rebuild(table)


def after_discard(table: Table[Hall]) -> None:
    """Something was put on the discard: a Ring sinks, and an empty deck can be rebuilt (AA-163, RES-19, RES-20)."""
    discard = table.hall.discard
    sinking = table.content.sinking
    # Where Rings alone lie there, they stay.
    while discard[-1] & FRONT in sinking and any(card & FRONT not in sinking for card in discard):
        table.emit(RingSank())
    after_draw(table)


def _rebuild(table: Table[Hall]) -> None:
    """The top item of the discard stays; the rest is shuffled and forms the deck."""
    fronts = table.rng.shuffle(sorted(card & FRONT for card in table.hall.discard[:-1]))
    table.emit(DeckRebuilt(len(fronts), tuple(fronts)))
