"""The games that are looked at: each folded once in this process, as the news come, for all who look."""

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from redis.exceptions import RedisError

from guildhall.host.hosted_game import Published, Watcher
from guildhall.host.messages import Messages
from guildhall.kernel.fold import Unfoldable, fold
from guildhall.kernel.game import Game, restore
from guildhall.kernel.v1.structs import decode_Record
from guildhall.readmodel import records
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.records import State, Stopped
from guildhall.rpc.errors import Failure
from guildhall.telemetry import logs
from services.views.news import News

REMEMBERED = 512
"""Games that are followed though nobody watches them."""
HASH_BYTES = 32
_LOOK_SECONDS = 5.0
"""How soon it is seen that news of a game were left out."""

_log = logs.get("views")


class LiveGame:
    """One game at its newest version here, and its watchers."""

    def __init__(self, game_id: str, game: Game, messages: Messages) -> None:
        self.game_id = game_id
        self.game = game
        self.watchers: set[Watcher] = set()
        self.failed: Failure | None = None
        """Why it cannot be followed any further."""
        self._messages = messages
        self._waits: list[tuple[int, asyncio.Future[None]]] = []

    def take(self, version: int, record: bytes) -> bool:
        """Fold the next version and tell it; False for one that does not follow."""
        if version <= self.game.version or self.failed is not None:
            return True
        if version != self.game.version + 1:
            return False
        digest, body = record[:HASH_BYTES], record[HASH_BYTES:]
        try:
            self.game, events = fold(self._messages.rules, self.game, body, digest)
        except Unfoldable as error:
            _log.error("game cannot be followed", game_id=self.game_id, error=str(error))
            self.fail(Failure("VIEW_UNAVAILABLE", "This game cannot be shown now; its operator has been told."))
            return True
        published = Published(self.game, decode_Record(body), digest, events)
        for watcher in tuple(self.watchers):
            watcher.hear(published)
        self._wake()
        return True

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
        self._waits.append((version, reached))
        try:
            async with asyncio.timeout(seconds):
                await reached
        except TimeoutError:
            detail = {"version": str(self.game.version)}
            raise Failure("VERSION_NOT_REACHED", f"The game is at version {self.game.version}.", detail) from None
        finally:
            self._waits = [(wanted, waiting) for wanted, waiting in self._waits if waiting is not reached]

    def _wake(self) -> None:
        for version, waiting in self._waits:
            if (self.game.version >= version or self.failed is not None) and not waiting.done():
                waiting.set_result(None)


