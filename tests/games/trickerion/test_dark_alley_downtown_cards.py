"""Special cards of Downtown (TR-D71 to TR-D80)."""

from typing import Any

import pytest

from guildhall.kernel.cards import SPECTATOR
from guildhall.trickerion.v1 import structs as wire
from tests.games.trickerion.script import ALLEY, Script, place, seat

DICE = "mechanical X / X apprentice / 4 6"


def acting(
    card: str, tricks: str = "", components: str = "", *, kind: str = "magician", armed: bool = True, **more: Any
) -> Script:
    """Seat a's Character (3 points on a +0 slot) acts Downtown with the bonus of this card armed."""
    own = {n: more.pop(n) for n in ("coins", "shards", "fame", "hired", "lost", "hand", "magician") if n in more}
    told = seat(f"{kind}:{card} {more.pop('team', '')}", tricks, components, **({"shards": 0} | own))
    t = place(a=told, **({"dice": DICE, "options": ALLEY} | more))
    t.a.does(f"place {kind} {more.pop('slot', 'downtown_4')}", "keep")
    if armed:
        t.a.does("bonus")
    return t


# --- Hire


@pytest.mark.rule("TR-D71", "TR-AD46")
@pytest.mark.parametrize(("answer", "hired", "coins"), [("second", 2, 7), ("decline", 1, 10)])
def test_a_second_apprentice_for_three_coins(answer: str, hired: int, coins: int) -> None:
    t = acting("mass_recruitment")
    assert t.a.may_begin("hire") == ["hire inn_b"]
    t.a.does("hire inn_b")
    assert t.asked == {"a": "second_apprentice"}
    t.a.does(answer)
    t.a.has(hired=" ".join(["apprentice"] * hired), coins=coins, ap=0)


@pytest.mark.rule("TR-D71", "TR-AD46")
@pytest.mark.parametrize(("coins", "team"), [(2, ""), (10, "apprentice_1 apprentice_2")])
def test_no_second_apprentice_without_coins_or_a_slot(coins: int, team: str) -> None:
    t = acting("mass_recruitment", coins=coins, team=team)
    t.a.does("hire inn_b")
    assert t.asked != {"a": "second_apprentice"}
    t.a.has(hired="apprentice", coins=coins)


@pytest.mark.rule("TR-D71")
def test_mass_recruitment_is_for_apprentices() -> None:
    t = acting("mass_recruitment", armed=False, dice="X X / engineer X / 4 6")
    t.a.cannot("bonus", because="TR-D14")


@pytest.mark.rule("TR-D72", "TR-AD46")
def test_a_motivated_specialist_joins_gets_a_card_and_is_placed() -> None:
    t = acting("hypnotic_motivation", dice="X X / engineer X / X X")
    t.a.does("hire inn_a")
    assert t.asked == {"a": "motivate"}
    t.a.has(hired="", members="magician engineer")
    t.a.does("give workshop")
    t.a.has(team="magician:hypnotic_motivation@downtown_4 engineer:workshop")
    assert t.hall.assigned[0][wire.Member.ENGINEER] & SPECTATOR
    t.turn_of("a").does("place engineer workshop_1")
    t.a.has(ap=2)


@pytest.mark.rule("TR-D72", "TR-AD46")
def test_a_motivated_character_may_stay_without_a_card_and_costs_no_wage() -> None:
    t = acting("hypnotic_motivation", dice="X X / engineer X / X X")
    t.a.does("hire inn_a", "decline")
    t.a.has(team="magician:hypnotic_motivation@downtown_4 engineer")
    coins = t.a.coins
    t.begins("advertise")
    t.a.has(coins=coins, members="magician engineer")


@pytest.mark.rule("TR-D72", "TR-AD46", "TR-A22")
def test_nobody_is_motivated_who_has_no_home_yet() -> None:
    full = {"team": "apprentice_1 apprentice_2 apprentice_3", "hired": "assistant", "armed": False}
    t = acting("hypnotic_motivation", dice="X X / X apprentice / X X", **full)
    t.a.cannot("bonus", because="TR-D14")
    t.a.does("hire inn_b")
    t.a.has(hired="assistant apprentice")
    t = acting("hypnotic_motivation", dice="X X / manager apprentice / X X", **full)
    t.a.does("bonus")
    assert t.a.may_begin("hire") == ["hire inn_a"]


@pytest.mark.rule("TR-D72", "TR-A43")
def test_a_motivated_apprentice_chooses_its_home() -> None:
    t = acting("hypnotic_motivation", team="assistant")
    t.a.does("hire inn_b")
    assert t.a.may == ["house apprentice_1", "house apprentice_4"]
    t.a.does("house apprentice_4", "give theater")
    t.a.has(team="magician:hypnotic_motivation@downtown_4 assistant apprentice_4:theater")


