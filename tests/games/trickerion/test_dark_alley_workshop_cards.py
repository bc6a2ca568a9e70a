"""Special cards of the Workshop (TR-D61 to TR-D70)."""

from typing import Any

import pytest

from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Member
from tests.games.trickerion.script import ALLEY, Script, place, seat, spectator

PIANO = "living_piano:spades"
"""Three markers for 1 point; needs animal, glass, wood."""
PARTS = "animal*1 glass*1 wood*1"


def acting(
    card: str, tricks: str = PIANO, components: str = PARTS, *, kind: str = "engineer", armed: bool = True, **more: Any
) -> Script:
    """Seat a's Character acts in its Workshop with the bonus of this card armed."""
    own = {name: more.pop(name) for name in ("coins", "shards", "lost", "hired", "fame") if name in more}
    team = more.pop("team", "")
    told = seat(f"{kind}:{card} {team}", tricks, components, **({"shards": 0} | own))
    t = place(a=told, options=ALLEY, **more)
    t.a.does(f"place {kind} workshop_1", "keep")
    if armed:
        t.a.does("bonus")
    return t


@pytest.mark.rule("TR-D61")
@pytest.mark.parametrize(
    ("tricks", "markers"), [("linking_rings:spades", 3), ("linking_rings:spades!", 4), ("living_piano:spades!", 4)]
)
def test_a_tweaked_trick_has_one_marker_more(tricks: str, markers: int) -> None:
    t = acting("trick_tweaking", tricks, f"{PARTS} metal*2")
    name = tricks.split(":")[0]
    t.a.does(f"prepare {name}")
    assert t.a.markers(name) == markers


@pytest.mark.rule("TR-D62", "TR-AD39")
def test_a_test_run_yields_at_once_without_a_weekday() -> None:
    t = acting("test_run", "burning_mummy:spades", "petroleum*1 fabric*3")
    t.a.does("prepare burning_mummy")
    t.a.has(fame=7, coins=12, tricks="burning_mummy:spades*0", ap=1)


@pytest.mark.rule("TR-D62", "TR-D67", "TR-AD39", "TR-AD42")
def test_a_test_run_of_an_enhanced_trick_yields_more() -> None:
    told = seat("engineer:test_run apprentice:enhance_trick", PIANO, PARTS, shards=1)
    t = place(2, a=told, b=seat("magician:workshop"), options=ALLEY)
    t.a.does("place apprentice workshop_1", "keep", "bonus", "prepare living_piano")
    t.a.has(shards=0, tricks="living_piano:spades*3")
    assert t.hall.alley is not None and t.hall.alley.enhanced == [wire.Trick.LIVING_PIANO]
    t.b.does("idle magician")
    t.a.does("place engineer workshop_2", "keep")
    t.a.cannot("bonus", because="TR-D14")  # markers lie on the Trick
    t.a.does("give_back living_piano")
    assert t.hall.alley.enhanced == []


@pytest.mark.rule("TR-D63", "TR-AD39")
def test_parts_make_a_marker_on_another_trick() -> None:
    tricks = "living_piano:spades linking_rings:hearts*2 mechanical_hornet:clubs"
    t = acting("replaceable_parts", tricks)
    t.a.does("prepare living_piano")
    assert t.a.may == ["trick linking_rings"]
    t.a.does("trick linking_rings")
    t.a.has(tricks="living_piano:spades*2 linking_rings:hearts*3 mechanical_hornet:clubs*0")


@pytest.mark.rule("TR-D63", "TR-AD39")
@pytest.mark.parametrize("tricks", [PIANO, "living_piano:spades mechanical_hornet:hearts"])
def test_parts_need_another_trick_of_no_higher_threshold(tricks: str) -> None:
    t = acting("replaceable_parts", tricks, armed=False)
    t.a.cannot("bonus", because="TR-D14")


@pytest.mark.rule("TR-D63", "TR-AD39")
def test_parts_need_a_marker_in_supply() -> None:
    t = acting("replaceable_parts", "living_piano:spades linking_rings:hearts", armed=False, lost="hearts*4")
    t.a.cannot("bonus", because="TR-D14")


@pytest.mark.rule("TR-D64", "TR-AD52")
@pytest.mark.parametrize(
    ("trick", "components", "fame"),
    [("living_piano", PARTS, 1), ("linking_rings", "metal*2", 0), ("paper_shred", "mirror*1 saw*2 fabric*3", 3)],
)
def test_an_invention_brings_fame_for_what_is_above_basic(trick: str, components: str, fame: int) -> None:
    t = acting("invention", f"{trick}:spades", components)
    t.a.does(f"prepare {trick}")
    t.a.has(fame=5 + fame)


