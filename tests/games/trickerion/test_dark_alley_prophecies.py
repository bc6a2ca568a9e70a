"""What each prophecy changes (TR-D91 to TR-D117)."""

from typing import Any

import pytest

from guildhall.kernel.cards import SPECTATOR, known_by
from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Cause
from tests.games.trickerion.script import ALLEY, Script, assign, perform, place, seat, spectator


def under(number: int) -> dict[str, Any]:
    """Options of a game in which that prophecy is active."""
    pending = " ".join(f"p{n:02}" for n in (17, 13, 23, 10) if n != number)
    return {
        "options": ALLEY,
        "prophecies": f"p{number:02} / {' '.join(pending.split()[:3])} / p05"
        if number != 5
        else f"p05 / {' '.join(pending.split()[:3])} / p06",
    }


def paid(t: Script, kind: type[Any], cause: Cause, number: int = 0) -> int:
    """How much of that a seat gained for that cause so far."""
    return sum(e.amount for e in t.story if isinstance(e, kind) and e.cause == cause and e.seat == number)


# --- Characters and slots


@pytest.mark.rule("TR-D91")
@pytest.mark.parametrize("kind", ["magician", "engineer", "apprentice"])
def test_p01_everybody_has_one_point(kind: str) -> None:
    t = place(a=seat(f"{kind}:market_row"), **under(1))
    t.a.does(f"place {kind} market_row_2")
    t.a.has(ap=2)


@pytest.mark.rule("TR-D105")
@pytest.mark.parametrize(
    ("kind", "advertised", "ap"), [("apprentice", True, 2), ("apprentice", False, 1), ("engineer", True, 2)]
)
def test_p15_apprentices_of_advertisers_have_two_points(kind: str, advertised: bool, ap: int) -> None:
    t = place(a=seat(f"{kind}:market_row", advertised=advertised), **under(15))
    t.a.does(f"place {kind} market_row_4")
    t.a.has(ap=ap)


@pytest.mark.rule("TR-D108", "TR-AD18")
@pytest.mark.parametrize("place_", ["downtown", "market_row", "dark_alley"])
def test_p18_the_best_slots_cost_coins(place_: str) -> None:
    t = place(a=seat(f"magician:{place_}", coins=3), **under(18))
    t.a.does(f"place magician {place_}_1")
    t.a.has(coins=0, ap=5)
    t = place(a=seat(f"magician:{place_}", coins=2), **under(18))
    t.a.cannot(f"place magician {place_}_1", because="TR-D108")
    t.a.does(f"place magician {place_}_4")
    t.a.has(coins=2)


@pytest.mark.rule("TR-D117", "TR-AD22")
def test_p27_the_lowest_slot_has_to_be_taken() -> None:
    t = place(a=seat("magician:market_row"), b=seat("magician apprentice:market_row"), **under(27))
    assert t.a.may_begin("place") == ["place magician market_row_4"]
    t.a.cannot("place magician market_row_1", because="TR-D117")
    t.a.cannot("place magician downtown_1", because="TR-048")
    t.a.does("place magician market_row_4", "end")
    t.b.cannot("place apprentice_1 market_row_4", because="TR-048")
    t.b.cannot("place apprentice_1 market_row_1", because="TR-D117")
    assert t.b.may_begin("place") == ["place apprentice_1 market_row_2"]


@pytest.mark.rule("TR-D117", "TR-AD22")
def test_p27_in_the_theater_a_magician_may_still_go_on_stage() -> None:
    t = place(a=seat("magician:theater apprentice:theater"), **under(27))
    stages = [f"place magician {day}_stage" for day in ("thursday", "friday", "saturday", "sunday")]
    backstage = ["place magician sunday_1", "place magician sunday_2"]
    assert sorted(t.a.may_begin("place magician")) == sorted([*stages, *backstage])
    assert t.a.may_begin("place apprentice_1") == ["place apprentice_1 sunday_1", "place apprentice_1 sunday_2"]
    t.a.cannot("place apprentice_1 friday_1", because="TR-D117")
    t.a.cannot("place apprentice_1 friday_stage", because="TR-105")


@pytest.mark.rule("TR-D99", "TR-AD16")
def test_p09_two_characters_may_be_placed_in_a_row() -> None:
    a = seat("magician:market_row apprentice:workshop engineer:downtown", shards=0)
    t = place(a=a, b=seat("magician:workshop"), **under(9))
    t.a.does("place magician market_row_1", "end")
    assert t.asked == {"a": "place"}
    t.a.does("place apprentice workshop_1", "end")
    assert t.asked == {"b": "place"}


