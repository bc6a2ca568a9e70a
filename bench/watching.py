"""Watching, on Kafka with a process of each role: what idle watchers cost, how long the last of many watchers waits,
and how fast views are given. (How soon a watcher sees an accepted command is the measure `seen`.)

Everything, the load included, shares this machine.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import grpc

from bench.host_latency import percentile
from bench.load import OPTIONS, PATIENCE, Load
from bench.processes import HallOnKafka, hall_on_kafka
from bench.table import Row
from guildhall.cli.client import Client
from guildhall.cli.tokens import dev_token
from tests.kafka_broker import Missing, bootstrap

GAMES = 100
IDLE = 2_000
WRITING_SECONDS = 5.0
WRITERS = 32
ON_ONE_GAME = 200
COMMANDS_ON_ONE_GAME = 60
VIEWS = 3_000
VIEWS_AT_ONCE = 32
STREAMS_OF_ONE = 100
"""Streams that one subject opens; a hall takes 128."""


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
                *await idle(hall),
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
