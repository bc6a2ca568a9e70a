"""The greedy player of Arcane Alley: legal in every decision, blind to what its seat cannot know, better than luck."""

import random

import pytest
from msgspec.structs import replace

from bench.greedy_vs_random import interval, options_of, play
from bench.random_games import begin
from guildhall.arcane_alley.v1 import structs as aa
from guildhall.kernel.decide import decide
from guildhall.kernel.ids import decision_id
from guildhall.kernel.v1.structs import EndReason, Undo
from services.arcane_alley.greedy import Greedy, set_of
from services.arcane_alley.rules import RULES
from services.bots.random_choice import RandomChoice
from tests.cli.random_games import PACK, steps

GREEDY = Greedy(PACK)


@pytest.mark.parametrize("players", range(2, 7))
def test_it_chooses_a_listed_command_in_every_decision(players: int) -> None:
    kinds = set()
    for game, _ in steps(players, 40 + players):
        for decision in game.waiting():
            commands = game.legal(decision.seat).commands
            chosen = GREEDY(game.view(decision.seat), decision.kind, commands)
            assert chosen in commands and type(chosen) is not Undo
            kinds.add(decision.kind)
    assert {"draw", "act", "reveal_items"} <= kinds


def test_it_beats_random_players_far_beyond_chance() -> None:
    games = 24
    won = sum(play(RULES, 3, number % 3, number, GREEDY)[0] == 1 for number in range(games))
    low, _ = interval(won, games)
    assert low > 1 / 3 + 0.25


@pytest.mark.parametrize("players", [4, 5])
def test_among_themselves_they_come_to_an_end(players: int) -> None:
    """Nobody likes to trigger the inspection: these games would go on for ever, and fill a log."""
    luck = random.Random(players)
    game, _ = begin(RULES, luck, players)
    while game.ended is None:
        decision = game.waiting()[0]
        command = GREEDY(game.view(decision.seat), decision.kind, options_of(game, decision.seat))
        asked = decision_id(decision.version, decision.seat)
        by, at_ms = f"player-{decision.seat}", game.at_ms + 1
        decide(game, decision.seat, asked, command, subject=by, command_id=asked, at_ms=at_ms)
        assert game.version < 1_500
    assert game.ended.reason == EndReason.FINISHED


def test_it_sells_a_set_on_its_last_turn() -> None:
    game, _ = next(step for step in steps(2, 7) if any(d.kind == "act" for d in step[0].waiting()))
    seat = game.waiting()[0].seat
    view = game.view(seat)
    egg = aa.Card(aa.Item.DRAGONS_EGG, True)
    cells = (egg, egg, *(aa.Card(),) * 7)
    player = replace(
        view.players[seat],
        storehouse=aa.Storehouse(3, 3, cells),
        stash=(aa.Item.DRAGONS_EGG, aa.Item.OLDER_WAND),
    )
    players = tuple(player if other.seat == seat else other for other in view.players)
    commands: list[aa.Play | aa.Discard] = [aa.Play(item, cell) for item in player.stash for cell in range(9)]
    commands += [aa.Discard(item) for item in player.stash]
    last_turn = replace(view, players=players, trigger_seat=1 - seat)
    assert GREEDY(last_turn, "act", commands) == aa.Play(aa.Item.DRAGONS_EGG, 2)


def test_a_feline_stands_for_one_copy_of_a_pair_only() -> None:
    coin, feline, egg = aa.Item.THREE_HEADED_COIN, aa.Item.FACSIMILOUS_FELINE, aa.Item.DRAGONS_EGG
    line = (0, 1, 2)
    assert set_of((coin, coin, coin), line) == coin
    assert set_of((coin, feline, coin), line) == coin
    assert set_of((feline, feline, feline), line) == feline
    assert set_of((coin, feline, feline), line) == 0
    assert set_of((coin, feline, egg), line) == 0
    assert set_of((coin, coin, -coin), line) == 0


def test_the_random_player_never_takes_back() -> None:
    choose = RandomChoice(random.Random(1))
    assert {choose(None, "draw", [aa.DrawDeck(), Undo()]) for _ in range(50)} == {aa.DrawDeck()}
