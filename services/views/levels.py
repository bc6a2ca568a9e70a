"""Whether the models of all partitions are level with the log: what they do not have yet, lists would leave out."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from redis.exceptions import RedisError

from guildhall.log.errors import LogError
from guildhall.readmodel import records
from guildhall.rpc.errors import Failure
from guildhall.shared import shared
from guildhall.telemetry import logs
from services.views.games_models import GameModels, partitions
from services.views.reads import behind_games, unavailable

FRESH_SECONDS = 2.0
"""What is longer in the log than this, the models must have."""
STANDS_STILL_SECONDS = 5.0
"""Models that lack something and have not moved for so long are waited for no longer: a projection tries again twice
in this time what fails.
"""
_LOOK_AGAIN_SECONDS = 0.02

_log = logs.get("views")

T = TypeVar("T")


class Levels:
    """Where the logs of some games ended a moment ago, asked for when it matters, for all who ask."""

    def __init__(self) -> None:
        self._ends: dict[str, list[int]] = {}
        self._asked: dict[str, tuple[float, asyncio.Task[None]]] = {}
        self._away: set[str] = set()
        """Games whose logs did not answer the last time."""
        self._looking: dict[str, asyncio.Task[list[int]]] = {}
        self._lacking: dict[tuple[str, int], tuple[int, float]] = {}
        """How far partitions are that lack something, and since when they have been there."""

    async def reached(self, games: Iterable[GameModels], until: float) -> list[int]:
        """How far the models of every partition of these games are, when they have what was in the log
        `FRESH_SECONDS` ago; that is waited for, until then (of the monotonic clock), unless a partition stands still.

        Raises Failure READ_MODELS_UNAVAILABLE, which names the game, and the partition where one is behind.
        """
        reaching = [asyncio.create_task(self._reached(of, until)) for of in games]
        try:
            return [have for some in await asyncio.gather(*reaching) for have in some]
        finally:
            for each in reaching:
                each.cancel()

    async def check_since(self, games: Iterable[GameModels], before: list[int]) -> None:
        """Raises Failure READ_MODELS_UNAVAILABLE where models have gone back: what was read since may lack some."""
        now = [(of.rules.game, number, have) for of in games for number, have in enumerate(await _stored(of))]
        for (game, number, have), had in zip(now, before, strict=True):
            if have < had:
                raise behind_games(game, number)

    async def _reached(self, of: GameModels, until: float) -> list[int]:
        await self._ask(of, until)
        stored = await _stored(of)
        while (late := self._late(of, stored)) is not None:
            stored = await self._look_again(of, until, late)
        return stored

    def _late(self, of: GameModels, stored: Sequence[int]) -> int | None:
        """A partition whose models lack something. Raises Failure READ_MODELS_UNAVAILABLE where one stands still."""
        game, now = of.rules.game, time.monotonic()
        # A log that cannot be asked was never shorter than when it could.
        ends = self._ends.get(game, [0] * len(stored))
        late: int | None = None
        for number, (have, end) in enumerate(zip(stored, ends, strict=True)):
            if have >= end:
                self._lacking.pop((game, number), None)
                continue
            was, since = self._lacking.get((game, number), (have, now))
            since = since if was == have else now
            self._lacking[game, number] = have, since
            if now - since >= STANDS_STILL_SECONDS:
                raise behind_games(game, number)
            late = number
        return late

    async def _ask(self, of: GameModels, until: float) -> None:
        """Returns when it is known where the log ends. Where that takes more than half of the time that is left, what
        was known before counts: the rest is needed for the answer.

        Raises Failure READ_MODELS_UNAVAILABLE where nothing was.
        """
        game = of.rules.game
        at, asking = self._asked.get(game, (0.0, None))
        if asking is None or (asking.done() and time.monotonic() - at >= FRESH_SECONDS):
            asking = asyncio.create_task(self._ask_log(of))
            self._asked[game] = time.monotonic(), asking
        # Nobody waits for one that was away a moment ago: it may take its whole time again.
        if game not in self._away:
            await asyncio.wait([asking], timeout=max(0.0, (until - time.monotonic()) / 2))
            if not asking.done() and game not in self._ends:
                raise behind_games(game)

    async def _ask_log(self, of: GameModels) -> None:
        game = of.rules.game
        try:
            ends = await asyncio.gather(*(of.topic.end_offset(number) for number in range(of.topic.partitions)))
        except LogError as error:
            self._away.add(game)
            _log.warning("cannot ask where the log ends", game=game, error=logs.said(error))
        else:
            self._away.discard(game)
            self._ends[game] = list(ends)

    async def _look_again(self, of: GameModels, until: float, late: int) -> list[int]:
        """How far the models are a moment later, for which that partition is waited: all who wait look together.

        Raises Failure READ_MODELS_UNAVAILABLE.
        """
        looking = self._looking.get(of.rules.game)
        if looking is None or looking.done():
            looking = self._looking[of.rules.game] = asyncio.create_task(_stored_soon(of))
        return await in_time(looking, until, behind_games(of.rules.game, late))


async def in_time(task: asyncio.Task[T], until: float, late: Failure) -> T:
    """What a task brings for which others wait, too. Raises `late` where it comes too late."""
    try:
        async with asyncio.timeout(max(0.0, until - time.monotonic())):
            return await shared(task)
    except TimeoutError:
        raise late from None


async def _stored_soon(of: GameModels) -> list[int]:
    await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    return await _stored(of)


async def _stored(of: GameModels) -> list[int]:
    """How far the models of each partition are. Raises Failure READ_MODELS_UNAVAILABLE."""
    try:
        async with of.news.redis.pipeline(transaction=False) as at_once:
            for keys in partitions(of):
                at_once.get(keys.position)
            positions: list[Any] = await at_once.execute()
    except (RedisError, OSError) as error:
        raise unavailable(error, of.rules.game) from error
    return [records.reached(position) for position in positions]
