"""One game as the projection folds it, and what of it is written to Redis."""

import struct
from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from redis.asyncio import Redis

from guildhall.host.messages import Messages
from guildhall.kernel.fold import Unfoldable, check_agenda, fold, restores
from guildhall.kernel.game import Game, as_decision, restore
from guildhall.log.port import Entry
from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes
from guildhall.readmodel.keys import NO_DEADLINE, Keys
from guildhall.readmodel.records import (
    DAMAGED,
    FEED_BYTES,
    FEED_VERSIONS,
    STATE_EVERY,
    Decision,
    Standing,
    State,
    Stopped,
    Summary,
)
from guildhall.telemetry import logs, metrics
from services.projection.retention import remove

OFFSET_BYTES = 8
"""Of each version in a game's index."""

_log = logs.get("projection")


class FoldedGame:
    """A game's newest state in memory, and what of it has to be written."""

    def __init__(
        self,
        game_id: str,
        messages: Messages,
        state: State | None = None,
        summary: Summary | None = None,
        stopped: Stopped | None = None,
    ) -> None:
        self.game_id = game_id
        self.messages = messages
        self.stopped = stopped
        self.stored_summary = summary
        self.placed: dict[str, int] | None = None
        """Where it stands in lists, once that is known (`places`)."""
        self.created_ms = summary.created_ms if summary is not None else 0
        self._stored = state
        self._stored_stopped = stopped is not None
        self._game: Game | None = None
        self._since: list[tuple[bytes, bytes]] = []
        """(body, hash) of what was folded on the stored state since."""
        self.feed: list[int] = list(state.feed) if state is not None else []
        self.version = state.version if state is not None else 0
        self.ended_now = False
        self.let_go = False
        """No more of it is stored than of a game that has long been over (`retention`): it is to be loaded again."""
        self.to_refold = False
        """It is to be folded from its first record again: its stored state was lost, or an operator has put it back."""

    @property
    def seq(self) -> int:
        """The newest effective version in the log."""
        if self.stopped is not None and self.stopped.seq != DAMAGED:
            return self.stopped.last_seq
        return self.version

    @property
    def game(self) -> Game | None:
        """The newest state; None before the first record."""
        if self._game is None and self._stored is not None:
            try:
                self._game = restore(self.messages.rules, self._stored.snapshot)
            except ValueError as error:
                _log.warning("stored state cannot be read", game_id=self.game_id, error=logs.said(error))
                self.to_refold = True
                self.stopped = Stopped(0, 1, self.seq, f"its stored state cannot be read: {error}", refolds=True)
                self._stored, self.version, self.feed = None, 0, []
        return self._game

    def take(self, changes: Changes, offset: int, entry: Entry) -> None:
        """Fold an effective record and note what it changes; one that cannot be folded stops this game alone."""
        if self.stopped is not None and self.stopped.seq == DAMAGED:
            self.stopped = None
        _ = self.game
        if self.stopped is not None:
            self._place(changes, ~offset, entry.seq)
            self.to_refold = self.to_refold or restores(self.messages.rules, entry.body)
            self.stopped = replace(self.stopped, last_seq=entry.seq, refolds=self.to_refold)
            return
        try:
            self._fold(changes, offset, entry)
            self._place(changes, offset, entry.seq)
        except Unfoldable as error:
            self._place(changes, ~offset, entry.seq)
            changes.tell(offset, self.game_id, 0, b"")
            _log.error("game cannot be folded; its models stand still", game_id=self.game_id, error=logs.said(error))
            self.stopped = Stopped(offset, entry.seq, entry.seq, str(error))
            self._go_back()

    def _place(self, changes: Changes, offset: int, seq: int) -> None:
        changes.set_at(changes.keys.offsets(self.game_id), OFFSET_BYTES * (seq - 1), struct.pack(">q", offset))

    def _fold(self, changes: Changes, offset: int, entry: Entry) -> None:
        game, _ = fold(self.messages.rules, self.game, entry.body, entry.hash)
        check_agenda(game)
        if self.version == 0:
            self.created_ms = game.at_ms
        self._game, self.version = game, entry.seq
        self._since.append((entry.body, entry.hash))
        self.ended_now = self.ended_now or game.ended is not None
        record = entry.hash + entry.body
        changes.put(changes.keys.feed(self.game_id), {entry.seq: record})
        self.feed.append(len(record))
        gone = too_much(self.feed)
        if gone:
            first = entry.seq - len(self.feed) + 1
            changes.drop(changes.keys.feed(self.game_id), list(range(first, first + gone)))
            del self.feed[:gone]
        if entry.seq % STATE_EVERY == 0:
            changes.put(changes.keys.states(self.game_id), {entry.seq: game.snapshot()})
        changes.tell(offset, self.game_id, entry.seq, record)

    def _go_back(self) -> None:
        """A record that failed may have changed half of the game: fold it again up to there."""
        since, self._game = self._since, None
        game = self.game
        for body, digest in since:
            game, _ = fold(self.messages.rules, game, body, digest)
        self._game = game

    def damaged(self, changes: Changes, offset: int, why: str) -> None:
        """A record under this game's key cannot be read; the next effective one shows that nothing is missing."""
        if self.stopped is None:
            self.stopped = Stopped(offset, DAMAGED, self.version, why)
            _log.error("a game's record cannot be read; its models stand still", game_id=self.game_id, error=why)
            changes.tell(offset, self.game_id, 0, b"")

    def note_stopped(self, changes: Changes) -> None:
        """Whether its models stand still, where that is new."""
        key = changes.keys.stopped
        if self.stopped is not None:
            changes.put(key, {self.game_id: records.encode(self.stopped)})
        elif self._stored_stopped:
            changes.drop(key, [self.game_id])
        self._stored_stopped = self.stopped is not None

    def written(self, state: State | None, summary: Summary | None) -> None:
        """What is stored now."""
        self._stored, self._since = state, []
        self.stored_summary = summary
        self.ended_now = False


