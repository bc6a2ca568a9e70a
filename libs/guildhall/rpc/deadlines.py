"""How long a request may wait here: a little less than its caller does, so that it gets an answer that says why."""

from typing import TypeAlias

import grpc

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"

LONGEST_WAIT = 30.0
"""Seconds that a request may take where the caller set no deadline, or a later one."""


def patience(context: Context) -> float:
    """Seconds that a method may wait for something before it answers that it did not come."""
    left = context.time_remaining()
    return LONGEST_WAIT if left is None else max(0.0, min(LONGEST_WAIT, left - min(0.3, left / 7)))


def limit(context: Context) -> float:
    """Seconds after which a request is given up: later than `patience`, since an answer that knows why is better."""
    left = context.time_remaining()
    return LONGEST_WAIT + 1.0 if left is None else max(0.0, min(LONGEST_WAIT + 1.0, left - min(0.2, left / 10)))
