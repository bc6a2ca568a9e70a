"""Enumeration: time of one listing of legal commands, blinding included, over all states that random games meet."""

import os
from dataclasses import replace
from random import Random
from time import perf_counter_ns

from bench.catan import Beside
from bench.random_games import NAMES, begin, rules_of, step, title
from bench.table import Row
from guildhall.kernel.rules import Rules

GAMES = int(os.environ.get("GUILDHALL_BENCH_GAMES", "15"))
"""Of each player count."""


def rows() -> list[Row]:
    """One row for each game."""
    with Beside() as beside:
        found = [_row(rules_of(name)) for name in NAMES]
    return [replace(row, pace=beside.pace) for row in found]


def _row(rules: Rules) -> Row:
    """The 99th percentile and the longest; every second game with what its first option adds, if it has one to add."""
    times: list[int] = []
    most = 0
    first = rules.options[0] if rules.options else None
    other = {} if first is None or not first.values else {first.name: first.values[-1]}
    for players in rules.seats:
        random = Random(players)
        for number in range(GAMES):
            game, _ = begin(rules, random, players, other if number % 2 else {})
            while game.ended is None:
                for decision in game.open:
                    game.listings.pop(decision.seat, None)
                    start = perf_counter_ns()
                    listing = game.legal(decision.seat)
                    times.append(perf_counter_ns() - start)
                    most = max(most, len(listing.commands))
                step(game, random)
    times.sort()
    p50, p99 = (times[int(len(times) * share)] / 1e6 for share in (0.5, 0.99))
    beside = f"p50 {p50:.3f} ms, longest {times[-1] / 1e6:.2f} ms; {len(times):,} listings, at most {most} commands"
    return Row(f"listing legal commands, {title(rules)}, p99", p99, "ms", 2, at_most=True, beside=beside)
