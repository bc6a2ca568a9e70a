"""A rules process on Kafka as a client feels it: an accepted command, beside a bare echo and a bare acknowledged
append.

The three take turns, one request of each at a time, so that all meet the same machine. One broker on this machine.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import grpc
from confluent_kafka import Producer

from bench.echo import METHOD
from bench.host_latency import BODY, Table, percentile
from bench.kafka_log import bare_round
from bench.processes import echo_process, once_available, rules_process
from bench.table import ECHO_AND_APPEND, Pace, Row
from guildhall.log.kafka import open_kafka
from guildhall.log.kafka_client import Connection
from tests.kafka_broker import Missing, bootstrap

COMMANDS = 2_000
WARM_UP = 200
REQUEST = bytes(200)
TOPIC = "guildhall.bench.bare"
MUST_P50 = 2.0
MUST_P99 = 10.0
"""Milliseconds."""
GOAL = 1.25
"""Times a bare echo and a bare append, one after the other."""

Seconds = tuple[list[float], list[float], list[float]]
"""Of each accepted command, echo and append."""


def rows() -> Iterable[Row]:
    """Nothing where no broker can be had."""
    try:
        with bootstrap() as kafka:
            commands, echoes, appends = asyncio.run(measure(kafka))
    except Missing as missing:
        print(f"not measured: {missing}")
        return
    echo, append = percentile(echoes, 0.5), percentile(appends, 0.5)
    p50, p99 = percentile(commands, 0.5), percentile(commands, 0.99)
    pace = Pace(ECHO_AND_APPEND, echo + append)
    bare = f"echo {echo:.2f} + append {append:.2f} ms"
    bare_p99 = f"echo p99 {percentile(echoes, 0.99):.2f}, append p99 {percentile(appends, 0.99):.2f} ms"
    yield Row("accepted command on Kafka, 1 in flight, p50", p50, "ms", MUST_P50, True, bare, pace=pace)
    yield Row("accepted command on Kafka, 1 in flight, p99", p99, "ms", MUST_P99, True, bare_p99, pace=pace)
    must = MUST_P50 / ECHO_AND_APPEND.reference
    yield Row("… p50 as a multiple of bare echo + append", p50 / (echo + append), "×", must, True, bare, goal=GOAL)


async def measure(kafka: str) -> Seconds:
    log = open_kafka(kafka, single_broker_not_durable=True)
    await once_available(lambda: log.events(TOPIC, 1))
    producer = Producer(Connection(kafka).producer())
    with tempfile.TemporaryDirectory(prefix="guildhall-bench-") as directory:
        data = Path(directory)
        async with (
            rules_process(kafka, data) as (_, address),
            echo_process() as echo,
            grpc.aio.insecure_channel(echo) as channel,
        ):
            seconds = await take_turns(Table(address, data, "kafka"), channel, producer)
    await log.close()
    return seconds


async def take_turns(table: Table, channel: grpc.aio.Channel, producer: Producer) -> Seconds:
    stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(METHOD)
    commands: list[float] = []
    echoes: list[float] = []
    appends: list[float] = []
    async for client, decision, command in table.moves(COMMANDS + WARM_UP):
        start = time.perf_counter()
        await client.submit(table.game_id, decision, command)
        accepted = time.perf_counter()
        await stub(REQUEST)
        echoed = time.perf_counter()
        bare_round(producer, TOPIC, 1, bytes(BODY))
        commands.append(accepted - start)
        echoes.append(echoed - accepted)
        appends.append(time.perf_counter() - echoed)
    for client in table.clients:
        await client.close()
    return commands[WARM_UP:], echoes[WARM_UP:], appends[WARM_UP:]
