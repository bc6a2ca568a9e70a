"""The read API over the read models: ViewService of each game, and what spans games."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from redis.asyncio import Redis

from guildhall.host import packs
from guildhall.host.messages import Messages
from guildhall.kernel.rules import Rules
from guildhall.log import topics
from guildhall.log.port import EventsTopic, Log
from guildhall.log.recovery import open_store
from guildhall.rpc.server import Gate, Server
from guildhall.telemetry import metrics
from services.views.games_service import GAMES_SERVICE, GamesService
from services.views.live_games import CUT_OFF_SECONDS, LiveGames
from services.views.news import News
from services.views.reads import RedisReadSide
from services.views.view_service import ViewService
from services.views.watch import WatchLimits


@dataclass(frozen=True)
class GameViews:
    """One game's side of it."""

    rules: Rules
    messages: Messages
    topic: EventsTopic
    news: News
    live: LiveGames
    reads: RedisReadSide


class Closing(Protocol):
    """A servicer that is told when its process ends."""

    def close(self) -> None:
        """Take no more requests, and end the open streams."""
        ...


class Views:
    """Reads of all these games: `open`, `add_services`, `start`; `close` and `stop` at the end."""

    def __init__(self, games: Sequence[Rules], redis: Redis, watching: WatchLimits | None = None) -> None:
        self.redis = redis
        self.games: dict[str, GameViews] = {}
        self.services: list[Closing] = []
        self.watching = watching or WatchLimits()
        self._rules = games

    async def open(self, log: Log) -> None:
        """Take up the log. Raises `LogError`, BadPack."""
        stored = await log.compacted(topics.PACKS, 1)
        await packs.load(stored, self._rules)
        for rules in self._rules:
            topic = (await open_store(log, rules.game)).events
            metrics.begin_models(rules.game)
            messages = Messages(rules)
            news = News(rules.game, topic.partitions, self.redis)

            async def load_packs(rules: Rules = rules) -> None:
                await packs.load(stored, [rules])

            live = LiveGames(messages, news, topic, load_packs)
            reads = RedisReadSide(rules, topic, news, live)
            self.games[rules.game] = GameViews(rules, messages, topic, news, live, reads)

    async def start(self) -> None:
        """Follow the news. Raises RedisError, OSError; it may be tried again."""
        try:
            for game in self.games.values():
                await game.news.start()
        except BaseException:
            # Those that have begun would go on, and begin once more.
            for game in self.games.values():
                await game.news.close()
            raise
        for game in self.games.values():
            game.live.start()

    @property
    def cut_off(self) -> bool:
        """Whether there have been no news of some game for so long that nothing of it is shown any more."""
        return any(game.news.silent_seconds >= CUT_OFF_SECONDS for game in self.games.values())

    def close(self) -> None:
        """Take no more requests, and end the open streams."""
        for service in self.services:
            service.close()

    async def stop(self) -> None:
        """Follow nothing any more."""
        for game in self.games.values():
            await game.live.close()
            await game.news.close()


def add_services(views: Views, server: Server, gate: Gate, page_key: bytes) -> list[str]:
    """Add everything to a server that has not started; the full names of the services. After `open`.

    `page_key` seals the page tokens of lists over games; all processes of a hall have the same.
    """
    # They share the connections to Redis.
    gate = replace(gate, calls_bounded=True)
    names = []
    for game in views.games.values():
        service = ViewService(game.reads, game.messages, views.watching)
        server.add(game.messages.view_service, service, gate)
        views.services.append(service)
        names.append(game.messages.view_service.full_name)
    games = GamesService(views.games, page_key)
    server.add(GAMES_SERVICE, games, gate)
    views.services.append(games)
    names.append(GAMES_SERVICE.full_name)
    return names
