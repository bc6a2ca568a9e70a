"""Rules of sets, their sale, and how a storehouse closes up."""

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from tests.games.arcane_alley.script import seat, sell

STACKS = [
    ((0, 0), (0, 1), (0, 2)),
    ((1, 0), (1, 1), (1, 2)),
    ((2, 0), (2, 1), (2, 2)),
    ((0, 0), (1, 0), (2, 0)),
    ((0, 1), (1, 1), (2, 1)),
    ((0, 2), (1, 2), (2, 2)),
    ((0, 0), (1, 1), (2, 2)),
    ((0, 2), (1, 1), (2, 0)),
]


def written(cells: dict[tuple[int, int], str], rows: int = 3, columns: int = 3) -> str:
    """A storehouse with these items, and hidden fillers."""
    return " / ".join(" ".join(cells.get((r, c), ".") for c in range(columns)) for r in range(rows))


@pytest.mark.rule("AA-34", "AA-54", "AA-61", "AA-66")
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("last", range(3))
def test_every_stack_of_a_full_storehouse(stack: tuple[tuple[int, int], ...], last: int) -> None:
    cells = {cell: "FC" for n, cell in enumerate(stack) if n != last}
    t = sell(a=seat(written(cells), stash="FC y"))
    t.a.does("draw deck", "play FC {},{}".format(*stack[last]))
    if stack in STACKS[6:]:
        t.a.does("slide vertical")
    t.a.has(gold=32)
    assert len(t.a.grid.replace("/", "").split()) == 6


@pytest.mark.rule("AA-34", "AA-54")
@pytest.mark.parametrize(
    ("grid", "cell"),
    [
        ("FC FC . / ?x . . / . . .", "1,0"),
        ("FC . FC / . ?x . / . . .", "1,1"),
        ("FC FC / ?x .  / . .", "1,0"),
        ("FC . / FC . / . ?x", "2,1"),
        ("FC . FC / . ?x .", "1,1"),
        ("FC ?FC ?x / . . . / . . .", "0,2"),
        ("FC CM ?x / . . . / . . .", "0,2"),
    ],
)
def test_what_is_no_stack_or_no_set(grid: str, cell: str) -> None:
    t = sell(a=seat(grid, stash="FC y"))
    t.a.does("draw deck", f"play FC {cell}")
    t.a.has(gold=25)
    assert not t.told(wire.SetSold)


@pytest.mark.rule("AA-61", "AA-66", "AA-69")
@pytest.mark.parametrize(
    ("grid", "cell", "after"),
    [
        ("FC FC ?x / k . l / ?m n .", "0,2", "k . l / ?m n ."),
        ("k . l / FC ?x FC / ?m n .", "1,1", "k . l / ?m n ."),
        ("k . l / ?m n . / FC ?x FC", "2,1", "k . l / ?m n ."),
        ("FC k . / FC l ?m / ?x n .", "2,0", "k . / l ?m / n ."),
        ("k FC . / l FC ?m / n ?x .", "2,1", "k . / l ?m / n ."),
        ("k . FC / l ?m FC / n . ?x", "2,2", "k . / l ?m / n ."),
        ("FC FC ?x / k . l", "0,2", "k . l"),
        ("k . l / FC FC ?x", "1,2", "k . l"),
        ("FC k / FC . / ?x l", "2,0", "k / . / l"),
        ("k FC / . FC / l ?x", "2,1", "k / . / l"),
        ("FC FC ?x", "0,2", ""),
        ("FC / FC / ?x", "2,0", ""),
    ],
)
def test_how_each_shape_closes_up(grid: str, cell: str, after: str) -> None:
    t = sell(a=seat(grid, stash="FC y"))
    t.a.does("draw deck", f"play FC {cell}")
    t.a.has(grid=after, gold=32)


@pytest.mark.rule("AA-62", "AA-69")
@pytest.mark.parametrize(("direction", "grid"), [("vertical", "k l m / n o p"), ("horizontal", "l m / k p / n o")])
def test_the_other_diagonal(direction: str, grid: str) -> None:
    t = sell(a=seat("FC l m / k FC p / n o ?z", stash="FC y"))
    t.a.does("draw deck", "play FC 2,2", f"slide {direction}")
    t.a.has(grid=grid)


@pytest.mark.rule("AA-60", "AA-63", "AA-64", "AA-118", "AA-119")
def test_order_of_a_sale() -> None:
    t = sell(a=seat("HT HT ?x / . . . / . . .", stash="HT y"))
    t.a.does("draw deck", "play HT 0,2")
    before = [type(e) for e in t.events if isinstance(e, wire.SetSold | wire.StorehouseSlid | wire.InfamyGained)]
    assert before == [wire.SetSold, wire.StorehouseSlid]
    t.has(set_aside="HT HT HT")
    t.a.does("choose c")
    t.c.has(infamy=5)
    assert [e.amount for e in t.story if isinstance(e, wire.InfamyGained)] == [5]

    t = sell(a=seat("DE DE ?x / . . . / . . .", stash="DE y"))
    t.a.does("draw deck", "play DE 0,2")
    t.a.has(gold=45, grid=". . . / . . .")
    assert t.asked == {"a": "choose_player"}


@pytest.mark.rule("AA-59", "AA-58", "AA-131", "AA-103")
def test_nothing_of_a_sale_can_be_declined() -> None:
    t = sell(a=seat("BC BC ?x / . . . / . . .", stash="BC y"))
    t.a.does("draw deck", "play BC 0,2")
    t.a.cannot("pass")
    t.a.cannot("skip")
    t.a.does("lose infamy")
    t.a.has(gold=40, infamy=0)


