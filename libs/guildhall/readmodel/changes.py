"""Changes of a partition's models: gathered, then made by one script that is guarded by the stored position.

All writes are absolute, and the position is written last, in the same script. So a batch is applied once or not at all,
whoever applies it, however often, and a Redis that went back to an older copy just gets the batches after it again.
"""

import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from redis.asyncio import Redis

from guildhall.readmodel.keys import FIRST_GENERATION, Keys, live, place
from guildhall.readmodel.records import raw

NEWS_LENGTH = 2_000
"""A partition's news holds about so many records."""

# KEYS: the stored position, the name of the live generation.
# ARGV: the position that is expected (empty: none), the generation that must be live (empty: any), the new position,
# the commands, each as the number of its parts and then these.
_APPLY = """
if ARGV[2] ~= '' and (redis.call('GET', KEYS[2]) or '1') ~= ARGV[2] then
  return 'generation'
end
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return 'position'
end
local at = 4
while at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  if ARGV[at + 1] == 'XADD' then
    redis.pcall(unpack(ARGV, at + 1, last)) -- news that are there already
  else
    redis.call(unpack(ARGV, at + 1, last))
  end
  at = last + 1
end
redis.call('SET', KEYS[1], ARGV[3])
return 'applied'
"""

# KEYS: the name of the live generation, the live generation's news, the positions of the live one and of the next.
# ARGV: the live generation, the next one, the next one's position, and its offset.
_SWITCH = """
if (redis.call('GET', KEYS[1]) or '1') ~= ARGV[1] then
  return 'generation'
end
local position = redis.call('GET', KEYS[3])
if (redis.call('GET', KEYS[4]) or '') ~= ARGV[3] or position and cmsgpack.unpack(position)[2] > tonumber(ARGV[4]) then
  return 'position'
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('XADD', KEYS[2], '*', 'moved', ARGV[2])
return 'applied'
"""

# KEYS: the position, the name of the live generation, keys to remove.
# ARGV: the position that is expected (empty: none), the generation that must not be live (empty: any may).
_REMOVE = """
if (redis.call('GET', KEYS[2]) or '1') == ARGV[2] or (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return 0
end
for at = 3, #KEYS do
  redis.call('UNLINK', KEYS[at])
end
return 1
"""
_REMOVED_AT_ONCE = 500
_FIELDS_AT_ONCE = 1_000
"""Of a hash in one command: Lua's `unpack` ends at some 8,000 parts."""


class Outcome(Enum):
    """What became of a batch."""

    APPLIED = "applied"
    POSITION = "position"
    """Nothing was done: the models stand elsewhere."""
    GENERATION = "generation"
    """Nothing was done: another generation is live."""


@dataclass
class Changes:
    """Commands for one partition's models, in their order."""

    keys: Keys
    commands: list[list[bytes]] = field(default_factory=list)
    size: int = 0
    """Bytes of all commands."""

    def add(self, *command: str | bytes | int) -> None:
        """One Redis command that is absolute: doing it twice is doing it once."""
        parts = [part if isinstance(part, bytes) else str(part).encode() for part in command]
        self.commands.append(parts)
        self.size += sum(map(len, parts))

    def set(self, key: str, value: bytes) -> None:
        """A string."""
        self.add("SET", key, value)

    def set_at(self, key: str, position: int, value: bytes) -> None:
        """Bytes of a string from `position` on."""
        self.add("SETRANGE", key, position, value)

    def put(self, key: str, values: Mapping[str, bytes] | Mapping[int, bytes]) -> None:
        """Fields of a hash."""
        parts = [part for pair in values.items() for part in pair]
        for begin in range(0, len(parts), 2 * _FIELDS_AT_ONCE):
            self.add("HSET", key, *parts[begin : begin + 2 * _FIELDS_AT_ONCE])

    def drop(self, key: str, fields: "list[int] | list[str]") -> None:
        """Take fields from a hash."""
        for begin in range(0, len(fields), _FIELDS_AT_ONCE):
            self.add("HDEL", key, *fields[begin : begin + _FIELDS_AT_ONCE])

    def remove(self, *keys: str) -> None:
        """Whole keys."""
        self.add("DEL", *keys)

    def rank(self, key: str, score: int, member: str) -> None:
        """A member of a sorted set."""
        self.add("ZADD", key, score, member)

    def tell(self, offset: int, game_id: str, version: int, record: bytes) -> None:
        """A record among the news; as version 0, that it stopped its game: whoever follows that looks at its models."""
        self._news(f"{offset + 1}-0", game_id, version, record)

    def tell_anew(self, next_offset: int, game_id: str) -> None:
        """Among the news behind those of all records before `next_offset`: this game's models were set right."""
        number = sum(command[0] == b"XADD" for command in self.commands)
        self._news(f"{next_offset}-{time.time_ns() // 1_000_000 + number}", game_id, 0, b"")

    def _news(self, name: str, game_id: str, version: int, record: bytes) -> None:
        self.add(
            *("XADD", self.keys.news, "MAXLEN", "~", NEWS_LENGTH, name),
            *("g", game_id, "v", version, "r", record),
        )


