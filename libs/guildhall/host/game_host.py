"""A game's host: the partitions that this instance holds, and its history. Finds games, and lets nobody see one who may
not.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from guildhall.host import packs
from guildhall.host.failures import not_found
from guildhall.host.history import History
from guildhall.host.holdings import Claimed, Holdings
from guildhall.host.hosted_game import HostedGame
from guildhall.host.owners import Owners
from guildhall.host.partition import Partition, Upkeep
from guildhall.kernel.game import Game
from guildhall.kernel.rules import Rules
from guildhall.log import topics
from guildhall.log.port import Claim, Log, partition_of
from guildhall.log.recovery import Store, open_store
from guildhall.rpc.identity import Caller
from guildhall.shared import shared
from guildhall.telemetry import metrics


@dataclass(frozen=True, slots=True)
class Visible:
    """A game that the caller may see: from its seat, or as a spectator (None)."""

    hosted: HostedGame
    partition: Partition
    seat: int | None


class GameHost:
    """All games of one rules set that this instance is to serve, on this log."""

    def __init__(
        self,
        rules: Rules,
        log: Log,
        me: Claim,
        owners: Owners,
        upkeep: Upkeep,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_change` is called whenever `ready` may have changed."""
        self.rules = rules
        self._log = log
        self._me = me
        self._upkeep = upkeep
        self._history: History | None = None
        self._store: Store | None = None
        self.holdings: Holdings[Partition] = Holdings(
            rules.game, me, owners, self._fold, lambda partition: len(partition.hosted), on_change, self._load_packs
        )
        """What this instance is to own of the game, and what it owns."""
        self._loading: asyncio.Task[None] | None = None
        self._loading_now = asyncio.Lock()

    @property
    def history(self) -> History:
        """Earlier versions, after `open`."""
        assert self._history is not None
        return self._history

    @property
    def store(self) -> Store:
        """The game's topics, after `open`."""
        assert self._store is not None
        return self._store

    @property
    def name(self) -> str:
        """As in the topics' names."""
        return self.rules.game

    @property
    def partitions(self) -> list[Partition]:
        """The partitions that are folded here, by number: those that this instance serves, or stands by for."""
        return self.holdings.partitions

    # --- start and end

    async def open(self) -> None:
        """Open the game's topics. Raises `LogUnavailable`, `LogUnreadable`."""
        self._store = await open_store(self._log, self.rules.game)
        self._packs = await self._log.compacted(topics.PACKS, 1)
        self._history = History(self.rules, self._store.events)
        name = self.rules.game
        metrics.begin_owner(name)
        metrics.GAMES.labels(name).set_function(lambda: sum(len(p.hosted) for p in self.partitions))
        metrics.QUARANTINED.labels(name).set_function(
            lambda: sum(1 for p in self.partitions for h in p.hosted.values() if h.quarantined)
        )

    async def _fold(self, number: int, claimed: Claimed) -> Partition:
        partition = Partition(self.rules, self.store, number, self._me, self.history, self._upkeep, claimed)
        await partition.fold()
        return partition

    async def _load_packs(self) -> None:
        """Another instance may have brought a newer pack, and made games with it, up to a claim of this one's. Whoever
        asks while a look is under way shares the next. Raises LogError, BadPack.
        """
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load_next())
        await shared(self._loading)

    async def _load_next(self) -> None:
        async with self._loading_now:
            self._loading = None
            await packs.load(self._packs, [self.rules])

    # --- games

    def partition(self, game_id: str) -> Partition:
        """The partition that a game belongs to. Raises Elsewhere where another instance serves it."""
        return self.holdings.partition(partition_of(game_id, self.store.events.partitions))

    async def visible(self, game_id: str, caller: Caller) -> Visible:
        """The game, if the caller may see it: as whoever holds a seat with the scope `play`, or as a spectator with
        the scope `spectate` where the game allows it.

        Raises Failure GAME_NOT_FOUND (also for a stranger), MISSING_SCOPE, GAME_QUARANTINED; Elsewhere.
        """
        partition = self.partition(game_id)
        hosted = await partition.find(game_id)
        if hosted is None or hosted.quarantined or hosted.game is None:
            # Another owner may have made the game, or mended it.
            await partition.confirm()
            hosted = await partition.find(game_id)
            if hosted is None:
                raise not_found()
            if hosted.game is None:
                hosted.check()
                raise not_found()
        game = hosted.game
        assert game is not None
        seat = game.seat_of(caller.subject)
        if seat is not None:
            caller.require("play")
        elif not game.created.spectators or "spectate" not in caller.scopes:
            await partition.confirm()
            raise not_found()
        hosted.check()
        return Visible(hosted, partition, seat)


def acknowledged(hosted: HostedGame, game: Game | None) -> Game:
    """A game that was read. Raises Failure GAME_QUARANTINED, GAME_NOT_FOUND."""
    hosted.check()
    if game is None:
        raise not_found()
    return game
