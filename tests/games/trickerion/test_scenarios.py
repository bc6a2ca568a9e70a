"""Worked cases of the base game, most of them from the rulebooks: one test each, told as a play script."""

import pytest

from guildhall.trickerion.v1 import structs as wire
from tests.games.trickerion.script import (
    REVISED,
    advertise,
    assign,
    end_turn,
    final,
    initiative,
    new_game,
    perform,
    place,
    seat,
    set_up,
)

# --- Downtown


@pytest.mark.rule("TR-057", "TR-058", "TR-059")
def test_learn_with_a_matching_die() -> None:
    t = place(a=seat("magician:downtown"), dice="mechanical X / X X / X X")
    t.a.does("place magician downtown_4", "learn living_piano dahlgaard_a", "symbol hearts")
    t.a.has(tricks="living_piano:hearts*0", ap=0, coins=10, supply="4 4 4 4")
    t.has(dice="X X / X X / X X")


@pytest.mark.rule("TR-063", "TR-064", "TR-A35")
def test_a_favorite_still_takes_a_die() -> None:
    t = place(a=seat("magician:downtown"), dice="optical X / X X / X X")
    t.a.does("place magician downtown_4", "learn burning_mummy dahlgaard_a", "symbol spades")
    t.a.has(tricks="burning_mummy:spades*0")
    t.has(dice="X X / X X / X X")


@pytest.mark.rule("TR-A9", "TR-036")
def test_a_favorite_without_a_die() -> None:
    t = place(a=seat("magician:downtown"))
    t.a.does("place magician downtown_4")
    t.a.cannot("learn burning_mummy dahlgaard_a", because="TR-036")
    t.a.cannot("learn burning_mummy no_die", because="TR-A9")


@pytest.mark.rule("TR-061", "TR-062")
def test_missing_fame_is_paid() -> None:
    t = place(a=seat("magician:downtown", fame=11, coins=7), dice="mechanical spiritual / X X / X X")
    t.a.does("place magician downtown_4", "learn bullet_catch dahlgaard_a", "symbol spades")
    t.a.has(coins=2, fame=11)
    t.has(dice="X spiritual / X X / X X")
    t = place(a=seat("magician:downtown", fame=11, coins=4), dice="mechanical spiritual / X X / X X")
    t.a.does("place magician downtown_4")
    t.a.cannot("learn bullet_catch dahlgaard_a", because="TR-061")


@pytest.mark.rule("TR-060", "TR-093")
def test_a_trick_is_learnt_without_its_components() -> None:
    t = place(a=seat("magician:downtown engineer:workshop", fame=16), dice="optical X / X X / X X")
    t.a.does("place magician downtown_4", "learn paper_shred dahlgaard_a")
    t.a.does(t.a.may[0])
    if "slot 0" in t.a.may:
        t.a.does("slot 0")
    t.turn_of("a").does("place engineer workshop_1")
    t.a.cannot("prepare paper_shred", because="TR-093")


@pytest.mark.rule("TR-067", "TR-068", "TR-139", "TR-A15")
def test_a_hired_specialist_joins_late() -> None:
    t = place(
        2, a=seat("magician:downtown", coins=2), b=seat("magician:workshop"), dice="X X / engineer apprentice / X X"
    )
    t.a.does("place magician downtown_4", "hire inn_a")
    t.a.has(hired="engineer", members="magician")
    t.has(dice="X X / X apprentice / X X")
    t.ends("place_characters")
    t.begins("advertise")
    t.a.has(hired="", members="magician engineer", coins=2)


@pytest.mark.rule("TR-069", "TR-A40")
def test_one_of_each_specialist() -> None:
    t = place(a=seat("magician:downtown manager"), dice="X X / manager X / X X")
    t.a.does("place magician downtown_4")
    t.a.cannot("hire inn_a", because="TR-069")


@pytest.mark.rule("TR-070")
def test_take_coins() -> None:
    t = place(a=seat("magician:downtown", coins=1), dice="X X / X X / 4 X")
    t.a.does("place magician downtown_4", "take bank_a")
    t.a.has(coins=5)
    t.has(dice="X X / X X / X X")


