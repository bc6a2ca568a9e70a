"""A bot of the hall: plays every game in which matchmaking has seated it, like any third party's client would."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from guildhall.telemetry import logs

FIRST_PAUSE = 0.5
LAST_PAUSE = 30.0

_log = logs.get("bots")


async def reside(
    subject: str, games: Callable[[], AsyncIterator[Sequence[str]]], play: Callable[[str], Awaitable[None]]
) -> None:
    """Play without end: `games()` tells the ids of the subject's unfinished games, now and whenever they change;
    `play(game_id)` plays one until it is over. Whatever fails is tried again.
    """
    playing: dict[str, asyncio.Task[None]] = {}
    pause = FIRST_PAUSE
    try:
        while True:
            try:
                async for unfinished in games():
                    pause = FIRST_PAUSE
                    for game_id in set(playing) - set(unfinished):
                        playing.pop(game_id).cancel()
                    for game_id in unfinished:
                        if game_id not in playing:
                            playing[game_id] = asyncio.create_task(_play_on(subject, game_id, play))
            except Exception as error:
                _log.warning("a bot hears of no games now", bot=subject, why=str(error))
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, LAST_PAUSE)
    finally:
        for task in playing.values():
            task.cancel()
        await asyncio.gather(*playing.values(), return_exceptions=True)


async def _play_on(subject: str, game_id: str, play: Callable[[str], Awaitable[None]]) -> None:
    pause = FIRST_PAUSE
    while True:
        try:
            return await play(game_id)
        except Exception as error:
            _log.warning("a bot's game failed; it goes on", bot=subject, game_id=game_id, why=str(error))
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(2 * pause, LAST_PAUSE)
