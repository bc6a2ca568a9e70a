"""The newest records of a game's partitions, as the projection tells them in Redis, for whoever follows a game here."""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from redis.asyncio import Redis
from redis.exceptions import RedisError

from guildhall.log.port import partition_of
from guildhall.readmodel import records
from guildhall.readmodel.connection import cancelled, readers
from guildhall.readmodel.keys import FIRST_GENERATION, Keys, live
from guildhall.telemetry import logs

_BLOCK_MS = 1_000
_COUNT = 500
_RETRY_SECONDS = 0.5
_LOOK_SECONDS = 1.0
"""How soon it is seen that another generation is live, where nobody was left who could have told."""

LOOK_ANEW = 0
"""Told in place of a version: the game's models stand still, or go on, so they are to be looked at anew."""

Listener: TypeAlias = Callable[[int, bytes], None]
"""Told a version and its record (hash and body); returns at once."""

_log = logs.get("views")


class News:
    """Reads the news of every partition; versions of one game come in order, and may come twice or be left out where
    Redis lost them.
    """

    def __init__(self, game: str, partitions: int, redis: Redis) -> None:
        self.game = game
        self.partitions = partitions
        self.redis = redis
        # One that waits at the server for all partitions together: under load, what comes for several is one answer.
        self._reader = readers(redis, 1)
        self._generations = [FIRST_GENERATION] * partitions
        self._last = [""] * partitions
        self._listeners: dict[str, Listener] = {}
        self._task: asyncio.Task[None] | None = None
        self._answered = time.monotonic()

    @property
    def silent_seconds(self) -> float:
        """How long ago Redis last answered, if only that there is nothing new."""
        return time.monotonic() - self._answered

    async def start(self) -> None:
        """Begin with what comes from now on. Raises RedisError."""
        await self._find_generations()
        for partition in range(self.partitions):
            newest: Any = await self.redis.xrevrange(self.keys(partition).news, count=2)
            # If another generation became live just now, that is told last, under no offset; it is still to be read.
            told = [entry for entry in newest if b"moved" not in entry[1]]
            self._last[partition] = _id(told[0]) if told else "0-0"
        self._answered = time.monotonic()
        self._task = asyncio.create_task(self._read())

    async def close(self) -> None:
        """Read no more, until it is started again."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self._reader.aclose()

    def keys(self, partition: int) -> Keys:
        """Of the partition's live generation."""
        return Keys(self.game, partition, self._generations[partition])

    def keys_of(self, game_id: str) -> Keys:
        """Of the partition that a game belongs to."""
        return self.keys(partition_of(game_id, self.partitions))

    def listen(self, game_id: str, listener: Listener) -> None:
        """Tell this listener the game's versions; one for a game."""
        self._listeners[game_id] = listener

    def forget(self, game_id: str) -> None:
        """Tell nobody that game's versions."""
        self._listeners.pop(game_id, None)

    async def _read(self) -> None:
        looked = time.monotonic()
        while not cancelled():
            try:
                if time.monotonic() - looked >= _LOOK_SECONDS:
                    # Nobody may be left who could have told that another one is live: Redis was flushed, or we slept.
                    await self._find_generations()
                    looked = time.monotonic()
                asked = {self.keys(partition).news.encode(): partition for partition in range(self.partitions)}
                answer: Any = await self._reader.xread(
                    {name: self._last[partition] for name, partition in asked.items()}, count=_COUNT, block=_BLOCK_MS
                )
                self._answered = time.monotonic()
                for name, entries in _streams(answer):
                    for entry in entries:
                        self._tell(asked[name], entry)
            except (RedisError, OSError) as error:
                if cancelled():
                    return
                _log.warning("no news", game=self.game, error=logs.said(error))
                await asyncio.sleep(random.uniform(_RETRY_SECONDS / 2, _RETRY_SECONDS))
                looked = 0.0

    def _tell(self, partition: int, entry: Any) -> None:
        fields = entry[1]
        if b"moved" in fields:
            # Ids are offsets in every generation: this one is read on from where the last was left.
            self._generations[partition] = records.raw(fields[b"moved"]).decode()
            return
        self._last[partition] = _id(entry)
        game_id = records.raw(fields[b"g"]).decode()
        listener = self._listeners.get(game_id)
        if listener is not None:
            try:
                listener(int(fields[b"v"]), records.raw(fields[b"r"]))
            except Exception as error:  # of one game, which must not keep the others from their news
                _log.error("news not taken", game=self.game, game_id=game_id, exc_info=error)

    async def _find_generations(self) -> None:
        async with self.redis.pipeline(transaction=False) as at_once:
            for partition in range(self.partitions):
                at_once.get(live(self.game, partition))
            names = await at_once.execute()
        self._generations = [FIRST_GENERATION if name is None else records.raw(name).decode() for name in names]


def _streams(answer: Any) -> list[tuple[bytes, list[Any]]]:
    """The streams that have something, in either shape that the client gives."""
    if not answer:
        return []
    if isinstance(answer, dict):
        # Each under its name as a list of lists of entries.
        return [(records.raw(name), found[0]) for name, found in answer.items()]
    return [(records.raw(name), found) for name, found in answer]


def _id(entry: Any) -> str:
    return records.raw(entry[0]).decode()
