"""Verify: that a finished game's luck was not altered and its history not rewritten.

It proves that every draw follows from the seed that was committed to at the
start. It does not prove that the seed was not picked, nor does it run the rules:
whether events follow from draws and commands is told by their text. Design, promise 7.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from guildhall.kernel.fold import Unfoldable, follow
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


class Check:
    """One game's records, checked one by one: hash chain, fold, and every draw against the seed."""

    def __init__(self, rules: Rules) -> None:
        self.game: Game | None = None
        self.versions = 0
        self.events = 0
        self.draws = 0
        self._next_draw = 0
        self._rules = rules

    def take(self, seq: int, body: bytes, digest: bytes) -> None:
        """The next record; `seq` is the log's. Raises Altered, and again for each that follows until an operator's
        record has put the game back.
        """
        try:
            self.game, told = follow(self._rules, self.game, seq, body, digest)
        except Unfoldable as error:
            raise Altered(str(error)) from error
        if self.game.lost:
            raise Altered(self.game.lost)
        self.versions += 1
        self.events += len(told)
        # An operator's record says how much luck is passed over.
        self._next_draw = max([self._next_draw, *(event.next_draw for event in told if type(event) is Restored)])
        for draw in decode_Record(body).draws:
            if draw.n != self._next_draw or not _is_of_seed(self.game.created.seed, draw):
                raise Altered(f"draw {draw.n} of version {self.game.version} is not the seed's")
            self._next_draw += 1
            self.draws += 1

    def end(self) -> Verified:
        """What was checked of a finished game. Raises Altered."""
        game = self.game
        if game is None:
            raise Altered("no records")
        if commitment(game.created.seed) != game.created.seed_hash:
            raise Altered("the seed is not the one that was committed to")
        if game.ended is None:
            raise Altered(f"version {game.version} does not end the game: later versions are missing")
        return Verified(game, self.versions, self.events, self.draws)


def verify(rules: Rules, records: Iterable[tuple[bytes, bytes]]) -> Verified:
    """Check (body, hash) pairs from version 1 to the end. Raises Altered."""
    check = Check(rules)
    for seq, (body, digest) in enumerate(records, start=1):
        check.take(seq, body, digest)
    return check.end()


def _is_of_seed(seed: bytes, draw: Draw) -> bool:
    try:
        return results(seed, draw.n, draw.bounds) == list(draw.results)
    except ValueError:  # no draw has such bounds
        return False
