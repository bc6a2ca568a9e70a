"""`guildhall projection status`: how far the models of a game are, and which of its games stand still."""

import time
from dataclasses import dataclass, field

from guildhall.kernel.v1.structs import decode_Record
from guildhall.log.errors import BadValue
from guildhall.log.port import Entry, EventsTopic
from guildhall.log.values import decode
from guildhall.readmodel import records
from guildhall.readmodel.changes import Models
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.records import Stopped
from services.projection.partition import Projected, progress_of

_LOOKED_AT = 100


@dataclass
class Status:
    """How the models of one partition stand."""

    partition: int
    generation: str
    offset: int | None
    """How far they have come; None where there are none that this program can read."""
    end: int
    """Of the log."""
    age_seconds: float = 0.0
    """Of the oldest version that they lack."""
    stopped: dict[str, Stopped] = field(default_factory=dict)
    format: int = records.FORMAT
    """Of the models, where there are any."""
    beside: list[str] = field(default_factory=list)
    """Generations beside the live one: a rebuild is at work, or was killed."""

    @property
    def lag(self) -> int:
        """Records that they lack."""
        return max(0, self.end - (self.offset or 0))


async def status(rules: Projected, topic: EventsTopic, partition: int, models: Models) -> Status:
    """Raises RedisError, `LogError`."""
    # The log's end last: what the models have is in it.
    keys = Keys(rules.game, partition, await models.generation(rules.game, partition))
    progress = progress_of(records.raw(await models.redis.get(keys.position) or b""))
    stopped = await models.redis.hgetall(keys.stopped)
    beside = await _beside(models, keys)
    end = await topic.end_offset(partition)
    if progress is None or progress.format != records.FORMAT:
        known = progress.format if progress is not None else records.FORMAT
        lacking = await age(topic, partition, 0, end)
        return Status(partition, keys.generation, None, end, lacking, format=known, beside=beside)
    return Status(
        partition,
        keys.generation,
        progress.next_offset,
        end,
        await age(topic, partition, progress.next_offset, end),
        {str(records.raw(name), "utf-8"): records.decode(value, Stopped) for name, value in sorted(stopped.items())},
        beside=beside,
    )


async def _beside(models: Models, live: Keys) -> list[str]:
    """The generations before and after the live one of which there are models. Raises RedisError.

    A rebuild makes the next one; a while after it has switched, it removes the one before.
    """
    names = [str(int(live.generation) + step) for step in (-1, 1)]
    there = [await models.redis.exists(Keys(live.game, live.partition, name).position) for name in names]
    return [name for name, exists in zip(names, there, strict=True) if exists]


async def age(topic: EventsTopic, partition: int, offset: int, end: int) -> float:
    """Seconds since the first version from `offset` on was written; 0 where there is none close by.

    Raises `LogError`.
    """
    if offset >= end:
        return 0.0
    for record in await topic.read(partition, offset, _LOOKED_AT):
        try:
            entry = decode(record.value)
            if isinstance(entry, Entry):
                return max(0.0, time.time() - decode_Record(entry.body).at_ms / 1000)
        except (BadValue, ValueError):
            continue
    return 0.0
