"""`guildhall projection rebuild`: the models of a partition built anew beside those that are read, compared, switched.

Whoever reads goes on reading the live generation until the switch, which is one script; the projection goes on with
the new one by itself.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis

from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogUnavailable
from guildhall.log.port import EventsTopic, Tail
from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes, Models, Outcome
from guildhall.readmodel.keys import Keys
from services.projection.partition import (
    BATCH_RECORDS,
    ModelsOfPartition,
    PartitionProjection,
    Projected,
    not_newer,
    progress_of,
)
from services.projection.pools import PoolsOfPartition
from services.projection.whole_game import differences, read

GRACE_SECONDS = 10.0
"""How long the old generation stays after the switch, for whoever reads in it."""
_READ_SECONDS = 30.0
_AT_ONCE = 20
_SWITCHES = 100
_GAME_KINDS = ("state", "states", "feed", "offsets", "summary")
_POOL_KINDS = ("stood", "unfolded")
_HASHES = ("standings", "ratings", "history")
_OWN_KINDS = ("position", "news", "stopped", "kept", "doubted")
"""Kinds of keys that are compared game by game, or not at all; every other is a list or the standings."""


class Contended(RuntimeError):
    """Somebody else works on the same models; the message says who it may be."""


@dataclass
class Rebuilt:
    """What became of one partition."""

    partition: int
    old: Keys
    new: Keys
    records: int = 0
    seconds: float = 0.0
    compared: int = 0
    """Games of both generations that were compared, each at the same position."""
    wrong: dict[str, list[str]] = field(default_factory=dict)
    """Of each game whose live models were wrong what was."""
    wrong_lists: list[str] = field(default_factory=list)
    """Live lists, and standings, that were wrong."""
    stopped: list[str] = field(default_factory=list)
    """Games that stand still in the new generation and not in the live one."""
    switched: bool = False


async def rebuild(
    rules: Projected, topic: EventsTopic, tail: Tail, partition: int, models: Models, *, force: bool = False
) -> Rebuilt:
    """Build the partition's next generation and make it live. Not switched where it stops games that the live one does
    not, unless by `force`: then this program does not know what a newer one has written.

    Raises Contended, RedisError, `LogError`; `NewerModels` where the live models have a format that only a newer
    program knows.
    """
    began = time.monotonic()
    live = Keys(rules.game, partition, await models.generation(rules.game, partition))
    not_newer(progress_of(records.raw(await models.redis.get(live.position) or b"")))
    await _sweep(models, live)
    following = Keys(rules.game, partition, str(int(live.generation) + 1))
    building = _Building(_begun(rules, topic, partition, models, following.generation), tail)
    if not await building.projection.load():
        raise Contended(f"another rebuild of {rules.game}, partition {partition}, has begun")
    done = Rebuilt(partition, live, following)
    await _compare(done, building)
    for _ in range(_SWITCHES):
        await building.advance(await topic.end_offset(partition))
        before, now = await _stopped(models.redis, live), await _stopped(models.redis, following)
        done.stopped = sorted(now - before)
        if done.stopped and not force:
            break
        await building.tell_anew(done.wrong)
        outcome = await models.switch(live, following, building.projection.position, building.offset)
        if outcome is Outcome.GENERATION:
            raise Contended(f"another rebuild of {rules.game}, partition {partition}, has switched")
        if outcome is Outcome.APPLIED:
            done.switched = True
            break
    else:
        raise Contended(f"{rules.game}, partition {partition}: the live models are always ahead")
    done.records, done.seconds = building.offset, time.monotonic() - began
    return done


def _begun(rules: Projected, topic: EventsTopic, partition: int, models: Models, generation: str) -> ModelsOfPartition:
    if isinstance(rules, Rules):
        return PartitionProjection(rules, topic, partition, models, generation=generation)
    return PoolsOfPartition(topic, partition, models, generation=generation)


async def remove_old(models: Models, done: Rebuilt, grace: float = GRACE_SECONDS) -> None:
    """Remove what this rebuild has left and is not live, after a while what was. Raises RedisError."""
    if done.switched:
        await asyncio.sleep(grace)
    await _remove(models, done.old if done.switched else done.new)


async def _sweep(models: Models, live: Keys) -> None:
    """Remove every generation but the live one."""
    for name in sorted(await models.generations(live.game, live.partition) - {live.generation}):
        if not await _remove(models, Keys(live.game, live.partition, name)):
            raise Contended(f"another rebuild of {live.game}, partition {live.partition}, is at work")


async def _remove(models: Models, keys: Keys) -> bool:
    position = records.raw(await models.redis.get(keys.position) or b"")
    return await models.wipe(keys, position, live_too=False)


class _Building:
    """The generation that is being built, brought to just the position that is asked for; from the beginning again
    where the log tells that what was folded did not happen.
    """

    def __init__(self, projection: ModelsOfPartition, tail: Tail) -> None:
        self.projection = projection
        self._tail = tail

    @property
    def offset(self) -> int:
        """How far it has come."""
        return self.projection.fold.next_offset

    async def advance(self, end: int) -> None:
        """Raises Contended, RedisError, `LogError`."""
        projection = self.projection
        while self.offset < end:
            try:
                async with asyncio.timeout(_READ_SECONDS):
                    found = await self._tail.read(
                        projection.partition, self.offset, min(BATCH_RECORDS, end - self.offset)
                    )
            except TimeoutError:
                raise LogUnavailable(f"{projection.topic.name} does not reach offset {end}") from None
            if not await projection.advance(found) and not (projection.begun_anew and await projection.load()):
                raise Contended(f"another rebuild of {projection.rules.game} is at work")

    async def tell_anew(self, games: Iterable[str]) -> None:
        """Whoever follows these games looks at them anew after the switch."""
        projection = self.projection
        changes = Changes(projection.keys)
        for game_id in games:
            changes.tell_anew(self.offset, game_id)
        if changes.commands:
            await projection.models.apply(changes, projection.position, projection.position, building=True)


# --- comparing: what is live is read at one moment, with its position; then the new generation is brought to just there


async def _compare(done: Rebuilt, building: _Building) -> None:
    models = building.projection.models
    redis, live, new = models.redis, done.old, done.new
    position = records.raw(await redis.get(live.position) or b"")
    progress = progress_of(position)
    if progress is None or progress.format != records.FORMAT:
        return
    await building.advance(progress.next_offset)
    games = sorted(await games_of(models, live) | await games_of(models, new))
    for begin in range(0, len(games), _AT_ONCE):
        some = games[begin : begin + _AT_ONCE]
        position, stored = await read(redis, live, some)
        if not await _follow(building, position):
            return
        _, right = await read(redis, new, some)
        for game_id, old, made in zip(some, stored, right, strict=True):
            found = differences(old, made)
            if found:
                done.wrong[game_id] = found
        done.compared += len(some)
    lists = sorted(await _lists(models, live) | await _lists(models, new))
    for begin in range(0, len(lists), _AT_ONCE):
        some = lists[begin : begin + _AT_ONCE]
        position, was = await _read_lists(redis, live, some)
        if not await _follow(building, position):
            return
        _, made_lists = await _read_lists(redis, new, some)
        for name, old_list, new_list in zip(some, was, made_lists, strict=True):
            if old_list != new_list:
                done.wrong_lists.append(name)


async def _follow(building: _Building, position: bytes) -> bool:
    """Bring it to where the live models were; False if those have gone back, so that there is nothing to compare."""
    progress = progress_of(position)
    if progress is None or progress.next_offset < building.offset:
        return False
    await building.advance(progress.next_offset)
    return True


async def games_of(models: Models, keys: Keys) -> set[str]:
    """Every game of which the generation has an index. Raises RedisError."""
    return {name async for name in models.named(f"{keys.base}:offsets:")}


async def _lists(models: Models, keys: Keys) -> set[str]:
    """What is no model of one game: lists, standings, ratings."""
    names = {name async for name in models.named(f"{keys.base}:")}
    kinds = (*_GAME_KINDS, *_POOL_KINDS)
    return {name for name in names if name.split(":")[0] not in kinds and name not in _OWN_KINDS}


async def _read_lists(redis: Redis, keys: Keys, names: Sequence[str]) -> tuple[bytes, list[Any]]:
    async with redis.pipeline(transaction=True) as at_once:
        at_once.get(keys.position)
        for name in names:
            key = f"{keys.base}:{name}"
            at_once.hgetall(key) if name.split(":")[0] in _HASHES else at_once.zrange(key, 0, -1, withscores=True)
        position, *values = await at_once.execute()
    return position or b"", values


async def _stopped(redis: Redis, keys: Keys) -> set[str]:
    return {str(records.raw(name), "utf-8") for name in await redis.hkeys(keys.stopped)}
