"""Conformance of an adapter to the port: order, offsets, batches, sizes, durability, compaction."""

import asyncio

import pytest

from guildhall.log.port import Appended, Log, ProducerRecord, Record, TooLarge, partition_of
from tests.log.conftest import MAX_RECORD_BYTES, Connect


def records(*values: bytes) -> list[ProducerRecord]:
    return [ProducerRecord(f"key {n}", value) for n, value in enumerate(values)]


async def test_a_new_topic_is_empty(log: Log, topic: str) -> None:
    events = await log.events(topic)
    assert (events.name, events.partitions) == (topic, 12)
    assert await events.end_offset(0) == 0
    assert await events.read(0, 0, 10) == []


async def test_a_batch_lies_in_its_order_at_the_offsets_told(log: Log, topic: str) -> None:
    events = await log.events(topic)
    assert list(await events.append(3, records(b"a", b"b"))) == [Appended(0), Appended(1)]
    assert list(await events.append(3, records(b"c", b""))) == [Appended(2), Appended(3)]
    assert await events.end_offset(3) == 4
    assert await events.read(3, 0, 10) == [
        Record(0, "key 0", b"a"),
        Record(1, "key 1", b"b"),
        Record(2, "key 0", b"c"),
        Record(3, "key 1", b""),
    ]


async def test_reading_starts_and_stops_where_it_is_told(log: Log, topic: str) -> None:
    events = await log.events(topic)
    await events.append(0, records(*[bytes([n]) for n in range(10)]))
    assert [r.offset for r in await events.read(0, 4, 3)] == [4, 5, 6]
    assert [r.offset for r in await events.read(0, 8, 100)] == [8, 9]
    assert await events.read(0, 10, 100) == []


async def test_partitions_and_topics_are_apart(log: Log, topic: str) -> None:
    events, other = await log.events(topic), await log.events(topic + ".other")
    await events.append(0, records(b"here"))
    assert [await events.end_offset(p) for p in range(12)] == [1] + [0] * 11
    assert await other.end_offset(0) == 0
    assert list(await other.append(0, records(b"there"))) == [Appended(0)]


async def test_a_partition_that_is_not_there_is_refused(log: Log, topic: str) -> None:
    events, compacted = await log.events(topic, 2), await log.compacted(topic + ".compacted", 1)
    for partition in (2, -1):
        with pytest.raises(IndexError):
            await events.append(partition, records(b"x"))
        with pytest.raises(IndexError):
            await events.read(partition, 0, 1)
        with pytest.raises(IndexError):
            await events.end_offset(partition)
        with pytest.raises(IndexError):
            await compacted.put(partition, "key", b"x")


async def test_the_count_of_partitions_stays(connect: Connect, topic: str) -> None:
    assert (await (await connect()).events(topic, 5)).partitions == 5
    assert (await (await connect()).events(topic, 12)).partitions == 5
    assert (await (await connect()).compacted(topic + ".compacted", 3)).partitions == 3
    assert (await (await connect()).compacted(topic + ".compacted")).partitions == 3


async def test_a_record_that_is_too_large_leaves_its_batch_alone(log: Log, topic: str) -> None:
    events = await log.events(topic)
    fits = b"x" * (MAX_RECORD_BYTES - len("key 2"))
    outcomes = await events.append(0, records(b"a", fits + b"y", fits))
    assert list(outcomes) == [Appended(0), TooLarge(MAX_RECORD_BYTES), Appended(1)]
    assert [r.key for r in await events.read(0, 0, 10)] == ["key 0", "key 2"]
    assert list(await events.append(0, records(fits + b"y" * 6))) == [TooLarge(MAX_RECORD_BYTES)]
    assert await events.end_offset(0) == 2


async def test_keys_are_any_text_and_values_any_bytes(log: Log, topic: str) -> None:
    events = await log.events(topic)
    key, value = "Zauberladen / é 魔 \0 '", bytes(range(256))
    await events.append(0, [ProducerRecord(key, value)])
    assert await events.read(0, 0, 1) == [Record(0, key, value)]


