"""Which games a caller may see, and as whom: one rule for views, streams and lists.

Whoever has the scope `play` sees from its seat; whoever has `spectate` sees games that allow spectators as one of them.
So a player with the scope `spectate` alone is a spectator of its own games, too.
"""

from collections.abc import Sequence

from guildhall.rpc.identity import Caller


def viewers(caller: Caller, *, mine: bool = False) -> list[str | None]:
    """Whose listings have what the caller may see: its own, and everybody's (None). Raises Failure MISSING_SCOPE."""
    if mine or "spectate" not in caller.scopes:
        caller.require("play")
    whose: list[str | None] = [caller.subject] if "play" in caller.scopes else []
    return whose if mine or "spectate" not in caller.scopes else [*whose, None]


def may_see(caller: Caller, subjects: Sequence[str], *, spectators: bool) -> bool:
    """Whether it may see a game of these subjects."""
    return seat_of(caller, subjects) is not None or (spectators and "spectate" in caller.scopes)


def seat_of(caller: Caller, subjects: Sequence[str]) -> int | None:
    """The seat from which it sees a game of these subjects; None: as a spectator, if at all."""
    return subjects.index(caller.subject) if caller.subject in subjects and "play" in caller.scopes else None
