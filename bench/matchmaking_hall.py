"""A hall with pools and no games, for `bench.matchmaking_service`: `python -m bench.matchmaking_hall DATA POOL…` prints
its port.

Where a rules service would make a game and play it, the game is over as soon as all have confirmed: the measure is of
matchmaking alone.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from guildhall.host.hall import Foundation, Hall, HallConfig
from guildhall.host.process import run_process
from guildhall.kernel.v1.structs import EndReason
from guildhall.rpc.pages import hall_key
from guildhall.telemetry import logs
from services.matchmaking.commands import Result, TakeResults
from services.matchmaking.creating import tell
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.house import HouseRules
from services.matchmaking.operated import OperatedPools
from services.matchmaking.pool_host import PoolHost
from services.matchmaking.service import MATCHMAKING_SERVICE, MatchmakingService
from services.trickerion.rules import RULES

POOLS = tuple(f"pool_{number}" for number in range(5))


async def over_at_once(hosted: HostedPool) -> None:
    """Every game that is agreed on is made, and aborted."""
    number = 0
    while True:
        news = hosted.news
        results, begin = await hosted.at_rest(partial(_ended, hosted))
        if results:
            number += 1
            await tell(hosted, f"over {number}", TakeResults(0, begin, begin + 1, 0, results))
        await news.wait()


def _ended(hosted: HostedPool) -> tuple[tuple[Result, ...], int]:
    """The results of every game that is agreed on, and how far results are read."""
    pool = hosted.pool
    results = tuple(Result(game_id, EndReason.ABORTED, (), pool.at_ms) for game_id in pool.starting)
    return results, pool.positions.get(0, (0, 0))[0]


class Pools:
    """Pools of one game's rules, under several names."""

    def __init__(self, names: Sequence[str], foundation: Foundation) -> None:
        houses = [HouseRules(replace(RULES, game=name), writes_per_second=2e3, write_burst=4e3) for name in names]
        self.host = PoolHost(
            houses, foundation.log, foundation.me, foundation.owners, [over_at_once], foundation.on_change
        )
        self.service = MATCHMAKING_SERVICE
        self.servicer = MatchmakingService(self.host, hall_key(foundation.key))
        self.holdings = self.host.holdings
        self.pools = OperatedPools(self.host)

    @property
    def partitions(self) -> int:
        return self.host.partitions

    async def open(self) -> None:
        await self.host.open()

    def close(self) -> None:
        self.servicer.close()

    async def stop(self) -> None:
        """Nothing else."""


def started(hall: Hall) -> None:
    print(hall.port, flush=True)


if __name__ == "__main__":
    logs.configure("console")
    config = HallConfig(data=Path(sys.argv[1]), games=[], port=0, housed=partial(Pools, sys.argv[2:]))
    run_process(Hall(config), started)
