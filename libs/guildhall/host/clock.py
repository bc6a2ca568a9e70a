"""The clock: plays a decision's default when its deadline passes (design section 2, "Time")."""

import random
import time
from typing import NamedTuple

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


class Deadline(NamedTuple):
    """When (Unix ms) which decision times out, and how long whoever decides may take (ms)."""

    at_ms: int
    decision: str
    allowance_ms: int


def first_deadline(game: Game) -> Deadline | None:
    """Of the waited-for decisions; None where none times out."""
    clock = game.created.clock
    if clock is None or game.ended is not None or game.paused:
        return None
    return min(
        (
            Deadline(d.deadline_ms, decision_id(d.version, d.seat), clock.decision_ms)
            for d in game.waiting()
            if d.deadline_ms
        ),
        default=None,
    )


def due_ms(deadline: Deadline, claimed_ms: int) -> int:
    """When (Unix ms) the deadline counts, under a claim that was made at `claimed_ms`."""
    return max(deadline.at_ms, claimed_ms + min(GRACE_MS, deadline.allowance_ms))


def retry_seconds(failures: int) -> float:
    """The pause after so many time-outs in a row in which the rules failed; jittered, so that many games of one fault
    do not all come at once.
    """
    return min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** min(failures - 1, 30)) * random.uniform(0.75, 1.0)


def play_default(game: Game, decision: str) -> Decided:
    """The command by the clock. Raises Refusal where the decision is no longer waited for, or the game is paused."""
    return time_out(game, decision, at_ms=max(now_ms(), game.at_ms))