class LiveGames:
    """All games of one rules set that are looked at here, by id."""

    def __init__(self, messages: Messages, news: News, packs: Callable[[], Any]) -> None:
        """`packs()` loads the stored content packs; awaited where a game has one that is not known here."""
        self._messages = messages
        self._news = news
        self._packs = packs
        self._games: OrderedDict[str, LiveGame] = OrderedDict()
        self._loading: dict[str, asyncio.Task[LiveGame | None]] = {}
        self._catching_up: dict[str, asyncio.Task[None]] = {}
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look after games whose news are left out."""
        self._looking = asyncio.create_task(self._look())

    async def close(self) -> None:
        """Follow nothing any more."""
        tasks = [*self._loading.values(), *self._catching_up.values(), *([self._looking] if self._looking else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def get(self, game_id: str) -> LiveGame | None:
        """The game at its newest version; None where the models have none. Raises RedisError, Failure."""
        live = self._games.get(game_id)
        if live is None or live.failed is not None:
            # One load for all who ask at once, and not ended by one of them who goes.
            loading = self._loading.get(game_id)
            if loading is None:
                loading = self._loading[game_id] = asyncio.create_task(self._load(game_id))
                loading.add_done_callback(lambda _: self._loading.pop(game_id, None))
            live = await asyncio.shield(loading)
        if live is not None and game_id in self._games:
            self._games.move_to_end(game_id)
        return live

    async def _load(self, game_id: str) -> LiveGame | None:
        """Follow a game: listen first, then take the stored state, then what was heard meanwhile."""
        heard: list[tuple[int, bytes]] = []
        self._news.listen(game_id, lambda version, record: heard.append((version, record)))
        try:
            keys = self._news.keys_of(game_id)
            redis = self._news.redis
            stored, stopped = await redis.get(keys.state(game_id)), await redis.hget(keys.stopped, game_id)
            if stopped is not None:
                raise stopped_failure(records.decode(stopped, Stopped))
            if stored is None:
                self._news.forget(game_id)
                return None
            live = LiveGame(game_id, await self._restored(records.decode(stored, State)), self._messages)
        except BaseException:
            self._news.forget(game_id)
            raise
        self._games[game_id] = live
        self._news.listen(game_id, lambda version, record: self._told(live, version, record))
        for version, record in heard:
            self._told(live, version, record)
        self._forget_some()
        return live

    async def _restored(self, state: State) -> Game:
        rules = self._messages.rules
        game = restore(rules, zlib.decompress(state.snapshot))
        if game.created.pack_hash not in rules.packs:
            await self._packs()
        return game

    def _told(self, live: LiveGame, version: int, record: bytes) -> None:
        if live.game_id not in self._catching_up and not live.take(version, record):
            self._catch_up(live)

    def _catch_up(self, live: LiveGame) -> None:
        task = asyncio.create_task(self._caught_up(live))
        self._catching_up[live.game_id] = task
        task.add_done_callback(lambda _: self._catching_up.pop(live.game_id, None))

    async def _caught_up(self, live: LiveGame) -> None:
        """Take the versions that were left out from the feed; where it has them no more, start anew."""
        keys = self._news.keys_of(live.game_id)
        try:
            while live.failed is None:
                newest = await newest_version(self._news.redis, keys, live.game_id)
                wanted = list(range(live.game.version + 1, newest + 1))
                if not wanted:
                    return
                for version, record in zip(
                    wanted, await feed(self._news.redis, keys, live.game_id, wanted), strict=True
                ):
                    if record is None:
                        raise LookupError(version)
                    live.take(version, record)
        except (RedisError, OSError, LookupError) as error:
            _log.warning("news were left out", game_id=live.game_id, error=str(error))
            live.fail(Failure("VIEW_BEHIND", "This stream fell behind; resume after the version you have."))
            self._drop(live.game_id)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for game_id, live in list(self._games.items()):
                keys = self._news.keys_of(game_id)
                try:
                    stopped = await self._news.redis.hget(keys.stopped, game_id)
                    newest = await newest_version(self._news.redis, keys, game_id)
                except (RedisError, OSError):
                    break
                if stopped is not None:
                    live.fail(stopped_failure(records.decode(stopped, Stopped)))
                    self._drop(game_id)
                elif newest > live.game.version and game_id not in self._catching_up:
                    self._catch_up(live)

    def _forget_some(self) -> None:
        for game_id in [name for name, live in self._games.items() if not live.watchers]:
            if len(self._games) <= REMEMBERED:
                return
            self._drop(game_id)

    def _drop(self, game_id: str) -> None:
        self._games.pop(game_id, None)
        self._news.forget(game_id)


async def newest_version(redis: Any, keys: Keys, game_id: str) -> int:
    """The newest effective version that the models know. Raises RedisError."""
    return int(await redis.strlen(keys.offsets(game_id))) // 8


async def feed(redis: Any, keys: Keys, game_id: str, versions: list[int]) -> list[bytes | None]:
    """The records (hash and body) of these versions, None where the feed has one no more. Raises RedisError."""
    found: list[bytes | None] = await redis.hmget(keys.feed(game_id), versions)
    return found


def stopped_failure(stopped: Stopped) -> Failure:
    """What whoever looks at such a game is told."""
    if stopped.seq == 0:
        return Failure("GAME_QUARANTINED", "A record of this game is damaged; its operator has been told.")
    return Failure("VIEW_UNAVAILABLE", "This game cannot be shown now; its operator has been told.")