def too_much(feed: Sequence[int]) -> int:
    """How many of the oldest versions go."""
    gone = max(0, len(feed) - FEED_VERSIONS)
    size = sum(feed[gone:])
    while size > FEED_BYTES and gone < len(feed) - 1:
        size -= feed[gone]
        gone += 1
    return gone


async def load(redis: Redis, keys: Keys, messages: Messages, game_ids: Sequence[str]) -> list[FoldedGame]:
    """These games as they are stored, new ones without anything. One of which something cannot be read is to be folded
    again. Raises RedisError.
    """
    if not game_ids:
        return []
    states = await redis.mget([keys.state(game_id) for game_id in game_ids])
    summaries = await redis.mget([keys.summary(game_id) for game_id in game_ids])
    stopped = await redis.hmget(keys.stopped, list(game_ids))
    found = []
    for game_id, state, summary, stop in zip(game_ids, states, summaries, stopped, strict=True):
        try:
            game = FoldedGame(
                game_id,
                messages,
                records.decode(state, State) if state is not None else None,
                records.decode(summary, Summary) if summary is not None else None,
                records.decode(stop, Stopped) if stop is not None else None,
            )
        except ValueError as error:
            _log.warning("stored models cannot be read", game_id=game_id, error=logs.said(error))
            game = await _to_refold(redis, keys, messages, game_id, f"its stored models cannot be read: {error}")
        if state is None and game.stored_summary is not None and game.stopped is None:
            game = await _to_refold(redis, keys, messages, game_id, "its state was let go")
        found.append(game)
    return found


async def _to_refold(redis: Redis, keys: Keys, messages: Messages, game_id: str, why: str) -> FoldedGame:
    versions = await redis.strlen(keys.offsets(game_id)) // OFFSET_BYTES
    game = FoldedGame(game_id, messages, stopped=Stopped(0, 1, versions, why, refolds=True))
    game.to_refold = True
    return game


async def write(redis: Redis, changes: Changes, touched: Iterable[FoldedGame], ended_until: int) -> None:
    """Add to `changes` what is new of these games; those that ended until then (in ms) are let go at once. Reads
    standings. Raises RedisError.

    States and summaries come last, since whoever tries again goes on from them: a command before them may fail where
    somebody else has put something of another type under one of these keys, and Redis takes back none of its script.
    """
    keys = changes.keys
    finished: list[Summary] = []
    new: list[tuple[FoldedGame, State, Summary]] = []
    for folded in touched:
        folded.note_stopped(changes)
        game = folded.game
        if game is None:
            continue
        state = State(folded.version, game.snapshot(), list(folded.feed))
        summary = summary_of(game, folded.created_ms, stopped=folded.stopped is not None)
        now_at = places(keys, summary)
        folded.let_go = game.ended is not None and folded.stopped is None and summary.changed_ms <= ended_until
        if folded.let_go:
            remove(changes, keys, folded.game_id)
            del now_at[keys.kept]
        before = folded.placed
        if before is None:
            before = places(keys, folded.stored_summary) if folded.stored_summary is not None else {}
        folded.placed = move(changes, folded.game_id, before, now_at)
        if folded.ended_now:
            finished.append(summary)
        new.append((folded, state, summary))
    await count_results(redis, changes, finished)
    for folded, state, summary in new:
        if not folded.let_go:
            changes.set(keys.state(folded.game_id), records.encode(state))
        changes.set(keys.summary(folded.game_id), records.encode(summary))
        folded.written(state, summary)


