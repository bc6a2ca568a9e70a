"""Scenarios of setup, and of the frame of a round."""

import pytest

from tests.games.arcane_alley.script import new_game, seat, sell, stock_all


@pytest.mark.rule("AA-04", "AA-10", "AA-26", "AA-28", "AA-29", "AA-31")
def test_scenario_01_stock_of_four() -> None:
    t = new_game(4)
    stock_all(t)
    for player in t.players:
        player.has(gold=25, infamy=0, markers=0)
        assert len(player.stash.split()) == 2
        assert player.grid.count("?") == 7 and len(player.grid.replace("/", "").split()) == 9
    assert len(t.discard.split()) == 1
    assert len(t.deck.split()) == 104 - 45
    t.has(round=1)


@pytest.mark.rule("AA-07", "AA-205", "AA-206")
@pytest.mark.parametrize("powers", [True, False])
def test_scenario_02_six_with_corvus(powers: bool) -> None:
    wizards = "glynna,meeblemore,byros,dafana,ninx,corvus" if powers else ""
    t = new_game(6, wizards=wizards)
    stock_all(t)
    assert [len(player.stash.split()) for player in t.players] == [2, 2, 2, 2, 2, 4 if powers else 2]
    assert len(t.deck.split()) == (70 if powers else 72)


@pytest.mark.rule("AA-94", "AA-96", "RES-20")
def test_scenario_04_deck_runs_out() -> None:
    t = sell(a=seat(stash="u v"), deck="q", discard="a b c")
    t.a.does("draw deck")
    t.a.has(stash="u v q")
    assert sorted(t.deck.split()) == sorted(t.in_codes("b c").split())
    t.has(discard="a", set_aside="")
