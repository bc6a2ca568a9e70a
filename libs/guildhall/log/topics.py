"""Names of the hall's topics (design section 3)."""

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
