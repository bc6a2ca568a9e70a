"""Names and digests that are derived, never chosen."""

from functools import lru_cache
from hashlib import sha256 as _sha256
from struct import Struct as Packing

from guildhall.kernel.mac import hmac_sha256

_U64 = Packing(">Q").pack
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_LETTER_PAIRS = [first + second for first in _LETTERS for second in _LETTERS]
"""By ten bits."""

HALL = "guildhall:"
"""Subjects that begin so are the hall's own."""
CLOCK = HALL + "clock"


def decision_id(version: int, seat: int) -> str:
    """Id of the decision that opened for a seat at a version."""
    return f"{version}.{seat}"


@lru_cache(maxsize=4096)
def game_id(subject: str, command_id: str) -> str:
    """Id of the game that this subject creates with this command id: 26 characters.

    Creating twice with the same id therefore names the same game.
    """
    return base32(command_digest(subject, command_id))


def base32(digest: bytes) -> str:
    """Bytes as letters and digits: base32 (RFC 4648) in small letters, without padding."""
    length = 8 * len(digest)
    padded = -(-length // 10) * 10
    bits = int.from_bytes(digest, "big") << padded - length
    # Measured: half of what base64.b32encode takes, which comes to 1 % of a busy pool's time.
    letters = "".join([_LETTER_PAIRS[bits >> shift & 0x3FF] for shift in range(padded - 10, -1, -10)])
    return letters[: -(-length // 5)]


@lru_cache(maxsize=4096)
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
