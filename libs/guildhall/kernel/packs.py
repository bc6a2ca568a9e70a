"""Content packs: component data, identified by the SHA-256 of its bytes."""

import hashlib
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class BadPack(ValueError):
    """A content pack that cannot be used; the message names the entry and what is wrong."""


class Packs(dict[bytes, T]):
    """The content of the packs of one game that this process knows, by the packs' hashes; filled by `add` alone."""

    def __init__(self, parse: Callable[[bytes], T]) -> None:
        """`parse` turns a pack's bytes into typed content, or raises BadPack."""
        super().__init__()
        self._parse = parse
        self._data: dict[bytes, bytes] = {}

    def add(self, data: bytes) -> bytes:
        """Take in a pack and return its hash (32 bytes). Raises BadPack."""
        pack_hash = hashlib.sha256(data).digest()
        if pack_hash not in self:
            self[pack_hash] = self._parse(data)
            self._data[pack_hash] = data
        return pack_hash

    def data(self, pack_hash: bytes) -> bytes:
        """The pack's bytes. Raises KeyError where the pack is not known."""
        return self._data[pack_hash]
