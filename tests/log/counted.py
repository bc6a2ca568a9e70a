"""Events of which is noted where they are read from."""

from collections.abc import Sequence
from typing import Any

from guildhall.log.port import EventsTopic, Record


class Counted:
    """An `EventsTopic`; `read_from` are the offsets of all reads so far."""

    def __init__(self, topic: EventsTopic) -> None:
        self._topic = topic
        self.read_from: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._topic, name)

    async def read(self, partition: int, offset: int, limit: int) -> Sequence[Record]:
        self.read_from.append(offset)
        return await self._topic.read(partition, offset, limit)
