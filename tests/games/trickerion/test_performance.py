"""What performed Tricks yield: weekdays, guests, floors, bonuses, and the links that a Set Up makes."""

import pytest

from guildhall.trickerion.v1 import structs as wire
from services.trickerion.content import Yield
from services.trickerion.hooks import Change
from services.trickerion.yields import WEEKDAY, changed, yields
from tests.games.trickerion.script import CONTENT, Script, perform, place, seat

SKIP = {"modifier_on_absent_yield": "skip"}
DAYS = {"thursday": -1, "friday": 0, "saturday": 0, "sunday": 1}


@pytest.mark.rule("TR-128", "TR-A2")
def test_no_step_of_a_yield_falls_below_zero() -> None:
    def fame(printed: int, changes: list[int], skip: bool) -> int:
        return changed(Yield(printed), [Change(change, 0, source=WEEKDAY) for change in changes], skip).fame

    assert fame(2, [-1], False) == 1
    assert fame(0, [-1], False) == 0
    assert fame(0, [1], False) == 1
    assert fame(0, [1], True) == 0
    assert fame(1, [-1, -1, 1], False) == 1
    assert fame(1, [-1, 1], True) == 1
    assert changed(Yield(0), [Change(1, 0)], True).fame == 1
    assert changed(Yield(3, 2), [Change(-1, 0, 2, 1), Change(0, -3, 1, 2)], False) == Yield(4, 0)


def amounts(t: Script, card: str = "R08") -> dict[str, Yield]:
    """What each seat's Tricks on a card would yield if seat a performed it."""
    paid = yields(t.hall, CONTENT, 0, wire.PerformanceCard[card])
    return {f"{'abcd'[each.seat]}/{wire.Trick(each.trick).name.lower()}": each.amount for each in paid}


@pytest.mark.rule("TR-124", "TR-125", "TR-126", "TR-127", "TR-A47")
@pytest.mark.parametrize("own", [*DAYS, ""])
@pytest.mark.parametrize("performers", DAYS)
def test_the_own_weekday_changes_a_yield_and_without_one_the_performers(performers: str, own: str) -> None:
    if own == performers:
        own = ""
    guest = f"magician apprentice_1:theater@{own}_1" if own else "magician:workshop@workshop_1"
    t = perform(
        a=seat(f"magician:theater@{performers}_stage"),
        b=seat(guest),
        display="R08",
        stage="a/levitation@R08:0.0>down b/chinese_sticks@R08:0.1>up",
    )
    mine, theirs = DAYS[performers], DAYS[own or performers]
    assert amounts(t) == {
        "a/levitation": Yield(2 + mine, 3 + mine, 0),
        "b/chinese_sticks": Yield(1 + theirs, 2 + theirs, 0),
    }


@pytest.mark.rule("TR-128", "TR-A2")
@pytest.mark.parametrize(
    ("day", "rulings", "expected"),
    [
        ("thursday", {}, Yield(0, 0, 1)),
        ("friday", {}, Yield(0, 0, 1)),
        ("sunday", {}, Yield(1, 1, 1)),
        ("sunday", SKIP, Yield(0, 0, 1)),
    ],
)
def test_a_yield_of_nothing_is_changed_too(day: str, rulings: dict[str, str], expected: Yield) -> None:
    t = perform(
        a=seat(f"magician:theater@{day}_stage"),
        display="R08",
        stage="b/mind_reading@R08:0.1>up a/levitation@R08:0.0>down",
        rulings=rulings,
    )
    assert amounts(t)["b/mind_reading"] == expected


@pytest.mark.rule("TR-122", "TR-123", "TR-129", "TR-130", "TR-131", "TR-132", "TR-133", "TR-A46")
def test_a_whole_performance() -> None:
    """S37: one link, the Assistant backstage, guests with and without a weekday of their own."""
    t = perform(
        a=seat("magician:theater@thursday_stage assistant:theater@thursday_1 apprentice"),
        b=seat("magician:workshop@workshop_1"),
        c=seat("magician:theater@sunday_1"),
        display="R08",
        stage="a/linking_rings@R08:0.0>down b/chinese_sticks@R08:0.1>up c/stocks_escape@R08:1.1>left",
    )
    before = [(player.fame, player.coins, player.shards) for player in t.players]
    t.a.does("perform R08")
    paid = [
        (event.seat, type(event).__name__, event.amount)
        for event in t.story
        if isinstance(event, wire.FameGained | wire.CoinsGained | wire.ShardsGained)
        and event.cause in (wire.Cause.YIELD, wire.Cause.PERFORMER)
    ]
    gained = [[sum(n for s, k, n in paid if (s, k) == (seat, kind)) for kind in KINDS] for seat in range(3)]
    assert gained == [[4, 2, 0], [0, 1, 0], [1, 2, 1]]
    assert before == [(5, 10, 1)] * 3
    t.has(stage="")
    assert all(player.supply == "4 4 4 4" for player in t.players)


KINDS = ("FameGained", "CoinsGained", "ShardsGained")


@pytest.mark.rule("TR-111", "TR-113", "TR-115", "TR-A42")
def test_each_link_is_paid_apart_and_a_shard_goes_to_both() -> None:
    """S26: a level 2 Trick between two others, the upper circle with a Shard."""
    t = place(
        b=seat("magician:theater", "bullet_catch:spades*2"),
        order_of="bac",
        display="R01",
        stage="a/barricaded_barrels@R01:0.0>down c/living_piano@R01:0.2>up",
    )
    t.b.does("place magician friday_1", "set_up bullet_catch R01:0.1>down")
    assert t.asked == {"b": "link_bonus"}
    t.b.does("fame", "coins")
    t.b.has(fame=7, coins=12, shards=2)
    t.a.has(shards=2)
    t.c.has(shards=1, fame=5, coins=10)


@pytest.mark.rule("TR-108", "TR-109", "TR-116")
def test_what_is_listed_follows_the_circles_and_the_symbols() -> None:
    t = place(
        a=seat("magician:theater", "linking_rings:spades*1 living_piano:hearts*1"),
        display="R01 R10",
        stage="a/linking_rings@R01:0.0>down",
    )
    t.a.does("place magician friday_1")
    assert t.a.may_begin("set_up linking_rings") == [
        f"set_up linking_rings R10:{where}" for where in ("0.0>right", "1.0>down", "1.0>left", "1.1>up")
    ]
    assert t.a.may_begin("set_up living_piano R01") == [
        f"set_up living_piano R01:{where}" for where in ("0.1>up", "0.1>down", "0.2>up")
    ]
    assert t.a.may_begin("reschedule") == ["reschedule R01:0.0"]
    t.a.cannot("set_up linking_rings R01:0.1>up", because="TR-109")
    t.a.cannot("set_up linking_rings R10:0.0>left", because="TR-108")
    t.a.cannot("set_up living_piano R01:0.0>down", because="TR-106")
    t.a.does("reschedule R01:0.0")
    places = ("0.1>up", "0.1>down", "0.2>up")
    assert [said for said in t.a.may if "R01" in said] == [f"to R01:{where}" for where in places]
    t.a.cannot("to R01:0.0>down", because="TR-106")
