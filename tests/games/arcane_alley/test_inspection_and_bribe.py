"""Scenarios of inspection, fines, bribes and the end."""

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from tests.games.arcane_alley.script import bribe, inspect, seat, sell

NONE = seat("")


@pytest.mark.rule("AA-57", "AA-65", "AA-73", "AA-74", "AA-75", "AA-76", "AA-87", "AA-114", "AA-120")
def test_scenario_51_set_made_by_the_reveal() -> None:
    t = inspect(a=seat("CB CB ?CB / BF DE TC", gold=20), trigger="b")
    t.a.has(gold=29, infamy=8)
    assert not [event for event in t.story if isinstance(event, wire.ItemPeeked)]


@pytest.mark.rule("AA-78", "AA-80", "AA-82", "AA-18")
def test_scenario_52_penalty_and_fine() -> None:
    t = inspect(a=seat("HD SK FF", gold=34), b=seat("BC CB TC"), c=seat("SK SS BC"), trigger="a")
    t.a.has(infamy=6, gold=9, markers=0)
    t.b.has(infamy=8, gold=25)
    t.c.has(infamy=15, gold=25)
    (removed,) = [event for event in t.story if isinstance(event, wire.MarkersRemoved)]
    assert (removed.seat, removed.markers) == (0, 1)


@pytest.mark.rule("AA-79")
def test_scenario_53_tied_for_least() -> None:
    t = inspect(a=seat("BC CB TC"), b=seat("BC CB TC"), c=seat("HD SK HD"), trigger="a")
    t.a.has(infamy=8)
    t.c.has(infamy=20)


@pytest.mark.rule("AA-77", "AA-78", "AA-160", "RES-26")
def test_scenario_54_negative_totals() -> None:
    t = inspect(a=seat("HT IR DL", infamy=5), b=seat("CM IR DL"), c=seat("BC CB TC"), trigger="a")
    t.a.has(infamy=13)
    lost, gained = (
        next(e for e in t.story if isinstance(e, k) and e.seat == 0) for k in (wire.InfamyLost, wire.InfamyGained)
    )
    assert (lost.infamy, gained.amount) == (3, 10)


@pytest.mark.rule("AA-18", "RES-9")
@pytest.mark.parametrize(
    ("before", "grid", "infamy", "markers"),
    [(24, "TC IR DL", 0, 1), (20, "HD IR DL", 2, 1), (24, "HD SK SS / SK SS TC", 4, 2)],
)
def test_scenario_55_laps(before: int, grid: str, infamy: int, markers: int) -> None:
    t = inspect(a=seat(grid, infamy=before), trigger="b")
    gained = next(e for e in t.story if isinstance(e, wire.InfamyGained) and e.seat == 0)
    assert (gained.infamy, gained.markers) == (infamy, markers)
    t.a.has(infamy=infamy, markers=0)


@pytest.mark.rule("AA-13", "AA-19", "AA-81", "RES-10")
def test_scenario_56_overflow_at_two_markers() -> None:
    t = inspect(a=seat("HD SK HD", infamy=10, markers=2, gold=30), trigger="b")
    gained = next(e for e in t.story if isinstance(e, wire.InfamyGained) and e.seat == 0)
    assert (gained.infamy, gained.markers) == (24, 2)
    t.a.has(infamy=24, markers=0, gold=0)


@pytest.mark.rule("AA-17", "AA-77", "AA-139")
def test_scenario_57_infamy_ends_at_nothing() -> None:
    t = inspect(a=seat("CM IR DL", infamy=3), trigger="b")
    t.a.has(infamy=0)


@pytest.mark.rule("AA-57", "AA-67", "AA-75", "AA-114")
def test_scenario_58_two_sets_by_the_reveal() -> None:
    t = inspect(a=seat("?OW OW OW / TC IR DL / OW OW ?OW"), trigger="b", round=3)
    assert t.asked == {"a": "sale_order"} and sorted(t.a.may) == ["sell 0,0 0,2", "sell 2,0 2,2"]
    t.a.does("sell 2,0 2,2")
    t.a.has(gold=31, infamy=1, grid="TC IR DL")
    assert not [event for event in t.story if isinstance(event, wire.ItemPutOnDeck)]


@pytest.mark.rule("AA-199", "AA-201", "RES-29")
def test_scenario_59_glynna() -> None:
    t = inspect(a=seat("?SK DE DE / ?HD TC TC", wizard="glynna"), trigger="b", round=3)
    assert sorted(t.a.may) == ["pass", "remove 0,0", "remove 1,0"]
    t.a.does("remove 0,0")
    t.a.has(grid="-- DE DE / HD TC TC", infamy=17)


