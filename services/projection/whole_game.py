"""A game's models made whole from all its records, and as they are stored: to compare, and to set them right."""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_models
from typing import Any

from msgspec.structs import replace
from redis.asyncio import Redis

from guildhall.host.messages import Messages
from guildhall.kernel.fold import Unfoldable, follow
from guildhall.kernel.game import Game
from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.records import DAMAGED, STATE_EVERY, State, Stopped, Summary
from services.projection.games import OFFSET_BYTES, may_stand, move, places, summary_of, too_much

UNREADABLE = "cannot be read"
_KEPT = ":kept"


@dataclass(frozen=True)
class GameModels:
    """Everything that Redis holds of one game."""

    version: int = 0
    snapshot: bytes = b""
    """Of the newest state that could be folded."""
    feed_sizes: tuple[int, ...] = ()
    feed: Mapping[int, bytes] = field(default_factory=dict)
    states: Mapping[int, bytes] = field(default_factory=dict)
    offsets: bytes = b""
    summary: Summary | None = None
    stopped: Stopped | None = None
    places: Mapping[str, int] = field(default_factory=dict)
    """Where it stands in lists: name of the list, as in `Keys` but without the generation -> score."""
    damage: str = ""
    """Why what is stored cannot be read."""

    @property
    def let_go(self) -> bool:
        """Whether no more is kept of it than what lists need and where its records are (`retention`)."""
        over = self.summary is not None and self.summary.ended is not None
        return over and not (self.snapshot or self.feed or self.states or _KEPT in self.places)

    @property
    def state_hash(self) -> str:
        """Of the newest state; short, for people."""
        return hashlib.sha256(self.snapshot).hexdigest()[:16] if self.snapshot else "none"


def differences(stored: GameModels, right: GameModels) -> list[str]:
    """What of the stored models is not as it should be, in words."""
    if stored.damage:
        return [stored.damage]
    if stored.let_go or right.let_go:
        stored, right = _without(stored), _without(right)
    found = []
    if (stored.version, stored.snapshot) != (right.version, right.snapshot):
        found.append(
            f"state {stored.state_hash} of version {stored.version}, not {right.state_hash} of version {right.version}"
        )
    names = ("feed_sizes", "feed", "states", "offsets", "summary", "stopped", "places")
    found += [name.partition("_")[0] for name in names if getattr(stored, name) != getattr(right, name)]
    return list(dict.fromkeys(found))


def _without(models: GameModels) -> GameModels:
    """What stays of a game that is let go."""
    places = {name: score for name, score in models.places.items() if name != _KEPT}
    return replace_models(models, version=0, snapshot=b"", feed_sizes=(), feed={}, states={}, places=places)


class WholeGame:
    """A game folded from its first record on, over records that cannot be, as far as operators put it back."""

    def __init__(self, messages: Messages, game_id: str) -> None:
        self.game_id = game_id
        self.stopped: Stopped | None = None
        self.ended_seq = 0
        """The version that ended it; 0: none."""
        self._rules = messages.rules
        self._game: Game | None = None
        self._version = 0
        self._snapshot = b""
        self._summary: Summary | None = None
        self._created_ms = 0
        self._feed: list[tuple[int, bytes]] = []
        self._states: dict[int, bytes] = {}
        self._offsets: list[int] = []

    def take(self, offset: int, seq: int, body: bytes, digest: bytes) -> None:
        """The next effective record."""
        try:
            self._game, _ = follow(self._rules, self._game, seq, body, digest)
            lost = self._game.lost
        except Unfoldable as error:
            lost = str(error)
        if lost:
            first = self.stopped
            if first is None or first.seq == DAMAGED:
                first = Stopped(offset, seq, seq, lost)
            self.stopped = replace(first, last_seq=seq)
            self._offsets.append(~offset)
            return
        assert self._game is not None
        if self.stopped is not None and self.stopped.seq != DAMAGED:
            self._feed = []
        self.stopped = None
        self._offsets.append(offset)
        self._created_ms = self._created_ms or self._game.at_ms
        self._version, self._snapshot = seq, self._game.snapshot()
        self._summary = summary_of(self._game, self._created_ms)
        if not self.ended_seq and self._game.ended is not None:
            self.ended_seq = seq
        self._feed.append((seq, digest + body))
        del self._feed[: too_much([len(record) for _, record in self._feed])]
        if seq % STATE_EVERY == 0:
            self._states[seq] = self._snapshot

    def end_is_new(self, index: bytes) -> bool:
        """Whether the record that ended it, by this stored index, could not be folded until now: its result is still to
        be counted.
        """
        end = index[OFFSET_BYTES * (self.ended_seq - 1) : OFFSET_BYTES * self.ended_seq] if self.ended_seq else b""
        return len(end) == OFFSET_BYTES and struct.unpack(">q", end)[0] < 0

    def damaged(self, offset: int, why: str) -> None:
        """A record under this game's key cannot be read."""
        if self.stopped is None:
            self.stopped = Stopped(offset, DAMAGED, self._version, why)

    def models(self, keys: Keys) -> GameModels:
        """What its models have to be."""
        summary = self._summary
        if summary is not None:
            summary = replace(summary, stopped=self.stopped is not None)
        return GameModels(
            version=self._version,
            snapshot=self._snapshot,
            feed_sizes=tuple(len(record) for _, record in self._feed),
            feed=dict(self._feed),
            states=dict(self._states),
            offsets=struct.pack(f">{len(self._offsets)}q", *self._offsets),
            summary=summary,
            stopped=self.stopped,
            places=_short(keys, places(keys, summary)) if summary is not None else {},
        )


