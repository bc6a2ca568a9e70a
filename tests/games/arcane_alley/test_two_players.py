"""Scenarios of a game of two."""

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from tests.games.arcane_alley.script import seat, sell


@pytest.mark.rule("AA-220", "AA-221", "AA-72")
def test_scenario_65_inspection_by_itself() -> None:
    t = sell(2, a=seat("?BC CB TC"), b=seat("?IR DL HT"), active="b", turn=20)
    t.b.passes()
    assert [e for e in t.story if isinstance(e, wire.InspectionStarted)]
    t.has(trigger="")
    t.a.has(infamy=8)
    assert not [e for e in t.story if isinstance(e, wire.InfamyGained) and e.cause == wire.Cause.TRIGGER]


@pytest.mark.rule("AA-72", "AA-48", "RES-31")
def test_scenario_66_trigger_on_turn_20() -> None:
    t = sell(2, a=seat("?IR DL HT"), b=seat("BC CB TC"), active="b", turn=20)
    t.b.passes()
    t.has(trigger="b", active="a")
    t.a.passes()
    t.b.has(infamy=18)
    penalty = [e for e in t.story if isinstance(e, wire.InfamyGained) and e.cause == wire.Cause.TRIGGER]
    assert [(e.seat, e.amount) for e in penalty] == [(1, 10)]


@pytest.mark.rule("AA-49", "AA-224", "AA-225", "AA-226")
def test_scenario_67_replaced_hidden_item_goes_to_the_stash() -> None:
    t = sell(2, a=seat("?CB . . / . . . / . . .", stash="TC DE"), deck="OW ...", discard="u")
    t.a.does("draw deck", "play TC 0,0")
    t.a.has(stash="CB DE OW")
    assert t.asked == {"a": "discard"} and t.a.may == ["discard CB", "discard DE", "discard OW"]
    assert t.b.sees(t.a).stash == "? ? ?"
    t.a.does("discard CB")
    t.has(discard="CB u", active="b")
    t.a.has(stash="DE OW")

    t = sell(2, a=seat("CB . . / . . . / . . .", stash="TC DE"), deck="OW ...", discard="u")
    t.a.does("draw deck", "play TC 0,0")
    t.has(discard="CB u", active="b")
    t.a.has(stash="DE OW")


@pytest.mark.rule("AA-224", "AA-110", "RES-44")
def test_scenario_77_special_taken_into_the_stash() -> None:
    t = sell(2, a=seat("* . . / . ?SC . / . . .", stash="WW OW"), deck="BC ...", discard="DL TC")
    t.a.does("draw deck", "activate WW", "take 0 1,1")
    t.a.has(infamy=5, gold=20, stash="OW BC SC")
    assert t.b.sees(t.a).stash == "? ? ?"
    t.a.cannot("activate SC")
    t.a.does("discard OW")
    t.has(discard="OW TC")
    t.b.passes()
    t.a.does("draw deck", "activate SC")
    t.a.has(infamy=10)
