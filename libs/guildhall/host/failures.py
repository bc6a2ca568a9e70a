"""What the kernel and the log refuse or fail with, as failures of a request."""

from guildhall.kernel.refusal import Refusal
from guildhall.log.errors import (
    Busy,
    InFlight,
    LogError,
    LogUnavailable,
    Quarantined,
)
from guildhall.rpc.errors import Failure

_FIELDS = {
    "WRONG_PLAYER_COUNT": "subjects",
    "DUPLICATE_SUBJECT": "subjects",
    "INVALID_SUBJECT": "subjects",
    "INVALID_SEED": "seed",
    "INVALID_CLOCK": "clock.decision_ms",
    "UNKNOWN_OPTION": "options",
    "INVALID_OPTION": "options",
    "UNKNOWN_RULING": "rulings",
    "INVALID_RULING": "rulings",
    "INVALID_COMMAND_ID": "command_id",
    "INVALID_WHY": "why",
}
"""The request's field that a refusal is about."""


def refused(refusal: Refusal, **metadata: str) -> Failure:
    """A refusal of the kernel or of a game's rules."""
    known = {**metadata, **refusal.details}
    if refusal.rule:
        known["rule"] = refusal.rule
    return Failure(refusal.reason, refusal.message, known, _FIELDS.get(refusal.reason))


def log_failed(error: LogError) -> Failure:
    """What the log's error means for a request; `Partition.failed` knows those that tell of other owners."""
    match error:
        case Busy():
            return Failure("LOG_BUSY", "The log's queue is full; nothing was done.")
        case Quarantined():
            return quarantined()
        case InFlight() | LogUnavailable():
            return Failure("LOG_UNAVAILABLE", "The log cannot be reached now; send the same again.")
        case _:
            return Failure("LOG_UNAVAILABLE", "The log failed; it has been reported.")


def not_found() -> Failure:
    """The game does not exist, or the caller may not know that it does."""
    return Failure("GAME_NOT_FOUND", "There is no such game.", field=None)


def quarantined() -> Failure:
    """A record of the game is damaged."""
    return Failure("GAME_QUARANTINED", "A record of this game is damaged; its operator has been told.")


def shutting_down() -> Failure:
    """The hall is draining."""
    return Failure("SHUTTING_DOWN", "The hall is shutting down; send the same again when it is back.")


def outcome_unknown() -> Failure:
    """The command may or may not be in the log."""
    return Failure("OUTCOME_UNKNOWN", "The outcome is not known; send the same command_id again.")
