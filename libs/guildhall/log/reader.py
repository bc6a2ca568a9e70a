"""Folding a partition from wherever a reader stands: the same loop for owners, projections and tools."""

from collections.abc import Callable

from guildhall.log.errors import LogUnavailable
from guildhall.log.fold import FoldState, Verdict, fold
from guildhall.log.port import EventsTopic

READ_LIMIT = 1000
"""Records asked for at once."""


async def fold_to(
    topic: EventsTopic, partition: int, state: FoldState, end: int, listener: Callable[[Verdict], None]
) -> None:
    """Reads and folds until `state.next_offset` is at least `end`; `listener` gets each verdict after the state has it.

    What something else folds into the same state meanwhile is not told twice. Raises `LogUnavailable`,
    `LogUnreadable`, `OutOfOrder`; the state and what the listener was told then still agree.
    """
    while state.next_offset < end:
        records = await topic.read(partition, state.next_offset, READ_LIMIT)
        if not records:
            raise LogUnavailable(f"{topic.name}/{partition} ends at {state.next_offset}, {end} was promised")
        for record in records:
            if record.offset >= state.next_offset:
                listener(fold(state, record))


async def fold_to_end(
    topic: EventsTopic, partition: int, state: FoldState, listener: Callable[[Verdict], None]
) -> None:
    """`fold_to` the end that the partition has now or later."""
    await fold_to(topic, partition, state, await topic.end_offset(partition), listener)
