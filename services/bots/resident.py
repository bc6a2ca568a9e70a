"""A bot of the hall: plays every game in which it has a seat, like any third party's client would."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from guildhall.telemetry import logs

FIRST_PAUSE = 0.5
LAST_PAUSE = 30.0

_log = logs.get("bots")


async def reside(
    subject: str,
    seated: Callable[[], AsyncGenerator[Sequence[str], None]],
    unfinished: Callable[[], Awaitable[Sequence[str]]],
    play: Callable[[str], Awaitable[None]],
) -> None:
    """Play without end; whatever fails is tried again.

    `seated()` tells the ids of the games in which matchmaking has seated the subject, now and whenever they change.
    `unfinished()` gives those of all its unfinished games: matchmaking may have forgotten some, since its pool was put
    back (decision 35). `play(game_id)` plays one until it is over.
    """
    playing: dict[str, asyncio.Task[None]] = {}
    pause = FIRST_PAUSE

    def begin(game_ids: Sequence[str]) -> None:
        for game_id in game_ids:
            if game_id not in playing:
                playing[game_id] = asyncio.create_task(_play_on(subject, game_id, play))

    try:
        while True:
            try:
                async with aclosing(seated()) as states:
                    known: set[str] | None = None
                    async for game_ids in states:
                        begin(game_ids)
                        if known is None or known - set(game_ids):
                            others = await unfinished()
                            for game_id in set(playing).difference(game_ids, others):
                                playing.pop(game_id).cancel()
                            begin(others)
                        known = set(game_ids)
                        pause = FIRST_PAUSE
            except Exception as error:
                _log.warning("a bot hears of no games now", bot=subject, why=logs.said(error))
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
            _log.warning("a bot's game failed; it goes on", bot=subject, game_id=game_id, why=logs.said(error))
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(2 * pause, LAST_PAUSE)
