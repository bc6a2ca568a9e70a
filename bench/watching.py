"""Watching, on Kafka with a process of each role: how soon a watcher sees an accepted command, what idle watchers cost,
how long the last of many watchers waits, and how fast views are given.

Everything, the load included, shares this machine.
"""

import asyncio
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import grpc

from bench.host_latency import percentile
from bench.processes import HallOnKafka, hall_on_kafka
from bench.table import Row
from guildhall.cli.client import Client
from guildhall.cli.tokens import dev_token
from guildhall.kernel.v1.structs import Undo
from tests.kafka_broker import Missing, bootstrap

GAMES = 100
RATE = 500
"""Commands each second, over all games."""
WARM_UP = 5.0
SECONDS = 15.0
IDLE = 2_000
WRITING_SECONDS = 5.0
WRITERS = 32
ON_ONE_GAME = 200
COMMANDS_ON_ONE_GAME = 60
VIEWS = 3_000
VIEWS_AT_ONCE = 32
STREAMS_OF_ONE = 100
"""Streams that one subject opens; a hall takes 128."""
PATIENCE = 60.0
OPTIONS = (("wizard_powers", "false"),)


@dataclass
class Seen:
    """Of the commands of a load: when each was sent, accepted and first seen by a watcher, by game and version."""

    sent: dict[tuple[str, int], float] = field(default_factory=dict)
    accepted: dict[tuple[str, int], float] = field(default_factory=dict)
    seen: dict[tuple[str, int], list[float]] = field(default_factory=dict)

    def since(self, begin: dict[tuple[str, int], float], after: float) -> list[float]:
        """Seconds until each watcher saw what was begun after that time."""
        return [at - begin[key] for key, times in self.seen.items() if begin.get(key, 0.0) > after for at in times]


class Load:
    """Games that play themselves: each seat watches its own, and answers when it is its turn to be asked."""

    def __init__(self, hall: HallOnKafka, name: str) -> None:
        self.subjects = (f"{name}-a", f"{name}-b")
        tokens = [dev_token(hall.data, subject, ("play", "seat", "spectate")) for subject in self.subjects]
        self.rules = [Client("arcane_alley", hall.rules, token, PATIENCE) for token in tokens]
        self.views = [Client("arcane_alley", hall.views, token, PATIENCE) for token in tokens]
        self.random = Random(name)
        self.ready: deque[tuple[int, str, str, Any]] = deque()
        """(seat, game, decision, command) that can be sent now."""
        self.times = Seen()
        self._tasks: set[asyncio.Task[None]] = set()
        self._may: asyncio.Event = asyncio.Event()

    async def create(self) -> str:
        """A new game, watched and played by both seats."""
        game_id = await self.rules[0].create(subjects=self.subjects, options=OPTIONS)
        for seat in (0, 1):
            self._start(self._watch(seat, game_id))
        return game_id

    async def _watch(self, seat: int, game_id: str) -> None:
        answered = ""
        await self.views[seat].view(game_id, 1)
        async for message in self.views[seat].events(game_id, 0):
            if message.events is not None or message.view is not None:
                self.times.seen.setdefault((game_id, message.version), []).append(time.perf_counter())
            for legal in message.decisions:
                if legal.decision.id != answered:
                    answered = legal.decision.id
                    options = [option for option in legal.commands if type(option) is not Undo]
                    self.ready.append((seat, game_id, answered, self.random.choice(options)))
                    self._may.set()
        if seat == 0:
            await self.create()

    async def next(self) -> tuple[int, str, str, Any]:
        """What can be sent next, waited for."""
        while not self.ready:
            self._may.clear()
            await self._may.wait()
        return self.ready.popleft()

    async def send(self, seat: int, game_id: str, decision: str, command: Any) -> None:
        """One command, its times kept."""
        before = time.perf_counter()
        version = await self.rules[seat].submit(game_id, decision, command)
        if version:
            self.times.sent[game_id, version] = before
            self.times.accepted[game_id, version] = time.perf_counter()

    async def at_rate(self, rate: float, seconds: float) -> None:
        """So many commands a second; what is late is sent as soon as it can be."""
        begin = time.perf_counter()
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, begin + number / rate - time.perf_counter()))
            move = await self.next()
            self._start(self.send(*move))

    async def flat_out(self, writers: int, seconds: float) -> float:
        """Accepted commands a second, with so many writers that each wait for their answer."""
        until = time.perf_counter() + seconds
        done = 0

        async def write() -> None:
            nonlocal done
            while time.perf_counter() < until:
                await self.send(*await self.next())
                done += 1

        begin = time.perf_counter()
        await asyncio.gather(*(write() for _ in range(writers)))
        return done / (time.perf_counter() - begin)

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for client in (*self.rules, *self.views):
            await client.close()


