"""Starting from checkpoint, snapshots and markers, whatever order compaction and racing writers left them in."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guildhall.log import topics
from guildhall.log.errors import BadValue, LogUnreadable
from guildhall.log.fold import Effective, FoldState, Verdict
from guildhall.log.memory import Faults, MemoryBroker
from guildhall.log.port import BEGINNING, CLAIM_KEY, Claim, Entry, EventsTopic, Log, Position, ProducerRecord
from guildhall.log.reader import fold_to_end
from guildhall.log.recovery import Store, open_store, recover
from guildhall.log.snapshots import (
    Checkpoint,
    Marker,
    Snapshot,
    checkpoint_key,
    decode_checkpoint,
    decode_marker,
    decode_snapshot,
    encode,
    snapshot_key,
)
from guildhall.log.values import encode_claim, encode_entry
from guildhall.log.writer import Writer
from guildhall.telemetry.metrics import REGISTRY
from tests.log.counted import Counted
from tests.log.virtual_time import run

SCHEMA = "schema"

# Offset: 0    1     2     3    4     5     6     7     8     9
LOG = ["_", "a1", "b1", "a2", "_", "a3", "b2", "x4", "a4", "c1"]
"""`_` a claim; `a2` game a's seq 2 under the newest claim; `x4` game a's seq 4, late and under the older claim."""

SEQS_BEFORE: list[dict[str, int]] = [
    {},
    {},
    {"a": 1},
    {"a": 1, "b": 1},
    {"a": 2, "b": 1},
    {"a": 2, "b": 1},
    {"a": 3, "b": 1},
    {"a": 3, "b": 2},
    {"a": 3, "b": 2},
    {"a": 4, "b": 2},
    {"a": 4, "b": 2, "c": 1},
]
CLAIM_BEFORE = [-1, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4]


def position(offset: int) -> Position:
    return Position(offset, CLAIM_BEFORE[offset])


UNREADABLE = b"unreadable"


@dataclass
class Reader:
    """A game's state is the list of its seqs."""

    games: dict[str, list[int]] = field(default_factory=dict)
    restored: dict[str, int] = field(default_factory=dict)
    effective: list[tuple[str, int]] = field(default_factory=list)

    def restore(self, name: str, snapshot: Snapshot) -> None:
        if snapshot.state == UNREADABLE:
            raise BadValue("told to be unreadable")
        self.games[name] = list(snapshot.state)
        self.restored[name] = snapshot.seq

    def told(self, verdict: Verdict) -> None:
        if isinstance(verdict, Effective):
            self.effective.append((verdict.aggregate_id, verdict.entry.seq))
            self.games.setdefault(verdict.aggregate_id, []).append(verdict.entry.seq)


async def written(log: Log) -> Store:
    store = await open_store(log, "test", 1)
    newest = -1
    for offset, what in enumerate(LOG):
        if what == "_":
            newest = offset
            record = ProducerRecord(CLAIM_KEY, encode_claim(Claim(f"instance {offset}", "")))
        else:
            claim = 0 if what[0] == "x" else newest
            record = ProducerRecord(what[0].replace("x", "a"), encode_entry(Entry(claim, b"h", b"", int(what[1]))))
        await store.events.append(0, [record])
    return store


async def put_snapshot(
    store: Store, name: str, seq: int, offset: int, schema: str = SCHEMA, *, readable: bool = True
) -> None:
    snapshot = Snapshot(seq, position(offset), bytes(range(1, seq + 1)) if readable else UNREADABLE)
    await store.snapshots.put(0, snapshot_key(name, schema), encode(snapshot))


async def put_checkpoint(
    store: Store, offset: int, without: tuple[str, ...] = (), begins: dict[str, Position] | None = None
) -> None:
    """`without`: games that are finished."""
    seqs = {name: seq for name, seq in SEQS_BEFORE[offset].items() if name not in without}
    checkpoint = Checkpoint(position(offset), seqs, {}, len(without), begins or {})
    await store.checkpoints.put(0, checkpoint_key(0), encode(checkpoint))


async def recovered(store: Store) -> tuple[Reader, FoldState]:
    reader = Reader()
    return reader, await recover(store, 0, SCHEMA, reader.restore, reader.told)


WHOLE = {"a": [1, 2, 3, 4], "b": [1, 2], "c": [1]}


def check(reader: Reader, state: FoldState) -> None:
    assert reader.games == WHOLE
    assert (state.position, state.seqs) == (position(len(LOG)), SEQS_BEFORE[-1])


