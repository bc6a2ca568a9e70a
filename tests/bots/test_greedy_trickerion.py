"""The greedy player of Trickerion: legal in every decision, blind to what its seat cannot know, better than luck."""

import random

import pytest

from bench.greedy_vs_random import interval, options_of, play
from bench.random_games import begin
from guildhall.kernel.decide import decide
from guildhall.kernel.families import Family
from guildhall.kernel.ids import decision_id
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
    """A game of greedy players alone: Tricks are set up and performed, and the winner has some Fame."""
    game, _ = begin(RULES, random.Random(3), 3)
    told: list[type] = []
    while game.ended is None:
        waiting = game.waiting()[0]
        asked = decision_id(waiting.version, waiting.seat)
        command = GREEDY(game.view(waiting.seat), waiting.kind, options_of(game, waiting.seat))
        by = f"player-{waiting.seat}"
        decided = decide(game, waiting.seat, asked, command, subject=by, command_id=asked, at_ms=0)
        told += [type(event) for event in decided.events]
    assert told.count(tr.CardPerformed) >= 3 and told.count(tr.TrickSetUp) >= 5 and max(game.hall.fame) > 20
