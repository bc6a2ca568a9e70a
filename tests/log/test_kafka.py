"""What is Kafka's own: what an independent client reads on the broker, foreign records, compaction, sizes."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from kafka import KafkaConsumer
from kafka import TopicPartition as WitnessPartition
from structlog.testing import capture_logs

from guildhall.log.errors import LogUnavailable, LogUnreadable
from guildhall.log.fold import Damaged, Effective, FoldState, Verdict, Void
from guildhall.log.kafka import KafkaLog, open_kafka
from guildhall.log.port import CLAIM_KEY, Appended, Claim, ProducerRecord, Record, TooLarge
from guildhall.log.reader import fold_to_end
from guildhall.log.values import encode_claim
from guildhall.log.writer import Writer

Cluster = tuple[str, bool]


@pytest.fixture
async def log(kafka: Cluster) -> AsyncIterator[KafkaLog]:
    address, single = kafka
    opened = open_kafka(address, single_broker_not_durable=single)
    yield opened
    await opened.close()


def witness(address: str, topic: str, partition: int = 0) -> list[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of every record of the partition, read by a client that isn't the one that wrote them."""
    consumer = KafkaConsumer(bootstrap_servers=address, enable_auto_commit=False)
    place = WitnessPartition(topic, partition)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    end = consumer.end_offsets([place])[place]
    found = []
    while consumer.position(place) < end:
        for records in consumer.poll(timeout_ms=1000).values():
            found += [(record.offset, record.key, record.value) for record in records]
    consumer.close()
    return found


def end_offset(address: str, topic: str) -> int:
    consumer = KafkaConsumer(bootstrap_servers=address)
    place = WitnessPartition(topic, 0)
    end: int = consumer.end_offsets([place])[place]
    consumer.close()
    return end