async def test_without_anything_everything_is_folded(log: Log) -> None:
    reader, state = await recovered(await written(log))
    check(reader, state)
    assert reader.restored == {}


@pytest.mark.parametrize("name", topics.BESIDE_EVENTS)
async def test_topics_of_unequal_counts_are_refused(log: Log, name: Callable[[str], str]) -> None:
    await log.compacted(name("test"), 3)
    with pytest.raises(LogUnreadable, match=r"has 3 partitions, .*\.events has 2: .* run `guildhall topics apply`"):
        await open_store(log, "test", 2)


async def test_every_key_is_told_that_a_snapshot_is_stored_under(log: Log) -> None:
    store = await written(log)
    await put_snapshot(store, "a", 2, 5)
    await put_snapshot(store, "a", 2, 5, schema="older")
    await put_snapshot(store, "b", 1, 5, schema="older")
    await store.snapshots.put(0, snapshot_key("c", SCHEMA), b"\xc1 unreadable")
    await put_snapshot(store, "gone", 1, 5)
    await store.snapshots.put(0, snapshot_key("gone", SCHEMA), None)
    await put_checkpoint(store, 5)
    told: list[tuple[str, str]] = []
    reader = Reader()
    await recover(store, 0, SCHEMA, reader.restore, reader.told, stored=lambda name, key: told.append((name, key)))
    assert set(told) == {
        ("a", snapshot_key("a", SCHEMA)),
        ("a", snapshot_key("a", "older")),
        ("b", snapshot_key("b", "older")),
        ("c", snapshot_key("c", SCHEMA)),
    }


async def test_an_empty_partition(log: Log) -> None:
    reader, state = await recovered(await open_store(log, "test", 1))
    assert (reader, state) == (Reader(), FoldState())


async def test_checkpoint_and_snapshots_spare_the_events_below(log: Log) -> None:
    store = await written(log)
    await put_snapshot(store, "a", 2, 5)
    await put_snapshot(store, "b", 1, 5)
    await put_checkpoint(store, 5)
    reader, state = await recovered(store)
    check(reader, state)
    assert reader.restored == {"a": 2, "b": 1}
    assert reader.effective == [("a", 3), ("b", 2), ("a", 4), ("c", 1)]


async def test_an_older_snapshot_is_folded_on_from_its_own_position(log: Log) -> None:
    store = await written(log)
    await put_snapshot(store, "a", 2, 4)  # before the claim at 4, which must be seen on the way
    await put_snapshot(store, "b", 2, 8)
    await put_checkpoint(store, 8)
    reader, state = await recovered(store)
    check(reader, state)
    assert reader.restored == {"a": 2, "b": 2}
    assert reader.effective == [("a", 3), ("a", 4), ("c", 1)]


async def test_a_newer_snapshot_counts_once_the_fold_reaches_it(log: Log) -> None:
    store = await written(log)
    await put_snapshot(store, "a", 3, 7)
    await put_snapshot(store, "b", 1, 5)
    await put_snapshot(store, "c", 1, 10)
    await put_checkpoint(store, 5)
    reader, state = await recovered(store)
    check(reader, state)
    assert reader.restored == {"a": 3, "b": 1, "c": 1}
    assert reader.effective == [("b", 2), ("a", 4)]


async def test_missing_snapshots_and_those_of_another_schema_are_made_up_for(log: Log) -> None:
    store = await written(log)
    await put_snapshot(store, "a", 2, 5, schema="older")
    await store.snapshots.put(0, snapshot_key("b", SCHEMA), b"\xc1 unreadable")
    await put_checkpoint(store, 8)
    reader, state = await recovered(store)
    check(reader, state)
    assert reader.restored == {}


async def test_snapshots_without_a_checkpoint_count_as_the_fold_reaches_them(log: Log) -> None:
    store = await written(log)
    await put_snapshot(store, "a", 3, 7)
    for unreadable in (None, b"\xc1 unreadable"):
        if unreadable is not None:
            await store.checkpoints.put(0, checkpoint_key(0), unreadable)
        reader, state = await recovered(store)
        check(reader, state)
        assert reader.restored == {"a": 3}


async def test_a_marker_stands_for_a_game_that_the_checkpoint_lists_no_more(log: Log) -> None:
    store = await written(log)
    await put_snapshot(store, "a", 3, 8)
    await put_snapshot(store, "b", 2, 8)  # left over
    await store.markers.put(0, "b", encode(Marker(2, 6, b"kept")))
    await put_checkpoint(store, 8, without=("b",))
    reader, state = await recovered(store)
    assert reader.games == {"a": WHOLE["a"], "c": WHOLE["c"]}
    assert state.seqs == SEQS_BEFORE[-1], "a second b1 would be void for this reader as for every other"


