"""What views are made from: the read models in Redis, and the log for what the models keep no more."""

import asyncio
import struct
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from redis.exceptions import RedisError

from guildhall.host.failures import log_failed, not_found, quarantined
from guildhall.host.history import CHUNK, History
from guildhall.kernel import ids
from guildhall.kernel.fold import Unfoldable, follow
from guildhall.kernel.game import Game, restore
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import decode_Record
from guildhall.log.errors import BadValue, LogError, LogUnavailable, LogUnreadable
from guildhall.log.port import EventsTopic, partition_of
from guildhall.readmodel import records
from guildhall.readmodel.doubts import doubt
from guildhall.readmodel.records import STATE_EVERY
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from guildhall.shared import shared
from guildhall.telemetry import logs
from services.views.live_games import HASH_BYTES, LiveGame, LiveGames, Watcher, feed, newest_version
from services.views.news import News
from services.views.seeing import may_see, seat_of, viewers
from services.views.turns import Turns

_ASK_AGAIN_SECONDS = 0.005
"""How often the models' position is asked for, whoever waits."""

_log = logs.get("views")


@dataclass(frozen=True, slots=True)
class Seen:
    """A game that the caller, this subject, may see: from its seat, or as a spectator (None)."""

    live: LiveGame
    seat: int | None
    subject: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """A version's record."""

    version: int
    body: bytes
    hash: bytes
    folds: bool
    """Whether it could be folded. What another one tells must not be shown: who may see it is as doubtful as the rest.
    """


