"""The games that are looked at: each folded once in this process, as the news come, for all who look."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from redis.exceptions import RedisError

from guildhall.host.failures import quarantined
from guildhall.host.history import History
from guildhall.host.messages import Messages
from guildhall.kernel.fold import Unfoldable, check_agenda, fold
from guildhall.kernel.game import Game, restore
from guildhall.kernel.v1.structs import Record, decode_Record
from guildhall.log.port import EventsTopic
from guildhall.readmodel import records
from guildhall.readmodel.connection import cancelled
from guildhall.readmodel.doubts import doubt
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.records import State
from guildhall.rpc.errors import Failure, internal
from guildhall.shared import shared
from guildhall.telemetry import logs
from services.views.from_log import from_log
from services.views.news import LOOK_ANEW, News

REMEMBERED = 512
"""Games that are followed though nobody watches them."""
HASH_BYTES = 32
VERSION_BYTES = 8
"""Of each version in a game's index (`Keys.offsets`)."""
_LOOK_SECONDS = 5.0
"""How soon it is seen that news of a game were left out."""
CUT_OFF_SECONDS = 10.0
"""When Redis has been silent for so long, nothing is shown any more, for it may be old; seen `_LOOK_SECONDS` later at
the latest.
"""
_LOOKED_AT_ONCE = 200

_log = logs.get("views")


@dataclass(slots=True)
class Published:
    """A new version of a game, told while the game stands at it; `shared` is what its watchers made of it so far."""

    game: Game
    record: Record
    hash: bytes
    events: list[Any]
    shared: dict[Any, bytes]


class Watcher(Protocol):
    """Whoever is told a game's versions."""

    def hear(self, published: Published) -> None:
        """A new version, while the game stands at it; returns at once."""
        ...

    def end(self, why: Failure) -> None:
        """No more versions will come from here."""
        ...


class LiveGame:
    """One game at its newest version here, and its watchers."""

    def __init__(self, game_id: str, game: Game, messages: Messages, doubted: Callable[[], None]) -> None:
        """`doubted()` is told when what is stored of it does not fold; it returns at once."""
        self.game_id = game_id
        self.game = game
        self.shared: dict[Any, bytes] = {}
        """What was made of this version, by what it is and for whom."""
        self.earlier: OrderedDict[tuple[int, int | None], bytes] = OrderedDict()
        """Views of earlier versions, by (version, seat), those last that were asked for last; see `ViewService`."""
        self.watchers: set[Watcher] = set()
        self.newest_told = game.version
        """The newest version that the news named, though it may not be here yet."""
        self.failed: Failure | None = None
        """Why it cannot be followed any further."""
        self._messages = messages
        self._doubted = doubted
        self._waits: list[tuple[int, asyncio.Future[None]]] = []

    @property
    def needed(self) -> bool:
        """Whether somebody watches it, or waits for a version."""
        return bool(self.watchers or self._waits)

    def take(self, version: int, record: bytes) -> bool:
        """Fold the next version and tell it; False for one that does not follow."""
        if version <= self.game.version or self.failed is not None:
            return True
        if version != self.game.version + 1:
            return False
        digest, body = record[:HASH_BYTES], record[HASH_BYTES:]
        try:
            self.game, events = fold(self._messages.rules, self.game, body, digest)
            check_agenda(self.game)
        except Unfoldable as error:
            _log.error("game cannot be followed", game_id=self.game_id, error=logs.said(error))
            self._doubted()
            self.fail(quarantined())
            return True
        self.shared = {}
        if self.watchers:
            self._tell(Published(self.game, decode_Record(body), digest, events, self.shared))
        self._wake()
        return True

    def _tell(self, published: Published) -> None:
        for watcher in tuple(self.watchers):
            try:
                watcher.hear(published)
            except Exception as error:
                self.watchers.discard(watcher)
                _log.error("watcher failed", game_id=self.game_id, exc_info=error)
                watcher.end(internal())

    def fail(self, failure: Failure) -> None:
        """Show it no more, to nobody."""
        self.failed = failure
        for watcher in tuple(self.watchers):
            watcher.end(failure)
        self._wake()

    async def reach(self, version: int, seconds: float) -> None:
        """Wait until the game has that version, or cannot be followed. Raises Failure VERSION_NOT_REACHED."""
        if self.game.version >= version or self.failed is not None:
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        wait = (version, reached)
        self._waits.append(wait)
        try:
            async with asyncio.timeout(seconds):
                await reached
        except TimeoutError:
            detail = {"version": str(self.game.version)}
            raise Failure("VERSION_NOT_REACHED", f"The game is at version {self.game.version}.", detail) from None
        finally:
            self._waits.remove(wait)

    def _wake(self) -> None:
        over = self.failed is not None or self.game.ended is not None
        for version, waiting in self._waits:
            if (self.game.version >= version or over) and not waiting.done():
                waiting.set_result(None)


