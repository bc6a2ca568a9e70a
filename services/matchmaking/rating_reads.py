"""Ratings, the leaderboard and histories, read from the models in Redis: by any process, whoever owns the pool.

Each answer has everything that was in matchmaking's log when it was asked for. While the models are behind, or were
lost and are built again, they are waited for; what they lack is never told as if it were not there.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import RedisError

from guildhall.host.failures import log_failed
from guildhall.log.errors import LogError
from guildhall.log.port import EventsTopic, partition_of
from guildhall.log.topics import MATCHMAKING
from guildhall.matchmaking.v1 import structs as told
from guildhall.matchmaking.v1.structs import GetRatingResponse, RatingChange, decode_RatingChange
from guildhall.readmodel import records
from guildhall.readmodel.doubts import doubt
from guildhall.readmodel.keys import FIRST_GENERATION, Keys, live
from guildhall.readmodel.ratings import PoolKeys, Rating
from guildhall.rpc.errors import Failure
from guildhall.shared import heard
from guildhall.telemetry import logs
from services.matchmaking.ratings import START_MU, START_SIGMA

NEWEST = 10
"""Games that are told with a rating."""

_LOOK_AGAIN_SECONDS = 0.005
_LOOKS = 200

# KEYS: the board, the ratings. ARGV: the first place, the last one.
_BOARD = """
local subjects = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2])
if #subjects == 0 then
  return {subjects, {}}
