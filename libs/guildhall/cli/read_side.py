"""The read side as processes: `serve projection`, `serve views`, and both beside the rules of a hall on one machine."""

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from guildhall.host.door import Door, DoorConfig
from guildhall.kernel.packs import BadPack
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogError, LogUnavailable
from guildhall.log.port import Log
from guildhall.readmodel.child import RedisChild
from guildhall.readmodel.connection import open_redis
from guildhall.rpc.pages import hall_key
from guildhall.rpc.server import Server
from guildhall.telemetry import logs
from services.projection.service import Projection
from services.views.service import Views, add_services
from services.views.watch import WatchLimits

REDIS_DIRECTORY = "redis"
"""Where in the data directory a hall's own Redis stores the read models."""

_TRY_AGAIN_SECONDS = 1.0
_LOOK_SECONDS = 1.0
"""How soon health says that views cannot be read, or can again."""
_PROJECT_AGAIN_SECONDS = 5.0
"""After what the projection could not wait out."""
_HOME = "guildhall-redis-"
_LOCK = "lock"

_log = logs.get("read_side")


@dataclass(frozen=True, kw_only=True)
class ReadSideConfig(DoorConfig):
    """A process of the read side."""

    games: Sequence[Rules]
    open_log: Callable[[], Log]
    redis: str
    """The address of the Redis that holds the read models."""
    pools: bool = False
    """Of matchmaking too."""


@dataclass(frozen=True, kw_only=True)
class ViewsConfig(ReadSideConfig):
    """A process that serves views."""

    watching: WatchLimits = field(default_factory=WatchLimits)


class ViewsProcess:
    """Serves views of some games. Any number of them may run."""

    def __init__(self, config: ViewsConfig) -> None:
        self.config = config
        self.port = 0
        self.draining = asyncio.Event()
        self._door: Door | None = None
        self._log: Log | None = None
        self._redis: Redis | None = None
        self._views: Views | None = None
        self._telling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen once log and Redis are there. Raises OSError, ValueError, `LogError`, BadPack, PortTaken."""
        config = self.config
        door = self._door = Door(config)
        self.port = door.bind()
        log = self._log = config.open_log()
        self._redis = open_redis(config.redis)
        views = self._views = Views(config.games, self._redis, config.watching)
        await until_reached(lambda: views.open(log))
        names = ["", *add_services(views, door.server, door.gate, hall_key(door.key))]
        await door.server.start(not_ready=names)
        await until_reached(views.start)
        for name in names:
            await door.server.set_serving(name, True)
        self._telling = asyncio.create_task(_tell_health(door.server, names, views))

    async def stop(self) -> None:
        """Take nothing more, end streams with a hint to resume, answer what is open."""
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)
        if self._door is not None:
            await self._door.server.refuse()
        if self._views is not None:
            self._views.close()
        if self._door is not None:
            await self._door.server.stop(self.config.drain_seconds)
        if self._views is not None:
            await self._views.stop()
        await _close(self._redis, self._log)


async def _tell_health(server: Server, names: Sequence[str], views: Views) -> None:
    """Health says SERVING but while the views are cut off from Redis: other processes may be better off."""
    serving = True
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        if serving == views.cut_off:
            serving = not serving
            _log.warning("the views can be read again" if serving else "the views cannot be read")
            for name in names:
                await server.set_serving(name, serving)


class ProjectionProcess:
    """Folds some games into read models. Several may run: one works on a partition, the others stand by."""

    def __init__(self, config: ReadSideConfig) -> None:
        self.config = config
        self.port = 0
        self.draining = asyncio.Event()
        self.failure: BaseException | None = None
        """Why it cannot go on: then it drains by itself."""
        self._door: Door | None = None
        self._log: Log | None = None
        self._redis: Redis | None = None
        self._projection: Projection | None = None
        self._watching: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin. Health says SERVING once the models have what was in the log then.

        Raises OSError, ValueError, `LogError`, BadPack, PortTaken.
        """
        config = self.config
        door = self._door = Door(config)
        self.port = door.bind()
        log = self._log = config.open_log()
        self._redis = open_redis(config.redis)
        projection = self._projection = Projection(config.games, log, self._redis, pools=config.pools)
        await door.server.start(not_ready=[""])
        await until_reached(projection.start)
        self._watching = [asyncio.create_task(self._tell_ready()), asyncio.create_task(self._tell_failed())]

    async def _tell_ready(self) -> None:
        assert self._door is not None and self._projection is not None
        await self._projection.level()
        await self._door.server.set_serving("", True)
        _log.info("the read models are level with the log")

    async def _tell_failed(self) -> None:
        assert self._projection is not None
        try:
            await self._projection.failed()
        except Exception as error:
            _log.error("the projection cannot go on", exc_info=error)
            self.failure = error
        self.draining.set()

    async def stop(self) -> None:
        """End all work; what was begun is applied whole or not at all."""
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)
        if self._door is not None:
            await self._door.server.refuse()
        if self._projection is not None:
            await self._projection.close()
        if self._door is not None:
            await self._door.server.stop(self.config.drain_seconds)
        await _close(self._redis, self._log)


