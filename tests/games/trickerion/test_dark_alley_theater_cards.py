"""Special cards of the Theater, for Set Up and Reschedule (TR-D51 to TR-D55, TR-D59, TR-D60)."""

from typing import Any

import pytest

from guildhall.trickerion.v1 import structs as wire
from tests.games.trickerion.script import ALLEY, Script, end_turn, perform, place, seat

RINGS = "linking_rings:spades*2"
"""A level 1 Trick: Mechanical."""


def acting(card: str, tricks: str = RINGS, *, kind: str = "apprentice", slot: str = "friday_1", **more: Any) -> Script:
    """Seat a's Character acts in the Theater with the bonus of this card armed."""
    own = {name: more.pop(name) for name in ("magician", "coins", "shards") if name in more}
    t = place(a=seat(f"{kind}:{card}", tricks, **({"shards": 0} | own)), options=ALLEY, **more)
    t.a.does(f"place {kind} {slot}", "keep", "bonus")
    return t


# --- Guest Performer

FULL = "b/barricaded_barrels@R10:0.0>right b/stocks_escape@R10:1.0>down b/burning_mummy@R10:1.1>up"


@pytest.mark.rule("TR-D51", "TR-AD30")
def test_a_guest_lies_beside_a_full_card() -> None:
    t = acting("guest_performer", magician="mechaniker", stage=FULL)
    assert t.a.may_begin("guest", "set_up") == ["guest linking_rings R10"]
    t.a.does("guest linking_rings R10")
    t.has(stage=f"{FULL} a/linking_rings@R10:guest")
    t.a.has(ap=0, tricks="linking_rings:spades*1", fame=5, coins=10)
    assert not t.told(wire.LinkMade)


@pytest.mark.rule("TR-D51", "TR-AD30")
def test_no_guest_where_a_slot_is_free_or_the_symbol_lies_there() -> None:
    one_free = FULL.rsplit(" ", 1)[0]
    t = place(a=seat("apprentice:guest_performer", RINGS, shards=0), stage=one_free, options=ALLEY)
    t.a.does("place apprentice friday_1", "keep")
    t.a.cannot("bonus", because="TR-D14")
    own = FULL.replace("b/burning_mummy", "a/linking_rings")
    t = place(a=seat("apprentice:guest_performer", RINGS, shards=0), stage=own, options=ALLEY)
    t.a.does("place apprentice friday_1", "keep")
    t.a.cannot("bonus", because="TR-D14")


@pytest.mark.rule("TR-D51", "TR-AD30")
def test_a_guest_is_performed_returned_and_never_linked() -> None:
    t = perform(a=seat("magician@friday_stage"), stage=f"{FULL} a/linking_rings@R10:guest", options=ALLEY)
    t.a.does("perform R10")
    paid = {e.seat: e.amount for e in t.told(wire.CoinsGained) if e.cause == wire.Cause.YIELD}
    assert paid[0] == 2
    assert t.stage == ""
    t.a.has(supply="4 4 4 4", tricks="linking_rings:spades*0")


@pytest.mark.rule("TR-D51", "TR-AD30")
def test_a_guest_can_move_to_a_free_slot() -> None:
    t = place(a=seat("apprentice:theater", shards=0), stage=f"{FULL} a/linking_rings@R10:guest", options=ALLEY)
    t.a.does("place apprentice friday_1", "reschedule R10:guest", "to R01:0.1>up")
    t.has(stage=f"{FULL} a/linking_rings@R01:0.1>up")


@pytest.mark.rule("TR-D51", "TR-AD30")
def test_a_guest_leaves_with_its_card() -> None:
    t = end_turn(a=seat(), display="R01 R02 R03 R10", turn=3, stage=f"{FULL} a/linking_rings@R10:guest", options=ALLEY)
    assert t.stage == "" and "R10" not in t.display
    t.a.has(supply="4 4 4 4")


