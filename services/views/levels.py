"""Whether the models of all partitions are level with the log: what they do not have yet, lists would leave out."""

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from redis.exceptions import RedisError

from guildhall.log.errors import LogError
from guildhall.readmodel import records
from guildhall.rpc.errors import Failure
from guildhall.telemetry import logs
from services.views.games_models import GameModels, partitions
from services.views.reads import unavailable

FRESH_SECONDS = 2.0
"""What is longer in the log than this, the models must have."""
_ASK_AGAIN_SECONDS = 0.02

_log = logs.get("views")


class Levels:
    """Where the logs of some games ended a moment ago, asked for when it matters, for all who ask."""

    def __init__(self) -> None:
        self._ends: dict[str, list[int]] = {}
        self._asked: dict[str, tuple[float, asyncio.Task[None]]] = {}

    async def reached(self, games: Iterable[GameModels], until: float) -> list[int]:
        """How far the models of every partition of these games are, when they have what was in the log
        `FRESH_SECONDS` ago; that is waited for, until then (of the monotonic clock).

        Raises Failure READ_MODELS_UNAVAILABLE.
        """
        games = list(games)
        await asyncio.gather(*(self._ask(of) for of in games))
        while True:
            found: list[int] = []
            level = True
            for of in games:
                stored = await _stored(of)
                # A log that cannot be asked was never shorter than when it could.
                ends = self._ends.get(of.rules.game, [0] * len(stored))
                level = level and all(have >= end for have, end in zip(stored, ends, strict=True))
                found += stored
            if level:
                return found
            if time.monotonic() >= until:
                raise _behind()
            await asyncio.sleep(_ASK_AGAIN_SECONDS)

    async def check_since(self, games: Iterable[GameModels], before: list[int]) -> None:
        """Raises Failure READ_MODELS_UNAVAILABLE where models have gone back: what was read since may lack some."""
        now = [have for of in games for have in await _stored(of)]
        if any(have < had for have, had in zip(now, before, strict=True)):
            raise _behind()

    async def _ask(self, of: GameModels) -> None:
        game = of.rules.game
        at, asking = self._asked.get(game, (0.0, None))
        if asking is None or (asking.done() and time.monotonic() - at >= FRESH_SECONDS):
            asking = asyncio.create_task(self._ask_log(of))
            self._asked[game] = time.monotonic(), asking
        await asyncio.shield(asking)

    async def _ask_log(self, of: GameModels) -> None:
        try:
            ends = await asyncio.gather(*(of.topic.end_offset(number) for number in range(of.topic.partitions)))
        except LogError as error:
            _log.warning("cannot ask where the log ends", game=of.rules.game, error=str(error))
        else:
            self._ends[of.rules.game] = list(ends)


async def _stored(of: GameModels) -> list[int]:
    """How far the models of each partition are. Raises Failure READ_MODELS_UNAVAILABLE."""
    try:
        async with of.news.redis.pipeline(transaction=False) as at_once:
            for keys in partitions(of):
                at_once.get(keys.position)
            positions: list[Any] = await at_once.execute()
    except (RedisError, OSError) as error:
        raise unavailable(error) from error
    return [records.reached(position) for position in positions]


def _behind() -> Failure:
    return Failure("READ_MODELS_UNAVAILABLE", "The views are behind the games; ask again.")
