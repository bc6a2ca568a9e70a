"""Everything that the log can refuse or fail with, each a typed error."""

from guildhall.log.port import Claim


class LogError(Exception):
    """Base of every error of the log."""


class LogUnavailable(LogError):
    """The log can't be reached now; nothing is known to be wrong with it, and trying again may help."""


class LogShorter(LogUnavailable):
    """The partition ends before what was folded of it. Records were lost, or for a moment a deposed broker answers.

    `end` is where it ends, `folded` the offset after the last record that was folded.
    """

    def __init__(self, place: str, end: int, folded: int) -> None:
        super().__init__(f"{place} ends at offset {end}, but {folded} was folded before")
        self.end = end
        self.folded = folded


class LogUnreadable(LogError):
    """The log's store is damaged, foreign, or of a newer schema; trying again won't help.

    `path` names the store, `reason` says what is wrong with it.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class OutOfOrder(LogError):
    """A reader met another offset than the next one: records were lost or read twice."""

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(f"offset {expected} comes next, found {found}")
        self.expected = expected
        self.found = found


class BadValue(LogError):
    """Bytes that aren't exactly one well-formed log value; the message says where and why."""


class Busy(LogError):
    """The writer's queue is full. Nothing was sent and nothing changed."""


class InFlight(LogError):
    """The aggregate already has an append whose outcome isn't known yet. Nothing was sent and nothing changed."""


class WrongSeq(LogError):
    """The append's seq isn't the aggregate's last effective seq + 1. Nothing was sent and nothing changed."""

    def __init__(self, aggregate_id: str, expected: int, found: int) -> None:
        super().__init__(f"{aggregate_id}: seq {expected} comes next, not {found}")
        self.aggregate_id = aggregate_id
        self.expected = expected
        self.found = found


class Quarantined(LogError):
    """A record of this aggregate can't be decoded, so what comes next isn't known. Nothing was sent."""

    def __init__(self, aggregate_id: str, offset: int) -> None:
        super().__init__(f"{aggregate_id}: the record at offset {offset} is damaged")
        self.aggregate_id = aggregate_id
        self.offset = offset


class NotOwner(LogError):
    """This writer doesn't serve its partition. `claim` is the newest claim's offset (-1: none),
    `owner` who made it, as far as this writer has read it."""

    def __init__(self, claim: int, owner: Claim | None) -> None:
        super().__init__(f"claim {claim} is held by {owner.address if owner else 'nobody known'}")
        self.claim = claim
        self.owner = owner


class Closed(LogError):
    """The writer was closed, or has failed (`__cause__` says of what). Nothing was sent."""
