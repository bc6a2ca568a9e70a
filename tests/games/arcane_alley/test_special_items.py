"""Scenarios of the four special items."""

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from tests.games.arcane_alley.script import inspect, seat, sell


@pytest.mark.rule("AA-108", "AA-109", "AA-110", "AA-111", "AA-171", "AA-172")
def test_scenario_45_lamp() -> None:
    t = sell(a=seat("* . . / . ?z . / . . .", stash="ML y"), deck="q DE OW PL ...", discard="u v")
    t.a.does("draw deck", "activate ML")
    t.a.has(infamy=5)
    assert [event.item for event in t.told(wire.ItemTurnedUp)] == [6, 14, 15]
    assert t.asked == {"a": "lamp"}
    t.a.cannot("discard y", because="AA-172")
    t.a.does("play OW 1,1")
    t.a.has(grid="* . . / . OW . / . . .", stash="y q")
    assert t.deck.split()[0] == t.in_codes("u")
    t.has(discard="z v", set_aside="DE ML PL", active="b")


@pytest.mark.rule("AA-195", "AA-196", "AA-197")
def test_scenario_46_watch() -> None:
    t = sell(a=seat("HT . . / . . . / . . .", stash="WW y"), discard="TC DL BF CB OW SK")
    t.a.does("draw deck", "activate WW")
    t.a.has(infamy=5)
    t.a.cannot("take 5 0,0", because="AA-195")
    t.a.does("take 2 0,0")
    t.a.has(grid="BF . . / . . . / . . .", infamy=5)
    t.has(discard="HT TC DL CB OW SK", set_aside="WW")


@pytest.mark.rule("AA-181", "AA-182", "AA-98")
def test_scenario_47_chalice() -> None:
    t = sell(a=seat(stash="SC y"), b=seat(stash="DE IR"))
    t.a.does("draw deck", "activate SC")
    assert t.asked == {"a": "chalice_player"} and t.a.may == ["choose b", "choose c"]
    t.a.does("choose b")
    assert t.a.sees(t.b).stash == "DE IR"
    assert t.c.sees(t.b).stash == "? ?"
    t.a.does("play DE 0,0")
    t.a.has(infamy=5, grid="DE . . / . . . / . . .")
    t.b.has(stash="IR")
    assert t.a.sees(t.b).stash == "IR" and t.c.sees(t.b).stash == "?"
    t.b.does("draw deck")
    assert len(t.b.stash.split()) == 2
    t.b.does("discard IR")
    assert len(t.b.stash.split()) == 1


@pytest.mark.rule("AA-178", "RES-25", "AA-229")
def test_scenario_48_lockbox_in_vain() -> None:
    t = sell(a=seat("* * * / * * * / * * *", stash="PL y"), b=seat("* . . / . . . / . . ."))
    t.a.does("draw deck", "activate PL")
    t.a.has(infamy=5)
    assert not t.told(wire.ItemsSwapped)
    t.has(trigger="a", active="b", set_aside="PL")


@pytest.mark.rule("AA-177", "AA-116", "AA-179", "RES-1", "RES-14")
def test_scenario_49_lockbox_makes_no_natural_set() -> None:
    t = sell(a=seat("BC ?OW BC / . . . / . . .", stash="PL y"), b=seat(". . . / . BC . / . . ."))
    t.a.does("draw deck", "activate PL", "swap 0,1 b 1,1")
    t.a.has(grid="BC BC BC / . . . / . . .", gold=25, infamy=5)
    t.b.has(grid=". . . / . ?OW . / . . .")
    for viewer in t.players:
        assert viewer.sees(t.b).grid.split()[5] == "?"

    t = sell(a=seat("BC ?OW BC / . . . / . . .", stash="PL y"), b=seat(". . . / . FF . / . . ."))
    t.a.does("draw deck", "activate PL", "swap 0,1 b 1,1")
    assert t.asked == {"a": "cauldron"}
    t.a.does("lose infamy")
    t.a.has(gold=40, infamy=2, grid=". . . / . . .")


@pytest.mark.rule("AA-105", "AA-106", "AA-107", "AA-170", "RES-44")
def test_scenario_50_a_special_outside_the_stash() -> None:
    t = inspect(a=seat("?ML IR DL", infamy=0), trigger="b")
    t.a.has(infamy=10)
    assert not [event for event in t.story if isinstance(event, wire.ItemTurnedUp)]

    t = sell(a=seat(stash="x y"), deck="ML ...")
    t.a.cannot("activate ML", because="AA-37")
    t.a.does("draw deck", "activate ML")
    t.a.has(infamy=5)


@pytest.mark.rule("AA-94", "RES-20", "AA-171")
def test_scenario_76_lamp_with_a_short_deck() -> None:
    t = sell(a=seat("r . . / . . . / . . .", stash="ML y"), deck="q BC", discard="a b c d")
    t.a.does("draw deck", "activate ML")
    turned_up = [wire.Item(event.item) for event in t.told(wire.ItemTurnedUp)]
    assert len(turned_up) == 3 and turned_up[0] == wire.Item.BUBBLING_CAULDRON
    assert len(t.deck.split()) == 1
    t.has(discard="a")
    t.a.does("play BC 0,0")
    t.has(discard="r a")


@pytest.mark.rule("AA-202", "RES-43", "RES-44")
def test_scenario_80_meeblemore_and_the_chalice() -> None:
    for chosen in ("SK", "ML"):
        t = sell(a=seat(stash="SC y", wizard="meeblemore"), b=seat(stash="ML SK"))
        t.a.does("draw deck", "activate SC")
        t.a.has(infamy=5)
        t.a.does("choose b", f"play {chosen} 0,0")
        if chosen == "SK":
            assert t.a.may == ["resolve", "skip"]
            t.a.does("skip")
            t.b.has(stash="ML")
        else:
            t.b.has(stash="SK")
        t.a.has(infamy=5, grid=f"{chosen} . . / . . . / . . .")
        assert t.active == "b"
