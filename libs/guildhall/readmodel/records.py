"""What the values in Redis hold: MessagePack of the structs below.

No contract: whatever can't be read any more is built again from the log.
"""

from typing import TypeVar

import msgspec
from msgspec.structs import replace

T = TypeVar("T", bound=msgspec.Struct)

FORMAT = 4
"""Of all values here. Models of an older format are built again from the beginning."""

STATE_EVERY = 64
"""Versions between the stored states."""
FEED_VERSIONS = 200
"""A feed holds at most so many versions,"""
FEED_BYTES = 256 * 1024
"""and at most so many bytes, but the newest version always."""


class Progress(msgspec.Struct, array_like=True, frozen=True):
    """How far the log is folded into the models of a partition. The fold goes on from here (`log.fold.FoldState`)."""

    format: int
    next_offset: int
    newest_claim: int
    damaged: dict[str, int] = {}
    """Offset of the first damaged record, by quarantined game."""
    last: str = ""
    """SHA-256 of the last record that was folded, in hex: in another log there is another one. (No bytes: a script in
    Redis 6.2 has to read this.)"""
    mended: int = 0
    """How often models were set right here. Whoever has some of them in memory finds its position moved."""


def moved(progress: Progress) -> Progress:
    """The same place in other bytes, where models were set right."""
    return replace(progress, mended=progress.mended + 1)


class State(msgspec.Struct, array_like=True, frozen=True):
    """The newest state of a game."""

    version: int
    snapshot: bytes
    """`Game.snapshot()`, not compressed: most of it are digests, and packing would take longer than all else."""
    feed: list[int]
    """Bytes of the versions that the feed holds, the newest last."""


class Decision(msgspec.Struct, array_like=True, frozen=True):
    """A decision that a game waits for."""

    id: str
    seat: int
    kind: str
    deadline_ms: int


class Summary(msgspec.Struct, array_like=True, frozen=True):
    """What anybody who may see a game may know of it without its view."""

    game_id: str
    subjects: list[str]
    resigned: list[bool]
    options: list[tuple[str, str]]
    spectators: bool
    created_ms: int
    changed_ms: int
    version: int
    waiting: list[Decision]
    ended: tuple[int, list[int]] | None = None
    """Reason and ranks by seat, once it is over."""
    paused: bool = False
    stopped: bool = False
    """Its models stand still (`Stopped`); `version` is the last one before."""


class Stopped(msgspec.Struct, array_like=True, frozen=True):
    """A game whose models stand still: its record at `offset`, of version `seq`, could not be folded."""

    offset: int
    seq: int
    """`DAMAGED`: the record is no entry at all."""
    last_seq: int
    """The newest effective version in the log."""
    why: str
    refolds: bool = False
    """Whether it is folded again at once, since its stored state was lost or an operator has put it back: what it then
    is will be known in a moment."""


DAMAGED = 0


def stands_still(stopped: bytes | str | None) -> bool:
    """Whether that is stored of a game (a `Stopped`; None: nothing) which nobody is about to set right."""
    if stopped is None:
        return False
    try:
        return not decode(raw(stopped), Stopped).refolds
    except ValueError:
        return True


class Standing(msgspec.Struct, array_like=True, frozen=True):
    """A subject's finished games in one partition."""

    games: int
    wins: int


_ENCODER = msgspec.msgpack.Encoder()


def encode(value: msgspec.Struct) -> bytes:
    """The bytes of a value in Redis."""
    return _ENCODER.encode(value)


def decode(value: bytes | str, kind: type[T]) -> T:
    """The inverse of `encode`. Raises msgspec.MsgspecError (a ValueError)."""
    return msgspec.msgpack.decode(raw(value), type=kind)


def raw(value: bytes | str) -> bytes:
    """What Redis answered, as the bytes that it is: our clients decode nothing."""
    assert isinstance(value, bytes)
    return value


def reached(position: bytes | str | None) -> int:
    """How far the models have come whose stored position this is; 0 where this program cannot read them."""
    try:
        progress = decode(position or b"", Progress)
    except ValueError:
        return 0
    return progress.next_offset if progress.format == FORMAT else 0
