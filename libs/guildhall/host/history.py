"""Earlier versions of a game: records from the log, and states folded from them."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence

from guildhall.kernel.fold import Unfoldable, follow
from guildhall.kernel.game import Game, restore
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogUnreadable
from guildhall.log.port import Entry, EventsTopic, Record
from guildhall.log.values import decode

EVERY = 64
"""Versions between the states that are remembered."""
REMEMBERED = 512
"""States remembered for all games of a host together."""
CHUNK = 100
"""Versions read at once."""
AT_ONCE = 8
"""Reads of the log that are under way at once; whoever else asks waits for its turn."""
_FOR_EACH = 4
"""Records at most that are read for each that is wanted, rather than read once more."""
_LONGEST_READ = 1_000


class History:
    """Reads the records of one game's topic, and remembers some states on the way."""

    def __init__(self, rules: Rules, topic: EventsTopic) -> None:
        self._rules = rules
        self._topic = topic
        self._states: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._reading = asyncio.Semaphore(AT_ONCE)

    async def records(self, partition: int, game_id: str, offsets: Sequence[int]) -> list[tuple[bytes, bytes]]:
        """(body, hash) of the records at these offsets, the game's own, ascending, as `HostedGame` keeps them.

        Raises `LogError`.
        """
        offsets = [max(offset, ~offset) for offset in offsets]
        wanted = set(offsets)
        found: dict[int, Record] = {}
        for first, last in runs(offsets):
            while first <= last:
                # One after another: those of others come between, however many are wanted here.
                async with self._reading:
                    records = await self._topic.read(partition, first, min(_LONGEST_READ, last - first + 1))
                if not records:
                    break
                found.update((r.offset, r) for r in records if r.offset in wanted)
                first = records[-1].offset + 1
        pairs = []
        for offset in offsets:
            entry = decode(found[offset].value) if offset in found else None
            if not isinstance(entry, Entry) or found[offset].key != game_id:
                raise LogUnreadable(f"{self._topic.name}/{partition}", f"offset {offset} is no record of {game_id}")
            pairs.append((entry.body, entry.hash))
        return pairs

    async def at(self, partition: int, game_id: str, offsets: Sequence[int], version: int) -> Game:
        """The game at that version, one of 1 to `len(offsets)`; the caller's own. Raises `LogError`, Unfoldable."""
        game = self.nearest(game_id, version)
        done = game.version if game is not None else 0
        async for state, _ in self.fold_on(partition, game_id, offsets, game, done + 1, version):
            game = state
            self.remember(game_id, game)
        if game is None or game.lost:
            raise Unfoldable(f"version {version} cannot be folded")
        return game

    async def reread(self, partition: int, game_id: str, offsets: Sequence[int]) -> tuple[Game, int]:
        """The game as its records alone tell it, over those that cannot be folded, and its newest version that can be.

        Where they differ the game has hall and agenda of that version. Raises `LogError`, Unfoldable where even the
        first cannot be.
        """
        game: Game | None = None
        whole = 0
        for begin in range(0, len(offsets), CHUNK):
            pairs = await self.records(partition, game_id, offsets[begin : begin + CHUNK])
            for seq, (body, digest) in enumerate(pairs, begin + 1):
                game, _ = follow(self._rules, game, seq, body, digest)
                whole = whole if game.lost else seq
        if game is None:
            raise Unfoldable("no records")
        if game.lost:
            game.restore_state((await self.at(partition, game_id, offsets, whole)).state_bytes())
        return game, whole

    async def fold_on(
        self, partition: int, game_id: str, offsets: Sequence[int], game: Game | None, first: int, last: int
    ) -> "AsyncIterator[tuple[Game, bytes]]":
        """Each version of `first` to `last` with its record's body; `game`, the one at `first - 1`, is changed.

        Versions that cannot be folded are left out, where an operator's record has put the game back behind them.
        """
        for begin in range(first, last + 1, CHUNK):
            end = min(last, begin + CHUNK - 1)
            pairs = await self.records(partition, game_id, offsets[begin - 1 : end])
            for seq, (body, digest) in enumerate(pairs, begin):
                game, _ = follow(self._rules, game, seq, body, digest)
                if not game.lost:
                    yield game, body

    def nearest(self, game_id: str, version: int) -> Game | None:
        """The newest state up to that version that is remembered; the caller's own."""
        for step in range(version - version % EVERY, 0, -EVERY):
            state = self._states.get((game_id, step))
            if state is not None:
                self._states.move_to_end((game_id, step))
                return restore(self._rules, state)
        return None

    def remember(self, game_id: str, game: Game) -> None:
        """Keep its state for whoever asks for a later version, if it is one of those that are kept."""
        key = (game_id, game.version)
        if game.version % EVERY == 0 and key not in self._states:
            self._states[key] = game.snapshot()
            if len(self._states) > REMEMBERED:
                self._states.popitem(last=False)


def runs(offsets: Sequence[int]) -> list[tuple[int, int]]:
    """(first, last) of what is read together for these offsets, which ascend."""
    found: list[tuple[int, int]] = []
    wanted = 0
    for offset in offsets:
        if found and offset - found[-1][0] < _FOR_EACH * (wanted + 1):
            found[-1] = found[-1][0], offset
            wanted += 1
        else:
            found.append((offset, offset))
            wanted = 1
    return found
