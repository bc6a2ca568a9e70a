"""Sorted sets of many partitions, read as one listing, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
from redis.asyncio import Redis

from guildhall.readmodel import records

Place: TypeAlias = tuple[int, str, str]
"""(score, game id, game): where a game stands in a listing, and the order of the listing."""

_MORE_THAN_ITS_SHARE = 2
_AT_LEAST = 16


@dataclass
class _Source:
    """One sorted set, as far as it is read: it has nothing more up to `last`, or at all if `done`."""

    game: str
    key: str
    last: Place | None = None
    at_last_score: int = 0
    """How many members with the score of `last` are read."""
    done: bool = False
    found: list[Place] = field(default_factory=list)


async def page(
    redis: Redis, sets: Sequence[tuple[str, str]], after: Place | None, size: int, *, highest_first: bool
) -> tuple[list[Place], bool]:
    """Up to `size` places that follow `after`, and whether there are more. `sets` are (game, key); a game that is in
    several of them comes once. Raises RedisError.
    """
    sources = [_Source(game, key) for game, key in sets]
    for source in sources:
        source.last = (after[0], "", "") if after is not None else None
    count = max(_AT_LEAST, _MORE_THAN_ITS_SHARE * (size + 1) // max(1, len(sources)))
    ask = sources
    while ask:
        await _read(redis, ask, count, highest_first)
        every = {place for source in sources for place in source.found if _follows(place, after, highest_first)}
        places = sorted(every, reverse=highest_first)[: size + 1]
        # A set that was read beyond the last place can't have anything before it.
        ask = [
            source
            for source in sources
            if not source.done and (len(places) <= size or not _follows(source.last, places[-1], highest_first))
        ]
    return places[:size], len(places) > size


async def _read(redis: Redis, sources: Sequence[_Source], count: int, highest_first: bool) -> None:
    """The next members of these sets."""
    begin, end = ("+inf", "-inf") if highest_first else ("-inf", "+inf")
    async with redis.pipeline(transaction=False) as at_once:
        for source in sources:
            at_once.zrange(
                source.key,
                begin if source.last is None else source.last[0],
                end,
                desc=highest_first,
                byscore=True,
                withscores=True,
                offset=source.at_last_score,
                num=count,
            )
        answers: list[Any] = await at_once.execute()
    for source, answer in zip(sources, answers, strict=True):
        read = [(int(score), records.raw(member).decode(), source.game) for member, score in answer]
        source.found += read
        source.done = len(read) < count
        if read:
            score = read[-1][0]
            before = source.at_last_score if source.last is not None and source.last[0] == score else 0
            source.at_last_score = before + sum(1 for place in read if place[0] == score)
            source.last = read[-1]


def _follows(place: Place | None, other: Place | None, highest_first: bool) -> bool:
    if place is None or other is None:
        return other is None
    return place < other if highest_first else place > other


_ENCODER = msgspec.msgpack.Encoder()


def encode(place: Place) -> bytes:
    """For a page token."""
    return _ENCODER.encode(place)


def decode(data: bytes) -> Place:
    """The inverse of `encode`, of what is known to be our own."""
    return msgspec.msgpack.decode(data, type=tuple[int, str, str])