def alter(address: str, topic: str, **settings: str) -> None:
    entries = [
        ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": address})
    admin.incremental_alter_configs([resource])[resource].result()


async def until(holds: Callable[[], bool]) -> None:
    """Waits for what the broker does in its own time; the test's time-out ends it."""
    while not holds():
        await asyncio.sleep(0.05)


async def test_an_independent_client_reads_what_was_acknowledged(log: KafkaLog, kafka: Cluster, topic: str) -> None:
    events = await log.events(topic, 1)
    writer = Writer(events, 0, Claim("me", "here"), FoldState(), lambda verdict: None)
    await writer.claim()
    outcomes = await asyncio.gather(*(writer.append(f"game {n}", 1, b"hash", b"body") for n in range(100)))
    await writer.close()
    records = witness(kafka[0], topic)
    assert [offset for offset, _, _ in records] == list(range(101))
    assert records[0] == (0, CLAIM_KEY.encode(), encode_claim(Claim("me", "here")))
    for n, outcome in enumerate(outcomes):
        assert isinstance(outcome, Appended) and records[outcome.offset][1] == b"game %d" % n


async def test_foreign_records_are_judged_and_never_skipped(log: KafkaLog, kafka: Cluster, topic: str) -> None:
    events = await log.events(topic, 1)
    told: list[Verdict] = []
    writer = Writer(events, 0, Claim("me", "here"), FoldState(), told.append)
    await writer.claim()
    assert await writer.append("game", 1, b"hash", b"body") == Appended(1)
    [_, (_, _, entry)] = witness(kafka[0], topic)
    foreign = Producer({"bootstrap.servers": kafka[0]})
    foreign.produce(topic, b"no value of ours", b"game", 0)
    foreign.produce(topic, None, b"other", 0)
    foreign.produce(topic, entry, b"\xff\xfe", 0)
    foreign.produce(topic, entry, b"game", 0)
    foreign.produce(topic, b"without a key", None, 0)
    foreign.flush()
    await writer.close()
    verdicts: list[Verdict] = []
    state = FoldState()
    await fold_to_end(events, 0, state, verdicts.append)
    kinds = [type(verdict) for verdict in verdicts[2:]]
    assert kinds == [Damaged, Damaged, Effective, Void, Damaged]
    assert isinstance(verdicts[4], Effective) and verdicts[4].aggregate_id == "\\xff\\xfe"
    assert state.damaged == {"game": 2, "other": 3}
    assert state.newest_claim == 6 and state.owner is None, "a record without a key counts as a claim by nobody"


async def test_a_gap_in_the_offsets_is_named(log: KafkaLog, kafka: Cluster, topic: str) -> None:
    events = await log.events(topic, 1)
    foreign = Producer({"bootstrap.servers": kafka[0], "transactional.id": topic})
    foreign.init_transactions()
    foreign.begin_transaction()
    foreign.produce(topic, b"0", b"k", 0)
    foreign.commit_transaction()  # its marker takes offset 1
    await until(lambda: end_offset(kafka[0], topic) == 2)
    await events.append(0, [ProducerRecord("k", b"2")])
    with pytest.raises(LogUnreadable, match="offset 1 is missing before 2"):
        await events.read(0, 0, 10)


async def test_a_strangers_open_transaction_hides_nothing(log: KafkaLog, kafka: Cluster, topic: str) -> None:
    events = await log.events(topic, 1)
    foreign = Producer({"bootstrap.servers": kafka[0], "transactional.id": topic})
    foreign.init_transactions()
    foreign.begin_transaction()
    foreign.produce(topic, b"0", b"k", 0)
    foreign.flush()
    assert await events.append(0, [ProducerRecord("k", b"1")]) == [Appended(1)]
    assert await events.end_offset(0) == 2
    assert [record.value for record in await events.read(0, 0, 10)] == [b"0", b"1"]
    foreign.abort_transaction()


async def test_events_that_were_deleted_are_named(log: KafkaLog, kafka: Cluster, topic: str) -> None:
    events = await log.events(topic, 1)
    await events.append(0, [ProducerRecord("k", b"%d" % n) for n in range(5)])
    place = TopicPartition(topic, 0, 3)
    admin = AdminClient({"bootstrap.servers": kafka[0]})
    admin.delete_records([place])[place].result()
    with pytest.raises(LogUnreadable, match="offset 1 isn't there"):
        await events.read(0, 1, 10)
    assert [record.offset for record in await events.read(0, 3, 10)] == [3, 4]
    with pytest.raises(LogUnreadable, match="begins at offset 3"):
        await log.events(topic)


async def test_an_offset_beyond_the_end_is_named(log: KafkaLog, topic: str) -> None:
    events = await log.events(topic, 1)
    with pytest.raises(LogUnreadable, match="offset 7 isn't there"):
        await events.read(0, 7, 10)


async def test_many_large_records_at_once_are_not_too_large_together(log: KafkaLog, topic: str) -> None:
    events = await log.events(topic, 1)
    large = b"x" * ((1 << 20) - 1)
    records = [ProducerRecord("k", large if n % 3 == 0 else b"x" * 300_000) for n in range(30)]
    assert list(await events.append(0, records)) == [Appended(n) for n in range(30)]
    assert await events.append(0, [ProducerRecord("k", large + b"x")]) == [TooLarge(1 << 20)]
    found: list[Record] = []
    while len(found) < 30:
        found += await events.read(0, len(found), 1000)
    assert [record.value for record in found] == [record.value for record in records]


async def test_what_the_broker_finds_too_large_is_final(log: KafkaLog, kafka: Cluster, topic: str) -> None:
    events = await log.events(topic, 1)
    alter(kafka[0], topic, max_message_bytes="1000")
    assert await events.append(0, [ProducerRecord("k", b"x" * 2000)]) == [TooLarge(1 << 20)]
    # Of several, the others are appended: the broker alone would refuse them all.
    values = [b"a", b"x" * 2000, b"b"]
    outcomes = await events.append(0, [ProducerRecord("k", value) for value in values])
    assert sorted(map(str, outcomes)) == sorted(map(str, [Appended(0), Appended(1), TooLarge(1 << 20)]))
    assert outcomes[1] == TooLarge(1 << 20)
    assert {record.value for record in await events.read(0, 0, 10)} == {b"a", b"b"}


async def test_a_large_checkpoint_fits_and_a_larger_one_is_refused(log: KafkaLog, topic: str) -> None:
    compacted = await log.compacted(topic, 1)
    checkpoint = b"x" * ((16 << 20) - 1)
    await compacted.put(0, "k", checkpoint)
    assert await compacted.get(0, "k") == checkpoint
    with pytest.raises(LogUnavailable, match="larger than"):
        await compacted.put(0, "k", checkpoint + b"x")


async def test_compaction_changes_nothing_that_is_seen(log: KafkaLog, kafka: Cluster, topic: str) -> None:
    compacted = await log.compacted(topic, 1)
    alter(kafka[0], topic, segment_ms="50", min_cleanable_dirty_ratio="0.001", delete_retention_ms="0")
    for n in range(20):
        await compacted.put(0, f"key {n % 4}", b"%d" % n)
    await compacted.put(0, "gone", b"x")
    # An index that was made before anything is compacted, and so knows offsets that will be gone.
    assert await compacted.get(0, "key 0") == b"16"
    assert await compacted.get(0, "gone") == b"x"
    elsewhere = await log.compacted(topic)
    for n in range(20, 24):
        await elsewhere.put(0, f"key {n % 4}", b"%d" % n)
    await elsewhere.put(0, "gone", None)

    def compacted_away() -> bool:
        # Segments are rolled by what is appended, and the last one is never compacted.
        last = Producer({"bootstrap.servers": kafka[0]})
        last.produce(topic, b"x", b"last", 0)
        last.flush()
        keys = [key for _, key, _ in witness(kafka[0], topic)]
        return keys.count(b"key 0") == 1 and b"gone" not in keys

    await until(compacted_away)
    assert await compacted.get(0, "gone") is None
    assert [await compacted.get(0, f"key {n}") for n in range(4)] == [b"20", b"21", b"22", b"23"]
    assert await elsewhere.get(0, "key 1") == b"21"
    found = {record.key: record.value for record in await compacted.scan(0)}
    assert found == {"key 0": b"20", "key 1": b"21", "key 2": b"22", "key 3": b"23", "last": b"x"}


async def test_cancelling_gives_up_the_outcome_and_not_the_record(log: KafkaLog, topic: str) -> None:
    events = await log.events(topic, 1)
    appending = asyncio.ensure_future(events.append(0, [ProducerRecord("k", b"x")]))
    await asyncio.sleep(0)
    appending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await appending
    assert list(await events.append(0, [ProducerRecord("k", b"y")])) == [Appended(1)]
    assert [record.value for record in await events.read(0, 0, 10)] == [b"x", b"y"]


async def test_after_closing_nothing_is_promised(kafka: Cluster, topic: str) -> None:
    address, single = kafka
    log = open_kafka(address, single_broker_not_durable=single)
    events, compacted = await log.events(topic, 1), await log.compacted(f"{topic}.compacted", 1)
    await log.close()
    [outcome] = await events.append(0, [ProducerRecord("k", b"x")])
    assert "closed" in str(outcome)
    with pytest.raises(LogUnavailable, match="closed"):
        await events.end_offset(0)
    with pytest.raises(LogUnavailable, match="closed"):
        await compacted.put(0, "k", b"x")
    await log.close()


async def test_one_broker_is_told_to_be_not_durable() -> None:
    with capture_logs() as lines:
        await open_kafka("127.0.0.1:1", single_broker_not_durable=True).close()
    assert [line["event"] for line in lines if "not durable" in line["event"]]


async def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="No such configuration property"):
        open_kafka("127.0.0.1:1", client={"no.such.setting": 1})
    with pytest.raises(ValueError, match=r"security\.protocol"):
        open_kafka("127.0.0.1:1", client={"security.protocol": "none"})


async def test_our_promises_outrank_the_clients_settings(kafka: Cluster, topic: str) -> None:
    address, single = kafka
    client: dict[str, str | bool] = {
        "acks": "1",
        "enable.idempotence": False,
        "bootstrap.servers": "127.0.0.1:1",
        "enable.auto.commit": True,
    }
    log = open_kafka(address, single_broker_not_durable=single, client=client)
    assert await (await log.events(topic, 1)).append(0, [ProducerRecord("k", b"x")]) == [Appended(0)]
    await log.close()
