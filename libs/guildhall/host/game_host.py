"""A game's host: its partitions and its history. Finds games, and lets nobody see one who may not."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from guildhall.host.failures import log_failed, not_found
from guildhall.host.history import History
from guildhall.host.hosted_game import HostedGame
from guildhall.host.partition import Partition, Upkeep
from guildhall.kernel.game import Game
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogError
from guildhall.log.port import Claim, Log, partition_of
from guildhall.log.recovery import open_store
from guildhall.rpc.identity import Caller
from guildhall.telemetry import logs, metrics

_log = logs.get("host")


@dataclass(frozen=True, slots=True)
class Visible:
    """A game that the caller may see: from its seat, or as a spectator (None)."""

    hosted: HostedGame
    partition: Partition
    seat: int | None


class GameHost:
    """All games of one rules set, on this log."""

    def __init__(
        self, rules: Rules, log: Log, me: Claim, upkeep: Upkeep, on_stand_down: Callable[[], None] = lambda: None
    ) -> None:
        """`on_stand_down` is called whenever this instance no longer serves one of the game's partitions."""
        self._on_stand_down = on_stand_down
        self.rules = rules
        self.partitions: list[Partition] = []
        self._log = log
        self._me = me
        self._upkeep = upkeep
        self._history: History | None = None

    @property
    def history(self) -> History:
        """Earlier versions, after `start`."""
        assert self._history is not None
        return self._history

    async def start(self) -> None:
        """Fold, claim and serve every partition. Raises `LogUnavailable`, `LogUnreadable`."""
        began = time.monotonic()
        store = await open_store(self._log, self.rules.game)
        self._history = History(self.rules, store.events)
        self.partitions = [
            Partition(self.rules, store, number, self._me, self._history, self._upkeep, self._on_stand_down)
            for number in range(store.events.partitions)
        ]
        # All of them, also when one fails: none may go on in the background after that.
        for outcome in await asyncio.gather(*(p.start() for p in self.partitions), return_exceptions=True):
            if outcome is not None:
                raise outcome
        seconds = time.monotonic() - began
        metrics.READY_SECONDS.labels(self.rules.game).set(seconds)
        metrics.GAMES.labels(self.rules.game).set_function(lambda: sum(len(p.hosted) for p in self.partitions))
        metrics.QUARANTINED.labels(self.rules.game).set_function(
            lambda: sum(1 for p in self.partitions for h in p.hosted.values() if h.broken or h.damaged)
        )
        games = sum(len(p.hosted) for p in self.partitions)
        _log.info("ready", game=self.rules.game, games=games, seconds=round(seconds, 3))

    async def stop(self, seconds: float) -> None:
        """Drain every partition."""
        await asyncio.gather(*(partition.stop(seconds) for partition in self.partitions))

    def partition(self, game_id: str) -> Partition:
        """The partition that a game belongs to."""
        return self.partitions[partition_of(game_id, len(self.partitions))]

    async def visible(self, game_id: str, caller: Caller) -> Visible:
        """The game, if the caller may see it: as whoever holds a seat with the scope `play`, or as a spectator with
        the scope `spectate` where the game allows it.

        Raises Failure GAME_NOT_FOUND (also for a stranger), MISSING_SCOPE, GAME_QUARANTINED.
        """
        partition = self.partition(game_id)
        hosted = await partition.find(game_id)
        if hosted is None or hosted.game is None:
            await self._confirm(partition)
            hosted = partition.hosted.get(game_id)
            if hosted is not None:
                hosted.check()
            if hosted is None or hosted.game is None:
                raise not_found()
        game = hosted.game
        assert game is not None
        seat = game.seat_of(caller.subject)
        if seat is not None:
            caller.require("play")
        elif not game.created.spectators or "spectate" not in caller.scopes:
            await self._confirm(partition)
            raise not_found()
        hosted.check()
        return Visible(hosted, partition, seat)

    async def _confirm(self, partition: Partition) -> None:
        try:
            await partition.writer.confirm()
        except LogError as error:
            raise log_failed(error) from error


def acknowledged(hosted: HostedGame, game: Game | None) -> Game:
    """A game that was read. Raises Failure GAME_QUARANTINED, GAME_NOT_FOUND."""
    hosted.check()
    if game is None:
        raise not_found()
    return game
