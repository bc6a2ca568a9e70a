"""What can be done where matchmaking refuses: a refusal with the commands that lead on from there."""

from collections.abc import Iterator
from contextlib import contextmanager

from guildhall.cli.client import HallError
from guildhall.cli.hints import Here, typed
from guildhall.cli.problems import Problem
from guildhall.kernel.rules import THERE_ARE


def waiting(game: str, here: Here) -> str:
    """Of whoever waits in the queue already."""
    back = here.typed("queue", game, "--leave")
    return f"Go on waiting, or take your ticket back:\n{here.typed('queue', game)}\n{back}"


def at_table(game: str, here: Here) -> str:
    """Of whoever sits at a table already."""
    leave = here.typed("table", "leave", game)
    return f"Wait there until it starts, or leave it:\n{here.typed('table', 'wait', game)}\n{leave}"


def choosing(game: str, here: Here) -> str:
    """Of whoever chose what the game does not have."""
    return f"All that can be chosen, with what it means:\n{typed('options', game)}"


_ONES_OWN = {"ALREADY_WAITING": waiting, "ALREADY_AT_TABLE": at_table}
"""Ways out for the one of whom it is true."""
_ANYBODYS = dict.fromkeys(("UNKNOWN_OPTION", "INVALID_OPTION", "UNKNOWN_RULING", "INVALID_RULING"), choosing)


@contextmanager
def with_ways_out(game: str, here: Here) -> Iterator[None]:
    """Adds to a refusal what can be done. `game` as it is typed. Raises Problem, HallError."""
    try:
        yield
    except HallError as refused:
        ways = _ANYBODYS | (_ONES_OWN if refused.subject == here.me else {})
        if refused.reason not in ways:
            raise
        # What there is stands in what the way out gives, in lines.
        said = str(refused).partition(THERE_ARE)[0]
        raise Problem(f"{said}\n{ways[refused.reason](game, here)}") from None
