"""Fold: events applied per second, every hash checked."""

from dataclasses import replace
from random import Random
from statistics import median
from time import perf_counter

from bench.catan import Beside
from bench.random_games import NAMES, play, rules_of, title
from bench.table import Row
from guildhall.kernel.fold import fold_all
from guildhall.kernel.rules import Rules

GAMES = 20
ROUNDS = 7


def rows() -> list[Row]:
    """One row for each game."""
    with Beside() as beside:
        found = [_row(rules_of(name)) for name in NAMES]
    return [replace(row, pace=beside.pace) for row in found]


def _row(rules: Rules) -> Row:
    """The median over several folds of the same games."""
    games = [[decided for _, decided in play(rules, Random(seed), 3)] for seed in range(GAMES)]
    logs = [[(decided.body, decided.hash) for decided in game] for game in games]
    events = sum(len(decided.events) for game in games for decided in game)
    rates = []
    for _ in range(ROUNDS):
        start = perf_counter()
        for log in logs:
            fold_all(rules, log)
        rates.append(events / (perf_counter() - start))
    versions = sum(map(len, logs))
    beside = f"{events:,} events in {versions:,} records, {median(rates) * versions / events:,.0f} records/s"
    return Row(f"fold, hashes checked, {title(rules)}", median(rates), "events/s", 50_000, beside=beside)
