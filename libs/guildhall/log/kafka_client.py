"""What our Kafka clients are told (settings of librdkafka), and what their errors mean here."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from confluent_kafka import KafkaError, KafkaException

ClientSettings: TypeAlias = Mapping[str, str | int | float | bool]
"""Settings of librdkafka, such as `security.protocol`."""

MAX_MESSAGE_BYTES = 16 << 20
"""Key + value of one record of any topic: a checkpoint is the largest."""

_BATCH_BYTES = 1_000_000
_OVERHEAD_BYTES = 4096


class Connection(msgspec.Struct, frozen=True):
    """One cluster, and how long it is waited for.

    `bootstrap`: `host:port[,host:port…]`. `request_seconds`: for one question or read. `delivery_seconds`: for the
    report of one record, after which it is in doubt. `client`: further settings; ours go first.
    """

    bootstrap: str
    request_seconds: float = 5.0
    delivery_seconds: float = 5.0
    client: ClientSettings = {}

    def admin(self) -> dict[str, Any]:
        """Settings of an `AdminClient`."""
        return {
            **self.client,
            "bootstrap.servers": self.bootstrap,
            "socket.keepalive.enable": True,
            "socket.nagle.disable": True,
            # A broker that is back is to be found at once, not at the end of a long pause.
            "reconnect.backoff.max.ms": 1000,
            "log.connection.close": False,
            # What a broker that is away has to say is told by the errors that requests end with.
            "log_level": 2,
        }

    def producer(self) -> dict[str, Any]:
        """Settings of a `Producer`: idempotent, every record acknowledged by all in-sync replicas, memory bounded."""
        delivery_ms = int(self.delivery_seconds * 1000)
        return {
            **self.admin(),
            "acks": "all",
            "enable.idempotence": True,
            # What is queued together is sent together; waiting for more would only delay whoever is alone.
            "linger.ms": 0,
            # Less than the topic's max.message.bytes, so that several records are never too large together.
            "batch.size": _BATCH_BYTES,
            "message.max.bytes": MAX_MESSAGE_BYTES + _OVERHEAD_BYTES,
            "message.timeout.ms": delivery_ms,
            "request.timeout.ms": delivery_ms,
            "queue.buffering.max.messages": 100_000,
            "queue.buffering.max.kbytes": 64 << 10,
            "allow.auto.create.topics": False,
        }

    def consumer(self) -> dict[str, Any]:
        """Settings of a `Consumer` that is told where to read, belongs to no group and commits nothing."""
        return {
            **self.admin(),
            "group.id": "guildhall.reader",  # librdkafka wants one; without subscribing it has no effect
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            # An offset that isn't there is news, not a reason to read elsewhere.
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            # A stranger's open transaction must not hide what was acknowledged to us behind it.
            "isolation.level": "read_uncommitted",
            "check.crcs": True,
            "allow.auto.create.topics": False,
            # Reads end at the partition's end. A fetch that waits there would hold up the next read, whatever it reads.
            "fetch.wait.max.ms": 0,
            "fetch.queue.backoff.ms": 1,
            "queued.max.messages.kbytes": 16 << 10,
        }

    def tail(self) -> dict[str, Any]:
        """Settings of a `Consumer` that waits at the ends of its partitions for what comes."""
        return {**self.consumer(), "fetch.wait.max.ms": 500, "enable.partition.eof": False}


def kafka_error(error: KafkaException) -> KafkaError:
    """What the exception carries."""
    [found] = error.args
    return found if isinstance(found, KafkaError) else KafkaError(KafkaError._FAIL, str(found))
