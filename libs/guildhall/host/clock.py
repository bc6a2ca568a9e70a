"""The clock: plays a decision's default when its deadline passes (design section 2, "Time")."""

import time

from guildhall.kernel.decide import Decided, time_out
from guildhall.kernel.game import Game
from guildhall.kernel.ids import decision_id

GRACE_MS = 60_000
"""After a take-over no deadline is earlier than this, or the decision's own allowance, if shorter."""

RETRY_SECONDS = 1.0
"""Pause before a time-out that could not be carried out is tried again."""


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def next_deadline(game: Game, claimed_ms: int) -> tuple[int, str] | None:
    """When (Unix ms) which waited-for decision times out first; None where none does.

    `claimed_ms` is when the newest claim was made.
    """
    clock = game.created.clock
    if clock is None or game.ended is not None:
        return None
    earliest = claimed_ms + min(GRACE_MS, clock.decision_ms)
    return min(
        ((max(d.deadline_ms, earliest), decision_id(d.version, d.seat)) for d in game.waiting() if d.deadline_ms),
        default=None,
    )


def play_default(game: Game, decision: str) -> Decided:
    """The command by the clock. Raises Refusal where the decision is no longer waited for."""
    return time_out(game, decision, at_ms=max(now_ms(), game.at_ms))
