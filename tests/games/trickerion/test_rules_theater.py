"""Rules of the Theater in Place Characters: weekdays, markers, links."""

import pytest

from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Direction
from services.trickerion.links import STEPS
from tests.games.trickerion.script import CONTENT, Script, place, seat

HOLD = seat("magician:workshop apprentice:workshop")


def theater(tricks: str, stage: str = "", *, who: str = "engineer", slot: str = "friday_1", **told: object) -> Script:
    """Seat a has a Character backstage; an Engineer with 2 action points."""
    table = {name: told.pop(name) for name in ("display", "rulings", "b", "c") if name in told}
    t = place(a=seat(f"{who}:theater", tricks, **told), stage=stage, **table)
    t.a.does(f"place {who} {slot}")
    return t


@pytest.mark.rule("TR-102")
def test_one_weekday_a_turn() -> None:
    t = place(a=seat("magician:theater engineer:theater@saturday_2 apprentice:theater"))
    assert t.a.may_begin("place") == [
        "place magician saturday_1",
        "place magician saturday_stage",
        "place apprentice_1 saturday_1",
    ]
    t.a.cannot("place magician friday_1", because="TR-102")


@pytest.mark.rule("TR-103")
def test_not_on_an_opponents_weekday() -> None:
    t = place(
        a=seat("magician:theater"),
        b=seat("magician:workshop apprentice:theater@thursday_1"),
        c=seat("magician@sunday_stage"),
    )
    assert {words.split()[2].split("_")[0] for words in t.a.may_begin("place")} == {"friday", "saturday"}
    t.a.cannot("place magician thursday_2", because="TR-103")
    t.a.cannot("place magician sunday_1", because="TR-103")


@pytest.mark.rule("TR-105", "TR-118")
def test_performance_slots_take_magicians() -> None:
    t = place(a=seat("engineer:theater magician:theater"))
    t.a.cannot("place engineer friday_stage", because="TR-105")
    t.a.does("place magician friday_stage")
    assert t.asked == {"b": "place"}, "it has no action"
    t.turn_of("a").does("place engineer friday_2")


@pytest.mark.rule("TR-118", "TR-048")
def test_a_magician_needs_a_theater_card_for_the_stage() -> None:
    t = place(a=seat("magician:downtown"))
    t.a.cannot("place magician friday_stage", because="TR-048")


@pytest.mark.rule("TR-106", "TR-055")
def test_setting_up() -> None:
    t = theater("linking_rings*2 living_piano")
    t.a.cannot("set_up living_piano R01:0.0>down", because="TR-106")
    t.a.cannot("set_up stocks_escape R01:0.0>down", because="TR-106")
    t.a.does("set_up linking_rings R01:0.0>down")
    t.a.has(ap=1, tricks="linking_rings:spades*1 living_piano:hearts*0")
    t.has(stage="a/linking_rings@R01:0.0>down")
    t.a.cannot("buy wood 1", because="TR-055")
    t.a.does("set_up linking_rings R10:1.0>left")
    t.a.has(ap=0, tricks="linking_rings:spades*0 living_piano:hearts*0")


@pytest.mark.rule("TR-106")
def test_the_slot_must_be_free_and_on_display() -> None:
    t = theater("linking_rings*1", "b/living_piano@R01:0.0>down")
    t.a.cannot("set_up linking_rings R01:0.0>down", because="TR-106")
    t.a.cannot("set_up linking_rings R05:1.0>down", because="TR-106")


