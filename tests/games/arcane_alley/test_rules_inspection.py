"""Rules of inspection, fines, the end, bribes."""

from typing import Any

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from guildhall.arcane_alley.v1.structs import Phase
from tests.games.arcane_alley.script import bribe, inspect, seat, sell, stock_all

NONE = seat("")


@pytest.mark.rule("AA-24", "AA-01")
def test_three_rounds_of_four_phases() -> None:
    t = sell(a=seat("HD DL IR"))
    t.a.passes()
    t.b.passes()
    t.c.passes()
    t.has(round=2)
    phases = [type(e) for e in t.story if isinstance(e, wire.InspectionStarted | wire.BribeStarted | wire.RoundStarted)]
    assert phases[:2] == [wire.InspectionStarted, wire.BribeStarted]
    stock_all(t)
    t.has(phase=Phase.SELL, round=2)
    last = inspect(a=NONE, b=NONE, c=NONE, trigger="a", round=3)
    assert last.game.ended is not None
    assert not [e for e in last.story if isinstance(e, wire.BribeStarted)]


@pytest.mark.rule("AA-83")
def test_the_round_marker_advances() -> None:
    for number in (1, 2):
        t = inspect(a=seat("", infamy=5), b=NONE, c=NONE, trigger="b", round=number)
        t.has(round=number + 1, phase=Phase.BRIBE)
        assert t.asked == {"a": "bribe"}


@pytest.mark.rule("AA-73", "RES-42", "RES-30")
def test_reveals_in_turn_order_all_of_a_seat_at_once() -> None:
    t = inspect(a=seat("?HD ?DL BC"), b=seat("?SK * ?IR"), c=seat("?CB ?CM ?HT"), first="b", trigger="a", round=3)
    revealed = [(e.seat, e.cells) for e in t.story if isinstance(e, wire.ItemsRevealed)]
    assert revealed == [(1, (0, 2)), (2, (0, 1, 2)), (0, (0, 1))]
    counted = [e.seat for e in t.story if isinstance(e, wire.InfamyCounted)]
    assert counted == [1, 2, 0]


@pytest.mark.rule("RES-30", "AA-230")
@pytest.mark.parametrize(("ruling", "order"), [("reveal_all_then_score", "RRRCCC"), ("seat_by_seat", "RCRCRC")])
def test_order_of_revealing_and_counting(ruling: str, order: str) -> None:
    t = inspect(
        a=seat("?HD DL BC"), b=seat("?SK DL BC"), c=seat("?CB DL BC"), trigger="a", round=3,
        rulings={"inspection_order": ruling},
    )  # fmt: skip
    letters: dict[type[Any], str] = {wire.ItemsRevealed: "R", wire.InfamyCounted: "C"}
    assert "".join(letters[type(e)] for e in t.story if type(e) in letters) == order
    penalty = [e for e in t.story if isinstance(e, wire.InfamyGained) and e.cause == wire.Cause.TRIGGER]
    assert [(e.seat, e.amount) for e in penalty] == [(0, 10)]


@pytest.mark.rule("RES-42", "AA-146")
def test_feline_just_revealed_counts() -> None:
    t = inspect(a=seat("DE DE ?FF / * . *"), b=NONE, c=NONE, trigger="b", round=3)
    t.a.has(gold=45)


@pytest.mark.rule("RES-1", "AA-57")
def test_lines_that_were_there_before_are_no_sets() -> None:
    t = inspect(a=seat("FC FC FC / BC ?DE CB"), b=NONE, c=NONE, trigger="b", round=3)
    t.a.has(gold=25, infamy=6 + 4 + 4 + 3)


@pytest.mark.rule("RES-1", "RES-2", "AA-69")
def test_a_slide_in_an_inspection() -> None:
    """It makes no natural set, but a Feline's."""
    t = inspect(a=seat("TC BC BC / BC ?TC u / v w TC"), b=NONE, c=NONE, trigger="b", round=3)
    t.a.does("slide vertical")
    t.a.has(gold=27, grid="BC BC BC / v w u")
    t = inspect(a=seat("TC BC FF / BC ?TC u / v w TC"), b=NONE, c=NONE, trigger="b", round=3)
    t.a.does("slide vertical")
    t.a.has(gold=42, grid="v w u")
    t = inspect(
        a=seat("TC BC FF / BC ?TC u / v w TC"), b=NONE, c=NONE, trigger="b", round=3,
        rulings={"feline_is_continuous": "false"},
    )  # fmt: skip
    t.a.does("slide vertical")
    t.a.has(gold=27, grid="BC BC FF / v w u")