def summary_of(game: Game, created_ms: int, *, stopped: bool = False) -> Summary:
    """What lists show of a game."""
    created = game.created
    return Summary(
        game_id=game.game_id,
        subjects=list(created.subjects),
        resigned=list(game.resigned),
        options=[(setting.name, setting.value) for setting in created.options],
        spectators=created.spectators,
        created_ms=created_ms,
        changed_ms=game.at_ms,
        version=game.version,
        waiting=[
            Decision(decision.id, decision.seat, decision.kind, decision.deadline_ms)
            for decision in map(as_decision, game.waiting())
        ],
        ended=(int(game.ended.reason), list(game.ended.ranks)) if game.ended is not None else None,
        paused=bool(game.paused),
        stopped=stopped,
    )


def move(changes: Changes, game_id: str, was_at: dict[str, int], now_at: dict[str, int]) -> dict[str, int]:
    """Move the game in the lists; where it is now."""
    for key in sorted(was_at.keys() - now_at.keys()):
        changes.add("ZREM", key, game_id)
    for key, score in now_at.items():
        if was_at.get(key) != score:
            changes.rank(key, score, game_id)
    return now_at


def places(keys: Keys, summary: Summary) -> dict[str, int]:
    """Every sorted set in which the game stands, with its score there."""
    everybody: list[str | None] = [None] if summary.spectators else []
    found: dict[str, int] = {keys.kept: summary.changed_ms} if summary.ended is not None else {}
    for whose in [*everybody, *summary.subjects]:
        found[keys.games(whose)] = summary.created_ms
        if summary.ended is None:
            found[keys.open(whose)] = summary.created_ms
        else:
            found[keys.results(whose)] = summary.changed_ms
    if not summary.paused:
        for decision in summary.waiting:
            found[keys.decisions(summary.subjects[decision.seat])] = decision.deadline_ms or NO_DEADLINE
        deadlines = [decision.deadline_ms for decision in summary.waiting if decision.deadline_ms]
        if deadlines:
            found[keys.deadlines] = min(deadlines)
    return found


def may_stand(keys: Keys, subjects: Iterable[str]) -> list[str]:
    """Every sorted set in which a game of these subjects could stand."""
    whose = [None, *subjects]
    listings = [kind(keys, each) for each in whose for kind in (Keys.games, Keys.open, Keys.results)]
    return [*listings, *(keys.decisions(each) for each in whose if each is not None), keys.deadlines, keys.kept]


async def count_results(redis: Redis, changes: Changes, games: Sequence[Summary]) -> None:
    """Add the results of those that are over to their subjects' standings. Games that the rules did not end do not
    count, nor such that not everybody may watch: everybody reads the standings.

    A standing that cannot be read is left as it is: what it was only a rebuild can tell.
    """
    counted: dict[str, list[bool]] = {}
    for summary in games:
        if summary.ended is None:
            continue
        reason, ranks = summary.ended
        if reason == FINISHED and summary.spectators and len(summary.subjects) > 1:
            for subject, rank in zip(summary.subjects, ranks, strict=True):
                counted.setdefault(subject, []).append(rank == 1)
    if not counted:
        return
    subjects = sorted(counted)
    stored = await redis.hmget(changes.keys.standings, subjects)
    standings: dict[str, bytes] = {}
    for subject, value in zip(subjects, stored, strict=True):
        before = _standing(changes.keys, subject, value)
        if before is None:
            continue
        wins = counted[subject]
        standings[subject] = records.encode(Standing(before.games + len(wins), before.wins + sum(wins)))
    changes.put(changes.keys.standings, standings)


def _standing(keys: Keys, subject: str, stored: bytes | str | None) -> Standing | None:
    """None where it cannot be read."""
    if stored is None:
        return Standing(0, 0)
    try:
        return records.decode(stored, Standing)
    except ValueError as error:
        metrics.UNREADABLE_MODELS.labels(keys.game).inc()
        _log.error("a standing cannot be read; rebuild the models", subject=subject, error=logs.said(error))
        return None


FINISHED = 1
"""`END_REASON_FINISHED` of guildhall.kernel.v1."""