@pytest.mark.rule("TR-D65", "TR-AD40")
@pytest.mark.parametrize("slot", ["", "!"])
def test_ingenuity_does_with_one_type_short(slot: str) -> None:
    t = acting("ingenuity", PIANO + slot, "animal*1 glass*1")
    t.a.does("prepare living_piano")
    assert t.a.markers("living_piano") == 1


@pytest.mark.rule("TR-D65", "TR-AD40")
@pytest.mark.parametrize("components", ["animal*1", PARTS])
def test_ingenuity_is_for_exactly_one_type(components: str) -> None:
    t = acting("ingenuity", components=components, armed=False)
    t.a.cannot("bonus", because="TR-D14")


@pytest.mark.rule("TR-D65")
def test_ingenuity_counts_a_type_of_which_some_are_there() -> None:
    t = acting("ingenuity", "linking_rings:spades", "metal*1")
    t.a.does("prepare linking_rings")
    t.a.has(tricks="linking_rings:spades*1", components="metal*1")


@pytest.mark.rule("TR-D66", "TR-AD41")
def test_a_prototype_uses_up_what_it_needs() -> None:
    t = acting("unstable_prototype", "linking_rings:spades", "metal*3 wood*1")
    t.a.does("prepare linking_rings")
    assert t.a.may == ["component metal", "decline"]
    t.a.does("component metal", "component metal", "component metal")
    t.a.has(components="wood*1", tricks="linking_rings:spades*3", fame=8, coins=13)


@pytest.mark.rule("TR-D66", "TR-AD41")
@pytest.mark.parametrize(("used", "markers"), [(0, 2), (1, 3), (2, 3)])
def test_a_prototype_may_use_fewer(used: int, markers: int) -> None:
    t = acting("unstable_prototype", "linking_rings:spades", "metal*3")
    t.a.does("prepare linking_rings", *["component metal"] * used, "decline")
    t.a.has(tricks=f"linking_rings:spades*{markers}", fame=5 + used, coins=10 + used)


@pytest.mark.rule("TR-D66", "TR-AD41")
def test_the_managers_bonus_is_no_token_to_use_up() -> None:
    t = acting("unstable_prototype", "linking_rings:spades", "metal*1!", team="manager")
    t.a.does("prepare linking_rings", "component metal")
    assert t.a.may == ["decline"]


@pytest.mark.rule("TR-D67", "TR-AD42")
def test_enhancing_needs_a_shard() -> None:
    t = acting("enhance_trick", armed=False)
    t.a.cannot("bonus", because="TR-D14")


@pytest.mark.rule("TR-D68", "TR-AD43")
def test_a_marker_goes_on_stage_at_once_and_nobody_is_paid() -> None:
    stage = "b/barricaded_barrels@R01:0.0>down"
    t = acting("on_stage_preparation", stage=stage, prophecies="p13 / p23 p17 p11 / p10")
    t.a.does("prepare living_piano")
    t.a.cannot("set_up living_piano R01:0.0>down", because="TR-D68")
    t.a.does("set_up living_piano R01:0.1>down")
    t.has(stage=f"{stage} a/living_piano@R01:0.1>down")
    t.a.has(tricks="living_piano:spades*2", fame=5, coins=10, shards=0)
    t.b.has(shards=1)
    assert not t.told(wire.LinkMade)


@pytest.mark.rule("TR-D68", "TR-AD43")
def test_the_marker_may_stay_and_symbols_lie_apart() -> None:
    t = acting("on_stage_preparation", stage="a/living_piano@R01:0.0>down", tricks="")
    t.a.does("prepare living_piano")
    assert all(" R10:" in words for words in t.a.may_begin("set_up"))
    t.a.does("decline")
    assert t.a.markers("living_piano") == 3


@pytest.mark.rule("TR-D69", "TR-AD44", "TR-A50")
def test_a_talent_becomes_a_specialist() -> None:
    t = acting("hidden_talent", kind="apprentice", team="magician engineer", coins=10)
    t.a.does("prepare living_piano")
    t.begins("end_turn")
    assert t.asked == {"a": "talent"}
    assert t.a.may == ["decline", "specialist manager", "specialist assistant"]
    before = t.a.coins
    t.a.does("specialist assistant")
    t.a.has(members="magician engineer assistant", coins=before - 2)
    assert t.special_deck("workshop").split()[-1] == "hidden_talent"


