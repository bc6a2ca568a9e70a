"""The token with which matchmaking asks for games."""

import time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from guildhall.rpc.identity import mint_own
from services.matchmaking.house import MATCHMAKER

_LASTS_SECONDS = 3600.0
_RENEWED_BEFORE = 300.0


class HallToken:
    """Signed with the hall's own key, and renewed before it expires."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self._token = ""
        self._expires = 0.0

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Of a request."""
        if time.time() > self._expires - _RENEWED_BEFORE:
            self._expires = time.time() + _LASTS_SECONDS
            self._token = mint_own(self._key, MATCHMAKER, ("play", "seat"), _LASTS_SECONDS)
        return (("authorization", f"Bearer {self._token}"),)
