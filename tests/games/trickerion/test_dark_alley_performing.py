"""Special cards for Perform (TR-D56 to TR-D58), and how modifiers of yields go together (TR-D23)."""

from typing import Any

import pytest

from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Cause
from tests.games.trickerion.script import ALLEY, Script, place, seat

STAGE = "a/linking_rings@R08:0.0>down b/levitation@R08:0.1>right"
"""a's Trick yields 0 Fame, 2 coins; b's 2 Fame, 3 coins. No link."""


def performing(card: str, *, day: str = "friday", stage: str = STAGE, **more: Any) -> Script:
    """Seat a's Magician stands on the Performance slot with the bonus of this card; Thursday begins."""
    a = seat(f"magician:{card}", more.pop("tricks", ""), fame=more.pop("fame", 5))
    told = {"b": seat("magician"), "c": seat("magician"), "display": "R08 R10", "options": ALLEY} | more
    t = place(a=a, stage=stage, **told)
    t.a.does(f"place magician {day}_stage", "keep")
    t.begins("performance")
    return t


def gained(t: Script, kind: type[Any], cause: Cause) -> dict[str, int]:
    """How much of that each seat gained for that cause in the last command."""
    found: dict[str, int] = {}
    for event in t.told(kind):
        if event.cause == cause:
            found["abcd"[event.seat]] = found.get("abcd"[event.seat], 0) + event.amount
    return found


# --- Durable Components


@pytest.mark.rule("TR-D56", "TR-AD34", "TR-A50")
def test_a_performed_marker_returns_to_its_trick_after_sunday() -> None:
    t = performing("durable_components")
    t.a.does("perform R08")
    assert t.asked == {"a": "durable"}
    assert t.a.may == ["decline", "trick linking_rings"]
    t.a.has(tricks="linking_rings:spades*0", supply="4 4 4 4")
    t.a.does("trick linking_rings")
    t.a.has(tricks="linking_rings:spades*1", supply="3 4 4 4")


@pytest.mark.rule("TR-D56", "TR-AD34")
def test_it_may_stay_in_the_supply_and_nothing_returns_without_a_performance() -> None:
    t = performing("durable_components")
    t.a.does("perform R08", "decline")
    t.a.has(tricks="linking_rings:spades*0")
    t = performing("durable_components")
    t.a.does("decline")
    assert t.asked != {"a": "durable"}


# --- Arranged Fiasco


@pytest.mark.rule("TR-D57", "TR-AD35")
def test_a_fiasco_changes_the_fame_of_each_yield() -> None:
    t = performing("arranged_fiasco")
    t.a.does("perform R08")
    assert gained(t, wire.FameGained, Cause.YIELD) == {"a": 1, "b": 1}
    assert gained(t, wire.CoinsGained, Cause.YIELD) == {"a": 2, "b": 3}


@pytest.mark.rule("TR-AD35", "TR-D57")
def test_by_ruling_a_fiasco_stands_apart_from_yields() -> None:
    t = performing("arranged_fiasco", day="thursday", rulings={"arranged_fiasco": "flat"})
    t.a.does("perform R08")
    assert gained(t, wire.FameGained, Cause.YIELD) == {"b": 1}
    assert gained(t, wire.FameGained, Cause.SPECIAL) == {"a": 1}
    assert [(e.seat, e.amount) for e in t.told(wire.FameLost)] == [(1, 1)]


@pytest.mark.rule("TR-D23", "TR-AD10", "TR-D57")
def test_modifiers_act_in_the_order_that_gives_most() -> None:
    t = performing("arranged_fiasco", day="thursday")
    t.a.does("perform R08")
    # a: 0 printed, -1 for Thursday stays 0, then +1 for the fiasco; b: 2 - 1 - 1.
    assert gained(t, wire.FameGained, Cause.YIELD) == {"a": 1}
    t = performing("arranged_fiasco", day="sunday", stage="a/linking_rings@R08:0.0>down b/mind_reading@R08:0.2>up")
    t.a.does("perform R08")
    # b's Trick yields no Fame: first -1 for the fiasco, then +1 for Sunday.
    assert gained(t, wire.FameGained, Cause.YIELD) == {"a": 2, "b": 1}


