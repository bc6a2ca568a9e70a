"""What every adapter of the log is asked, each on a fresh store."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from confluent_kafka.admin import AdminClient

from guildhall.log.kafka import KafkaLog, open_kafka
from guildhall.log.memory import MemoryBroker
from guildhall.log.port import DEFAULT_PARTITIONS, CompactedTopic, EventsTopic, Log
from guildhall.log.sqlite import open_sqlite
from tests import kafka_broker

MAX_RECORD_BYTES = 4000

Connect: TypeAlias = Callable[[], Awaitable[Log]]
"""Opens another connection to the same store, as another process would."""


@pytest.fixture(params=["memory", "sqlite", "kafka"])
async def connect(request: pytest.FixtureRequest, tmp_path: Path, store: str) -> AsyncIterator[Connect]:
    """An adapter over an empty store that takes records up to `MAX_RECORD_BYTES`; closes whatever was opened."""
    opened: list[Log] = []
    broker = MemoryBroker(max_record_bytes=MAX_RECORD_BYTES)

    async def memory() -> Log:
        opened.append(broker.log())
        return opened[-1]

    async def sqlite() -> Log:
        opened.append(open_sqlite(tmp_path / "log.sqlite", max_record_bytes=MAX_RECORD_BYTES))
        return opened[-1]

    async def kafka() -> Log:
        opened.append(StoreOnKafka(store, *request.getfixturevalue("kafka")))
        return opened[-1]

    yield {"memory": memory, "sqlite": sqlite, "kafka": kafka}[request.param]
    for log in opened:
        await log.close()


@pytest.fixture
async def log(connect: Connect) -> Log:
    return await connect()


@pytest.fixture
def store() -> str:
    """What the names of the test's own topics begin with, where stores are not apart by themselves."""
    return f"guildhall.test{uuid.uuid4().hex[:12]}"


@pytest.fixture
def topic(store: str) -> str:
    """A topic name of the test's own."""
    return f"{store}.events"


@pytest.fixture(scope="session")
def kafka() -> Iterator[tuple[str, bool]]:
    """Address of a broker that all tests share, and whether it is a single one."""
    try:
        with kafka_broker.bootstrap() as address:
            brokers = AdminClient({"bootstrap.servers": address}).list_topics(timeout=10).brokers
            yield address, len(brokers) == 1
    except kafka_broker.Missing as missing:
        kafka_broker.give_up(missing)


class StoreOnKafka:
    """A log of the test's own on a broker that others use too: its topics' names begin with `store`."""

    def __init__(self, store: str, address: str, single: bool) -> None:
        self._store = store
        self._log: KafkaLog = open_kafka(address, single_broker_not_durable=single, max_record_bytes=MAX_RECORD_BYTES)

    async def events(self, topic: str, partitions: int = DEFAULT_PARTITIONS) -> EventsTopic:
        return await self._log.events(self._own(topic), partitions)

    async def compacted(self, topic: str, partitions: int = DEFAULT_PARTITIONS) -> CompactedTopic:
        return await self._log.compacted(self._own(topic), partitions)

    async def close(self) -> None:
        await self._log.close()

    def _own(self, topic: str) -> str:
        return topic if topic.startswith(self._store) else f"{self._store}.{topic}"
