"""Page tokens: where a page begins, sealed so that nobody makes one up.

The seal's key comes from the game's own seed, which every process that may serve the game knows, now and later. When
the game is over its seats know the seed too, and could make a token up: it would only say where their own page begins.
"""

import base64
import binascii
import hmac

from guildhall.rpc.errors import Failure

_SEAL_BYTES = 16


def seal(seed: bytes, subject: str, version: int) -> str:
    """The token of the page that begins with this version, for this subject; `seed` is the game's."""
    data = version.to_bytes(8, "big")
    return base64.urlsafe_b64encode(data + _mark(seed, subject, data)).decode().rstrip("=")


def opened(seed: bytes, subject: str, token: str) -> int:
    """The version. Raises Failure INVALID_PAGE_TOKEN."""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    data, mark = raw[:8], raw[8:]
    if len(raw) != 8 + _SEAL_BYTES or not hmac.compare_digest(mark, _mark(seed, subject, data)):
        raise Failure("INVALID_PAGE_TOKEN", "This page token is not one of this listing.", field="page_token")
    return int.from_bytes(data, "big")


def _mark(seed: bytes, subject: str, data: bytes) -> bytes:
    key = hmac.digest(seed, b"page tokens", "sha256")
    return hmac.digest(key, data + subject.encode(), "sha256")[:_SEAL_BYTES]
