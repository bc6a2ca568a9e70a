"""How a reader of a partition starts: checkpoint + snapshots + tail (design section 3, "Snapshots and checkpoints").

Compaction keeps no order between topics, and older values may be written over newer ones. So nothing here trusts a
snapshot further than the fold has come: one that is older than the checkpoint is folded on from its own position, a
newer one counts once the fold reaches its seq, a missing one is made up for from the events.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from guildhall.log import topics
from guildhall.log.errors import BadValue, LogUnreadable
from guildhall.log.fold import Effective, FoldState, Verdict, fold
from guildhall.log.port import (
    BEGINNING,
    CLAIM_KEY,
    DEFAULT_PARTITIONS,
    CompactedTopic,
    EventsTopic,
    Log,
    Position,
    Record,
)
from guildhall.log.reader import fold_to, read_to
from guildhall.log.snapshots import (
    Checkpoint,
    Finish,
    Snapshot,
    checkpoint_key,
    decode_checkpoint,
    decode_finish,
    decode_snapshot,
)
from guildhall.telemetry import logs, metrics

_log = logs.get("log")


@dataclass(frozen=True)
class Store:
    """A game's topics, co-partitioned."""

    events: EventsTopic
    snapshots: CompactedTopic
    checkpoints: CompactedTopic
    markers: CompactedTopic


async def open_store(log: Log, game: str, partitions: int = DEFAULT_PARTITIONS) -> Store:
    """The game's topics, made with this many partitions if they don't exist. Raises as `Log.events` does, and
    `LogUnreadable` where they have not equally many.
    """
    events = await log.events(topics.events(game), partitions)
    beside = [await log.compacted(name(game), events.partitions) for name in topics.BESIDE_EVENTS]
    counts = {events.name: events.partitions} | {topic.name: topic.partitions for topic in beside}
    if problems := topics.not_alike(counts):
        raise LogUnreadable(events.name, " ".join(problems))
    return Store(events, *beside)


async def recover(
    store: Store,
    partition: int,
    schema: str,
    restore: Callable[[str, Snapshot], None],
    listener: Callable[[Verdict], None],
    beside: Callable[[Record], None] | None = None,
    stored: Callable[[str, str], None] = lambda aggregate_id, key: None,
) -> FoldState:
    """Brings a reader to the partition's end; returns where the fold stands, for a `Writer` or for reading on.

    `restore(aggregate_id, snapshot)` sets an aggregate's state to a snapshot of `schema`; where it raises `BadValue`,
    the events are folded as if there were none. `listener` is told every effective record after that (or after nothing,
    where there is no snapshot), each aggregate's in order of seq, and beyond the checkpoint every other verdict too.
    `beside` is told, before any of that, every record among the snapshots that is not of `schema`: all are read at
    once, so whatever was put before a snapshot is there with it, or something newer. `stored(aggregate_id, key)` is
    told every key among them. Both may be told again of the same, where something else is stored meanwhile.
    States of finished aggregates below the checkpoint are not told: what remains of them is their marker.

    Raises `LogUnavailable`; `LogUnreadable` if the events don't go with what was kept beside them, so some are lost.
    """
    # The events' end last: whatever all these tell of must then be within it.
    start, finished, snapshots = await _stored(store, partition, schema, beside, stored)
    end = await store.events.end_offset(partition)
    for known in (start.position, *(snapshot.position for snapshot in snapshots.values())):
        if known.next_offset > end:
            reason = f"ends at offset {end}, but {known.next_offset} was folded before"
            raise LogUnreadable(f"{store.events.name}/{partition}", reason)

    state = _state_at(start, finished)
    behind: dict[str, _Begin] = {}
    ahead: dict[str, Snapshot | None] = {}
    for aggregate_id, seq in start.seqs.items():
        snapshot = snapshots.get(aggregate_id)
        if snapshot is not None and snapshot.seq > seq:
            ahead[aggregate_id] = snapshot
            continue
        if snapshot is not None and not _restored(store, partition, restore, aggregate_id, snapshot):
            snapshot = None
        if snapshot is None:
            behind[aggregate_id] = _Begin(start.begins.get(aggregate_id, BEGINNING))
        elif snapshot.seq < seq:
            behind[aggregate_id] = _Begin(snapshot.position, snapshot.seq)
    for aggregate_id, snapshot in snapshots.items():
        if aggregate_id not in state.seqs:
            ahead[aggregate_id] = snapshot
    await _catch_up(store.events, partition, behind, start.position, start.seqs, listener)

    def told(verdict: Verdict) -> None:
        if isinstance(verdict, Effective) and verdict.aggregate_id in ahead:
            snapshot = ahead[verdict.aggregate_id]
            if snapshot is not None and verdict.entry.seq == snapshot.seq:
                if _restored(store, partition, restore, verdict.aggregate_id, snapshot):
                    del ahead[verdict.aggregate_id]
                else:
                    ahead[verdict.aggregate_id] = None
        else:
            listener(verdict)

    await fold_to(store.events, partition, state, end, told)
    never_reached = {aggregate_id: _Begin(BEGINNING) for aggregate_id in ahead if aggregate_id in state.seqs}
    await _catch_up(store.events, partition, never_reached, state.position, state.seqs, listener)
    return state


