"""Content packs in the log's own store, so that old games find theirs for ever (design section 2, "Content packs")."""

import hashlib
from collections.abc import Sequence

from guildhall.kernel.packs import BadPack
from guildhall.kernel.rules import Rules
from guildhall.log import topics
from guildhall.log.port import CompactedTopic, Log


async def sync(log: Log, games: Sequence[Rules]) -> None:
    """Load every stored pack of these games, then store the packs that new games use.

    Raises BadPack naming the stored pack that cannot be used; `LogUnavailable`, `LogUnreadable`.
    """
    topic = await log.compacted(topics.PACKS, 1)
    stored = await load(topic, games)
    for rules in games:
        await store(topic, rules, rules.pack_hash, stored)


async def load(topic: CompactedTopic, games: Sequence[Rules]) -> "set[str]":
    """Load every stored pack of these games; their keys. Raises as `sync` does."""
    by_name = {rules.game: rules for rules in games}
    stored = set()
    for record in await topic.scan(0):
        game, _, digest = record.key.partition("/")
        if game in by_name:
            _load(by_name[game], record.key, digest, record.value)
            stored.add(record.key)
    return stored


def pack_key(game: str, pack_hash: bytes) -> str:
    """Under which a pack is stored: `<game>/<hash in hex>`."""
    return f"{game}/{pack_hash.hex()}"


async def store(topic: CompactedTopic, rules: Rules, pack_hash: bytes, stored: "set[str]") -> None:
    """Store a pack that this process knows, unless its key is among `stored`."""
    key = pack_key(rules.game, pack_hash)
    if key not in stored:
        await topic.put(0, key, rules.packs.data(pack_hash))


def _load(rules: Rules, key: str, digest: str, data: bytes) -> None:
    if hashlib.sha256(data).hexdigest() != digest:
        raise BadPack(f"stored pack {key}: its bytes are not those that it was stored with")
    try:
        rules.packs.add(data)
    except BadPack as error:
        raise BadPack(f"stored pack {key}: {error}") from error