@pytest.mark.rule("TR-D69", "TR-AD44")
@pytest.mark.parametrize("late", [False, True])
def test_a_talent_may_stay_an_apprentice(late: bool) -> None:
    t = acting("hidden_talent", kind="apprentice", coins=2, fame=20)
    t.a.does("prepare living_piano")
    t.begins("end_turn")
    if late:
        t.a.waits_too_long()
    else:
        t.a.does("decline")
    t.a.has(coins=1, fame=20, members="apprentice_1")


@pytest.mark.rule("TR-D69", "TR-AD44")
def test_a_talent_that_was_declined_is_announced_no_more() -> None:
    """While others are still asked, and after the last turn too."""
    gifted = seat("magician apprentice:hidden_talent", "linking_rings", "metal*2", shards=0)
    t = place(2, a=gifted, b=gifted, options=ALLEY, turn=7)
    t.a.does("place apprentice workshop_1", "keep", "bonus", "prepare linking_rings")
    t.b.does("place apprentice workshop_1", "keep", "bonus", "prepare linking_rings")
    t.begins("end_turn")
    assert announced(t) == [Member.FIRST_APPRENTICE, Member.FIRST_APPRENTICE]
    t.a.does("decline")
    assert announced(t) == [0, Member.FIRST_APPRENTICE]
    t.b.does("decline")
    assert announced(t) == [0, 0] and t.game.ended is not None


@pytest.mark.rule("TR-D69", "TR-AD44")
def test_a_talent_is_announced_no_more_where_all_specialists_have_joined() -> None:
    team = "magician:downtown engineer manager apprentice:hidden_talent"
    a = seat(team, "linking_rings", "metal*2", shards=0)
    t = place(2, a=a, b=seat("magician"), options=ALLEY, turn=7, dice="X X / assistant X / X X")
    t.a.does("place apprentice workshop_1", "keep", "bonus", "prepare linking_rings")
    assert announced(t) == [Member.FIRST_APPRENTICE, 0]
    t.turn_of("a").does("place magician downtown_1", "hire inn_a")
    t.goes_on(lambda t: t.game.ended is not None)
    assert announced(t) == [0, 0]


def announced(t: Script) -> list[int]:
    """The talents that a spectator sees, by seat."""
    alley = spectator(t).dark_alley
    assert alley is not None
    return [player.talent for player in alley.players]


@pytest.mark.rule("TR-D69", "TR-AD44")
def test_a_talents_wage_may_cost_fame() -> None:
    t = acting("hidden_talent", kind="apprentice", coins=2, fame=20)
    t.a.does("prepare living_piano")
    t.begins("end_turn")
    t.a.has(coins=1)
    t.a.does("specialist engineer")
    t.a.has(coins=0, fame=18, members="engineer")


@pytest.mark.rule("TR-D69", "TR-AD44")
@pytest.mark.parametrize(("kind", "team"), [("magician", ""), ("apprentice", "engineer manager assistant")])
def test_only_an_apprentice_has_a_talent_and_only_for_a_lacking_specialist(kind: str, team: str) -> None:
    t = acting("hidden_talent", kind=kind, team=team, armed=False)
    t.a.cannot("bonus", because="TR-D14")


# --- Freelancer


@pytest.mark.rule("TR-D70", "TR-AD45")
def test_a_freelancer_goes_anywhere_and_has_no_second_bonus() -> None:
    t = place(a=seat("apprentice:freelancer", shards=0), options=ALLEY)
    places = {words.split()[2].rsplit("_", 1)[0] for words in t.a.may_begin("place")}
    assert places == {"downtown", "market_row", "workshop", "dark_alley", "thursday", "friday", "saturday", "sunday"}
    t.a.does("place apprentice market_row_1")
    assert t.asked == {"a": "act"}
    t.a.has(ap=3)


@pytest.mark.rule("TR-D70", "TR-AD45")
def test_a_freelancer_at_home_has_an_action_point() -> None:
    t = place(a=seat("apprentice:freelancer", "linking_rings:spades", "metal*2", shards=0), options=ALLEY)
    t.a.does("place apprentice workshop_1")
    t.a.has(ap=2)


@pytest.mark.rule("TR-D70", "TR-AD45")
def test_a_freelancer_keeps_the_rules_of_the_location() -> None:
    b = seat("magician apprentice:workshop@friday_1")
    t = place(a=seat("apprentice:freelancer", shards=0), b=b, options=ALLEY)
    t.a.cannot("place apprentice friday_2", because="TR-103")
    t.a.cannot("place apprentice thursday_stage", because="TR-105")
