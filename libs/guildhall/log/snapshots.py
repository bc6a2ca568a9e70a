"""What is kept beside the events so that a start needn't read them all: snapshots, checkpoints, markers.

All three lie in compacted topics, and hold opaque bytes for whoever folds the events. Their own encoding is MessagePack
of the fields below; it is no contract, since whatever can't be read is folded from the events again.
"""

from typing import TypeVar

import msgspec

from guildhall.log.errors import BadValue
from guildhall.log.port import Position

T = TypeVar("T")


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """An aggregate's state at `seq`, made when the fold stood at `position`; stored under `snapshot_key`."""

    seq: int
    position: Position
    state: bytes


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """A partition at `position`: the last effective seq of every live aggregate, and the quarantined ones.

    `finished`: how many more there are, each with a marker. `begins`: the position of the first record of those live
    ones that no snapshot is stored of, so that a start need not look for it. Written after the snapshots that it needs
    are acknowledged; those that it no longer needs are deleted after it is. Stored under the partition's number.
    """

    position: Position
    seqs: dict[str, int]
    damaged: dict[str, int] = {}
    finished: int = 0
    begins: dict[str, Position] = {}


class Marker(msgspec.Struct, frozen=True, array_like=True):
    """A finished aggregate: its last seq, that record's offset, and what else must be remembered of it (`kept`).

    Written once, under the aggregate's id, and acknowledged before memory or a checkpoint drop the aggregate.
    """

    seq: int
    offset: int
    kept: bytes


class Finish(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a start takes from a `Marker`: not what else is remembered, which may be a hundred times as much."""

    seq: int
    offset: int


def snapshot_key(aggregate_id: str, schema: str) -> str:
    """`<id>/<schema>`: states of another schema (a hash without `/`) neither hide nor replace one another."""
    return f"{aggregate_id}/{schema}"


def checkpoint_key(partition: int) -> str:
    """A checkpoints topic has one key per partition."""
    return str(partition)


def encode(value: Snapshot | Checkpoint | Marker) -> bytes:
    """The value's bytes in its topic."""
    return msgspec.msgpack.encode(value)


def decode_snapshot(value: bytes) -> Snapshot:
    """Raises `BadValue`."""
    return _decode(value, Snapshot)


def decode_checkpoint(value: bytes) -> Checkpoint:
    """Raises `BadValue`."""
    return _decode(value, Checkpoint)


def decode_marker(value: bytes) -> Marker:
    """Raises `BadValue`."""
    return _decode(value, Marker)


def decode_finish(value: bytes) -> Finish:
    """Of a marker's bytes. Raises `BadValue`."""
    return _decode(value, Finish)


def _decode(value: bytes, kind: type[T]) -> T:
    try:
        return msgspec.msgpack.decode(value, type=kind)
    except msgspec.MsgspecError as error:
        raise BadValue(str(error)) from None
