"""Reading partitions of a Kafka topic as they grow: one consumer in one thread, which waits at the broker."""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from guildhall.log.errors import LogError, LogUnavailable, LogUnreadable
from guildhall.log.kafka_client import Connection, kafka_error
from guildhall.log.kafka_reader import DAMAGED, GONE, in_order, offset_of, whatever_came
from guildhall.log.port import EventsTopic, Record, check_partition

_AHEAD = 2_000
"""Records of a partition that are read ahead; then it is paused until half of them are taken."""
_BATCH = 500
_WAIT_SECONDS = 0.1


@dataclass
class _Ahead:
    """What was read ahead of one partition."""

    start: int
    """Where the consumer was told to begin."""
    next_offset: int
    """Of the next record to be taken."""
    messages: deque[Message] = field(default_factory=deque)
    paused: bool = False
    error: LogError | None = None
    waiting: asyncio.Event = field(default_factory=asyncio.Event)


class KafkaTail:
    """`Tail` of one topic."""

    def __init__(self, connection: Connection, topic: EventsTopic) -> None:
        self._connection = connection
        self._topic = topic
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._partitions: dict[int, _Ahead] = {}
        self._begin: dict[int, int] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    async def read(self, partition: int, offset: int, limit: int) -> Sequence[Record]:
        check_partition(self._topic, partition)
        if self._closed:
            raise LogUnavailable(f"the tail of {self._topic.name} is closed")
        ahead = self._at(partition, offset)
        while True:
            ahead.waiting.clear()
            with self._lock:
                messages = [ahead.messages.popleft() for _ in range(min(limit, len(ahead.messages)))]
                error = ahead.error
            if messages:
                records = in_order(f"{self._topic.name}/{partition}", offset, messages)
                ahead.next_offset = records[-1].offset + 1
                return records
            if error is not None:
                del self._partitions[partition]
                raise error
            if self._closed:
                raise LogUnavailable(f"the tail of {self._topic.name} is closed")
            await ahead.waiting.wait()

    def _at(self, partition: int, offset: int) -> _Ahead:
        """What is read ahead from that offset on; begun anew where it was elsewhere."""
        ahead = self._partitions.get(partition)
        if ahead is None or ahead.next_offset != offset:
            ahead = _Ahead(offset, offset)
            with self._lock:
                self._partitions[partition] = ahead
                self._begin[partition] = offset
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"tail {self._topic.name}", daemon=True)
                self._thread.start()
        return ahead

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            for ahead in self._partitions.values():
                ahead.waiting.set()
            if self._thread is not None:
                await asyncio.to_thread(self._thread.join)

    # --- in the thread

    def _run(self) -> None:
        consumer = Consumer(self._connection.tail())
        try:
            while not self._closed:
                self._steer(consumer)
                self._take(whatever_came(consumer, _BATCH, _WAIT_SECONDS))
        finally:
            consumer.close()

    def _steer(self, consumer: Consumer) -> None:
        """Begin where a reader began, pause what is far ahead, resume what was taken."""
        with self._lock:
            begin, self._begin = self._begin, {}
            pause = [p for p, ahead in self._partitions.items() if not ahead.paused and len(ahead.messages) >= _AHEAD]
            resume = [p for p, ahead in self._partitions.items() if ahead.paused and len(ahead.messages) < _AHEAD // 2]
        if not (begin or pause or resume):
            return
        try:
            known = {place.partition for place in consumer.assignment()}
            new = [self._place(p, offset) for p, offset in begin.items()]
            again = [place for place in new if place.partition in known]
            if again:
                consumer.incremental_unassign([self._place(place.partition) for place in again])
            if new:
                consumer.incremental_assign(new)
            if pause:
                consumer.pause([self._place(p) for p in pause])
            if resume:
                consumer.resume([self._place(p) for p in resume])
        except KafkaException as error:
            failed = LogUnavailable(f"{self._topic.name}: {kafka_error(error).str()}")
            for partition in begin:
                self._fail(partition, failed)
            return
        for partition in pause:
            self._partitions[partition].paused = True
        for partition in resume:
            self._partitions[partition].paused = False

    def _place(self, partition: int, offset: int | None = None) -> TopicPartition:
        if offset is None:
            return TopicPartition(self._topic.name, partition)
        return TopicPartition(self._topic.name, partition, offset)

    def _take(self, messages: Sequence[Message]) -> None:
        woken: set[int] = set()
        for message in messages:
            partition = message.partition()
            error = message.error()
            if error is None and partition is not None:
                with self._lock:
                    ahead = self._partitions.get(partition)
                    # What was on its way when a reader began elsewhere.
                    stale = partition in self._begin
                    expected = offset_of(ahead.messages[-1]) + 1 if ahead and ahead.messages else None
                    if ahead is not None and not stale and (expected or ahead.next_offset) <= offset_of(message):
                        ahead.messages.append(message)
                        woken.add(partition)
            elif error is not None and partition is not None and error.code() in GONE | DAMAGED:
                self._fail(partition, LogUnreadable(f"{self._topic.name}/{partition}", error.str()))
        for partition in woken:
            self._wake(partition)

    def _fail(self, partition: int, error: LogError) -> None:
        with self._lock:
            ahead = self._partitions.get(partition)
            if ahead is not None:
                ahead.error = error
        self._wake(partition)

    def _wake(self, partition: int) -> None:
        ahead = self._partitions.get(partition)
        if ahead is not None:
            with contextlib.suppress(RuntimeError):  # a loop that was closed has nobody left to tell
                self._loop.call_soon_threadsafe(ahead.waiting.set)
