"""A pool that was quarantined is put back to its newest whole state, by a record that an operator has written (decision
35).
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import decode_Record
from guildhall.matchmaking.v1.structs import PoolRestored, decode_event
from services.matchmaking.step import Step


class RestorePool(Struct, frozen=True):
    """An operator's order. It is judged, as players' commands are, only where the pool is whole by then."""

    why: str


def not_quarantined(step: Step, command: RestorePool) -> None:
    """Raises Refusal POOL_NOT_QUARANTINED."""
    raise Refusal("POOL_NOT_QUARANTINED", "All records of this pool can be folded: there is nothing to put back.")


def restore(step: Step, why: str, to_version: int) -> None:
    """Go on from the state of that version, which the step's pool has.

    Offers that not all had confirmed are over (`evolve`) and come to nothing, for nobody's fault: their players could
    not confirm. Without that, an offer might also be accepted a second time, of which the versions that are passed over
    tell the first. They lapse by the clock, in further entries: so many might be open that one entry would not hold
    them, and the pool could not be mended.
    """
    step.emit(PoolRestored(why, to_version))


def restored(body: bytes) -> PoolRestored | None:
    """What an operator's record tells; None of every other, also of one that cannot be read."""
    try:
        record = decode_Record(body)
        return first_restored([decode_event(event) for event in record.events[:1]])
    except ValueError:
        return None


def first_restored(events: Sequence[Any]) -> PoolRestored | None:
    """The same of a record's events."""
    return events[0] if events and isinstance(events[0], PoolRestored) else None


def did_not_happen(restores: Iterable[tuple[int, int]]) -> list[range]:
    """The versions that no reader may fold, given (version, to_version) of each operator's record of a pool."""
    return [range(to_version + 1, version) for version, to_version in restores]
