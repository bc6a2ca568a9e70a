"""Sorted sets of many partitions, read as one listing, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from guildhall.readmodel import records
from services.views.reads import unavailable

Place: TypeAlias = tuple[int, str, str]
"""(score, game id, game): where a game stands in a listing, and the order of the listing."""

_MORE_THAN_ITS_SHARE = 2
_AT_LEAST = 16

# KEYS: a sorted set. ARGV: how many members are wanted, 1 for those with the highest scores first, and the place from
# which on, as score and member; without these, from the first. (By bytes: Lua's own order is that of some language.)
_FROM = """
local highest_first = ARGV[2] == '1'
local first = 0
if ARGV[3] then
  local function after(one, other)
    for at = 1, math.min(#one, #other) do
      local left, right = string.byte(one, at), string.byte(other, at)
      if left ~= right then
        return left > right
      end
    end
    return #one > #other
  end
  local last
  first = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[3])
  last = redis.call('ZCOUNT', KEYS[1], '-inf', ARGV[3])
  while first < last do
    local middle = math.floor((first + last) / 2)
    local member = redis.call('ZRANGE', KEYS[1], middle, middle)[1]
    if after(ARGV[4], member) or highest_first and member == ARGV[4] then
      first = middle + 1
    else
      last = middle
    end
  end
  if highest_first then
    first = redis.call('ZCARD', KEYS[1]) - first
  end
end
return redis.call(highest_first and 'ZREVRANGE' or 'ZRANGE', KEYS[1], first, first + ARGV[1] - 1, 'WITHSCORES')
"""


@dataclass
class _Source:
    """One sorted set, as far as it is read: it has nothing more up to `last`, or at all if `done`."""

    game: str
    key: str
    last: Place | None = None
    done: bool = False
    found: list[Place] = field(default_factory=list)


async def page(
    redis: Redis, sets: Sequence[tuple[str, str]], after: Place | None, size: int, *, highest_first: bool
) -> tuple[list[Place], bool]:
    """Up to `size` places that follow `after`, and whether there are more. `sets` are (game, key); a game that is in
    several of them comes once. Raises RedisError, Failure READ_MODELS_UNAVAILABLE where a set of some game is none.
    """
    sources = [_Source(game, key, after) for game, key in sets]
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
    """The next members of these sets, from the last one that is known on: a game of that id may be another game's."""
    read_from: Any = redis.register_script(_FROM)
    async with redis.pipeline(transaction=False) as at_once:
        for source in sources:
            place = source.last[:2] if source.last is not None else ()
            await read_from([source.key], [count, int(highest_first), *place], client=at_once)
        answers: list[Any] = await at_once.execute(raise_on_error=False)
    for source, answer in zip(sources, answers, strict=True):
        if isinstance(answer, ResponseError):
            raise unavailable(answer, source.game) from answer
        read = [
            (int(float(score)), records.raw(member).decode(), source.game)
            for member, score in zip(answer[::2], answer[1::2], strict=True)
        ]
        source.found += read
        source.done = len(read) < count
        if read:
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
