"""Games whose models stand still are folded again when a projection starts: after an upgrade they may go on."""

import struct
from typing import TYPE_CHECKING

from guildhall.log.port import Entry
from guildhall.log.values import decode
from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes
from guildhall.readmodel.records import STATE_EVERY
from guildhall.telemetry import logs
from services.projection.games import FoldedGame, load, write

if TYPE_CHECKING:
    from services.projection.partition import PartitionProjection

_CHUNK = STATE_EVERY

_log = logs.get("projection")


async def refold_stopped(projection: "PartitionProjection") -> None:
    """Fold every stopped game on, as far as that goes now. Raises RedisError, `LogError`."""
    keys = projection.keys
    names = sorted(str(records.raw(name), "utf-8") for name in await projection.models.redis.hkeys(keys.stopped))
    for folded in await load(projection.models.redis, keys, projection.messages, names):
        if folded.stopped is not None and folded.stopped.seq:
            await refold(projection, folded)


async def refold(projection: "PartitionProjection", folded: FoldedGame) -> None:
    """Fold one stopped game on, from the record at which it stopped."""
    stopped, folded.unreadable = folded.stopped, False
    assert stopped is not None
    keys = projection.keys
    index = await projection.models.redis.getrange(keys.offsets(folded.game_id), 8 * (stopped.seq - 1), -1)
    offsets = struct.unpack(f">{len(index) // 8}q", records.raw(index))
    folded.stopped = None
    for begin in range(0, len(offsets), _CHUNK):
        changes = Changes(keys)
        for offset in offsets[begin : begin + _CHUNK]:
            [record] = await projection.topic.read(projection.partition, offset, 1)
            entry = decode(record.value)
            assert isinstance(entry, Entry)
            folded.take(changes, offset, entry)
        await write(projection.models.redis, changes, [folded])
        # Its news are old news for the partition: who watches the game reads on from its feed.
        changes.commands = [command for command in changes.commands if command[0] != b"XADD"]
        await projection.models.apply(changes, projection.position, projection.position, building=projection.building)
        if folded.seq > folded.version:
            return
    _log.info("game goes on", game_id=folded.game_id, version=folded.version)
