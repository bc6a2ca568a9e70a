"""The magicians' abilities."""

import pytest

from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Assignment, Cause
from tests.games.trickerion.script import ALLEY, CONTENT, Script, assign, perform, place, seat

HOLD = {"c": seat("magician@saturday_stage")}
KEEPS = " c/walled@R10:0.0>right"


def yielded(t: Script, number: int) -> tuple[int, int, int]:
    """Fame, coins, Shards of yields that a seat has received by the last command."""
    kinds = (wire.FameGained, wire.CoinsGained, wire.ShardsGained)
    found = [sum(e.amount for e in t.told(kind) if e.seat == number and e.cause == Cause.YIELD) for kind in kinds]
    return found[0], found[1], found[2]


# --- Mechaniker


@pytest.mark.rule("TR-D27", "TR-D06", "TR-AD23")
def test_one_apprentice_of_the_mechaniker_has_a_point_more() -> None:
    told = seat("apprentice_1:workshop apprentice_2:workshop engineer:downtown", magician="mechaniker")
    t = place(2, a=told, options=ALLEY)
    t.a.does("place apprentice_1 workshop_1", "ability")
    t.a.has(ap=2)
    assert "ability" not in t.a.may
    t.a.does("enhance")
    t.a.has(ap=3)
    t.a.does("end")
    t.turn_of("a").does("place apprentice_2 workshop_2")
    t.a.cannot("ability", because="TR-D27")
    t = place(2, a=told)
    t.a.does("place apprentice_1 workshop_1")
    t.a.cannot("ability")


@pytest.mark.rule("TR-D27", "TR-AD23")
def test_not_for_others_and_not_in_the_theater() -> None:
    t = place(a=seat("engineer:workshop apprentice_1:theater", magician="mechaniker"), options=ALLEY)
    t.a.does("place engineer workshop_1")
    t.a.cannot("ability", because="TR-D27")
    t = place(a=seat("apprentice_1:theater", "linking_rings*2", magician="mechaniker"), options=ALLEY)
    t.a.does("place apprentice_1 thursday_1")
    t.a.cannot("ability", because="TR-D27")
    t = place(a=seat("apprentice_1:workshop", magician="electra"), options=ALLEY)
    t.a.does("place apprentice_1 workshop_1")
    t.a.cannot("ability")


@pytest.mark.rule("TR-D27", "TR-AD23", "TR-A36")
def test_the_ability_has_the_moments_of_an_enhance() -> None:
    told = seat("apprentice_1:component_sale", magician="mechaniker")
    t = place(a=told, options=ALLEY)
    t.a.does("place apprentice_1 market_row_4", "keep", "bonus")
    assert {"enhance", "ability"} <= set(t.a.may)
    t.a.does("ability", "enhance")
    t.a.has(ap=3, shards=0)
    t.a.does("component wood", "component metal", "component glass")
    assert t.a.may_begin("pay") == ["pay 0", "pay 1", "pay 2"]
    told = seat("apprentice_1:market_row", magician="mechaniker")
    t = place(a=told, options=ALLEY, rulings={"enhance_timing": "on_placing"})
    t.a.does("place apprentice_1 market_row_1", "order wood 0")
    t.a.cannot("ability", because="TR-AD23")


# --- Priestess of Mysticism


PRIESTESS = seat("magician:dark_alley", magician="priestess_of_mysticism")


@pytest.mark.rule("TR-D28")
def test_weaving_fate() -> None:
    t = place(a=PRIESTESS, options=ALLEY, prophecies="p01 / p11 p22 p14 / p05 p06")
    t.a.does("place magician dark_alley_1")
    ap = t.a.ap
    t.a.does("weave p22")
    t.has(prophecies="p22 / p11 p05 p14")
    t.a.has(ap=ap - 1)
    t.a.does("weave p14")
    t.has(prophecies="p14 / p11 p05 p06")
    assert t.hall.alley is not None and len(t.hall.alley.discarded) == 2
    t.a.cannot("weave p14")


@pytest.mark.rule("TR-AD7")
@pytest.mark.parametrize("ruling", ["forbid", "allow"])
def test_weaving_fate_without_an_active_prophecy(ruling: str) -> None:
    t = place(
        a=PRIESTESS,
        options=ALLEY,
        prophecies="- / p11 p22 p14 / p05",
        rulings={"fate_weaving_without_active": ruling},
    )
    t.a.does("place magician dark_alley_1")
    if ruling == "forbid":
        t.a.cannot("weave p22", because="TR-AD7")
    else:
        t.a.does("weave p22")
        t.has(prophecies="p22 / p11 p05 p14")