@pytest.mark.rule("TR-108")
@pytest.mark.parametrize("card", ["R01", "R08", "R10", "G01", "G05", "M01"])
def test_the_category_points_into_a_circle(card: str) -> None:
    t = theater("linking_rings*1", display=f"{card} R02")
    slots = CONTENT.performances[wire.PerformanceCard[card]].layout.slots
    circles = CONTENT.performances[wire.PerformanceCard[card]].layout.circles
    expected = set()
    for circle in circles:
        for here, there in ((circle.first, circle.second), (circle.second, circle.first)):
            step = (slots[there][0] - slots[here][0], slots[there][1] - slots[here][1])
            (direction,) = (d for d, way in STEPS.items() if way == step)
            expected.add(f"set_up linking_rings {card}:{slots[here][0]}.{slots[here][1]}>{direction.name.lower()}")
    assert set(t.a.may_begin(f"set_up linking_rings {card}")) == expected
    for x, y in slots:
        for direction in Direction:
            words = f"set_up linking_rings {card}:{x}.{y}>{direction.name.lower()}"
            if direction and words not in expected:
                t.a.cannot(words, because="TR-108")


@pytest.mark.rule("TR-109")
def test_equal_symbols_of_others_do_not_hinder() -> None:
    t = theater("linking_rings:spades*1", "b/living_piano@R01:0.0>down")
    t.a.does("set_up linking_rings R01:0.1>down")
    t.has(stage="b/living_piano@R01:0.0>down a/linking_rings@R01:0.1>down")


CATEGORIES = {"mind_reading": 1, "linking_rings": 2, "enchanted_butterflies": 3, "stocks_escape": 4}
CLOCKWISE = ("up", "right", "down", "left")


def shows(trick: str, direction: str, side: str) -> int:
    """The category at one side of a marker: own corner in `direction`, the others clockwise after it."""
    turned = (CLOCKWISE.index(side) - CLOCKWISE.index(direction)) % 4
    return (CATEGORIES[trick] - 1 + turned) % 4 + 1


@pytest.mark.rule("TR-110", "TR-A7", "TR-108")
@pytest.mark.parametrize("mine", CATEGORIES)
@pytest.mark.parametrize("theirs", CATEGORIES)
def test_links_of_all_categories_in_all_orientations(mine: str, theirs: str) -> None:
    """R08's middle slot has circles above, below and to the right."""
    told = {"0.0": ("down", "up"), "0.2": ("up", "down"), "1.1": ("left", "right")}
    for cell, (facing, side) in told.items():
        for direction in ("up", "down", "right"):
            t = theater(f"{mine}*1", f"b/{theirs}@R08:{cell}>{facing}", display="R08 R02")
            t.a.does(f"set_up {mine} R08:0.1>{direction}")
            linked = shows(mine, direction, side) == CATEGORIES[theirs]
            assert (t.asked == {"a": "link_bonus"}) == linked
            assert len(t.told(wire.LinkMade)) == linked
            if linked:
                shard = 1 if cell == "1.1" else 0
                t.a.does("coins")
                t.a.has(coins=11, shards=1 + shard)
                t.b.has(coins=10, fame=5, shards=1 + shard)


@pytest.mark.rule("TR-112", "TR-111")
@pytest.mark.parametrize(("trick", "amount"), [("levitation", 1), ("bullet_catch", 2), ("hellhound", 3)])
@pytest.mark.parametrize("choice", ["fame", "coins"])
def test_the_bonus_of_a_link(trick: str, amount: int, choice: str) -> None:
    options = {"dark_alley": "true"} if trick == "hellhound" else {}
    t = place(
        a=seat("engineer:theater", f"{trick}*1"),
        stage="b/linking_rings@R08:0.0>down",
        display="R08 R02",
        options=options,
    )
    t.a.does("place engineer friday_1", f"set_up {trick} R08:0.1>up", choice)
    t.a.has(**{"fame": 5, "coins": 10, choice: {"fame": 5, "coins": 10}[choice] + amount})
    t.b.has(fame=5, coins=10)


@pytest.mark.rule("TR-113", "TR-114", "TR-A8")
def test_shards_of_a_link() -> None:
    t = theater("linking_rings*1", "b/living_piano@R10:1.0>down")
    t.a.does("set_up linking_rings R10:1.1>up", "fame")
    t.a.has(shards=2, fame=6)
    t.b.has(shards=2, fame=5)
    t = theater("linking_rings*1", "b/living_piano@R10:1.0>left")
    t.a.does("set_up linking_rings R10:0.0>right", "fame")
    t.a.has(shards=1)


