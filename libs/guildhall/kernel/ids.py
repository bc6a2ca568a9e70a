"""Names and digests that are derived, never chosen."""

from base64 import b32encode
from functools import lru_cache
from hashlib import sha256 as _sha256
from struct import Struct as Packing

from guildhall.kernel.mac import hmac_sha256

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
    return _sha256(_named(subject) + command_id.encode()).digest()[:16]


@lru_cache(maxsize=4096)
def _named(subject: str) -> bytes:
    name = subject.encode()
    return _U64(len(name)) + name


def payload_hash(decision_id: str, command: bytes) -> bytes:
    """SHA-256 of a decision id and a command as encoded by the hall."""
    return _sha256(decision_id.encode() + b"\0" + command).digest()


def version_hash(prev_hash: bytes, seed: bytes, seq: int, body: bytes) -> bytes:
    """SHA-256(prev_hash || HMAC-SHA256(seed, "salt" || u64 seq) || body): design section 3.

    The salt keeps a viewer from guessing a body by its hash before the seed opens.
    """
    salt = hmac_sha256(seed, b"salt" + _U64(seq))
    return _sha256(prev_hash + salt + body).digest()
