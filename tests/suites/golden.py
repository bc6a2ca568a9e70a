"""Golden games: recorded games that every later code must replay alike (design section 9.4).

    python -m tests.games.<game>.golden record    plays and records them anew
    python -m tests.games.<game>.golden check     replays them, and says what differs

Of each version a recording holds the record itself, the command that made it, and hashes of what code made of it:
state, each viewer's view, each seat's legal commands. They are replayed twice: folded without rules, and decided again.
"""

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from guildhall.kernel.decide import Creation, create, decide, resign, time_out
from guildhall.kernel.families import Family
from guildhall.kernel.fold import fold
from guildhall.kernel.game import Game
from guildhall.kernel.ids import decision_id
from guildhall.kernel.v1.structs import Record, Resigned, TimedOut, decode_Record
from tests.suites.subject import Subject, begin, make, pick


@dataclass(frozen=True)
class GoldenGames:
    """A game's recordings."""

    folder: Path
    games: Mapping[str, tuple[Subject, Creation]]
    """The games that are recorded, by the name of their file."""


class Version(msgspec.Struct, array_like=True):
    """What is kept of one version."""

    body: bytes
    hash: bytes
    command: bytes
    """The command that made it; empty where none did: the first version, time-outs, resignations."""
    state: bytes
    views: list[bytes]
    """By seat, then a spectator's."""
    legal: list[bytes]
    """By seat."""


def main(golden: GoldenGames, what: str) -> int:
    """Record or check, as the command line says; 0 where all is well."""
    if what == "record":
        record(golden)
        return 0
    found = [difference for name in golden.games for difference in differences(golden, name)]
    print("\n".join(found[:20]) or f"{len(golden.games)} games are as they were recorded")
    return 1 if found else 0


def record(golden: GoldenGames) -> None:
    """Play and record all golden games anew."""
    golden.folder.mkdir(exist_ok=True)
    for old in golden.folder.glob("*.bin"):
        old.unlink()
    for name, (subject, creation) in golden.games.items():
        versions = list(played(subject, Random(name), creation))
        data = gzip.compress(msgspec.msgpack.encode(versions), 9, mtime=0)
        (golden.folder / f"{name}.bin").write_bytes(data)
        print(f"{name}: {len(versions)} versions, {len(data)} bytes")


def played(subject: Subject, random: Random, creation: Creation) -> Iterator[Version]:
    """A random game, in which some wait too long, and with four or more players one seat resigns."""
    game, decided = begin(subject, random, creation)
    yield version(game, decided.body, b"")
    resigns_at = 200 if game.seats >= 4 else 0
    while game.ended is None:
        move = pick(subject, game, random)
        command = b""
        if game.version == resigns_at:
            decided = resign(game, 1, subject=game.created.subjects[1], command_id="resign", at_ms=game.at_ms + 1)
        elif random.random() < 0.03:
            decided = time_out(game, move.id, at_ms=game.at_ms + 1)
        else:
            decided = make(game, move)
            command = subject.rules.wire.encode_command(move.command)
        yield version(game, decided.body, command)


def version(game: Game, body: bytes, command: bytes) -> Version:
    """What present code makes of a game's version."""
    wire = game.rules.wire
    views = [digest(wire.encode_View(game.view(viewer))) for viewer in (*range(game.seats), None)]
    legal = []
    for seat in range(game.seats):
        listing = game.legal(seat)
        listed = b"".join(wire.encode_command(command) + b"\n" for command in listing.commands)
        legal.append(digest(listed + b"".join(map(written, listing.families))))
    return Version(body, game.hash, command, digest(game.state_bytes()), views, legal)


def digest(data: bytes) -> bytes:
    """Enough of a hash to tell."""
    return hashlib.sha256(data).digest()[:8]


def written(family: Family) -> bytes:
    """All that a family says."""
    limits = [(sorted(limit.values), limit.at_most) for limit in family.limits]
    return repr((family.command.__name__, family.field, family.slots, family.min, family.max, limits)).encode()


def differences(golden: GoldenGames, name: str) -> Iterator[str]:
    """What present code makes otherwise of one golden game; nothing, if all is well."""
    rules = golden.games[name][0].rules
    data = gzip.decompress((golden.folder / f"{name}.bin").read_bytes())
    kept = msgspec.msgpack.decode(data, type=list[Version])
    folded: Game | None = None
    decided: Game | None = None
    for number, one in enumerate(kept, start=1):
        folded, events = fold(rules, folded, one.body, one.hash)
        yield from compare(f"{name}, version {number}, folded", version(folded, one.body, one.command), one)
        record = decode_Record(one.body)
        decided, body = again(rules, decided, events, record, one.command)
        yield from compare(f"{name}, version {number}, decided again", version(decided, body, one.command), one)


def again(rules: Any, game: Game | None, events: list[Any], record: Record, command: bytes) -> tuple[Game, bytes]:
    """The version made by present rules."""
    (ref,) = record.commands
    who: dict[str, Any] = {"subject": ref.subject, "command_id": ref.command_id, "at_ms": record.at_ms}
    if game is None:
        game, made = create(rules, events[0], payload_hash=ref.payload_hash, **who)
        return game, made.body
    first = events[0] if events else None
    if isinstance(first, TimedOut):
        return game, time_out(game, first.decision_id, at_ms=record.at_ms).body
    assert record.seat is not None
    if isinstance(first, Resigned):
        return game, resign(game, record.seat, **who).body
    (opened,) = (d for d in game.open if d.seat == record.seat)
    id_ = decision_id(opened.version, opened.seat)
    return game, decide(game, record.seat, id_, rules.wire.decode_command(command), **who).body


def compare(where: str, found: Version, kept: Version) -> Iterator[str]:
    """What of a version is not as it was recorded."""
    for field in ("body", "hash", "state", "views", "legal"):
        if getattr(found, field) != getattr(kept, field):
            yield f"{where}: another {field}"
