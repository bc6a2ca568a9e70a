"""Games of the simulation: a game is the list of its accepted commands, and a command says what it asks of it.

`3.1` may come at any time; `3.2@4` only when the game is at version 4; `3.5!` ends the game. A body is the command and
blanks, so that some are too large for the log.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from guildhall.log.port import Position


@dataclass
class Game:
    """`digest` chains the bodies, as a real game's hash does; `offset` is that of the last record, `began` the position
    of the first where that was told."""

    commands: list[str] = field(default_factory=list)
    digest: bytes = b""
    offset: int = -1
    began: Position | None = None

    @property
    def version(self) -> int:
        return len(self.commands)

    @property
    def ended(self) -> bool:
        return bool(self.commands) and ends(self.commands[-1])


def body_of(command: str, blanks: int = 0) -> bytes:
    return command.encode() + b" " * blanks


def command_of(body: bytes) -> str:
    return body.decode().rstrip()


def ends(command: str) -> bool:
    return command.endswith("!")


def wanted(command: str) -> int | None:
    """The version at which alone the command is legal; None: at any."""
    _, _, version = command.partition("@")
    return int(version) if version else None


def known(game: Game, command: str) -> int | None:
    """The version at which the command was accepted before."""
    return game.commands.index(command) + 1 if command in game.commands else None


def legal(game: Game, command: str) -> bool:
    return not game.ended and wanted(command) in (None, game.version)


@dataclass(frozen=True)
class Speech:
    """How a kind of process writes its games into the log: what the judge must know of it.

    `legal` says what may follow in a game; `chained` what a record's hash must be, from the hash before, seq and body;
    `commands_in` the commands that a snapshot holds, from its state.
    """

    schema: str
    max_record_bytes: int
    command_of: Callable[[bytes], str]
    legal: Callable[[Game, str], bool]
    chained: Callable[[bytes, int, bytes], bytes]
    commands_in: Callable[[bytes], list[str]]


def chained(digest: bytes, body: bytes) -> bytes:
    return hashlib.sha256(digest + body).digest()


def pack(game: Game) -> bytes:
    return msgspec.msgpack.encode((game.commands, game.digest, game.offset))


def unpack(data: bytes) -> Game:
    return Game(*msgspec.msgpack.decode(data, type=tuple[list[str], bytes, int]))


OWN = Speech(
    schema="s1",
    max_record_bytes=200,
    command_of=command_of,
    legal=legal,
    chained=lambda digest, seq, body: chained(digest, body),
    commands_in=lambda state: unpack(state).commands,
)
"""Of the simulation's own games."""