@pytest.mark.rule("TR-072")
def test_a_die_is_set_to_one_of_its_faces() -> None:
    t = place(a=seat("magician:downtown"))
    t.a.does("place magician downtown_2", "set inn_a manager")
    t.a.has(ap=2)
    t.has(dice="X X / manager X / X X")
    t.a.cannot("set inn_b manager", because="TR-072")


@pytest.mark.rule("TR-065", "TR-066", "TR-C6", "TR-A19")
@pytest.mark.parametrize(("rulings", "left"), [(REVISED, "4 4 4 4"), ({}, "2 4 4 4")])
def test_a_trick_is_given_back(rulings: dict[str, str], left: str) -> None:
    t = place(
        a=seat("magician:downtown", tricks="linking_rings:spades*1"),
        stage="a/linking_rings@R01:0.0>down",
        rulings=rulings,
    )
    t.a.has(supply="2 4 4 4")
    t.a.does("give_back linking_rings")
    t.a.has(tricks="", supply=left)
    t.has(stage="")
    assert wire.Trick.LINKING_RINGS in t.hall.residence


# --- Market Row


@pytest.mark.rule("TR-083", "TR-A10")
def test_bargain_never_reaches_nothing() -> None:
    t = place(a=seat("engineer:market_row", coins=1))
    t.a.does("place engineer market_row_4")
    t.a.cannot("buy wood 1 bargain 1", because="TR-083")
    t.a.does("buy wood 1")
    t.a.has(coins=0, components="wood*1")


@pytest.mark.rule("TR-078")
def test_three_of_a_type() -> None:
    t = place(a=seat("engineer:market_row", components="glass*2"))
    t.a.does("place engineer market_row_4")
    t.a.cannot("buy glass 2", because="TR-078")
    t.a.does("buy glass 1")
    t.a.has(components="glass*3")


@pytest.mark.rule("TR-084", "TR-085", "TR-140", "TR-075")
def test_an_order_arrives() -> None:
    t = place(a=seat("engineer:market_row"))
    t.a.does("place engineer market_row_4", "order mirror 1")
    t.has(order="- mirror - -")
    t.a.cannot("buy mirror 1", because="TR-075")
    t.ends("place_characters")
    t.begins("advertise")
    t.has(buy="wood mirror glass fabric", order="- - - -")


@pytest.mark.rule("TR-084")
def test_no_second_order_of_a_type() -> None:
    t = place(a=seat("engineer:market_row"), order="- mirror - -")
    t.a.does("place engineer market_row_4")
    t.a.cannot("order mirror 2", because="TR-084")
    t.a.cannot("order rope 1", because="TR-084")


@pytest.mark.rule("TR-086", "TR-087", "TR-088", "TR-089")
def test_a_quick_order_serves_everybody() -> None:
    t = place(
        a=seat("magician:market_row"),
        b=seat("magician:market_row", coins=9),
        c=seat("magician:workshop apprentice:workshop"),
    )
    t.a.does("place magician market_row_4", "quick_order cog", "buy cog 1")
    t.a.has(coins=6, ap=0, components="cog*1")
    if "end" in t.a.may:
        t.a.does("end")
    t.b.does("place magician market_row_2", "buy cog 1")
    t.b.has(coins=5, components="cog*1")
    t.has(quick="cog")
    t.ends("place_characters")
    t.begins("advertise")
    t.has(quick="-")


# --- Workshop


@pytest.mark.rule("TR-094")
def test_no_prepare_over_a_marker() -> None:
    t = place(a=seat("engineer:workshop", "barricaded_barrels*1", "wood*2"))
    t.a.does("place engineer workshop_1")
    t.a.cannot("prepare barricaded_barrels", because="TR-094")
    t = place(a=seat("engineer:workshop", "barricaded_barrels", "wood*2"), stage="a/barricaded_barrels@R01:0.0>down")
    t.a.does("place engineer workshop_1", "prepare barricaded_barrels")
    assert t.a.markers("barricaded_barrels") == 2


@pytest.mark.rule("TR-097", "TR-096", "TR-A13")
def test_the_engineers_slot_and_the_last_markers() -> None:
    piano = seat("engineer:workshop", "living_piano!", "animal*1 glass*1 wood*1")
    t = place(a=piano)
    t.a.does("place engineer workshop_1", "prepare living_piano")
    assert t.a.markers("living_piano") == 4
    t = place(a=piano, stage="a/living_piano@R01:0.0>down a/living_piano@R10:0.0>right")
    t.a.does("place engineer workshop_1", "prepare living_piano")
    assert t.a.markers("living_piano") == 2