class Models:
    """The models in one Redis, for whoever changes them."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis
        self._apply: Any = redis.register_script(_APPLY)
        self._switch: Any = redis.register_script(_SWITCH)
        self._remove: Any = redis.register_script(_REMOVE)

    async def apply(self, changes: Changes, expected: bytes, position: bytes, *, building: bool = False) -> Outcome:
        """Make all changes and move the position, if it is `expected` now (empty: there is none).

        `building`: also if this generation is not the live one. Raises redis.RedisError: the outcome is not known.
        """
        keys = changes.keys
        outcome = await self._apply(
            keys=[keys.position, live(keys.game, keys.partition)],
            args=[
                expected,
                "" if building else keys.generation,
                position,
                *(part for command in changes.commands for part in (len(command), *command)),
            ],
        )
        return Outcome(outcome.decode())

    async def switch(self, now: Keys, following: Keys, position: bytes, next_offset: int) -> Outcome:
        """Make `following`, which stands at this position, the live generation, if it has come as far as that one."""
        outcome = await self._switch(
            keys=[live(now.game, now.partition), now.news, now.position, following.position],
            args=[now.generation, following.generation, position, next_offset],
        )
        return Outcome(outcome.decode())

    async def generation(self, game: str, partition: int) -> str:
        """The live generation of a partition."""
        name = await self.redis.get(live(game, partition))
        return str(name, "ascii") if isinstance(name, bytes) else FIRST_GENERATION

    async def generations(self, game: str, partition: int) -> set[str]:
        """Every generation of a partition of which there is anything."""
        begin = f"{place(game, partition)}:"
        return {name.split(":")[0] async for name in self.named(begin)} - {"live"}

    async def wipe(self, keys: Keys, position: bytes, *, live_too: bool) -> bool:
        """Remove a generation that stands at this position (empty: at none), the position first, so that nobody takes
        the rest for whole. False where somebody else has moved it: then that one goes on; also, unless `live_too`,
        where it is the live one.
        """
        place = [keys.position, live(keys.game, keys.partition)]
        spared = "" if live_too else keys.generation
        if not await self._remove(keys=[*place, keys.position], args=[position, spared]):
            return False
        found: list[str] = []
        async for name in self.named(f"{keys.base}:"):
            found.append(f"{keys.base}:{name}")
            if len(found) == _REMOVED_AT_ONCE:
                if not await self._remove(keys=[*place, *found], args=[b"", spared]):
                    return False
                found = []
        return bool(await self._remove(keys=[*place, *found], args=[b"", spared]))

    async def named(self, begin: str) -> AsyncIterator[str]:
        """The rest of every key that begins so; one may come twice."""
        async for name in self.redis.scan_iter(match=_literal(begin) + "*", count=1000):
            yield str(raw(name), "utf-8").removeprefix(begin)


def _literal(name: str) -> str:
    """A pattern of SCAN that matches just this."""
    return "".join(f"\\{sign}" if sign in "*?[]^\\" else sign for sign in name)
