"""`Tail` of every adapter: a topic read on as it grows."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import pytest

from guildhall.log.errors import LogUnavailable
from guildhall.log.port import EventsTopic, Log, ProducerRecord, Record, Tail

COUNT = 2_500
"""More than any adapter reads ahead."""


async def appended(topic: EventsTopic, partition: int, values: Sequence[bytes]) -> None:
    await topic.append(partition, [ProducerRecord("game", value) for value in values])


async def read(tail: Tail, partition: int, offset: int, count: int) -> list[Record]:
    """So many records from an offset on."""
    found: list[Record] = []
    async with asyncio.timeout(30.0):
        while len(found) < count:
            found += await tail.read(partition, offset + len(found), 400)
    assert [record.offset for record in found[:count]] == list(range(offset, offset + count))
    return found[:count]


@pytest.fixture
async def tail(events: EventsTopic) -> AsyncIterator[Tail]:
    made = events.tail()
    yield made
    await made.close()


@pytest.fixture
async def events(log: Log, topic: str) -> EventsTopic:
    return await log.events(topic, 3)


async def test_what_is_there_and_what_comes(events: EventsTopic, tail: Tail) -> None:
    values = [f"{n}".encode() for n in range(COUNT)]
    for begin in range(0, COUNT, 500):
        await appended(events, 1, values[begin : begin + 500])
    assert [record.value for record in await read(tail, 1, 0, COUNT)] == values
    waiting = asyncio.create_task(tail.read(1, COUNT, 400))
    await asyncio.sleep(0.3)
    assert not waiting.done()
    await appended(events, 1, [b"new"])
    async with asyncio.timeout(30.0):
        assert [(record.offset, record.value) for record in await waiting] == [(COUNT, b"new")]


async def test_partitions_do_not_wait_for_each_other(events: EventsTopic, tail: Tail) -> None:
    waiting = asyncio.create_task(tail.read(0, 0, 400))
    await asyncio.sleep(0.1)
    await appended(events, 2, [b"a", b"b"])
    assert [record.value for record in await read(tail, 2, 0, 2)] == [b"a", b"b"]
    assert not waiting.done()
    await appended(events, 0, [b"c"])
    async with asyncio.timeout(30.0):
        assert [record.value for record in await waiting] == [b"c"]


async def test_going_back_and_ahead(events: EventsTopic, tail: Tail) -> None:
    values = [f"{n}".encode() for n in range(50)]
    await appended(events, 0, values)
    for offset in (0, 30, 10, 49, 0):
        found = await read(tail, 0, offset, len(values) - offset)
        assert [record.value for record in found] == values[offset:]


async def test_a_reader_that_was_cancelled_loses_nothing(events: EventsTopic, tail: Tail) -> None:
    """Whoever reads next gets what it would have got."""
    for number in range(5):
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await tail.read(0, number, 400)
        await appended(events, 0, [b"%d" % number])
        assert [record.value for record in await read(tail, 0, number, 1)] == [b"%d" % number]


async def test_a_closed_tail_says_so(events: EventsTopic) -> None:
    tail = events.tail()
    waiting = asyncio.create_task(tail.read(0, 0, 400))
    await asyncio.sleep(0.1)
    await tail.close()
    async with asyncio.timeout(30.0):
        with pytest.raises(LogUnavailable):
            await waiting
    with pytest.raises(LogUnavailable):
        await tail.read(0, 0, 400)