@pytest.mark.rule("TR-D72", "TR-D110", "TR-AD46")
def test_under_prophecy_20_the_given_card_stays_facedown() -> None:
    t = acting("hypnotic_motivation", dice="X X / engineer X / X X", prophecies="p20 / p23 p17 p13 / p10")
    t.a.does("hire inn_a", "give workshop")
    assert not t.hall.assigned[0][wire.Member.ENGINEER] & SPECTATOR
    (told,) = [m for m in t.b.sees().players[0].team if m.member == wire.Member.ENGINEER]
    assert (told.assigned, told.card) == (True, 0)
    assert set(t.b.sees().players[0].hand) == {0}


@pytest.mark.rule("TR-D73", "TR-AD46")
def test_a_headhunter_hires_anybody_for_two_points() -> None:
    t = acting("headhunter", kind="engineer", hired="manager")
    assert t.a.may_begin("headhunt", "hire") == ["headhunt inn_b assistant", "headhunt inn_b apprentice"]
    t.a.does("headhunt inn_b assistant")
    t.a.has(hired="manager assistant", ap=0)
    assert t.dice == "mechanical X / X X / 4 6"


# --- Learn Trick


@pytest.mark.rule("TR-D74", "TR-AD47")
@pytest.mark.parametrize(
    ("ruling", "supply", "stage"),
    [("supply", "2 4 4 4", ""), ("move", "1 4 4 4", "a/living_piano@R01:0.0>down")],
)
def test_an_overhauled_trick_inherits_symbol_and_markers(ruling: str, supply: str, stage: str) -> None:
    t = acting(
        "trick_overhaul",
        "linking_rings:spades*2",
        "animal*1 glass*1 wood*1",
        stage="a/linking_rings@R01:0.0>down",
        rulings={"overhaul_theater_markers": ruling},
    )
    t.a.does("trick linking_rings", "learn living_piano dahlgaard_a", "slot 0")
    t.a.has(tricks="living_piano:spades*2", supply=supply, ap=0)
    t.has(stage=stage, dice="X X / X apprentice / 4 6")
    assert wire.Trick.LINKING_RINGS in t.hall.residence and wire.Trick.LIVING_PIANO not in t.hall.residence


@pytest.mark.rule("TR-D74", "TR-AD47")
def test_a_marker_of_another_category_lies_on_as_it_lay() -> None:
    t = acting(
        "trick_overhaul",
        "linking_rings:spades*1",
        "wood*2",
        dice="escape X / X X / X X",
        stage="a/linking_rings@R01:0.0>down",
        rulings={"overhaul_theater_markers": "move"},
    )
    t.a.does("trick linking_rings", "learn barricaded_barrels dahlgaard_a", "slot 0")
    # Clockwise from Mechanical come Optical and Escape: half a turn.
    t.has(stage="a/barricaded_barrels@R01:0.0>up")


@pytest.mark.rule("TR-D74", "TR-AD47")
def test_an_overhaul_needs_the_new_tricks_components_and_may_use_another_slot() -> None:
    t = acting("trick_overhaul", "linking_rings:spades", "animal*1 glass*1 wood*1")
    t.a.does("trick linking_rings")
    assert t.a.may == ["learn living_piano dahlgaard_a"]
    t.a.does("learn living_piano dahlgaard_a")
    assert t.a.may == ["slot 0", "slot 1"]
    t = acting("trick_overhaul", "linking_rings:spades", armed=False)
    t.a.cannot("bonus", because="TR-D14")


@pytest.mark.rule("TR-D74")
def test_an_overhaul_needs_no_free_slot() -> None:
    tricks = "linking_rings:spades stocks_escape:hearts mind_reading:clubs"
    t = acting("trick_overhaul", tricks, "animal*1 glass*1 wood*1")
    t.a.does("trick stocks_escape", "learn living_piano dahlgaard_a")
    t.a.has(tricks="linking_rings:spades*0 living_piano:hearts*0 mind_reading:clubs*0", ap=0)


@pytest.mark.rule("TR-D74", "TR-062")
def test_lacking_fame_is_paid_in_an_overhaul_too() -> None:
    t = acting("trick_overhaul", "linking_rings:spades", "metal*3 petroleum*1 cog*1", fame=10)
    t.a.does("trick linking_rings", "learn mechanical_hornet dahlgaard_a", "slot 0")
    t.a.has(coins=4, fame=10)


@pytest.mark.rule("TR-D75", "TR-AD48")
def test_thirst_learns_any_category_for_two_points() -> None:
    t = acting("thirst_for_knowledge", kind="engineer", magician="red_lotus", dice="mechanical X / X X / X X")
    assert "learn mind_reading dahlgaard_a" in t.a.may
    assert not t.a.may_begin("learn mind_reading dahlgaard_b")
    t.a.does("learn mind_reading dahlgaard_a", "slot 0", "symbol clubs")
    t.a.has(tricks="mind_reading:clubs*0", ap=0)


@pytest.mark.rule("TR-D75", "TR-D102", "TR-AD9")
def test_what_a_card_saves_never_goes_below_nothing() -> None:
    prophecies = "p12 / p23 p17 p13 / p10"
    t = acting("thirst_for_knowledge", kind="apprentice", prophecies=prophecies)
    t.a.has(ap=1)
    t.a.does("learn mind_reading dahlgaard_a", "symbol clubs")
    t.a.has(ap=1)


