"""Names and digests that are derived, never chosen."""

from base64 import b32encode
from functools import lru_cache
from hashlib import sha256 as _sha256
from struct import Struct as Packing

_U64 = Packing(">Q").pack

HALL = "guildhall:"
"""Subjects that begin so are the hall's own."""
CLOCK = HALL + "clock"


def decision_id(version: int, seat: int) -> str:
    """Id of the decision that opened for a seat at a version."""
    return f"{version}.{seat}"


def game_id(subject: str, command_id: str) -> str:
    """Id of the game that this subject creates with this command id: 26 characters.

    Creating twice with the same id therefore names the same game.
    """
    return b32encode(command_digest(subject, command_id)).decode().rstrip("=").lower()


def command_digest(subject: str, command_id: str) -> bytes:
    """16 bytes that stand for an accepted command."""
    name = subject.encode()
    return _sha256(_U64(len(name)) + name + command_id.encode()).digest()[:16]


def payload_hash(decision_id: str, command: bytes) -> bytes:
    """SHA-256 of a decision id and a command as encoded by the hall."""
    return _sha256(decision_id.encode() + b"\0" + command).digest()


def version_hash(prev_hash: bytes, seed: bytes, seq: int, body: bytes) -> bytes:
    """SHA-256(prev_hash || HMAC-SHA256(seed, "salt" || u64 seq) || body): design section 3.

    The salt keeps a viewer from guessing a body by its hash before the seed opens.
    """
    inner, outer = _hmac_keys(seed)
    salt = _sha256(outer + _sha256(inner + b"salt" + _U64(seq)).digest()).digest()
    return _sha256(prev_hash + salt + body).digest()


@lru_cache(1024)
def _hmac_keys(key: bytes) -> tuple[bytes, bytes]:
    """The two blocks of HMAC (RFC 2104) for a key of at most 64 bytes. A fold makes an HMAC for each record, for which
    `hmac.digest` takes twice as long.
    """
    block = key.ljust(64, b"\0")
    return bytes(byte ^ 0x36 for byte in block), bytes(byte ^ 0x5C for byte in block)
