"""Geometry of markers on Performance cards: corners, circles, legal places, links."""

import pytest

from guildhall.trickerion.v1.structs import Category, Direction
from services.trickerion import links
from services.trickerion.links import FREE, Layout, Place, corners, layout, top_of

UP, RIGHT, DOWN, LEFT = Direction.UP, Direction.RIGHT, Direction.DOWN, Direction.LEFT
SPIRITUAL, MECHANICAL, OPTICAL, ESCAPE = Category.SPIRITUAL, Category.MECHANICAL, Category.OPTICAL, Category.ESCAPE
CATEGORIES = (SPIRITUAL, MECHANICAL, OPTICAL, ESCAPE)
WAYS = (UP, RIGHT, DOWN, LEFT)

COLUMN = layout([(0, 0), (0, 1), (0, 2)], [(0, 1, True), (1, 2, False)])
"""Three slots, one below the other, with a Shard in the upper circle."""
CROOKED = layout([(0, 0), (0, 1), (0, 2), (1, 1)], [(0, 1, False), (1, 2, False), (1, 3, True)])
SQUARE = layout([(0, 0), (0, 1), (1, 0), (1, 1)], [(0, 1, False), (0, 2, False), (1, 3, False), (2, 3, False)])
"""Four slots in a ring."""


def tops(card: Layout, **markers: tuple[Category, Direction]) -> list[int]:
    """The tops by slot, with markers as s0=(category, orientation)."""
    found = [FREE] * len(card.slots)
    for name, (category, orientation) in markers.items():
        found[int(name[1:])] = top_of(category, orientation)
    return found


@pytest.mark.rule("TR-108")
@pytest.mark.parametrize("orientation", WAYS)
@pytest.mark.parametrize("category", CATEGORIES)
def test_corners_follow_clockwise_from_the_tricks_own(category: Category, orientation: Direction) -> None:
    shown = corners(category, orientation)
    assert shown[orientation] == category
    assert set(shown) == set(WAYS) and set(shown.values()) == set(CATEGORIES)
    for clockwise in range(4):
        direction = WAYS[(WAYS.index(orientation) + clockwise) % 4]
        assert shown[direction] == CATEGORIES[(CATEGORIES.index(category) + clockwise) % 4]


@pytest.mark.rule("TR-108")
def test_a_marker_lies_only_where_its_category_points_into_a_circle() -> None:
    assert COLUMN.places == (Place(0, DOWN), Place(1, UP), Place(1, DOWN), Place(2, UP))
    assert [place.orientation for place in CROOKED.places if place.slot == 1] == [UP, RIGHT, DOWN]
    assert [place for place in CROOKED.places if place.slot == 3] == [Place(3, LEFT)]
    assert len(SQUARE.places) == 8


@pytest.mark.rule("TR-110")
@pytest.mark.parametrize("first", CATEGORIES)
@pytest.mark.parametrize("second", CATEGORIES)
@pytest.mark.parametrize("first_way", WAYS)
@pytest.mark.parametrize("second_way", WAYS)
def test_a_link_is_two_equal_categories_in_one_circle(
    first: Category, second: Category, first_way: Direction, second_way: Direction
) -> None:
    """Every orientation of every pair, below one another and side by side."""
    a, b = corners(first, first_way), corners(second, second_way)
    below = tops(SQUARE, s0=(first, first_way), s1=(second, second_way))
    assert links.links(SQUARE, below) == ([0] if a[DOWN] == b[UP] else [])
    beside = tops(SQUARE, s0=(first, first_way), s2=(second, second_way))
    assert links.links(SQUARE, beside) == ([1] if a[RIGHT] == b[LEFT] else [])
    placed = top_of(second, second_way)
    assert links.links_of(SQUARE, tops(SQUARE, s0=(first, first_way)), 1, placed) == links.links(SQUARE, below)
    assert links.links_of(SQUARE, tops(SQUARE, s0=(first, first_way)), 2, placed) == links.links(SQUARE, beside)


@pytest.mark.rule("TR-A7")
def test_a_link_may_use_a_corner_of_another_category() -> None:
    """S25: Escape down above Mechanical down, whose upper corner is Escape."""
    board = tops(COLUMN, s0=(ESCAPE, DOWN))
    assert links.links_of(COLUMN, board, 1, top_of(MECHANICAL, DOWN)) == [0]
    assert COLUMN.circles[0].shard
    assert links.links_of(COLUMN, board, 1, top_of(MECHANICAL, UP)) == []


@pytest.mark.rule("TR-115")
def test_one_marker_may_make_several_links_or_none() -> None:
    """S26: between Escape above and Mechanical below."""
    board = tops(COLUMN, s0=(ESCAPE, DOWN), s2=(MECHANICAL, UP))
    assert links.links_of(COLUMN, board, 1, top_of(MECHANICAL, DOWN)) == [0, 1]
    assert links.links_of(COLUMN, board, 1, top_of(OPTICAL, DOWN)) == []
    assert links.across(COLUMN, 1, 1) == 2 and links.across(COLUMN, 1, 2) == 1


@pytest.mark.rule("TR-110")
def test_free_slots_and_neighbours_without_a_circle_make_no_link() -> None:
    ring = layout([(0, 0), (1, 0), (0, 1)], [(0, 1, False)])
    assert links.links(ring, tops(ring, s0=(ESCAPE, RIGHT))) == []
    assert links.links(ring, tops(ring, s0=(ESCAPE, DOWN), s2=(ESCAPE, UP))) == []
    assert links.links(ring, tops(ring, s0=(ESCAPE, RIGHT), s1=(ESCAPE, LEFT))) == [0]


@pytest.mark.parametrize(
    ("slots", "circles", "said"),
    [
        ([(0, 0), (0, 2)], [(0, 1, False)], "no neighbours"),
        ([(0, 0), (1, 1)], [(0, 1, False)], "no neighbours"),
        ([(0, 0), (0, 0)], [], "one place"),
        ([(0, 0), (0, 1)], [(0, 1, False), (1, 0, True)], "lies on another"),
    ],
)
def test_a_card_that_cannot_be_is_refused(
    slots: list[tuple[int, int]], circles: list[tuple[int, int, bool]], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        layout(slots, circles)
