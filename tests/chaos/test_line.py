"""The proxy: what it lets through, holds, loses and cuts."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.chaos.line import Line
from tests.kafka_jars import free_ports


class Echo:
    """A line to a server that says everything back and remembers it."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.heard = b""
        self.writers: list[asyncio.StreamWriter] = []

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.line.ports[0][0])
        self.writers.append(writer)
        return reader, writer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(100):
                self.heard += data
                writer.write(data)
        writer.close()

    async def close(self) -> None:
        for writer in self.writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def echo() -> AsyncIterator[Echo]:
    ports = free_ports(2)
    found = Echo(Line([(ports[0], ports[1])]))
    async with await asyncio.start_server(found.serve, "127.0.0.1", ports[1]):
        await found.line.open()
        try:
            yield found
        finally:
            await found.line.close()
            await found.close()


async def ended(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read(100) == b""
    except ConnectionError:
        return True


async def test_everything_passes_both_ways() -> None:
    async with echo() as there:
        reader, writer = await there.connect()
        sent = bytes(range(256)) * 4000
        writer.write(sent)
        assert await reader.readexactly(len(sent)) == sent
        there.line.delay(0.01)
        writer.write(b"slowly")
        assert await reader.readexactly(6) == b"slowly"


async def test_what_is_held_comes_late() -> None:
    async with echo() as there:
        reader, writer = await there.connect()
        there.line.hold()
        writer.write(b"late")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readexactly(4), 0.1)
        assert there.heard == b""
        there.line.mend()
        assert await reader.readexactly(4) == b"late"


async def test_a_deaf_line_loses_answers_alone() -> None:
    async with echo() as there:
        reader, writer = await there.connect()
        there.line.deafen()
        writer.write(b"heard")
        while there.heard != b"heard":
            await asyncio.sleep(0)
        there.line.mend()
        assert await ended(reader)
        reader, writer = await there.connect()
        writer.write(b"again")
        assert await reader.readexactly(5) == b"again"


async def test_a_cut_line_ends_connections_and_takes_none() -> None:
    async with echo() as there:
        reader, writer = await there.connect()
        writer.write(b"x")
        assert await reader.readexactly(1) == b"x"
        there.line.cut()
        assert await ended(reader)
        assert await ended((await there.connect())[0])
        there.line.mend()
        reader, writer = await there.connect()
        writer.write(b"y")
        assert await reader.readexactly(1) == b"y"
        writer.close()
