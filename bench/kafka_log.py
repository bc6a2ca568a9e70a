"""The log on Kafka, beside the bare client on the same broker in the same run: acknowledged appends, and the fold.

One broker on this machine, started for the run: durable in the operating system's memory only, as in development.
"""

import asyncio
from collections.abc import Iterable
from statistics import median, quantiles
from time import perf_counter

from confluent_kafka import KafkaError, Message, Producer

from bench.processes import once_available
from bench.table import Row
from guildhall.log.fold import FoldState
from guildhall.log.kafka import KafkaLog, open_kafka
from guildhall.log.kafka_client import Connection
from guildhall.log.port import Appended, Claim, EventsTopic
from guildhall.log.reader import fold_to_end
from guildhall.log.writer import Writer
from tests.kafka_broker import Missing, bootstrap

BODY = bytes(300)
HASH = bytes(32)
ALONE = 3000
GAMES = 256
ROUNDS = 200
REPEATS = 5


def rows() -> Iterable[Row]:
    """Medians over several repeats, port and bare client in turn. Nothing where no broker can be had."""
    try:
        with bootstrap() as address:
            return asyncio.run(_measure(address))
    except Missing as missing:
        print(f"not measured: {missing}")
        return []


async def _measure(address: str) -> list[Row]:
    log = open_kafka(address, single_broker_not_durable=True)
    await once_available(lambda: log.events("guildhall.bench.first", 1))
    producer = Producer(Connection(address).producer())
    alone: list[list[float]] = []
    bare_alone: list[list[float]] = []
    rates: list[float] = []
    bare_rates: list[float] = []
    folds: list[float] = []
    for repeat in range(REPEATS):
        alone.append(await _alone(await log.events(f"guildhall.bench.alone{repeat}", 1)))
        name = f"guildhall.bench.bare{repeat}"
        await log.events(name, 1)
        bare_alone.append(_bare_alone(producer, name))
        bare_rates.append(_bare_rate(producer, name))
        rate, fold = await _rates(log, f"guildhall.bench.many{repeat}")
        rates.append(rate)
        folds.append(fold)
    await log.close()
    p50, p99 = _percentiles(alone)
    bare_p50, bare_p99 = _percentiles(bare_alone)
    bare = f"bare client: p50 {bare_p50:.2f}, p99 {bare_p99:.2f} ms"
    return [
        Row("append on Kafka, 1 in flight, p50", p50, "ms", beside=bare),
        Row("append on Kafka, 1 in flight, p99", p99, "ms", beside=bare),
        Row(
            f"appends on Kafka, {GAMES} waiting games",
            median(rates),
            "/s",
            beside=f"bare client, {GAMES} at once, each round awaited: {median(bare_rates):,.0f}/s",
        ),
        Row("fold from Kafka, no rules", median(folds), "records/s", beside=f"{GAMES * ROUNDS:,} records"),
    ]


def _percentiles(repeats: list[list[float]]) -> tuple[float, float]:
    """Medians of the repeats' p50 and p99, in milliseconds."""
    cuts = [quantiles(times, n=100) for times in repeats]
    return median(cut[49] for cut in cuts) * 1000, median(cut[98] for cut in cuts) * 1000


async def _alone(topic: EventsTopic) -> list[float]:
    """Seconds of each append of one game, by the writer."""
    writer = Writer(topic, 0, Claim("bench", "here"), FoldState(), lambda verdict: None)
    await writer.claim()
    times = []
    for seq in range(1, ALONE + 1):
        start = perf_counter()
        outcome = await writer.append("game", seq, HASH, BODY)
        times.append(perf_counter() - start)
        assert isinstance(outcome, Appended)
    await writer.close()
    return times


async def _rates(log: KafkaLog, name: str) -> tuple[float, float]:
    """Appends per second by the writer, each game one at a time; then records per second folded from the beginning."""
    topic = await log.events(name, 1)
    writer = Writer(topic, 0, Claim("bench", "here"), FoldState(), lambda verdict: None)
    await writer.claim()

    async def play(game: str) -> None:
        for seq in range(1, ROUNDS + 1):
            outcome = await writer.append(game, seq, HASH, BODY)
            assert isinstance(outcome, Appended)

    start = perf_counter()
    await asyncio.gather(*(play(f"game {n}") for n in range(GAMES)))
    appended = perf_counter() - start
    await writer.close()
    state = FoldState()
    start = perf_counter()
    await fold_to_end(topic, 0, state, lambda verdict: None)
    return GAMES * ROUNDS / appended, state.next_offset / (perf_counter() - start)


def _bare_alone(producer: Producer, topic: str) -> list[float]:
    times = []
    for _ in range(ALONE):
        start = perf_counter()
        bare_round(producer, topic, 1)
        times.append(perf_counter() - start)
    return times


def _bare_rate(producer: Producer, topic: str) -> float:
    start = perf_counter()
    for _ in range(ROUNDS):
        bare_round(producer, topic, GAMES)
    return GAMES * ROUNDS / (perf_counter() - start)


def bare_round(producer: Producer, topic: str, count: int, body: bytes = BODY) -> None:
    """Produces so many records and waits for all reports."""
    reported = 0

    def report(error: KafkaError | None, message: Message) -> None:
        nonlocal reported
        assert error is None
        reported += 1

    for _ in range(count):
        producer.produce(topic, body, b"game", 0, on_delivery=report)
    while reported < count:
        producer.poll(1)
