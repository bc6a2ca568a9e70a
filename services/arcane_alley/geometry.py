"""Shapes of a storehouse, its stacks, and how it closes up after a sale (AA-34, AA-61 to AA-69).

A cell is row * columns + column. A storehouse is one of six shapes, named by
their index in SHAPES; all tables below are by shape, then by cell or line.
"""

from typing import NamedTuple

VERTICAL, HORIZONTAL = 1, 2
"""Directions of a slide, numbered as in the contract."""

SHAPES = ((3, 3), (2, 3), (3, 2), (1, 3), (3, 1), (0, 0))
"""(rows, columns) of each shape."""
FULL, NOTHING = 0, 5
"""The shape in which each round begins, and that of a storehouse which is sold out."""
SHAPE_OF = {size: shape for shape, size in enumerate(SHAPES)}

Line = tuple[int, int, int]
"""The three cells of a stack, ascending."""


class Slide(NamedTuple):
    """How what remains closes up."""

    shape: int
    """The new shape."""
    from_cells: tuple[int, ...]
    """For each cell of the new shape, the cell of the old one that its item comes from."""


def _lines(rows: int, columns: int) -> tuple[Line, ...]:
    """Rows, then columns, then diagonals, each in reading order."""
    lines: list[Line] = []
    if columns == 3:
        lines += [(3 * row, 3 * row + 1, 3 * row + 2) for row in range(rows)]
    if rows == 3:
        lines += [(column, columns + column, 2 * columns + column) for column in range(columns)]
    if rows == columns == 3:
        lines += [(0, 4, 8), (2, 4, 6)]
    return tuple(lines)


def _slide(shape: int, line: Line, direction: int) -> Slide:
    """The items beside the line, each column (or row) closed up in its order."""
    rows, columns = SHAPES[shape]
    if direction == VERTICAL:
        stacks = [
            [row * columns + column for row in range(rows) if row * columns + column not in line]
            for column in range(columns)
        ]
        size = (rows - 1, columns) if rows > 1 else (0, 0)
        from_cells = tuple(stacks[column][row] for row in range(rows - 1) for column in range(columns))
    else:
        stacks = [
            [row * columns + column for column in range(columns) if row * columns + column not in line]
            for row in range(rows)
        ]
        size = (rows, columns - 1) if columns > 1 else (0, 0)
        from_cells = tuple(cell for stack in stacks for cell in stack)
    return Slide(SHAPE_OF[size], from_cells)


def _directions(shape: int, line: Line) -> tuple[int, ...]:
    """The ways to close the gap: a row's vertically, a column's horizontally, a diagonal's either way."""
    columns = SHAPES[shape][1]
    if line[0] // columns == line[2] // columns:
        return (VERTICAL,)
    if line[0] % columns == line[2] % columns:
        return (HORIZONTAL,)
    return (VERTICAL, HORIZONTAL)


def _later(shape: int, sold: int, line: int) -> int:
    """Which line of the new shape a line is after the sale of another; -1 if it shared an item with that one."""
    cells = set(LINES[shape][line])
    if cells & set(LINES[shape][sold]):
        return -1
    # Only parallels share nothing, and a gap between parallels closes one way.
    slide = next(iter(SLIDES[shape][sold].values()))
    moved = tuple(new for new, old in enumerate(slide.from_cells) if old in cells)
    return LINES[slide.shape].index((moved[0], moved[1], moved[2]))


def _neighbours(shape: int, cell: int) -> tuple[int, ...]:
    rows, columns = SHAPES[shape]
    row, column = divmod(cell, columns)
    around = ((row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column))
    return tuple(r * columns + c for r, c in around if 0 <= r < rows and 0 <= c < columns)


LINES = tuple(_lines(*size) for size in SHAPES)
"""The stacks of each shape."""

LINES_THROUGH = tuple(
    tuple(
        tuple((index, line) for index, line in enumerate(LINES[shape]) if cell in line)
        for cell in range(rows * columns)
    )
    for shape, (rows, columns) in enumerate(SHAPES)
)
"""(index, line) of each stack that a cell lies in."""

SLIDES: tuple[tuple[dict[int, Slide], ...], ...] = tuple(
    tuple(
        {direction: _slide(shape, line, direction) for direction in _directions(shape, line)} for line in LINES[shape]
    )
    for shape in range(len(SHAPES))
)
"""By shape and sold line: the possible directions and what each leads to."""

LATER = tuple(
    tuple(tuple(_later(shape, sold, line) for line in range(len(LINES[shape]))) for sold in range(len(LINES[shape])))
    for shape in range(len(SHAPES))
)
"""By shape, sold line and other line: which line the other one is then; -1: broken."""

ADJACENT = tuple(
    tuple(_neighbours(shape, cell) for cell in range(rows * columns)) for shape, (rows, columns) in enumerate(SHAPES)
)
"""The cells that share a side with a cell, ascending."""


def lines_after(shape: int, sold: int, lines: int) -> int:
    """A set of lines (bit n = line n) after the sale of one line: those that are still whole, by their new numbers."""
    later = LATER[shape][sold]
    return sum(1 << later[line] for line in bits(lines) if later[line] >= 0)


def bits(lines: int) -> list[int]:
    """The lines of a set, ascending."""
    return [line for line in range(lines.bit_length()) if lines >> line & 1]
