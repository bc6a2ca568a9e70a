"""Told in one process: something was appended. Whoever waits for records need not ask again and again."""

import asyncio
import contextlib
from collections.abc import Sequence

from guildhall.log.errors import LogUnavailable
from guildhall.log.port import EventsTopic, Record

LOOK_AGAIN_SECONDS = 0.25
"""How soon an append of another process is seen, which rings no bell here."""


class Bell:
    """Rung after each append, for one topic and partition."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, int], asyncio.Event] = {}

    def ring(self, topic: str, partition: int) -> None:
        """Wake everybody who waits there."""
        event = self._waiting.pop((topic, partition), None)
        if event is not None:
            event.set()

    def listen(self, topic: str, partition: int) -> asyncio.Event:
        """Set at the next ring."""
        return self._waiting.setdefault((topic, partition), asyncio.Event())


class BellTail:
    """`Tail` over an adapter with a bell: reads, and where there is nothing waits for the bell."""

    def __init__(self, topic: EventsTopic, bell: Bell) -> None:
        self._topic = topic
        self._bell = bell
        self._closed = False

    async def read(self, partition: int, offset: int, limit: int) -> Sequence[Record]:
        while not self._closed:
            # Before the read: what is appended after it rings this one.
            rung = self._bell.listen(self._topic.name, partition)
            records = await self._topic.read(partition, offset, limit)
            if records:
                return records
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                    await rung.wait()
        raise LogUnavailable(f"the tail of {self._topic.name} is closed")

    async def close(self) -> None:
        """Whoever waits sees it when it looks again."""
        self._closed = True
