"""Content packs: component data, identified by the SHA-256 of its bytes."""

import hashlib
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class BadPack(ValueError):
    """A content pack that cannot be used; the message names the entry and what is wrong."""


class Packs(Generic[T]):
    """The packs of one game that this process knows, by hash."""

    def __init__(self, parse: Callable[[bytes], T]) -> None:
        """`parse` turns a pack's bytes into typed content, or raises BadPack."""
        self._parse = parse
        self._content: dict[bytes, T] = {}
        self._data: dict[bytes, bytes] = {}

    def add(self, data: bytes) -> bytes:
        """Take in a pack and return its hash (32 bytes). Raises BadPack."""
        pack_hash = hashlib.sha256(data).digest()
        if pack_hash not in self._content:
            self._content[pack_hash] = self._parse(data)
            self._data[pack_hash] = data
        return pack_hash

    def __contains__(self, pack_hash: bytes) -> bool:
        return pack_hash in self._content

    def __getitem__(self, pack_hash: bytes) -> T:
        """The content. Raises KeyError where the pack is not known."""
        return self._content[pack_hash]

    def data(self, pack_hash: bytes) -> bytes:
        """The pack's bytes. Raises KeyError where the pack is not known."""
        return self._data[pack_hash]
