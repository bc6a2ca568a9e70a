"""Who should own what: the consumer group of one topic, used for its membership only (design section 3).

What a member is assigned stays paused, nothing is read or committed through it. The group is balance and liveness only:
claims in the log decide who writes, so a member that is wrong about its assignment loses nothing.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from guildhall.log.kafka_client import Connection, kafka_error
from guildhall.telemetry import logs

_POLL_SECONDS = 0.02
"""How soon it is noticed that this member is to leave."""
_PAUSE_SECONDS = 1.0

SESSION_MS = 6_000
"""A member that is not heard of for so long is taken for dead."""

HEARTBEAT_MS = 100
"""Members learn of a change with their heartbeats, so this is how long a change of owners takes."""

_log = logs.get("log")


class KafkaGroup:
    """This instance as a member of the group; `assigned` and `revoked` are told partitions, in the event loop.

    When the group has lost sight of a member for as long as its session, everything is revoked, until it has joined
    again.
    """

    def __init__(
        self,
        connection: Connection,
        group: str,
        topic: str,
        assigned: Callable[[Iterable[int]], None],
        revoked: Callable[[Iterable[int]], None],
    ) -> None:
        """`assigned` is told at least once when this member has joined, maybe of no partition."""
        self._settings = {
            **connection.consumer(),
            "group.id": group,
            "group.protocol": "classic",
            "partition.assignment.strategy": "cooperative-sticky",
            # No group.instance.id: a static member could not leave, and its partitions would wait for its session.
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
        }
        self._group = group
        self._topic = topic
        self._assigned = assigned
        self._revoked = revoked
        self._loop = asyncio.get_running_loop()
        self._held: set[int] = set()
        self._leaving = threading.Event()
        self._said: set[int] = set()
        # A daemon: a process that is told to exit needn't wait for a broker that does not answer.
        self._thread = threading.Thread(target=self._serve, name=f"member of {group}", daemon=True)

    def join(self) -> None:
        """Become a member, and stay one until `leave`. Raises ValueError for settings that librdkafka refuses."""
        try:
            self._consumer = Consumer(self._settings)
        except KafkaException as error:
            raise ValueError(kafka_error(error).str()) from error
        self._thread.start()

    async def leave(self, seconds: float) -> None:
        """Tell the group, so that others take over at once; waits no longer than that for the broker."""
        self._leaving.set()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, seconds)

    # --- in the thread

    def _serve(self) -> None:
        while not self._leaving.is_set():
            try:
                self._consumer.subscribe(
                    [self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
                )
                self._poll()
            except (KafkaException, RuntimeError) as error:  # a consumer that was closed raises the second
                _log.error(
                    "the group's member failed; going on with a new one", group=self._group, why=logs.said(error)
                )
                self._end()
                self._on_lost(self._consumer, [])
                self._renew()
        self._end()

    def _renew(self) -> None:
        """A new client, as soon as one can be made; None is when this member is to leave first."""
        while not self._leaving.wait(_PAUSE_SECONDS):
            try:
                self._consumer = Consumer(self._settings)
                return
            except KafkaException as error:
                _log.error("the group's member can't be made anew", group=self._group, why=kafka_error(error).str())

    def _poll(self) -> None:
        """Returns when this member is to leave. Raises KafkaException where it has failed for good."""
        while not self._leaving.is_set():
            message = self._consumer.poll(_POLL_SECONDS)
            error = message.error() if message is not None else None
            if error is None:
                continue
            if error.fatal():
                raise KafkaException(error)
            if error.code() not in self._said:
                # It comes again with every try; one line for each kind of trouble, until the group answers again.
                self._said.add(error.code())
                _log.warning("the group can't be reached", group=self._group, why=error.str())

    def _end(self) -> None:
        with contextlib.suppress(KafkaException, RuntimeError):
            self._consumer.close()

    def _on_assign(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self._said.clear()
        # With an offset of its own nobody asks the broker for a committed one, and paused nothing is ever fetched.
        paused = [TopicPartition(place.topic, place.partition, OFFSET_BEGINNING) for place in places]
        consumer.incremental_assign(paused)
        consumer.pause(paused)
        new = {place.partition for place in places}
        self._held |= new
        self._tell(self._assigned, new)

    def _on_revoke(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        gone = {place.partition for place in places}
        self._held -= gone
        self._tell(self._revoked, gone)
        consumer.incremental_unassign(places)

    def _on_lost(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        _log.warning("the group has lost sight of this member", group=self._group)
        self._tell(self._revoked, self._held)
        self._held.clear()

    def _tell(self, whom: Callable[[Iterable[int]], None], partitions: set[int]) -> None:
        # A loop that has been closed has nobody left to tell.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(whom, sorted(partitions))