@pytest.mark.rule("TR-080")
def test_a_manager_slot_counts_one_more() -> None:
    t = place(a=seat("manager:workshop", "shattered_mirror", "mirror*1! wood*3 glass*3"))
    t.a.does("place manager workshop_1", "prepare shattered_mirror")
    assert t.a.markers("shattered_mirror") == 2
    t.a.has(components="wood*3 glass*3 mirror*1!")


@pytest.mark.rule("TR-101", "TR-136", "TR-A17")
def test_an_apprentice_moves_and_saves_its_wage() -> None:
    t = place(
        2,
        a=seat("magician assistant:workshop apprentice:theater"),
        b=seat("magician:workshop apprentice:workshop"),
        rulings=REVISED,
    )
    t.a.does("place assistant workshop_1", "move_apprentice apprentice_1")
    t.a.has(team="magician assistant:workshop@workshop_1 apprentice_4:theater")
    t.turn_of("a").does("place apprentice_4 thursday_1")
    t.ends("place_characters")
    t.begins("advertise")
    t.a.has(coins=8, members="magician assistant apprentice_4")


# --- Theater


@pytest.mark.rule("TR-110", "TR-113", "TR-A7")
def test_a_link_through_a_foreign_corner() -> None:
    t = place(b=seat("engineer:theater", "linking_rings*1"), stage="a/barricaded_barrels@R01:0.0>down", order_of="bac")
    t.b.does("place engineer friday_1", "set_up linking_rings R01:0.1>down")
    assert t.b.may == ["fame", "coins"]
    t.b.does("fame")
    t.b.has(fame=6, shards=2, coins=10)
    t.a.has(fame=5, shards=2)


@pytest.mark.rule("TR-115", "TR-112", "TR-A42")
def test_two_links_at_once() -> None:
    t = place(
        b=seat("engineer:theater", "bullet_catch*1"),
        stage="a/barricaded_barrels@R01:0.0>down c/living_piano@R01:0.2>up",
        order_of="bac",
    )
    t.b.does("place engineer friday_1", "set_up bullet_catch R01:0.1>down", "fame", "coins")
    t.b.has(fame=7, coins=12, shards=2)
    t.a.has(fame=5, coins=10, shards=2)
    t.c.has(fame=5, coins=10, shards=1)


@pytest.mark.rule("TR-111", "TR-C4")
@pytest.mark.parametrize(("ruling", "fame"), [("placed", 6), ("neighbour", 7)])
def test_which_of_the_two_sets_the_bonus(ruling: str, fame: int) -> None:
    t = place(
        b=seat("engineer:theater", "levitation*1"),
        stage="a/mechanical_hornet@R01:0.0>down",
        order_of="bac",
        rulings={"link_bonus_by": ruling},
    )
    t.b.does("place engineer friday_1", "set_up levitation R01:0.1>up", "fame")
    t.b.has(fame=fame, shards=2)
    t.a.has(shards=2)


@pytest.mark.rule("TR-114", "TR-A8")
def test_a_link_with_oneself_brings_one_shard() -> None:
    t = place(a=seat("engineer:theater", "linking_rings living_piano*1"), stage="a/linking_rings@R10:1.0>down")
    t.a.does("place engineer friday_1", "set_up living_piano R10:1.1>up", "fame")
    t.a.has(fame=6, shards=2)


@pytest.mark.rule("TR-109")
def test_no_equal_symbols_on_a_card() -> None:
    t = place(a=seat("engineer:theater", "linking_rings:spades*1"), stage="a/linking_rings@R01:0.0>down")
    t.a.does("place engineer friday_1")
    t.a.cannot("set_up linking_rings R01:0.1>down", because="TR-109")
    t.a.does("set_up linking_rings R10:0.0>right")