@pytest.mark.rule("TR-D28")
def test_others_cannot_weave_fate() -> None:
    t = place(a=seat("magician:dark_alley"), options=ALLEY, prophecies="p01 / p11 p22 p14 / p05")
    t.a.does("place magician dark_alley_1")
    t.a.cannot("weave p22", because="TR-D28")


@pytest.mark.rule("TR-AD8")
def test_a_new_prophecy_rules_what_follows() -> None:
    told = {
        "a": seat("magician:dark_alley apprentice:downtown", magician="priestess_of_mysticism", shards=0),
        "b": seat("magician:downtown engineer:workshop", shards=0),
        "options": ALLEY,
    }
    t = place(2, prophecies="p24 / p01 p22 p14 / p05", **told)
    t.a.does("place magician dark_alley_1")
    t.a.has(ap=5)
    t.a.does("weave p01")
    t.a.has(ap=4)
    t.a.does("end")
    t.b.does("place magician downtown_1")
    t.b.has(ap=3)


@pytest.mark.rule("TR-AD8", "TR-D110")
def test_cards_are_turned_up_when_prophecy_20_leaves() -> None:
    t = assign(
        2,
        a=seat("magician engineer", magician="priestess_of_mysticism"),
        b=seat("magician apprentice", hand="trick_tweaking"),
        options=ALLEY,
        prophecies="p20 / p11 p22 p14 / p05",
    )
    t.a.does("assign magician:dark_alley engineer:theater")
    t.b.does("assign magician:trick_tweaking apprentice_1:theater")
    assert {member.card for member in t.a.sees().players[1].team} == {0}
    t.a.does("place magician dark_alley_1")
    assert {member.card for member in t.a.sees().players[1].team} == {0}
    t.a.does("weave p11")
    cards = {member.card for member in t.a.sees().players[1].team}
    assert cards == {Assignment.TRICK_TWEAKING, Assignment.THEATER}


# --- Master of Chains


@pytest.mark.rule("TR-D29", "TR-AD24")
def test_breaking_free() -> None:
    t = perform(
        a=seat("magician@friday_stage", magician="master_of_chains"),
        stage="a/walled@R10:0.0>right b/levitation@R01:0.0>down b/living_piano@R01:0.2>up",
        options=ALLEY,
        prophecies="p10 / p11 p22 p14 / p05",
        **HOLD,
    )
    assert t.asked == {"a": "break_free"}
    t.a.cannot("reschedule R01:0.0")
    t.a.does("reschedule R10:0.0", "to R01:0.1>down")
    assert t.asked == {"a": "link_bonus"}
    t.a.does("coins")
    t.a.has(coins=12, fame=5)
    assert t.asked == {"a": "perform"}


@pytest.mark.rule("TR-D29")
def test_breaking_free_is_no_duty_and_only_his() -> None:
    stage = "a/walled@R10:0.0>right"
    t = perform(a=seat("magician", magician="master_of_chains"), stage=stage, options=ALLEY)
    assert t.asked == {"a": "break_free"}
    t.a.does("decline")
    t.has(stage=stage, phase="advertise")
    t = perform(a=seat("magician", magician="red_lotus"), stage=stage, options=ALLEY)
    assert t.phase == "advertise"


# --- Great Optico

OTHERS = "engineer:test_run~ manager:headliner_trick apprentice_1:empower"


@pytest.mark.rule("TR-D30", "TR-AD25")
def test_copying_a_special_card() -> None:
    t = place(
        a=seat(
            "engineer:workshop apprentice_1:downtown",
            "linking_rings:spades",
            "metal*2",
            magician="great_optico",
            shards=0,
        ),
        b=seat(
            "magician:trick_tweaking engineer:test_run~ manager:headliner_trick apprentice:empower", magician="electra"
        ),
        options=ALLEY,
    )
    t.a.does("place engineer workshop_1")
    assert t.asked == {"a": "copy_special"}
    assert set(t.a.may) == {"copy b magician", "decline"}
    t.a.does("copy b magician")
    if t.asked == {"a": "special_use"}:
        t.a.does("keep")
    t.a.does("bonus", "prepare linking_rings")
    t.a.has(tricks="linking_rings:spades*3")
    t.b.has(team=f"magician:trick_tweaking {OTHERS}")
    if t.asked == {"a": "act"}:
        t.a.does("end")
    t.turn_of("a").does("place apprentice_1 downtown_4")
    assert t.asked == {"a": "act"}, "once a turn"