@pytest.mark.rule("TR-D99", "TR-AD16")
@pytest.mark.parametrize("command", ["decline", "idle apprentice_1"])
def test_p09_the_second_one_may_be_left_or_idle(command: str) -> None:
    t = place(a=seat("magician:market_row apprentice:workshop", shards=0), b=seat("magician:workshop"), **under(9))
    t.a.cannot("decline", because="TR-047")
    t.a.does("place magician market_row_1", "end", command)
    assert t.asked == {"b": "place"}


@pytest.mark.rule("TR-D99", "TR-AD16")
def test_p09_idling_first_ends_the_turn() -> None:
    t = place(a=seat("magician:market_row apprentice:workshop"), b=seat("magician:workshop"), **under(9))
    t.a.does("idle magician")
    assert t.asked == {"b": "place"}


@pytest.mark.rule("TR-D98")
def test_p08_enhance_gives_two() -> None:
    t = place(a=seat("apprentice:market_row", shards=1), **under(8))
    t.a.does("place apprentice market_row_4", "enhance")
    t.a.has(ap=3, shards=0)


@pytest.mark.rule("TR-D116", "TR-AD21")
def test_p26_enhance_works_backstage() -> None:
    t = place(a=seat("apprentice:theater", shards=1), **under(26))
    t.a.does("place apprentice sunday_1")
    t.a.has(ap=0)
    t.a.does("enhance")
    t.a.has(ap=1, shards=0)
    t = place(a=seat("magician:theater", shards=1), **under(26))
    t.a.does("place magician sunday_stage")
    assert t.asked != {"a": "act"}


# --- costs and prices


@pytest.mark.rule("TR-D102", "TR-AD9")
def test_p12_learn_trick_costs_one() -> None:
    t = place(a=seat("apprentice:downtown", shards=0, magician="electra"), dice="mechanical X / X X / X X", **under(12))
    t.a.does("place apprentice downtown_4", "learn linking_rings dahlgaard_a", "symbol spades")
    t.a.has(tricks="linking_rings:spades*0", ap=0)


@pytest.mark.rule("TR-D114", "TR-AD9")
def test_p24_take_coins_costs_one() -> None:
    t = place(a=seat("apprentice:downtown", shards=0), dice="X X / X X / 4 X", **under(24))
    t.a.does("place apprentice downtown_4", "take bank_a")
    t.a.has(coins=14)


@pytest.mark.rule("TR-D115", "TR-AD9")
def test_p25_hire_costs_one() -> None:
    t = place(a=seat("apprentice:downtown", shards=0), dice="X X / X apprentice / X X", **under(25))
    t.a.does("place apprentice downtown_4", "hire inn_b")
    t.a.has(hired="apprentice")


@pytest.mark.rule("TR-AD9", "TR-D114", "TR-D115")
@pytest.mark.parametrize(
    ("number", "card", "command"), [(24, "interest", "take bank_a"), (25, "headhunter", "headhunt inn_b engineer")]
)
def test_a_card_that_saves_a_point_makes_it_free(number: int, card: str, command: str) -> None:
    t = place(a=seat(f"apprentice:{card}", shards=0), dice="X X / X apprentice / 4 X", **under(number))
    t.a.does("place apprentice downtown_4", "keep", "bonus", command)
    t.a.has(ap=1)


@pytest.mark.rule("TR-D97")
def test_p07_take_coins_gives_double() -> None:
    t = place(a=seat("magician:downtown", shards=0), dice="X X / X X / 4 X", **under(7))
    t.a.does("place magician downtown_4", "take bank_a")
    t.a.has(coins=18)


@pytest.mark.rule("TR-D94", "TR-AD12")
def test_p04_ordered_components_can_be_bought() -> None:
    t = place(a=seat("apprentice:market_row", shards=0), order="- cog - -", **under(4))
    t.a.does("place apprentice market_row_4", "buy cog 2")
    t.a.has(components="cog*2", coins=4)
    t.has(order="- cog - -")


@pytest.mark.rule("TR-D111", "TR-AD20")
@pytest.mark.parametrize(("ruling", "quick"), [("plus_one", 3), ("flat", 2)])
def test_p21_every_component_costs_two(ruling: str, quick: int) -> None:
    t = place(
        a=seat("magician:market_row", shards=0, coins=20),
        buy="wood mirror metal glass",
        quick="cog",
        rulings={"flat_price_quick_order": ruling},
        **under(21),
    )
    t.a.does("place magician market_row_4", "buy wood 1", "buy mirror 1", "buy cog 1")
    t.a.has(coins=20 - 2 - 2 - quick)


