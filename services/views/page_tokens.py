"""Page tokens: where a page begins, sealed so that nobody makes one up.

The seal's key for one game's listings comes from the game's own seed, which every process that may serve the game
knows, now and later. When the game is over its seats know the seed too, and could make a token up: it would only say
where their own page begins. For listings across games it comes from the hall's own key, which all its processes share.
"""

import base64
import binascii
import hmac

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from guildhall.rpc.errors import Failure

_SEAL_BYTES = 16


def seal(seed: bytes, subject: str, version: int) -> str:
    """The token of the page that begins with this version, for this subject; `seed` is the game's."""
    return sealed(_key(seed), subject, version.to_bytes(8, "big"))


def opened(seed: bytes, subject: str, token: str) -> int:
    """The version. Raises Failure INVALID_PAGE_TOKEN."""
    return int.from_bytes(unsealed(_key(seed), subject, token), "big")


def hall_key(own: Ed25519PrivateKey) -> bytes:
    """The key for listings across games, of a hall's own key."""
    return _key(
        own.private_bytes(serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption())
    )


def sealed(key: bytes, listing: str, place: bytes) -> str:
    """The token of a place in a listing; `listing` says which one it is, and whose."""
    return base64.urlsafe_b64encode(place + _mark(key, listing, place)).decode().rstrip("=")


def unsealed(key: bytes, listing: str, token: str) -> bytes:
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
