"""Folding a partition from wherever a reader stands: the same loop for owners, projections and tools."""

import asyncio
from collections.abc import Callable, Sequence

from guildhall.log.errors import LogShorter, LogUnavailable
from guildhall.log.fold import FoldState, Verdict, fold
from guildhall.log.port import EventsTopic, Record

READ_LIMIT = 4_000
"""Records asked for at once."""

AT_A_TIME = 100
"""Records folded before others in this process have their turn: a few milliseconds."""


async def read_to(topic: EventsTopic, partition: int, offset: int, end: int, take: Callable[[Record], None]) -> None:
    """Gives `take` the records from `offset` to `end` or a little further; the next are read while these are taken.

    Raises `LogUnavailable`, also where the partition ends before; `LogUnreadable`; whatever `take` raises.
    """
    reading: asyncio.Task[Sequence[Record]] | None = None
    try:
        while offset < end:
            records = await (reading or topic.read(partition, offset, READ_LIMIT))
            if not records:
                raise LogUnavailable(f"{topic.name}/{partition} ends at {offset}, {end} was promised")
            offset += len(records)
            reading = asyncio.create_task(_read(topic, partition, offset)) if offset < end else None
            for first in range(0, len(records), AT_A_TIME):
                for record in records[first : first + AT_A_TIME]:
                    take(record)
                await asyncio.sleep(0)
    finally:
        if reading is not None and not reading.done():
            reading.cancel()


async def _read(topic: EventsTopic, partition: int, offset: int) -> Sequence[Record]:
    return await topic.read(partition, offset, READ_LIMIT)


async def fold_to(
    topic: EventsTopic, partition: int, state: FoldState, end: int, listener: Callable[[Verdict], None]
) -> None:
    """Reads and folds until `state.next_offset` is at least `end`; `listener` gets each verdict after the state has it.

    What something else folds into the same state meanwhile is not told twice. Raises `LogUnavailable`,
    `LogUnreadable`, `OutOfOrder`; the state and what the listener was told then still agree.
    """

    def take(record: Record) -> None:
        if record.offset >= state.next_offset:
            listener(fold(state, record))

    await read_to(topic, partition, state.next_offset, end, take)


async def fold_to_end(
    topic: EventsTopic, partition: int, state: FoldState, listener: Callable[[Verdict], None]
) -> None:
    """`fold_to` the end that the partition has now or later. Raises `LogShorter` too."""
    await fold_to(topic, partition, state, await end_of(topic, partition, state.next_offset), listener)


async def end_of(topic: EventsTopic, partition: int, folded: int) -> int:
    """Where the partition ends now or later, for who has folded it so far. Raises `LogUnavailable`; `LogShorter`."""
    end = await topic.end_offset(partition)
    if end < folded:
        raise LogShorter(f"{topic.name}/{partition}", end, folded)
    return end
