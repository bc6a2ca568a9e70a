"""Rules of the Performance phase."""

import pytest

from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Cause
from tests.games.trickerion.script import Script, perform, seat

HOLD = seat("magician@saturday_stage")
"""Keeps Friday's performance apart from End Turn."""
KEEPS = "c/linking_rings@R10:0.0>right"


def gained(t: Script, name: str, cause: Cause) -> tuple[int, int, int]:
    """Fame, coins, Shards that a seat has gained by the last command for that cause."""
    seat_of = "abcd".index(name)
    kinds = (wire.FameGained, wire.CoinsGained, wire.ShardsGained)
    found = [sum(e.amount for e in t.told(kind) if e.seat == seat_of and e.cause == cause) for kind in kinds]
    return found[0], found[1], found[2]


@pytest.mark.rule("TR-120")
def test_all_weekdays_in_order() -> None:
    days = {"a": "sunday", "b": "friday", "c": "thursday", "d": "saturday"}
    stage = "a/linking_rings@R01:0.0>down b/living_piano@R01:0.1>down c/chinese_sticks@R01:0.2>up"
    stage += " d/levitation@R10:0.0>right"
    t = perform(4, stage=stage, **{name: seat(f"magician@{day}_stage") for name, day in days.items()})
    order = []
    while t.phase == "performance":
        ((name, kind),) = t.asked.items()
        assert kind == "perform"
        order.append(name)
        t.players["abcd".index(name)].does("decline")
    assert "".join(order) == "cbda"


@pytest.mark.rule("TR-121", "TR-A4")
def test_which_cards_can_be_performed() -> None:
    t = perform(
        a=seat("magician@friday_stage"),
        c=HOLD,
        display="R01 R10 R02 R08",
        stage=f"a/linking_rings@R01:0.0>down a/linking_rings@R10:1.0>down b/living_piano@R02:0.0>down {KEEPS}",
    )
    assert sorted(t.a.may) == ["decline", "perform R01", "perform R10"]
    t.a.cannot("perform R02", because="TR-121")
    t.a.cannot("perform R08", because="TR-121")
    t.a.cannot("perform G01", because="TR-121")


@pytest.mark.rule("TR-121", "TR-A4")
@pytest.mark.parametrize("ruling", ["may", "must"])
def test_without_own_markers_nothing_is_asked(ruling: str) -> None:
    t = perform(a=seat("magician@friday_stage"), stage="b/linking_rings@R01:0.0>down", rulings={"perform": ruling})
    assert t.phase == "advertise"
    t.has(stage="b/linking_rings@R01:0.0>down")


@pytest.mark.rule("TR-118", "TR-119")
def test_without_a_magician_on_stage_nobody_performs() -> None:
    t = perform(a=seat("magician@friday_1 engineer@friday_2"), stage="a/linking_rings@R01:0.0>down")
    assert t.phase == "advertise"


@pytest.mark.rule("TR-122", "TR-123", "TR-A26")
def test_every_trick_on_the_card_yields() -> None:
    t = perform(
        a=seat("magician@friday_stage"),
        c=HOLD,
        display="G01 R10",
        stage=f"a/mind_reading@G01:0.0>right a/spirit_hand@G01:0.1>down b/walled@G01:0.2>up {KEEPS}",
    )
    t.a.does("perform G01")
    assert gained(t, "a", Cause.YIELD) == (0 + 2, 0 + 1, 1 + 1)
    assert gained(t, "b", Cause.YIELD) == (3, 2, 1)
    assert gained(t, "a", Cause.PERFORMER) == (2, 0, 0)
    assert gained(t, "b", Cause.PERFORMER) == (0, 0, 0)


@pytest.mark.rule("TR-124", "TR-125", "TR-126", "TR-127", "TR-128", "TR-A47")
@pytest.mark.parametrize(
    ("performer", "guest", "expected"),
    [
        ("friday", "", (3, 2, 1)),
        ("saturday", "", (3, 2, 1)),
        ("thursday", "", (2, 1, 1)),
        ("sunday", "", (4, 3, 1)),
        ("friday", "thursday", (2, 1, 1)),
        ("friday", "sunday", (4, 3, 1)),
        ("thursday", "sunday", (4, 3, 1)),
        ("sunday", "thursday", (2, 1, 1)),
        ("thursday", "saturday", (3, 2, 1)),
    ],
)
def test_whose_weekday_modifies(performer: str, guest: str, expected: tuple[int, int, int]) -> None:
    t = perform(
        a=seat(f"magician@{performer}_stage"),
        b=seat(f"magician apprentice@{guest}_1" if guest else "magician apprentice"),
        stage="a/linking_rings@R01:0.0>down b/walled@R01:0.2>up",
    )
    t.a.does("perform R01")
    assert gained(t, "b", Cause.YIELD) == expected


