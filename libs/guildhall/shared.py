"""Futures for which several wait."""

import asyncio
from typing import TypeVar

T = TypeVar("T")


async def shared(future: asyncio.Future[T]) -> T:
    """What a future brings for which others may wait, too: whoever goes cancels it for nobody else.

    Raises what the future raises.
    """
    heard(future)
    return await asyncio.shield(future)


def heard(future: asyncio.Future[T]) -> None:
    """When all who waited for it have gone, its failure is not to be told as one that nobody retrieved."""
    future.add_done_callback(_hear)


def _hear(future: asyncio.Future[T]) -> None:
    if not future.cancelled():
        future.exception()