@pytest.mark.rule("AA-68", "RES-7")
def test_crossing_sets_in_an_inspection() -> None:
    t = inspect(a=seat("FC FC FC / FC ?BC HD / ?FC SK ?DL"), b=NONE, c=NONE, trigger="b", round=3)
    t.a.has(gold=32, grid="FC FC / BC HD / SK DL")


@pytest.mark.rule("AA-76", "AA-77", "AA-20")
@pytest.mark.parametrize(
    ("grid", "before", "total", "after"),
    [("HD BC IR", 3, 11, 14), ("CM BC DL", 3, -1, 2), ("CM HT DL", 3, -7, 0), ("IR DL BF", 0, 3, 3), ("", 7, 0, 7)],
)
def test_counting(grid: str, before: int, total: int, after: int) -> None:
    t = inspect(a=seat(grid, infamy=before), b=NONE, c=NONE, trigger="b", round=3)
    (counted,) = [e.total for e in t.story if isinstance(e, wire.InfamyCounted) and e.seat == 0]
    assert counted == total
    t.a.has(infamy=after)


@pytest.mark.rule("AA-78", "AA-79", "RES-26")
@pytest.mark.parametrize(
    ("signed", "a", "b", "penalty"),
    [
        ("true", "HT IR DL", "CM IR DL", True),
        ("false", "HT IR DL", "CM IR DL", False),
        ("true", "IR DL TC", "IR DL TC", False),
        ("true", "IR DL CB", "IR DL TC", True),
        ("false", "IR DL CB", "CM IR DL", True),
        ("false", "IR DL TC", "CM IR DL", True),
    ],
)
def test_who_gained_the_least(signed: str, a: str, b: str, penalty: bool) -> None:
    t = inspect(
        a=seat(a), b=seat(b), c=seat("HD SK SS"), trigger="a", round=3,
        rulings={"least_infamy_uses_signed_total": signed},
    )  # fmt: skip
    gained = [e for e in t.story if isinstance(e, wire.InfamyGained) and e.cause == wire.Cause.TRIGGER]
    assert [(e.seat, e.amount) for e in gained] == ([(0, 10)] if penalty else [])


@pytest.mark.rule("AA-70", "AA-78")
def test_only_the_trigger_is_penalized() -> None:
    t = inspect(a=seat("IR DL TC"), b=seat("HD SK SS"), c=seat("HD SK SS"), trigger="a", round=3)
    assert t.hall.infamy == [1, 18, 18]


@pytest.mark.rule("AA-80", "AA-81", "AA-13")
@pytest.mark.parametrize(("markers", "gold", "left"), [(0, 60, 60), (1, 60, 35), (2, 60, 10), (2, 30, 0), (1, 3, 0)])
def test_fines(markers: int, gold: int, left: int) -> None:
    t = inspect(a=seat("", gold=gold, markers=markers), b=NONE, c=NONE, trigger="b", round=3)
    t.a.has(gold=left, markers=0)


@pytest.mark.rule("AA-82")
def test_the_penaltys_marker_is_paid_at_once() -> None:
    t = inspect(a=seat("IR DL BC", infamy=15, gold=60), b=NONE, c=NONE, trigger="a", round=3)
    t.a.has(infamy=15 + 4 + 10 - 25, gold=35, markers=0)


@pytest.mark.rule("RES-9", "AA-18")
@pytest.mark.parametrize(("lap", "infamy"), [("25", 4), ("24", 5)])
def test_laps(lap: str, infamy: int) -> None:
    t = inspect(a=seat("IR DL BC", infamy=20), b=seat("IR DL BC", infamy=24), trigger="c", rulings={"infamy_lap": lap})
    assert t.hall.infamy[0] == 24
    gained = next(e for e in t.story if isinstance(e, wire.InfamyGained) and e.seat == 1)
    assert (gained.infamy, gained.markers) == (infamy - 1, 1)


@pytest.mark.rule("RES-10", "AA-19")
@pytest.mark.parametrize(
    ("overflow", "lap", "infamy"),
    [
        ("clamp_24", "25", 24),
        ("wrap_without_marker", "25", 5),
        ("clamp_24", "24", 24),
        ("wrap_without_marker", "24", 6),
    ],
)
def test_overflow_at_two_markers(overflow: str, lap: str, infamy: int) -> None:
    t = inspect(
        a=seat("HD SK HD", infamy=10, markers=2, gold=80), b=NONE, c=NONE, trigger="b", round=3,
        rulings={"infamy_overflow_at_two_markers": overflow, "infamy_lap": lap},
    )  # fmt: skip
    gained = next(e for e in t.story if isinstance(e, wire.InfamyGained) and e.seat == 0)
    assert (gained.infamy, gained.markers) == (infamy, 2)
    t.a.has(gold=30)


