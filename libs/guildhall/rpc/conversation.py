"""A stream in both directions: its messages until the caller, the token's expiry or the hall ends it."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator

from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller

ENDS_STREAM = frozenset({"OUTCOME_UNKNOWN", "LOG_UNAVAILABLE", "NOT_OWNER", "SHUTTING_DOWN"})
"""Reasons of failures with which a stream cannot go on; others are answers."""


class Conversation:
    """One caller's stream."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._why: Failure | None = None
        self._reading: asyncio.Task[object] | None = None

    def end(self, why: Failure) -> None:
        """End the stream before its next message is read; what is under way is answered first."""
        if self._why is None:
            self._why = why
            if self._reading is not None:
                self._reading.cancel()

    async def messages(self, requests: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """The caller's messages. Raises Failure: what `end` was told, or TOKEN_EXPIRED."""
        expired = Failure("TOKEN_EXPIRED", "The token has expired.")
        timer = asyncio.get_running_loop().call_later(max(0.0, self._caller.expires - time.time()), self.end, expired)
        incoming = aiter(requests)
        try:
            while True:
                message = await self._read(incoming)
                if message is None:
                    return
                yield message
        finally:
            timer.cancel()

    async def _read(self, incoming: AsyncIterator[bytes]) -> bytes | None:
        """The next message; None at the end."""
        self._check()
        task = asyncio.current_task()
        assert task is not None
        self._reading = task
        try:
            return await anext(incoming, None)
        except asyncio.CancelledError:
            self._check(task)
            raise
        finally:
            self._reading = None

    def _check(self, cancelled: "asyncio.Task[object] | None" = None) -> None:
        """Raises Failure where the stream has been ended; that was then why the task was cancelled."""
        if self._why is not None:
            if cancelled is not None:
                cancelled.uncancel()
            raise self._why from None
