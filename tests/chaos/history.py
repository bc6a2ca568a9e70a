"""What the clients asked and what they were told: the history that the checker judges.

All times are nanoseconds of one monotonic clock, that of the process in which all clients run: `start` is read before a
request leaves, `end` after its answer has come.
"""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import msgspec


class Kind(StrEnum):
    """What was asked. Creations, commands and resignations are writes: they carry a command_id."""

    CREATE = "create"
    COMMAND = "command"
    RESIGN = "resign"
    LEGAL = "legal"
    VIEW = "view"
    EVENTS = "events"
    WATCH = "watch"


WRITES = {Kind.CREATE, Kind.COMMAND, Kind.RESIGN}


class Result(StrEnum):
    """What was told.

    ACCEPTED: a write has the version `version`. READ: the answer of a read, made at `version`. REFUSED: an answer of
    the hall that means "not done", for `reason`, at `version` if it says so. UNKNOWN: no answer, or one that says "send
    it again".
    """

    ACCEPTED = "accepted"
    READ = "read"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One request through one process, and its answer. A retry is another call.

    `payload`: of a write, SHA-256 of decision id and command as the log keeps it. `decisions`: of LEGAL, the caller's
    open decisions; of VIEW, those that the game waits for. `first`, `hashes`: of EVENTS and WATCH, the hashes of the
    versions from `first` on. `after`: of WATCH, the version of the message before, 0 if there was none.
    """

    kind: Kind
    game_id: str
    subject: str
    process: str
    start: int
    end: int
    result: Result
    version: int = 0
    reason: str = ""
    command_id: str = ""
    decision_id: str = ""
    payload: bytes = b""
    decisions: tuple[str, ...] = ()
    first: int = 0
    hashes: tuple[bytes, ...] = ()
    after: int = 0

    @property
    def told(self) -> int:
        """The newest version that the answer told of; 0 if it told of none."""
        return self.version if self.result is not Result.UNKNOWN else 0


def save(calls: Iterable[Call], path: Path) -> None:
    """Writes the history, a line of JSON each."""
    with path.open("wb") as file:
        for call in calls:
            file.write(msgspec.json.encode(call) + b"\n")


def load(path: Path) -> list[Call]:
    """Reads what `save` wrote."""
    with path.open("rb") as file:
        return [msgspec.json.decode(line, type=Call) for line in file]
