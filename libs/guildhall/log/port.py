"""The port of the event log: what every adapter gives and all that anything above it may rely on (design section 3).

Adapters: `memory`, `sqlite`, `kafka`. They share topics, partitions, offsets and claims, so nothing above the port
knows the difference, and one conformance suite (`tests/log`) holds them to this file.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

import msgspec

DEFAULT_PARTITIONS = 12
"""Partitions of a game's topics, unless the topic was made with another count (design section 3)."""

MAX_RECORD_BYTES = 1 << 20
"""Key + value of one events record; a larger one is `TooLarge`. A command's record is bounded to half of it."""

NO_CLAIM = -1
"""`newest_claim` of a partition in which nobody has claimed yet."""

T = TypeVar("T")

CLAIM_KEY = ""
"""Key of claims; no aggregate may have it."""


class Position(msgspec.Struct, frozen=True, gc=False):
    """How far a reader has folded a partition. Nobody starts in the middle without one."""

    next_offset: int
    newest_claim: int


BEGINNING = Position(0, NO_CLAIM)


class Claim(msgspec.Struct, frozen=True, gc=False):
    """ "This instance now writes this partition; reach it there." Its id is its own offset.

    `instance` is new at every process start; `address` is where other replicas forward to.
    """

    instance: str
    address: str


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One change of one aggregate (the record's key).

    `claim`: offset of the claim it was written under. `seq`: the aggregate's version, from 1. `hash`: SHA-256 chain
    value, 32 bytes. `body`: opaque to the log.
    """

    claim: int
    hash: bytes
    body: bytes
    seq: int


class ProducerRecord(msgspec.Struct, frozen=True, gc=False):
    """A record on its way into the log."""

    key: str
    value: bytes


class Record(msgspec.Struct, frozen=True, gc=False):
    """A record of the log. Offsets of a partition start at 0 and have no gaps."""

    offset: int
    key: str
    value: bytes


class Appended(msgspec.Struct, frozen=True, gc=False):
    """The record is durable at this offset (if it was stored twice: at one of its offsets)."""

    offset: int


class TooLarge(msgspec.Struct, frozen=True, gc=False):
    """The record is larger than `limit` bytes of key + value. Final: it isn't in the log and never will be."""

    limit: int


class Doubt(msgspec.Struct, frozen=True, gc=False):
    """The record may be in the log, may get there later, or never: error, time-out, success without an offset."""

    reason: str


AppendOutcome: TypeAlias = Appended | TooLarge | Doubt


class EventsTopic(Protocol):
    """An append-only topic of partitions, retained for ever."""

    @property
    def name(self) -> str: ...

    @property
    def partitions(self) -> int: ...

    async def append(self, partition: int, records: Sequence[ProducerRecord]) -> Sequence[AppendOutcome]:
        """Appends the records in one produce, in their order; one outcome for each, in the same order.

        Returns when all outcomes are known, within the adapter's delivery time-out, and never raises for a failing
        log: that is `Doubt`. One record's failure says nothing of its neighbours. Appends by others may lie between.
        Cancelling gives up the outcomes, not the records.
        """
        ...

    async def read(self, partition: int, offset: int, limit: int) -> Sequence[Record]:
        """Up to `limit` records from `offset` on, without gaps; none only if `offset` is the end.

        Raises `LogUnavailable`, `LogUnreadable`.
        """
        ...

    async def end_offset(self, partition: int) -> int:
        """The offset after the last durable record, at some moment between this call and its return.

        Raises `LogUnavailable`, `LogUnreadable`.
        """
        ...

    def tail(self) -> "Tail":
        """For reading on as records come."""
        ...


class Tail(Protocol):
    """Reads a topic's partitions as they grow, each by one reader at a time. What was read ahead is bounded."""

    async def read(self, partition: int, offset: int, limit: int) -> Sequence[Record]:
        """Up to `limit` records from `offset` on, without gaps; waits until there is one.

        Fast where `offset` follows what was read last. Raises `LogUnavailable`, `LogUnreadable`.
        """
        ...

    async def close(self) -> None:
        """Ends it; whoever waits gets `LogUnavailable`."""
        ...


class CompactedTopic(Protocol):
    """A topic that keeps at least the newest value of each key: snapshots, checkpoints, markers, owners, packs.

    Writers race: an older value may be put after a newer one, so values carry what orders them (a position, a claim).
    """

    @property
    def name(self) -> str: ...

    @property
    def partitions(self) -> int: ...

    async def put(self, partition: int, key: str, value: bytes | None) -> int:
        """Makes `value` the key's newest (None deletes the key) and returns its offset once it is durable.

        Raises `LogUnavailable` (it may or may not have happened), `LogUnreadable`.
        """
        ...

    async def get(self, partition: int, key: str) -> bytes | None:
        """The key's newest value, or None. Raises `LogUnavailable`, `LogUnreadable`."""
        ...

    async def scan(self, partition: int, offset: int = 0) -> Sequence[Record]:
        """The newest record of every key that wasn't deleted, if put at `offset` or later, ordered by offset.

        Raises `LogUnavailable`, `LogUnreadable`.
        """
        ...

    async def scan_as(self, partition: int, make: Callable[[Record], T]) -> Sequence[T]:
        """`scan` from the beginning, of each record only what `make` takes from it as it is read, maybe in another
        thread: the values are never held all together. `make` must not raise.
        """
        ...


class Log(Protocol):
    """One log: its topics by name."""

    async def events(self, topic: str, partitions: int = DEFAULT_PARTITIONS) -> EventsTopic:
        """The topic, made with this many partitions if it doesn't exist; the count of one that exists stays.

        Raises `LogUnavailable`, `LogUnreadable`.
        """
        ...

    async def compacted(self, topic: str, partitions: int = DEFAULT_PARTITIONS) -> CompactedTopic:
        """The same for a compacted topic."""
        ...

    async def close(self) -> None:
        """Ends the connection. Appends that were not answered are in doubt."""
        ...


def check_partition(topic: EventsTopic | CompactedTopic, partition: int) -> None:
    """Every request's check: raises IndexError for a partition that the topic doesn't have."""
    if not 0 <= partition < topic.partitions:
        raise IndexError(f"{topic.name} has partitions 0 to {topic.partitions - 1}, not {partition}")


def partition_of(aggregate_id: str, partitions: int) -> int:
    """The aggregate's partition: first 8 bytes (big-endian) of SHA-256 of its id, mod the count (design section 3)."""
    return int.from_bytes(hashlib.sha256(aggregate_id.encode()).digest()[:8], "big") % partitions
