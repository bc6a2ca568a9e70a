"""Luck that can be audited: every draw comes from the game's seed, by number.

Protocol (design section 2), for a seed of 32 bytes:

    commitment   SHA-256(seed), public from version 1
    key          HMAC-SHA256(seed, "draw")
    stream(n)    HMAC-SHA256(key, u64 n || u64 block) for block = 0, 1, ...; big-endian numbers
    u32s         the stream read as big-endian u32
    below(k)     the next u32 that is less than the largest multiple of k up to 2**32, modulo k
    shuffle      Fisher-Yates from the last: for i = size-1 ... 1 swap i with below(i + 1)

One die or one whole shuffle is one draw.
"""

import hashlib
from collections.abc import Iterator, Sequence
from struct import Struct as Packing

from guildhall.kernel.mac import hmac_sha256
from guildhall.kernel.v1.structs import Draw

SEED_BYTES = 32
MAX_BOUND = 2**32 - 1
_PAIR = Packing(">QQ").pack
_EIGHT = Packing(">8I").unpack


def commitment(seed: bytes) -> bytes:
    """SHA-256 of the seed."""
    return hashlib.sha256(seed).digest()


def stream(seed: bytes, n: int) -> Iterator[int]:
    """The u32s of draw `n`."""
    key = hmac_sha256(seed, b"draw")
    block = 0
    while True:
        yield from _EIGHT(hmac_sha256(key, _PAIR(n, block)))
        block += 1


def results(seed: bytes, n: int, bounds: Sequence[int]) -> list[int]:
    """The results of draw `n`: for each exclusive bound (1 to MAX_BOUND) a number from 0.

    Raises ValueError for another bound.
    """
    if bounds and not 1 <= min(bounds) <= max(bounds) <= MAX_BOUND:
        raise ValueError(f"a bound is 1 to {MAX_BOUND}")
    numbers = stream(seed, n)
    out: list[int] = []
    for bound in bounds:
        limit = 0x1_0000_0000 - 0x1_0000_0000 % bound
        for number in numbers:
            if number < limit:
                out.append(number % bound)
                break
    return out


class Luck:
    """The draws of one command, numbered on from those before it."""

    __slots__ = ("_next", "_seed", "draws")

    def __init__(self, seed: bytes, first: int) -> None:
        self._seed = seed
        self._next = first
        self.draws: list[Draw] = []

    def _draw(self, bounds: tuple[int, ...]) -> list[int]:
        out = results(self._seed, self._next, bounds)
        self.draws.append(Draw(self._next, bounds, tuple(out)))
        self._next += 1
        return out

    def below(self, bound: int) -> int:
        """A number from 0 to bound - 1. Raises ValueError for a bound below 1 or above MAX_BOUND."""
        return self._draw((bound,))[0]

    def die(self, sides: int) -> int:
        """A number from 1 to `sides`. Raises ValueError as `below`."""
        return self.below(sides) + 1

    def shuffle(self, items: Sequence[int]) -> list[int]:
        """The items in a new order."""
        shuffled = list(items)
        last = range(len(shuffled) - 1, 0, -1)
        for i, j in zip(last, self._draw(tuple(i + 1 for i in last)), strict=True):
            shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
        return shuffled