@pytest.mark.rule("AA-210", "AA-211", "RES-27")
def test_scenario_60_ninx() -> None:
    t = inspect(a=seat("CM HT CM", wizard="ninx"), trigger="b", round=3)
    assert t.asked == {"a": "ninx"}
    t.a.does("count HT")
    t.a.has(gold=23, infamy=0)

    t = inspect(a=seat("SS FF TC", wizard="ninx"), trigger="b", round=3)
    t.a.does("count FF")
    t.a.has(gold=29, infamy=14)


@pytest.mark.rule("AA-88", "AA-89", "AA-90", "AA-91", "AA-231", "AA-24")
def test_scenario_62_bribes() -> None:
    t = bribe(a=seat("", gold=7, infamy=9), b=seat("", gold=50, infamy=2), c=seat("", gold=50, infamy=2))
    assert t.asked == {"a": "bribe"} and t.a.may == ["bribe 2", "bribe 4", "bribe 6", "pass"]
    t.a.cannot("bribe 3", because="AA-89")
    t.a.cannot("bribe 8", because="AA-90")
    t.a.does("bribe 6")
    t.a.has(gold=1, infamy=6)
    assert t.asked == {"b": "bribe"} and t.b.may == ["bribe 2", "bribe 4", "pass"]
    t.b.cannot("bribe 6", because="AA-91")

    t = inspect(a=NONE, b=NONE, c=NONE, trigger="b", round=3)
    assert t.game.ended is not None


@pytest.mark.rule("AA-84", "AA-85", "AA-86", "AA-01", "RES-32")
def test_scenario_63_ties() -> None:
    t = inspect(a=seat("", gold=80, infamy=4), b=seat("", gold=80, infamy=4), c=seat("", gold=79), trigger="b", round=3)
    assert t.ranks == [1, 1, 3]
    t = inspect(a=seat("", gold=80, infamy=4), b=seat("", gold=80, infamy=3), c=seat("", gold=79), trigger="b", round=3)
    assert t.ranks == [2, 1, 3]


@pytest.mark.rule("RES-42", "AA-74")
def test_scenario_74_sword_revealed_with_the_set() -> None:
    t = inspect(a=seat("SK SK ?SK / ?SS TC BF", gold=10), b=NONE, c=NONE, trigger="b")
    t.a.has(gold=25, infamy=9)
    t.b.has(infamy=0)


@pytest.mark.rule("AA-230", "RES-30", "AA-209")
@pytest.mark.parametrize(
    ("order", "at_offer", "after"),
    [("reveal_all_then_score", (1, 25 - 15), (6, 7)), ("seat_by_seat", (7, 10), (5, 7))],
)
def test_scenario_75_dafana_at_the_reveal(order: str, at_offer: tuple[int, int], after: tuple[int, int]) -> None:
    t = inspect(
        a=seat("BC TC OW", gold=10, infamy=1, wizard="dafana"),
        b=seat("OW OW ?OW"),
        c=NONE,
        trigger="b",
        round=3,
        rulings={"inspection_order": order},
    )
    assert t.asked == {"a": "dafana"}
    t.a.has(infamy=at_offer[0], gold=at_offer[1])
    t.a.does("pay")
    t.a.has(infamy=after[0], gold=after[1])


@pytest.mark.rule("AA-48", "AA-71", "RES-52")
def test_scenario_78_the_trigger_stands() -> None:
    t = sell(a=seat("BF DL IR", stash="x y"), b=seat("?HD . .", stash="PL z"), c=seat(". . ."))
    t.a.passes()
    t.has(trigger="a")
    t.b.does("draw deck", "activate PL", "swap 0,0 a 0,0")
    t.a.has(grid="?HD DL IR")
    t.has(trigger="a", active="c")
    t.c.passes()
    counted = next(e for e in t.story if isinstance(e, wire.InfamyCounted) and e.seat == 0)
    assert counted.total == 7
    t.has(trigger="a")


@pytest.mark.rule("AA-213", "AA-214", "AA-215", "AA-120")
def test_scenario_79_byros_at_the_reveal() -> None:
    t = inspect(a=seat("HT HT ?HT", wizard="byros"), b=NONE, c=NONE, trigger="b", round=3)
    t.a.has(gold=28, infamy=0)
    t.b.has(infamy=0)
    assert not [e for e in t.story if isinstance(e, wire.InfamyGained) and e.cause == wire.Cause.SOLD]
