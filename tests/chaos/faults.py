"""The fault driver: what goes wrong, where, and for how long. Several lanes of faults run side by side."""

import asyncio
import contextlib
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from random import Random

from tests.chaos.client import Doors
from tests.chaos.line import Line
from tests.chaos.processes import Service
from tests.chaos.redis_server import RedisServer
from tests.chaos.violations import Rule, Violation
from tests.kafka_jars import Broker

SESSION_SECONDS = 6.0
"""After so much silence a member is out of its group (design section 3)."""

PROCESSES = {"kill": 3, "pause": 2, "drain": 2, "last words": 2, "one more": 1}
LINES = {"cut": 3, "hold": 3, "deafen": 3, "delay": 1}
READ_SIDE = {
    "projection kill": 1,
    "projection pause": 1,
    "views kill": 2,
    "views pause": 1,
    "redis kill": 1,
    "redis loss": 1,
    "redis goes back": 1,
    "redis pause": 1,
}
BROKERS = {"broker kill": 3, "broker pause": 2}
CLUSTER = {"broker kill": 6, "broker pause": 4, "majority kill": 1}
"""Faults of each lane with their shares: in a short campaign how many, in a long one how often relative to others."""


@dataclass(frozen=True)
class ReadSide:
    """What serves views; nothing that matters is in it."""

    redis: RedisServer
    projections: Sequence[Service]
    views: Sequence[Service]

    @property
    def services(self) -> list[Service]:
        """All processes but Redis."""
        return [*self.projections, *self.views]


