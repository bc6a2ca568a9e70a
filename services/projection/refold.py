"""Games whose models stand still, folded again from their first record: an upgrade or an operator may have put them
right.
"""

import struct
from dataclasses import replace as replace_models
from typing import TYPE_CHECKING

from msgspec.structs import replace

from guildhall.host.history import CHUNK, History
from guildhall.log.errors import BadValue, LogUnreadable
from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes, Outcome
from guildhall.readmodel.records import DAMAGED, Progress
from guildhall.telemetry import logs
from services.projection.games import OFFSET_BYTES, count_results, load
from services.projection.whole_game import WholeGame, differences, read, write

if TYPE_CHECKING:
    from services.projection.partition import PartitionProjection

_log = logs.get("projection")


async def refold_stopped(projection: "PartitionProjection", tried: dict[str, int]) -> bool:
    """Fold every stopped game again, as far as that goes now; those that stopped again at the same version are left.

    False if the models were moved by somebody else meanwhile. Raises RedisError, `LogUnavailable`.
    """
    keys = projection.keys
    names = sorted(str(records.raw(name), "utf-8") for name in await projection.models.redis.hkeys(keys.stopped))
    for folded in await load(projection.models.redis, keys, projection.messages, names):
        stopped = folded.stopped
        if stopped is not None and stopped.seq != DAMAGED and tried.get(folded.game_id) != stopped.last_seq:
            if not await refold(projection, folded.game_id):
                return False
            if await projection.models.redis.hexists(keys.stopped, folded.game_id):
                tried[folded.game_id] = stopped.last_seq
            else:
                tried.pop(folded.game_id, None)
    return True


async def refold(projection: "PartitionProjection", game_id: str) -> bool:
    """Make the models of one game whole from its records; False if the models were moved by somebody else meanwhile.

    It moves the position, as whoever sets models right: another projection that has the game in memory reads it again.
    Raises RedisError, `LogUnavailable`.
    """
    keys, redis = projection.keys, projection.models.redis
    position, [stored] = await read(redis, keys, [game_id])
    if position != projection.position:
        return False
    index = records.raw(await redis.get(keys.offsets(game_id)) or b"")
    placed = struct.unpack(f">{len(index) // OFFSET_BYTES}q", index)
    offsets = [max(offset, ~offset) for offset in placed]
    whole = WholeGame(projection.messages, game_id)
    history = History(projection.rules, projection.topic)
    try:
        for begin in range(0, len(offsets), CHUNK):
            some = offsets[begin : begin + CHUNK]
            pairs = await history.records(projection.partition, game_id, some)
            for seq, (offset, (body, digest)) in enumerate(zip(some, pairs, strict=True), begin + 1):
                whole.take(offset, seq, body, digest)
    except (LogUnreadable, BadValue) as error:
        _log.error("game cannot be folded again", game_id=game_id, error=logs.said(error))
        if stored.stopped is None or not stored.stopped.refolds:
            return True
        right = replace_models(stored, stopped=replace(stored.stopped, refolds=False))
    else:
        right = whole.models(keys)
    if not differences(stored, right):
        return True
    changes = Changes(keys)
    write(changes, game_id, right, stored.summary.subjects if stored.summary is not None else ())
    if right.summary is not None and whole.end_is_new(index):
        await count_results(redis, changes, [right.summary])
    if right.stopped is None:
        changes.tell_anew(projection.fold.next_offset, game_id)
    moved = records.moved(records.decode(position, Progress))
    outcome = await projection.models.apply(changes, position, records.encode(moved), building=projection.building)
    if outcome is not Outcome.APPLIED:
        return False
    projection.position, projection.mended = records.encode(moved), moved.mended
    if right.stopped is None:
        _log.info("game goes on", game_id=game_id, version=right.version)
    else:
        why = right.stopped.why
        _log.error("game cannot be folded; its models stand still", game_id=game_id, version=right.version, error=why)
    return True