async def test_a_marker_beyond_the_checkpoint_waits_for_the_fold(log: Log) -> None:
    store = await written(log)
    await store.markers.put(0, "b", encode(Marker(2, 6, b"kept")))
    await put_checkpoint(store, 5)
    check(*await recovered(store))


async def test_a_game_that_leaves_the_checkpoint_during_a_start_is_known_by_its_marker() -> None:
    faults = Between()
    broker = MemoryBroker()
    store = await written(broker.log())
    reading = await open_store(broker.log(faults), "test", 1)
    await put_checkpoint(store, 8)

    async def finish() -> None:
        await store.markers.put(0, "b", encode(Marker(2, 6, b"kept")))
        await put_checkpoint(store, 8, without=("b",))

    for request in range(8):
        faults.requests, faults.when, faults.what = 0, request, finish
        _, state = await recovered(reading)
        assert state.seqs == SEQS_BEFORE[-1], request
        assert faults.requests > request or request >= 4
        await put_checkpoint(store, 8)
        await store.markers.put(0, "b", None)


async def test_a_game_that_leaves_the_checkpoint_during_a_start_needs_its_snapshot_no_more() -> None:
    """It is deleted then; a start that has read the checkpoint before must not fold it from the beginning."""
    faults = Between()
    broker = MemoryBroker()
    store = await written(broker.log())
    reading = await open_store(broker.log(faults), "test", 1)

    async def finish() -> None:
        await store.markers.put(0, "b", encode(Marker(2, 6, b"kept")))
        await put_checkpoint(store, 9, without=("b",))
        await store.snapshots.put(0, snapshot_key("b", SCHEMA), None)

    for request in range(4):
        await store.markers.put(0, "b", None)
        await put_snapshot(store, "a", 3, 8)
        await put_snapshot(store, "b", 2, 8)
        await put_checkpoint(store, 8)
        faults.requests, faults.when, faults.what = 0, request, finish
        events = Counted(reading.events)
        _, state = await recovered(replace(reading, events=cast(EventsTopic, events)))
        assert state.seqs == SEQS_BEFORE[-1], request
        assert min(events.read_from) >= 8, request
        assert faults.requests > request


class Between(Faults):
    """Has something happen just before one of a reader's requests."""

    requests = 0
    when = -1

    async def request(self, topic: str, partition: int) -> None:
        if self.requests == self.when:
            await self.what()
        self.requests += 1

    async def what(self) -> None:
        """Nothing yet."""


async def test_markers_that_were_lost_are_made_up_for_by_folding_everything(log: Log) -> None:
    """Else a second b1 would be effective for this reader alone: accepted, and void for every other."""
    store = await written(log)
    await put_snapshot(store, "a", 3, 8)
    await store.markers.put(0, "c", encode(Marker(1, 9, b"kept")))  # beyond the checkpoint, so not of those
    await put_checkpoint(store, 8, without=("b",))
    before = REGISTRY.get_sample_value("guildhall_unreadable_states_total", {"topic": "marker"}) or 0.0
    reader, state = await recovered(store)
    check(reader, state)
    assert reader.games["b"] == [1, 2]
    assert REGISTRY.get_sample_value("guildhall_unreadable_states_total", {"topic": "marker"}) == before + 1


async def test_a_game_without_a_snapshot_is_folded_from_its_first_record(log: Log) -> None:
    """And not from the partition's: a checkpoint says where it lies. Below, the claim at 0 is not read again."""
    store = await written(log)
    await put_snapshot(store, "a", 2, 5)
    events = Counted(store.events)
    await put_checkpoint(store, 5, begins={"b": Position(2, 0)})
    check(*await recovered(replace(store, events=cast(EventsTopic, events))))
    assert min(events.read_from) == 2
    events.read_from.clear()
    await put_checkpoint(store, 5)
    check(*await recovered(replace(store, events=cast(EventsTopic, events))))
    assert min(events.read_from) == 0


async def test_a_checkpoint_that_says_wrongly_where_a_game_begins_is_refused(log: Log) -> None:
    store = await written(log)
    await put_snapshot(store, "a", 2, 5)
    await put_checkpoint(store, 5, begins={"b": Position(3, 0)})
    with pytest.raises(LogUnreadable, match="folded before"):
        await recovered(store)


