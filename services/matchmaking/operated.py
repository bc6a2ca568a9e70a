"""Matchmaking's pools as an operator sees them (`host.operations.Pools`)."""

from collections.abc import Iterator
from functools import partial

from guildhall.host.operations import PoolOrder
from guildhall.log.port import NO_CLAIM
from guildhall.log.topics import MATCHMAKING
from guildhall.operations.v1 import structs as o
from guildhall.telemetry import metrics
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.pool_host import PoolHost
from services.matchmaking.pool_partition import PoolPartition


class OperatedPools:
    """The pools of one process."""

    def __init__(self, host: PoolHost) -> None:
        self._host = host

    def measure(self) -> None:
        """Let the metric of quarantined pools count those that are served here."""
        for game in self._host.games:
            metrics.QUARANTINED_POOLS.labels(game).set_function(partial(self._quarantined, game))

    def _quarantined(self, game: str) -> int:
        return sum(bool(hosted.damaged) for _, hosted in self._served() if hosted.game == game)

    def _served(self) -> Iterator[tuple[PoolPartition, HostedPool]]:
        for partition in self._host.holdings.partitions:
            if partition.serving:
                for hosted in partition.pools.values():
                    yield partition, hosted

    def owners(self) -> list[o.PartitionOwner]:
        """As `host.operations.Pools`."""
        known = {owner.partition for owner in self._host.holdings.owners()}
        folded = {partition.number: partition for partition in self._host.holdings.partitions}
        served = [_owner(partition) for partition in folded.values() if partition.serving]
        told = known | {owner.partition for owner in served}
        return served + [_unserved(n, folded.get(n)) for n in range(self._host.partitions) if n not in told]

    def statuses(self) -> list[o.PoolStatus]:
        """The pools that are served here, by game."""
        served = sorted(self._served(), key=lambda pair: pair[1].game)
        return [
            o.PoolStatus(
                game=hosted.game,
                partition=partition.number,
                version=hosted.whole,
                quarantined=hosted.damaged,
                offset=hosted.damaged_at if hosted.damaged else -1,
                passed_over=hosted.passed_over,
            )
            for partition, hosted in served
        ]

    async def repair(self, order: PoolOrder) -> tuple[int, int | None]:
        """As `host.operations.Pools`."""
        return await self._host.pool(order.game).repair(order)


def _owner(partition: PoolPartition) -> o.PartitionOwner:
    """Of one that is served here."""
    writer, pools = partition.writer, partition.pools.values()
    owner = writer.owner
    assert owner is not None, "whoever serves has claimed"
    return o.PartitionOwner(
        game=MATCHMAKING,
        partition=partition.number,
        claim=writer.position.newest_claim,
        instance=owner.instance,
        address=owner.address,
        here=True,
        next_offset=writer.position.next_offset,
        games=len(pools),
        quarantined=sum(bool(pool.damaged) for pool in pools),
    )


def _unserved(number: int, partition: PoolPartition | None) -> o.PartitionOwner:
    """Of one of which nobody has told who serves it; `partition`, if it is folded here."""
    owner = partition.writer.owner if partition is not None else None
    return o.PartitionOwner(
        game=MATCHMAKING,
        partition=number,
        claim=partition.writer.position.newest_claim if partition is not None else NO_CLAIM,
        instance=owner.instance if owner else "",
        address=owner.address if owner else "",
    )