@pytest.mark.rule("TR-115", "TR-A42")
def test_four_links_could_be_paid_each_by_itself() -> None:
    stage = "b/linking_rings@R08:0.0>down c/stocks_escape@R08:1.1>left b/mind_reading@R08:0.2>right"
    t = theater("living_piano*1", stage, display="R08 R02")
    t.a.does("set_up living_piano R08:0.1>up")
    assert len(t.told(wire.LinkMade)) == 2
    assert t.a.may == ["fame", "coins"]
    t.a.does("fame")
    assert t.a.may == ["fame", "coins"]
    t.a.does("coins")
    t.a.has(fame=6, coins=11, shards=1)


@pytest.mark.rule("TR-115")
def test_no_link_is_needed() -> None:
    t = theater("linking_rings*1")
    t.a.does("set_up linking_rings R01:0.1>up")
    assert not t.told(wire.LinkMade)
    t.a.has(fame=5, coins=10, shards=1)


@pytest.mark.rule("TR-116", "TR-A23")
def test_rescheduling() -> None:
    t = theater("linking_rings:spades", "a/linking_rings@R01:0.0>down b/living_piano@R01:0.2>up")
    t.a.does("reschedule R01:0.0")
    assert t.asked == {"a": "reschedule"}
    assert not [words for words in t.a.may if words.startswith(("to R01:0.0", "to R01:0.2"))]
    t.a.cannot("to R01:0.0>down", because="TR-106")
    t.a.cannot("to R01:0.2>up", because="TR-106")
    t.a.cannot("to R01:0.1>left", because="TR-108")
    t.a.does("to R01:0.1>down")
    t.a.has(ap=1, fame=5, coins=10, shards=1)
    t.has(stage="a/linking_rings@R01:0.1>down b/living_piano@R01:0.2>up")
    t.a.cannot("reschedule R01:0.2", because="TR-116")
    t.a.cannot("reschedule R10:0.0", because="TR-116")
    t.a.does("reschedule R01:0.1", "to R10:1.0>left")
    t.has(stage="a/linking_rings@R10:1.0>left b/living_piano@R01:0.2>up")


@pytest.mark.rule("TR-116", "TR-109")
def test_rescheduling_keeps_the_rule_of_symbols() -> None:
    t = theater("linking_rings:spades", "a/linking_rings@R01:0.0>down a/linking_rings@R10:0.0>right")
    t.a.does("reschedule R01:0.0")
    t.a.cannot("to R10:1.0>left", because="TR-109")
    t.a.does("to R01:0.2>up")


@pytest.mark.rule("TR-119", "TR-104")
def test_a_magician_backstage_acts_and_does_not_perform() -> None:
    t = place(
        2,
        a=seat("magician:theater", "linking_rings*2"),
        b=seat("magician:workshop"),
        stage="a/living_piano@R10:0.0>right",
    )
    t.a.does("place magician thursday_1")
    t.a.has(ap=4)
    t.a.does("set_up linking_rings R01:0.0>down", "reschedule R10:0.0", "to R10:1.1>up", "end")
    t.b.does("idle magician")
    assert t.phase == "advertise"
    assert not [e for e in t.story if isinstance(e, wire.CardPerformed)]
    t.has(stage="a/linking_rings@R01:0.0>down a/living_piano@R10:1.1>up")


@pytest.mark.rule("TR-107", "TR-133")
def test_a_marker_stands_for_its_trick_until_performed() -> None:
    t = place(
        2,
        a=seat("magician:theater engineer:theater", "linking_rings:spades*1"),
        b=seat("magician:workshop magician:workshop"),
    )
    t.a.does("place engineer friday_1", "set_up linking_rings R01:0.0>down", "end")
    t.turn_of("a").does("place magician friday_stage")
    t.a.has(supply="3 4 4 4")
    t.begins("performance")
    t.a.does("perform R01")
    t.a.has(coins=12 - 2, supply="4 4 4 4", tricks="linking_rings:spades*0", shards=1 + 1 + 1)
    t.has(stage="")