@pytest.mark.rule("TR-D30", "TR-AD25")
def test_copying_for_a_point() -> None:
    t = place(
        a=seat("engineer:workshop", magician="great_optico", shards=0),
        b=seat("magician:trick_tweaking", magician="electra"),
        options=ALLEY,
    )
    t.a.does("place engineer workshop_1", "copy b magician", "point")
    t.a.has(ap=3)


@pytest.mark.rule("TR-D30")
def test_only_permanent_cards_copy() -> None:
    t = place(
        a=seat("engineer:test_run", "linking_rings", magician="great_optico"),
        b=seat("magician:trick_tweaking", magician="electra"),
        options=ALLEY,
    )
    t.a.does("place engineer workshop_1")
    assert t.asked == {"a": "special_use"}


# --- Red Lotus


@pytest.mark.rule("TR-D31", "TR-AD26")
@pytest.mark.parametrize("ruling", ["once", "each_own_trick"])
def test_how_often_yields_are_stolen(ruling: str) -> None:
    t = perform(
        a=seat("magician@friday_stage", magician="red_lotus"),
        display="G01 R10",
        stage="a/barricaded_barrels@G01:0.0>right a/stocks_escape@G01:0.1>down b/levitation@G01:0.2>up"
        " b/mind_reading@G01:1.0>left" + KEEPS,
        options=ALLEY,
        rulings={"trick_steal_times": ruling},
        **HOLD,
    )
    t.a.does("perform G01")
    assert t.asked == {"a": "steal"}
    assert "decline" in t.a.may
    t.a.does("steal 0 2")
    if ruling == "once":
        assert t.asked == {"c": "perform"}
        assert yielded(t, 0) == (2 + 0, 3 + 1, 0 + 1)
        assert yielded(t, 1) == (1, 3, 1)
    else:
        assert t.asked == {"a": "steal"}
        assert all(not words.startswith("steal 0 ") for words in t.a.may)
        t.a.does("steal 1 3")
        assert yielded(t, 0) == (2 + 0, 3 + 0, 0 + 1)
        assert yielded(t, 1) == (1 + 0, 3, 1)


@pytest.mark.rule("TR-D31", "TR-AD26")
def test_stealing_uses_her_own_modifiers() -> None:
    t = perform(
        a=seat("magician@thursday_stage", magician="red_lotus"),
        b=seat("magician apprentice@sunday_1"),
        stage="a/barricaded_barrels@R01:0.0>down b/levitation@R01:0.2>up" + KEEPS,
        options=ALLEY,
        **HOLD,
    )
    t.a.does("perform R01", "steal 0 2")
    assert yielded(t, 0) == (1, 2, 0)
    assert yielded(t, 1) == (2, 4, 0)


@pytest.mark.rule("TR-D31")
def test_not_as_a_guest() -> None:
    t = perform(
        a=seat("magician", magician="red_lotus"),
        b=seat("magician@friday_stage"),
        stage="a/barricaded_barrels@R01:0.0>down b/levitation@R01:0.2>up" + KEEPS,
        options=ALLEY,
        **HOLD,
    )
    t.b.does("perform R01")
    assert t.asked == {"c": "perform"}


# --- Yoruba Spiritmaster


POSSESSED = "a/linking_rings@R01:0.0>down b/living_piano@R01:0.2>up b/levitation@R10:0.0>right"


@pytest.mark.rule("TR-D32", "TR-AD27")
def test_possessing_a_performer() -> None:
    t = perform(
        a=seat("magician", magician="yoruba_spiritmaster"),
        b=seat("magician@friday_stage"),
        c=seat("magician@saturday_stage"),
        stage=POSSESSED + " c/walled@R10:1.1>up",
        options=ALLEY,
    )
    assert t.asked == {"a": "possess"}
    assert set(t.a.may) == {"possess R01", "possess R10", "decline"}
    t.a.does("possess R01")
    t.a.has(shards=0, coins=12)
    t.has(stage="b/levitation@R10:0.0>right c/walled@R10:1.1>up", asked={"c": "perform"})


