"""Kafka's adapter while its broker is stopped, killed, or away: doubt within the deadline, bounded memory, recovery."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

import pytest
from confluent_kafka import Consumer, KafkaError
from structlog.testing import capture_logs

from guildhall.log.errors import LogUnavailable
from guildhall.log.fold import Effective, FoldState, Verdict
from guildhall.log.kafka import KafkaLog, open_kafka
from guildhall.log.kafka_client import Connection
from guildhall.log.kafka_group import KafkaGroup
from guildhall.log.kafka_producer import KafkaProducer
from guildhall.log.kafka_tail import KafkaTail
from guildhall.log.port import Appended, Claim, Doubt, EventsTopic, ProducerRecord, Record
from guildhall.log.reader import fold_to_end
from guildhall.log.writer import RuledOut, Writer
from tests import kafka_broker
from tests.kafka_broker import Broker
from tests.log.test_kafka import alter, witness

SECONDS = 1.0

T = TypeVar("T")


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A broker of these tests' own: each leaves it running."""
    try:
        with kafka_broker.own_broker() as broker:
            yield broker
    except kafka_broker.Missing as missing:
        kafka_broker.give_up(missing)


@pytest.fixture
async def log(broker: Broker) -> AsyncIterator[KafkaLog]:
    opened = open_kafka(
        broker.bootstrap, single_broker_not_durable=True, request_seconds=SECONDS, delivery_seconds=SECONDS
    )
    yield opened
    await opened.close()


async def appended_once_reached(events: EventsTopic, value: bytes) -> Appended:
    """Where a record went by a broker that is back, and may be slow at first: what is in doubt is sent again."""
    while True:
        [outcome] = await events.append(0, record(value))
        if isinstance(outcome, Appended):
            return outcome
        assert isinstance(outcome, Doubt)


async def once_reached(ask: Callable[[], Awaitable[T]]) -> T:
    """What a broker answers that may be slow at first, or say that it does not lead, which is `LogUnavailable`."""
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(LogUnavailable):
                return await ask()
            await asyncio.sleep(0.05)


async def events_topic(log: KafkaLog, topic: str, partitions: int = 1) -> EventsTopic:
    """The topic, made where it is missing, however long that takes."""
    return await once_reached(lambda: log.events(topic, partitions))


def record(value: bytes) -> list[ProducerRecord]:
    return [ProducerRecord("k", value)]


async def test_a_stopped_broker_means_doubt_and_a_loop_that_goes_on(broker: Broker, log: KafkaLog, topic: str) -> None:
    events = await events_topic(log, topic)
    compacted = await once_reached(lambda: log.compacted(f"{topic}.compacted", 1))
    await events.append(0, record(b"before"))
    broker.send(signal.SIGSTOP)
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.01)

    turning = asyncio.create_task(turn())
    try:
        results = await asyncio.gather(
            events.append(0, record(b"doubtful")),
            events.end_offset(0),
            events.read(0, 0, 10),
            compacted.put(0, "k", b"x"),
            compacted.get(0, "k"),
            log.events(f"{topic}.other"),
            return_exceptions=True,
        )
    finally:
        turning.cancel()
        broker.send(signal.SIGCONT)
    [outcome] = results[0] if isinstance(results[0], list) else []
    assert isinstance(outcome, Doubt)
    assert [type(result) for result in results[1:]] == [LogUnavailable] * 5
    assert turns > 20
    after = await appended_once_reached(events, b"after")
    assert await once_reached(lambda: events.end_offset(0)) == after.offset + 1
    values = [r.value for r in await once_reached(lambda: events.read(0, 0, 100))]
    assert values[0] == b"before" and values[-1] == b"after" and values.count(b"doubtful") <= 1
    found = await once_reached(lambda: log.compacted(f"{topic}.compacted"))
    assert await once_reached(lambda: found.put(0, "k", b"y")) >= 0


