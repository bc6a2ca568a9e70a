"""The greedy player of Trickerion: legal in every decision, blind to what its seat cannot know, better than luck."""

import pytest

from bench.greedy_vs_random import interval, options_of, play
from guildhall.kernel.families import Family
from guildhall.trickerion.v1 import structs as tr
from services.trickerion.greedy import Greedy
from services.trickerion.rules import RULES
from tests.cli.random_games import steps

GREEDY = Greedy(RULES.packs.data(RULES.pack_hash))


@pytest.mark.parametrize("dark_alley", ["false", "true"])
@pytest.mark.parametrize("players", RULES.seats)
def test_it_chooses_what_is_legal_in_every_decision(players: int, dark_alley: str) -> None:
    kinds = set()
    for game, _ in steps(players, 40 + players, {"dark_alley": dark_alley}, rules=RULES, advice=GREEDY):
        for decision in game.waiting():
            options = options_of(game, decision.seat)
            chosen = GREEDY(game.view(decision.seat), decision.kind, options)
            assert chosen in options or any(isinstance(o, Family) and o.holds(chosen) for o in options)
            kinds.add(decision.kind)
    assert {"starting_trick", "assign", "place", "act", "perform"} <= kinds


def test_it_beats_random_players_far_beyond_chance() -> None:
    games = 18
    won = sum(play(RULES, 3, number % 3, number, GREEDY)[0] == 1 for number in range(games))
    low, _ = interval(won, games)
    assert low > 1 / 3 + 0.25


def test_among_equals_it_performs_and_scores() -> None:
    """Among players that mostly follow it Tricks are set up and performed, and the winner has some Fame."""
    told: list[type] = []
    fame = [0]
    for game, decided in steps(3, 3, undo=0.0, rules=RULES, advice=GREEDY):
        told += [type(event) for event in decided.events]
        fame = game.hall.fame
    assert told.count(tr.CardPerformed) >= 3 and told.count(tr.TrickSetUp) >= 5 and max(fame) > 15
