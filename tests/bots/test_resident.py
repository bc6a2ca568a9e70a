"""Which games a bot plays, by what matchmaking and the list of its games tell."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from services.bots import resident
from services.bots.resident import reside

Told = Sequence[str] | None
"""None: whoever is asked does not answer."""


class Bot:
    """It plays until it is told otherwise."""

    def __init__(self) -> None:
        self.states: asyncio.Queue[Sequence[str]] = asyncio.Queue()
        self.listed: Told = []
        self.lists = 0
        self.playing: list[str] = []
        self.begun: list[str] = []
        self.task = asyncio.create_task(reside("bot", self._seated, self._unfinished, self._play))

    async def _seated(self) -> AsyncGenerator[Sequence[str], None]:
        while True:
            yield await self.states.get()

    async def _unfinished(self) -> Sequence[str]:
        self.lists += 1
        if self.listed is None:
            raise ConnectionError("no read models")
        return self.listed

    async def _play(self, game_id: str) -> None:
        self.playing.append(game_id)
        self.begun.append(game_id)
        try:
            await asyncio.Event().wait()
        finally:
            self.playing.remove(game_id)

    async def hears(self, state: Sequence[str], listed: Told) -> list[str]:
        """What it plays when matchmaking tells this state, and its games are listed so."""
        self.listed = listed
        self.states.put_nowait(state)
        for _ in range(20):
            await asyncio.sleep(0)
        return sorted(self.playing)


async def ended(bot: Bot) -> None:
    bot.task.cancel()
    await asyncio.gather(bot.task, return_exceptions=True)
    assert bot.playing == []


async def test_games_that_matchmaking_has_forgotten_are_played_on() -> None:
    """Its pool was put back to before they were made."""
    bot = Bot()
    assert await bot.hears(["a", "b"], ["a", "b"]) == ["a", "b"]
    assert await bot.hears(["b"], ["a", "b"]) == ["a", "b"]
    assert await bot.hears(["b", "c"], ["a", "b"]) == ["a", "b", "c"]
    assert await bot.hears(["c"], ["a", "c"]) == ["a", "c"]
    assert await bot.hears([], []) == []
    assert bot.begun == ["a", "b", "c"]
    await ended(bot)


async def test_a_bot_that_begins_finds_them_in_the_list() -> None:
    bot = Bot()
    assert await bot.hears(["b"], ["a"]) == ["a", "b"]
    assert await bot.hears(["b", "c"], ["a"]) == ["a", "b", "c"]
    assert bot.lists == 1, "asked for only where something may be missing"
    await ended(bot)


async def test_no_game_ends_because_the_list_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident, "FIRST_PAUSE", 0.0)
    bot = Bot()
    await bot.hears(["a"], [])
    assert await bot.hears(["b"], None) == ["a", "b"]
    assert await bot.hears(["b"], ["b"]) == ["b"]
    await ended(bot)