class OneMachine:
    """Projection and views in the process of a hall, with a Redis of its own that lives and dies with it.

    That Redis stores what it holds in `keep` now and then and when it ends, so that a start need only fold what came
    since. None of it is needed: what is missing there, or does not fit the log, is built from the log again.
    """

    def __init__(
        self,
        games: Sequence[Rules],
        keep: Path | None = None,
        watching: WatchLimits | None = None,
        *,
        pools: bool = False,
    ) -> None:
        """`pools`: of matchmaking too."""
        self._games = games
        self._pools = pools
        self._keep = keep
        self._watching = watching
        self._home = SocketHome()
        self.child: RedisChild | None = None
        self.views: Views | None = None
        self.projection: Projection | None = None
        self._new_projection: Callable[[], Projection] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._clients: list[Redis] = []

    async def open(self, log: Log) -> None:
        """Start Redis and take up the log. Raises NoRedis, OSError, `LogError`, BadPack."""
        self.child = RedisChild(self._home.make(), self._keep)
        await self.child.start()
        # Two: however much is asked of the views, the projection goes on.
        for_projection, for_views = self._clients = [open_redis(self.child.url) for _ in range(2)]
        self._new_projection = partial(Projection, self._games, log, for_projection, pools=self._pools)
        self.projection = self._new_projection()
        self.views = Views(self._games, for_views, self._watching)
        await self.views.open(log)

    def client(self) -> Redis:
        """One more client of its Redis, after `open`, for whoever closes it."""
        assert self.child is not None
        return open_redis(self.child.url)

    def add_to(self, door: Door) -> Sequence[str]:
        """Add the services; their names."""
        assert self.views is not None
        return add_services(self.views, door.server, door.gate, hall_key(door.key))

    async def start(self) -> None:
        """Returns when the models have what was in the log. Raises RedisError, `LogError`."""
        assert self.projection is not None and self.views is not None
        await self.projection.start()
        self._keeper = asyncio.create_task(self._keep_projecting())
        await self.projection.level()
        await self.views.start()

    async def _keep_projecting(self) -> None:
        assert self.projection is not None and self._new_projection is not None
        while True:
            try:
                await self.projection.failed()
            except Exception as error:
                _log.error("the projection cannot go on; it begins again", exc_info=error)
            await self.projection.close()
            await asyncio.sleep(_PROJECT_AGAIN_SECONDS)
            self.projection = self._new_projection()
            try:
                await until_reached(self.projection.start)
            except (LogError, BadPack) as error:
                _log.error("the projection does not begin", exc_info=error)

    def close(self) -> None:
        """Take no more requests, and end the open streams."""
        if self.views is not None:
            self.views.close()

    async def stop(self) -> None:
        """End everything, Redis last."""
        if self.views is not None:
            await self.views.stop()
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        if self.projection is not None:
            await self.projection.close()
        for client in self._clients:
            await client.aclose()
        if self.child is not None:
            await self.child.stop()
        self._home.remove()


class SocketHome:
    """A directory for one process's socket: nobody else may enter it, and its name is short wherever the data is.

    It is locked for as long as its process lives; what others have left behind who were killed is removed.
    """

    def __init__(self) -> None:
        self._path: Path | None = None
        self._lock: int | None = None

    def make(self) -> Path:
        """Make it. Raises OSError."""
        for left in Path(tempfile.gettempdir()).glob(f"{_HOME}*/{_LOCK}"):
            _remove_unlocked(left)
        self._path = Path(tempfile.mkdtemp(prefix=_HOME))
        self._lock = os.open(self._path / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        return self._path

    def remove(self) -> None:
        """Remove it."""
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
        self._path = self._lock = None


def _remove_unlocked(lock: Path) -> None:
    try:
        held = os.open(lock, os.O_RDWR)
    except OSError:  # of somebody else, or just gone
        return
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(lock.parent, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(held)


async def until_reached(work: Callable[[], Awaitable[None]]) -> None:
    """Do it, again and again while log or Redis cannot be reached. Raises whatever else it does."""
    while True:
        try:
            return await work()
        except (LogUnavailable, RedisError, ConnectionError, TimeoutError) as error:
            _log.warning("log or Redis can't be reached; trying again", why=logs.said(error))
            await asyncio.sleep(_TRY_AGAIN_SECONDS)


async def _close(redis: Redis | None, log: Log | None) -> None:
    if redis is not None:
        await redis.aclose()
    if log is not None:
        await log.close()