@pytest.mark.rule("TR-116", "TR-117", "TR-129", "TR-A6")
def test_a_rescheduled_marker_pays_nothing() -> None:
    t = place(
        a=seat("engineer:theater magician:theater"), stage="b/linking_rings@R01:0.0>down a/living_piano@R10:0.0>right"
    )
    t.a.does("place engineer friday_1", "reschedule R10:0.0", "to R01:0.1>up")
    t.has(stage="b/linking_rings@R01:0.0>down a/living_piano@R01:0.1>up")
    for player in (t.a, t.b):
        player.has(fame=5, coins=10, shards=1)
    t.turn_of("a").does("place magician friday_stage")
    t.begins("performance")
    t.a.does("perform R01")
    bonus = [e.amount for e in t.told(wire.FameGained) if e.seat == 0 and e.cause == wire.Cause.PERFORMER]
    assert sum(bonus) == 1


@pytest.mark.rule("TR-051", "TR-A1", "TR-126")
def test_an_apprentice_on_sunday() -> None:
    t = place(
        a=seat("apprentice:theater"),
        b=seat("magician:workshop apprentice:workshop"),
        c=seat("magician:theater"),
        stage="a/barricaded_barrels@R01:0.0>down c/linking_rings@R01:0.1>down",
        order_of="acb",
    )
    t.a.does("place apprentice sunday_1")
    t.a.has(ap=0)
    assert t.asked == {"c": "place"}
    t.c.does("place magician friday_stage")
    t.begins("performance")
    t.c.does("perform R01")
    assert [(e.amount, e.cause) for e in t.told(wire.FameGained) if e.seat == 0] == [(2, wire.Cause.YIELD)]


# --- Performance


@pytest.mark.rule("TR-121", "TR-122", "TR-123", "TR-124", "TR-125", "TR-127", "TR-128", "TR-130", "TR-131", "TR-132")
@pytest.mark.rule("TR-133")
def test_a_whole_performance() -> None:
    t = perform(
        4,
        a=seat("magician@thursday_stage assistant@thursday_1"),
        c=seat("magician apprentice@sunday_1"),
        d=seat("magician@saturday_stage"),
        display="R08 R10",
        stage="a/linking_rings@R08:0.0>down b/chinese_sticks@R08:0.1>up c/stocks_escape@R08:1.1>left"
        " d/mind_reading@R10:0.0>right",
    )
    assert t.asked == {"a": "perform"}
    t.a.does("perform R08")
    t.a.has(fame=9, coins=12, shards=1, supply="4 4 4 4")
    t.b.has(fame=5, coins=11, shards=1, supply="4 4 4 4")
    t.c.has(fame=6, coins=12, shards=2, supply="4 4 4 4")
    t.has(display="R08 R10", stage="d/mind_reading@R10:0.0>right", asked={"d": "perform"})


@pytest.mark.rule("TR-120", "TR-134", "TR-A5")
def test_weekdays_not_initiative() -> None:
    t = perform(
        a=seat("magician@saturday_stage"),
        b=seat("magician@friday_stage"),
        stage="a/linking_rings@R01:0.0>down b/chinese_sticks@R01:0.1>up",
    )
    assert t.asked == {"b": "perform"}
    t.b.does("perform R01")
    assert [(e.seat, e.card) for e in t.story if isinstance(e, wire.CardPerformed)] == [(1, wire.PerformanceCard.R01)]
    assert t.phase == "advertise"


@pytest.mark.rule("TR-130", "TR-A46")
def test_specialists_behind_the_performer() -> None:
    for post, shards, coins in (("friday", 1, 3), ("downtown", 0, 0)):
        t = perform(
            a=seat(f"magician@friday_stage engineer@{post}_1 manager@{post}_2"),
            b=seat("magician@saturday_stage"),
            display="R02 R10",
            stage="a/linking_rings@R02:0.0>down b/linking_rings@R10:0.0>right",
        )
        t.a.does("perform R02")
        t.a.has(shards=1 + shards, coins=10 + 2 + 1 + coins, fame=6)


# --- the turn


@pytest.mark.rule("TR-037", "TR-038", "TR-039")
def test_ties_reverse_the_order() -> None:
    fames = {name: seat("magician apprentice", fame=fame) for name, fame in zip("abcd", (10, 8, 8, 5), strict=True)}
    t = initiative(4, turn=2, **fames)
    t.has(initiative="dcba")
    t = initiative(4, turn=1, **fames)
    t.has(initiative="abcd")


