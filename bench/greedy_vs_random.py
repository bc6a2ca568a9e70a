"""How often the greedy player of Arcane Alley beats random ones: `python -m bench.greedy_vs_random [games]`.

One greedy player against random ones, its seat rotated, the player counts taken in turn. The engine runs in process;
each player is given its own blind view and its own legal commands, as a client would be.
"""

import math
import random
import sys
from collections.abc import Callable
from typing import Any

from guildhall.kernel.decide import Creation, create, created_event, decide
from guildhall.kernel.game import UNDO, as_decision
from services.arcane_alley.greedy import Greedy
from services.arcane_alley.rules import RULES

COUNTS = (2, 3, 4, 5, 6)


def play(players: int, greedy_seat: int, number: int, choose: Callable[[Any, str, Any], Any]) -> tuple[int, list[int]]:
    """One game; the greedy seat's rank and everybody's gold."""
    rng = random.Random(number)
    names = [f"player {seat}" for seat in range(players)]
    created = created_event(RULES, Creation(names), f"game {number}", rng.randbytes(32))
    game, _ = create(RULES, created, subject=names[0], command_id="create", payload_hash=b"", at_ms=0)
    while game.ended is None:
        decision = game.waiting()[0]
        commands = [command for command in game.legal(decision.seat).commands if command != UNDO]
        if decision.seat == greedy_seat:
            command = choose(game.view(decision.seat), decision.kind, commands)
        else:
            command = rng.choice(commands)
        asked = as_decision(decision).id
        decide(game, decision.seat, asked, command, subject=names[decision.seat], command_id=asked, at_ms=0)
    return game.ended.ranks[greedy_seat], game.hall.gold


def interval(won: float, games: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a rate."""
    z, rate = 1.96, won / games
    middle = (rate + z * z / (2 * games)) / (1 + z * z / games)
    half = z / (1 + z * z / games) * math.sqrt(rate * (1 - rate) / games + z * z / (4 * games * games))
    return middle - half, middle + half


def main(games: int) -> None:
    """Play and print one line per player count, and the total."""
    greedy = Greedy(RULES.packs.data(RULES.pack_hash))
    print("greedy against random players of Arcane Alley (a shared win counts as one)")
    heads = f"{'players':>7} {'games':>6} {'wins':>7} {'rate':>7} {'95 % interval':>17}"
    print(f"{heads} {'even':>6} {'gold':>6} {'theirs':>6}")
    total = 0.0
    for players in COUNTS:
        rounds = games // len(COUNTS)
        won, gold, theirs = 0.0, 0, 0.0
        for number in range(rounds):
            seat = number % players
            rank, all_gold = play(players, seat, players * 1_000_000 + number, greedy)
            won += rank == 1
            gold += all_gold[seat]
            theirs += (sum(all_gold) - all_gold[seat]) / (players - 1)
        low, high = interval(won, rounds)
        print(
            f"{players:>7} {rounds:>6} {won:>7.0f} {won / rounds:>7.1%} {low:>8.1%} -{high:>7.1%} {1 / players:>6.1%}"
            f" {gold / rounds:>6.1f} {theirs / rounds:>6.1f}"
        )
        total += won
    low, high = interval(total, games // len(COUNTS) * len(COUNTS))
    print(f"{'all':>7} {games:>6} {total:>7.0f} {total / games:>7.1%} {low:>8.1%} -{high:>7.1%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
