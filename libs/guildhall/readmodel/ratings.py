"""The read models of matchmaking's pools: ratings, the leaderboard, and the whole history of each subject.

There is one pool for each game, under the game's name. The keys of all pools of a partition begin alike (`Keys`), and
have the pool's name behind their kind.
"""

from dataclasses import dataclass

import msgspec

from guildhall.readmodel.keys import Keys

MIN_GAMES = 10
"""Rated games before a subject stands on the leaderboard."""


class Stood(msgspec.Struct, array_like=True, frozen=True):
    """How far a pool is folded: its newest version that could be, and the hash of its record."""

    seq: int = 0
    hash: bytes = b""


class Rating(msgspec.Struct, array_like=True, frozen=True):
    """How well a subject plays, in millionths of openskill's units, after so many rated games."""

    mu: int
    sigma: int
    games: int
    wins: int

    @property
    def ordinal(self) -> int:
        """What the leaderboard goes by."""
        return self.mu - 3 * self.sigma

    @property
    def score(self) -> int:
        """On the board, which begins with the least: equal ones stand there in the order of their names."""
        return -self.ordinal

    @property
    def ranked(self) -> bool:
        """Whether the subject stands on the leaderboard."""
        return self.games >= MIN_GAMES


@dataclass(frozen=True)
class PoolKeys:
    """The keys of one pool."""

    keys: Keys
    pool: str

    @property
    def stood(self) -> str:
        """String: how far it is folded (`Stood`)."""
        return f"{self.keys.base}:stood:{self.pool}"

    @property
    def unfolded(self) -> str:
        """Hash: version -> offset in the log of each record that waits for a program that can fold it."""
        return f"{self.keys.base}:unfolded:{self.pool}"

    @property
    def ratings(self) -> str:
        """Hash: subject -> `Rating`."""
        return f"{self.keys.base}:ratings:{self.pool}"

    @property
    def board(self) -> str:
        """Sorted set: the subjects with enough games, by `Rating.score`."""
        return f"{self.keys.base}:board:{self.pool}"

    def history(self, subject: str) -> str:
        """Hash: number of the subject's rated game, from 1 -> the change of its rating (protobuf `RatingChange`)."""
        return f"{self.keys.base}:history:{self.pool}:{subject}"