async def test_what_was_acknowledged_survives_kill_9_of_the_broker(broker: Broker, log: KafkaLog, topic: str) -> None:
    """In the operating system's memory, that is: replication is what protects from losing the machine."""
    events = await events_topic(log, topic)
    told: list[Verdict] = []
    writer = Writer(events, 0, Claim("me", "here"), FoldState(), told.append)
    await writer.claim()
    acknowledged: dict[str, list[int]] = {f"game {n}": [] for n in range(8)}

    async def play(name: str) -> None:
        while len(acknowledged[name]) < 60:
            match await writer.append(name, writer.last_seq(name) + 1, b"hash", name.encode()):
                case Appended(offset=offset):
                    acknowledged[name].append(offset)
                case outcome:
                    assert isinstance(outcome, RuledOut)

    async def outage() -> None:
        while sum(map(len, acknowledged.values())) < 100:
            await asyncio.sleep(0.001)
        broker.kill()
        await asyncio.to_thread(broker.start)

    await asyncio.gather(outage(), *map(play, acknowledged))
    await writer.close()
    keys = {offset: key for offset, key, _ in witness(broker.bootstrap, topic)}
    for name, offsets in acknowledged.items():
        assert all(keys[offset] == name.encode() for offset in offsets)
        assert len(set(offsets)) == 60
    verdicts: list[Verdict] = []
    await fold_to_end(events, 0, FoldState(), verdicts.append)
    assert verdicts == told
    effective = [verdict.offset for verdict in verdicts if isinstance(verdict, Effective)]
    assert effective == sorted(offset for offsets in acknowledged.values() for offset in offsets)


async def test_after_a_restart_questions_find_the_new_leader(broker: Broker, log: KafkaLog, topic: str) -> None:
    events = await events_topic(log, topic)
    await events.append(0, record(b"x"))
    assert (await events.end_offset(0), len(await events.read(0, 0, 10))) == (1, 1)
    broker.kill()
    await asyncio.to_thread(broker.start)
    assert len(await once_reached(lambda: events.read(0, 0, 10))) == 1
    assert await once_reached(lambda: events.end_offset(0)) == 1
    assert (await once_reached(lambda: log.events(topic))).partitions == 1


async def test_the_queue_is_bounded_while_the_broker_is_away(broker: Broker, log: KafkaLog, topic: str) -> None:
    events = await events_topic(log, topic)
    await events.append(0, record(b"before"))
    large = record(b"x" * (1 << 20 - 1))
    broker.send(signal.SIGSTOP)
    try:
        outcomes = await asyncio.gather(*(events.append(0, large * 16) for _ in range(16)))
    finally:
        broker.send(signal.SIGCONT)
    reasons = [outcome.reason for batch in outcomes for outcome in batch if isinstance(outcome, Doubt)]
    assert len(reasons) == 256
    assert any("Queue full" in reason for reason in reasons)
    assert isinstance((await events.append(0, record(b"after")))[0], Appended)


async def test_a_fatal_error_means_a_new_producer(broker: Broker, log: KafkaLog, topic: str) -> None:
    events = await events_topic(log, topic)
    # With this setting, librdkafka gives up for good when the broker refuses a record.
    connection = Connection(broker.bootstrap, 5 * SECONDS, 5 * SECONDS, {"enable.gapless.guarantee": True})
    producer = KafkaProducer(connection)
    assert await producer.append(topic, 0, [(b"k", b"before")], 1000) == [Appended(0)]
    alter(broker.bootstrap, topic, max_message_bytes="1000")
    with capture_logs() as lines:
        refused = [producer.append(topic, 0, [(b"k", b"x" * 2000)], 1000) for _ in range(3)]
        behind = [producer.append(topic, 0, [(b"k", b"x")], 1000) for _ in range(100)]
        outcomes = await asyncio.gather(*refused, *behind)
    assert len(outcomes) == 103, "each has an outcome"
    assert any("new one" in line["event"] for line in lines)
    [after] = await producer.append(topic, 0, [(b"k", b"after")], 1000)
    assert isinstance(after, Appended)
    assert (await events.read(0, after.offset, 10))[0].value == b"after"
    stored = {record.offset for record in await events.read(0, 0, 1000)}
    assert {outcome.offset for [outcome] in outcomes if isinstance(outcome, Appended)} <= stored
    await producer.close()


async def test_closing_leaves_what_is_under_way_in_doubt(broker: Broker, log: KafkaLog, topic: str) -> None:
    events = await events_topic(log, topic)
    await events.append(0, record(b"before"))
    broker.send(signal.SIGSTOP)
    try:
        appending = asyncio.ensure_future(events.append(0, record(b"x")))
        await asyncio.sleep(0)
        await log.close()
        [outcome] = await appending
    finally:
        broker.send(signal.SIGCONT)
    assert isinstance(outcome, Doubt)


async def test_nobody_at_the_address() -> None:
    with capture_logs() as lines:
        log = open_kafka("127.0.0.1:1", request_seconds=0.3, delivery_seconds=0.3)
        for _ in range(3):
            with pytest.raises(LogUnavailable):
                await log.events("guildhall.test.events")
    await log.close()
    warnings = [line["why"] for line in lines if line["log_level"] == "warning"]
    assert warnings and len(warnings) <= 3, "one line for each kind of trouble"


