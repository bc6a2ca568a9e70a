"""What can be done where matchmaking refuses: a refusal with the commands that lead on from there."""

from collections.abc import Iterator
from contextlib import contextmanager

from guildhall.cli import faces
from guildhall.cli.client import HallError
from guildhall.cli.hints import Here, typed
from guildhall.cli.problems import Problem
from guildhall.kernel.rules import THERE_ARE


def waiting(game: str, here: Here) -> str:
    """Of whoever waits in the queue already."""
    again = ("queue", faces.typed_name(game))
    return f"Go on waiting, or take your ticket back:\n{here.typed(*again)}\n{here.typed(*again, '--leave')}"


def at_table(game: str, here: Here) -> str:
    """Of whoever sits at a table already."""
    ways = [here.typed("table", way, faces.typed_name(game)) for way in ("show", "wait", "leave")]
    return "\n".join(["Look at it, wait there until it starts, or leave it:", *ways])


def games(here: Here) -> str:
    """Of whoever may have got a game in the meantime."""
    return f"Your games:\n{here.typed('games', 'mine')}"


def _choosing(game: str, here: Here) -> str:
    """Of whoever chose what the game does not have."""
    return f"All that can be chosen, with what it means:\n{typed('options', faces.typed_name(game))}"


_ONES_OWN = {"ALREADY_WAITING": waiting, "ALREADY_AT_TABLE": at_table}
"""Ways out for the one of whom it is true."""
_ANYBODYS = dict.fromkeys(("UNKNOWN_OPTION", "INVALID_OPTION", "UNKNOWN_RULING", "INVALID_RULING"), _choosing)


@contextmanager
def with_ways_out(game: str, here: Here) -> Iterator[None]:
    """Adds to a refusal what can be done. Raises Problem, HallError."""
    try:
        yield
    except HallError as refused:
        ways = _ANYBODYS | (_ONES_OWN if refused.subject == here.me else {})
        if refused.reason not in ways:
            raise
        # What there is stands in what the way out gives, in lines.
        said = str(refused).partition(THERE_ARE)[0]
        raise Problem(f"{said}\n{ways[refused.reason](game, here)}") from None
