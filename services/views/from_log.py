"""A game whose newest state the models do not have, folded from its records in the log."""

import struct
from typing import Any

from guildhall.host.history import History
from guildhall.kernel.fold import Unfoldable
from guildhall.kernel.game import Game
from guildhall.log.errors import BadValue, LogUnreadable
from guildhall.readmodel import records
from guildhall.readmodel.keys import Keys
from guildhall.telemetry import logs

_VERSION = struct.Struct(">q")

_log = logs.get("views")


async def from_log(history: History, redis: Any, keys: Keys, game_id: str) -> Game | None:
    """The game at the newest version of its index; None where there is no whole index, or its records cannot be read.

    It takes as long as some hundred records take to be read and folded, in slices. Raises RedisError, `LogUnavailable`.
    """
    index = records.raw(await redis.get(keys.offsets(game_id)) or b"")
    offsets = [offset for (offset,) in _VERSION.iter_unpack(index[: len(index) // _VERSION.size * _VERSION.size])]
    # At 0 there is a claim: nothing was put there yet.
    if not all(offsets):
        return None
    game: Game | None = None
    try:
        async for state, _ in history.fold_on(keys.partition, game_id, offsets, None, 1, len(offsets)):
            game = state
    except (Unfoldable, LogUnreadable, BadValue) as error:
        _log.error("game cannot be folded", game_id=game_id, error=logs.said(error))
        return None
    return game if game is not None and game.version == len(offsets) and not game.lost else None
