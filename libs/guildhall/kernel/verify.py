"""Verify: that a finished game's luck was not altered and its history not rewritten.

It proves that every draw follows from the seed that was committed to at the
start. It does not prove that the seed was not picked. Design, promise 7.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from guildhall.kernel.fold import Unfoldable, fold
from guildhall.kernel.game import Game
from guildhall.kernel.luck import commitment, results
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import decode_Record


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
    """Check (body, hash) pairs from version 1: hash chain, fold, commitment and every draw.

    Raises Altered.
    """
    game: Game | None = None
    versions = events = draws = 0
    try:
        for body, digest in records:
            game, told = fold(rules, game, body, digest)
            versions += 1
            events += len(told)
            for draw in decode_Record(body).draws:
                expected = results(game.created.seed, draw.n, draw.bounds)
                if draw.n != draws or list(draw.results) != expected:
                    raise Altered(f"draw {draw.n} of version {game.version} is not the seed's")
                draws += 1
    except Unfoldable as error:
        raise Altered(str(error)) from error
    if game is None:
        raise Altered("no records")
    if commitment(game.created.seed) != game.created.seed_hash:
        raise Altered("the seed is not the one that was committed to")
    return Verified(game, versions, events, draws)
