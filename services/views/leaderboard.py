"""Who has won most games: the standings of all partitions of a game, merged, counted anew every few seconds."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from guildhall.readmodel import records
from guildhall.readmodel.records import Standing
from guildhall.rpc.deadlines import LONGEST_WAIT
from guildhall.telemetry import logs
from services.views.games_models import GameModels, partitions
from services.views.levels import Levels, in_time
from services.views.reads import behind_games

LONGEST = 500
"""Lines that are kept in their order, beside each subject's own."""
COUNT_AGAIN_SECONDS = 5.0
_AT_ONCE = 1_000
"""Subjects that are looked at before others in this process have their turn: about a millisecond."""

_log = logs.get("views")

Result: TypeAlias = tuple[int, int]
"""(games, wins)."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Line:
    """A subject's finished games; equal ranks are ties."""

    rank: int
    subject: str
    games: int
    wins: int


@dataclass
class Board:
    """The best lines, the best first; and what every subject's line is made of."""

    counted_ms: int
    top: list[Line]
    sums: Mapping[str, Result] = field(repr=False)
    ranks: Mapping[Result, int] = field(repr=False)

    def line(self, subject: str) -> Line | None:
        """A subject's own line; None before its first finished game."""
        result = self.sums.get(subject)
        return Line(self.ranks[result], subject, *result) if result is not None else None


class Leaderboards:
    """The boards of all games, each counted when it is asked for, for all who ask."""

    def __init__(self, levels: Levels) -> None:
        self._levels = levels
        self._boards: dict[str, tuple[float, asyncio.Task[Board]]] = {}

    async def of(self, models: GameModels, until: float) -> Board:
        """A board that is some seconds old at most. Models that lack some results are waited for, until then.

        Raises RedisError, Failure READ_MODELS_UNAVAILABLE.
        """
        game = models.rules.game
        at, counting = self._boards.get(game, (0.0, None))
        failed = counting is not None and counting.done() and (counting.cancelled() or counting.exception() is not None)
        if counting is None or failed or time.monotonic() - at > COUNT_AGAIN_SECONDS:
            counting = asyncio.create_task(self._counted(models))
            self._boards[game] = time.monotonic(), counting
        return await in_time(counting, until, behind_games(game))

    async def _counted(self, models: GameModels) -> Board:
        """Waits for the models as long as anybody may wait: some who join may have more time than who came first."""
        counted_ms = time.time_ns() // 1_000_000
        reached = await self._levels.reached([models], time.monotonic() + LONGEST_WAIT)
        sums = await _sums(models)
        await self._levels.check_since([models], reached)
        return await board(counted_ms, sums)


async def _sums(models: GameModels) -> dict[str, Result]:
    sums: dict[str, Result] = {}
    for keys in partitions(models):
        # A scan may give a field twice: each partition is gathered first.
        standings: dict[str, Standing] = {}
        async for subject, stored in models.news.redis.hscan_iter(keys.standings, count=_AT_ONCE):
            standings[records.raw(subject).decode()] = _standing(subject, stored)
        async for some in _slices(standings.items()):
            for subject, standing in some:
                games, wins = sums.get(subject, (0, 0))
                sums[subject] = games + standing.games, wins + standing.wins
    return sums


def _standing(subject: Any, stored: Any) -> Standing:
    """One that cannot be read must not keep the others back."""
    try:
        return records.decode(stored, Standing)
    except ValueError as error:
        _log.error("a standing cannot be read; rebuild the models", subject=str(subject), error=logs.said(error))
        return Standing(0, 0)


async def board(counted_ms: int, sums: Mapping[str, Result]) -> Board:
    """Ranks (games, wins) by subject: more wins first, then fewer games.

    Results, of which there are few, are sorted, not subjects, of which there may be any number: nothing here takes long
    at once.
    """
    having: Counter[Result] = Counter()
    async for some in _slices(sums.values()):
        having.update(some)
    ranks: dict[Result, int] = {}
    lines = 0
    for result in sorted(having, key=_order):
        ranks[result] = lines + 1
        lines += having[result]
    top: list[tuple[int, str]] = []
    async for entries in _slices(sums.items()):
        top = nsmallest(LONGEST, [*top, *((ranks[result], subject) for subject, result in entries)])
    return Board(counted_ms, [Line(rank, subject, *sums[subject]) for rank, subject in top], sums, ranks)


async def _slices(entries: Iterable[T]) -> AsyncIterator[list[T]]:
    """The entries, so many at a time, with others' turns between."""
    left = iter(entries)
    while some := list(islice(left, _AT_ONCE)):
        yield some
        await asyncio.sleep(0)


def _order(result: Result) -> tuple[int, int]:
    games, wins = result
    return -wins, games
