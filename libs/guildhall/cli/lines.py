"""Lines that a person types, without stopping the event loop."""

import asyncio
import sys
import threading


class Lines:
    """Reads standard input line by line in a thread of its own, which dies with the process."""

    def __init__(self) -> None:
        """Begins to read; made inside a running loop."""
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def next(self) -> str | None:
        """The next line without its end; None when there are no more."""
        line = await self._queue.get()
        if line is None:
            self._queue.put_nowait(None)
        return line

    def _read(self) -> None:
        try:
            for line in sys.stdin:
                self._loop.call_soon_threadsafe(self._queue.put_nowait, line.strip())
            self._loop.call_soon_threadsafe(self._queue.put_nowait, None)
        except RuntimeError:
            return  # the loop has ended: nobody asks any more
