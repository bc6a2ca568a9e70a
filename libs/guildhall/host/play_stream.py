"""A Play stream: its messages until the caller, the token's expiry or the hall ends it."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator

from guildhall.host.messages import required
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller


class PlayStream:
    """One caller's stream of one game."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.game_id = ""
        """The stream's game; "" until it is named."""
        self._why: Failure | None = None
        self._reading: asyncio.Task[object] | None = None

    def end(self, why: Failure) -> None:
        """End the stream before its next message is read; a command that is under way is answered first."""
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

    def game_of(self, named: str) -> str:
        """The stream's game: named in the first message, the same or not named afterwards.

        Raises Failure MALFORMED_MESSAGE, GAME_ID_CHANGED.
        """
        if not self.game_id:
            if not named:
                raise required("game_id", "The first message of a stream names its game.")
            self.game_id = named
        elif named not in ("", self.game_id):
            raise Failure("GAME_ID_CHANGED", "A stream is one game's.", field="game_id")
        return self.game_id