@pytest.mark.rule("TR-D32", "TR-AD27")
def test_possession_needs_a_shard_and_may_be_declined() -> None:
    told = {"b": seat("magician@friday_stage"), "stage": POSSESSED, "options": ALLEY}
    t = perform(a=seat("magician", magician="yoruba_spiritmaster"), **told)
    t.a.does("decline")
    assert t.asked == {"b": "perform"}
    t = perform(a=seat("magician", magician="yoruba_spiritmaster", shards=0), **told)
    assert t.asked == {"b": "perform"}
    t = perform(a=seat("magician", magician="red_lotus"), **told)
    assert t.asked == {"b": "perform"}


# --- Electra


@pytest.mark.rule("TR-D33", "TR-AD28")
@pytest.mark.parametrize(("trick", "more"), [("linking_rings", 1), ("bullet_catch", 2), ("hellhound", 3)])
def test_a_pile_yields_more_by_level(trick: str, more: int) -> None:
    t = perform(
        a=seat("magician@friday_stage", magician="electra"),
        stage=f"a/{trick}@R01:0.0>down+" + KEEPS,
        options=ALLEY,
        **HOLD,
    )
    t.a.does("perform R01")
    printed = CONTENT.tricks[wire.Trick[trick.upper()]].yields
    assert yielded(t, 0) == (printed.fame + more, printed.coins + more, printed.shards)


@pytest.mark.rule("TR-D33", "TR-055", "TR-106", "TR-109")
def test_why_a_pile_cannot_be_set_up() -> None:
    told = seat("engineer:theater manager:workshop", "linking_rings:spades*2", magician="electra")
    stage = "b/living_piano@R01:0.0>down a/linking_rings@R10:0.0>right"
    t = place(a=told, stage=stage, options=ALLEY)
    t.a.does("place engineer saturday_1")
    t.a.cannot("pile linking_rings R01:0.0>down", because="TR-106")
    t.a.cannot("pile linking_rings R10:1.0>down", because="TR-109")
    t.a.cannot("pile mind_reading R01:0.1>up", because="TR-D33")
    t = place(a=told, options=ALLEY)
    t.a.does("place manager workshop_1")
    t.a.cannot("pile linking_rings R01:0.0>down", because="TR-055")


@pytest.mark.rule("TR-D33", "TR-AD28")
def test_a_pile_links_once_and_moves_as_one() -> None:
    t = place(
        a=seat("engineer:theater", "linking_rings:spades*3", magician="electra"),
        stage="b/living_piano@R01:0.0>down",
        options=ALLEY,
    )
    t.a.does("place engineer friday_1", "pile linking_rings R01:0.1>up", "fame")
    t.a.has(fame=6, shards=2, ap=1)
    t.a.does("reschedule R01:0.1", "to R10:0.0>right")
    t.has(stage="b/living_piano@R01:0.0>down a/linking_rings@R10:0.0>right+")
    t = place(a=seat("engineer:theater", "linking_rings*2", magician="mechaniker"), options=ALLEY)
    t.a.does("place engineer friday_1")
    t.a.cannot("pile linking_rings R01:0.0>down", because="TR-D33")
    t = place(a=seat("engineer:theater", "linking_rings*2", magician="electra"))
    t.a.does("place engineer friday_1")
    t.a.cannot("pile linking_rings R01:0.0>down")


# --- Gentleman


@pytest.mark.rule("TR-D34", "TR-D06", "TR-AD29", "TR-011")
@pytest.mark.parametrize(
    ("card", "slot", "fame"),
    [
        ("downtown", "downtown_4", 2),
        ("market_row", "market_row_4", 2),
        ("dark_alley", "dark_alley_4", 2),
        ("workshop", "workshop_1", 0),
        ("theater", "friday_1", 0),
    ],
)
def test_magic_for_the_masses(card: str, slot: str, fame: int) -> None:
    told = seat(f"magician:{card} engineer:{card}", "linking_rings*1 mind_reading", magician="gentleman")
    t = place(a=told, options=ALLEY)
    t.a.does(f"place magician {slot}")
    t.a.has(fame=5 + fame)
    t = place(a=told, options=ALLEY)
    t.a.does(f"place engineer {slot}")
    t.a.has(fame=5)
    if card != "dark_alley":
        t = place(a=told)
        t.a.does(f"place magician {slot}")
        t.a.has(fame=5)


@pytest.mark.rule("TR-AD29", "TR-AD45")
def test_the_gentleman_as_a_freelancer() -> None:
    t = place(a=seat("magician:freelancer", "linking_rings*1 mind_reading", magician="gentleman"), options=ALLEY)
    assert "place magician downtown_4" in t.a.may
    t.a.does("place magician downtown_4")
    t.a.has(fame=7)