@pytest.mark.rule("TR-AD10", "TR-D23")
@pytest.mark.parametrize(("order", "fame"), [("modifiers 0 1", {"a": 2, "b": 1}), ("modifiers 1 0", {"a": 2})])
def test_by_ruling_owners_order_their_modifiers(order: str, fame: dict[str, int]) -> None:
    t = performing(
        "arranged_fiasco",
        day="sunday",
        stage="a/linking_rings@R08:0.0>down b/mind_reading@R08:0.2>up",
        rulings={"yield_modifier_order": "ask"},
    )
    t.a.does("perform R08")
    assert t.asked == {"b": "modifier_order"}
    assert t.b.may == ["modifiers 0 1", "modifiers 1 0"]
    t.b.does(order)
    assert gained(t, wire.FameGained, Cause.YIELD) == fame


@pytest.mark.rule("TR-AD10")
def test_nobody_is_asked_for_an_order_that_does_not_matter() -> None:
    stage = "a/burning_mummy@R08:0.0>down b/levitation@R08:0.2>up"
    t = performing("arranged_fiasco", day="thursday", stage=stage, rulings={"yield_modifier_order": "ask"})
    t.a.does("perform R08")
    assert gained(t, wire.FameGained, Cause.YIELD) == {"a": 2}


# --- Grand Premiere


@pytest.mark.rule("TR-D58", "TR-AD36")
@pytest.mark.parametrize(
    ("choice", "found"),
    [
        ("premiere stocks_escape fame", (3, 3, 2)),
        ("premiere stocks_escape coins", (2, 5, 2)),
        ("premiere mind_reading shards", (2, 3, 3)),
        ("decline", (2, 3, 2)),
    ],
)
def test_a_premiere_yields_one_resource_twice(choice: str, found: tuple[int, int, int]) -> None:
    """On Sunday both Tricks yield 1 Fame and a Shard, and 2 and 1 coins."""
    t = performing("grand_premiere", day="sunday", stage="a/stocks_escape@R08:0.0>down a/mind_reading@R08:0.2>up")
    t.a.does("perform R08")
    assert len(t.a.may_begin("premiere")) == 6
    t.a.does(choice)
    kinds = (wire.FameGained, wire.CoinsGained, wire.ShardsGained)
    assert tuple(gained(t, kind, Cause.YIELD).get("a", 0) for kind in kinds) == found


@pytest.mark.rule("TR-D58", "TR-D23", "TR-AD10")
@pytest.mark.parametrize(("resource", "found"), [("fame", (5, 1)), ("coins", (2, 3))])
def test_a_premieres_doubling_comes_before_what_thursday_takes(resource: str, found: tuple[int, int]) -> None:
    """3 Fame and 2 coins: twice, then 1 less, is more than 1 less, then twice."""
    t = performing("grand_premiere", day="thursday", stage="a/window_to_the_otherworld@R08:0.0>down")
    t.a.does("perform R08", f"premiere window_to_the_otherworld {resource}")
    paid = tuple(gained(t, kind, Cause.YIELD).get("a", 0) for kind in (wire.FameGained, wire.CoinsGained))
    assert paid == found


@pytest.mark.rule("TR-D58", "TR-D23", "TR-AD10")
@pytest.mark.parametrize(("order", "fame"), [("modifiers 1 0", 5), ("modifiers 0 1", 4)])
def test_the_owner_orders_a_premieres_doubling_too(order: str, fame: int) -> None:
    stage = "a/window_to_the_otherworld@R08:0.0>down"
    t = performing("grand_premiere", day="thursday", stage=stage, rulings={"yield_modifier_order": "ask"})
    t.a.does("perform R08", "premiere window_to_the_otherworld fame")
    assert t.asked == {"a": "modifier_order"}
    t.a.does(order)
    assert gained(t, wire.FameGained, Cause.YIELD) == {"a": fame}