@pytest.mark.rule("RES-11", "AA-21")
def test_losing_infamy_gives_no_marker_back() -> None:
    t = bribe(a=seat("", gold=60, infamy=9, markers=1))
    t.a.does("bribe 18")
    t.a.has(infamy=0, markers=1)


@pytest.mark.rule("AA-84", "AA-85", "AA-86")
@pytest.mark.parametrize(
    ("gold", "infamy", "ranks"),
    [
        ((30, 40, 20), (0, 9, 0), [2, 1, 3]),
        ((30, 30, 30), (3, 2, 1), [3, 2, 1]),
        ((30, 30, 30), (2, 2, 1), [2, 2, 1]),
        ((30, 30, 30), (2, 2, 2), [1, 1, 1]),
    ],
)
def test_ranks(gold: tuple[int, ...], infamy: tuple[int, ...], ranks: list[int]) -> None:
    a, b, c = (seat("", gold=g, infamy=i) for g, i in zip(gold, infamy, strict=True))
    assert inspect(a=a, b=b, c=c, trigger="a", round=3).ranks == ranks


@pytest.mark.rule("AA-89", "AA-90", "AA-91", "AA-88")
def test_bribes_once_each_in_turn_order() -> None:
    t = bribe(a=seat("", gold=20, infamy=9), b=seat("", gold=20, infamy=9), c=seat("", gold=20, infamy=9), first="b")
    order = []
    while "bribe" in t.asked.values():
        (name,) = t.asked
        order.append(name)
        t.players["abc".index(name)].does("bribe 2" if name != "c" else "pass")
    assert order == ["b", "c", "a"]
    assert (t.hall.gold, t.hall.infamy) == ([18, 18, 20], [8, 8, 9])


@pytest.mark.rule("AA-90", "AA-91", "AA-231")
@pytest.mark.parametrize(("gold", "infamy", "most"), [(7, 9, 6), (50, 2, 4), (50, 24, 48), (2, 1, 2)])
def test_how_much_can_be_bribed(gold: int, infamy: int, most: int) -> None:
    t = bribe(a=seat("", gold=gold, infamy=infamy))
    assert t.a.may == [*(f"bribe {n}" for n in range(2, most + 1, 2)), "pass"]
    for words in ("bribe 0", "bribe 1", f"bribe {most + 1}", f"bribe {most + 2}"):
        t.a.cannot(words)


@pytest.mark.rule("AA-66", "AA-99", "AA-92")
def test_storehouses_and_stashes_are_whole_again() -> None:
    t = bribe(a=seat("", stash="DE DE DE DE"), b=seat("* * *", stash=""), round=1)
    stock_all(t)
    for player in t.players:
        assert len(player.grid.replace("/", "").split()) == 9 and len(player.stash.split()) == 2


@pytest.mark.rule("AA-90", "AA-91")
def test_why_a_bribe_is_refused() -> None:
    t = bribe(a=seat("", gold=20, infamy=2))
    t.a.cannot("bribe 20", because="AA-91")
    t.a.cannot("bribe 22", because="AA-90")
    t.a.cannot("bribe 0", because="AA-89")


@pytest.mark.rule("AA-20", "AA-78")
def test_what_an_inspection_says_of_infamy() -> None:
    t = inspect(a=seat("IR DL CB"), b=seat("IR DL TC"), c=NONE, trigger="a", round=3)
    assert t.told(wire.InfamyGained) == [
        wire.InfamyGained(0, 3, 3, 0, wire.Cause.INSPECTION, 0),
        wire.InfamyGained(1, 1, 1, 0, wire.Cause.INSPECTION, 0),
        wire.InfamyGained(0, 10, 13, 0, wire.Cause.TRIGGER, 0),
    ]


@pytest.mark.rule("AA-77", "AA-21")
def test_what_is_said_of_lost_infamy() -> None:
    t = inspect(a=seat("CM IR DL", infamy=7), b=NONE, c=NONE, trigger="b", round=3)
    assert t.told(wire.InfamyLost) == [wire.InfamyLost(0, 5, 2, wire.Cause.INSPECTION, 0)]