@pytest.mark.rule("RES-8")
@pytest.mark.parametrize(
    ("ruling", "may"),
    [("owner_choice", ["sell 0,0 0,2", "sell 0,2 2,2"]), ("natural_first", None)],
)
def test_natural_or_feline_first(ruling: str, may: list[str] | None) -> None:
    t = sell(a=seat("DE DE ?x / . . DE / . . FF", stash="DE y"), rulings={"natural_or_feline_first": ruling})
    t.a.does("draw deck", "play DE 0,2")
    if may is None:
        assert t.asked == {"a": "choose_player"}
        t.a.has(grid=". . DE / . . FF")
    else:
        assert t.a.may == may
        t.a.does("sell 0,2 2,2")
        t.a.has(grid="DE DE / . . / . .")


@pytest.mark.rule("RES-2")
@pytest.mark.parametrize(("ruling", "gold"), [("true", 49), ("false", 29)])
def test_feline_is_continuous(ruling: str, gold: int) -> None:
    t = sell(a=seat("TC DE FF / DE TC ?x / ?u ?v ?w", stash="TC y"), rulings={"feline_is_continuous": ruling})
    t.a.does("draw deck", "play TC 2,2", "slide vertical")
    t.a.has(gold=gold)


@pytest.mark.rule("RES-2")
def test_feline_that_is_not_continuous_sells_when_played() -> None:
    rulings = {"feline_is_continuous": "false"}
    t = sell(a=seat("DE DE ?x / . . . / . . .", stash="FF y"), rulings=rulings)
    t.a.does("draw deck", "play FF 0,2", "choose b")
    t.a.has(gold=45)

    t = sell(a=seat("HD HD ?x / . . . / . . .", stash="HD y"), b=seat("FF HD ?BF / . . . / . . ."), rulings=rulings)
    t.a.does("draw deck", "play HD 0,2", "doll b 0,2", "doll c 0,0")
    t.b.has(grid="FF HD HD / . . . / . . .", gold=25)

    t = sell(a=seat("BC ?OW BC / . . . / . . .", stash="PL y"), b=seat(". . . / . FF . / . . ."), rulings=rulings)
    t.a.does("draw deck", "activate PL", "swap 0,1 b 1,1")
    t.a.has(grid="BC FF BC / . . . / . . .", gold=25)


@pytest.mark.rule("RES-2")
def test_feline_is_not_looked_at_before_the_played_effect() -> None:
    """A Mirror beside a Feline and its pair hides one of them before the sale."""
    t = sell(a=seat("CM ?x FF / . . . / . . .", stash="CM y"))
    t.a.does("draw deck", "play CM 0,1")
    t.a.has(grid="?CM CM ?FF / . . . / . . .", gold=25)


@pytest.mark.rule("RES-38")
@pytest.mark.parametrize(("ruling", "sold"), [("true", True), ("false", False)])
def test_three_felines_by_a_slide(ruling: str, sold: bool) -> None:
    t = sell(
        a=seat("TC FF FF / FF TC ?x / ?u ?v ?w", stash="TC y", wizard="byros"),
        rulings={"three_felines_continuous": ruling},
    )
    t.a.does("draw deck", "play TC 2,2", "slide vertical")
    t.a.has(gold=25 + 2 + 2 + 3 + 3 * sold, grid="?u ?v ?x" if sold else "FF FF FF / ?u ?v ?x")


@pytest.mark.rule("RES-38")
def test_three_felines_by_a_play_are_a_natural_set() -> None:
    t = sell(
        a=seat("FF FF ?x / . . . / . . .", stash="FF y", wizard="byros"),
        rulings={"three_felines_continuous": "false"},
    )
    t.a.does("draw deck", "play FF 0,2")
    t.a.has(gold=28, grid=". . . / . . .")


@pytest.mark.rule("RES-24", "AA-170", "AA-176", "AA-180", "AA-194")
@pytest.mark.parametrize("code", ["ML", "PL", "SC", "WW"])
@pytest.mark.parametrize(("ruling", "sold"), [("true", True), ("false", False)])
def test_sets_of_specials(code: str, ruling: str, sold: bool) -> None:
    t = sell(
        a=seat(f"{code} FF ?x / . . . / . . .", stash=f"{code} y", wizard="byros"),
        rulings={"special_sets_sell_for_zero": ruling},
    )
    t.a.does("draw deck", f"play {code} 0,2")
    t.a.has(gold=28 if sold else 25, infamy=0)
    assert bool(t.told(wire.SetSold)) == sold


@pytest.mark.rule("AA-68")
def test_two_felines_lines_one_after_the_other() -> None:
    """A play that opens two independent sets: the second is still there after the first."""
    t = sell(a=seat("TC DE FF / DE TC BC / ?u ?v ?x", stash="TC y"))
    t.a.does("draw deck", "play TC 2,2", "slide vertical", "choose b")
    t.a.has(gold=49)


@pytest.mark.rule("RES-24")
def test_other_sets_sell_where_specials_make_none() -> None:
    t = sell(a=seat("FC FC ?x / . . . / . . .", stash="FC y"), rulings={"special_sets_sell_for_zero": "false"})
    t.a.does("draw deck", "play FC 0,2")
    t.a.has(gold=32)