class LiveGames:
    """All games of one rules set that are looked at here, by id."""

    def __init__(
        self, messages: Messages, news: News, topic: EventsTopic, packs: Callable[[], Awaitable[None]]
    ) -> None:
        """`packs()` loads the stored content packs, where a game has one that is not known here."""
        self._history = History(messages.rules, topic)
        self._messages = messages
        self._news = news
        self._packs = packs
        self._games: OrderedDict[str, LiveGame] = OrderedDict()
        self._loading: dict[str, asyncio.Task[LiveGame | None]] = {}
        self._catching_up: dict[str, asyncio.Task[None]] = {}
        self._doubting: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look after games whose news are left out."""
        self._looking = asyncio.create_task(self._look())

    async def close(self) -> None:
        """Follow nothing any more."""
        tasks = [*self._loading.values(), *self._catching_up.values(), *self._doubting]
        tasks += [self._looking] if self._looking else []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def followed(self, game_id: str) -> LiveGame | None:
        """The game, if it is followed already."""
        live = self._games.get(game_id)
        return live if live is not None and live.failed is None else None

    def asked_for(self, live: LiveGame) -> None:
        """Somebody who may see it wants it: it is forgotten after those that nobody asks for."""
        if self._games.get(live.game_id) is live:
            self._games.move_to_end(live.game_id)

    async def get(self, game_id: str) -> LiveGame | None:
        """The game at its newest version; None where the models have none, or it stands still.

        Raises RedisError.
        """
        live = self.followed(game_id)
        if live is None:
            # One load for all who ask at once, and not ended by one of them who goes.
            loading = self._loading.get(game_id)
            if loading is None:
                loading = self._loading[game_id] = asyncio.create_task(self._load(game_id))
                loading.add_done_callback(lambda _: self._loading.pop(game_id, None))
            live = await shared(loading)
        if live is not None:
            self.asked_for(live)
        return live

    async def _load(self, game_id: str) -> LiveGame | None:
        """Follow a game: listen first, then take the stored state, then what was heard meanwhile."""
        heard: list[tuple[int, bytes]] = []
        self._news.listen(game_id, lambda version, record: heard.append((version, record)))
        try:
            keys = self._news.keys_of(game_id)
            redis = self._news.redis
            stored, stopped = await redis.get(keys.state(game_id)), await redis.hget(keys.stopped, game_id)
            game = await self._folded(keys, game_id, stored) if stopped is None else None
            if game is None:
                self._news.forget(game_id)
                return None
            live = LiveGame(game_id, game, self._messages, lambda: self._doubt(game_id))
        except BaseException:
            self._news.forget(game_id)
            raise
        self._games[game_id] = live
        self._news.listen(game_id, lambda version, record: self._told(live, version, record))
        for version, record in heard:
            self._told(live, version, record)
        self._forget_some()
        return live

    async def _folded(self, keys: Keys, game_id: str, stored: Any) -> Game | None:
        """By the stored state; from the log where that was let go, or cannot be read."""
        rules = self._messages.rules
        game: Game | None = None
        if stored is not None:
            try:
                game = restore(rules, records.decode(stored, State).snapshot)
            except ValueError as error:
                _log.warning("stored state cannot be read", game_id=game_id, error=logs.said(error))
                await doubt(self._news.redis, keys, game_id)
        if game is None:
            game = await from_log(self._history, self._news.redis, keys, game_id)
        if game is not None and game.created.pack_hash not in rules.packs:
            await self._packs()
        return game

    def _doubt(self, game_id: str) -> None:
        """Tell the projection of it."""
        task = asyncio.create_task(self._tell_doubt(game_id))
        self._doubting.add(task)
        task.add_done_callback(self._doubting.discard)

    async def _tell_doubt(self, game_id: str) -> None:
        try:
            await doubt(self._news.redis, self._news.keys_of(game_id), game_id)
        except (RedisError, OSError) as error:
            _log.warning("cannot tell what does not fold", game_id=game_id, error=logs.said(error))

    def _told(self, live: LiveGame, version: int, record: bytes) -> None:
        live.newest_told = max(live.newest_told, version)
        if version == LOOK_ANEW:
            self._do(live, self._look_anew(live))
        elif not self._is_catching_up(live) and not live.take(version, record):
            self._do(live, self._caught_up(live))

    def _is_catching_up(self, live: LiveGame) -> bool:
        task = self._catching_up.get(live.game_id)
        return task is not None and not task.done()

    def _do(self, live: LiveGame, work: Coroutine[None, None, None]) -> None:
        before = self._catching_up.pop(live.game_id, None)
        if before is not None:
            before.cancel()
        task = asyncio.create_task(work)
        self._catching_up[live.game_id] = task

        def done(_: asyncio.Task[None]) -> None:
            if self._catching_up.get(live.game_id) is task:
                del self._catching_up[live.game_id]

        task.add_done_callback(done)

    async def _look_anew(self, live: LiveGame) -> None:
        """Its models are not what they were: whoever watches is to come again."""
        why = behind()
        try:
            stopped = await self._news.redis.hget(self._news.keys_of(live.game_id).stopped, live.game_id)
            if records.stands_still(stopped):
                why = quarantined()
        except (RedisError, OSError) as error:
            _log.warning("cannot look anew", game_id=live.game_id, error=logs.said(error))
        self._drop(live, why)

    async def _caught_up(self, live: LiveGame) -> None:
        """Take the versions that were left out from the feed; where it has them no more, start anew."""
        redis = self._news.redis
        try:
            while live.failed is None:
                # Nobody takes the news meanwhile, so what they name is looked for too.
                told, keys = live.newest_told, self._news.keys_of(live.game_id)
                newest = await newest_version(redis, keys, live.game_id)
                wanted = list(range(live.game.version + 1, newest + 1))
                if live.game.version >= max(newest, live.newest_told):
                    return
                if not wanted and told > live.game.version:
                    raise LookupError(told)
                for version, record in zip(wanted, await feed(redis, keys, live.game_id, wanted), strict=True):
                    if record is None:
                        raise LookupError(version)
                    live.take(version, record)
        except (RedisError, OSError, LookupError) as error:
            _log.warning("news were left out", game_id=live.game_id, error=logs.said(error))
            self._drop(live, behind())

    async def _look(self) -> None:
        """Games that were told less than there is are caught up. Games that failed are let go, and all of them where
        Redis cannot be reached.
        """
        while not cancelled():
            await asyncio.sleep(_LOOK_SECONDS)
            followed = list(self._games.values())
            if self._news.silent_seconds >= CUT_OFF_SECONDS:
                for live in followed:
                    self._drop(live, _cut_off())
                continue
            try:
                for begin in range(0, len(followed), _LOOKED_AT_ONCE):
                    await self._look_at(followed[begin : begin + _LOOKED_AT_ONCE])
            except (RedisError, OSError) as error:
                _log.warning("cannot look after games", error=logs.said(error))

    async def _look_at(self, followed: list[LiveGame]) -> None:
        async with self._news.redis.pipeline(transaction=False) as at_once:
            for live in followed:
                at_once.strlen(self._news.keys_of(live.game_id).offsets(live.game_id))
            lengths = await at_once.execute()
        for live, length in zip(followed, lengths, strict=True):
            newest = length // VERSION_BYTES
            if live.failed is not None:
                self._drop(live, live.failed)
            elif newest > live.game.version and not self._is_catching_up(live):
                self._do(live, self._caught_up(live))

    def _forget_some(self) -> None:
        idle = [live for live in self._games.values() if not live.needed]
        for live in idle[:-REMEMBERED]:
            self._drop(live, behind())

    def _drop(self, live: LiveGame, why: Failure) -> None:
        """Follow it no longer; whoever still has it is told why."""
        live.fail(why)
        if self._games.get(live.game_id) is live:
            del self._games[live.game_id]
            self._news.forget(live.game_id)


async def newest_version(redis: Any, keys: Keys, game_id: str) -> int:
    """The newest effective version that the models know. Raises RedisError."""
    return int(await redis.strlen(keys.offsets(game_id))) // VERSION_BYTES


async def feed(redis: Any, keys: Keys, game_id: str, versions: list[int]) -> list[bytes | None]:
    """The records (hash and body) of these versions, None where the feed has one no more. Raises RedisError."""
    found: list[bytes | None] = await redis.hmget(keys.feed(game_id), versions)
    return found


def _cut_off() -> Failure:
    """Nothing is known here of what came since."""
    return Failure("READ_MODELS_UNAVAILABLE", "The views cannot be read now; resume after the version you have.")


def behind() -> Failure:
    """Versions were left out here."""
    return Failure("VIEW_BEHIND", "This stream fell behind; resume after the version you have.")
