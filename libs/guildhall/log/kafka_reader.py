"""Reading from Kafka: any partition from any offset, by consumers that belong to no group and commit nothing."""

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from guildhall.log.errors import LogUnavailable, LogUnreadable
from guildhall.log.kafka_client import Connection, kafka_error
from guildhall.log.port import Record

_THREADS = 4
"""Requests at once; each thread has a consumer of its own."""

_MAX_WAITING = 1000

_PAGE_BYTES = 4 << 20
"""A read that has found so much ends, however few records that is."""

GONE = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION}
DAMAGED = {KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION, KafkaError.INVALID_MSG}

T = TypeVar("T")


class KafkaReader:
    """A few consumers, each in its thread, so that the event loop never waits for one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._threads = concurrent.futures.ThreadPoolExecutor(_THREADS, f"reader {connection.bootstrap}")
        self._own = threading.local()
        self._consumers: list[Consumer] = []
        self._lock = threading.Lock()
        self._waiting = 0
        self._closed = False

    async def read(self, topic: str, partition: int, offset: int, limit: int) -> tuple[list[Message], bool]:
        """Up to `limit` records from `offset` on, and whether they reach the partition's end. At least one, or the end.

        Raises `LogUnavailable`; `LogUnreadable` if the offset isn't there, or what is there is damaged.
        """
        start = TopicPartition(topic, partition, offset)
        return await self._do(start, lambda consumer, until: _fetch(consumer, start, limit, until))

    async def end_offset(self, topic: str, partition: int) -> int:
        """The partition's high watermark: every acknowledged record lies below it. Raises `LogUnavailable`."""
        place = TopicPartition(topic, partition)
        return await self._do(place, lambda consumer, until: _end_offset(consumer, place, until))

    async def close(self) -> None:
        """Waits for the requests that have begun; those that haven't are cancelled."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        for consumer in self._consumers:
            consumer.close()

    async def _do(self, place: TopicPartition, work: Callable[[Consumer, float], T]) -> T:
        """Runs `work(consumer, until)` in one of the threads; `until` is on the monotonic clock."""
        if self._closed:
            raise LogUnavailable("the log is closed")
        if self._waiting >= _MAX_WAITING:
            raise LogUnavailable(f"{_name(place)}: {_MAX_WAITING} requests are waiting")
        until = time.monotonic() + self._connection.request_seconds

        def in_thread() -> T:
            if time.monotonic() > until:
                raise LogUnavailable(f"{_name(place)}: all readers are waiting for the broker")
            try:
                return work(self._consumer(place.topic, until), until)
            except KafkaException as error:
                raise LogUnavailable(f"{_name(place)}: {kafka_error(error).str()}") from error

        with self._lock:
            self._waiting += 1
        asked = self._threads.submit(in_thread)
        asked.add_done_callback(self._done)
        return await asyncio.wrap_future(asked)

    def _done(self, _: "concurrent.futures.Future[T]") -> None:
        # Not when whoever waits gives up: the thread is still at work then.
        with self._lock:
            self._waiting -= 1

    def _consumer(self, topic: str, until: float) -> Consumer:
        """This thread's consumer, which knows where the topic's leaders are."""
        if not hasattr(self._own, "consumer"):
            self._own.consumer = Consumer(self._connection.consumer())
            self._own.topics = set()
            self._consumers.append(self._own.consumer)
        consumer: Consumer = self._own.consumer
        if topic not in self._own.topics:
            # Asked here, for librdkafka looks after new topics only once a second.
            consumer.list_topics(topic, timeout=_left(until))
            self._own.topics.add(topic)
        return consumer


def _fetch(consumer: Consumer, start: TopicPartition, limit: int, until: float) -> tuple[list[Message], bool]:
    found: list[Message] = []
    size = 0
    why = "no answer"
    consumer.assign([start])
    try:
        while len(found) < limit and size < _PAGE_BYTES:
            messages = whatever_came(consumer, limit - len(found), _left(until))
            if not messages:
                break
            for message in messages:
                error = message.error()
                if error is None:
                    found.append(message)
                    size += len(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    return found, True
                elif error.code() in GONE:
                    raise LogUnreadable(_name(start), f"offset {start.offset} isn't there: {error.str()}")
                elif error.code() in DAMAGED:
                    raise LogUnreadable(_name(start), error.str())
                else:
                    why = error.str()
    finally:
        # Nothing is fetched between reads.
        consumer.unassign()
    if not found:
        raise LogUnavailable(f"{_name(start)}: {why}")
    return found, False


def whatever_came(consumer: Consumer, limit: int, seconds: float) -> list[Message]:
    """Up to `limit` messages: waits for the first, and takes what else is here. None after so many seconds.

    Not one by one: each `poll` gives up the interpreter, and comes back late where another thread folds.
    """
    first = consumer.poll(seconds)
    if first is None:
        return []
    return [first] if limit == 1 or first.error() is not None else [first, *consumer.consume(limit - 1, 0)]


def _end_offset(consumer: Consumer, place: TopicPartition, until: float) -> int:
    # Not the admin client's list_offsets: that answers -1001, without an error, when its time is up.
    _, high = consumer.get_watermark_offsets(place, timeout=_left(until))
    if high < 0:
        raise LogUnavailable(f"{_name(place)}: no answer")
    return high


def _left(until: float) -> float:
    return max(0.0, until - time.monotonic())


def _name(place: TopicPartition) -> str:
    return f"{place.topic}/{place.partition}"


def in_order(place: str, offset: int, messages: Sequence[Message]) -> list[Record]:
    """The messages as records from `offset` on. Raises `LogUnreadable` where one is missing."""
    records = [Record(offset_of(message), key_of(message), message.value() or b"") for message in messages]
    for expected, record in enumerate(records, offset):
        if record.offset != expected:
            raise LogUnreadable(place, f"offset {expected} is missing before {record.offset}")
    return records


def offset_of(message: Message) -> int:
    """The offset of a record that was read."""
    offset = message.offset()
    assert offset is not None, "a record that was read has an offset"
    return offset


def key_of(message: Message) -> str:
    """The key as text. A foreign key must not end every reader: its record is judged like any other."""
    return (message.key() or b"").decode(errors="backslashreplace")