@pytest.mark.rule("TR-040", "TR-041", "TR-042", "TR-A34")
def test_the_price_of_advertising() -> None:
    t = advertise(c=seat(coins=3))
    t.a.does("decline")
    t.b.does("decline")
    t.c.does("advertise")
    t.c.has(coins=0, fame=7, advertised=True)
    t.c.cannot("advertise")
    t = advertise(c=seat(coins=2))
    t.a.does("decline")
    t.b.does("decline")
    assert t.phase == "assignment", "who is too poor is not asked"


@pytest.mark.rule("TR-031", "TR-041", "TR-A3")
def test_advertising_with_two_players() -> None:
    t = advertise(2)
    t.a.does("advertise")
    t.b.does("advertise")
    t.a.has(coins=9)
    t.b.has(coins=7)


@pytest.mark.rule("TR-017", "TR-053", "TR-A18")
@pytest.mark.parametrize(("players", "slots"), [(2, "14"), (3, "124"), (4, "1234")])
def test_slots_by_players(players: int, slots: str) -> None:
    t = place(players, a=seat("magician:market_row engineer:market_row"), b=seat("magician:market_row"))
    assert t.a.may_begin("place magician") == [f"place magician market_row_{slot}" for slot in slots]
    t.a.does("place magician market_row_1", "end")
    t.b.does("place magician market_row_4", "end")
    t.turn_of("a")
    assert t.a.may_begin("place") == [f"place engineer market_row_{slot}" for slot in slots[1:-1]]
    assert "idle engineer" in t.a.may
    t.a.cannot("place engineer market_row_1", because="TR-048")
    if players < 4:
        t.a.cannot("place engineer market_row_3", because="TR-048")
    t.a.cannot("place engineer market_row_4", because="TR-048")


@pytest.mark.rule("TR-021", "TR-043", "TR-044", "TR-046")
def test_no_more_cards_than_the_hand_has() -> None:
    t = assign(2, a=seat("magician engineer apprentice_1"))
    t.a.cannot("assign magician:market_row engineer:market_row apprentice_1:market_row", because="TR-043")
    unseen = (t.b.sees().players, t.b.sees().phase)
    t.a.does("assign magician:market_row engineer:market_row apprentice_1:downtown")
    assert (t.b.sees().players, t.b.sees().phase) == unseen
    assert t.asked == {"b": "assign"}
    t.b.does("assign magician:theater")
    t.a.has(team="magician:market_row engineer:market_row apprentice_1:downtown")
    t.b.has(team="magician:theater apprentice_1")


@pytest.mark.rule("TR-138", "TR-A25", "TR-A45")
@pytest.mark.parametrize(("fame", "left"), [(5, 0), (20, 12)])
def test_unpaid_wages(fame: int, left: int) -> None:
    team = "magician manager@workshop_1 engineer@workshop_2 apprentice@downtown_1"
    t = end_turn(a=seat(team, fame=fame, coins=1))
    t.a.has(coins=0, fame=left)


@pytest.mark.rule("TR-141", "TR-142", "TR-143")
def test_a_card_leaves() -> None:
    t = end_turn(turn=3, display="R04 R03 R02 R01", deck="G01 G02", stage="a/linking_rings@R01:0.0>down")
    t.has(display="G01 R04 R03 R02", stage="")
    t.a.has(supply="4 4 4 4", tricks="linking_rings:spades*0")
    t = end_turn(turn=1, display="R02 R01", deck="R11 R12 G01 G02", stage="a/linking_rings@R01:0.0>down")
    t.has(display="R11 R02 R01", stage="a/linking_rings@R01:0.0>down")


@pytest.mark.rule("TR-028", "TR-A32")
@pytest.mark.parametrize(("components", "markers"), [("wood wood", 2), ("wood metal", 0)])
def test_the_starting_trick_is_prepared(components: str, markers: int) -> None:
    chosen = {
        "choose_magician": "choose master_of_chains",
        "starting_trick": "pick barricaded_barrels spades",
        "starting_components": f"components {components}",
        "specialist": "specialist assistant",
    }
    t = set_up(new_game(2), a=chosen, b={"choose_magician": "choose mechaniker"})
    assert t.a.markers("barricaded_barrels") == markers


@pytest.mark.rule("TR-146", "TR-147", "TR-148", "TR-149", "TR-150")
def test_final_scoring() -> None:
    team = "magician engineer manager apprentice_1 apprentice_2 apprentice_3"
    t = final(a=seat(team, fame=41, shards=4, coins=14), turn=5)
    t.a.has(fame=61)


