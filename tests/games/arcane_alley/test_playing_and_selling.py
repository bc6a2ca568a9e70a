"""Scenarios of playing, selling and how a storehouse closes up."""

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from tests.games.arcane_alley.script import seat, sell


@pytest.mark.rule("AA-40", "AA-41", "AA-44", "AA-50", "AA-223")
def test_scenario_06_replaced_hidden_item() -> None:
    t = sell(a=seat("* . . / . ?DE . / . . .", stash="TC x"))
    t.a.does("draw deck", "play TC 1,1")
    t.a.has(grid="* . . / . TC . / . . .", gold=25, infamy=0)
    assert t.discard.split()[0] == "DE"
    kinds = [type(event) for event in t.events]
    assert kinds.index(wire.ItemPlayed) < kinds.index(wire.ReplacedItemDiscarded)
    assert not t.told(wire.GoldGained, wire.GoldLost, wire.InfamyGained, wire.InfamyLost)


@pytest.mark.rule("AA-143", "AA-144", "AA-187", "AA-189")
def test_scenario_08_egg_for_the_owner_of_a_sword() -> None:
    t = sell(a=seat("DE DE ?x / . . . / . . .", stash="DE y"), b=seat("SS . . / . . . / . . ."))
    t.a.does("draw deck", "play DE 0,2")
    t.a.cannot("choose a", because="AA-144")
    t.a.does("choose b")
    t.a.has(gold=45)
    t.b.has(gold=32, infamy=2)


@pytest.mark.rule("AA-62", "AA-69")
@pytest.mark.parametrize(("direction", "grid"), [("vertical", "k l m / n o p"), ("horizontal", "k l / n m / o p")])
def test_scenario_10_diagonal_slide(direction: str, grid: str) -> None:
    t = sell(a=seat("k l ?z / n FC m / FC o p", stash="FC y"))
    t.a.does("draw deck", "play FC 0,2")
    assert t.asked == {"a": "slide"} and t.a.may == ["slide vertical", "slide horizontal"]
    t.a.does(f"slide {direction}")
    t.a.has(grid=grid, gold=32)


@pytest.mark.rule("AA-68", "RES-7")
def test_scenario_12_two_sets_at_once() -> None:
    t = sell(a=seat(". DE . / DE ?x DE / . DE .", stash="DE y"))
    t.a.does("draw deck", "play DE 1,1")
    assert t.asked == {"a": "sale_order"}
    assert sorted(t.a.may) == ["sell 0,1 2,1", "sell 1,0 1,2"]
    t.a.does("sell 1,0 1,2", "choose b")
    t.a.has(grid=". DE . / . DE .", gold=45)
    t.b.has(gold=40, infamy=2)
    assert t.active == "b"


@pytest.mark.rule("AA-56", "RES-1")
def test_scenario_13_a_slide_makes_no_natural_set() -> None:
    t = sell(a=seat("TC BF BF / BF TC ?x / ?u ?v ?w", stash="TC BF", infamy=5))
    t.a.does("draw deck", "play TC 2,2", "slide vertical")
    t.a.has(grid="BF BF BF / ?u ?v ?x", gold=29)
    for other in (t.b, t.c):
        other.does("draw deck", f"discard {other.stash.split()[0]}")
    t.a.has(grid="BF BF BF / ?u ?v ?x", gold=29, infamy=5)
    t.a.does("draw deck", "play BF 0,1")
    t.a.has(grid="?u ?v ?x", gold=41, infamy=3)


@pytest.mark.rule("AA-58", "AA-59", "AA-161", "RES-33")
def test_scenario_14_a_set_must_be_sold() -> None:
    t = sell(a=seat("HT HT ?x / . . . / . . .", stash="HT y"))
    t.a.does("draw deck", "play HT 0,2")
    assert t.a.may == ["choose a", "choose b", "choose c"]
    t.a.does("choose a")
    t.a.has(gold=25, infamy=5)


@pytest.mark.rule("AA-67", "AA-100", "AA-184", "AA-185", "AA-102", "AA-104")
def test_scenario_15_last_set_of_a_storehouse() -> None:
    t = sell(a=seat("SK / SK / ?x", stash="SK y"))
    t.a.does("draw deck", "play SK 2,0")
    t.a.has(infamy=3, gold=55, grid="")
    t.b.has(infamy=5)
    t.c.has(infamy=5)
    assert t.discard.split()[0] == t.in_codes("x")
    t.has(trigger="a", active="b")


@pytest.mark.rule("AA-47", "AA-229", "RES-25")
def test_scenario_16_trigger_by_discarding() -> None:
    t = sell(a=seat("HD * * / * * * / * * *", stash="TC x"))
    t.a.does("draw deck", "discard TC")
    t.has(trigger="a", active="b")
