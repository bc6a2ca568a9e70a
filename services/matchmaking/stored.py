"""A pool's stored state: one record, or, where it is too large for one, several that are found by it.

The parts are written first, under keys that no reader takes for a state, and the state that names them last. Two sets
of keys take turns, so a crash in between leaves the state before it whole; what does not fit together, since an owner
that was deposed wrote late, is told by its hash and folded from the events. Whoever reads takes the parts and the state
that names them from one scan: of two, a store in between could give a state without its parts.
"""

import asyncio
import hashlib
import zlib
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from guildhall.log.errors import BadValue
from guildhall.log.port import Position
from guildhall.log.recovery import Store
from guildhall.log.snapshots import Snapshot, decode_snapshot, encode, snapshot_key
from services.matchmaking.pool import State, encoded

PART_BYTES = 8 << 20
"""Of a record: half of what the log takes."""

FORMAT = "2"
"""Of what is stored, beside the schema of the pool."""

_LEVEL = 1


class Whole(msgspec.Struct, frozen=True, array_like=True):
    """What the state's record holds: all of it, compressed, or where its parts are."""

    here: bytes
    parts: int
    turn: int
    """Which of the two sets of keys has the parts."""
    digest: bytes
    """SHA-256 of all that is compressed."""


class KeptPool(msgspec.Struct, frozen=True, array_like=True):
    """A pool's snapshot, and what its host knows beside it."""

    pool: bytes
    hash: bytes
    accepted: bytes
    """As `Accepted.kept` gives it."""
    readers: dict[int, bytes]
    """How far the results of each partition of the game's log were folded, as `results` encodes it."""


class Stood(NamedTuple):
    """A pool at one version, and where the fold of its partition stood then."""

    seq: int
    position: Position
    state: State
    beside: KeptPool
    """All but the pool itself."""


async def put_parts(store: Store, partition: int, game: str, schema: str, stood: Stood, turn: int) -> bytes:
    """Store a pool's parts, if it needs any; the record to put for its state. Others are answered in between.

    Raises `LogError`.
    """
    pieces = []
    for piece in encoded(stood.state):
        pieces.append(piece)
        await asyncio.sleep(0)
    seq, position, kept = stood.seq, stood.position, replace(stood.beside, pool=b"".join(pieces))
    packed = await asyncio.to_thread(lambda: zlib.compress(msgspec.msgpack.encode(kept), _LEVEL))
    digest = hashlib.sha256(packed).digest()
    if len(packed) <= PART_BYTES:
        whole = Whole(packed, 0, turn, digest)
    else:
        parts = [packed[begin : begin + PART_BYTES] for begin in range(0, len(packed), PART_BYTES)]
        for number, part in enumerate(parts):
            await store.snapshots.put(partition, _part_key(game, schema, turn, number), part)
        whole = Whole(b"", len(parts), turn, digest)
    state = msgspec.msgpack.encode(whole)
    return encode(Snapshot(seq, position, state))


async def turn_of(store: Store, partition: int, game: str, schema: str) -> int:
    """The turn that the pool's stored state names; any where none is there. Raises `LogError`."""
    record = await store.snapshots.get(partition, snapshot_key(game, schema))
    if record is None:
        return 0
    try:
        return msgspec.msgpack.decode(decode_snapshot(record).state, type=Whole).turn
    except (BadValue, msgspec.MsgspecError):
        return 0


def is_part(key: str, schema: str) -> bool:
    """Whether a record of that key is a part of a state of that schema."""
    return f"/{schema}." in key


def opened(state: bytes, game: str, schema: str, parts: dict[str, bytes]) -> tuple[KeptPool, int]:
    """The pool of a stored state, and the turn of its parts. `parts`: all that there are, by key. Raises `BadValue`."""
    try:
        whole = msgspec.msgpack.decode(state, type=Whole)
        packed = whole.here or b"".join(
            parts[_part_key(game, schema, whole.turn, number)] for number in range(whole.parts)
        )
        if hashlib.sha256(packed).digest() != whole.digest:
            raise BadValue("its parts are not of one state")
        return msgspec.msgpack.decode(zlib.decompress(packed), type=KeptPool), whole.turn
    except KeyError as error:
        raise BadValue(f"{error} is not there") from error
    except (msgspec.MsgspecError, zlib.error) as error:
        raise BadValue(str(error)) from error


def _part_key(game: str, schema: str, turn: int, number: int) -> str:
    return f"{game}/{schema}.{turn}.{number}"
