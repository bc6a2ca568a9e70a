"""Which games a caller may see, by the read models of every game."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from redis.exceptions import RedisError, ResponseError

from guildhall.host.failures import log_failed, not_found
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogError
from guildhall.log.port import EventsTopic, partition_of
from guildhall.readmodel import records
from guildhall.readmodel.doubts import doubt
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.records import Summary
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from guildhall.telemetry import logs
from services.views.news import News
from services.views.reads import RedisReadSide, behind_games, unavailable
from services.views.seeing import may_see, viewers

_ASK_AGAIN_SECONDS = 0.01

_log = logs.get("views")


class GameModels(Protocol):
    """The read models of one game."""

    @property
    def rules(self) -> Rules: ...
    @property
    def topic(self) -> EventsTopic: ...
    @property
    def news(self) -> News: ...
    @property
    def reads(self) -> RedisReadSide: ...


def partitions(models: GameModels) -> list[Keys]:
    """The keys of every partition, as they are read now."""
    return [models.news.keys(number) for number in range(models.news.partitions)]


@dataclass(frozen=True)
class Shown:
    """A game that the caller may see, as lists show it."""

    game: str
    summary: Summary


def chosen(models: Mapping[str, GameModels], names: Iterable[str]) -> dict[str, GameModels]:
    """The games of these names; none: all. Raises Failure INVALID_GAME."""
    wanted = set(names)
    if unknown := sorted(wanted - models.keys()):
        raise Failure("INVALID_GAME", f"This hall does not serve a game {unknown[0]!r}.", field="games")
    return {name: of for name, of in sorted(models.items()) if not wanted or name in wanted}


async def find(models: Mapping[str, GameModels], game_id: str, caller: Caller, seconds: float) -> GameModels:
    """The game's models, if the caller may see it. One that is not there is waited for, for so long, until the models
    have everything that was in the log when this was asked; those of one kind of game are not waited for where another
    kind has it.

    Only listings are asked that hold nothing but what the caller may see: so a game that it may not see takes the same
    way, and the same time, as one that is not there. Raises Failure GAME_NOT_FOUND, MISSING_SCOPE,
    READ_MODELS_UNAVAILABLE.
    """
    whose = viewers(caller)
    try:
        for of in models.values():
            if await _listed(of, game_id, whose):
                return of
        return await _found_later(models, game_id, whose, seconds)
    except (RedisError, OSError) as error:
        raise unavailable(error) from error


async def _found_later(
    models: Mapping[str, GameModels], game_id: str, whose: Sequence[str | None], seconds: float
) -> GameModels:
    """The models that list it once they are level; not found where all of them are, and none does."""

    async def look(of: GameModels) -> GameModels | None:
        await _caught_up(of, game_id, seconds)
        return of if await _listed(of, game_id, whose) else None

    looking = [asyncio.create_task(look(of)) for of in models.values()]
    nothing = not_found()
    try:
        for looked in asyncio.as_completed(looking):
            try:
                found = await looked
            except Failure as failure:
                nothing = failure
                continue
            if found is not None:
                return found
    finally:
        for each in looking:
            each.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
    raise nothing


async def _listed(of: GameModels, game_id: str, whose: Sequence[str | None]) -> bool:
    keys = of.news.keys_of(game_id)
    async with of.news.redis.pipeline(transaction=False) as at_once:
        for viewer in whose:
            at_once.zscore(keys.games(viewer), game_id)
        return any(score is not None for score in await at_once.execute())


async def _caught_up(of: GameModels, game_id: str, seconds: float) -> None:
    """Wait until the models of the partition where the game would be have what is in the log now."""
    until = time.monotonic() + seconds
    number = partition_of(game_id, of.topic.partitions)
    try:
        end = await of.topic.end_offset(number)
    except LogError as error:
        raise log_failed(error) from error
    while True:
        if records.reached(await of.news.redis.get(of.news.keys(number).position)) >= end:
            return
        if time.monotonic() >= until:
            raise behind_games(of.rules.game, number)
        await asyncio.sleep(_ASK_AGAIN_SECONDS)


async def shown_alone(of: GameModels, game_id: str, caller: Caller) -> Shown:
    """A game that is listed for the caller (`find`).

    Raises Failure READ_MODELS_UNAVAILABLE where its summary is not there, or cannot be read: it comes in a moment.
    """
    [summary] = await _summaries({of.rules.game: of}, [(of.rules.game, game_id)])
    if summary is None:
        raise behind_games(of.rules.game, partition_of(game_id, of.topic.partitions))
    if not may_see(caller, summary.subjects, spectators=summary.spectators):
        raise not_found()
    return Shown(of.rules.game, summary)


async def shown(
    models: Mapping[str, GameModels], wanted: Sequence[tuple[str, str]], caller: Caller
) -> list[Shown | None]:
    """The summaries of (game, id) pairs; None where the models have none, or the caller may not see it.

    Raises Failure READ_MODELS_UNAVAILABLE.
    """
    found: list[Shown | None] = []
    for (game, _), summary in zip(wanted, await _summaries(models, wanted), strict=True):
        seen = summary is not None and may_see(caller, summary.subjects, spectators=summary.spectators)
        found.append(Shown(game, summary) if summary is not None and seen else None)
    return found


async def _summaries(models: Mapping[str, GameModels], wanted: Sequence[tuple[str, str]]) -> list[Summary | None]:
    """None where there is none, or it cannot be read. Raises Failure READ_MODELS_UNAVAILABLE."""
    if not wanted:
        return []
    redis = next(iter(models.values())).news.redis
    try:
        async with redis.pipeline(transaction=False) as at_once:
            for game, game_id in wanted:
                at_once.get(models[game].news.keys_of(game_id).summary(game_id))
            answers: list[Any] = await at_once.execute(raise_on_error=False)
    except (RedisError, OSError) as error:
        raise unavailable(error) from error
    found: list[Summary | None] = []
    for (game, game_id), stored in zip(wanted, answers, strict=True):
        if isinstance(stored, ResponseError):
            raise unavailable(stored, game) from stored
        found.append(await _readable(models[game], game_id, stored))
    return found


async def _readable(of: GameModels, game_id: str, stored: Any) -> Summary | None:
    """One that cannot be read must not keep the others of a page back. Raises Failure READ_MODELS_UNAVAILABLE."""
    try:
        return records.decode(stored, Summary) if stored is not None else None
    except ValueError as error:
        _log.error("stored summary cannot be read", game_id=game_id, error=logs.said(error))
    try:
        await doubt(of.news.redis, of.news.keys_of(game_id), game_id)
    except (RedisError, OSError) as error:
        raise unavailable(error) from error
    return None