def rows() -> Iterable[Row]:
    """Nothing where no broker can be had."""
    try:
        with bootstrap() as kafka:
            yield from asyncio.run(measure(kafka))
    except Missing as missing:
        print(f"not measured: {missing}")


async def measure(kafka: str) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="guildhall-bench-") as directory:
        async with hall_on_kafka(kafka, Path(directory)) as hall:
            return [
                *await views(hall),
                *await one_game(hall),
                *await seen(hall),
                *await idle(hall),
            ]


async def seen(hall: HallOnKafka) -> list[Row]:
    """Accepted → seen, at `RATE` over `GAMES`, each watched from both seats."""
    load = Load(hall, "seen")
    await asyncio.gather(*(load.create() for _ in range(GAMES)))
    await load.at_rate(RATE, WARM_UP)
    begin = time.perf_counter()
    await load.at_rate(RATE, SECONDS)
    rate = len([at for at in load.times.accepted.values() if at > begin]) / (time.perf_counter() - begin)
    await asyncio.sleep(0.5)
    times = load.times
    accepted, sent = times.since(times.accepted, begin), times.since(times.sent, begin)
    answers = [at - times.sent[key] for key, at in times.accepted.items() if at > begin]
    await load.close()
    beside = f"{rate:.0f} commands/s, {GAMES} games, {2 * GAMES} watchers; {len(accepted):,} times"
    answered = f"sent → accepted p50 {percentile(answers, 0.5):.1f}, p99 {percentile(answers, 0.99):.1f} ms"
    return [
        Row("accepted → seen by a watcher, p50", percentile(accepted, 0.5), "ms", 10.0, True, beside),
        Row("accepted → seen by a watcher, p99", percentile(accepted, 0.99), "ms", 50.0, True),
        Row("sent → seen by a watcher, p50", percentile(sent, 0.5), "ms", beside=answered),
        Row("sent → seen by a watcher, p99", percentile(sent, 0.99), "ms"),
    ]


@asynccontextmanager
async def watchers(hall: HallOnKafka, games: Sequence[str], count: int) -> AsyncIterator[list[AsyncIterator[Any]]]:
    """So many open streams, spread over the games and over spectators, each with its first message read."""
    channels: list[grpc.aio.Channel] = []
    calls: list[Any] = []
    streams: list[AsyncIterator[Any]] = []
    for number in range(count):
        if number % STREAMS_OF_ONE == 0:
            subject = f"watcher-{number // STREAMS_OF_ONE}"
            token = dev_token(hall.data, subject, ("spectate",))
            client = Client("arcane_alley", hall.views, token, PATIENCE)
            await client.ready()
            channels.append(client._channel)
        stub = channels[-1].unary_stream(
            "/guildhall.arcane_alley.v1.ViewService/WatchView",
            request_serializer=client.wire.encode_WatchViewRequest,
            response_deserializer=client.wire.decode_WatchViewResponse,
        )
        request = client.wire.WatchViewRequest(game_id=games[number % len(games)], mode=client.wire.WatchMode.EVENTS)
        calls.append(stub(request, metadata=(("authorization", f"Bearer {token}"),)))
        messages = aiter(calls[-1])
        assert (await anext(messages)).view is not None
        streams.append(messages)
    try:
        yield streams
    finally:
        for call in calls:
            call.cancel()
        for channel in channels:
            await channel.close()


