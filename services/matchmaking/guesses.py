"""Bounds how often a subject may try codes that are nobody's."""

import math
import time
from collections.abc import Callable

from guildhall.rpc.errors import Failure

BURST = 10
"""Wrong codes at once."""

SECONDS_EACH = 6.0
"""After which one more may be tried."""

_SWEEP_SECONDS = 60.0


class Guesses:
    """Counts each subject's wrong codes. Subjects at rest take no memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: dict[str, tuple[float, float]] = {}
        """(how many, as of when)."""
        self._swept = clock()

    def begin(self, subject: str) -> None:
        """A try; counted as a wrong one until `was_right`. Raises Failure RATE_LIMITED."""
        now = self._clock()
        if now - self._swept > _SWEEP_SECONDS:
            self._swept = now
            self._wrong = {name: wrong for name, wrong in self._wrong.items() if self._left(wrong, now) > 0.0}
        wrong = self._left(self._wrong.get(subject, (0.0, now)), now)
        if wrong > BURST - 1:
            wait = (wrong - (BURST - 1)) * SECONDS_EACH
            message = f"Too many wrong codes; the next may be tried in {math.ceil(wait)} seconds."
            raise Failure("RATE_LIMITED", message, {"retry_after_seconds": f"{wait:.3f}"})
        self._wrong[subject] = (wrong + 1.0, now)

    def was_right(self, subject: str) -> None:
        """It was not a wrong one."""
        now = self._clock()
        self._wrong[subject] = (max(0.0, self._left(self._wrong.get(subject, (0.0, now)), now) - 1.0), now)

    def _left(self, wrong: tuple[float, float], now: float) -> float:
        return max(0.0, wrong[0] - (now - wrong[1]) / SECONDS_EACH)