end
return {subjects, redis.call('HMGET', KEYS[2], unpack(subjects))}
"""

_log = logs.get("matchmaking")


class RatingReads:
    """Reads of all pools."""

    def __init__(self, topic: Callable[[], EventsTopic], open_redis: Callable[[], Redis] | None) -> None:
        """`topic` gives matchmaking's events; both are called when something is asked for."""
        self._topic = topic
        self._open_redis = open_redis
        self._redis: Redis | None = None
        self._generations: dict[int, str] = {}
        self._looking: dict[int, asyncio.Task[None]] = {}

    async def close(self) -> None:
        """End the connections."""
        for looking in self._looking.values():
            looking.cancel()
        if self._redis is not None:
            await self._redis.aclose()

    async def rating(self, pool: str, subject: str, seconds: float) -> GetRatingResponse:
        """A subject's rating, its place among those with enough games, and its newest games.

        Raises Failure READ_MODELS_UNAVAILABLE, GAME_QUARANTINED, as all of these do.
        """
        keys, rating = await self._rating(pool, subject, seconds)
        if rating is None:
            return GetRatingResponse(_told(subject, Rating(START_MU, START_SIGMA, 0, 0)), 0, ())
        page = await self._changes(keys, subject, rating.games, NEWEST)
        place = 0
        if rating.ranked:
            with _reading():
                place = 1 + await self._client().zcount(keys.board, "-inf", f"({rating.score}")
        return GetRatingResponse(_told(subject, rating), place, tuple(page))

    async def history(
        self, pool: str, subject: str, newest: int | None, size: int, seconds: float
    ) -> tuple[list[RatingChange], int]:
        """At most `size` rated games of a subject, the newest first, from the one of this number on (from 1; None: the
        newest of all), and how many there are before them.
        """
        keys, rating = await self._rating(pool, subject, seconds)
        there = rating.games if rating is not None else 0
        first = there if newest is None else min(newest, there)
        return await self._changes(keys, subject, first, size), max(0, first - size)

    async def leaderboard(self, pool: str, first: int, size: int, seconds: float) -> list[told.Rating]:
        """The ratings from the `first` place (0 is the best) on, at most `size`."""

        def ask(keys: PoolKeys, at_once: Pipeline) -> None:
            at_once.eval(_BOARD, 2, keys.board, keys.ratings, str(first), str(first + size - 1))

        keys, [answer] = await self._read(pool, seconds, ask)
        subjects, values = answer
        pairs = zip(subjects, values, strict=True)
        return [
            _told(str(subject, "utf-8"), await self._decoded(keys, str(subject, "utf-8"), value))
            for subject, value in pairs
        ]

    async def _rating(self, pool: str, subject: str, seconds: float) -> tuple[PoolKeys, Rating | None]:
        def ask(keys: PoolKeys, at_once: Pipeline) -> None:
            at_once.hget(keys.ratings, subject)

        keys, [stored] = await self._read(pool, seconds, ask)
        return keys, await self._decoded(keys, subject, stored) if stored is not None else None

    async def _decoded(self, keys: PoolKeys, subject: str, stored: bytes) -> Rating:
        try:
            return records.decode(stored, Rating)
        except ValueError as error:
            raise await self._doubted(keys, subject, error) from error

    async def _doubted(self, keys: PoolKeys, subject: str, error: ValueError) -> Failure:
        """What is told of something that cannot be read; the projection is told, too, and makes it anew."""
        with _reading():
            await doubt(self._client(), keys.keys, f"{keys.pool}:{subject}")
        return _unavailable(logs.said(error))

    async def _changes(self, keys: PoolKeys, subject: str, newest: int, size: int) -> list[RatingChange]:
        """The games of these numbers, downwards. They never change once they are there."""
        numbers = [str(number) for number in range(newest, max(0, newest - size), -1)]
        if not numbers:
            return []
        with _reading():
            stored = await self._client().hmget(keys.history(subject), numbers)
        try:
            if None in stored:
                raise ValueError("the history has gone")
            return [decode_RatingChange(records.raw(value)) for value in stored if value is not None]
        except ValueError as error:
            raise await self._doubted(keys, subject, error) from error

    # --- being level with the log

    async def _read(
        self, pool: str, seconds: float, ask: Callable[[PoolKeys, Pipeline], None]
    ) -> tuple[PoolKeys, Sequence[Any]]:
        """What is asked of models that have what was in the log when this was called, read at one moment."""
        until = time.monotonic() + seconds
        topic = self._topic()
        number = partition_of(pool, topic.partitions)
        try:
            end = await topic.end_offset(number)
        except LogError as error:
            raise log_failed(error) from error
        while True:
            keys = Keys(MATCHMAKING, number, self._generations.get(number, FIRST_GENERATION))
            with _reading():
                async with self._client().pipeline(transaction=True) as at_once:
                    at_once.get(live(MATCHMAKING, number))
                    at_once.get(keys.position)
                    at_once.hexists(keys.stopped, pool)
                    ask(PoolKeys(keys, pool), at_once)
                    generation, position, stopped, *answers = await at_once.execute()
                now = str(generation, "ascii") if generation is not None else FIRST_GENERATION
                if now != keys.generation:
                    self._generations[number] = now
                    continue
            if records.reached(position) >= end:
                if stopped:
                    raise Failure("GAME_QUARANTINED", "The ratings of this game stand still; its operator is told.")
                return PoolKeys(keys, pool), answers
            await self._until_reached(number, keys, end, until)

    async def _until_reached(self, number: int, keys: Keys, end: int, until: float) -> None:
        """Returns when the models stand there. All who wait for a partition look together."""
        while time.monotonic() < until:
            looking = self._looking.get(number)
            if looking is None or looking.done():
                looking = self._looking[number] = asyncio.create_task(self._look(keys, end))
                heard(looking)
            await asyncio.wait([looking], timeout=max(0.0, until - time.monotonic()))
            if looking.done() and looking.exception() is None:
                return
        raise Failure("READ_MODELS_UNAVAILABLE", "The ratings are behind the games; ask again.")

    async def _look(self, keys: Keys, end: int) -> None:
        """Returns when the models stand there, or another generation is read, or after a second."""
        for _ in range(_LOOKS):
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
            at, generation = await self._client().mget(keys.position, live(MATCHMAKING, keys.partition))
            if records.reached(at) >= end or (generation or FIRST_GENERATION.encode()) != keys.generation.encode():
                return

    def _client(self) -> Redis:
        if self._redis is None:
            if self._open_redis is None:
                raise _unavailable("this process has no Redis")
            self._redis = self._open_redis()
        return self._redis


@contextmanager
def _reading() -> Iterator[None]:
    """What goes wrong in reading Redis is told as READ_MODELS_UNAVAILABLE."""
    try:
        yield
    except (RedisError, OSError, ValueError) as error:
        raise _unavailable(logs.said(error)) from error


def _unavailable(why: str) -> Failure:
    _log.warning("ratings unavailable", why=why)
    return Failure("READ_MODELS_UNAVAILABLE", "The ratings cannot be read now; ask again.")


def _told(subject: str, rating: Rating) -> told.Rating:
    return told.Rating(subject, rating.mu, rating.sigma, rating.games, rating.wins, rating.ordinal)
