"""A Redis with a disk, to be killed with and without its data, paused, and set back to an older copy."""

import asyncio
import contextlib
import shutil
import signal
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from guildhall.readmodel.child import server_binary

_READY_SECONDS = 30.0


class RedisServer:
    """One process at a time over the same directory; every write is in its file before it is answered."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._data = directory / "data"
        self._older = directory / "older"
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """For `--redis`."""
        return f"unix://{self._directory / 'redis.sock'}"

    async def start(self) -> None:
        """Returns when it answers, with its data loaded. Raises RuntimeError."""
        self._data.mkdir(parents=True, exist_ok=True)
        with (self._directory / "output").open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *(str(server_binary()), "--port", "0", "--unixsocket", "../redis.sock", "--dir", "."),
                *("--save", "", "--appendonly", "yes", "--appendfsync", "no", "--daemonize", "no"),
                cwd=self._data,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        client = Redis.from_url(self.url)
        try:
            async with asyncio.timeout(_READY_SECONDS):
                while True:
                    with contextlib.suppress(RedisError, OSError):
                        await client.ping()
                        return
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise RuntimeError(f"redis-server does not answer: {self._directory}") from None
        finally:
            await client.aclose()

    def send(self, number: signal.Signals) -> None:
        """Sends a signal, if it runs."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    async def kill(self) -> None:
        """Ends it at once."""
        self.send(signal.SIGKILL)
        if self._process is not None:
            await self._process.wait()

    def keep_copy(self) -> None:
        """Of its data as they are, while it does not run."""
        shutil.rmtree(self._older, ignore_errors=True)
        shutil.copytree(self._data, self._older)

    def lose(self) -> None:
        """All of its data, while it does not run."""
        shutil.rmtree(self._data)

    def go_back(self) -> None:
        """To the copy, while it does not run."""
        shutil.rmtree(self._data)
        shutil.copytree(self._older, self._data)