@pytest.mark.rule("TR-128", "TR-124", "TR-A2")
def test_a_yield_is_never_less_than_nothing() -> None:
    t = perform(a=seat("magician@thursday_stage"), stage="a/mind_reading@R01:0.0>down b/linking_rings@R01:0.2>up")
    t.a.does("perform R01")
    assert gained(t, "a", Cause.YIELD) == (0, 0, 1)
    assert gained(t, "b", Cause.YIELD) == (0, 1, 0)
    assert gained(t, "a", Cause.PERFORMER) == (0, 0, 1)


@pytest.mark.rule("TR-125", "TR-123")
def test_each_trick_is_modified() -> None:
    t = perform(
        a=seat("magician@sunday_stage"),
        display="G01 R10",
        stage="a/linking_rings@G01:0.0>right a/spirit_hand@G01:0.1>down a/walled@G01:0.2>up",
    )
    t.a.does("perform G01")
    assert gained(t, "a", Cause.YIELD) == (0 + 2 + 3 + 3, 2 + 1 + 2 + 3, 0 + 1 + 1)


@pytest.mark.rule("TR-129", "TR-A6", "TR-132")
def test_fame_for_links_of_anybody() -> None:
    stage = (
        "b/linking_rings@R08:0.0>down c/living_piano@R08:0.1>up c/stocks_escape@R08:1.1>left a/mind_reading@R08:0.2>up"
    )
    t = perform(a=seat("magician@friday_stage"), display="R08 R10", stage=stage)
    t.a.does("perform R08")
    links = 1 + 0 + 0
    assert gained(t, "a", Cause.PERFORMER) == (links + 1, 1, 0)
    assert gained(t, "b", Cause.PERFORMER) == gained(t, "c", Cause.PERFORMER) == (0, 0, 0)


@pytest.mark.rule("TR-130", "TR-132", "TR-A46")
@pytest.mark.parametrize(
    ("specialist", "bonus"), [("assistant", (2, 0, 0)), ("manager", (0, 3, 0)), ("engineer", (0, 0, 1))]
)
def test_specialists(specialist: str, bonus: tuple[int, int, int]) -> None:
    t = perform(
        a=seat(f"magician@friday_stage {specialist}@friday_1"),
        b=seat("magician engineer@sunday_1 manager@sunday_2 assistant@downtown_1"),
        c=HOLD,
        display="R10 R01",
        stage="a/linking_rings@R10:1.0>down b/walled@R10:1.1>up c/linking_rings@R01:0.0>down",
    )
    t.a.does("perform R10")
    assert gained(t, "a", Cause.PERFORMER) == (2 + bonus[0], bonus[1], bonus[2])
    assert gained(t, "b", Cause.PERFORMER) == (0, 0, 0)


@pytest.mark.rule("TR-131")
@pytest.mark.parametrize(
    ("card", "bonus"),
    [
        ("R01", (0, 0, 1)),
        ("R02", (1, 1, 0)),
        ("R11", (0, 2, 0)),
        ("G03", (0, 3, 0)),
        ("G07", (1, 0, 1)),
        ("G08", (3, 0, 0)),
    ],
)
def test_the_cards_bonus(card: str, bonus: tuple[int, int, int]) -> None:
    cell = {"G07": "1.0>down"}.get(card, "0.0>down")
    t = perform(a=seat("magician@friday_stage"), display=f"{card} R10", stage=f"a/linking_rings@{card}:{cell}")
    t.a.does(f"perform {card}")
    assert gained(t, "a", Cause.PERFORMER) == bonus


@pytest.mark.rule("TR-133")
def test_markers_go_to_supply_and_the_card_stays() -> None:
    t = perform(
        a=seat("magician@friday_stage", "linking_rings:clubs*1"),
        b=seat("magician", "walled:hearts"),
        c=HOLD,
        stage=f"a/linking_rings@R01:0.0>down b/walled@R01:0.2>up {KEEPS}",
    )
    t.a.has(supply="4 4 4 2")
    t.a.does("perform R01")
    t.a.has(supply="4 4 4 3", tricks="linking_rings:clubs*1")
    t.b.has(supply="4 4 4 4")
    t.has(display="R01 R10", stage=KEEPS)


@pytest.mark.rule("TR-A14")
def test_performing_needs_no_components() -> None:
    t = perform(a=seat("magician@friday_stage", components=""), c=HOLD, stage=f"a/walled@R01:0.0>down {KEEPS}")
    t.a.does("perform R01")
    t.a.has(fame=8, coins=12, shards=1 + 1 + 1)


@pytest.mark.rule("TR-134", "TR-A5")
def test_a_card_is_performed_once() -> None:
    t = perform(
        a=seat("magician@friday_stage"),
        b=seat("magician@saturday_stage"),
        stage="a/linking_rings@R01:0.0>down b/living_piano@R01:0.1>down b/chinese_sticks@R10:0.0>right",
    )
    t.a.does("perform R01")
    assert t.b.may == ["perform R10", "decline"]
    t.b.cannot("perform R01", because="TR-121")
