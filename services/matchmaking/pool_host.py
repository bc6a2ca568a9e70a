"""Matchmaking's host: the pools of all games, by partition, as this instance is to serve them."""

from collections.abc import Callable, Sequence
from functools import partial

from guildhall.host.holdings import Claimed, Holdings
from guildhall.host.owners import Owners
from guildhall.log.port import Claim, Log, partition_of
from guildhall.log.recovery import Store, open_store
from guildhall.log.topics import MATCHMAKING
from guildhall.rpc.errors import Failure
from guildhall.telemetry import metrics
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.house import HouseRules
from services.matchmaking.pool_partition import Attend, PoolPartition


class PoolHost:
    """Finds pools; those of one partition are served together, by one instance at a time."""

    def __init__(
        self,
        games: Sequence[HouseRules],
        log: Log,
        me: Claim,
        owners: Owners,
        attend: Sequence[Attend],
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.games = {house.rules.game: house for house in games}
        self._log = log
        self._me = me
        self._attend = attend
        self._store: Store | None = None
        self._partition_of: dict[str, int] = {}
        self.holdings: Holdings[PoolPartition] = Holdings(
            MATCHMAKING, me, owners, self._fold, lambda partition: len(partition.pools), on_change
        )
        """What this instance is to own of matchmaking, and what it owns."""

    @property
    def partitions(self) -> int:
        """How many there are, after `open`."""
        return self.store.events.partitions

    @property
    def store(self) -> Store:
        """Matchmaking's topics, after `open`."""
        assert self._store is not None
        return self._store

    async def open(self) -> None:
        """Open the topics. Raises `LogUnavailable`, `LogUnreadable`."""
        self._store = await open_store(self._log, MATCHMAKING)
        self._partition_of = {game: partition_of(game, self.partitions) for game in self.games}
        metrics.begin_owner(MATCHMAKING)
        metrics.begin_models(MATCHMAKING)  # ratings are read here
        for game in self.games:
            metrics.WAITING_TICKETS.labels(game).set_function(partial(self._count, game, "tickets"))
            metrics.UNMADE_SECONDS.labels(game).set_function(partial(self._unmade_seconds, game))
            metrics.UNSTORED_ENTRIES.labels(game).set_function(partial(self._unstored, game))

    def _count(self, game: str, what: str) -> int:
        pool = self._served(game)
        return 0 if pool is None else pool.count(what)

    def _unmade_seconds(self, game: str) -> float:
        pool = self._served(game)
        return 0.0 if pool is None else pool.unmade_seconds()

    def _unstored(self, game: str) -> int:
        pool = self._served(game)
        return 0 if pool is None else pool.seq - pool.kept_seq

    def _served(self, game: str) -> HostedPool | None:
        """The game's pool, if it is served here."""
        for partition in self.holdings.partitions:
            if partition.serving and game in partition.pools:
                return partition.pools[game]
        return None

    def check(self, game: str) -> None:
        """Raises Failure INVALID_GAME."""
        if game not in self.games:
            raise Failure("INVALID_GAME", "This hall has no such game.", field="game")

    def pool(self, game: str) -> HostedPool:
        """The game's pool. Raises Failure INVALID_GAME, and Elsewhere where another instance serves it."""
        self.check(game)
        return self.holdings.partition(self._partition_of[game]).pools[game]

    async def _fold(self, number: int, claimed: Claimed) -> PoolPartition:
        houses = [house for game, house in self.games.items() if self._partition_of[game] == number]
        partition = PoolPartition(houses, self.store, number, self._me, claimed, self._attend)
        await partition.fold()
        return partition
