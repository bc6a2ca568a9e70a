"""How long the greedy players think: time of one choice, over all decisions of games among them."""

from dataclasses import replace
from random import Random
from time import perf_counter_ns

from bench.catan import Beside
from bench.greedy_vs_random import greedy_of, options_of
from bench.random_games import NAMES, begin, rules_of, title
from bench.table import Row
from guildhall.kernel.decide import decide
from guildhall.kernel.ids import decision_id
from guildhall.kernel.rules import Rules

GAMES = 6
"""Of each player count."""


def rows() -> list[Row]:
    """One row for each game."""
    with Beside() as beside:
        found = [_row(rules_of(name)) for name in NAMES]
    return [replace(row, pace=beside.pace) for row in found]


def _row(rules: Rules) -> Row:
    """The 99th percentile and the longest."""
    greedy = greedy_of(rules)
    times: list[int] = []
    for players in rules.seats:
        random = Random(players)
        for _ in range(GAMES):
            game, _ = begin(rules, random, players)
            while game.ended is None:
                waiting = game.waiting()[0]
                seat, asked = waiting.seat, decision_id(waiting.version, waiting.seat)
                view, options = game.view(seat), options_of(game, seat)
                start = perf_counter_ns()
                command = greedy(view, waiting.kind, options)
                times.append(perf_counter_ns() - start)
                decide(game, seat, asked, command, subject=f"player-{seat}", command_id=asked, at_ms=game.at_ms + 1)
    times.sort()
    p50, p99 = (times[int(len(times) * share)] / 1e6 for share in (0.5, 0.99))
    beside = f"p50 {p50:.3f} ms, longest {times[-1] / 1e6:.1f} ms; {len(times):,} choices"
    return Row(f"greedy choice, {title(rules)}, p99", p99, "ms", 50, at_most=True, beside=beside)
