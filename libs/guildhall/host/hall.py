"""The whole hall in one process: every game, one log file, one port (design section 7, "One machine")."""

import asyncio
import contextlib
import secrets
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from guildhall.host import packs
from guildhall.host.game_host import GameHost
from guildhall.host.messages import Messages
from guildhall.host.page_tokens import PageTokens
from guildhall.host.partition import Upkeep
from guildhall.host.read_side import HostReadSide
from guildhall.host.rules_service import RulesService
from guildhall.host.view_service import ViewService
from guildhall.host.watch import WatchLimits
from guildhall.kernel.rules import Rules
from guildhall.log.port import Claim, Log
from guildhall.log.sqlite import open_sqlite
from guildhall.rpc.identity import Authenticator, FixedKeys, Keys, derived_secret, key_id, own_key
from guildhall.rpc.limits import Limits, Meter
from guildhall.rpc.server import Gate, Server
from guildhall.telemetry import logs, metrics

LOG_FILE = "log.sqlite"
"""Name of the log in the data directory."""

_log = logs.get("hall")


@dataclass(frozen=True)
class HallConfig:
    """A hall on one machine. `port` 0 takes any free one; `keys` None trusts the hall's own key alone."""

    data: Path
    games: Sequence[Rules]
    address: str = "127.0.0.1"
    port: int = 50051
    metrics_port: int | None = None
    keys: Keys | None = None
    open_log: Callable[[Path], Log] = open_sqlite
    """Opens the log, given the file that a hall on one machine keeps it in."""
    limits: Limits = field(default_factory=Limits)
    watching: WatchLimits = field(default_factory=WatchLimits)
    upkeep: Upkeep = field(default_factory=Upkeep)
    drain_seconds: float = 5.0


class Hall:
    """A running hall: `start`, then `stop`."""

    def __init__(self, config: HallConfig) -> None:
        self.config = config
        self.port = 0
        """The port it listens on, after `start`."""
        self.key_id = ""
        """Id of the hall's own key, after `start`."""
        self.hosts: dict[str, GameHost] = {}
        self._server: Server | None = None
        self._services: list[RulesService | ViewService] = []
        self._log: Log | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open the data directory, fold and claim everything, then listen.

        Raises OSError or ValueError for the directory or its key, `LogError`, BadPack, PortTaken.
        """
        config = self.config
        config.data.mkdir(parents=True, exist_ok=True)
        key = own_key(config.data)
        self.key_id = key_id(key.public_key())
        keys = config.keys or FixedKeys({self.key_id: key.public_key()})
        meter = Meter(config.limits)
        gate = Gate(Authenticator(keys), meter)
        tokens = PageTokens(derived_secret(key, "page tokens"))
        if config.metrics_port is not None:
            metrics.serve(config.metrics_port, config.address)
        self._log = config.open_log(config.data / LOG_FILE)
        try:
            await packs.sync(self._log, config.games)
            self._server = Server()
            # Before anything is claimed: the claim tells the port, and a taken one must not take anybody's games.
            self.port = self._server.bind(config.address, config.port)
            me = Claim(secrets.token_hex(16), f"{config.address}:{self.port}")
            for rules in config.games:
                await self._add(rules, me, gate, meter, tokens)
            await self._server.start()
        except BaseException:
            if self._server is not None:
                await self._server.stop(0.0)
            await self._close()
            raise

    async def _add(self, rules: Rules, me: Claim, gate: Gate, meter: Meter, tokens: PageTokens) -> None:
        assert self._log is not None and self._server is not None
        messages = Messages(rules)
        names = [messages.rules_service.full_name, messages.view_service.full_name]
        host = GameHost(rules, self._log, me, self.config.upkeep, lambda: self._not_serving(names))
        self.hosts[rules.game] = host
        await host.start()
        reads = HostReadSide(host)
        play = RulesService(host, reads, messages, meter)
        views = ViewService(reads, messages, tokens, self.config.watching)
        self._server.add(messages.rules_service, play, gate)
        self._server.add(messages.view_service, views, gate)
        self._services += [play, views]

    def _not_serving(self, services: Sequence[str]) -> None:
        """A game is served elsewhere: health says so."""
        assert self._server is not None
        # The empty name is the health of the whole server.
        for service in (*services, ""):
            task = asyncio.get_running_loop().create_task(self._server.set_serving(service, False))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Drain: take nothing more, end streams, let what is in flight become known, store everything."""
        if self._server is not None:
            await self._server.refuse()
        for service in self._services:
            service.close()
        if self._server is not None:
            await self._server.stop(self.config.drain_seconds)
        await self._close()

    async def _close(self) -> None:
        for host in self.hosts.values():
            await host.stop(self.config.drain_seconds)
        if self._log is not None:
            await self._log.close()


async def serve_all(config: HallConfig, started: Callable[[Hall], None]) -> None:
    """Run a hall until SIGINT or SIGTERM, then drain it; `started` is called when it is up. Raises as `Hall.start`."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    hall = Hall(config)
    starting = asyncio.create_task(hall.start())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await starting
        return
    try:
        await starting
        started(hall)
        await stopping
        _log.info("draining")
        await hall.stop()
        _log.info("stopped")
    finally:
        stopping.cancel()
