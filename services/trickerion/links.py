"""Geometry of Performance cards: slots, Link circles, and the corners of the markers that lie there (TR-108 to TR-115).

A Trick marker has four corners, clockwise Spiritual, Mechanical, Optical, Escape. Its orientation is the direction in
which the corner of its Trick's category points; the other corners follow clockwise. What matters beside a neighbour is
the category at each corner, and one number tells them all: the category of the corner that points up, its `top`.

Categories and directions are 1 to 4, both clockwise, as in the contract; a top of 0 is a free slot. Slots are named by
their place in the pack's list of the card's slots.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from guildhall.trickerion.v1.structs import Category, Direction

FREE: Final = 0
"""The top of a slot without marker."""

STEPS: Final = {
    Direction.UP: (0, -1),
    Direction.RIGHT: (1, 0),
    Direction.DOWN: (0, 1),
    Direction.LEFT: (-1, 0),
}
"""What a direction adds to a slot's column and row."""


class Circle(NamedTuple):
    """A Link circle between two neighbouring slots."""

    first: int
    second: int
    shard: bool


class Place(NamedTuple):
    """A slot and an orientation: where and how a marker may lie."""

    slot: int
    orientation: int


@dataclass(frozen=True)
class Layout:
    """One Performance card's slots and circles."""

    slots: tuple[tuple[int, int], ...]
    """Column and row of each slot."""
    circles: tuple[Circle, ...]
    around: tuple[tuple[tuple[int, int, int], ...], ...]
    """By slot: (direction, circle, slot on its other side) of each circle that touches it, clockwise from up."""
    places: tuple[Place, ...]
    """Every slot with every direction in which it has a circle: what TR-108 allows to a marker of any category."""


def layout(slots: Sequence[tuple[int, int]], circles: Sequence[tuple[int, int, bool]]) -> Layout:
    """The layout of a card. Raises ValueError where slots coincide, or a circle joins slots that are no neighbours."""
    if len(set(slots)) != len(slots):
        raise ValueError("two slots lie in one place")
    around: list[list[tuple[int, int, int]]] = [[] for _ in slots]
    for number, (first, second, _) in enumerate(circles):
        for here, there in ((first, second), (second, first)):
            step = (slots[there][0] - slots[here][0], slots[there][1] - slots[here][1])
            direction = next((d for d, way in STEPS.items() if way == step), None)
            if direction is None:
                raise ValueError(f"circle {number + 1} joins slots that are no neighbours")
            if any(direction == other for other, _, _ in around[here]):
                raise ValueError(f"circle {number + 1} lies on another one")
            around[here].append((int(direction), number, there))
    touching = tuple(tuple(sorted(circles_here)) for circles_here in around)
    return Layout(
        slots=tuple(slots),
        circles=tuple(Circle(*circle) for circle in circles),
        around=touching,
        places=tuple(Place(slot, way) for slot, here in enumerate(touching) for way, _, _ in here),
    )


def top_of(category: int, orientation: int) -> int:
    """The category at the upper corner of a marker whose own category points in that direction."""
    return (category - orientation) % 4 + 1


def corner(top: int, direction: int) -> int:
    """The category at the corner that points in that direction."""
    return (top + direction - 2) % 4 + 1


def linked(first: int, second: int) -> bool:
    """Whether two neighbouring markers with these tops show equal categories in the circle between them (TR-110).

    The corners that meet point in opposite directions, so the markers are turned by half a turn against each other,
    wherever the circle lies between them.
    """
    return first != FREE and second != FREE and abs(first - second) == 2


def links(card: Layout, tops: Sequence[int]) -> list[int]:
    """The circles in which two markers are linked; `tops` is by slot."""
    return [number for number, (a, b, _) in enumerate(card.circles) if linked(tops[a], tops[b])]


def links_of(card: Layout, tops: Sequence[int], slot: int, top: int) -> list[int]:
    """The circles in which a marker with this top in this slot is linked with the markers around it."""
    return [circle for _, circle, other in card.around[slot] if linked(top, tops[other])]


def across(card: Layout, circle: int, slot: int) -> int:
    """The slot on the other side of a circle."""
    first, second, _ = card.circles[circle]
    return second if slot == first else first


def corners(category: int, orientation: int) -> dict[Direction, Category]:
    """The category at each corner of a marker."""
    top = top_of(category, orientation)
    return {direction: Category(corner(top, direction)) for direction in Direction if direction}