class Faults:
    """Everything that can be broken. `counts` tells what was done, `found` what failed to go on by itself."""

    def __init__(
        self,
        random: Random,
        services: Sequence[Service],
        spare: Service,
        lines: Mapping[str, Line],
        doors: Doors,
        brokers: Sequence[Broker],
        read_side: "ReadSide",
    ) -> None:
        """`lines`: by the service's name."""
        self.counts: Counter[str] = Counter()
        self.found: list[Violation] = []
        self._random = random
        self._services = services
        self._spare = spare
        self._lines = lines
        self._doors = doors
        self._brokers = brokers
        self._read_side = read_side
        self._busy: set[str] = set()
        self._stopped = asyncio.Event()

    async def budget(self, shares: dict[str, int], rest: float) -> None:
        """One lane of a short campaign: every fault as often as its share says, in any order."""
        faults = [name for name, share in shares.items() for _ in range(share)]
        self._random.shuffle(faults)
        await self._lane(faults, rest)

    async def endless(self, shares: dict[str, int], rest: float) -> None:
        """One lane of a long campaign, until `stop`."""
        await self._lane((self._random.choices(list(shares), list(shares.values()))[0] for _ in count()), rest)

    async def supervise(self) -> None:
        """Starts whatever process has ended without having been told to; until it is cancelled."""
        while True:
            await asyncio.sleep(0.5)
            for service in [*self._services, *self._read_side.services]:
                if service.name not in self._busy and not service.running:
                    self.counts["start that failed"] += 1
                    self._blame(service, await service.revive())

    def stop(self) -> None:
        """Each lane ends with the fault that it is at."""
        self._stopped.set()

    async def end(self) -> None:
        """Nothing is broken any more: every line is mended, every process and broker runs."""
        for line in self._lines.values():
            line.mend()
        for broker in self._brokers:
            await asyncio.to_thread(_revive, broker)
        for service in [*self._services, *self._read_side.services]:
            service.send(signal.SIGCONT)
        self._read_side.redis.send(signal.SIGCONT)
        if self._spare.running:
            self._spare.send(signal.SIGCONT)
            await self._drain(self._spare)
        self._doors.open.discard(self._spare.name)

    async def _lane(self, faults: Iterable[str], rest: float) -> None:
        """`rest`: mean seconds between two faults."""
        doing: dict[str, Callable[[], Awaitable[None]]] = {
            "kill": self._kill,
            "pause": self._pause,
            "drain": self._drain_and_start,
            "last words": self._last_words,
            "one more": self._one_more,
            "cut": self._cut,
            "hold": self._hold,
            "deafen": self._deafen,
            "delay": self._delay,
            "projection kill": lambda: self._kill_one_of(self._read_side.projections),
            "projection pause": lambda: self._pause_one_of(self._read_side.projections),
            "views kill": lambda: self._kill_one_of(self._read_side.views),
            "views pause": lambda: self._pause_one_of(self._read_side.views),
            "redis kill": lambda: self._kill_redis(lambda redis: None),
            "redis loss": lambda: self._kill_redis(RedisServer.lose),
            "redis goes back": self._set_redis_back,
            "redis pause": self._pause_redis,
            "broker kill": self._kill_broker,
            "broker pause": self._pause_broker,
            "majority kill": self._kill_majority,
        }
        for fault in faults:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), self._random.uniform(0.5, 1.5) * rest)
                return
            await doing[fault]()
            self.counts[fault] += 1

    # --- processes

    async def _kill(self) -> None:
        async with self._some_service() as service:
            await service.kill()
            await asyncio.sleep(self._random.choice((0.0, 1.0, 3.0)))
            await service.start()

    async def _pause(self) -> None:
        """Longer than the session: it wakes up as a zombie that still believes that it owns."""
        async with self._some_service() as service:
            service.send(signal.SIGSTOP)
            await asyncio.sleep(SESSION_SECONDS + self._random.uniform(1.0, 8.0))
            service.send(signal.SIGCONT)

    async def _drain_and_start(self) -> None:
        async with self._some_service() as service:
            await self._drain(service)
            await service.start()

    async def _drain(self, service: Service) -> None:
        self._blame(service, await service.drain())

    def _blame(self, service: Service, wrong: str) -> None:
        if wrong:
            self.found.append(Violation(Rule.STUCK, service.name, wrong))

    async def _last_words(self) -> None:
        """What a process sent before it was killed arrives when another one owns its partitions already."""
        async with self._some_service() as service:
            self._lines[service.name].hold()
            await asyncio.sleep(self._random.uniform(0.2, 1.0))
            await service.kill()
            await asyncio.sleep(self._random.uniform(0.0, SESSION_SECONDS + 3.0))
            self._lines[service.name].mend()
            await service.start()

    async def _one_more(self) -> None:
        """A process joins, takes its share, and leaves again."""
        if self._spare.running:
            return
        await self._spare.start()
        self._doors.open.add(self._spare.name)
        await asyncio.sleep(self._random.uniform(4.0, 10.0))
        self._doors.open.discard(self._spare.name)
        await self._drain(self._spare)

    @asynccontextmanager
    async def _some_service(self) -> AsyncIterator[Service]:
        """One that no other lane has its hands on."""
        while not (free := [service for service in self._services if service.name not in self._busy]):
            await asyncio.sleep(0.1)
        service = self._random.choice(free)
        with self._taken(service.name):
            yield service

    @contextlib.contextmanager
    def _taken(self, name: str) -> Iterator[None]:
        self._busy.add(name)
        try:
            yield
        finally:
            self._busy.discard(name)

    # --- the read side

    async def _kill_one_of(self, services: Sequence[Service]) -> None:
        service = self._random.choice(services)
        with self._taken(service.name):
            await service.kill()
            await asyncio.sleep(self._random.choice((0.0, 1.0)))
            await service.start()

    async def _pause_one_of(self, services: Sequence[Service]) -> None:
        service = self._random.choice(services)
        service.send(signal.SIGSTOP)
        await asyncio.sleep(self._random.uniform(1.0, 5.0))
        service.send(signal.SIGCONT)

    async def _kill_redis(self, change: Callable[[RedisServer], object]) -> None:
        redis = self._read_side.redis
        await redis.kill()
        change(redis)
        await asyncio.sleep(self._random.choice((0.0, 1.0)))
        await redis.start()

    async def _set_redis_back(self) -> None:
        """To what it was some seconds ago, as a replica is that takes over."""
        redis = self._read_side.redis
        await redis.kill()
        redis.keep_copy()
        await redis.start()
        await asyncio.sleep(self._random.uniform(1.0, 3.0))
        await self._kill_redis(RedisServer.go_back)

    async def _pause_redis(self) -> None:
        self._read_side.redis.send(signal.SIGSTOP)
        await asyncio.sleep(self._random.uniform(0.5, 6.0))
        self._read_side.redis.send(signal.SIGCONT)

    # --- lines

    async def _cut(self) -> None:
        await self._weather(Line.cut, self._random.choice((0.0, 3.0, SESSION_SECONDS + 7.0)))

    async def _hold(self) -> None:
        await self._weather(Line.hold, self._random.choice((1.0, 4.0, SESSION_SECONDS + 7.0)))

    async def _deafen(self) -> None:
        await self._weather(Line.deafen, self._random.uniform(0.3, 3.0))

    async def _delay(self) -> None:
        seconds = self._random.uniform(0.02, 0.2)
        await self._weather(lambda line: line.delay(seconds), self._random.uniform(2.0, 6.0))

    async def _weather(self, change: Callable[[Line], None], seconds: float) -> None:
        async with self._some_service() as service:
            line = self._lines[service.name]
            change(line)
            await asyncio.sleep(seconds)
            line.mend()

    # --- brokers

    async def _kill_broker(self) -> None:
        await self._kill_brokers([self._random.choice(self._brokers)])

    async def _kill_majority(self) -> None:
        """Nothing can be acknowledged meanwhile; what was is still there."""
        await self._kill_brokers(self._random.sample(self._brokers, len(self._brokers) // 2 + 1))

    async def _kill_brokers(self, brokers: list[Broker]) -> None:
        for broker in brokers:
            await asyncio.to_thread(broker.kill)
        await asyncio.sleep(self._random.uniform(0.0, 5.0))
        await asyncio.gather(*(asyncio.to_thread(broker.start) for broker in brokers))

    async def _pause_broker(self) -> None:
        """A leader that wakes up and does not know that there is another one."""
        broker = self._random.choice(self._brokers)
        broker.send(signal.SIGSTOP)
        await asyncio.sleep(self._random.uniform(1.0, 7.0))
        broker.send(signal.SIGCONT)


def _revive(broker: Broker) -> None:
    if broker.running:
        broker.send(signal.SIGCONT)
    else:
        broker.start()