@pytest.mark.rule("TR-AD10")
def test_the_first_yield_without_an_order_is_the_one_that_is_asked_for() -> None:
    stage = "c/linking_rings@R08:0.0>down a/linking_rings@R08:0.1>right b/mind_reading@R08:0.2>up"
    t = performing("arranged_fiasco", day="sunday", stage=stage, rulings={"yield_modifier_order": "ask"})
    t.a.does("perform R08")
    for player, slots in ((t.c, [0, 2]), (t.b, [2])):
        alley = t.a.sees().dark_alley
        assert alley is not None and [asked.slot for asked in alley.unordered] == slots
        player.does("modifiers 1 0")
        assert [(e.seat, e.slot) for e in t.told(wire.YieldModified)] == [(player.number, slots[0])]


@pytest.mark.rule("TR-AD10", "TR-D58")
@pytest.mark.parametrize("resigns", [False, True])
def test_without_an_answer_the_order_is_the_one_that_gives_most(resigns: bool) -> None:
    stage = "a/window_to_the_otherworld@R08:0.0>down"
    t = performing("grand_premiere", day="thursday", stage=stage, rulings={"yield_modifier_order": "ask"})
    t.a.does("perform R08", "premiere window_to_the_otherworld fame")
    assert t.asked == {"a": "modifier_order"}
    if resigns:
        t.a.resigns()
    else:
        t.a.waits_too_long()
    assert gained(t, wire.FameGained, Cause.YIELD) == {"a": 5}


@pytest.mark.rule("TR-D57", "TR-A2", "TR-AD35")
def test_a_fiasco_raises_what_a_trick_does_not_yield_whatever_the_weekdays_ruling() -> None:
    stage = "a/linking_rings@R08:0.0>down"
    t = performing("arranged_fiasco", stage=stage, rulings={"modifier_on_absent_yield": "skip"})
    t.a.does("perform R08")
    assert gained(t, wire.FameGained, Cause.YIELD) == {"a": 1}


@pytest.mark.rule("TR-D58", "TR-D54", "TR-D33", "TR-AD36")
@pytest.mark.parametrize(("first", "second"), [("", "+"), ("+", "")])
def test_of_two_markers_of_a_trick_the_better_one_has_the_premiere(first: str, second: str) -> None:
    """A pile yields 4 coins, a single marker 3."""
    stage = f"a/levitation@R08:0.0>down{first} a/levitation@R08:0.2>up{second}"
    t = performing("grand_premiere", stage=stage)
    t.a.does("perform R08", "premiere levitation coins")
    assert gained(t, wire.CoinsGained, Cause.YIELD)["a"] == 3 + 2 * 4


@pytest.mark.rule("TR-D58", "TR-AD36")
def test_a_trick_that_was_performed_before_has_no_premiere() -> None:
    t = performing("grand_premiere", rulings={"edition": "revised_2019"})
    assert t.hall.alley is not None
    t.hall.alley.performed[0] = [int(wire.Trick.LINKING_RINGS)]
    t.a.does("perform R08")
    assert t.asked != {"a": "premiere"}


@pytest.mark.rule("TR-D58", "TR-AD36")
def test_a_performance_as_a_guest_counts_as_the_first() -> None:
    t = performing("grand_premiere")
    t.a.does("perform R08", "decline")
    assert t.hall.alley is not None
    assert t.hall.alley.performed[:2] == [[wire.Trick.LINKING_RINGS], [wire.Trick.LEVITATION]]


# --- the choice on a Performance slot


@pytest.mark.rule("TR-AD1", "TR-AD2", "TR-D15")
def test_an_action_point_is_of_no_use_on_a_performance_slot() -> None:
    t = place(a=seat("magician:arranged_fiasco"), options=ALLEY)
    t.a.does("place magician friday_stage")
    assert t.asked == {"a": "special_use"}
    t.a.does("point")
    t.a.has(ap=0)
    assert t.hall.alley is not None and t.hall.alley.performing == [0, 0, 0]


@pytest.mark.rule("TR-AD2", "TR-AD1")
def test_backstage_a_card_for_perform_is_an_action_point() -> None:
    t = place(a=seat("magician:arranged_fiasco", shards=0), options=ALLEY)
    t.a.does("place magician friday_1")
    assert t.asked == {"a": "act"}
    t.a.has(ap=4)
