"""The command ids that a pool has accepted, so that a retry gives the first answer and does nothing twice."""

import hashlib
import struct
from collections.abc import Iterable

from guildhall.kernel import ids
from guildhall.kernel.v1.structs import CommandRef
from guildhall.rpc.errors import Failure

REMEMBERED_MS = 24 * 3600 * 1000
"""Of the pool's time: for so long a retry is known."""

EXPIRED_MS = REMEMBERED_MS
"""And for so long after that it is known to be too late (decision 34)."""

LONGEST_STEP_MS = 10 * 60 * 1000
"""No entry counts as later than so long after the one before: one that is dated far ahead, by a process whose clock is
wrong, must not have everything forgotten.
"""

_PAYLOAD_BYTES = 8
_CLOCK = struct.Struct(">qq")
_ID = struct.Struct(">16sqQ")


class Accepted:
    """Digest of (subject, command_id) -> what was asked and when, oldest first.

    Its time is that of the entries, but for steps beyond `LONGEST_STEP_MS`. All of it stands packed beside, as it is
    stored: a pool may have a million, and storing them must keep nobody waiting.
    """

    def __init__(self, kept: bytes = b"") -> None:
        """`kept`: as `kept` gave it. Raises ValueError where it is not."""
        self._entry_ms, self._now_ms = (0, 0)
        self._known: dict[bytes, tuple[int, int]] = {}
        self._packed = bytearray(kept[_CLOCK.size :])
        if kept:
            try:
                self._entry_ms, self._now_ms = _CLOCK.unpack_from(kept)
                self._known = {digest: (at_ms, payload) for digest, at_ms, payload in _ID.iter_unpack(self._packed)}
            except struct.error as error:
                raise ValueError(f"accepted ids: {error}") from error

    def __len__(self) -> int:
        return len(self._known)

    def holds(self, subject: str, command_id: str, payload: bytes, at_ms: int) -> bool:
        """Whether the command was accepted before an entry of that time. Raises Failure COMMAND_ID_REUSED,
        COMMAND_ID_EXPIRED.
        """
        known = self._known.get(ids.command_digest(subject, command_id))
        now_ms = self._now(at_ms)
        if known is None or known[0] < now_ms - REMEMBERED_MS - EXPIRED_MS:
            return False
        if known[0] < now_ms - REMEMBERED_MS:
            raise Failure("COMMAND_ID_EXPIRED", "This command_id was accepted more than a day ago.")
        if known[1] != _short(payload):
            raise reused()
        return True

    def take(self, commands: Iterable[CommandRef], at_ms: int) -> None:
        """Accept these, in the entry of that time, and forget what is older than anybody remembers."""
        self._now_ms, self._entry_ms = self._now(at_ms), max(at_ms, self._entry_ms)
        for command in commands:
            digest, payload = ids.command_digest(command.subject, command.command_id), _short(command.payload_hash)
            self._known[digest] = (self._now_ms, payload)
            self._packed += _ID.pack(digest, self._now_ms, payload)
        oldest_ms = self._now_ms - REMEMBERED_MS - EXPIRED_MS
        while self._packed:
            digest, accepted_ms, _ = _ID.unpack_from(self._packed)
            if accepted_ms >= oldest_ms:
                break
            if self._known[digest][0] == accepted_ms:  # else it came again after it was forgotten, and stands behind
                del self._known[digest]
            del self._packed[: _ID.size]

    def kept(self) -> bytes:
        """What to make it of again."""
        return _CLOCK.pack(self._entry_ms, self._now_ms) + self._packed

    def _now(self, at_ms: int) -> int:
        if not self._entry_ms:
            return at_ms
        return self._now_ms + min(max(0, at_ms - self._entry_ms), LONGEST_STEP_MS)


def _short(payload: bytes) -> int:
    return int.from_bytes(payload[:_PAYLOAD_BYTES], "big")


def payload_hash(method: str, request: bytes) -> bytes:
    """SHA-256 of a method's name and its request as the hall encodes it."""
    return hashlib.sha256(method.encode() + b"\0" + request).digest()


def reused() -> Failure:
    """The id is another request's."""
    return Failure("COMMAND_ID_REUSED", "This command_id was accepted before with another request.")
