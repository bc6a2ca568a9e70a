"""One record of a game's log in words."""

from datetime import UTC, datetime
from typing import Any

from guildhall.kernel.redact import redact
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import Record, decode_Record
from guildhall.log.fold import ClaimSeen, Damaged, Effective, Verdict, Void
from guildhall.log.port import Entry


def key_of(verdict: Verdict) -> str | None:
    """What the record is about; None of a claim."""
    match verdict:
        case Effective(aggregate_id=key) | Void(aggregate_id=key) | Damaged(key=key):
            return key
    return None


def lines(rules: Rules, verdict: Verdict, *, events: bool, secrets: bool) -> list[str]:
    """One record in words; secret parts only with `secrets`."""
    if isinstance(verdict, Effective):
        return _entry_lines(rules, verdict.offset, verdict.aggregate_id, verdict.entry, events, secrets)
    return other_lines(verdict)


def other_lines(verdict: ClaimSeen | Damaged | Void) -> list[str]:
    """The same of a record that changes nothing."""
    match verdict:
        case ClaimSeen(offset=offset, claim=claim):
            return [f"{offset:>7}  claim by {claim.instance}, reached at {claim.address}"]
        case Damaged(offset=offset, key=key, reason=reason):
            return [f"{offset:>7}  DAMAGED, key {key!r}: {reason}"]
        case Void(offset=offset, aggregate_id=key, entry=entry, reason=reason):
            return [f"{offset:>7}  void ({reason.value}) {key} version {entry.seq}, under claim {entry.claim}"]


def _entry_lines(rules: Rules, offset: int, key: str, entry: Entry, events: bool, secrets: bool) -> list[str]:
    try:
        record = decode_Record(entry.body)
        told = [rules.wire.decode_event(event) for event in record.events]
    except ValueError as error:
        return [f"{offset:>7}  {key} version {entry.seq}: UNREADABLE: {error}"]
    at = datetime.fromtimestamp(record.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    who = ", ".join(f"{ref.subject} ({ref.command_id})" for ref in record.commands)
    seat = "" if record.seat is None else f" seat {record.seat}"
    names = ", ".join(type(event).__name__ for event in told)
    written = [
        f"{offset:>7}  {key} version {record.seq}, claim {entry.claim}, {at},{seat} {who}",
        f"         hash {entry.hash.hex()[:16]}…, {len(entry.body)} bytes: {names}",
    ]
    # What operators did is told with their words: that is what the record is for.
    written += [f"         because: {event.why}" for event in told if getattr(event, "why", "")]
    if events:
        written += [f"           {event!r}" for event in _visible(rules, told, secrets)]
    written += [f"         asks seat {asked.seat}: {asked.kind}" for asked in record.open_decisions]
    if secrets:
        written += _secret_lines(record)
    return written


def _visible(rules: Rules, told: list[Any], secrets: bool) -> list[Any]:
    if secrets:
        return told
    return [event for event in (redact(rules, event, None) for event in told) if event is not None]


def _secret_lines(record: Record) -> list[str]:
    drawn = [f"         draw {draw.n}: {list(draw.results)} below {list(draw.bounds)}" for draw in record.draws]
    return [*drawn, f"         agenda {record.agenda.hex()}"]
