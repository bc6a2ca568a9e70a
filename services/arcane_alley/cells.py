"""Which cells of a storehouse an item can be played in (AA-40, AA-154)."""

from guildhall.kernel.refusal import Refusal
from services.arcane_alley.content import Content
from services.arcane_alley.hall import Hall


def open_cells(hall: Hall, content: Content, seat: int) -> list[int]:
    """The cells whose items can be replaced; the same on every viewer's hall."""
    storehouse = hall.storehouses[seat]
    locked = content.locked
    if locked.isdisjoint(storehouse):
        return list(range(len(storehouse)))
    return [cell for cell, card in enumerate(storehouse) if card not in locked]


def why_not_cell(hall: Hall, content: Content, seat: int, cell: int) -> Refusal:
    """Why nothing can be played in a cell."""
    if cell >= len(hall.storehouses[seat]):
        return no_such_cell(hall, seat)
    return Refusal("CANNOT_BE_REPLACED", "A revealed Haunted Doll cannot be replaced.", "AA-154")


def no_such_cell(hall: Hall, seat: int) -> Refusal:
    """A cell outside a storehouse."""
    size = len(hall.storehouses[seat])
    return Refusal("NO_SUCH_CELL", f"That storehouse has {size} items now.", "AA-40")
