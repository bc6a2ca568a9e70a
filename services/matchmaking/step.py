"""One command, or one tick, at work on a pool."""

import hashlib
import hmac
from functools import lru_cache
from typing import Any

from guildhall.kernel import ids
from guildhall.matchmaking.v1.structs import GameTerms, TermsNamed, encode_GameTerms
from services.matchmaking.evolve import evolve
from services.matchmaking.pool import Pool


class Step:
    """Time and luck of one command; what it emits takes effect at once."""

    def __init__(self, pool: Pool, now_ms: int, luck: bytes, heard_ms: int = 0) -> None:
        """`luck`: 32 fresh random bytes. Time never goes back in a pool. `heard_ms` as `deciding.tick` has it."""
        self.pool = pool
        self.house = pool.house
        self.now_ms = max(now_ms, pool.at_ms)
        self.heard_ms = heard_ms
        self.events: list[Any] = []
        self._luck = luck
        self._drawn = 0

    def emit(self, event: Any) -> None:
        """Apply an event and record it."""
        evolve(self.pool, self.now_ms, event)
        self.events.append(event)

    def fresh(self) -> bytes:
        """32 bytes that nobody can guess."""
        self._drawn += 1
        return hmac.digest(self._luck, self._drawn.to_bytes(8, "big"), "sha256")

    def code(self) -> str:
        """A code that invites: 80 bits, 16 letters and digits."""
        return ids.base32(self.fresh()[:10])

    def offer_id(self) -> str:
        """An id as games have: 26 letters and digits."""
        return ids.base32(self.fresh()[:16])

    def name_terms(self, terms: GameTerms) -> str:
        """The id of resolved terms, which the log knows from now on."""
        terms_id = _terms_id(terms)
        if terms_id not in self.pool.terms:
            self.emit(TermsNamed(terms_id, terms))
        return terms_id


@lru_cache(maxsize=1_024)
def _terms_id(terms: GameTerms) -> str:
    return ids.base32(hashlib.sha256(encode_GameTerms(terms)).digest()[:16])
