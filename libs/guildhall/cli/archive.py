"""A finished game in one file: its content pack and its records, so that it can be verified anywhere.

JSON where the file's name does not end with `.bin`, else msgpack. Bytes are base64 in JSON.
"""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from guildhall.cli import faces
from guildhall.cli.client import Client
from guildhall.cli.problems import Problem
from guildhall.kernel.packs import BadPack
from guildhall.kernel.verify import Altered, Verified, verify

FORMAT = "guildhall.game.1"


class Stored(msgspec.Struct, frozen=True):
    """One version: an encoded guildhall.kernel.v1.Record and its chain hash."""

    body: bytes
    hash: bytes


class Archive(msgspec.Struct, frozen=True):
    """The file."""

    format: str
    game: str
    game_id: str
    pack: bytes
    records: list[Stored]

    def pairs(self) -> list[tuple[bytes, bytes]]:
        """(body, hash) from version 1."""
        return [(record.body, record.hash) for record in self.records]


async def fetch(games: Client, game_id: str) -> Archive:
    """A finished game from a hall; `games` is a client for what spans games. Raises HallError."""
    header: Any = None
    records: list[Stored] = []
    async for part in games.answers("GamesService", "GetVerificationBundle", game_id=game_id):
        if part.header is not None:
            header = part.header
        elif part.records is not None:
            records += [Stored(record.body, record.hash) for record in part.records.records]
    return Archive(FORMAT, header.game, header.game_id, header.pack, records)


def check(archive: Archive) -> Verified:
    """Verify hash chain, fold, commitment, every draw, and that the pack is the game's. Raises Altered, Problem."""
    if archive.game not in faces.games():
        raise Problem(f"This is a game of {archive.game!r}, which is not known here.")
    rules = faces.rules(archive.game)
    verified = verify(rules, archive.pairs())
    created = verified.game.created
    if verified.game.ended is None:
        raise Altered("the game has not ended")
    if created.game_id != archive.game_id or created.game != archive.game:
        raise Altered(f"the records are of game {created.game_id} of {created.game}")
    if hashlib.sha256(archive.pack).digest() != created.pack_hash:
        raise Altered("the content pack is not the one that the game was played with")
    try:
        rules.packs.add(archive.pack)
    except BadPack as error:
        raise Altered(f"the content pack cannot be used: {error}") from error
    return verified


def write(archive: Archive, path: Path) -> None:
    """Write the file. Raises Problem where there is one already, or it cannot be written."""
    encode = msgspec.msgpack.encode if path.suffix == ".bin" else msgspec.json.encode
    try:
        with open(path, "xb") as file:
            file.write(encode(archive))
    except FileExistsError:
        raise Problem(f"{path} is there already.") from None
    except OSError as error:
        raise Problem(str(error)) from None


def read(path: Path) -> Archive:
    """Read a file, whatever it is called. Raises Problem."""
    try:
        data = path.read_bytes()
        decode = msgspec.json.decode if data.startswith(b"{") else msgspec.msgpack.decode
        archive = decode(data, type=Archive)
    except OSError as error:
        raise Problem(str(error)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Problem(f"{path} is no exported game: {error}") from None
    if archive.format != FORMAT:
        raise Problem(f"{path} has format {archive.format!r}; this program knows {FORMAT!r}.")
    return archive
