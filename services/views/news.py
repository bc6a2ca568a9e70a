"""The newest records of a game's partitions, as the projection tells them in Redis, for whoever follows a game here."""

import asyncio
import contextlib
import random
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
        self._reader = readers(redis, partitions)
        self._generations = [FIRST_GENERATION] * partitions
        self._last = [""] * partitions
        self._listeners: dict[str, Listener] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin with what comes from now on. Raises RedisError."""
        for partition in range(self.partitions):
            await self._find_generation(partition)
            newest: Any = await self.redis.xrevrange(self.keys(partition).news, count=2)
            # If another generation became live just now, that is told last, under no offset; it is still to be read.
            told = [entry for entry in newest if b"moved" not in entry[1]]
            self._last[partition] = _id(told[0]) if told else "0-0"
        self._tasks = [asyncio.create_task(self._read(partition)) for partition in range(self.partitions)]

    async def close(self) -> None:
        """Read no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
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

    async def _read(self, partition: int) -> None:
        while not cancelled():
            try:
                answer: Any = await self._reader.xread(
                    {self.keys(partition).news: self._last[partition]}, count=_COUNT, block=_BLOCK_MS
                )
                entries = _entries(answer)
                for entry in entries:
                    self._tell(partition, entry)
                if not entries:
                    # Nobody may be left who could have told that another one is live: Redis was flushed, or we slept.
                    await self._find_generation(partition)
            except (RedisError, OSError) as error:
                if cancelled():
                    return
                _log.warning("no news", game=self.game, partition=partition, error=str(error))
                await asyncio.sleep(random.uniform(_RETRY_SECONDS / 2, _RETRY_SECONDS))
                with contextlib.suppress(RedisError, OSError):
                    await self._find_generation(partition)

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

    async def _find_generation(self, partition: int) -> None:
        name = await self.redis.get(live(self.game, partition))
        self._generations[partition] = records.raw(name).decode() if name is not None else FIRST_GENERATION


def _entries(answer: Any) -> list[Any]:
    """The entries of the one stream that was asked for, in either shape that the client gives."""
    if not answer:
        return []
    streams = list(answer.values()) if isinstance(answer, dict) else [stream[1] for stream in answer]
    [found] = streams
    return list(found[0]) if isinstance(answer, dict) and found and isinstance(found[0], list) else list(found)


def _id(entry: Any) -> str:
    return records.raw(entry[0]).decode()
