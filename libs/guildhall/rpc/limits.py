"""Bounds for each subject: a token bucket over its requests, a cap on its streams."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from guildhall.rpc.errors import Failure


@dataclass(frozen=True, slots=True)
class Limits:
    """What one subject may use, and how large a request may be."""

    requests_per_second: float = 2_000.0
    burst: float = 4_000.0
    streams: int = 128
    request_bytes: int = 64 * 1024


class Meter:
    """Counts what each subject uses. Subjects at rest take no memory."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._streams: dict[str, int] = {}
        self._swept = clock()

    def check_size(self, request: bytes) -> None:
        """Raises Failure MESSAGE_TOO_LARGE."""
        limit = self.limits.request_bytes
        if len(request) > limit:
            raise Failure("MESSAGE_TOO_LARGE", f"A request has at most {limit} bytes.", {"limit": str(limit)})

    def take(self, subject: str) -> None:
        """One request. Raises Failure RATE_LIMITED."""
        now = self._clock()
        limits = self.limits
        left, at = self._buckets.get(subject, (limits.burst, now))
        left = min(limits.burst, left + (now - at) * limits.requests_per_second)
        if left < 1.0:
            wait = (1.0 - left) / limits.requests_per_second
            raise Failure("RATE_LIMITED", "Too many requests; slow down.", {"retry_after_seconds": f"{wait:.3f}"})
        self._buckets[subject] = (left - 1.0, now)
        if now - self._swept > 60.0:
            self._sweep(now)

    @contextmanager
    def stream(self, subject: str, *, capped: bool = True) -> Iterator[None]:
        """One open stream. Raises Failure TOO_MANY_STREAMS where that is capped."""
        open_now = self._streams.get(subject, 0)
        if capped and open_now >= self.limits.streams:
            raise Failure("TOO_MANY_STREAMS", f"At most {self.limits.streams} streams of one subject may be open.")
        self._streams[subject] = open_now + 1
        try:
            yield
        finally:
            left = self._streams[subject] - 1
            if left:
                self._streams[subject] = left
            else:
                del self._streams[subject]

    def _sweep(self, now: float) -> None:
        """Forget the buckets that have filled up again."""
        full = self.limits.burst / self.limits.requests_per_second
        self._buckets = {s: bucket for s, bucket in self._buckets.items() if now - bucket[1] < full}
        self._swept = now
