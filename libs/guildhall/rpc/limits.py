"""Bounds for each subject: a token bucket over its requests, caps on its streams and calls."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from guildhall.rpc.errors import Failure

_CALL_AGAIN_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Limits:
    """What one subject may use, and how large a request may be."""

    requests_per_second: float = 2_000.0
    burst: float = 4_000.0
    streams: int = 128
    calls: int = 64
    """Unary calls in flight, where they are bounded (`Gate.calls_bounded`)."""
    request_bytes: int = 64 * 1024


class Meter:
    """Counts what each subject uses. Subjects at rest take no memory."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._streams: dict[str, int] = {}
        self._calls: dict[str, int] = {}
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

    def open_stream(self, subject: str, *, capped: bool = True) -> None:
        """One more open stream, until `close_stream`. Raises Failure TOO_MANY_STREAMS where that is capped.

        (No context manager: that takes more memory than all else that a stream has here, and thousands may be open.)
        """
        if capped and self._streams.get(subject, 0) >= self.limits.streams:
            raise Failure("TOO_MANY_STREAMS", f"At most {self.limits.streams} streams of one subject may be open.")
        self._streams[subject] = self._streams.get(subject, 0) + 1

    def close_stream(self, subject: str) -> None:
        """One less."""
        self._streams[subject] -= 1
        if not self._streams[subject]:
            del self._streams[subject]

    @contextmanager
    def call(self, subject: str) -> Iterator[None]:
        """One unary call in flight. Raises Failure RATE_LIMITED."""
        if self._calls.get(subject, 0) >= self.limits.calls:
            told = f"At most {self.limits.calls} requests of one subject may wait for their answers."
            raise Failure("RATE_LIMITED", told, {"retry_after_seconds": f"{_CALL_AGAIN_SECONDS:.3f}"})
        self._calls[subject] = self._calls.get(subject, 0) + 1
        try:
            yield
        finally:
            self._calls[subject] -= 1
            if not self._calls[subject]:
                del self._calls[subject]

    def _sweep(self, now: float) -> None:
        """Forget the buckets that have filled up again."""
        full = self.limits.burst / self.limits.requests_per_second
        self._buckets = {s: bucket for s, bucket in self._buckets.items() if now - bucket[1] < full}
        self._swept = now