class RedisReadSide:
    """Reads of one game's games."""

    def __init__(self, rules: Rules, topic: EventsTopic, news: News, games: LiveGames) -> None:
        self._rules = rules
        self._topic = topic
        self._news = news
        self._games = games
        self._history = History(rules, topic)
        self._turns = Turns()
        self._asking: dict[int, asyncio.Task[int]] = {}
        self._asked: dict[int, float] = {}

    # --- who may see what

    async def visible(self, game_id: str, caller: Caller, seconds: float = 0.0) -> Seen:
        """The game, if the caller may see it. For one that is not followed here, or not listed for the caller, the
        models are waited for, for so long, until they have everything that was in the log when this was asked: while
        they are built again they would show an older state, or none.

        Only listings are asked first that hold nothing but what the caller may see: so a game that it may not see takes
        the same way, and the same time, as one that is not there, and is never loaded for it.

        Raises Failure GAME_NOT_FOUND (also for a stranger), MISSING_SCOPE, GAME_QUARANTINED, READ_MODELS_UNAVAILABLE.
        """
        until = time.monotonic() + seconds
        whose = viewers(caller)
        try:
            live = self._games.followed(game_id)
            if live is not None and _shows(live.game, caller):
                self._games.asked_for(live)
            else:
                await self._check_listed(game_id, whose, until)
                live = await self._loaded(game_id, caller, until)
        except LogError as error:
            raise log_failed(error) from error
        except (RedisError, OSError) as error:
            raise unavailable(error) from error
        if not _shows(live.game, caller):
            raise not_found()
        if live.failed is not None:
            raise live.failed.told()
        return Seen(live, seat_of(caller, live.game.created.subjects), caller.subject)

    async def _check_listed(self, game_id: str, whose: Sequence[str | None], until: float) -> None:
        """Raises Failure GAME_NOT_FOUND where models that are level with the log list it for none of these."""
        listed, _ = await self._listed(game_id, whose)
        while not listed:
            end = await self._level(game_id, until)
            listed, have = await self._listed(game_id, whose)
            if listed:
                return
            if have >= end:
                raise not_found()
            await self._ask_again(game_id, until)

    async def _listed(self, game_id: str, whose: Sequence[str | None]) -> tuple[bool, int]:
        """Whether one of these listings has the game; how far they are."""
        keys = self._news.keys_of(game_id)
        async with self._news.redis.pipeline(transaction=True) as at_once:
            at_once.get(keys.position)
            for viewer in whose:
                at_once.zscore(keys.games(viewer), game_id)
            position, *scores = await at_once.execute()
        return any(score is not None for score in scores), records.reached(position)

    async def _loaded(self, game_id: str, caller: Caller, until: float) -> LiveGame:
        """A game that the caller may see, from models that are level with the log; while that cannot be asked, as it
        was before. Raises Failure, RedisError, LogError.
        """
        while True:
            try:
                end = await self._level(game_id, until)
            except LogUnavailable:
                before = await self._games.get(game_id)
                if before is None:
                    raise
                return before
            live = await self._games.get(game_id)
            if live is not None:
                return live
            await self._check_shown(game_id, caller, end)
            # The models were lost meanwhile, or went on.
            await self._ask_again(game_id, until)

    async def _ask_again(self, game_id: str, until: float) -> None:
        """A moment later. Raises Failure READ_MODELS_UNAVAILABLE where it is too late for that."""
        if time.monotonic() >= until:
            raise self._behind(game_id)
        await asyncio.sleep(_ASK_AGAIN_SECONDS)

    async def _check_shown(self, game_id: str, caller: Caller, end: int) -> None:
        """Raises what is told of a game that models with everything up to `end` do not show: nothing, to whoever may
        not see it. Returns where they do, or lack something.
        """
        keys = self._news.keys_of(game_id)
        async with self._news.redis.pipeline(transaction=True) as at_once:
            at_once.get(keys.position)
            at_once.get(keys.summary(game_id))
            at_once.hget(keys.stopped, game_id)
            position, stored, stopped = await at_once.execute()
        if records.reached(position) < end:
            return
        if stored is None:
            raise not_found()
        try:
            summary = records.decode(stored, records.Summary)
        except ValueError as error:
            # The caller has it in a listing; it is set right in a moment.
            await doubt(self._news.redis, keys, game_id)
            raise self._behind(game_id) from error
        if not may_see(caller, summary.subjects, spectators=summary.spectators):
            raise not_found()
        if records.stands_still(stopped):
            raise quarantined()

    async def _level(self, game_id: str, until: float) -> int:
        """Returns when the models of the game's partition have everything that is in the log now; where that ends.

        Raises RedisError, LogError, Failure READ_MODELS_UNAVAILABLE.
        """
        partition = partition_of(game_id, self._topic.partitions)
        end = await self._topic.end_offset(partition)
        while await self._position(partition) < end:
            if time.monotonic() >= until:
                raise self._behind(game_id)
        return end

    def _behind(self, game_id: str) -> Failure:
        return behind_games(self._rules.game, partition_of(game_id, self._topic.partitions))

    async def _position(self, partition: int) -> int:
        """How far its models are: asked once for all who wait, and not before a moment after the last answer."""
        asking = self._asking.get(partition)
        if asking is None:
            asking = self._asking[partition] = asyncio.create_task(self._ask(partition))
        return await shared(asking)

    async def _ask(self, partition: int) -> int:
        try:
            wait = self._asked.get(partition, 0.0) + _ASK_AGAIN_SECONDS - time.monotonic()
            await asyncio.sleep(max(0.0, wait))
            return records.reached(await self._news.redis.get(self._news.keys(partition).position))
        finally:
            self._asked[partition] = time.monotonic()
            del self._asking[partition]

    # --- states

    async def newest(self, seen: Seen, min_version: int, seconds: float) -> Game:
        """The newest state, at least `min_version` if that comes within so many seconds; not to be changed, and valid
        until the caller awaits. Raises Failure.
        """
        live = seen.live
        if live.game.version < min_version and live.game.ended is None:
            await live.reach(min_version, seconds)
        if live.failed is not None:
            raise live.failed.told()
        if live.game.version < min_version:
            detail = {"version": str(live.game.version)}
            raise Failure("VERSION_OUT_OF_RANGE", f"The game ended at version {live.game.version}.", detail)
        return live.game

    async def having(self, seen: Seen, version: int, seconds: float, field: str) -> Game:
        """The newest state, with a version that somebody names: one that is in the log is waited for. As `newest`.

        Raises Failure VERSION_OUT_OF_RANGE, which names the request's field.
        """
        live = seen.live
        if live.game.version < version and live.game.ended is None:
            try:
                await self._level(live.game_id, time.monotonic() + seconds)
                there = await newest_version(self._news.redis, self._news.keys_of(live.game_id), live.game_id)
            except LogError as error:
                raise log_failed(error) from error
            except (RedisError, OSError) as error:
                raise unavailable(error) from error
            if there >= version:
                await live.reach(version, seconds)
        if live.failed is not None:
            raise live.failed.told()
        if live.game.version < version:
            newest = live.game.version
            told = f"The game has versions 1 to {newest}."
            raise Failure("VERSION_OUT_OF_RANGE", told, {"version": str(newest)}, field)
        return live.game

    async def at(self, seen: Seen, version: int) -> Game:
        """The state at a version that exists; the caller's own. Raises Failure."""
        keys, game_id = self._news.keys_of(seen.live.game_id), seen.live.game_id
        step = version - version % STATE_EVERY
        game: Game | None = None
        try:
            stored = await self._news.redis.hget(keys.states(game_id), str(step)) if step else None
            if stored is not None:
                game = restore(self._rules, records.raw(stored))
        except ValueError as error:
            _log.warning("stored state cannot be read", game_id=game_id, version=step, error=logs.said(error))
        except (RedisError, OSError) as error:
            raise unavailable(error) from error
        if game is None:
            # Of a game that was let go Redis has none.
            game = self._history.nearest(game_id, version)
        first = game.version + 1 if game is not None else 1
        whole = game.version if game is not None else 0
        async for state, _ in self.states(seen, game, first, version):
            game, whole = state, state.version
            self._history.remember(game_id, state)
        if game is None or whole != version:
            raise quarantined()
        return game

    async def records(self, seen: Seen, first: int, last: int) -> list[Recorded]:
        """The versions `first` to `last`, which exist. Raises Failure.

        What the feed has of them counts only where the record's own hash vouches for it.
        """
        game_id = seen.live.game_id
        keys = self._news.keys_of(game_id)
        versions = list(range(first, last + 1))
        if not versions:
            return []
        try:
            fed = dict(zip(versions, await feed(self._news.redis, keys, game_id, versions), strict=True))
            torn = [
                version for version, record in fed.items() if record is not None and not _vouched(seen, version, record)
            ]
            if torn:
                _log.warning("feed cannot be read", game_id=game_id, versions=torn)
                await doubt(self._news.redis, keys, game_id)
                fed.update(dict.fromkeys(torn))
            missing = [version for version in versions if fed[version] is None]
            index = b""
            if missing:
                bounds = 8 * (missing[0] - 1), 8 * missing[-1] - 1
                index = records.raw(await self._news.redis.getrange(keys.offsets(game_id), *bounds))
        except (RedisError, OSError) as error:
            raise unavailable(error) from error
        offsets = _offsets(index, missing)
        older = dict(zip(missing, await self._from_log(seen, offsets), strict=True))
        folds = {version for version, offset in zip(missing, offsets, strict=True) if offset >= 0}
        found = []
        for version in versions:
            record = fed[version]
            if record is not None:
                found.append(Recorded(version, record[HASH_BYTES:], record[:HASH_BYTES], True))
            else:
                found.append(Recorded(version, *older[version], version in folds))
        return found

    async def _from_log(self, seen: Seen, offsets: list[int]) -> list[tuple[bytes, bytes]]:
        if not offsets:
            return []
        game_id = seen.live.game_id
        partition = partition_of(game_id, self._topic.partitions)
        try:
            async with self._turns.turn(seen.subject):
                return await self._history.records(partition, game_id, offsets)
        except (BadValue, LogUnreadable) as error:
            _log.error("earlier versions unreadable", game_id=game_id, exc_info=error)
            raise quarantined() from error
        except LogError as error:
            raise log_failed(error) from error

    async def states(self, seen: Seen, game: Game | None, first: int, last: int) -> AsyncIterator[tuple[Game, bytes]]:
        """Each version of `first` to `last` with its record's body, folded on `game`, the state before `first`.

        Versions that cannot be folded are left out, where an operator's record has put the game back behind them.

        Raises Failure; GAME_QUARANTINED where one that the projection has folded cannot be folded here.
        """
        for begin in range(first, last + 1, CHUNK):
            for record in await self.records(seen, begin, min(last, begin + CHUNK - 1)):
                try:
                    game, _ = follow(self._rules, game, record.version, record.body, record.hash)
                    if game.lost and record.folds:
                        raise Unfoldable(game.lost)
                except Unfoldable as error:
                    _log.error("earlier versions unreadable", game_id=seen.live.game_id, exc_info=error)
                    raise quarantined() from error
                if not game.lost:
                    yield game, record.body

    # --- watching

    def subscribe(self, seen: Seen, watcher: Watcher) -> Callable[[], None]:
        """Tell `watcher` every version from now on, while the game stands at it. Returns how to end that.

        Raises Failure where no more versions will come from here.
        """
        if seen.live.failed is not None:
            raise seen.live.failed.told()
        watchers = seen.live.watchers
        watchers.add(watcher)
        return lambda: watchers.discard(watcher)


