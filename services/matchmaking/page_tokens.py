"""Page tokens of lists: where the next page begins, sealed for one list and one caller."""

import base64
import hashlib
import hmac

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from guildhall.rpc.errors import Failure

DEFAULT_SIZE = 100
MOST = 1_000
_SEAL_BYTES = 16


class PageTokens:
    """Sealed with a key that all processes of a hall have, so a listing goes on with whichever answers."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        """`key` is the hall's own."""
        raw = key.private_bytes(
            serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption()
        )
        self._key = hmac.digest(raw, b"guildhall page tokens of matchmaking", "sha256")

    def sealed(self, listing: str, subject: str, after: str) -> str:
        """The token of a page that begins behind `after`; "" where that is "": there is none."""
        if not after:
            return ""
        return base64.urlsafe_b64encode(self._seal(listing, subject, after) + after.encode()).decode()

    def opened(self, listing: str, subject: str, token: str) -> str:
        """Behind what the page begins; "" for the first one. Raises Failure INVALID_PAGE_TOKEN."""
        if not token:
            return ""
        try:
            raw = base64.urlsafe_b64decode(token.encode("ascii"))
            after = raw[_SEAL_BYTES:].decode()
        except ValueError:
            raise _not_ours() from None
        if not hmac.compare_digest(raw[:_SEAL_BYTES], self._seal(listing, subject, after)):
            raise _not_ours()
        return after

    def _seal(self, listing: str, subject: str, after: str) -> bytes:
        text = "\0".join((hashlib.sha256(subject.encode()).hexdigest(), listing, after))
        return hmac.digest(self._key, text.encode(), "sha256")[:_SEAL_BYTES]


def _not_ours() -> Failure:
    return Failure("INVALID_PAGE_TOKEN", "This is no token of this list.", field="page_token")


def page_size(asked: int) -> int:
    """The size of a page. Raises Failure INVALID_PAGE_SIZE."""
    if not 0 <= asked <= MOST:
        raise Failure("INVALID_PAGE_SIZE", f"A page has at most {MOST} entries.", field="page_size")
    return asked or DEFAULT_SIZE