# --- Shards and Set Up


@pytest.mark.rule("TR-D92", "TR-D93", "TR-AD11")
@pytest.mark.parametrize(("number", "shards", "fame"), [(2, 2, 5), (3, 1, 7)])
def test_p02_p03_each_receipt_of_shards(number: int, shards: int, fame: int) -> None:
    a = seat("apprentice:theater", "linking_rings:spades*1", shards=0)
    t = place(a=a, b=seat("magician", shards=0), stage="b/barricaded_barrels@R01:0.0>down", **under(number))
    t.a.does("place apprentice friday_1", "set_up linking_rings R01:0.1>down", "coins")
    t.a.has(shards=shards, fame=fame)
    t.b.has(shards=shards, fame=fame)


@pytest.mark.rule("TR-AD11", "TR-D92")
@pytest.mark.parametrize(("ruling", "shards"), [("payment", 3), ("source", 4)])
def test_what_counts_as_one_receipt(ruling: str, shards: int) -> None:
    t = perform(
        a=seat("magician@friday_stage", shards=0, magician="electra"),
        stage="a/mind_reading@R08:0.0>down a/stocks_escape@R08:0.2>up",
        display="R08 R10",
        rulings={"shard_event": ruling},
        **under(2),
    )
    t.a.does("perform R08")
    t.a.has(shards=shards)


CATEGORIES = [
    pytest.param(10, "stocks_escape", marks=pytest.mark.rule("TR-D100")),
    pytest.param(13, "linking_rings", marks=pytest.mark.rule("TR-D103")),
    pytest.param(17, "enchanted_butterflies", marks=pytest.mark.rule("TR-D107")),
    pytest.param(23, "mind_reading", marks=pytest.mark.rule("TR-D113")),
]


@pytest.mark.rule("TR-AD60")
@pytest.mark.parametrize(("number", "trick"), CATEGORIES)
def test_setting_up_a_trick_of_the_category_brings_fame(number: int, trick: str) -> None:
    tricks = "stocks_escape*1 linking_rings*1 enchanted_butterflies*1 mind_reading*1!"
    t = place(a=seat("magician:theater engineer", tricks, shards=0), display="R01 R10 R02 R03", **under(number))
    t.a.does("place magician thursday_1")
    before = t.a.fame
    for card, name in zip(
        ("R01:0.0>down", "R10:0.0>right", "R02:0.0>down", "R03:0.0>down"), tricks.split(), strict=True
    ):
        t.a.does(f"set_up {name.partition('*')[0]} {card}")
        before += 2 if name.startswith(trick) else 0
        t.a.has(fame=before)


@pytest.mark.rule("TR-AD60", "TR-D103")
def test_a_pile_brings_the_fame_once_and_a_reschedule_none() -> None:
    a = seat("engineer:theater", "linking_rings:spades*2", shards=0, magician="electra")
    t = place(a=a, **under(13))
    t.a.does("place engineer friday_1", "pile linking_rings R01:0.0>down")
    t.a.has(fame=7)
    t.a.does("reschedule R01:0.0", "to R01:0.1>up")
    t.a.has(fame=7)


# --- Performance


@pytest.mark.rule("TR-D101", "TR-D106", "TR-D112")
@pytest.mark.parametrize(
    ("number", "day", "fame", "coins"),
    [
        (11, "friday", 1, 2),
        (11, "saturday", 2, 3),
        (16, "thursday", 2, 3),
        (16, "sunday", 2, 3),
        (22, "saturday", 3, 4),
        (22, "sunday", 3, 4),
    ],
)
def test_p11_p16_p22_other_modifiers_of_weekdays(number: int, day: str, fame: int, coins: int) -> None:
    a = seat(f"magician@{day}_stage", magician="electra")
    t = perform(a=a, stage="a/levitation@R01:0.0>down", **under(number))
    t.a.does("perform R01")
    assert paid(t, wire.FameGained, Cause.YIELD) == fame
    assert paid(t, wire.CoinsGained, Cause.YIELD) == coins


@pytest.mark.rule("TR-D96", "TR-AD13")
def test_p06_performers_bonuses_double() -> None:
    t = perform(
        a=seat("magician@friday_stage assistant@friday_1 manager@friday_2", magician="electra"),
        stage="a/linking_rings@R08:0.0>down b/chinese_sticks@R08:0.1>up",
        display="R08 R10",
        **under(6),
    )
    t.a.does("perform R08")
    # Link 1, Assistant 2, card 1 Fame; Manager 3, card 1 coins; each twice, and no guest has any.
    assert paid(t, wire.FameGained, Cause.PERFORMER) == 8
    assert paid(t, wire.CoinsGained, Cause.PERFORMER) == 8
    assert not paid(t, wire.FameGained, Cause.PERFORMER, 1)
    assert paid(t, wire.CoinsGained, Cause.YIELD) == 2