def _vouched(seen: Seen, version: int, record: bytes) -> bool:
    """Whether this, of the feed, is a record of that version of the game as it was written."""
    digest, body = record[:HASH_BYTES], record[HASH_BYTES:]
    try:
        told = decode_Record(body)
    except ValueError:
        return False
    seed = seen.live.game.created.seed
    return told.seq == version and ids.version_hash(told.prev_hash, seed, version, body) == digest


def _offsets(index: bytes, versions: list[int]) -> list[int]:
    """Where these versions are, of an index that begins with the first; the complement, of one that cannot be folded.

    Raises Failure READ_MODELS_UNAVAILABLE where the index lacks one: the models are being built.
    """
    known = dict(enumerate(struct.unpack(f">{len(index) // 8}q", index[: len(index) // 8 * 8]), *versions[:1]))
    # At 0 there is a claim: nothing was put there yet.
    if not all(known.get(version) for version in versions):
        raise Failure("READ_MODELS_UNAVAILABLE", "The views are being built; ask again.")
    return [known[version] for version in versions]


def _shows(game: Game, caller: Caller) -> bool:
    return may_see(caller, game.created.subjects, spectators=game.created.spectators)


def unavailable(error: Exception, game: str | None = None) -> Failure:
    """Redis cannot be reached, or refuses what is asked of this game's models."""
    where = {"game": game} if game is not None else {}
    _log.warning("read models unavailable", error=logs.said(error), **where)
    return Failure("READ_MODELS_UNAVAILABLE", "The views cannot be read now; ask again.", where)


def behind_games(game: str, partition: int | None = None) -> Failure:
    """The models of a game, or of one of its partitions, lack what is in its log."""
    where = {"game": game} if partition is None else {"game": game, "partition": str(partition)}
    return Failure("READ_MODELS_UNAVAILABLE", f"The views of {game} are behind the games; ask again.", where)
