"""Which stacks of a storehouse are sets (AA-54 to AA-57, AA-145 to AA-149).

All questions are about revealed items, so they have the same answer on every
viewer's hall. A set of lines is a number: bit n = line n of the shape.
"""

from guildhall.kernel.cards import FRONT
from services.arcane_alley.content import Content
from services.arcane_alley.geometry import LINES, LINES_THROUGH, Line, bits
from services.arcane_alley.hall import REVEALED, Hall


def set_item(storehouse: list[int], line: Line, content: Content, special_sets: bool) -> int:
    """The item of which a stack is a set, natural or a Feline's; 0: it is none."""
    one, two, three = storehouse[line[0]], storehouse[line[1]], storehouse[line[2]]
    if not one & two & three & REVEALED:
        return 0
    a, b, c = one & FRONT, two & FRONT, three & FRONT
    if a == b:
        item, third = a, c
    elif a == c:
        item, third = a, b
    elif b == c:
        item, third = b, a
    else:
        return 0
    # A pair of Felines needs a third Feline: they are no wild cards.
    if third != item and (third not in content.pairing or item in content.pairing):
        return 0
    if item in content.special and not special_sets:
        return 0
    return item


def is_natural(storehouse: list[int], line: Line) -> bool:
    """Whether the three items of a stack are alike (it is known to be a set)."""
    return storehouse[line[0]] & FRONT == storehouse[line[1]] & FRONT == storehouse[line[2]] & FRONT


def sets_through(hall: Hall, content: Content, seat: int, cell: int) -> int:
    """The lines through a cell that are sets."""
    storehouse = hall.storehouses[seat]
    lines = 0
    for index, line in LINES_THROUGH[hall.shapes[seat]][cell]:
        if storehouse[line[0]] & storehouse[line[1]] & storehouse[line[2]] & REVEALED and set_item(
            storehouse, line, content, hall.rulings.special_sets
        ):
            lines |= 1 << index
    return lines


def feline_sets(hall: Hall, content: Content, seat: int) -> int:
    """The lines that a Feline makes sets wherever it stands (RES-2, RES-38).

    None where it must be played or revealed for that.
    """
    rulings = hall.rulings
    if not rulings.feline_is_continuous:
        return 0
    storehouse = hall.storehouses[seat]
    felines = content.felines
    if felines.isdisjoint(storehouse):
        return 0
    lines = 0
    for feline in (cell for cell, card in enumerate(storehouse) if card in felines):
        for index, line in LINES_THROUGH[hall.shapes[seat]][feline]:
            item = set_item(storehouse, line, content, rulings.special_sets)
            if item and (item not in content.pairing or rulings.three_felines_continuous):
                lines |= 1 << index
    return lines


def sets_with(hall: Hall, content: Content, seat: int, cells: list[int]) -> int:
    """The lines through any of these cells that are sets."""
    lines = 0
    for cell in cells:
        lines |= sets_through(hall, content, seat, cell)
    return lines


def first_to_sell(hall: Hall, seat: int, lines: int, natural: int) -> int:
    """Of these sets, those among which the owner chooses the first to be sold (RES-8).

    `natural`: the lines that may be natural sets, since they hold an item just played or revealed.
    """
    if not hall.rulings.natural_first:
        return lines
    storehouse, shape = hall.storehouses[seat], LINES[hall.shapes[seat]]
    first = sum(1 << line for line in bits(lines & natural) if is_natural(storehouse, shape[line]))
    return first or lines
