"""Reading partitions of a Kafka topic as they grow: one consumer in one thread, which waits at the broker."""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from guildhall.log.errors import LogError, LogUnavailable, LogUnreadable
from guildhall.log.kafka_client import Connection, kafka_error
from guildhall.log.kafka_reader import DAMAGED, GONE, in_order, offset_of, whatever_came
from guildhall.log.port import EventsTopic, Record, check_partition
from guildhall.telemetry import logs

_AHEAD = 2_000
"""Records of a partition that are read ahead; then it is paused until half of them are taken."""
_BATCH = 500
_WAIT_SECONDS = 0.1
_PAUSE_SECONDS = 1.0
"""Before a consumer that failed is made anew."""

_log = logs.get("log")


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
        self._closed = threading.Event()
        self._said: set[int] = set()

    async def read(self, partition: int, offset: int, limit: int) -> Sequence[Record]:
        check_partition(self._topic, partition)
        if self._closed.is_set():
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
                with self._lock:
                    self._partitions.pop(partition, None)
                raise error
            if self._closed.is_set():
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
                thread = threading.Thread(target=self._run, name=f"tail {self._topic.name}", daemon=True)
                thread.start()
                self._thread = thread
        return ahead

    async def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            for ahead in self._partitions.values():
                ahead.waiting.set()
            if self._thread is not None:
                await asyncio.to_thread(self._thread.join)

    # --- in the thread

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                with contextlib.closing(Consumer(self._connection.tail())) as consumer:
                    while not self._closed.is_set():
                        self._steer(consumer)
                        self._take(whatever_came(consumer, _BATCH, _WAIT_SECONDS))
            except Exception as error:  # whatever it is, whoever reads must hear of it
                why = kafka_error(error).str() if isinstance(error, KafkaException) else repr(error)
                _log.error("the tail failed; going on with a new consumer", topic=self._topic.name, why=why)
                self._fail_all(LogUnavailable(f"{self._topic.name}: {why}"))
                self._closed.wait(_PAUSE_SECONDS)

    def _steer(self, consumer: Consumer) -> None:
        """Begin where a reader began, pause what is far ahead, resume what was taken. Raises KafkaException."""
        with self._lock:
            begin, self._begin = self._begin, {}
            read = {p: ahead for p, ahead in self._partitions.items() if ahead.error is None}
        pause = {p: ahead for p, ahead in read.items() if not ahead.paused and len(ahead.messages) >= _AHEAD}
        resume = {p: ahead for p, ahead in read.items() if ahead.paused and len(ahead.messages) < _AHEAD // 2}
        if not (begin or pause or resume):
            return
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
        for ahead in pause.values():
            ahead.paused = True
        for ahead in resume.values():
            ahead.paused = False

    def _place(self, partition: int, offset: int | None = None) -> TopicPartition:
        if offset is None:
            return TopicPartition(self._topic.name, partition)
        return TopicPartition(self._topic.name, partition, offset)

    def _take(self, messages: Sequence[Message]) -> None:
        woken: set[int] = set()
        for message in messages:
            partition = message.partition()
            error = message.error()
            if error is not None:
                self._refused(partition, error)
            elif partition is not None:
                with self._lock:
                    ahead = self._partitions.get(partition)
                    # Nor what was on its way when a reader began elsewhere.
                    if ahead is None or ahead.error is not None or partition in self._begin:
                        continue
                    expected = offset_of(ahead.messages[-1]) + 1 if ahead.messages else ahead.next_offset
                    if expected <= offset_of(message):
                        ahead.messages.append(message)
                        woken.add(partition)
        if woken:
            self._said.clear()
        for partition in woken:
            self._wake(partition)

    def _refused(self, partition: int | None, error: KafkaError) -> None:
        """The broker's or the client's word for what can't be read. Raises KafkaException where the client is done."""
        if error.fatal():
            raise KafkaException(error)
        # The client's own troubles have no partition, or -1.
        place = partition if partition is not None and partition >= 0 else None
        if place is not None and error.code() in GONE | DAMAGED:
            self._fail(place, LogUnreadable(f"{self._topic.name}/{place}", error.str()))
            return
        if error.code() not in self._said:
            # It comes again with every try; one line for each kind of trouble, until something is read again.
            self._said.add(error.code())
            _log.warning("the tail can't read", topic=self._topic.name, partition=place, why=error.str())
        if place is not None:
            self._fail(place, LogUnavailable(f"{self._topic.name}/{place}: {error.str()}"))

    def _fail_all(self, error: LogError) -> None:
        """Every reader is told, also those that come later; each begins anew then."""
        with self._lock:
            self._begin.clear()
            failed = list(self._partitions)
        for partition in failed:
            self._fail(partition, error)

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
