"""What a game keeps while nobody plays: as bytes, as idle games are kept, and as objects."""

import gc
import tracemalloc
from random import Random

from bench.random_games import PLAYERS, play
from bench.table import Row
from guildhall.kernel.game import restore
from services.arcane_alley.rules import RULES

GAMES = 4
"""Of each player count."""
PER_COMMAND = 40
"""Bytes that each accepted command may cost beside the game itself."""


def rows() -> list[Row]:
    """The largest snapshot of all versions, without its accepted ids; and the mean of games as objects."""
    largest, undo, ids, samples = 0, 0, 0.0, []
    for players in PLAYERS:
        for seed in range(GAMES):
            for game, _ in play(Random(seed), players):
                data = game.snapshot()
                size = len(data) - PER_COMMAND * game.version
                if size > largest:
                    largest, undo = size, len(game.undo)
                if game.version % 50 == 0:
                    samples.append(data)
            ids = max(ids, accepted_bytes(game.accepted) / game.version)
    beside = f"beyond {PER_COMMAND} B a command ({ids:.0f} B used); that one could undo {undo} steps"
    return [
        Row("idle game as bytes, largest", largest, "B", 20 * 1024, at_most=True, beside=beside),
        Row("game as objects, mean", in_memory(samples), "B", beside=f"{len(samples)} games, by tracemalloc"),
    ]


def accepted_bytes(accepted: dict[bytes, tuple[int, bytes]]) -> int:
    """Bytes of the accepted ids in a snapshot: per command two digests of 16 with their heads, and a version."""
    return sum(2 * (16 + 2) + 1 + (1 if version < 128 else 3) for version, _ in accepted.values())


def in_memory(snapshots: list[bytes]) -> float:
    """Bytes that a restored game takes as Python objects."""
    restore(RULES, snapshots[0])
    gc.collect()
    tracemalloc.start()
    games = [restore(RULES, data) for data in snapshots]
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used / len(games)
