"""The independent witness: reads a game's events topic with kafka-python and folds it by its own reading of the design.

Nothing of `guildhall.log` is used here: another client reads, protobuf's own runtime decodes, and the rule is written
from design section 3: a record counts if its claim is the newest claim before it and its seq is its game's next.
"""

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any

import msgspec
from google.protobuf.message import DecodeError
from kafka import KafkaConsumer, TopicPartition

from guildhall.kernel.v1 import log_pb2, record_pb2
from tests.chaos.violations import Rule, Violation

CLOCK = "guildhall:clock"


class Raw(msgspec.Struct, frozen=True, gc=False):
    """A record as the broker gives it."""

    offset: int
    key: bytes | None
    value: bytes | None


class Version(msgspec.Struct, frozen=True):
    """One version of a game, as its effective record tells.

    `open`: ids of the decisions that are open after it. `subjects`: of version 1, who sits where.
    """

    offset: int
    hash: bytes
    subject: str
    command_id: str
    payload: bytes
    open: frozenset[str]
    ended: bool
    subjects: tuple[str, ...] = ()


class Told(msgspec.Struct):
    """A topic, folded."""

    games: dict[str, list[Version]] = {}
    violations: list[Violation] = []
    records: int = 0
    claims: int = 0
    void_claim: int = 0
    void_seq: int = 0

    def add(self, other: "Told") -> None:
        """Takes in another partition."""
        self.games |= other.games
        self.violations += other.violations
        self.records += other.records
        self.claims += other.claims
        self.void_claim += other.void_claim
        self.void_seq += other.void_seq


def read_topic(bootstrap: str, topic: str, after: Sequence[int] = ()) -> list[list[Raw]]:
    """Every record of every partition, up to where they end now; `after`: from these offsets on."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap.split(","), enable_auto_commit=False)
    try:
        places = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())]
        ends = consumer.end_offsets(places)
        consumer.assign(places)
        for place in places:
            consumer.seek(place, after[place.partition] if after else 0)
        found: list[list[Raw]] = [[] for _ in places]
        while any(consumer.position(place) < ends[place] for place in places):
            for place, records in consumer.poll(timeout_ms=1000).items():
                found[place.partition] += [Raw(r.offset, r.key, r.value) for r in records if r.offset < ends[place]]
        return found
    finally:
        consumer.close()


def fold_topic(partitions: Sequence[Sequence[Raw]], event: Any) -> Told:
    """Folds every partition; `event` is the class of the game's events, whose first fields are the kernel's."""
    told = Told()
    for number, records in enumerate(partitions):
        told.add(_Fold(number, len(partitions), event).all(records))
    return told


class _Fold:
    """One partition's fold, from its beginning."""

    def __init__(self, partition: int, partitions: int, event: Any) -> None:
        self.partition = partition
        self.partitions = partitions
        self.event = event
        self.told = Told()
        self.newest_claim = -1
        self.seeds: dict[str, bytes] = {}
        self.decided: dict[tuple[int, str, int], bytes] = {}

    def all(self, records: Sequence[Raw]) -> Told:
        for expected, record in enumerate(records):
            if record.offset != expected:
                self.found(Rule.GAP, record.offset, f"offset {expected} is not there")
                break
            self.told.records += 1
            self.one(record)
        return self.told

    def found(self, rule: Rule, offset: int, what: str) -> None:
        self.told.violations.append(Violation(rule, f"partition {self.partition}, offset {offset}", what))

    def one(self, record: Raw) -> None:
        value = log_pb2.LogValue()
        try:
            value.ParseFromString(record.value or b"")
            key = (record.key or b"").decode()
        except (DecodeError, UnicodeDecodeError) as error:
            self.found(Rule.UNREADABLE, record.offset, str(error))
            return
        kind = value.WhichOneof("value")
        if kind == "claim" and not key and value.claim.instance and value.claim.address:
            self.newest_claim = record.offset
            self.told.claims += 1
        elif kind == "entry" and key:
            self.entry(record.offset, key, value.entry)
        else:
            self.found(Rule.UNREADABLE, record.offset, f"neither a claim nor an entry: key {key!r}, {kind}")

    def entry(self, offset: int, key: str, entry: log_pb2.Entry) -> None:
        before = self.decided.setdefault((entry.claim, key, entry.seq), entry.hash)
        if before != entry.hash:
            self.found(Rule.REDECIDED, offset, f"version {entry.seq} of {key} under claim {entry.claim}")
        versions = self.told.games.get(key, [])
        if entry.claim != self.newest_claim:
            self.told.void_claim += 1
        elif entry.seq != len(versions) + 1:
            self.told.void_seq += 1
            if entry.seq > len(versions) + 1:
                self.found(Rule.GAP, offset, f"version {entry.seq} of {key} comes after version {len(versions)}")
        else:
            self.effective(offset, key, entry)

    def effective(self, offset: int, key: str, entry: log_pb2.Entry) -> None:
        record = record_pb2.Record()
        try:
            record.ParseFromString(entry.body)
            events = [self.event.FromString(event) for event in record.events]
        except DecodeError as error:
            self.found(Rule.UNREADABLE, offset, f"the body of version {entry.seq} of {key}: {error}")
            return
        if int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % self.partitions != self.partition:
            self.found(Rule.MISPLACED, offset, f"{key} belongs into another partition")
        if (record.aggregate_id, record.seq) != (key, entry.seq):
            self.found(Rule.MISPLACED, offset, f"{record.aggregate_id}, {record.seq} lies as {key}, {entry.seq}")
        if len(record.commands) != 1:
            self.found(Rule.UNREADABLE, offset, f"version {entry.seq} of {key} has {len(record.commands)} commands")
            return
        self.check_chain(offset, key, entry, record, events)
        [command] = record.commands
        version = Version(
            offset,
            entry.hash,
            command.subject,
            command.command_id,
            command.payload_hash,
            frozenset(f"{decision.version}.{decision.seat}" for decision in record.open_decisions),
            any(event.HasField("game_ended") for event in events),
            tuple(events[0].game_created.subjects) if entry.seq == 1 and events else (),
        )
        self.told.games.setdefault(key, []).append(version)

    def check_chain(
        self, offset: int, key: str, entry: log_pb2.Entry, record: record_pb2.Record, events: Sequence[Any]
    ) -> None:
        """hash = SHA-256(prev_hash, HMAC(seed, "salt" + u64 seq), body), and the seed is the one committed to."""
        if entry.seq == 1:
            created = events[0].game_created if events else self.event().game_created
            self.seeds[key] = created.seed
            if hashlib.sha256(created.seed).digest() != created.seed_hash:
                self.found(Rule.CHAIN, offset, f"the seed of {key} is not the one that was committed to")
        versions = self.told.games.get(key, [])
        previous = versions[-1].hash if versions else b""
        if record.prev_hash != previous:
            self.found(Rule.CHAIN, offset, f"version {entry.seq} of {key} does not follow the version before")
        salt = hmac.digest(self.seeds[key], b"salt" + entry.seq.to_bytes(8, "big"), "sha256")
        if hashlib.sha256(record.prev_hash + salt + entry.body).digest() != entry.hash:
            self.found(Rule.CHAIN, offset, f"the hash of version {entry.seq} of {key} is another body's")