async def idle(hall: HallOnKafka) -> list[Row]:
    """What `IDLE` watchers of games in which nothing happens cost: memory of the views, and the writers' rate."""
    quiet, load = Load(hall, "quiet"), Load(hall, "writers")
    games = [await quiet.rules[0].create(subjects=quiet.subjects, options=OPTIONS) for _ in range(GAMES)]
    for game in games:
        await quiet.views[0].view(game, 1)
    await asyncio.gather(*(load.create() for _ in range(WRITERS)))
    await load.flat_out(WRITERS, WRITING_SECONDS)
    without = [await load.flat_out(WRITERS, WRITING_SECONDS)]
    with_them = []
    grown = []
    for _ in range(2):
        before = resident(hall.views_pid)
        async with watchers(hall, games, IDLE):
            grown.append(resident(hall.views_pid) - before)
            with_them.append(await load.flat_out(WRITERS, WRITING_SECONDS))
        await asyncio.sleep(1.0)
        without.append(await load.flat_out(WRITERS, WRITING_SECONDS))
    await load.close()
    await quiet.close()
    beside = f"{IDLE:,} watchers of {GAMES} games, in one process of views"
    rates = f"{median(with_them):,.0f} commands/s with them, {median(without):,.0f} without, in turns"
    return [
        Row("memory per idle watcher", grown[0] / IDLE / 1024, "KB", 20.0, True, beside),
        Row("writers' rate with 2,000 idle watchers", median(with_them) / median(without), "×", beside=rates),
    ]


async def one_game(hall: HallOnKafka) -> list[Row]:
    """From accepted to the last of `ON_ONE_GAME` watchers."""
    load = Load(hall, "one")
    game_id = await load.create()
    last: dict[int, float] = {}
    heard: dict[int, int] = {}

    async def follow(stream: AsyncIterator[Any]) -> None:
        async for message in stream:
            if message.events is not None or message.view is not None:
                last[message.version] = time.perf_counter()
                heard[message.version] = heard.get(message.version, 0) + 1

    accepted: dict[int, float] = {}
    async with watchers(hall, [game_id], ON_ONE_GAME) as streams:
        following = [asyncio.create_task(follow(stream)) for stream in streams]
        for _ in range(COMMANDS_ON_ONE_GAME):
            move = await load.next()
            if move[1] != game_id:
                break
            version = await load.rules[move[0]].submit(*move[1:])
            accepted[version] = time.perf_counter()
            async with asyncio.timeout(PATIENCE):
                while heard.get(version, 0) < ON_ONE_GAME:
                    await asyncio.sleep(0.001)
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
    await load.close()
    seconds = [last[version] - at for version, at in accepted.items()]
    beside = f"{ON_ONE_GAME} watchers that read in one process, {len(seconds)} commands"
    return [
        Row("accepted → seen by the last of 200 watchers, p50", percentile(seconds, 0.5), "ms", beside=beside),
        Row("accepted → seen by the last of 200 watchers, worst", max(seconds) * 1e3, "ms"),
    ]


async def views(hall: HallOnKafka) -> list[Row]:
    """GetView of `GAMES` games: one at a time, and many at once."""
    load = Load(hall, "views")
    games = [await load.rules[0].create(subjects=load.subjects, options=OPTIONS) for _ in range(GAMES)]
    for game in games:
        await load.views[0].view(game, 1)

    async def ask(count: int, into: list[float]) -> None:
        for number in range(count):
            before = time.perf_counter()
            await load.views[number % 2].view(games[number % GAMES])
            into.append(time.perf_counter() - before)

    alone: list[float] = []
    await ask(VIEWS, alone)
    together: list[float] = []
    begin = time.perf_counter()
    await asyncio.gather(*(ask(VIEWS // VIEWS_AT_ONCE, together) for _ in range(VIEWS_AT_ONCE)))
    rate = len(together) / (time.perf_counter() - begin)
    await load.close()
    return [
        Row("GetView, 1 at once, p50", percentile(alone, 0.5), "ms", beside=f"p99 {percentile(alone, 0.99):.2f} ms"),
        Row(
            f"GetView, {VIEWS_AT_ONCE} at once",
            rate,
            "views/s",
            beside=f"p50 {percentile(together, 0.5):.1f}, p99 {percentile(together, 0.99):.1f} ms, one process asks",
        ),
    ]


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024
