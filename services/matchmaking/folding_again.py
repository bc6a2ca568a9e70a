"""Folding a pool from its first record, for a reader that could fold what an operator has put the pool back behind.

Whoever folds record by record learns too late that some did not happen. That takes a process of a newer version than
the one that the pool was quarantined in, so it is rare, and may take its time.
"""

from typing import TypeGuard

from guildhall.log.fold import Effective, FoldState, Verdict
from guildhall.log.port import EventsTopic
from guildhall.log.reader import fold_to
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.mending import did_not_happen, restored


class PutBack(Exception):
    """A pool must be folded from its first record, since it was put back behind what is folded here."""


async def fold_again(events: EventsTopic, partition: int, hosted: HostedPool, end: int) -> None:
    """Fold it from the records below that offset. Raises `LogUnavailable`, `LogUnreadable`."""
    restores: list[tuple[int, int]] = []

    def counts(verdict: Verdict) -> TypeGuard[Effective]:
        # Reading goes a little further than it must.
        return isinstance(verdict, Effective) and verdict.aggregate_id == hosted.game and verdict.offset < end

    def look(verdict: Verdict) -> None:
        if counts(verdict):
            told = restored(verdict.entry.body)
            if told is not None:
                restores.append((verdict.entry.seq, told.to_version))

    await fold_to(events, partition, FoldState(), end, look)
    hosted.begin_again(did_not_happen(restores))

    def take(verdict: Verdict) -> None:
        if counts(verdict):
            hosted.told(verdict.offset, verdict.entry)

    await fold_to(events, partition, FoldState(), end, take)
