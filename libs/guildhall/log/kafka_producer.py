"""Appending to Kafka: idempotent, never blocking the event loop, with an outcome for every record."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from guildhall.log.kafka_client import Connection, kafka_error
from guildhall.log.port import Appended, AppendOutcome, Doubt, TooLarge
from guildhall.telemetry import logs

_POLL_SECONDS = 0.05
"""How soon it is noticed that the producer is to end."""
_FLUSH_SECONDS = 10.0
_AGAIN_SECONDS = 1.0
"""Pause before a producer is made again that could not be."""

_log = logs.get("log")


class _Batch:
    """Records sent together. Reports come from two threads: refused at once here, everything else from the poll."""

    __slots__ = ("future", "reports", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.reports: list[tuple[int, KafkaError | None, Message | None]] = []
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def reported(self, n: int, error: KafkaError | None, message: Message | None) -> None:
        """Record `n`'s report; the last one ends the wait. The rest is left to whoever waits: the poll must go on."""
        self.reports.append((n, error, message))
        if len(self.reports) == self.size:
            # A loop that has been closed has nobody left to tell.
            with contextlib.suppress(RuntimeError):
                self.future.get_loop().call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        if not self.future.done():  # whoever waited has gone
            self.future.set_result(None)

    def outcomes(self, limit: int) -> list[AppendOutcome]:
        """In the order of the records."""
        found: list[AppendOutcome] = [_NOT_REPORTED] * self.size
        for n, error, message in self.reports:
            found[n] = _outcome(error, message, limit)
        return found


_NOT_REPORTED = Doubt("not reported")


def _outcome(error: KafkaError | None, message: Message | None, limit: int) -> AppendOutcome:
    if error is not None:
        return TooLarge(limit) if error.code() == KafkaError.MSG_SIZE_TOO_LARGE else Doubt(error.str())
    offset = message.offset() if message is not None else None
    # A duplicate that the broker recognised is a success without an offset.
    return Doubt("a success without an offset") if offset is None or offset < 0 else Appended(offset)


class KafkaProducer:
    """A producer with its own thread, in which all reports arrive. After a fatal error it goes on with a new one."""

    def __init__(self, connection: Connection) -> None:
        """Raises ValueError for settings that librdkafka refuses."""
        self._connection = connection
        self._fatal: str | None = None
        self._told: set[int] = set()
        self._closed = False
        self._producer = self._make()
        # A daemon: a process that is told to exit needn't wait, since what isn't reported wasn't acknowledged.
        self._thread = threading.Thread(target=self._serve, name=f"producer {connection.bootstrap}", daemon=True)
        self._thread.start()

    async def append(
        self, topic: str, partition: int, records: Sequence[tuple[bytes, bytes | None]], limit: int
    ) -> Sequence[AppendOutcome]:
        """Sends keys and values in their order; `limit` is what `TooLarge` tells. Never raises for a failing log."""
        outcomes = await self._send(topic, partition, records, limit)
        if len(records) > 1:
            # The broker refuses, and doesn't write, what came in one batch with the record that is too large.
            for n, outcome in enumerate(outcomes):
                if isinstance(outcome, TooLarge):
                    [outcomes[n]] = await self._send(topic, partition, [records[n]], limit)
        if self._told and all(isinstance(outcome, Appended) for outcome in outcomes):
            self._told.clear()
            _log.info("Kafka acknowledges again")
        return outcomes

    async def close(self) -> None:
        """What isn't reported yet is in doubt."""
        self._closed = True
        await asyncio.to_thread(self._thread.join)

    async def _send(
        self, topic: str, partition: int, records: Sequence[tuple[bytes, bytes | None]], limit: int
    ) -> list[AppendOutcome]:
        if self._closed or not records:
            return [Doubt("the log is closed")] * len(records)
        batch = _Batch(len(records))
        producer = self._producer
        for n, (key, value) in enumerate(records):
            try:
                producer.produce(topic, value, key, partition, on_delivery=partial(batch.reported, n))
            except BufferError:
                batch.reported(n, KafkaError(KafkaError._QUEUE_FULL), None)
            except KafkaException as error:
                batch.reported(n, kafka_error(error), None)
        await batch.future
        return batch.outcomes(limit)

    def _make(self) -> Producer:
        try:
            return Producer({**self._connection.producer(), "error_cb": self._failing})
        except KafkaException as error:
            raise ValueError(kafka_error(error).str()) from error

    def _failing(self, error: KafkaError) -> None:
        """Called by the poll, with what concerns the producer as a whole."""
        if error.fatal():
            self._fatal = error.str()
        elif error.code() not in self._told:
            # It comes again with every try; one line for each kind of trouble, until a batch gets through.
            self._told.add(error.code())
            _log.warning("Kafka can't be reached", why=error.str())

    def _serve(self) -> None:
        while not self._closed:
            try:
                self._producer.poll(_POLL_SECONDS)
            except KafkaException as error:  # so the client tells a fatal error, after having called `_failing` or not
                self._fatal = kafka_error(error).str()
            if self._fatal is not None:
                _log.error("Kafka's producer failed; going on with a new one", why=self._fatal)
                self._renew()
        _end(self._producer)

    def _renew(self) -> None:
        """A new producer in place of the failed one, which takes nothing more: whoever asks meanwhile is told so."""
        failed = self._producer
        try:
            self._producer, self._fatal = self._make(), None
        except ValueError as error:
            _log.error("Kafka's producer can't be made anew", why=logs.said(error))
            time.sleep(_AGAIN_SECONDS)
        _end(failed)


def _end(producer: Producer) -> None:
    """Has everything that is still under way reported as purged, so in doubt."""
    until = time.monotonic() + _FLUSH_SECONDS
    while len(producer) and time.monotonic() < until:
        # A producer that failed tells so again.
        with contextlib.suppress(KafkaException):
            producer.purge()
            producer.flush(_POLL_SECONDS)
