"""What is let go of games that are over: everything that is only needed to play on or to look at them.

Summary, result, standings and the index of the records stay. Whoever looks at such a game has it folded from the log
(`services.views.from_log`). So what Redis holds grows by some kilobytes with a finished game, not by some hundred.
"""

import time
from typing import TYPE_CHECKING, Any

from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes, Outcome
from guildhall.readmodel.records import Progress
from guildhall.telemetry import logs

if TYPE_CHECKING:
    from services.projection.partition import PartitionProjection

KEEP_SECONDS = 7 * 86_400.0
"""A game is let go when it has been over, and nobody has asked Redis for its state, for so long."""
_AT_ONCE = 100

_log = logs.get("projection")


async def let_go(projection: "PartitionProjection", keep_seconds: float) -> bool | None:
    """Let some games go that may. Whether there may be more; None if the models were moved by somebody else meanwhile.

    Raises RedisError.
    """
    keys, redis = projection.keys, projection.models.redis
    until = int((time.time() - keep_seconds) * 1000)
    names: list[str] = []
    begin = 0
    while len(names) < _AT_ONCE:
        found: list[Any] = await redis.zrangebyscore(keys.kept, "-inf", until, start=begin, num=_AT_ONCE)
        begin += len(found)
        some = [str(records.raw(name), "utf-8") for name in found]
        async with redis.pipeline(transaction=False) as at_once:
            for name in some:
                at_once.object("IDLETIME", keys.state(name))
                at_once.hexists(keys.stopped, name)
            answers: list[Any] = await at_once.execute(raise_on_error=False)
        # A server that counts uses (LFU) does not tell: then the time since the end has to do.
        names += [
            name
            for name, idle, stopped in zip(some, answers[::2], answers[1::2], strict=True)
            if not (isinstance(idle, int) and idle < keep_seconds) and stopped == 0
        ]
        if len(found) < _AT_ONCE:
            break
    if not names:
        return False
    changes = Changes(keys)
    for name in names:
        changes.remove(keys.state(name), keys.feed(name), keys.states(name))
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
