"""Changes of a partition's models: gathered, then made by one script that is guarded by the stored position.

All writes are absolute, and the position is written last, in the same script. So a batch is applied once or not at all,
whoever applies it, however often, and a Redis that went back to an older copy just gets the batches after it again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from redis.asyncio import Redis

from guildhall.readmodel.keys import FIRST_GENERATION, Keys, live

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
  redis.call(unpack(ARGV, at + 1, last))
  at = last + 1
end
redis.call('SET', KEYS[1], ARGV[3])
return 'applied'
"""

# KEYS: the name of the live generation, the live generation's news, the positions of the live one and of the next.
# ARGV: the live generation, the next one, the live position and the next one's as they were compared.
_SWITCH = """
if (redis.call('GET', KEYS[1]) or '1') ~= ARGV[1] then
  return 'generation'
end
if (redis.call('GET', KEYS[3]) or '') ~= ARGV[3] or (redis.call('GET', KEYS[4]) or '') ~= ARGV[4] then
  return 'position'
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('XADD', KEYS[2], '*', 'moved', ARGV[2])
return 'applied'
"""


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

    def put(self, key: str, values: Mapping[str | int, bytes]) -> None:
        """Fields of a hash."""
        if values:
            self.add("HSET", key, *(part for pair in values.items() for part in pair))

    def drop(self, key: str, fields: "list[int] | list[str]") -> None:
        """Take fields from a hash."""
        if fields:
            self.add("HDEL", key, *fields)

    def rank(self, key: str, score: int, member: str) -> None:
        """A member of a sorted set."""
        self.add("ZADD", key, score, member)

    def tell(self, offset: int, game_id: str, version: int, record: bytes) -> None:
        """A record among the news; after a flush of Redis it may be there already."""
        self.add(
            "XADD",
            self.keys.news,
            "MAXLEN",
            "~",
            NEWS_LENGTH,
            f"{offset + 1}-0",
            "g",
            game_id,
            "v",
            version,
            "r",
            record,
        )


class Models:
    """The models in one Redis, for whoever changes them."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis
        self._apply: Any = redis.register_script(_APPLY)
        self._switch: Any = redis.register_script(_SWITCH)

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

    async def switch(self, now: Keys, following: Keys, position: bytes, next_position: bytes) -> Outcome:
        """Make `following` the live generation, if both still stand where they were compared."""
        outcome = await self._switch(
            keys=[live(now.game, now.partition), now.news, now.position, following.position],
            args=[now.generation, following.generation, position, next_position],
        )
        return Outcome(outcome.decode())

    async def generation(self, game: str, partition: int) -> str:
        """The live generation of a partition."""
        name = await self.redis.get(live(game, partition))
        return str(name, "ascii") if isinstance(name, bytes) else FIRST_GENERATION

    async def wipe(self, keys: Keys) -> None:
        """Remove a generation, its position first, so that nobody takes the rest for whole."""
        await self.redis.unlink(keys.position)
        async for name in self.redis.scan_iter(match=_literal(keys.base) + ":*", count=1000):
            await self.redis.unlink(name)


def _literal(name: str) -> str:
    """A pattern of SCAN that matches just this."""
    return "".join(f"\\{sign}" if sign in "*?[]^\\" else sign for sign in name)