@pytest.mark.rule("TR-D76", "TR-AD48")
@pytest.mark.parametrize(("lost", "markers"), [("", 1), ("spades*4", 0)])
def test_blueprints_come_with_a_marker(lost: str, markers: int) -> None:
    t = acting("leaked_blueprints", fame=40, lost=lost)
    assert t.a.may_begin("learn mechanical_hornet") and not t.a.may_begin("learn hellhound")
    t.a.does("learn mechanical_hornet dahlgaard_a", "symbol spades")
    t.a.has(tricks=f"mechanical_hornet:spades*{markers}")


# --- Take Coins


@pytest.mark.rule("TR-D77", "TR-AD49")
def test_investments_buy_from_the_coins_just_taken() -> None:
    t = acting("investments", coins=10, quick="rope")
    t.a.does("take bank_a")
    assert {"component wood", "component rope"} <= set(t.a.may)
    t.a.does("component rope")  # 2 and 1 for the Quick Order slot
    assert "component rope" not in t.a.may
    t.a.does("component wood")
    t.a.has(coins=10, components="wood*1 rope*1", ap=0)
    assert t.asked != {"a": "invest"}


@pytest.mark.rule("TR-D77", "TR-AD49", "TR-AD56")
def test_investments_buy_three_at_most_and_share_nothing() -> None:
    t = place(a=seat("apprentice:business_share", shards=0), b=seat("magician:investments"), dice=DICE, options=ALLEY)
    t.a.does("place apprentice market_row_1", "keep", "end")
    t.b.does("place magician downtown_4", "keep", "bonus")
    t.b.does("take bank_b", *["component wood"] * 3)
    t.b.has(coins=13, components="wood*3")
    t.a.has(coins=10)


@pytest.mark.rule("TR-D78", "TR-AD14", "TR-AD52")
@pytest.mark.parametrize(("prophecies", "coins"), [("- / p23 p17 p13 / p10", 6), ("p07 / p23 p17 p13 / p10", 12)])
def test_fame_counts_the_face_as_shown(prophecies: str, coins: int) -> None:
    t = acting("fame_and_fortune", prophecies=prophecies)
    t.a.does("take bank_b")
    t.a.has(coins=10 + coins, fame=10)


@pytest.mark.rule("TR-D79", "TR-AD50")
def test_interest_adds_a_roll_for_a_point_less() -> None:
    t = acting("interest", kind="engineer")
    t.a.does("take bank_a")
    (rolled,) = t.told(wire.DieRerolled)
    assert rolled.die == 4
    t.a.has(coins=14 + rolled.face, ap=0)
    assert t.dice == "mechanical X / X apprentice / X 6"


@pytest.mark.rule("TR-AD14", "TR-D79", "TR-D97")
@pytest.mark.parametrize(("ruling", "times"), [("chosen_face", 1), ("total", 2)])
def test_what_prophecy_7_doubles_of_an_interest(ruling: str, times: int) -> None:
    t = acting("interest", prophecies="p07 / p23 p17 p13 / p10", rulings={"take_coins_doubled": ruling})
    t.a.does("take bank_a")
    (rolled,) = t.told(wire.DieRerolled)
    t.a.has(coins=10 + 8 + times * rolled.face)


# --- Empower


@pytest.mark.rule("TR-D80", "TR-AD15", "TR-D98")
@pytest.mark.parametrize("prophecies", ["- / p23 p17 p13 / p10", "p08 / p23 p17 p13 / p10"])
def test_an_empowered_character_is_enhanced_by_three(prophecies: str) -> None:
    t = acting("empower", armed=False, shards=1, prophecies=prophecies)
    t.a.cannot("bonus", because="TR-D14")
    t.a.does("enhance")
    t.a.has(ap=6, shards=0)


@pytest.mark.rule("TR-AD1", "TR-D80")
def test_by_ruling_empower_waits_for_the_enhance() -> None:
    told = {"options": ALLEY, "rulings": {"special_choice": "at_action"}}
    t = place(a=seat("magician:empower", shards=1), **told)
    t.a.does("place magician downtown_4")
    assert {"enhance", "point"} <= set(t.a.may)
    t.a.does("enhance")
    t.a.has(ap=6)
    t.a.cannot("point", because="TR-AD1")
    t = place(a=seat("magician:empower", shards=1), **told)
    t.a.does("place magician downtown_4", "point", "enhance")
    t.a.has(ap=5)


@pytest.mark.rule("TR-AD1", "TR-D87")
def test_by_ruling_what_serves_more_than_one_action_is_still_chosen_on_placing() -> None:
    told = {"options": ALLEY, "rulings": {"special_choice": "at_action"}}
    for card in ("traveling_merchants", "business_share"):
        t = place(a=seat(f"magician:{card}", shards=0), **told)
        t.a.does("place magician market_row_4")
        assert t.asked == {"a": "special_use"}
        t.a.does("keep")
        t.a.cannot("point", because="TR-AD1")