def _short(keys: Keys, scores: dict[str, int]) -> dict[str, int]:
    return {key.removeprefix(keys.base): score for key, score in scores.items()}


async def read(redis: Redis, keys: Keys, game_ids: Sequence[str]) -> tuple[bytes, list[GameModels]]:
    """The models of these games as they are stored, and the partition's position at that moment. Raises RedisError."""
    subjects = [_subjects(value) for value in await redis.mget([keys.summary(game_id) for game_id in game_ids])]
    lists = [may_stand(keys, names) for names in subjects]
    async with redis.pipeline(transaction=True) as at_once:
        at_once.get(keys.position)
        for game_id, names in zip(game_ids, lists, strict=True):
            at_once.get(keys.state(game_id))
            at_once.hgetall(keys.feed(game_id))
            at_once.hgetall(keys.states(game_id))
            at_once.get(keys.offsets(game_id))
            at_once.get(keys.summary(game_id))
            at_once.hget(keys.stopped, game_id)
            for name in names:
                at_once.zscore(name, game_id)
        position, *values = await at_once.execute()
    found = []
    for names in lists:
        mine, values = values[: 6 + len(names)], values[6 + len(names) :]
        scores = {name: int(score) for name, score in zip(names, mine[6:], strict=True) if score is not None}
        try:
            found.append(_models(mine[:6], _short(keys, scores)))
        except ValueError as error:
            found.append(GameModels(damage=f"{UNREADABLE}: {error}"))
    return position or b"", found


def _subjects(summary: Any) -> list[str]:
    try:
        return list(dict.fromkeys(records.decode(summary, Summary).subjects)) if summary is not None else []
    except ValueError:
        return []


def _models(values: list[Any], scores: dict[str, int]) -> GameModels:
    """Raises ValueError."""
    state, feed, states, offsets, summary, stopped = values
    stored = records.decode(state, State) if state is not None else State(0, b"", [])
    return GameModels(
        version=stored.version,
        snapshot=stored.snapshot,
        feed_sizes=tuple(stored.feed),
        feed={int(version): record for version, record in feed.items()},
        states={int(version): snapshot for version, snapshot in states.items()},
        offsets=offsets or b"",
        summary=records.decode(summary, Summary) if summary is not None else None,
        stopped=records.decode(stopped, Stopped) if stopped is not None else None,
        places=scores,
    )


def write(changes: Changes, game_id: str, right: GameModels, subjects: Sequence[str] = ()) -> None:
    """Add to `changes` what makes this game's models these, whatever they were. `subjects` as they were stored."""
    keys = changes.keys
    changes.remove(*(kind(keys, game_id) for kind in (Keys.state, Keys.feed, Keys.states, Keys.offsets, Keys.summary)))
    if right.offsets:
        changes.set(keys.offsets(game_id), right.offsets)
    changes.drop(keys.stopped, [game_id])
    if right.stopped is not None:
        changes.put(keys.stopped, {game_id: records.encode(right.stopped)})
    whose = list(subjects)
    if right.summary is not None:
        state = State(right.version, right.snapshot, list(right.feed_sizes))
        changes.set(keys.state(game_id), records.encode(state))
        changes.set(keys.summary(game_id), records.encode(right.summary))
        changes.put(keys.feed(game_id), right.feed)
        changes.put(keys.states(game_id), right.states)
        whose += right.summary.subjects
    for key in may_stand(keys, dict.fromkeys(whose)):
        changes.add("ZREM", key, game_id)
    if right.summary is not None:
        move(changes, game_id, {}, places(keys, right.summary))
