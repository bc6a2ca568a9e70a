"""A process of the hall: games, a log, one port. It is the whole hall, or one of several that share a log (design
section 7).
"""

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import uvloop

from guildhall.host import operations, packs
from guildhall.host.failures import shutting_down
from guildhall.host.game_host import GameHost
from guildhall.host.membership import Alone, Membership
from guildhall.host.messages import Messages
from guildhall.host.operations import OPERATIONS_SERVICE, OperationsService
from guildhall.host.owners import Owners
from guildhall.host.partition import Upkeep
from guildhall.host.read_side import HostReadSide
from guildhall.host.rules_service import RulesService
from guildhall.host.view_service import ViewService
from guildhall.host.watch import WatchLimits
from guildhall.kernel.rules import Rules
from guildhall.log import topics
from guildhall.log.errors import LogUnavailable
from guildhall.log.port import Claim, Log
from guildhall.log.sqlite import open_sqlite
from guildhall.rpc.forwarding import Forwarder
from guildhall.rpc.identity import Authenticator, FixedKeys, Keys, key_id, own_key
from guildhall.rpc.limits import Limits, Meter
from guildhall.rpc.server import Gate, Server
from guildhall.telemetry import logs, metrics

LOG_FILE = "log.sqlite"
"""Name of the log in the data directory."""

REACH_AGAIN_SECONDS = 1.0

HAND_OVER_SECONDS = 0.5
"""How long one of several processes serves on when it is to exit, until others have claimed what it served."""

T = TypeVar("T")

_log = logs.get("hall")


def alone(host: GameHost, log: Log) -> Membership:
    """This hall is to own everything."""
    return Alone(host, host.store.events.partitions)


