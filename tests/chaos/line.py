"""The line between one process and the brokers: TCP proxies that one can delay, hold, deafen and cut."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence


class Line:
    """A proxy in front of each broker, all in the same weather.

        line = Line([(20_001, 30_001), …])                  # (the proxy's port, the port behind it)
        await line.open()
        line.delay(0.2); line.hold(); line.deafen(); line.cut()
        line.mend()
        await line.close()

    `delay`: every chunk waits so many seconds, each way. `hold`: nothing passes, and what was sent arrives when the
    line is mended, also if its sender is dead by then. `deafen`: requests pass, answers are lost; mending ends the
    connections. `cut`: connections end, new ones are refused.
    """

    def __init__(self, ports: Sequence[tuple[int, int]]) -> None:
        self.ports = ports
        self._servers: list[asyncio.Server] = []
        self._pairs: set[_Pair] = set()
        self._serving: set[asyncio.Task[None] | None] = set()
        self._seconds = 0.0
        self._passes = asyncio.Event()
        self._passes.set()
        self._deaf = False
        self._cut = False

    async def open(self) -> None:
        """Listens. Raises OSError."""
        for port, behind in self.ports:
            self._servers.append(await asyncio.start_server(self._serve(behind), "127.0.0.1", port))

    async def close(self) -> None:
        """Ends everything."""
        for server in self._servers:
            server.close()
        self.mend()
        self._end_connections()
        for server in self._servers:
            await server.wait_closed()
        await asyncio.gather(*(task for task in self._serving if task is not None))

    def delay(self, seconds: float) -> None:
        """Slows every chunk down."""
        self._seconds = seconds

    def hold(self) -> None:
        """Lets nothing pass for now."""
        self._passes.clear()

    def deafen(self) -> None:
        """Loses all answers of the brokers."""
        self._deaf = True

    def cut(self) -> None:
        """Ends all connections and takes no new ones."""
        self._cut = True
        self._end_connections()

    def mend(self) -> None:
        """Good weather again."""
        if self._deaf:
            self._end_connections()
        self._seconds, self._deaf, self._cut = 0.0, False, False
        self._passes.set()

    def _end_connections(self) -> None:
        for pair in list(self._pairs):
            pair.end()

    def _serve(self, behind: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            self._serving.add(task)
            try:
                await self._join(reader, writer, behind)
            finally:
                self._serving.discard(task)

        return serve

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, behind: int) -> None:
        try:
            if self._cut:
                raise ConnectionRefusedError
            there, back = await asyncio.open_connection("127.0.0.1", behind)
        except OSError:  # or the broker is down
            writer.transport.abort()
            return
        pair = _Pair(writer, back)
        self._pairs.add(pair)
        try:
            await asyncio.gather(
                self._pump(reader, back, pair, answers=False), self._pump(there, writer, pair, answers=True)
            )
        finally:
            self._pairs.discard(pair)
            pair.end()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pair: "_Pair", *, answers: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                if self._seconds:
                    await asyncio.sleep(self._seconds)
                await self._passes.wait()
                if not (answers and self._deaf):
                    writer.write(data)
                    await writer.drain()
        pair.end()


class _Pair:
    """The two ends of one connection."""

    def __init__(self, *writers: asyncio.StreamWriter) -> None:
        self._writers = writers

    def end(self) -> None:
        """Ends both at once."""
        for writer in self._writers:
            writer.transport.abort()
