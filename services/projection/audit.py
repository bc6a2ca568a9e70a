"""`guildhall projection audit`: some games recomputed from the log alone, and their models compared and set right."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field

from guildhall.host.messages import Messages
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogUnavailable
from guildhall.log.fold import Damaged, Effective, FoldState, Verdict, fold
from guildhall.log.port import CLAIM_KEY, EventsTopic
from guildhall.log.reader import READ_LIMIT
from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes, Models, Outcome
from guildhall.readmodel.keys import Keys
from services.projection.games import count_results
from services.projection.partition import progress_of
from services.projection.rebuild import games_of
from services.projection.whole_game import GameModels, WholeGame, differences, read, write

_AT_ONCE = 20
_TRIES = 500
"""A game is set right between two batches of the projection."""


@dataclass
class Sample:
    """Which games: these, or else so many of a hundred, others with another salt."""

    games: Collection[str] = ()
    percent: float = 100.0
    salt: str = ""
    lowest: tuple[int, str] | None = None
    """Of those that were asked about without `games`, the one that is in all samples but empty ones."""

    def has(self, game_id: str) -> bool:
        """Whether the game is among them."""
        if self.games:
            return game_id in self.games
        drawn = int.from_bytes(hashlib.sha256(f"{self.salt}/{game_id}".encode()).digest()[:4], "big")
        self.lowest = min(self.lowest or (drawn, game_id), (drawn, game_id))
        return drawn < self.percent / 100.0 * (1 << 32)


@dataclass
class Audited:
    """What was found in one partition."""

    partition: int
    of: str = "game"
    """What it was that was audited, in a word."""
    games: int = 0
    behind: int = 0
    """Records that the models lack."""
    wrong: dict[str, list[str]] = field(default_factory=dict)
    """Of each game whose models were wrong what was."""
    mended: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    """Those that were asked for by name, and that the models or the log know."""
    missing: bool = False
    """There are no models of this partition, or they are of another format."""


async def audit(
    rules: Rules, topic: EventsTopic, partition: int, models: Models, sample: Sample, *, mend: bool = True
) -> Audited:
    """Compare the models of a sample of games with what the log says; set them right.

    Raises RedisError, `LogError`.
    """
    keys = Keys(rules.game, partition, await models.generation(rules.game, partition))
    found = Audited(partition)
    position = records.raw(await models.redis.get(keys.position) or b"")
    progress = progress_of(position)
    end = await topic.end_offset(partition)
    if progress is None or progress.format != records.FORMAT:
        found.missing = end > 0
        return found
    found.behind = max(0, end - progress.next_offset)
    truth = _Truth(rules, topic, partition, sample)
    await truth.advance(progress.next_offset)
    names = {name for name in await games_of(models, keys) if sample.has(name)}
    chosen = sorted(names | truth.games.keys())
    found.named = {*sample.games} & {*chosen}
    for begin in range(0, len(chosen), _AT_ONCE):
        some = chosen[begin : begin + _AT_ONCE]
        position, stored = await read(models.redis, keys, some)
        await truth.follow(position)
        for game_id, old in zip(some, stored, strict=True):
            wrong = differences(old, truth.models(keys, game_id))
            if wrong:
                found.wrong[game_id] = wrong
        found.games += len(some)
    for game_id in found.wrong if mend else ():
        if await _mend(models, keys, truth, game_id):
            found.mended.add(game_id)
    return found


class _Truth:
    """The games of the sample, folded from the log up to wherever the models were read."""

    def __init__(self, rules: Rules, topic: EventsTopic, partition: int, sample: Sample) -> None:
        self.games: dict[str, WholeGame] = {}
        self._messages = Messages(rules)
        self._topic = topic
        self._partition = partition
        self._sample = sample
        self._state = FoldState()

    async def advance(self, end: int) -> None:
        """Fold to just there. Raises `LogError`."""
        state = self._state
        while state.next_offset < end:
            found = await self._topic.read(self._partition, state.next_offset, min(READ_LIMIT, end - state.next_offset))
            if not found:
                raise LogUnavailable(f"{self._topic.name}/{self._partition} does not reach offset {end}")
            for record in found:
                self._told(fold(state, record))

    async def follow(self, position: bytes) -> None:
        """Fold to where the models were. Raises `LogUnavailable` where they have gone back meanwhile."""
        progress = progress_of(position)
        if progress is None or progress.next_offset < self._state.next_offset:
            raise LogUnavailable("the models have gone back; ask again when the projection has caught up")
        await self.advance(progress.next_offset)

    def models(self, keys: Keys, game_id: str) -> GameModels:
        """What a game's models have to be; none where the log knows no such game."""
        game = self.games.get(game_id)
        return game.models(keys) if game is not None else GameModels()

    def _told(self, verdict: Verdict) -> None:
        match verdict:
            case Effective(offset=offset, aggregate_id=game_id, entry=entry) if self._sample.has(game_id):
                self._game(game_id).take(offset, entry.seq, entry.body, entry.hash)
            case Damaged(offset=offset, key=game_id, reason=reason) if game_id != CLAIM_KEY and self._sample.has(
                game_id
            ):
                self._game(game_id).damaged(offset, reason)

    def _game(self, game_id: str) -> WholeGame:
        game = self.games.get(game_id)
        if game is None:
            game = self.games[game_id] = WholeGame(self._messages, game_id)
        return game


async def _mend(models: Models, keys: Keys, truth: _Truth, game_id: str) -> bool:
    """Set one game's models right, between two batches of the projection; False where that never succeeds."""
    for _ in range(_TRIES):
        position, [stored] = await read(models.redis, keys, [game_id])
        index = records.raw(await models.redis.get(keys.offsets(game_id)) or b"")
        await truth.follow(position)
        right, whole = truth.models(keys, game_id), truth.games.get(game_id)
        if not differences(stored, right):
            return True
        changes = Changes(keys)
        write(changes, game_id, right, stored.summary.subjects if stored.summary is not None else ())
        if right.summary is not None and whole is not None and whole.end_is_new(index):
            await count_results(models.redis, changes, [right.summary])
        progress = progress_of(position)
        assert progress is not None
        changes.tell_anew(progress.next_offset, game_id)
        outcome = await models.apply(changes, position, records.encode(records.moved(progress)))
        if outcome is Outcome.APPLIED:
            return True
        if outcome is Outcome.GENERATION:
            return False
    return False
