"""The log on Kafka: durable as its topics are set to be (`guildhall.log.provision`), for several processes at once.

Appends are acknowledged by all in-sync replicas, and the broker's report gives the offset. No transactions, no consumer
group, no committed offsets: claims in the log decide who writes, and readers keep their own positions (design section
3).
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from guildhall.log import topics
from guildhall.log.errors import LogUnavailable
from guildhall.log.kafka_client import MAX_MESSAGE_BYTES, ClientSettings, Connection, kafka_error
from guildhall.log.kafka_home import CLUSTER_KEY, Home
from guildhall.log.kafka_producer import KafkaProducer
from guildhall.log.kafka_reader import KafkaReader, in_order, key_of, offset_of
from guildhall.log.kafka_tail import KafkaTail
from guildhall.log.port import (
    DEFAULT_PARTITIONS,
    MAX_RECORD_BYTES,
    Appended,
    AppendOutcome,
    ProducerRecord,
    Record,
    TooLarge,
    check_partition,
)
from guildhall.log.provision import Provisioning, compacted_topic, events_topic
from guildhall.telemetry import logs

_PAGE = 10_000
"""Records of a compacted topic that are read at once."""

_log = logs.get("log")

T = TypeVar("T")


class KafkaLog:
    """`Log` on a cluster; made by `open_kafka`."""

    def __init__(
        self,
        connection: Connection,
        single_broker_not_durable: bool,
        max_record_bytes: int,
        home: Home | None,
        make_topics: bool,
    ) -> None:
        try:
            admin = AdminClient(connection.admin())
        except KafkaException as error:
            raise ValueError(kafka_error(error).str()) from error
        self.connection = connection
        self._tails: list[KafkaTail] = []
        self.producer = KafkaProducer(connection)
        self.reader = KafkaReader(connection)
        # Apart, so that a long fold doesn't hold up the questions whose answers must be fresh.
        self.ends = KafkaReader(connection)
        self.max_record_bytes = max_record_bytes
        self._provisioning = Provisioning(
            admin, connection.bootstrap, single_broker_not_durable, connection.request_seconds, make_topics
        )
        self._home = home
        self._at_home = False
        self._checking_home = asyncio.Lock()
        if single_broker_not_durable:
            _log.warning("one broker, so the log is not durable: its disk is all there is", kafka=connection.bootstrap)

    async def events(self, topic: str, partitions: int = DEFAULT_PARTITIONS) -> "KafkaEvents":
        """As the port says. Raises `LogUnreadable`: `CanLoseEvents` for one that can lose events; `WrongCluster`."""
        await self.check_home()
        return KafkaEvents(self, topic, await self._provisioning.ensure(events_topic(topic, partitions)))

    async def compacted(self, topic: str, partitions: int = DEFAULT_PARTITIONS) -> "KafkaCompacted":
        """As the port says. Raises `LogUnreadable`: `CanLoseEvents` for one that can lose keys; `WrongCluster`."""
        await self.check_home()
        return KafkaCompacted(self, topic, await self._provisioning.ensure(compacted_topic(topic, partitions)))

    async def close(self) -> None:
        """Ends the connections. What isn't reported yet is in doubt."""
        tails = [tail.close() for tail in self._tails]
        await asyncio.gather(self.producer.close(), self.reader.close(), self.ends.close(), *tails)

    def tail(self, topic: "KafkaEvents") -> KafkaTail:
        """A tail of the topic; ended with the log at the latest."""
        tail = KafkaTail(self.connection, topic)
        self._tails.append(tail)
        return tail

    async def check_home(self) -> None:
        """Once, before any topic of the log is used: whether this is the cluster that it lies on.

        Raises `WrongCluster`, `CanLoseEvents`, `LogUnavailable`.
        """
        home, bootstrap = self._home, self.connection.bootstrap
        if home is None:
            return
        async with self._checking_home:
            if self._at_home:
                return
            found = await self._provisioning.cluster_id()
            home.check(bootstrap, found)
            topic = KafkaCompacted(
                self, topics.OPERATIONS, await self._provisioning.ensure(compacted_topic(topics.OPERATIONS, 1))
            )
            stored = await topic.get(0, CLUSTER_KEY)
            if stored is None:
                await topic.put(0, CLUSTER_KEY, found.encode())
            else:
                home.check_stored(bootstrap, found, stored.decode(errors="replace"))
            home.remember(found)
            self._at_home = True

    async def check_copy(self) -> None:
        """Whether the topics that are there are copies of another cluster's; nothing is written, and settings are not
        judged. Raises `WrongCluster`, `LogUnavailable`.
        """
        if self._home is None or not await self._provisioning.exists(compacted_topic(topics.OPERATIONS, 1)):
            return
        stored = await KafkaCompacted(self, topics.OPERATIONS, 1).get(0, CLUSTER_KEY)
        if stored is not None:
            found = await self._provisioning.cluster_id()
            self._home.check_stored(self.connection.bootstrap, found, stored.decode(errors="replace"))


