"""Page tokens: where a page begins, sealed so that nobody makes one up."""

import base64
import binascii
import hmac

from guildhall.rpc.errors import Failure

_SEAL_BYTES = 16


class PageTokens:
    """Seals and opens tokens; each belongs to one caller and one game."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def seal(self, subject: str, game_id: str, version: int) -> str:
        """The token of the page that begins with this version."""
        data = version.to_bytes(8, "big")
        return base64.urlsafe_b64encode(data + self._mark(subject, game_id, data)).decode().rstrip("=")

    def open(self, subject: str, game_id: str, token: str) -> int:
        """The version. Raises Failure INVALID_PAGE_TOKEN."""
        try:
            raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        data, mark = raw[:8], raw[8:]
        if len(raw) != 8 + _SEAL_BYTES or not hmac.compare_digest(mark, self._mark(subject, game_id, data)):
            raise Failure("INVALID_PAGE_TOKEN", "This page token is not one of this listing.", field="page_token")
        return int.from_bytes(data, "big")

    def _mark(self, subject: str, game_id: str, data: bytes) -> bytes:
        name = subject.encode()
        message = len(name).to_bytes(8, "big") + name + game_id.encode() + b"\0" + data
        return hmac.digest(self._secret, message, "sha256")[:_SEAL_BYTES]
