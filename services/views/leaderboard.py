"""Who has won most games: the standings of all partitions of a game, merged, counted anew every few seconds."""

import asyncio
import time
from dataclasses import dataclass, field

from guildhall.readmodel import records
from guildhall.readmodel.records import Standing
from services.views.games_models import GameModels, partitions

LONGEST = 500
"""Lines that are kept, beside each subject's own."""
COUNT_AGAIN_SECONDS = 5.0
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Line:
    """A subject's finished games; equal ranks are ties."""

    rank: int
    subject: str
    games: int
    wins: int


@dataclass
class Board:
    """All lines, the best first."""

    counted_ms: int
    top: list[Line]
    by_subject: dict[str, Line] = field(repr=False)


class Leaderboards:
    """The boards of all games, each counted when it is asked for, for all who ask."""

    def __init__(self) -> None:
        self._boards: dict[str, tuple[float, asyncio.Task[Board]]] = {}

    async def of(self, models: GameModels) -> Board:
        """A board that is some seconds old at most. Raises RedisError."""
        game = models.rules.game
        at, counting = self._boards.get(game, (0.0, None))
        failed = counting is not None and counting.done() and (counting.cancelled() or counting.exception() is not None)
        if counting is None or failed or time.monotonic() - at > COUNT_AGAIN_SECONDS:
            counting = asyncio.create_task(_counted(models))
            self._boards[game] = time.monotonic(), counting
        return await asyncio.shield(counting)


async def _counted(models: GameModels) -> Board:
    counted_ms = time.time_ns() // 1_000_000
    sums: dict[str, tuple[int, int]] = {}
    for keys in partitions(models):
        # A scan may give a field twice: each partition is gathered first.
        standings: dict[str, Standing] = {}
        async for subject, stored in models.news.redis.hscan_iter(keys.standings, count=_AT_ONCE):
            standings[records.raw(subject).decode()] = records.decode(stored, Standing)
        for subject, standing in standings.items():
            games, wins = sums.get(subject, (0, 0))
            sums[subject] = games + standing.games, wins + standing.wins
    return board(counted_ms, sums)


def board(counted_ms: int, sums: dict[str, tuple[int, int]]) -> Board:
    """Ranks (games, wins) by subject: more wins first, then fewer games."""
    lines: list[Line] = []
    for place, (subject, (games, wins)) in enumerate(sorted(sums.items(), key=_order), 1):
        tied = bool(lines) and (lines[-1].wins, lines[-1].games) == (wins, games)
        lines.append(Line(lines[-1].rank if tied else place, subject, games, wins))
    return Board(counted_ms, lines[:LONGEST], {line.subject: line for line in lines})


def _order(entry: tuple[str, tuple[int, int]]) -> tuple[int, int, str]:
    subject, (games, wins) = entry
    return -wins, games, subject