def _restored(
    store: Store, partition: int, restore: Callable[[str, Snapshot], None], aggregate_id: str, snapshot: Snapshot
) -> bool:
    try:
        restore(aggregate_id, snapshot)
    except BadValue as error:
        unreadable(store.snapshots, partition, aggregate_id, error)
        return False
    return True


def unreadable(topic: CompactedTopic, partition: int, key: str, error: BadValue) -> None:
    """Tell of a stored state that is passed over: nothing is lost, but a start takes longer and a disk may be bad."""
    kind = topic.name.rpartition(".")[2].removesuffix("s")
    metrics.UNREADABLE_STATES.labels(kind).inc()
    _log.error(
        "stored state unreadable; its events are folded",
        topic=topic.name,
        partition=partition,
        key=key,
        why=logs.said(error),
    )


async def _stored(
    store: Store,
    partition: int,
    schema: str,
    beside: Callable[[Record], None] | None,
    stored: Callable[[str, str], None],
) -> tuple[Checkpoint, dict[str, int], dict[str, Snapshot]]:
    """The start, and the snapshots that it needs.

    Snapshots of what a newer checkpoint lists no more are deleted after it was put. So where one is missing, the
    checkpoint may be newer by now, and does without.
    """
    while True:
        start, finished = await _start(store, partition)
        snapshots = await _snapshots(store, partition, schema, beside, stored)
        if all(aggregate_id in snapshots or aggregate_id in start.begins for aggregate_id in start.seqs):
            return start, finished, snapshots
        if await _checkpoint(store, partition) == start:
            return start, finished, snapshots


async def _start(store: Store, partition: int) -> tuple[Checkpoint, dict[str, int]]:
    """The checkpoint, and the last seqs of the finished aggregates below it; the beginning, where it can't be used.

    The checkpoint is read first: the markers of what it no longer lists were there before it. Where fewer are there
    now, some were lost; only the events tell then which aggregates are finished. Raises `LogUnavailable`,
    `LogUnreadable`.
    """
    checkpoint = await _checkpoint(store, partition)
    markers = await _markers(store, partition)
    if checkpoint is not None and markers is not None:
        end = checkpoint.position.next_offset
        # One that the checkpoint lists is live there, and finishes again in the tail.
        finished = {n: m.seq for n, m in markers.items() if m.offset < end and n not in checkpoint.seqs}
        if len(finished) >= checkpoint.finished:
            return checkpoint, finished
        metrics.UNREADABLE_STATES.labels("marker").inc()
        _log.error(
            "markers are missing; all events are folded",
            topic=store.markers.name,
            partition=partition,
            found=len(finished),
            written=checkpoint.finished,
        )
    return Checkpoint(BEGINNING, {}), {}