async def test_a_producer_that_cannot_be_made_anew_is_made_later(broker: Broker, log: KafkaLog, topic: str) -> None:
    """Meanwhile every append has an outcome."""
    await events_topic(log, topic)
    good = Connection(broker.bootstrap, 5 * SECONDS, 5 * SECONDS, {"enable.gapless.guarantee": True})
    producer = KafkaProducer(good)
    producer._connection = Connection(broker.bootstrap, client={"no.such.setting": True})
    alter(broker.bootstrap, topic, max_message_bytes="1000")
    with capture_logs() as lines:
        await producer.append(topic, 0, [(b"k", b"x" * 2000)], 1000)
        async with asyncio.timeout(30):
            while not any("can't be made" in line["event"] for line in lines):
                await asyncio.sleep(0.05)
        assert isinstance((await producer.append(topic, 0, [(b"k", b"x")], 1000))[0], Doubt)
        producer._connection = good
        async with asyncio.timeout(30):
            while not isinstance((await producer.append(topic, 0, [(b"k", b"x")], 1000))[0], Appended):
                await asyncio.sleep(0.05)
    await producer.close()


async def test_a_member_that_cannot_be_made_anew_is_made_later(broker: Broker, log: KafkaLog, topic: str) -> None:
    events = await events_topic(log, topic, 3)
    assigned: list[int] = []
    group = KafkaGroup(log.connection, f"{topic}.group", events.name, assigned.extend, lambda revoked: None)
    good, poll = group._settings, group._poll

    def fail() -> None:
        """In the member's own thread: its first client fails, and a new one cannot be made."""
        group._poll = poll  # type: ignore[method-assign]  # the fault
        group._settings = {**good, "no.such.setting": True}
        group._consumer.close()
        poll()

    group._poll = fail  # type: ignore[method-assign]  # the fault
    with capture_logs() as lines:
        group.join()
        async with asyncio.timeout(30):
            while not any("can't be made" in line["event"] for line in lines):
                await asyncio.sleep(0.02)
    assert not assigned
    group._settings = good
    async with asyncio.timeout(30):
        while sorted(assigned) != [0, 1, 2]:
            await asyncio.sleep(0.02)
    await group.leave(10.0)


async def read_by(tail: KafkaTail, offset: int) -> Sequence[Record]:
    async with asyncio.timeout(60):
        return await tail.read(0, offset, 10)


async def test_a_tail_that_cannot_be_made_anew_is_made_later(
    broker: Broker, log: KafkaLog, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile every read has an outcome."""
    events = await events_topic(log, topic)
    await appended_once_reached(events, b"first")
    tail = KafkaTail(log.connection, events)
    assert [found.value for found in await read_by(tail, 0)] == [b"first"]
    waiting = asyncio.create_task(read_by(tail, 1))
    await asyncio.sleep(0)
    good, steer = tail._connection, tail._steer

    def fail(consumer: Consumer) -> None:
        """In the tail's own thread: its first consumer fails, and a new one cannot be made."""
        monkeypatch.setattr(tail, "_steer", steer)
        tail._connection = Connection(broker.bootstrap, client={"no.such.setting": True})
        consumer.close()
        consumer.poll(0)

    with capture_logs() as lines:
        monkeypatch.setattr(tail, "_steer", fail)
        with pytest.raises(LogUnavailable):
            await waiting
        with pytest.raises(LogUnavailable, match=r"no\.such\.setting"):
            while True:
                with contextlib.suppress(RuntimeError):
                    await read_by(tail, 1)
    assert len([line for line in lines if "the tail failed" in line["event"]]) >= 2
    tail._connection = good
    await appended_once_reached(events, b"second")
    assert [found.value for found in await once_reached(lambda: read_by(tail, 1))] == [b"second"]
    await tail.close()


async def test_a_tail_that_is_refused_says_so(broker: Broker, log: KafkaLog, topic: str) -> None:
    """As where its rights are withdrawn: to whoever reads each time, in one line; and it goes on after that."""
    events = await events_topic(log, topic)
    await appended_once_reached(events, b"first")
    tail = KafkaTail(log.connection, events)
    refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    assert len(await read_by(tail, 0)) == 1
    with capture_logs() as lines:
        for _ in range(3):
            waiting = asyncio.create_task(read_by(tail, 1))
            await asyncio.sleep(0)
            await asyncio.to_thread(tail._refused, 0, refused)
            with pytest.raises(LogUnavailable):
                await waiting
    assert [line["event"] for line in lines] == ["the tail can't read"]
    await appended_once_reached(events, b"second")
    assert [found.value for found in await read_by(tail, 1)] == [b"second"]
    await tail.close()
