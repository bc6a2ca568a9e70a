"""The one fold rule: which records of a partition count. Every reader uses it: host, projection, CLI, audit.

A record is *effective* if its `claim` is the newest claim before it in the partition and its `seq` is the aggregate's
last effective seq + 1; every other is *void* (design section 3). No I/O, no clock: equal records give equal verdicts.
"""

from enum import Enum
from typing import TypeAlias

import msgspec

from guildhall.log.errors import BadValue, OutOfOrder
from guildhall.log.port import BEGINNING, CLAIM_KEY, Claim, Entry, Position, Record
from guildhall.log.values import decode


class VoidReason(Enum):
    """Why a record doesn't count."""

    CLAIM = "claim"
    SEQ = "seq"


class Effective(msgspec.Struct, frozen=True, gc=False):
    """The aggregate's next change."""

    offset: int
    aggregate_id: str
    entry: Entry


class Void(msgspec.Struct, frozen=True, gc=False):
    """A record that is skipped by all readers alike."""

    offset: int
    aggregate_id: str
    entry: Entry
    reason: VoidReason


class ClaimSeen(msgspec.Struct, frozen=True, gc=False):
    """From here on, only records under this claim (its id is `offset`) count."""

    offset: int
    claim: Claim


class Damaged(msgspec.Struct, frozen=True, gc=False):
    """A record that can't be decoded: its key is quarantined until an effective record shows that nothing is missing.

    Under the claims' key it counts as a claim by nobody, so that records written under it still count.
    """

    offset: int
    key: str
    reason: str


Verdict: TypeAlias = Effective | Void | ClaimSeen | Damaged


class FoldState(msgspec.Struct):
    """What the rule must remember of a partition up to `position`.

    `seqs`: last effective seq by aggregate id. `damaged`: offset of the first damaged record by quarantined key.
    `owner`: who made the newest claim; None if nobody did, or it was made before this reader's start.
    """

    next_offset: int = BEGINNING.next_offset
    newest_claim: int = BEGINNING.newest_claim
    owner: Claim | None = None
    seqs: dict[str, int] = {}
    damaged: dict[str, int] = {}

    @property
    def position(self) -> Position:
        """What to store beside whatever was built up to here."""
        return Position(self.next_offset, self.newest_claim)


def judge(state: FoldState, offset: int, key: str, value: Claim | Entry | BadValue) -> Verdict:
    """The rule itself: what the record at `offset` is, given everything before it. Changes nothing."""
    match value:
        case Entry():
            if key == CLAIM_KEY:
                return Damaged(offset, key, "an entry under the claims' key")
            if value.claim != state.newest_claim:
                return Void(offset, key, value, VoidReason.CLAIM)
            if value.seq != state.seqs.get(key, 0) + 1:
                return Void(offset, key, value, VoidReason.SEQ)
            return Effective(offset, key, value)
        case Claim():
            if key != CLAIM_KEY:
                return Damaged(offset, key, "a claim under an aggregate's key")
            return ClaimSeen(offset, value)
        case BadValue():
            return Damaged(offset, key, str(value))


def advance(state: FoldState, verdict: Verdict) -> None:
    """Moves the state past the judged record, in place. Raises `OutOfOrder` if it isn't the next one."""
    if verdict.offset != state.next_offset:
        raise OutOfOrder(state.next_offset, verdict.offset)
    state.next_offset += 1
    match verdict:
        case Effective():
            state.seqs[verdict.aggregate_id] = verdict.entry.seq
            state.damaged.pop(verdict.aggregate_id, None)
        case ClaimSeen():
            state.newest_claim = verdict.offset
            state.owner = verdict.claim
        case Damaged():
            if verdict.key == CLAIM_KEY:
                state.newest_claim = verdict.offset
                state.owner = None
            else:
                state.damaged.setdefault(verdict.key, verdict.offset)
        case Void():
            pass


def fold(state: FoldState, record: Record) -> Verdict:
    """Judges the next record of the partition and moves the state past it. Raises `OutOfOrder`, changing nothing."""
    if record.offset != state.next_offset:
        raise OutOfOrder(state.next_offset, record.offset)
    verdict = judge(state, record.offset, record.key, _value(record))
    advance(state, verdict)
    return verdict


def is_of(verdict: Verdict, record: Record) -> bool:
    """Whether the verdict may be of this record: it has that offset, key and value (of a damaged one only the key)."""
    if verdict.offset != record.offset:
        return False
    match verdict:
        case Effective() | Void():
            return (verdict.aggregate_id, verdict.entry) == (record.key, _value(record))
        case ClaimSeen():
            return (CLAIM_KEY, verdict.claim) == (record.key, _value(record))
        case Damaged():
            return verdict.key == record.key


def _value(record: Record) -> Claim | Entry | BadValue:
    try:
        return decode(record.value)
    except BadValue as error:
        return error