@pytest.mark.rule("TR-D33", "TR-D51", "TR-AD30")
def test_electras_pile_may_be_a_guest() -> None:
    t = acting("guest_performer", magician="electra", stage=FULL)
    assert sorted(t.a.may_begin("guest")) == ["guest linking_rings R10", "guest_pile linking_rings R10"]
    t.a.does("guest_pile linking_rings R10")
    t.has(stage=f"{FULL} a/linking_rings@R10:guest+")
    t.a.has(ap=0, tricks="linking_rings:spades*0", fame=5, coins=10)
    assert not t.told(wire.LinkMade)


@pytest.mark.rule("TR-D33", "TR-D51", "TR-AD30")
def test_no_guest_pile_of_one_marker_or_of_another_magician() -> None:
    t = acting("guest_performer", RINGS.replace("*2", "*1"), magician="electra", stage=FULL)
    assert t.a.may_begin("guest") == ["guest linking_rings R10"]
    t.a.cannot("guest_pile linking_rings R10", because="TR-D12")
    t = acting("guest_performer", magician="mechaniker", stage=FULL)
    t.a.cannot("guest_pile linking_rings R10", because="TR-D12")


@pytest.mark.rule("TR-D33", "TR-AD28", "TR-AD30")
def test_a_guest_pile_yields_more_and_returns_as_two() -> None:
    a = seat("magician@friday_stage", magician="electra")
    t = perform(a=a, stage=f"{FULL} a/linking_rings@R10:guest+", options=ALLEY)
    t.a.does("perform R10")
    paid = {e.seat: e.amount for e in t.told(wire.CoinsGained) if e.cause == wire.Cause.YIELD}
    assert paid[0] == 3
    t.a.has(supply="4 4 4 4", tricks="linking_rings:spades*0")


# --- Orchestral Interlude, Headliner Trick, New Twist, Buying Time


@pytest.mark.rule("TR-D52", "TR-AD31")
@pytest.mark.parametrize(("ruling", "payments"), [("true", 2), ("false", 3)])
def test_an_interlude_is_paid_for_every_joined_marker(ruling: str, payments: int) -> None:
    stage = "b/barricaded_barrels@R01:0.0>down b/mind_reading@R01:0.2>up"
    t = acting("orchestral_interlude", stage=stage, rulings={"orchestral_replaces_link_payment": ruling})
    t.a.does("set_up linking_rings R01:0.1>down")
    assert len(t.told(wire.LinkMade)) == 1
    for _ in range(payments):
        assert t.asked == {"a": "link_bonus"}
        t.a.does("coins")
    t.a.has(coins=10 + payments, shards=1)
    assert t.asked != {"a": "link_bonus"}


@pytest.mark.rule("TR-D53", "TR-AD32")
def test_a_headliner_is_paid_twice_with_its_shard() -> None:
    t = acting("headliner_trick", stage="b/barricaded_barrels@R01:0.0>down")
    t.a.does("set_up linking_rings R01:0.1>down", "fame", "coins")
    t.a.has(fame=6, coins=11, shards=2)
    t.b.has(shards=2)


@pytest.mark.rule("TR-D54", "TR-AD32")
def test_a_twist_puts_a_second_marker_of_a_symbol_on_a_card() -> None:
    own = "a/linking_rings@R01:0.0>down"
    t = acting("new_twist", stage=own)
    t.a.does("set_up linking_rings R01:0.2>up")
    t.has(stage=f"{own} a/linking_rings@R01:0.2>up")
    t = acting("new_twist", stage=f"{own} a/linking_rings@R01:0.2>up", tricks="linking_rings:spades*1")
    t.a.cannot("set_up linking_rings R01:0.1>up", because="TR-D12")


