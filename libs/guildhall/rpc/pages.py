"""Pages of a listing: their size, and the token of the next one, sealed so that nobody makes one up.

A token is good for one listing and one caller. The key for one game's listings comes from the game's own seed, which
every process that may serve the game knows, now and later. When the game is over its seats know the seed too, and could
make a token up: it would only say where their own page begins. For listings across games the key comes from the hall's
own, which all its processes share, so a listing goes on with whichever answers.
"""

import base64
import binascii
import hmac

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from guildhall.rpc.errors import Failure

_SEAL_BYTES = 16


def page_size(asked: int, default: int, most: int, of: str = "entries") -> int:
    """The size of a page, the default one for 0. Raises Failure INVALID_PAGE_SIZE."""
    if not 0 <= asked <= most:
        raise Failure("INVALID_PAGE_SIZE", f"A page has at most {most} {of}.", field="page_size")
    return asked or default


def hall_key(own: Ed25519PrivateKey) -> bytes:
    """The key for listings across games, of a hall's own key."""
    return _key(
        own.private_bytes(serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption())
    )


def game_key(seed: bytes) -> bytes:
    """The key for listings of one game, of its seed."""
    return _key(seed)


def sealed(key: bytes, listing: str, place: bytes) -> str:
    """The token of a place (not empty) in a listing; `listing` says which one it is, and whose."""
    return base64.urlsafe_b64encode(place + _mark(key, listing, place)).decode().rstrip("=")


def opened(key: bytes, listing: str, token: str) -> bytes:
    """The place. Raises Failure INVALID_PAGE_TOKEN."""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    place, mark = raw[:-_SEAL_BYTES], raw[-_SEAL_BYTES:]
    if len(raw) <= _SEAL_BYTES or not hmac.compare_digest(mark, _mark(key, listing, place)):
        raise Failure("INVALID_PAGE_TOKEN", "This page token is not one of this listing.", field="page_token")
    return place


def _key(secret: bytes) -> bytes:
    return hmac.digest(secret, b"page tokens", "sha256")


def _mark(key: bytes, listing: str, place: bytes) -> bytes:
    name = listing.encode()
    return hmac.digest(key, len(name).to_bytes(4, "big") + name + place, "sha256")[:_SEAL_BYTES]
