"""The log in memory: deterministic, for simulation and tests. Not durable.

Several instances share one `MemoryBroker`, each through a `MemoryLog` of its own with its own `Faults`.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from guildhall.log.bell import Bell, BellTail
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

SCAN_PAGE = 3
"""Records of a compacted topic that are read at once: few, so that what happens between two pages is met."""

T = TypeVar("T")


class Faults:
    """What may go wrong between one instance and the broker; this one does nothing wrong. Override to misbehave."""

    async def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducerRecord],
        write: Callable[[ProducerRecord], AppendOutcome],
    ) -> Sequence[AppendOutcome]:
        """Appends a batch. `write` puts one record at the end now and tells its true outcome: it can be called late,
        twice or never, and what is returned is what the instance is told."""
        return [write(record) for record in records]

    async def ask(self, topic: str, partition: int, answer: Callable[[], T]) -> T:
        """Any other request. `answer` does at the broker what was asked, now, and tells what came of it: it can be
        called late, twice or never. Raises `LogUnavailable` to leave the question without an answer."""
        await self.request(topic, partition)
        return answer()

    async def request(self, topic: str, partition: int) -> None:
        """Called before each of them; may wait, or raise `LogUnavailable`."""


class MemoryBroker:
    """The records themselves: `events[topic][partition]` and `compacted[topic][partition][key]`."""

    def __init__(self, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        self.max_record_bytes = max_record_bytes
        self.events: dict[str, list[list[Record]]] = {}
        self.compacted: dict[str, list[dict[str, Record]]] = {}
        self.next_put = 0
        self.bell = Bell()

    def log(self, faults: Faults | None = None) -> "MemoryLog":
        """An instance's connection."""
        return MemoryLog(self, faults or Faults())


class MemoryLog:
    """`Log` over a broker."""

    def __init__(self, broker: MemoryBroker, faults: Faults) -> None:
        self._broker = broker
        self._faults = faults

    async def events(self, topic: str, partitions: int = DEFAULT_PARTITIONS) -> "MemoryEvents":
        stored = self._broker.events.setdefault(topic, [[] for _ in range(partitions)])
        return MemoryEvents(topic, stored, self._broker.max_record_bytes, self._faults, self._broker.bell)

    async def compacted(self, topic: str, partitions: int = DEFAULT_PARTITIONS) -> "MemoryCompacted":
        self._broker.compacted.setdefault(topic, [{} for _ in range(partitions)])
        return MemoryCompacted(topic, self._broker, self._faults)

    async def close(self) -> None:
        """Nothing to end."""


class MemoryEvents:
    """`EventsTopic` over a broker."""

    def __init__(
        self, name: str, stored: list[list[Record]], max_record_bytes: int, faults: Faults, bell: Bell
    ) -> None:
        self._bell = bell
        self.name = name
        self.partitions = len(stored)
        self._stored = stored
        self._max_record_bytes = max_record_bytes
        self._faults = faults

    async def append(self, partition: int, records: Sequence[ProducerRecord]) -> Sequence[AppendOutcome]:
        check_partition(self, partition)
        stored = self._stored[partition]

        def write(record: ProducerRecord) -> AppendOutcome:
            if len(record.key.encode()) + len(record.value) > self._max_record_bytes:
                return TooLarge(self._max_record_bytes)
            stored.append(Record(len(stored), record.key, record.value))
            self._bell.ring(self.name, partition)
            return Appended(len(stored) - 1)

        # A real log answers later, never at once: whoever counts on that must not find out in production.
        await asyncio.sleep(0)
        return await self._faults.append(self.name, partition, records, write)

    async def read(self, partition: int, offset: int, limit: int) -> Sequence[Record]:
        check_partition(self, partition)
        await asyncio.sleep(0)
        stored = self._stored[partition]
        return await self._faults.ask(self.name, partition, lambda: stored[offset : offset + limit])

    async def end_offset(self, partition: int) -> int:
        check_partition(self, partition)
        await asyncio.sleep(0)
        stored = self._stored[partition]
        return await self._faults.ask(self.name, partition, lambda: len(stored))

    def tail(self) -> BellTail:
        return BellTail(self, self._bell)


class MemoryCompacted:
    """`CompactedTopic` over a broker."""

    def __init__(self, name: str, broker: MemoryBroker, faults: Faults) -> None:
        self.name = name
        self._broker = broker
        self._stored = broker.compacted[name]
        self.partitions = len(self._stored)
        self._faults = faults

    async def put(self, partition: int, key: str, value: bytes | None) -> int:
        check_partition(self, partition)
        key.encode()  # as every store does
        stored = self._stored[partition]

        def put() -> int:
            offset = self._broker.next_put
            self._broker.next_put += 1
            if value is None:
                stored.pop(key, None)
            else:
                stored[key] = Record(offset, key, value)
            return offset

        await asyncio.sleep(0)
        return await self._faults.ask(self.name, partition, put)

    async def get(self, partition: int, key: str) -> bytes | None:
        check_partition(self, partition)
        stored = self._stored[partition]
        await asyncio.sleep(0)
        record = await self._faults.ask(self.name, partition, lambda: stored.get(key))
        return record.value if record else None

    async def scan_as(self, partition: int, make: Callable[[Record], T]) -> Sequence[T]:
        return [make(record) for record in await self.scan(partition)]

    async def scan(self, partition: int, offset: int = 0) -> Sequence[Record]:
        check_partition(self, partition)
        stored = self._stored[partition]

        def page() -> list[Record]:
            found = sorted((r for r in stored.values() if r.offset >= offset), key=lambda r: r.offset)
            return found[:SCAN_PAGE]

        # Page by page, as a reader of a topic that is compacted meanwhile: what is put again comes again.
        newest: dict[str, Record] = {}
        while True:
            await asyncio.sleep(0)
            records = await self._faults.ask(self.name, partition, page)
            for record in records:
                newest.pop(record.key, None)
                newest[record.key] = record
                offset = record.offset + 1
            if len(records) < SCAN_PAGE:
                return list(newest.values())