@pytest.mark.rule("TR-D55", "TR-AD33")
@pytest.mark.parametrize(
    ("ruling", "command", "coins", "display"),
    [
        ("with_swap", "swap R01 R10", 13, "R10 R01"),
        ("with_swap", "decline", 10, "R01 R10"),
        ("always", "swap R01 R10", 13, "R10 R01"),
        ("always", "decline", 13, "R01 R10"),
    ],
)
def test_time_is_bought_by_a_swap(ruling: str, command: str, coins: int, display: str) -> None:
    t = acting("buying_time", stage="b/mind_reading@R01:0.2>up", rulings={"buying_time_coins": ruling})
    t.a.does("set_up linking_rings R10:0.0>right")
    assert t.asked == {"a": "swap_cards"}
    t.a.does(command)
    t.a.has(coins=coins)
    t.has(display=display, stage="b/mind_reading@R01:0.2>up a/linking_rings@R10:0.0>right")


@pytest.mark.rule("TR-D55", "TR-AD33")
def test_a_single_card_has_no_partner() -> None:
    t = acting("buying_time", display="R01", kind="engineer")
    t.a.does("set_up linking_rings R01:0.0>down")
    assert t.a.may == ["decline"]
    t.a.does("decline")
    t.a.has(coins=10)


# --- Street Performance, Director's Favor


@pytest.mark.rule("TR-D59", "TR-AD37")
@pytest.mark.parametrize(
    ("slot", "kind", "fame", "coins"), [("thursday_1", "apprentice", 0, 1), ("sunday_1", "engineer", 1, 3)]
)
def test_a_street_performance_yields_as_on_its_weekday(slot: str, kind: str, fame: int, coins: int) -> None:
    t = acting("street_performance", stage="a/linking_rings@R01:0.0>down", slot=slot, kind=kind)
    t.a.does("street R01:0.0")
    t.a.has(fame=5 + fame, coins=10 + coins, supply="2 4 4 4")
    assert t.stage == ""
    assert t.hall.alley is not None and t.hall.alley.performed[0] == []


@pytest.mark.rule("TR-D59", "TR-AD37")
def test_a_street_performance_takes_own_markers_only_and_pays_coins_under_prophecy_14() -> None:
    stage = "a/linking_rings@R01:0.0>down b/levitation@R01:0.2>up"
    t = acting("street_performance", stage=stage, prophecies="p14 / p23 p17 p13 / p10")
    assert t.a.may_begin("street", "reschedule") == ["street R01:0.0"]
    t.a.does("street R01:0.0")
    t.a.has(coins=12, fame=5)


@pytest.mark.rule("TR-D60", "TR-AD38")
def test_a_favor_moves_an_opponents_marker() -> None:
    stage = "a/linking_rings@R10:0.0>right b/levitation@R01:0.2>up"
    t = acting("directors_favor", stage=stage)
    t.a.cannot("reschedule R10:0.0", because="TR-D12")
    t.a.does("reschedule R01:0.2", "to R10:1.0>left")
    t.has(stage="a/linking_rings@R10:0.0>right b/levitation@R10:1.0>left")
    assert not t.told(wire.LinkMade, wire.FameGained, wire.CoinsGained)


@pytest.mark.rule("TR-D60", "TR-AD38")
def test_a_favor_keeps_the_owners_symbols_apart() -> None:
    stage = "b/levitation@R01:0.2>up b/levitation@R10:1.1>up"
    t = acting("directors_favor", stage=stage)
    t.a.does("reschedule R01:0.2")
    t.a.cannot("to R10:0.0>right", because="TR-109")
    t.a.does("to R01:0.0>down")


# --- Electra


@pytest.mark.rule("TR-D33", "TR-D53")
def test_a_pile_can_be_the_headliner() -> None:
    t = acting("headliner_trick", stage="b/barricaded_barrels@R01:0.0>down", magician="electra")
    t.a.does("pile linking_rings R01:0.1>down", "coins", "coins")
    t.a.has(coins=12, shards=2, tricks="linking_rings:spades*0")
