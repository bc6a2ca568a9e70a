"""What a game keeps while nobody plays: as bytes, as idle games are kept, and as objects."""

import gc
import tracemalloc
from random import Random

from bench.random_games import NAMES, play, rules_of, title
from bench.table import Row
from guildhall.kernel.game import restore
from guildhall.kernel.rules import Rules

GAMES = 4
"""Of each player count."""
PER_COMMAND = 40
"""Bytes that each accepted command may cost beside the game itself."""


def rows() -> list[Row]:
    """Two rows for each game."""
    return [row for name in NAMES for row in _rows(rules_of(name))]


def _rows(rules: Rules) -> list[Row]:
    """The largest snapshot of all versions, without its accepted ids; and the mean of games as objects."""
    largest, undo, ids, samples = 0, 0, 0.0, []
    for players in rules.seats:
        for seed in range(GAMES):
            for game, _ in play(rules, Random(seed), players):
                data = game.snapshot()
                size = len(data) - PER_COMMAND * game.version
                if size > largest:
                    largest, undo = size, len(game.undo)
                if game.version % 50 == 0:
                    samples.append(data)
            ids = max(ids, accepted_bytes(game.accepted) / game.version)
    beside = f"beyond {PER_COMMAND} B a command ({ids:.0f} B used); that one could undo {undo} steps"
    what, objects = f"idle game as bytes, {title(rules)}, largest", f"game as objects, {title(rules)}, mean"
    return [
        Row(what, largest, "B", 20 * 1024, at_most=True, beside=beside),
        Row(objects, in_memory(rules, samples), "B", beside=f"{len(samples)} games, by tracemalloc"),
    ]


def accepted_bytes(accepted: dict[bytes, tuple[int, bytes]]) -> int:
    """Bytes of the accepted ids in a snapshot: per command two digests of 16 with their heads, and a version."""
    return sum(2 * (16 + 2) + 1 + (1 if version < 128 else 3) for version, _ in accepted.values())


def in_memory(rules: Rules, snapshots: list[bytes]) -> float:
    """Bytes that a restored game takes as Python objects."""
    restore(rules, snapshots[0])
    gc.collect()
    tracemalloc.start()
    games = [restore(rules, data) for data in snapshots]
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used / len(games)
