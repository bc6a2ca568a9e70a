"""Enumeration: time of one listing of legal commands, blinding included, over all states that random games meet."""

from random import Random
from time import perf_counter_ns

from bench.random_games import PLAYERS, begin, step
from bench.table import Row

GAMES = 15
"""Of each player count."""


def rows() -> list[Row]:
    """The 99th percentile and the longest."""
    times: list[int] = []
    most = 0
    for players in PLAYERS:
        random = Random(players)
        for _ in range(GAMES):
            game, _ = begin(random, players)
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
    return [Row("listing legal commands, p99", p99, "ms", 2, at_most=True, beside=beside)]