async def test_an_unreadable_marker_means_folding_everything(log: Log) -> None:
    store = await written(log)
    await store.markers.put(0, "b", b"\xc1 unreadable")
    await put_checkpoint(store, 8, without=("b",))
    check(*await recovered(store))


@pytest.mark.parametrize("what", ["checkpoint", "snapshot"])
async def test_events_that_end_before_what_was_folded_are_refused(log: Log, what: str) -> None:
    store = await open_store(log, "test", 1)
    if what == "checkpoint":
        await store.checkpoints.put(0, checkpoint_key(0), encode(Checkpoint(Position(1, 0), {})))
    else:
        await store.snapshots.put(0, snapshot_key("a", SCHEMA), encode(Snapshot(1, Position(2, 0), b"\1")))
    with pytest.raises(LogUnreadable, match="folded before"):
        await recovered(store)


async def test_a_checkpoint_of_other_events_is_refused(log: Log) -> None:
    store = await written(log)
    await store.checkpoints.put(0, checkpoint_key(0), encode(Checkpoint(position(5), {"a": 9})))
    with pytest.raises(LogUnreadable, match="folded before"):
        await recovered(store)


async def test_quarantine_survives_a_checkpoint(log: Log) -> None:
    store = await written(log)
    await store.events.append(0, [ProducerRecord("a", b"junk")])
    state = FoldState()
    await fold_to_end(store.events, 0, state, lambda verdict: None)
    checkpoint = Writer(store.events, 0, Claim("me", ""), state, lambda verdict: None).checkpoint(["a", "b", "none"])
    assert checkpoint == Checkpoint(Position(11, 4), {"a": 4, "b": 2}, {"a": 10}, finished=1)
    await store.markers.put(0, "c", encode(Marker(1, 9, b"kept")))
    await store.checkpoints.put(0, checkpoint_key(0), encode(checkpoint))
    assert (await recovered(store))[1].damaged == {"a": 10}


offsets = st.integers(0, len(LOG))
snapshots = st.dictionaries(st.sampled_from("abc"), offsets)


@given(offsets, snapshots, st.sets(st.sampled_from("abc")))
def test_any_checkpoint_with_any_snapshots_leads_to_the_same(
    at: int, taken: dict[str, int], unreadable: set[str]
) -> None:
    """Also with snapshots that only whoever folds the events finds to be unreadable."""

    async def whole() -> tuple[Reader, FoldState]:
        store = await written(MemoryBroker().log())
        for name, offset in taken.items():
            seq = SEQS_BEFORE[offset].get(name, 0)
            if seq:
                await put_snapshot(store, name, seq, offset, readable=name not in unreadable)
        await put_checkpoint(store, at)
        return await recovered(store)

    check(*run(whole()))


@pytest.mark.parametrize("what", ["snapshot", "checkpoint", "marker"])
@pytest.mark.parametrize("outside", [True, False])
async def test_a_stored_state_that_cannot_be_read_is_counted(log: Log, what: str, outside: bool) -> None:
    store = await written(log)
    before = REGISTRY.get_sample_value("guildhall_unreadable_states_total", {"topic": what}) or 0.0
    match what, outside:
        case "snapshot", True:
            await store.snapshots.put(0, snapshot_key("a", SCHEMA), b"junk")
        case "snapshot", False:
            await put_snapshot(store, "a", 2, 5, readable=False)
        case "checkpoint", _:
            await store.checkpoints.put(0, checkpoint_key(0), b"junk")
        case "marker", _:
            await store.markers.put(0, "b", b"junk")
    check(*await recovered(store))
    assert REGISTRY.get_sample_value("guildhall_unreadable_states_total", {"topic": what}) == before + 1


@given(
    st.builds(Snapshot, st.integers(0, 2**63), st.just(BEGINNING), st.binary())
    | st.builds(Checkpoint, st.just(BEGINNING), st.dictionaries(st.text(), st.integers(0, 2**63)))
    | st.builds(Marker, st.integers(0, 2**63), st.integers(0, 2**63), st.binary()),
    st.data(),
)
def test_what_is_kept_is_read_back_and_truncation_is_noticed(
    value: Snapshot | Checkpoint | Marker, data: st.DataObject
) -> None:
    decoders = {Snapshot: decode_snapshot, Checkpoint: decode_checkpoint, Marker: decode_marker}
    whole, decode = encode(value), decoders[type(value)]
    assert decode(whole) == value
    with pytest.raises(BadValue):
        decode(whole[: data.draw(st.integers(0, len(whole) - 1))])
