"""How often greedy players beat random ones: `python -m bench.greedy_vs_random [game] [games] [option=value …]`.

One greedy player against random ones, its seat rotated, the player counts taken in turn. The engine runs in process;
each player is given its own blind view and what it may do, as a client would be.
"""

import importlib
import math
import random
import sys
from collections.abc import Callable, Mapping
from typing import Any

from bench.random_games import rules_of, title
from guildhall.kernel.decide import Creation, create, created_event, decide
from guildhall.kernel.game import UNDO, Game, as_decision
from guildhall.kernel.rules import Rules
from services.bots.player import Choose
from services.bots.random_choice import RandomChoice

SCORES: dict[str, tuple[str, Callable[[Any], list[int]]]] = {
    "arcane_alley": ("gold", lambda hall: hall.gold),
    "trickerion": ("Fame", lambda hall: hall.fame),
}
"""What is counted in each game, by seat."""


def greedy_of(rules: Rules) -> Choose:
    """The game's greedy player."""
    made: Choose = importlib.import_module(f"services.{rules.game}.greedy").Greedy(rules.packs.data(rules.pack_hash))
    return made


def options_of(game: Game, seat: int) -> list[Any]:
    """What a seat may do but Undo, as a client is told it."""
    listing = game.legal(seat)
    return [*(command for command in listing.commands if command != UNDO), *listing.families]


def play(
    rules: Rules,
    players: int,
    greedy_seat: int,
    number: int,
    choose: Choose,
    options: Mapping[str, str] | None = None,
) -> tuple[int, list[int]]:
    """One game; the greedy seat's rank and everybody's score."""
    rng = random.Random(number)
    names = [f"player {seat}" for seat in range(players)]
    created = created_event(rules, Creation(names, options or {}), f"game {number}", rng.randbytes(32))
    game, _ = create(rules, created, subject=names[0], command_id="create", payload_hash=b"", at_ms=0)
    others = RandomChoice(rng)
    while game.ended is None:
        decision = game.waiting()[0]
        chooser = choose if decision.seat == greedy_seat else others
        command = chooser(game.view(decision.seat), decision.kind, options_of(game, decision.seat))
        asked = as_decision(decision).id
        decide(game, decision.seat, asked, command, subject=names[decision.seat], command_id=asked, at_ms=0)
    return game.ended.ranks[greedy_seat], list(SCORES[rules.game][1](game.hall))


def interval(won: float, games: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a rate."""
    z, rate = 1.96, won / games
    middle = (rate + z * z / (2 * games)) / (1 + z * z / games)
    half = z / (1 + z * z / games) * math.sqrt(rate * (1 - rate) / games + z * z / (4 * games * games))
    return middle - half, middle + half


def main(name: str, games: int, options: Mapping[str, str]) -> None:
    """Play and print one line per player count, and the total."""
    rules = rules_of(name)
    greedy = greedy_of(rules)
    counted = SCORES[name][0]
    print(f"greedy against random players of {title(rules)} (a shared win counts as one)")
    heads = f"{'players':>7} {'games':>6} {'wins':>7} {'rate':>7} {'95 % interval':>17}"
    print(f"{heads} {'even':>6} {counted:>6} {'theirs':>6}")
    total = 0.0
    for players in rules.seats:
        rounds = games // len(rules.seats)
        won, own, theirs = 0.0, 0, 0.0
        for number in range(rounds):
            seat = number % players
            rank, scores = play(rules, players, seat, players * 1_000_000 + number, greedy, options)
            won += rank == 1
            own += scores[seat]
            theirs += (sum(scores) - scores[seat]) / (players - 1)
        low, high = interval(won, rounds)
        print(
            f"{players:>7} {rounds:>6} {won:>7.0f} {won / rounds:>7.1%} {low:>8.1%} -{high:>7.1%} {1 / players:>6.1%}"
            f" {own / rounds:>6.1f} {theirs / rounds:>6.1f}"
        )
        total += won
    low, high = interval(total, games // len(rules.seats) * len(rules.seats))
    print(f"{'all':>7} {games:>6} {total:>7.0f} {total / games:>7.1%} {low:>8.1%} -{high:>7.1%}")


if __name__ == "__main__":
    words = sys.argv[1:]
    chosen = dict(word.split("=", 1) for word in words if "=" in word)
    named = [word.replace("-", "_") for word in words if not word.isdigit() and "=" not in word]
    counts = [int(word) for word in words if word.isdigit()]
    main(named[0] if named else "arcane_alley", counts[0] if counts else 500, chosen)
