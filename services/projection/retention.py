"""What is let go of games that are over: everything that is only needed to play on or to look at them.

Summary, result, standings and the index of the records stay. Whoever looks at such a game has it folded from the log
(`services.views.from_log`). So what Redis holds grows by some kilobytes with a finished game, not by some hundred.

The time since a game's end is that of its records. So it goes on over a restart of Redis, and a rebuild writes no game
whole that ended before (`games.write`).
"""

import time
from typing import TYPE_CHECKING, Any

from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes, Outcome
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.records import Progress
from guildhall.telemetry import logs

if TYPE_CHECKING:
    from services.projection.partition import PartitionProjection

KEEP_SECONDS = 7 * 86_400.0
"""A game is let go when it has been over for so long."""
_AT_ONCE = 100

_log = logs.get("projection")


def ended_until(keep_seconds: float) -> int:
    """The time in ms up to which games ended that are not kept any more."""
    return int((time.time() - keep_seconds) * 1000)


def remove(changes: Changes, keys: Keys, game_id: str) -> None:
    """Add that the game is let go, but for where it stands in `kept`."""
    changes.remove(keys.state(game_id), keys.feed(game_id), keys.states(game_id))


async def let_go(projection: "PartitionProjection", keep_seconds: float) -> bool | None:
    """Let some games go that may. Whether there may be more; None if the models were moved by somebody else meanwhile.

    Raises RedisError.
    """
    keys, redis = projection.keys, projection.models.redis
    until = ended_until(keep_seconds)
    names: list[str] = []
    begin = 0
    while len(names) < _AT_ONCE:
        found: list[Any] = await redis.zrangebyscore(keys.kept, "-inf", until, start=begin, num=_AT_ONCE)
        begin += len(found)
        some = [str(records.raw(name), "utf-8") for name in found]
        stopped = await redis.hmget(keys.stopped, some) if some else []
        names += [name for name, stop in zip(some, stopped, strict=True) if stop is None]
        if len(found) < _AT_ONCE:
            break
    if not names:
        return False
    changes = Changes(keys)
    for name in names:
        remove(changes, keys, name)
        changes.add("ZREM", keys.kept, name)
    # Another projection that has one of them in memory reads it again.
    moved = records.moved(records.decode(projection.position, Progress))
    outcome = await projection.models.apply(changes, projection.position, records.encode(moved))
    if outcome is not Outcome.APPLIED:
        return None
    projection.position, projection.mended = records.encode(moved), moved.mended
    for name in names:
        projection.games.pop(name, None)
        projection.fold.seqs.pop(name, None)
    _log.info("finished games let go", game=keys.game, partition=keys.partition, games=len(names))
    return True