@dataclass(frozen=True)
class HallConfig:
    """A process of the hall. `port` 0 takes any free one; `keys` None trusts the hall's own key alone."""

    data: Path
    games: Sequence[Rules]
    address: str = "127.0.0.1"
    port: int = 50051
    advertise: str | None = None
    """Where other processes of the hall reach this one, as `host:port`; None: at `address` and the port."""
    metrics_port: int | None = None
    keys: Keys | None = None
    open_log: Callable[[Path], Log] = open_sqlite
    """Opens the log, given the file that a hall on one machine keeps it in."""
    join: Callable[[GameHost, Log], Membership] = alone
    """Who tells a host what to own."""
    one_of_several: bool = False
    """Whether other processes serve the same games. Then a start waits for a log that can't be reached, and ends before
    anything is claimed; a hall that is alone fails where that fails.
    """
    limits: Limits = field(default_factory=Limits)
    watching: WatchLimits = field(default_factory=WatchLimits)
    upkeep: Upkeep = field(default_factory=Upkeep)
    drain_seconds: float = 5.0
    store_seconds: float = 0.25
    """How long one of several processes, when it is to exit, stores states of what nobody has claimed: others wait for
    what it leaves, so a drain is to take less than a second.
    """


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
        self.draining = asyncio.Event()
        """Set when an operator asks this process to drain."""
        self._services: list[RulesService | ViewService | OperationsService] = []
        self._names: dict[str, list[str]] = {}
        self._forwarder: Forwarder | None = None
        self._owners: Owners | None = None
        self._log: Log | None = None
        self._ready_changed = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the data directory and the log, listen, and be told what to own.

        Raises OSError or ValueError for the directory, its key or the log's settings, `LogError`, BadPack, PortTaken.
        """
        config = self.config
        config.data.mkdir(parents=True, exist_ok=True)
        key = own_key(config.data)
        self.key_id = key_id(key.public_key())
        keys = config.keys or FixedKeys({self.key_id: key.public_key()})
        meter = Meter(config.limits)
        gate = Gate(Authenticator(keys), meter)
        if config.metrics_port is not None:
            metrics.serve(config.metrics_port, config.address)
        log = self._log = config.open_log(config.data / LOG_FILE)
        try:
            await self._reached(lambda: packs.sync(log, config.games))
            self._server = Server()
            # Before anything is claimed: the claim tells the port, and a taken one must not take anybody's games.
            self.port = self._server.bind(config.address, config.port)
            me = Claim(secrets.token_hex(16), config.advertise or f"{config.address}:{self.port}")
            self._owners = Owners(await self._reached(lambda: log.compacted(topics.OWNERS, 1)), me)
            await self._reached(self._owners.start)
            self._forwarder = Forwarder(self._owners)
            for rules in config.games:
                await self._add(rules, me, gate, meter)
            service = OperationsService(self.hosts, self._log, me, self.draining.set, self._owners.of)
            self._server.add(OPERATIONS_SERVICE, service, gate, self._forwarder)
            self._services.append(service)
            await self._server.start(not_ready=["", *(name for names in self._names.values() for name in names)])
            # By this whoever looks after this instance knows that it is there.
            await self._server.set_serving(me.instance, True)
            self._telling = asyncio.get_running_loop().create_task(self._tell_health())
            for host in self.hosts.values():
                await host.join(config.join(host, self._log))
            if not config.one_of_several:
                for host in self.hosts.values():
                    await host.claimed()
                await self._tell_health_once()
        except BaseException:
            if self._server is not None:
                await self._server.stop(0.0)
            await self._close()
            raise

    async def _reached(self, work: Callable[[], Awaitable[T]]) -> T:
        """What the work gives. Raises LogError; a log that can't be reached is waited for by one of several."""
        while True:
            try:
                return await work()
            except LogUnavailable as error:
                if not self.config.one_of_several:
                    raise
                _log.warning("the log can't be reached; trying again", why=str(error))
                await asyncio.sleep(REACH_AGAIN_SECONDS)

    async def _add(self, rules: Rules, me: Claim, gate: Gate, meter: Meter) -> None:
        assert self._log is not None and self._server is not None and self._owners is not None
        messages = Messages(rules)
        host = GameHost(rules, self._log, me, self._owners, self.config.upkeep, self._ready_changed.set)
        self.hosts[rules.game] = host
        await self._reached(host.open)
        operations.measure(host)
        reads = HostReadSide(host)
        play = RulesService(host, reads, messages, meter)
        views = ViewService(reads, messages, self.config.watching)
        self._server.add(messages.rules_service, play, gate, self._forwarder)
        self._server.add(messages.view_service, views, gate, self._forwarder)
        self._names[rules.game] = [messages.rules_service.full_name, messages.view_service.full_name]
        self._services += [play, views]

    async def _tell_health(self) -> None:
        while True:
            await self._ready_changed.wait()
            self._ready_changed.clear()
            await self._tell_health_once()

    async def _tell_health_once(self) -> None:
        """Health of each game: whether this instance has folded what it owns. "" is the health of the whole server."""
        assert self._server is not None
        for game, names in self._names.items():
            for name in names:
                await self._server.set_serving(name, self.hosts[game].ready)
        await self._server.set_serving("", all(host.ready for host in self.hosts.values()))

    async def stop(self) -> None:
        """Drain: hand over, take nothing more, end streams, let what is in flight become known, store states."""
        if self._server is not None:
            await self._server.refuse()
        if self.config.one_of_several:
            await asyncio.gather(*(host.hand_over(HAND_OVER_SECONDS) for host in self.hosts.values()))
        for service in self._services:
            service.close()
        if self._forwarder is not None:
            self._forwarder.end(shutting_down())
        if self._server is not None:
            await self._server.stop(self.config.drain_seconds)
        await self._close()

    async def _close(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
        seconds = self.config.drain_seconds
        # Others wait for what this one leaves; a hall that is alone is waited for by nobody.
        store_seconds = min(seconds, self.config.store_seconds) if self.config.one_of_several else seconds
        await asyncio.gather(*(host.stop(seconds, store_seconds) for host in self.hosts.values()))
        if self._owners is not None:
            await self._owners.stop()
        if self._forwarder is not None:
            await self._forwarder.close()
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
    try:
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            _log.info("told to stop while starting")
            starting.cancel()
            await _in_time(asyncio.wait([starting]), config)
            return
        await starting
        started(hall)
        draining = asyncio.create_task(hall.draining.wait())
        await asyncio.wait({stopping, draining}, return_when=asyncio.FIRST_COMPLETED)
        draining.cancel()
        _log.info("draining")
        await _in_time(hall.stop(), config)
        _log.info("stopped")
    finally:
        stopping.cancel()


async def _in_time(ending: Awaitable[object], config: HallConfig) -> None:
    """An end that does not come is told, and not waited for: what was acknowledged is in the log, whatever blocks."""
    try:
        async with asyncio.timeout(2 * config.drain_seconds + HAND_OVER_SECONDS):
            await ending
    except TimeoutError:
        _log.error("not ended in time; it is not waited for")


def run_process(config: HallConfig, started: Callable[[Hall], None]) -> None:
    """`serve_all` as all that this process does, which it ends. Raises as `Hall.start`."""
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    try:
        runner.run(serve_all(config, started))
    except BaseException:
        runner.close()
        raise
    sys.stdout.flush()
    sys.stderr.flush()
    # All is drained. Taking apart what the clients of Kafka and gRPC have made would take longer than the drain did,
    # and a thread that waits for a broker would be waited for.
    os._exit(0)
