"""The clock: plays a decision's default when its deadline passes (design section 2, "Time")."""

import random
import time

from guildhall.kernel.decide import Decided, time_out
from guildhall.kernel.game import Game
from guildhall.kernel.ids import decision_id

GRACE_MS = 60_000
"""After a take-over no deadline is earlier than this, or the decision's own allowance, if shorter."""

FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 300.0
"""Pauses before a time-out in which the rules failed is tried again: each twice as long as the one before."""

LOG_RETRY_SECONDS = 1.0
"""Pause before a time-out that the log could not take is tried again."""


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def next_deadline(game: Game, claimed_ms: int) -> tuple[int, str] | None:
    """When (Unix ms) which waited-for decision times out first; None where none does.

    `claimed_ms` is when the newest claim was made.
    """
    clock = game.created.clock
    if clock is None or game.ended is not None or game.paused:
        return None
    earliest = claimed_ms + min(GRACE_MS, clock.decision_ms)
    return min(
        ((max(d.deadline_ms, earliest), decision_id(d.version, d.seat)) for d in game.waiting() if d.deadline_ms),
        default=None,
    )


def retry_seconds(failures: int) -> float:
    """The pause after so many time-outs in a row in which the rules failed; jittered, so that many games of one fault
    do not all come at once.
    """
    return min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** min(failures - 1, 30)) * random.uniform(0.75, 1.0)


def play_default(game: Game, decision: str) -> Decided:
    """The command by the clock. Raises Refusal where the decision is no longer waited for, or the game is paused."""
    return time_out(game, decision, at_ms=max(now_ms(), game.at_ms))
