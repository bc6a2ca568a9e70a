"""Golden games: recorded games that every later code must replay alike.

    python -m tests.games.arcane_alley.golden record    plays and records them anew
    python -m tests.games.arcane_alley.golden check     replays them, and says what differs

Of each version a recording holds the record itself, the command that made it, and hashes of what code made of it:
state, each viewer's view, each seat's legal commands. They are replayed twice: folded without rules, and decided again.
"""

import gzip
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from guildhall.kernel.decide import Creation, create, decide, resign, time_out
from guildhall.kernel.fold import fold
from guildhall.kernel.game import Game
from guildhall.kernel.ids import decision_id
from guildhall.kernel.v1.structs import Record, Resigned, TimedOut, decode_Record
from services.arcane_alley.rules import RULES
from tests.games.arcane_alley.subject import ARCANE_ALLEY
from tests.suites.subject import begin, make, pick

FOLDER = Path(__file__).parent / "golden"
WIRE: Any = RULES.wire
CREATIONS = {
    "two-players-plain": Creation(["a", "b"], {"wizard_powers": "false"}),
    "two-players-powers": Creation(
        ["a", "b"],
        {"wizards": "glynna,byros", "first_seat": "1"},
        {"wizard_assignment": "given", "first_player": "given"},
    ),
    "four-players-picked": Creation(["a", "b", "c", "d"]),
    "five-players-other-rulings": Creation(
        ["a", "b", "c", "d", "e"],
        rulings={
            r.name: r.values[-1]
            for r in RULES.rulings
            if r.values and r.name not in ("wizard_assignment", "first_player")
        },
    ),
    "six-players-random-wizards": Creation([*"abcdef"], rulings={"wizard_assignment": "random"}),
}
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


def digest(data: bytes) -> bytes:
    """Enough of a hash to tell."""
    return hashlib.sha256(data).digest()[:8]


def version(game: Game, body: bytes, command: bytes) -> Version:
    """What present code makes of a game's version."""
    views = [digest(WIRE.encode_View(game.view(viewer))) for viewer in (*range(game.seats), None)]
    legal = [
        digest(b"".join(WIRE.encode_command(c) + b"\n" for c in game.legal(seat).commands))
        for seat in range(game.seats)
    ]
    return Version(body, game.hash, command, digest(game.state_bytes()), views, legal)


def record() -> None:
    """Play and record all golden games anew."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.bin"):
        old.unlink()
    for name, creation in CREATIONS.items():
        versions = list(played(Random(name), creation))
        data = gzip.compress(msgspec.msgpack.encode(versions), 9, mtime=0)
        (FOLDER / f"{name}.bin").write_bytes(data)
        print(f"{name}: {len(versions)} versions, {len(data)} bytes")


def played(random: Random, creation: Creation) -> Iterator[Version]:
    """A random game, in which some wait too long, and with four or more players one seat resigns."""
    game, decided = begin(ARCANE_ALLEY, random, creation)
    yield version(game, decided.body, b"")
    resigns_at = 200 if game.seats >= 4 else 0
    while game.ended is None:
        move = pick(ARCANE_ALLEY, game, random)
        command = b""
        if game.version == resigns_at:
            decided = resign(game, 1, subject=game.created.subjects[1], command_id="resign", at_ms=game.at_ms + 1)
        elif random.random() < 0.03:
            decided = time_out(game, move.id, at_ms=game.at_ms + 1)
        else:
            decided = make(game, move)
            command = WIRE.encode_command(move.command)
        yield version(game, decided.body, command)


def differences(name: str) -> Iterator[str]:
    """What present code makes otherwise of one golden game; nothing, if all is well."""
    data = gzip.decompress((FOLDER / f"{name}.bin").read_bytes())
    kept = msgspec.msgpack.decode(data, type=list[Version])
    folded: Game | None = None
    decided: Game | None = None
    for number, one in enumerate(kept, start=1):
        folded, events = fold(RULES, folded, one.body, one.hash)
        yield from compare(f"{name}, version {number}, folded", version(folded, one.body, one.command), one)
        record = decode_Record(one.body)
        decided, body = again(decided, events, record, one.command)
        yield from compare(f"{name}, version {number}, decided again", version(decided, body, one.command), one)


def again(game: Game | None, events: list[Any], record: Record, command: bytes) -> tuple[Game, bytes]:
    """The version made by present rules."""
    (ref,) = record.commands
    who: dict[str, Any] = {"subject": ref.subject, "command_id": ref.command_id, "at_ms": record.at_ms}
    if game is None:
        game, made = create(RULES, events[0], payload_hash=ref.payload_hash, **who)
        return game, made.body
    if isinstance(events[0], TimedOut):
        return game, time_out(game, events[0].decision_id, at_ms=record.at_ms).body
    assert record.seat is not None
    if isinstance(events[0], Resigned):
        return game, resign(game, record.seat, **who).body
    (opened,) = (d for d in game.open if d.seat == record.seat)
    id_ = decision_id(opened.version, opened.seat)
    return game, decide(game, record.seat, id_, WIRE.decode_command(command), **who).body


def compare(where: str, found: Version, kept: Version) -> Iterator[str]:
    """What of a version is not as it was recorded."""
    for field in ("body", "hash", "state", "views", "legal"):
        if getattr(found, field) != getattr(kept, field):
            yield f"{where}: another {field}"


def main(what: str) -> int:
    if what == "record":
        record()
        return 0
    found = [difference for name in CREATIONS for difference in differences(name)]
    print("\n".join(found[:20]) or f"{len(CREATIONS)} games are as they were recorded")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
