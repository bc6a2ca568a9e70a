"""Verify: that a finished game's luck was not altered and its history not rewritten.

It proves that every draw follows from the seed that was committed to at the
start. It does not prove that the seed was not picked, nor does it run the rules:
whether events follow from draws and commands is told by their text. Design, promise 7.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from guildhall.kernel.fold import Unfoldable, fold
from guildhall.kernel.game import Game
from guildhall.kernel.luck import commitment, results
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import Draw, Restored, decode_Record


@dataclass(frozen=True)
class Verified:
    """What was checked."""

    game: Game
    versions: int
    events: int
    draws: int


class Altered(ValueError):
    """A game that does not verify; the message names the version and what is wrong."""


def verify(rules: Rules, records: Iterable[tuple[bytes, bytes]]) -> Verified:
    """Check (body, hash) pairs from version 1 to the end: hash chain, fold, commitment and every draw.

    Raises Altered.
    """
    game: Game | None = None
    versions = events = draws = 0
    try:
        for body, digest in records:
            game, told = fold(rules, game, body, digest)
            versions += 1
            draws = max([draws, *(event.next_draw for event in told if type(event) is Restored)])
            events += len(told)
            for draw in decode_Record(body).draws:
                if draw.n != draws or not _is_of_seed(game.created.seed, draw):
                    raise Altered(f"draw {draw.n} of version {game.version} is not the seed's")
                draws += 1
    except Unfoldable as error:
        raise Altered(str(error)) from error
    if game is None:
        raise Altered("no records")
    if commitment(game.created.seed) != game.created.seed_hash:
        raise Altered("the seed is not the one that was committed to")
    if game.ended is None:
        raise Altered(f"version {game.version} does not end the game: later versions are missing")
    return Verified(game, versions, events, draws)


def _is_of_seed(seed: bytes, draw: Draw) -> bool:
    try:
        return results(seed, draw.n, draw.bounds) == list(draw.results)
    except ValueError:  # no draw has such bounds
        return False
