"""A process of the hall: games, a log, one port. It is the whole hall, or one of several that share a log (design
section 7).
"""

import asyncio
import contextlib
import secrets
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.descriptor import ServiceDescriptor

from guildhall.host import operations, packs
from guildhall.host.failures import shutting_down
from guildhall.host.game_host import GameHost
from guildhall.host.holdings import Holdings
from guildhall.host.membership import Alone, Host, Membership
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


def alone(host: Host, partitions: int, log: Log) -> Membership:
    """This hall is to own everything."""
    return Alone(host, partitions)


@dataclass(frozen=True)
class Foundation:
    """What a process of the hall is built on, for what is housed in it beside games."""

    log: Log
    me: Claim
    owners: Owners
    key: Ed25519PrivateKey
    """The hall's own."""
    on_change: Callable[[], None]
    """To be called whenever it may have become ready, or ceased to be."""


class Housed(Protocol):
    """Something beside games that is owned by claims on the same log, as games are: matchmaking."""

    service: ServiceDescriptor
    servicer: Any
    holdings: Any  # Holdings of whatever partitions it has

    @property
    def partitions(self) -> int:
        """Of its topics, after `open`."""
        ...

    async def open(self) -> None:
        """Open its topics. Raises `LogError`."""
        ...

    def close(self) -> None:
        """Take no more requests, and end the open streams."""
        ...

    async def stop(self) -> None:
        """End what else it does."""
        ...


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
    join: Callable[[Host, int, Log], Membership] = alone
    """Who tells a host what to own."""
    one_of_several: bool = False
    """Whether other processes serve the same games. Then a start waits for a log that can't be reached, and ends before
    anything is claimed; a hall that is alone fails where that fails.
    """
    housed: Callable[[Foundation], Housed] | None = None
    """What else is served, beside the games."""
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
        self._names: list[tuple[Holdings[Any], list[str]]] = []
        """What is owned, with the services whose health tells of it."""
        self._housed: Housed | None = None
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
        gate = Gate(Authenticator(keys, key.public_key()), meter)
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
            if config.housed is not None:
                foundation = Foundation(log, me, self._owners, key, self._ready_changed.set)
                housed = self._housed = config.housed(foundation)
                await self._reached(housed.open)
                self._server.add(housed.service, housed.servicer, gate, self._forwarder)
                self._names.append((housed.holdings, [housed.service.full_name]))
            service = OperationsService(self.hosts, self._log, me, self.draining.set, self._owners.of)
            self._server.add(OPERATIONS_SERVICE, service, gate, self._forwarder)
            self._services.append(service)
            await self._server.start(not_ready=["", *(name for _, names in self._names for name in names)])
            # By this whoever looks after this instance knows that it is there.
            await self._server.set_serving(me.instance, True)
            self._telling = asyncio.get_running_loop().create_task(self._tell_health())
            for host in self.hosts.values():
                await host.holdings.join(config.join(host.holdings, host.store.events.partitions, log))
            if self._housed is not None:
                joined = config.join(self._housed.holdings, self._housed.partitions, log)
                await self._housed.holdings.join(joined)
            if not config.one_of_several:
                for holdings in self._holdings:
                    await holdings.claimed()
                await self._tell_health_once()
        except BaseException:
            if self._server is not None:
                await self._server.stop(0.0)
            await self._close()
            raise

    @property
    def _holdings(self) -> list[Holdings[Any]]:
        return [holdings for holdings, _ in self._names]

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
        self._names.append((host.holdings, [messages.rules_service.full_name, messages.view_service.full_name]))
        self._services += [play, views]

    async def _tell_health(self) -> None:
        while True:
            await self._ready_changed.wait()
            self._ready_changed.clear()
            await self._tell_health_once()

    async def _tell_health_once(self) -> None:
        """Health of each game: whether this instance has folded what it owns. "" is the health of the whole server."""
        assert self._server is not None
        for holdings, names in self._names:
            for name in names:
                await self._server.set_serving(name, holdings.ready)
        await self._server.set_serving("", all(holdings.ready for holdings in self._holdings))

    async def stop(self) -> None:
        """Drain: hand over, take nothing more, end streams, let what is in flight become known, store states."""
        if self._server is not None:
            await self._server.refuse()
        if self.config.one_of_several:
            await asyncio.gather(*(holdings.hand_over(HAND_OVER_SECONDS) for holdings in self._holdings))
        for service in self._services:
            service.close()
        if self._housed is not None:
            self._housed.close()
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
        await asyncio.gather(*(holdings.stop(seconds, store_seconds) for holdings in self._holdings))
        if self._housed is not None:
            await self._housed.stop()
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
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await starting
        return
    try:
        await starting
        started(hall)
        draining = asyncio.create_task(hall.draining.wait())
        await asyncio.wait({stopping, draining}, return_when=asyncio.FIRST_COMPLETED)
        draining.cancel()
        _log.info("draining")
        await hall.stop()
        _log.info("stopped")
    finally:
        stopping.cancel()