@pytest.mark.rule("TR-D104", "TR-AD17")
def test_p14_coins_of_yields_come_as_fame() -> None:
    t = perform(
        a=seat("magician@sunday_stage manager@sunday_1", magician="electra"),
        stage="a/linking_rings@R08:0.0>down",
        display="R08 R10",
        **under(14),
    )
    t.a.does("perform R08")
    assert paid(t, wire.FameGained, Cause.YIELD) == 4  # 0 + 1 Fame, 2 + 1 coins
    assert not paid(t, wire.CoinsGained, Cause.YIELD)
    assert paid(t, wire.CoinsGained, Cause.PERFORMER) == 4


@pytest.mark.rule("TR-D109")
def test_p19_a_guest_elsewhere_has_the_performers_weekday() -> None:
    t = perform(
        a=seat("magician@sunday_stage", magician="electra"),
        b=seat("magician apprentice@thursday_1"),
        stage="a/linking_rings@R01:0.0>down b/levitation@R01:0.2>up",
        **under(19),
    )
    t.a.does("perform R01")
    assert (paid(t, wire.FameGained, Cause.YIELD, 1), paid(t, wire.CoinsGained, Cause.YIELD, 1)) == (3, 4)


# --- prophecy 20


@pytest.mark.rule("TR-D110", "TR-AD19")
def test_p20_cards_lie_facedown_until_they_are_used() -> None:
    t = assign(a=seat("magician apprentice", hand="trick_tweaking"), b=seat(), c=seat(), **under(20))
    t.a.does("assign magician:trick_tweaking apprentice_1:workshop")
    t.b.does("assign magician:theater")
    t.c.does("assign magician:theater")
    assert not any(card & SPECTATOR for assigned in t.hall.assigned for card in assigned)
    for view in (t.b.sees(), spectator(t)):
        assert set(view.players[0].hand) == {0}
        assert [(m.assigned, m.card) for m in view.players[0].team] == [(True, 0), (True, 0)]
    assert [m.card for m in t.a.sees().players[0].team] == [wire.Assignment.TRICK_TWEAKING, wire.Assignment.WORKSHOP]
    t.a.does("place apprentice workshop_1")
    assert [m.card for m in t.b.sees().players[0].team] == [0, wire.Assignment.WORKSHOP]


@pytest.mark.rule("TR-D110", "TR-AD19", "TR-D22")
def test_p20_what_is_turned_down_is_never_shown() -> None:
    t = assign(a=seat("magician", hand="trick_tweaking"), b=seat("magician"), c=seat("magician"), **under(20))
    t.a.does("assign magician:trick_tweaking")
    t.b.does("assign magician:workshop")
    t.c.does("assign")
    t.a.does("idle magician")
    t.b.does("place magician workshop_1", "end")
    t.begins("advertise")
    assert "trick_tweaking" in t.a.hand
    seen = sorted(t.b.sees().players[0].hand)
    assert seen == [0, *(c for c in sorted(t.c.sees().players[2].hand))]
    special = next(card for card in t.hall.hands[0] if card & 255 == wire.Assignment.TRICK_TWEAKING)
    assert known_by(special, 0) and not known_by(special, 1)


@pytest.mark.rule("TR-D110", "TR-AD19", "TR-AD25")
def test_p20_optico_copies_only_what_is_revealed() -> None:
    t = assign(
        a=seat("magician", hand="trick_tweaking test_run"),
        b=seat("magician apprentice", "linking_rings", "metal*2", magician="great_optico", shards=0),
        c=seat("magician"),
        **under(20),
    )
    t.a.does("assign magician:trick_tweaking")
    t.b.does("assign magician:workshop")
    t.c.does("assign")
    t.a.does("place magician workshop_1", "point", "end")
    t.b.does("place magician workshop_1")
    assert t.b.may == ["decline", "copy a magician"]


@pytest.mark.rule("TR-D110")
def test_without_p20_all_cards_are_turned_up_together() -> None:
    t = assign(a=seat("magician"), b=seat("magician"), c=seat("magician"), options=ALLEY)
    for player in (t.a, t.b, t.c):
        player.does("assign magician:workshop")
    assert [view.players[0].team[0].card for view in (t.b.sees(), spectator(t))] == [wire.Assignment.WORKSHOP] * 2
