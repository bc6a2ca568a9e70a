"""A small true story of one game, log and history, for tests to forge."""

import hashlib
import hmac
from collections.abc import Sequence

import msgspec

from guildhall.arcane_alley.v1 import event_pb2
from guildhall.kernel.v1 import log_pb2, record_pb2
from tests.chaos.history import Call, Kind, Result
from tests.chaos.witness import Raw

SEED = bytes(range(32))
SEATS = ("alice", "bob")
GAME = "game"
MS = 1_000_000
LAST = 6


def payload(number: int) -> bytes:
    """What stands for the command of that version."""
    return hashlib.sha256(b"command %d" % number).digest()


def subject(number: int) -> str:
    """Who sent the command of that version: the seats take turns."""
    return SEATS[number % 2]


def decision(number: int) -> str:
    """The decision that opens at that version; the command of the next version answers it."""
    return f"{number}.{(number + 1) % 2}"


class Story(msgspec.Struct):
    """A log of one partition, and the calls of those who played on it."""

    log: list[Raw]
    calls: list[Call]

    def call(self, number: int, kind: Kind = Kind.COMMAND) -> int:
        """Index of the first call of that kind which told of that version."""
        return next(i for i, c in enumerate(self.calls) if c.version == number and c.kind is kind)

    def change(self, number: int, kind: Kind = Kind.COMMAND, **fields: object) -> None:
        """Changes such a call."""
        index = self.call(number, kind)
        self.calls[index] = msgspec.structs.replace(self.calls[index], **fields)

    def insert(self, offset: int, key: str, value: bytes) -> None:
        """Puts a record in, before the one at that offset."""
        records = [(r.key, r.value) for r in self.log]
        records.insert(offset, (key.encode(), value))
        self.log = raw(records)

    def remove(self, offset: int) -> None:
        """Takes a record out without a trace."""
        self.log = raw([(r.key, r.value) for r in self.log if r.offset != offset])


def true_story() -> Story:
    """Version 1 is created 10 ms after the beginning, and every 10 ms comes a command, read by both ways of reading;
    there is a retry, a second claim, a void record behind it, and one refusal of each kind.
    """
    records: list[tuple[bytes, bytes]] = [(b"", claim("one"))]
    hashes: list[bytes] = []
    newest = 0
    calls: list[Call] = []
    for number in range(1, LAST + 1):
        body = encoded(number, hashes[-1] if hashes else b"")
        if number == 4:
            newest = len(records)
            records += [(b"", claim("two")), (GAME.encode(), entry(0, number, encoded(number, hashes[-1], "late")))]
        records.append((GAME.encode(), entry(newest, number, body)))
        hashes.append(version_hash(number, hashes[-1] if hashes else b"", body))
        start, who = number * 10 * MS, subject(number)
        answered = {"version": number, "result": Result.ACCEPTED}
        first = write(number, start, **answered)
        if number == 3:
            calls.append(write(number, start - 5 * MS, result=Result.UNKNOWN, reason="OUTCOME_UNKNOWN"))
        calls += [first, read(Kind.LEGAL, who, start + 4 * MS, number), read(Kind.VIEW, who, start + 4 * MS, number)]
        calls.append(read(Kind.EVENTS, who, start + 6 * MS, number, first=1, hashes=tuple(hashes)))
        calls.append(
            read(Kind.WATCH, "bob", start + 6 * MS, number, first=number, hashes=(hashes[-1],), after=number - 1)
        )
    late = (LAST + 1) * 10 * MS
    refused = {"result": Result.REFUSED, "version": LAST}
    calls += [
        write(LAST, late, result=Result.ACCEPTED, version=LAST),
        write(9, late, reason="STALE_DECISION", decision_id="1.0", subject="alice", **refused),
        write(10, late, reason="NOT_YOUR_SEAT", decision_id="6.0", subject="bob", **refused),
        write(11, late, reason="ILLEGAL_COMMAND", decision_id=decision(LAST), subject="bob", **refused),
        write(12, late, reason="COMMAND_ID_REUSED", command_id="c2", subject=subject(2), **refused),
        write(13, late, reason="GAME_BUSY", result=Result.REFUSED),
        write(2, 5 * MS, reason="GAME_NOT_FOUND", command_id="early", result=Result.REFUSED),
    ]
    return Story(raw(records), calls)


def raw(records: Sequence[tuple[bytes | None, bytes | None]]) -> list[Raw]:
    """Keys and values at offsets from 0."""
    return [Raw(offset, key, value) for offset, (key, value) in enumerate(records)]


def claim(instance: str) -> bytes:
    """A claim's value."""
    return log_pb2.LogValue(claim=log_pb2.Claim(instance=instance, address="host:1")).SerializeToString()


def entry(under: int, number: int, body: bytes, digest: bytes | None = None) -> bytes:
    """An entry's value, with the hash that its body has."""
    prev = record_pb2.Record.FromString(body).prev_hash
    value = log_pb2.Entry(claim=under, hash=digest or version_hash(number, prev, body), body=body, seq=number)
    return log_pb2.LogValue(entry=value).SerializeToString()


def encoded(number: int, prev_hash: bytes, command_id: str = "", who: str = "", **fields: object) -> bytes:
    """The body of a version."""
    record = record_pb2.Record(aggregate_id=GAME, seq=number, prev_hash=prev_hash)
    record.commands.add(
        subject=who or subject(number), command_id=command_id or f"c{number}", payload_hash=payload(number)
    )
    record.open_decisions.add(version=number, seat=(number + 1) % 2, kind="draw")
    event = event_pb2.Event()
    if number == 1:
        event.game_created.subjects.extend(SEATS)
        event.game_created.seed = SEED
        event.game_created.seed_hash = hashlib.sha256(SEED).digest()
    else:
        event.answered.seat = number % 2
    record.events.append(event.SerializeToString())
    for name, value in fields.items():
        setattr(record, name, value)
    return record.SerializeToString()


def version_hash(number: int, prev_hash: bytes, body: bytes) -> bytes:
    """As design section 3 has it."""
    salt = hmac.digest(SEED, b"salt" + number.to_bytes(8, "big"), "sha256")
    return hashlib.sha256(prev_hash + salt + body).digest()


def write(number: int, start: int, **fields: object) -> Call:
    """A call with the command of that version; 3 ms."""
    known: dict[str, object] = {
        "kind": Kind.CREATE if number == 1 else Kind.COMMAND,
        "game_id": GAME,
        "subject": subject(number),
        "process": "p0",
        "start": start,
        "end": start + 3 * MS,
        "command_id": f"c{number}",
        "decision_id": decision(number - 1) if number > 1 else "",
        "payload": payload(number),
    }
    return msgspec.convert({**known, **fields}, Call)


def read(kind: Kind, who: str, start: int, version: int, **fields: object) -> Call:
    """A read that told the truth of that version; 1 ms."""
    opened = decision(version)
    mine = SEATS[int(opened.partition(".")[2])] == who
    decisions = (opened,) if kind is Kind.VIEW or (kind is Kind.LEGAL and mine) else ()
    known: dict[str, object] = {
        "kind": kind,
        "game_id": GAME,
        "subject": who,
        "process": "p1",
        "start": start,
        "end": start + MS,
        "result": Result.READ,
        "version": version,
        "decisions": decisions,
    }
    return msgspec.convert({**known, **fields}, Call)
