"""Views from the read models: `host.read_side.ReadSide` over Redis, and the log for what the models keep no more."""

import asyncio
import struct
import time
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from redis.exceptions import RedisError

from guildhall.host.failures import log_failed, not_found, quarantined
from guildhall.host.history import CHUNK, History
from guildhall.host.hosted_game import Watcher
from guildhall.kernel.fold import Unfoldable, fold
from guildhall.kernel.game import Game, restore
from guildhall.kernel.rules import Rules
from guildhall.log.errors import BadValue, LogError, LogUnreadable
from guildhall.log.port import EventsTopic, partition_of
from guildhall.readmodel import records
from guildhall.readmodel.records import STATE_EVERY, Progress
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from guildhall.telemetry import logs
from services.views.live_games import HASH_BYTES, LiveGame, LiveGames, feed
from services.views.news import News

_ASK_AGAIN_SECONDS = 0.01

_log = logs.get("views")


@dataclass(frozen=True, slots=True)
class Seen:
    """A game that the caller may see: from its seat, or as a spectator (None)."""

    live: LiveGame
    seat: int | None


class RedisReadSide:
    """Reads of one game's games."""

    def __init__(self, rules: Rules, topic: EventsTopic, news: News, games: LiveGames) -> None:
        self._rules = rules
        self._topic = topic
        self._news = news
        self._games = games
        self._history = History(rules, topic)

    async def visible(self, game_id: str, caller: Caller, seconds: float = 0.0) -> Seen:
        """The game, if the caller may see it. A game that is not in the models is waited for, for so long, until they
        have everything that was in the log when this was asked.

        Raises Failure GAME_NOT_FOUND (also for a stranger), MISSING_SCOPE, GAME_QUARANTINED, VIEW_UNAVAILABLE,
        READ_MODELS_UNAVAILABLE.
        """
        try:
            live = await self._games.get(game_id) or await self._waited_for(game_id, seconds)
        except (RedisError, OSError) as error:
            raise unavailable(error) from error
        if live is None:
            raise not_found()
        created = live.game.created
        seat = live.game.seat_of(caller.subject)
        if seat is not None:
            caller.require("play")
        elif not created.spectators or "spectate" not in caller.scopes:
            raise not_found()
        if live.failed is not None:
            raise live.failed
        return Seen(live, seat)

    async def _waited_for(self, game_id: str, seconds: float) -> LiveGame | None:
        partition = partition_of(game_id, self._topic.partitions)
        until = time.monotonic() + seconds
        try:
            end = await self._topic.end_offset(partition)
        except LogError as error:
            raise log_failed(error) from error
        while not await self._have(partition, end):
            if time.monotonic() >= until:
                raise Failure("READ_MODELS_UNAVAILABLE", "The views are behind the games; ask again.")
            await asyncio.sleep(_ASK_AGAIN_SECONDS)
        return await self._games.get(game_id)

    async def _have(self, partition: int, end: int) -> bool:
        stored = await self._news.redis.get(self._news.keys(partition).position)
        if stored is None:
            return end == 0
        return records.decode(stored, Progress).next_offset >= end

    async def newest(self, seen: Seen, min_version: int, seconds: float) -> Game:
        live = seen.live
        if live.game.version < min_version:
            if live.game.ended is not None:
                raise Failure("VERSION_OUT_OF_RANGE", f"The game ended at version {live.game.version}.")
            await live.reach(min_version, seconds)
        if live.failed is not None:
            raise live.failed
        return live.game

    async def at(self, seen: Seen, version: int) -> Game:
        keys, game_id = self._news.keys_of(seen.live.game_id), seen.live.game_id
        step = version - version % STATE_EVERY
        game: Game | None = None
        try:
            stored = await self._news.redis.hget(keys.states(game_id), str(step)) if step else None
            if stored is not None:
                game = restore(self._rules, zlib.decompress(records.raw(stored)))
        except (ValueError, zlib.error) as error:
            _log.warning("stored state cannot be read", game_id=game_id, version=step, error=str(error))
        except (RedisError, OSError) as error:
            raise unavailable(error) from error
        first = game.version + 1 if game is not None else 1
        async for state, _ in self.states(seen, game, first, version):
            game = state
        assert game is not None
        return game

    async def records(self, seen: Seen, first: int, last: int) -> list[tuple[bytes, bytes]]:
        game_id = seen.live.game_id
        keys = self._news.keys_of(game_id)
        versions = list(range(first, last + 1))
        if not versions:
            return []
        try:
            fed = await feed(self._news.redis, keys, game_id, versions)
            missing = [version for version, record in zip(versions, fed, strict=True) if record is None]
            kept = [(record[HASH_BYTES:], record[:HASH_BYTES]) for record in fed if record is not None]
            if not missing:
                return kept
            index = await self._news.redis.getrange(keys.offsets(game_id), 8 * (first - 1), 8 * missing[-1] - 1)
        except (RedisError, OSError) as error:
            raise unavailable(error) from error
        # A feed lacks old versions only, so what it has follows what the log is asked for.
        offsets = struct.unpack(f">{len(index) // 8}q", records.raw(index))
        partition = partition_of(game_id, self._topic.partitions)
        try:
            older = await self._history.records(partition, game_id, offsets)
        except (BadValue, LogUnreadable) as error:
            _log.error("earlier versions unreadable", game_id=game_id, exc_info=error)
            raise quarantined() from error
        except LogError as error:
            raise log_failed(error) from error
        return older + kept[len(older) + len(kept) - len(versions) :]

    async def states(self, seen: Seen, game: Game | None, first: int, last: int) -> AsyncIterator[tuple[Game, bytes]]:
        for begin in range(first, last + 1, CHUNK):
            for body, digest in await self.records(seen, begin, min(last, begin + CHUNK - 1)):
                try:
                    game, _ = fold(self._rules, game, body, digest)
                except Unfoldable as error:
                    _log.error("earlier versions unreadable", game_id=seen.live.game_id, exc_info=error)
                    raise quarantined() from error
                yield game, body

    def subscribe(self, seen: Seen, watcher: Watcher) -> Callable[[], None]:
        watchers = seen.live.watchers
        watchers.add(watcher)
        return lambda: watchers.discard(watcher)


def unavailable(error: Exception) -> Failure:
    """Redis cannot be reached."""
    _log.warning("read models unavailable", error=str(error))
    return Failure("READ_MODELS_UNAVAILABLE", "The views cannot be read now; ask again.")
