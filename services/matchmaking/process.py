"""Matchmaking as a process of the hall houses it (`host.hall.Housed`)."""

from collections.abc import Callable, Sequence

from redis.asyncio import Redis

from guildhall.host.hall import Foundation
from guildhall.rpc.pages import hall_key
from services.matchmaking.creating import Creator
from services.matchmaking.hall_token import HallToken
from services.matchmaking.house import HouseRules
from services.matchmaking.operated import OperatedPools
from services.matchmaking.pool_host import PoolHost
from services.matchmaking.results import Results
from services.matchmaking.service import MATCHMAKING_SERVICE, MatchmakingService


class Matchmaking:
    """The pools of these games, and everything that serves them."""

    def __init__(
        self, games: Sequence[HouseRules], foundation: Foundation, open_redis: Callable[[], Redis] | None = None
    ) -> None:
        """`open_redis` connects to the read models; without it ratings cannot be read here."""
        self._creator = Creator(foundation.owners, HallToken(foundation.key))
        results = Results(foundation.log)
        self.host = PoolHost(
            games,
            foundation.log,
            foundation.me,
            foundation.owners,
            [self._creator.attend, results.attend],
            foundation.on_change,
        )
        self.service = MATCHMAKING_SERVICE
        self.servicer = MatchmakingService(self.host, hall_key(foundation.key), open_redis)
        self.holdings = self.host.holdings
        self.pools = OperatedPools(self.host)

    @property
    def partitions(self) -> int:
        """Of its topics, after `open`."""
        return self.host.partitions

    async def open(self) -> None:
        """Open its topics. Raises `LogError`."""
        await self.host.open()
        self.pools.measure()

    def close(self) -> None:
        """Take no more requests, and end the open streams."""
        self.servicer.close()

    async def stop(self) -> None:
        """End the connections to the rules services and to Redis."""
        await self._creator.close()
        await self.servicer.stop()
