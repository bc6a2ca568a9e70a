"""A process of the hall: games, a log, one port. It is the whole hall, or one of several that share a log (design
section 7).
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.descriptor import ServiceDescriptor

from guildhall.host import operations, packs
from guildhall.host.door import Door, DoorConfig
from guildhall.host.failures import shutting_down
from guildhall.host.game_host import GameHost
from guildhall.host.holdings import Holdings
from guildhall.host.membership import Alone, Host, Membership
from guildhall.host.messages import Messages
from guildhall.host.operations import OPERATIONS_SERVICE, OperationsService, Pools
from guildhall.host.owners import Owners
from guildhall.host.partition import Upkeep
from guildhall.host.rules_service import RulesService
from guildhall.kernel.rules import Rules
from guildhall.log import topics
from guildhall.log.errors import LogUnavailable
from guildhall.log.port import Claim, Log
from guildhall.log.sqlite import open_sqlite
from guildhall.rpc.forwarding import Forwarder
from guildhall.rpc.server import Server
from guildhall.telemetry import logs

LOG_FILE = "log.sqlite"
"""Name of the log in the data directory."""

REACH_AGAIN_SECONDS = 1.0

HAND_OVER_SECONDS = 0.7
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
    def pools(self) -> Pools:
        """What operators may see of it and do to it."""
        ...

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


class Beside(Protocol):
    """Services that run beside the rules in the same process, over the same log, on the same port."""

    async def open(self, log: Log) -> None:
        """Take up the log. Raises `LogError`."""
        ...

    def add_to(self, door: Door) -> Sequence[str]:
        """Add the services, before the server starts; their names, which are not ready yet."""
        ...

    async def start(self) -> None:
        """Begin, and be ready when this returns. Raises `LogError`."""
        ...

    def close(self) -> None:
        """Take no more requests, end the open streams."""
        ...

    async def stop(self) -> None:
        """End everything; also what has not begun."""
        ...


@dataclass(frozen=True, kw_only=True)
class HallConfig(DoorConfig):
    """A process of the hall that serves the rules of games."""

    games: Sequence[Rules]
    advertise: str | None = None
    """Where other processes of the hall reach this one, as `host:port`; None: at `address` and the port."""
    open_log: Callable[[Path], Log] = open_sqlite
    """Opens the log, given the file that a hall on one machine keeps it in."""
    join: Callable[[Host, int, Log], Membership] = alone
    """Who tells a host what to own."""
    housed: Callable[[Foundation], Housed] | None = None
    """What else is owned, beside the games."""
    beside: Callable[[], Beside] | None = None
    """What runs in the same process."""
    upkeep: Upkeep = field(default_factory=Upkeep)
    store_seconds: float = 0.2
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
        self._services: list[RulesService | OperationsService] = []
        self.beside: Beside | None = None
        """What runs in the same process, after `start`."""
        self._names: list[tuple[Holdings[Any], str]] = []
        """What is owned, with the service whose health tells of it."""
        self._housed: Housed | None = None
        self._up = False
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
        door = Door(config)
        self.key_id = door.key_id
        log = self._log = config.open_log(config.data / LOG_FILE)
        try:
            await self._reached(lambda: packs.sync(log, config.games))
            # Before anything is claimed: the claim tells the port, and a taken one must not take anybody's games.
            self.port = door.bind()
            self._server = door.server
            me = Claim(secrets.token_hex(16), config.advertise or f"{config.address}:{self.port}")
            self._owners = Owners(await self._reached(lambda: log.compacted(topics.OWNERS, 1)), me)
            await self._reached(self._owners.start)
            self._forwarder = Forwarder(self._owners)
            for rules in config.games:
                await self._add(rules, me, door)
            if config.housed is not None:
                foundation = Foundation(log, me, self._owners, door.key, self._ready_changed.set)
                await self._house(config.housed(foundation), door)
            service = OperationsService(self.hosts, self._log, me, self.draining.set, self._owners.all)
            service.pools = self._housed.pools if self._housed is not None else None
            self._server.add(OPERATIONS_SERVICE, service, door.gate, self._forwarder)
            self._services.append(service)
            beside: Sequence[str] = ()
            if config.beside is not None:
                self.beside = config.beside()
                await self.beside.open(log)
                beside = self.beside.add_to(door)
            await self._server.start(not_ready=["", *(name for _, name in self._names), *beside])
            # By this whoever looks after this instance knows that it is there.
            await self._server.set_serving(me.instance, True)
            self._telling = asyncio.get_running_loop().create_task(self._tell_health())
            for host in self.hosts.values():
                await host.holdings.join(config.join(host.holdings, host.store.events.partitions, log))
            if self._housed is not None:
                await self._housed.holdings.join(config.join(self._housed.holdings, self._housed.partitions, log))
            if not config.one_of_several:
                for holdings in self._holdings:
                    await holdings.claimed()
            if self.beside is not None:
                await self.beside.start()
                for name in beside:
                    await self._server.set_serving(name, True)
            self._up = True
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
                _log.warning("the log can't be reached; trying again", why=logs.said(error))
                await asyncio.sleep(REACH_AGAIN_SECONDS)

    async def _add(self, rules: Rules, me: Claim, door: Door) -> None:
        assert self._log is not None and self._server is not None and self._owners is not None
        messages = Messages(rules)
        host = GameHost(rules, self._log, me, self._owners, self.config.upkeep, self._ready_changed.set)
        self.hosts[rules.game] = host
        await self._reached(host.open)
        operations.measure(host)
        service = RulesService(host, messages, door.meter)
        self._server.add(messages.rules_service, service, door.gate, self._forwarder)
        self._names.append((host.holdings, messages.rules_service.full_name))
        self._services.append(service)

    async def _house(self, housed: Housed, door: Door) -> None:
        assert self._server is not None
        self._housed = housed
        await self._reached(housed.open)
        # Reads wait for the log, or for what others make of it.
        gate = replace(door.gate, calls_bounded=True)
        self._server.add(housed.service, housed.servicer, gate, self._forwarder)
        self._names.append((housed.holdings, housed.service.full_name))

    async def _tell_health(self) -> None:
        while True:
            await self._ready_changed.wait()
            self._ready_changed.clear()
            await self._tell_health_once()

    async def _tell_health_once(self) -> None:
        """Health of each game: whether this instance has folded what it owns. "" is the health of the whole server."""
        assert self._server is not None
        for holdings, name in self._names:
            await self._server.set_serving(name, holdings.ready)
        await self._server.set_serving("", self._up and all(holdings.ready for holdings in self._holdings))

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
        if self.beside is not None:
            self.beside.close()
        if self._forwarder is not None:
            self._forwarder.end(shutting_down())
        if self._server is not None:
            await self._server.stop(self.config.drain_seconds)
        await self._close()

    async def _close(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
        if self.beside is not None:
            await self.beside.stop()
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