class KafkaEvents:
    """`EventsTopic` on a cluster."""

    def __init__(self, log: KafkaLog, name: str, partitions: int) -> None:
        self._log = log
        self.name = name
        self.partitions = partitions

    async def append(self, partition: int, records: Sequence[ProducerRecord]) -> Sequence[AppendOutcome]:
        check_partition(self, partition)
        limit = self._log.max_record_bytes
        sent = [(record.key.encode(), record.value) for record in records]
        fits = [len(key) + len(value) <= limit for key, value in sent]
        fitting = [record for record, fit in zip(sent, fits, strict=True) if fit]
        outcomes = iter(await self._log.producer.append(self.name, partition, fitting, limit))
        return [next(outcomes) if fit else TooLarge(limit) for fit in fits]

    async def read(self, partition: int, offset: int, limit: int) -> Sequence[Record]:
        check_partition(self, partition)
        messages, _ = await self._log.reader.read(self.name, partition, offset, limit)
        return in_order(f"{self.name}/{partition}", offset, messages)

    async def end_offset(self, partition: int) -> int:
        check_partition(self, partition)
        return await self._log.ends.end_offset(self.name, partition)

    def tail(self) -> KafkaTail:
        return self._log.tail(self)


class KafkaCompacted:
    """`CompactedTopic` on a cluster. Of each partition that `get` was asked of, it keeps which key lies where."""

    def __init__(self, log: KafkaLog, name: str, partitions: int) -> None:
        self._log = log
        self.name = name
        self.partitions = partitions
        self._indexes = [_Index() for _ in range(partitions)]

    async def put(self, partition: int, key: str, value: bytes | None) -> int:
        check_partition(self, partition)
        record = key.encode(), value
        if len(record[0]) + len(value or b"") > MAX_MESSAGE_BYTES:
            raise LogUnavailable(f"{self.name}/{partition}: {key!r} is larger than {MAX_MESSAGE_BYTES} bytes")
        [outcome] = await self._log.producer.append(self.name, partition, [record], MAX_MESSAGE_BYTES)
        if not isinstance(outcome, Appended):
            raise LogUnavailable(f"{self.name}/{partition}: {outcome}")
        return outcome.offset

    async def get(self, partition: int, key: str) -> bytes | None:
        check_partition(self, partition)
        index = self._indexes[partition]
        while True:
            async with index.lock:
                await self._bring_up_to_date(partition, index)
                offset = index.offsets.get(key)
            if offset is None:
                return None
            messages, _ = await self._log.reader.read(self.name, partition, offset, 1)
            if messages and offset_of(messages[0]) == offset:
                return messages[0].value()
            # Compacted away, so whatever is newer lies behind what is indexed.
            if index.offsets.get(key) == offset:
                del index.offsets[key]

    async def scan(self, partition: int, offset: int = 0) -> Sequence[Record]:
        return await self._scan(partition, offset, lambda record: record)

    async def scan_as(self, partition: int, make: Callable[[Record], T]) -> Sequence[T]:
        return await self._scan(partition, 0, make)

    async def _scan(self, partition: int, offset: int, make: Callable[[Record], T]) -> Sequence[T]:
        check_partition(self, partition)
        newest: dict[str, T] = {}
        end = await self._log.ends.end_offset(self.name, partition)
        at_end = offset >= end
        while not at_end:
            messages, at_end = await self._log.reader.read(self.name, partition, offset, _PAGE)
            for message in messages:
                key, value, offset = key_of(message), message.value(), offset_of(message) + 1
                newest.pop(key, None)
                if value is not None:
                    newest[key] = make(Record(offset - 1, key, value))
        return list(newest.values())

    async def _bring_up_to_date(self, partition: int, index: "_Index") -> None:
        """Reads on from where the index ends to the partition's end as it is now, or later."""
        end = await self._log.ends.end_offset(self.name, partition)
        while index.next_offset < end:
            messages, at_end = await self._log.reader.read(self.name, partition, index.next_offset, _PAGE)
            for message in messages:
                if message.value() is None:
                    index.offsets.pop(key_of(message), None)
                else:
                    index.offsets[key_of(message)] = offset_of(message)
                index.next_offset = offset_of(message) + 1
            if at_end:
                # Compaction may have left nothing up to there.
                index.next_offset = max(index.next_offset, end)


class _Index:
    """Where the newest value of each key lies, up to `next_offset`."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.offsets: dict[str, int] = {}
        self.next_offset = 0


def open_kafka(
    bootstrap: str,
    *,
    single_broker_not_durable: bool = False,
    max_record_bytes: int = MAX_RECORD_BYTES,
    request_seconds: float = 5.0,
    delivery_seconds: float = 5.0,
    client: ClientSettings | None = None,
    home: Home | None = None,
    make_topics: bool = True,
) -> KafkaLog:
    """The log on the cluster at `bootstrap` (`host:port[,host:port…]`), for use in one event loop; connects by and by.

    `single_broker_not_durable` takes a cluster of one broker, for development. A question is answered within
    `request_seconds` or is `LogUnavailable`; a record is reported within `delivery_seconds` or is in `Doubt`. `client`
    adds settings of librdkafka, such as those of TLS. `home`, if given, is checked before anything is read or written.
    Without `make_topics`, topics that are missing are not made, but named. Raises ValueError for settings that
    librdkafka refuses.
    """
    connection = Connection(bootstrap, request_seconds, delivery_seconds, client or {})
    return KafkaLog(connection, single_broker_not_durable, max_record_bytes, home, make_topics)