async def test_a_key_without_utf8_fails_alone(log: Log, topic: str) -> None:
    events, compacted = await log.events(topic), await log.compacted(topic + ".compacted")
    bad, good = events.append(0, [ProducerRecord("\ud800", b"x")]), events.append(0, records(b"y"))
    results = await asyncio.gather(bad, good, compacted.put(0, "\ud800", b"x"), return_exceptions=True)
    assert isinstance(results[0], UnicodeEncodeError) and isinstance(results[2], UnicodeEncodeError)
    assert results[1] == [Appended(0)]


async def test_appends_at_once_each_get_offsets_of_their_own(log: Log, topic: str) -> None:
    events = await log.events(topic)
    outcomes = await asyncio.gather(*(events.append(n % 2, records(b"%d" % n, b"%d!" % n)) for n in range(40)))
    for partition in (0, 1):
        stored = await events.read(partition, 0, 100)
        assert [r.offset for r in stored] == list(range(40))
        for n in range(partition, 40, 2):
            first, second = outcomes[n]
            assert isinstance(first, Appended) and isinstance(second, Appended)
            assert second.offset == first.offset + 1
            assert (stored[first.offset].value, stored[second.offset].value) == (b"%d" % n, b"%d!" % n)


async def test_another_connection_sees_what_was_acknowledged_and_goes_on_from_there(
    connect: Connect, topic: str
) -> None:
    mine, theirs = await (await connect()).events(topic), await (await connect()).events(topic)
    await mine.append(0, records(b"a"))
    assert await theirs.end_offset(0) == 1
    assert list(await theirs.append(0, records(b"b"))) == [Appended(1)]
    assert list(await mine.append(0, records(b"c"))) == [Appended(2)]
    assert [r.value for r in await theirs.read(0, 0, 10)] == [b"a", b"b", b"c"]


async def test_two_connections_at_once_share_the_offsets(connect: Connect, topic: str) -> None:
    topics = [await (await connect()).events(topic) for _ in range(2)]
    outcomes = await asyncio.gather(*(topics[n % 2].append(0, records(b"%d" % n)) for n in range(30)))
    stored = await topics[0].read(0, 0, 100)
    assert [r.offset for r in stored] == list(range(30))
    for n, [outcome] in enumerate(outcomes):
        assert isinstance(outcome, Appended) and stored[outcome.offset].value == b"%d" % n


async def test_a_compacted_topic_keeps_the_newest_of_each_key(log: Log, topic: str) -> None:
    compacted = await log.compacted(topic)
    assert await compacted.get(0, "a") is None
    first = await compacted.put(0, "a", b"1")
    second = await compacted.put(0, "b", b"2")
    third = await compacted.put(0, "a", b"3")
    await compacted.put(1, "a", b"elsewhere")
    assert first < second < third
    assert await compacted.get(0, "a") == b"3"
    assert await compacted.scan(0) == [Record(second, "b", b"2"), Record(third, "a", b"3")]
    assert await compacted.scan(0, third) == [Record(third, "a", b"3")]
    assert await compacted.scan(0, third + 1) == []


async def test_a_key_put_as_none_is_gone(log: Log, topic: str) -> None:
    compacted = await log.compacted(topic)
    await compacted.put(0, "never there", None)
    put = await compacted.put(0, "a", b"")
    assert await compacted.get(0, "a") == b""
    assert await compacted.put(0, "a", None) >= put
    assert await compacted.get(0, "a") is None
    assert await compacted.scan(0) == []
    assert await compacted.put(0, "a", b"again") > put


def test_partition_is_the_first_eight_bytes_of_sha256() -> None:
    # SHA-256("abc") begins ba7816bf 8f01cfea (FIPS 180-4's own example).
    assert partition_of("abc", 12) == 0xBA7816BF8F01CFEA % 12
    assert partition_of("abc", 7) == 0xBA7816BF8F01CFEA % 7