def _state_at(checkpoint: Checkpoint, finished: dict[str, int]) -> FoldState:
    """The fold at the checkpoint."""
    position = checkpoint.position
    return FoldState(
        next_offset=position.next_offset,
        newest_claim=position.newest_claim,
        seqs=finished | checkpoint.seqs,
        damaged=dict(checkpoint.damaged),
    )


class _Begin(NamedTuple):
    """Where the records of an aggregate begin that are to be told, and the seq before them."""

    position: Position
    seq: int = 0


async def _catch_up(
    events: EventsTopic,
    partition: int,
    behind: dict[str, _Begin],
    to: Position,
    seqs: dict[str, int],
    listener: Callable[[Verdict], None],
) -> None:
    """Tells the effective records of the aggregates in `behind` from where they begin to `to`, where they must have
    come to `seqs`. Other aggregates are passed over; claims count for all."""
    if not behind:
        return
    first = min((begin.position for begin in behind.values()), key=lambda position: position.next_offset)
    state = FoldState(
        next_offset=first.next_offset,
        newest_claim=first.newest_claim,
        seqs={name: begin.seq for name, begin in behind.items() if begin.seq},
    )

    def take(record: Record) -> None:
        if record.offset >= to.next_offset:
            return
        own = behind.get(record.key)
        if record.key == CLAIM_KEY or (own is not None and record.offset >= own.position.next_offset):
            verdict = fold(state, record)
            if isinstance(verdict, Effective):
                listener(verdict)
        else:
            state.next_offset = record.offset + 1

    await read_to(events, partition, state.next_offset, to.next_offset, take)
    if state.newest_claim != to.newest_claim or any(state.seqs.get(name) != seqs[name] for name in behind):
        raise LogUnreadable(
            f"{events.name}/{partition}", f"its records below {to} aren't those that were folded before"
        )


async def checkpointed(store: Store, partition: int) -> FoldState:
    """Where a reader of the log alone can begin: at the checkpoint, or at the beginning where none can be used.

    Raises `LogUnavailable`, `LogUnreadable`.
    """
    return _state_at(*await _start(store, partition))


async def _checkpoint(store: Store, partition: int) -> Checkpoint | None:
    key = checkpoint_key(partition)
    value = await store.checkpoints.get(partition, key)
    try:
        return decode_checkpoint(value) if value is not None else None
    except BadValue as error:
        unreadable(store.checkpoints, partition, key, error)
        return None


async def _snapshots(
    store: Store,
    partition: int,
    schema: str,
    beside: Callable[[Record], None] | None,
    stored: Callable[[str, str], None],
) -> dict[str, Snapshot]:
    """Those of this schema that can be read; the others' aggregates are folded from their events."""

    def take(record: Record) -> tuple[str, Snapshot | BadValue | Record | None]:
        if record.key.rpartition("/")[2] != schema:
            return record.key, record if beside is not None else None
        try:
            return record.key, decode_snapshot(record.value)
        except BadValue as error:
            return record.key, error

    found = {}
    for key, taken in await store.snapshots.scan_as(partition, take):
        aggregate_id = key.rpartition("/")[0]
        stored(aggregate_id, key)
        match taken:
            case Snapshot():
                found[aggregate_id] = taken
            case BadValue():
                unreadable(store.snapshots, partition, key, taken)
            case Record() if beside is not None:
                beside(taken)
    return found


async def _markers(store: Store, partition: int) -> dict[str, Finish] | None:
    """All markers; None if one can't be read, because then only the events tell that its aggregate is finished."""
    found: dict[str, Finish] = {}
    bad = False
    for key, finish in await store.markers.scan_as(partition, _finish):
        if isinstance(finish, Finish):
            found[key] = finish
        else:
            unreadable(store.markers, partition, key, finish)
            bad = True
    return None if bad else found


def _finish(record: Record) -> tuple[str, Finish | BadValue]:
    try:
        return record.key, decode_finish(record.value)
    except BadValue as error:
        return record.key, error
