"""The command ids that a pool has accepted, so that a retry gives the first answer and does nothing twice."""

import hashlib
from collections.abc import Iterable

from guildhall.kernel import ids
from guildhall.kernel.v1.structs import CommandRef
from guildhall.rpc.errors import Failure

REMEMBERED_MS = 24 * 3600 * 1000
"""Of log time: for so long a retry is known."""

EXPIRED_MS = REMEMBERED_MS
"""And for so long after that it is known to be too late."""

_PAYLOAD_BYTES = 16


class Accepted:
    """Digest of (subject, command_id) -> what was asked and when, oldest first."""

    def __init__(self, known: Iterable[tuple[bytes, bytes, int]] = ()) -> None:
        self._known = {digest: (payload, at_ms) for digest, payload, at_ms in known}

    def __len__(self) -> int:
        return len(self._known)

    def holds(self, subject: str, command_id: str, payload: bytes, now_ms: int) -> bool:
        """Whether the command was accepted before. Raises Failure COMMAND_ID_REUSED, COMMAND_ID_EXPIRED."""
        known = self._known.get(ids.command_digest(subject, command_id))
        if known is None or known[1] < now_ms - REMEMBERED_MS - EXPIRED_MS:
            return False
        if known[1] < now_ms - REMEMBERED_MS:
            raise Failure("COMMAND_ID_EXPIRED", "This command_id was accepted more than a day ago.")
        if known[0] != payload[:_PAYLOAD_BYTES]:
            raise reused()
        return True

    def take(self, commands: Iterable[CommandRef], at_ms: int) -> None:
        """Accept these, in the log at that time, and forget what is older than anybody remembers."""
        for command in commands:
            digest = ids.command_digest(command.subject, command.command_id)
            self._known.pop(digest, None)  # what comes again after it was forgotten is new
            self._known[digest] = (command.payload_hash[:_PAYLOAD_BYTES], at_ms)
        while self._known:
            oldest = next(iter(self._known))
            if self._known[oldest][1] >= at_ms - REMEMBERED_MS - EXPIRED_MS:
                break
            del self._known[oldest]

    def kept(self) -> list[tuple[bytes, bytes, int]]:
        """What to make it of again."""
        return [(digest, payload, at_ms) for digest, (payload, at_ms) in self._known.items()]


def payload_hash(method: str, request: bytes) -> bytes:
    """SHA-256 of a method's name and its request as the hall encodes it."""
    return hashlib.sha256(method.encode() + b"\0" + request).digest()


def reused() -> Failure:
    """The id is another request's."""
    return Failure("COMMAND_ID_REUSED", "This command_id was accepted before with another request.")
