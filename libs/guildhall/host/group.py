"""A consumer group of Kafka says who of several processes is to own which partition of a game."""

from guildhall.host.membership import Host, Membership
from guildhall.log import topics
from guildhall.log.kafka import KafkaLog
from guildhall.log.kafka_group import KafkaGroup
from guildhall.log.port import Claim, Log


class Grouped:
    """`Membership` by the group `guildhall.<game>`."""

    def __init__(self, host: Host, log: KafkaLog, game: str, topic: str) -> None:
        self._group = KafkaGroup(log.connection, f"guildhall.{game}", topic, host.assign, host.revoke)

    async def join(self) -> None:
        self._group.join()

    def stood_down(self, number: int, by: Claim | None) -> None:
        """The group knows who is to own it; whoever is still assigned claims again after a back-off."""

    async def leave(self, seconds: float) -> None:
        await self._group.leave(seconds)


def group(host: Host, partitions: int, log: Log) -> Membership:
    """Joins the group of `host.name` on the cluster that the log is on."""
    assert isinstance(log, KafkaLog)
    return Grouped(host, log, host.name, topics.events(host.name))
