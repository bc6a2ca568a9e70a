"""Whoever waits for what others wait for, too."""

import asyncio
import gc
from typing import Any

import pytest

from guildhall.shared import shared


async def test_whoever_goes_ends_it_for_nobody_else() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    goes, stays = (asyncio.create_task(shared(future)) for _ in range(2))
    await asyncio.sleep(0)
    goes.cancel()
    await asyncio.sleep(0)
    future.set_result(7)
    assert await stays == 7 and goes.cancelled()


async def test_a_failure_is_told_to_whoever_waits_and_to_nobody_when_all_have_gone() -> None:
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))

    async def fail() -> None:
        await asyncio.sleep(0.01)
        raise ValueError("no")

    work = asyncio.create_task(fail())
    with pytest.raises(ValueError):
        await shared(work)
    work = asyncio.create_task(fail())
    goes = asyncio.create_task(shared(work))
    await asyncio.sleep(0)
    goes.cancel()
    await asyncio.wait([work, goes])
    del work, goes
    gc.collect()
    await asyncio.sleep(0)
    assert told == []
