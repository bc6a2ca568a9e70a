"""A game as bytes: for the log's snapshots and markers, and for memory while nobody plays it."""

import hashlib
import zlib
from array import array
from typing import Any, get_args, get_type_hints

import msgspec

from guildhall.kernel import game as kernel
from guildhall.kernel.game import Game, restore
from guildhall.kernel.rules import Rules

_FORMAT = 1


class KeptGame(msgspec.Struct, frozen=True, array_like=True):
    """A game's snapshot, compressed (undo keeps many states that are nearly equal), and the offset of each version's
    record, as the bytes of an array of signed 64-bit numbers of this machine.
    """

    schema: str
    game: bytes
    offsets: bytes


def keep(schema: str, game: Game, offsets: "array[int]") -> bytes:
    """The bytes of a game and its offsets."""
    kept = KeptGame(schema, zlib.compress(game.snapshot(), 1), offsets.tobytes())
    return msgspec.msgpack.encode(kept)


def unkeep(rules: Rules, schema: str, data: bytes) -> tuple[Game | None, "array[int]"]:
    """The game of `keep` (None where its schema is another), and its offsets.

    Raises msgspec.MsgspecError, zlib.error or ValueError for bytes that `keep` did not make.
    """
    kept = msgspec.msgpack.decode(data, type=KeptGame)
    offsets = array("q")
    offsets.frombytes(kept.offsets)
    if kept.schema != schema:
        return None, offsets
    return restore(rules, zlib.decompress(kept.game)), offsets


def schema_of(rules: Rules) -> str:
    """Names the shape of a game's snapshots: 16 hex digits over all fields of hall, frames and snapshot."""
    lines: dict[str, str] = {}
    for struct in (kernel.Snapshot, rules.hall, *rules.frames):
        _describe(struct, lines)
    text = f"{_FORMAT}\n" + "\n".join(lines.values())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _describe(hint: Any, lines: dict[str, str]) -> None:
    for argument in get_args(hint):
        _describe(argument, lines)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct) and hint.__qualname__ not in lines:
        hints = get_type_hints(hint, include_extras=True)
        names = hint.__struct_fields__
        fields = ", ".join(f"{name}: {_name(hints[name])}" for name in names)
        lines[hint.__qualname__] = f"{hint.__qualname__} {hint.__struct_config__.tag}({fields})"
        for name in names:
            _describe(hints[name], lines)


def _name(hint: Any) -> str:
    arguments = get_args(hint)
    head = getattr(hint, "__qualname__", str(hint)) if isinstance(hint, type) or not arguments else ""
    return f"{head}[{', '.join(map(_name, arguments))}]" if arguments else str(head)