@pytest.mark.rule("TR-151", "TR-A28")
def test_twenty_at_most() -> None:
    t = final(a=seat("magician", fame=0, shards=0, coins=75), turn=5)
    t.a.has(fame=20)


@pytest.mark.rule("TR-031", "TR-032", "TR-033", "TR-A3")
def test_two_players_start() -> None:
    t = set_up(new_game(2))
    first, second = (t.players["ab".index(name)] for name in t.initiative)
    first.has(coins=10, fame=5, shards=1)
    second.has(coins=14, fame=5, shards=1)
    first.does("advertise")
    second.does("advertise")
    first.has(coins=9)
    second.has(coins=11)


@pytest.mark.rule("TR-025", "TR-028", "TR-A32")
@pytest.mark.parametrize(
    ("trick", "components", "prepared", "ruling", "engineers"),
    [
        ("stocks_escape", "metal metal", 0, "starting_trick", 0),
        ("barricaded_barrels", "wood wood", 2, "starting_trick", 0),
        ("stocks_escape", "metal metal", 0, "all_tricks", 3),
    ],
)
def test_the_engineers_trick_is_not_prepared(
    trick: str, components: str, prepared: int, ruling: str, engineers: int
) -> None:
    chosen = {
        "choose_magician": "choose master_of_chains",
        "starting_trick": f"pick {trick} spades",
        "starting_components": f"components {components}",
        "specialist": "specialist engineer",
        "engineer_trick": "pick linking_rings hearts",
    }
    other = {"choose_magician": "choose great_optico"}
    t = set_up(new_game(2, rulings={"free_prepare": ruling}), a=chosen, b=other)
    t.a.has(tricks=f"{trick}:spades*{prepared} linking_rings:hearts*{engineers}!")


@pytest.mark.rule("TR-081", "TR-A12", "TR-079")
def test_the_managers_one_more_is_within_the_limit() -> None:
    team = "manager:workshop magician:market_row"
    t = place(a=seat(team, components="glass*2! wood*3"), rulings=REVISED)
    t.a.does("place magician market_row_1")
    t.a.cannot("buy glass 1", because="TR-081")
    t.a.does("end")
    t.turn_of("a").does("place manager workshop_1")
    t.a.cannot("move_components wood", because="TR-A12")
    t.a.does("return wood 1", "move_components wood")
    t.a.has(components="wood*2! glass*2!")


@pytest.mark.rule("TR-A4", "TR-121")
def test_performing_may_be_declined() -> None:
    told = {
        "a": seat("magician@friday_stage"),
        "b": seat("magician@saturday_stage"),
        "stage": "a/linking_rings@R01:0.0>down b/linking_rings@R10:0.0>right",
    }
    t = perform(**told)
    t.a.does("decline")
    t.a.has(fame=5, coins=10, shards=1)
    t.has(stage=told["stage"], asked={"b": "perform"})
    t = perform(**told, rulings={"perform": "must"})
    t.a.cannot("decline", because="TR-A4")


@pytest.mark.rule("TR-082", "TR-086", "TR-088")
def test_quick_order_buy_and_bargain_in_one_visit() -> None:
    t = place(a=seat("magician:market_row", coins=1))
    t.a.does("place magician market_row_1")
    t.a.has(ap=5)
    t.a.does("quick_order rope")
    t.a.cannot("buy rope 1 bargain 3")
    t.a.does("buy rope 1 bargain 2")
    t.a.has(components="rope*1", coins=0, ap=0)


@pytest.mark.rule("TR-A2", "TR-124", "TR-125")
@pytest.mark.parametrize(
    ("day", "ruling", "gained"),
    [("sunday", "apply", (1, 1)), ("thursday", "apply", (0, 0)), ("sunday", "skip", (0, 0))],
)
def test_a_modifier_acts_on_a_printed_nothing(day: str, ruling: str, gained: tuple[int, int]) -> None:
    t = perform(
        b=seat(f"magician@{day}_stage"),
        stage="b/linking_rings@R01:0.0>down a/mind_reading@R01:0.1>down",
        rulings={"modifier_on_absent_yield": ruling},
    )
    t.b.does("perform R01")
    t.a.has(fame=5 + gained[0], coins=10 + gained[1], shards=2)
