"""Names of the hall's topics, and what a game's have in common (design section 3)."""

from collections.abc import Mapping

MATCHMAKING = "matchmaking"
"""What stands in the place of a game's name where the aggregates are matchmaking's pools."""

OWNERS = "guildhall.owners"
"""Compacted, one partition: who holds the newest claim of which partition."""

PACKS = "guildhall.packs"
"""Compacted, one partition: content packs by hash."""

OPERATIONS = "guildhall.operations"
"""Compacted, one partition: the id of the cluster that the log lives on, and what operators did to processes."""


def events(game: str) -> str:
    """The game's records; `game` as in its package, such as `arcane_alley`."""
    return f"guildhall.{game}.events"


def snapshots(game: str) -> str:
    """Compacted: newest state of each aggregate."""
    return f"guildhall.{game}.snapshots"


def checkpoints(game: str) -> str:
    """Compacted: per partition, a position and the seqs of its live aggregates."""
    return f"guildhall.{game}.checkpoints"


def markers(game: str) -> str:
    """Compacted, write-once: what is kept of each finished aggregate."""
    return f"guildhall.{game}.markers"


BESIDE_EVENTS = (snapshots, checkpoints, markers)
"""What lies beside a game's events, in as many partitions."""


def not_alike(counts: Mapping[str, int]) -> list[str]:
    """A game's topics must have equal counts of partitions, since an aggregate has one number in all of them: what is
    wrong with these, a sentence each.
    """
    problems = []
    for its_events, count in counts.items():
        game, _, kind = its_events.removeprefix("guildhall.").rpartition(".")
        if kind != "events":
            continue
        problems += [
            f"{name(game)} has {counts[name(game)]} partitions, {its_events} has {count}: with no process running, "
            f"delete {_deletable(name(game), checkpoints(game))}, which can be made again from the events, and run "
            "`guildhall topics apply`."
            for name in BESIDE_EVENTS
            if counts.get(name(game), count) != count
        ]
    return problems


def _deletable(name: str, its_checkpoints: str) -> str:
    """What can be deleted together: a checkpoint counts on the snapshots and the markers that were there before it."""
    return name if name == its_checkpoints else f"{name} and {its_checkpoints}"
