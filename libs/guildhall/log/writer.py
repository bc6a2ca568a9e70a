"""The writer of one partition: claims it, appends in groups, and knows of every append what became of it.

The rules are those of design section 3, "Writer", "Claim" and "Fresh answers". One task does all I/O of a partition, one
round after another, so there is one produce in flight, and a round's I/O begins after everything that it answers.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from guildhall.log.errors import (
    Busy,
    InFlight,
    LogError,
    LogUnavailable,
    NotOwner,
    OutOfOrder,
    Quarantined,
    WrongSeq,
)
from guildhall.log.fold import ClaimSeen, Damaged, Effective, FoldState, Verdict, advance, judge
from guildhall.log.port import (
    CLAIM_KEY,
    Appended,
    AppendOutcome,
    Claim,
    Doubt,
    Entry,
    EventsTopic,
    Position,
    ProducerRecord,
    TooLarge,
)


class RuledOut(msgspec.Struct, frozen=True, gc=False):
    """The append isn't effective and never will be: a newer claim or another record of that seq was folded first.

    If the writer still serves (`Writer.serving`), decide again on the state as it is now.
    """


class Limits(msgspec.Struct, frozen=True):
    """Bounds and rhythms of a writer. `max_waiting` appends and `max_waiting_bytes` of bodies may be unresolved;
    `poll_seconds` is how often an idle writer looks for records of others; the back-off is between attempts on a log
    that can't be reached, doubled and jittered from the first to the last value, in seconds."""

    max_waiting: int = 4096
    max_waiting_bytes: int = 64 << 20
    poll_seconds: float = 0.25
    first_backoff: float = 0.02
    last_backoff: float = 2.0


class Writer:
    """Writes one partition for one instance.

        writer = Writer(topic, partition, Claim(instance, address), state, listener)
        await writer.claim()                                     # claim, fold up to the claim, serve
        outcome = await writer.append(game_id, seq, digest, body)
        position = await writer.confirm()
        await writer.close()

    `state` is where the fold stands (new, or from a checkpoint: `guildhall.log.recovery`); the writer goes on with it.
    `listener` is called with the verdict of every record in log order, own appends included (an own append's before
    its outcome is told), and must not raise: an exception there ends the writer.
    """

    def __init__(
        self,
        topic: EventsTopic,
        partition: int,
        me: Claim,
        state: FoldState,
        listener: Callable[[Verdict], None],
        limits: Limits = Limits(),
        rng: random.Random | None = None,
    ) -> None:
        """`rng` jitters the back-off. Must be made while the event loop that it serves is running."""

    @property
    def serving(self) -> bool:
        """Whether the newest claim folded is this instance's, and the writer is open."""

    @property
    def position(self) -> Position:
        """Up to where the listener has been told."""

    async def claim(self) -> int:
        """Claims the partition, folds up to the claim, serves; the claim's offset (which is its id).

        Also the way back after standing down: the caller decides when (a newer assignment, or a jittered back-off).
        Keeps trying while the log can't be reached. Raises `NotOwner` if somebody's newer claim was folded meanwhile.
        """

    def append(self, aggregate_id: str, seq: int, digest: bytes, body: bytes) -> "asyncio.Future[Outcome]":
        """Queues the aggregate's next entry; the future tells what became of it.

        `Appended(offset)`: effective, and the listener has seen it. `TooLarge`: final, nothing was written. `RuledOut`:
        final, not effective. `Doubt`: only when the writer is closed or fails first; the outcome is unknown, ask whoever owns the partition.
        While the log can't be reached the future waits: bound that with a deadline of your own. Cancelling the
        future gives up the answer, not the append: the aggregate stays in flight until its outcome is known.

        Raises, with nothing queued: `NotOwner`, `Busy`, `InFlight`, `WrongSeq`, `Quarantined`.
        """

    async def confirm(self) -> Position:
        """Returns once every record that was in the log when this was called has been folded, and the newest claim is
        still this instance's: what the state says then is fresh. Waiting callers share one confirmation.

        Raises `NotOwner` (stood down), `LogUnavailable` (can't be confirmed now).
        """

    async def settled(self, aggregate_id: str) -> None:
        """Returns when the aggregate has no append in flight."""

    async def close(self) -> None:
        """Takes nothing more, resolves what is in flight, ends. Bound it with a time-out of your own: what isn't
        resolved when it is cancelled is in `Doubt`."""
