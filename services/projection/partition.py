"""The projection of one partition: folds its log by the one rule and keeps its models in Redis.

It holds nothing that matters. Killed anywhere, started twice, with a Redis that is empty or went back to an older copy:
the models' own position says where to go on, and every batch is guarded by it.
"""

import asyncio
import contextlib
import hashlib
import random
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from redis.exceptions import RedisError, ResponseError

from guildhall.host.messages import Messages
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogUnavailable
from guildhall.log.fold import Damaged, Effective, FoldState, fold
from guildhall.log.port import BEGINNING, CLAIM_KEY, EventsTopic, Record, Tail
from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes, Models, Outcome
from guildhall.readmodel.connection import cancelled
from guildhall.readmodel.keys import FIRST_GENERATION, Keys
from guildhall.readmodel.records import Progress
from guildhall.telemetry import logs, metrics
from services.projection.games import FoldedGame, load, write
from services.projection.refold import refold, refold_stopped
from services.projection.retention import KEEP_SECONDS, ended_until, let_go

BATCH_RECORDS = 500
BATCH_BYTES = 4 << 20
"""A batch ends when its records are larger; its changes hold each record twice and a state of each of its games."""
REMEMBERED = 500
"""Games that are kept in memory between batches."""
_RETRY_SECONDS = (0.05, 2.0)
_LOOK_SECONDS = 1.0
"""How soon it is seen that an idle partition's models are gone."""
_LET_GO_SECONDS = 600.0
"""How often it is looked for finished games that are no longer kept whole."""
_STANDBY_SECONDS = 1.0
"""Another projection that has not moved the models for so long, and up to twice that, is taken for idle or dead."""

_log = logs.get("projection")


class NewerModels(RuntimeError):
    """The models have a format that this program does not know yet: it leaves them alone."""


class Projected(Protocol):
    """What has a log of its own that is folded into models: a game, by its rules, or matchmaking."""

    @property
    def game(self) -> str:
        """Its name in topics and keys."""
        ...


class ModelsOfPartition(ABC):
    """Folds on from the models' position. `building`: a generation that is not read yet.

    What the records are and what is made of them is a subclass's.
    """

    rules: Projected

    def __init__(
        self,
        rules: Projected,
        topic: EventsTopic,
        partition: int,
        models: Models,
        *,
        generation: str | None = None,
    ) -> None:
        self.rules = rules
        self.topic = topic
        self.partition = partition
        self.models = models
        self.building = generation is not None
        self.keys = Keys(rules.game, partition, generation or FIRST_GENERATION)
        self.fold = FoldState()
        self.mended = 0
        self.position = b""
        """The stored position, as it is in Redis."""
        self.begun_anew = False
        """It has removed its own models, to fold them from the log again: `load` comes next."""
        self._look_at = 0.0

    @abstractmethod
    def _begin(self) -> None:
        """Nothing is in memory: the fold begins at the models' position."""

    @abstractmethod
    async def _take_up(self) -> bool:
        """Set right what may go on by now; False if the models were moved by somebody else meanwhile.

        Raises RedisError, `LogUnavailable`.
        """

    @abstractmethod
    async def _changes(self, found: Sequence[Record]) -> Changes:
        """Fold the records that come next, and what that changes. Raises RedisError."""

    @abstractmethod
    async def _applied(self) -> bool:
        """The changes are made; False if the models were moved by somebody else since. Raises RedisError,
        `LogUnavailable`.
        """

    async def _look_after(self) -> bool:
        """What is done beside the log, once a second; False if the models were moved by somebody else meanwhile.

        Raises RedisError, `LogUnavailable`.
        """
        return True

    async def run(self, tail: Tail) -> None:
        """Fold until cancelled. Whatever fails is tried again: it must not keep the other partitions back."""
        failing = metrics.PROJECTION_FAILING.labels(self.rules.game, str(self.partition))
        failing.set(0)
        wait = _RETRY_SECONDS[0]
        loaded = False
        while not cancelled():
            try:
                if not loaded:
                    loaded = await self.load() and await self._take_up()
                found = await self._next(tail) if loaded else ()
                if not loaded or not (await self.advance(found) if found else await self._still_there()):
                    # Another projection is at work here. It goes on; this one takes over when that one stands still.
                    loaded = False
                    await self._stand_by()
                elif time.monotonic() >= self._look_at:
                    self._look_at = time.monotonic() + _LOOK_SECONDS
                    loaded = await self._look_after()
                wait = _RETRY_SECONDS[0]
                failing.set(0)
            except Exception as error:
                place = {"game": self.rules.game, "partition": self.partition}
                if _passes(error):
                    _log.warning("waiting", **place, error=logs.said(error))
                else:
                    _log.error("the partition's models stand still; tried again", **place, exc_info=error)
                    failing.set(1)
                metrics.PROJECTION_RETRIES.labels(self.rules.game).inc()
                loaded = False
                await asyncio.sleep(random.uniform(wait / 2, wait))
                wait = min(2 * wait, _RETRY_SECONDS[1])

    async def _next(self, tail: Tail) -> Sequence[Record]:
        """What follows in the log; nothing, after a while without any."""
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                return await tail.read(self.partition, self.fold.next_offset, BATCH_RECORDS)
        except TimeoutError:
            return ()

    async def _still_there(self) -> bool:
        """Whether the models stand where they were brought: Redis may have lost them. Raises RedisError."""
        generation = await self.models.generation(self.rules.game, self.partition)
        stored = await self.models.redis.get(self.keys.position) or b""
        return stored == self.position and (self.building or generation == self.keys.generation)

    async def stored_offset(self) -> int:
        """How far the models have come, whoever brought them there. Raises RedisError."""
        return records.reached(await self.models.redis.get(self.keys.position))

    async def load(self) -> bool:
        """Take up the models where they are; what is of another format or log, or was left by halves, is removed.

        False if somebody else has begun anew meanwhile. Raises RedisError, `LogUnavailable`, NewerModels.
        """
        if not self.building:
            self.keys = Keys(
                self.rules.game, self.partition, await self.models.generation(self.rules.game, self.partition)
            )
        stored = await self.models.redis.get(self.keys.position)
        self.position = stored if isinstance(stored, bytes) else b""
        progress = progress_of(self.position)
        not_newer(progress)
        if progress is None or progress.format < records.FORMAT or not await self._same_log(progress):
            if self.position:
                _log.warning(
                    "models of another format or log are built again", game=self.rules.game, partition=self.partition
                )
            if not await self.models.wipe(self.keys, self.position, live_too=not self.building):
                return False
            self.position = b""
            progress = Progress(records.FORMAT, BEGINNING.next_offset, BEGINNING.newest_claim)
        self.fold = FoldState(progress.next_offset, progress.newest_claim, None, {}, dict(progress.damaged))
        self.mended = progress.mended
        self.begun_anew = False
        self._begin()
        return True

    async def _same_log(self, progress: Progress) -> bool:
        """Whether the models were made from this log: it has the same record where they stand."""
        if progress.next_offset == 0:
            return True
        if await self.topic.end_offset(self.partition) < progress.next_offset:
            return False
        found = await self.topic.read(self.partition, progress.next_offset - 1, 1)
        return bool(found) and _digest(found[0]) == progress.last

    async def advance(self, found: Sequence[Record]) -> bool:
        """Fold these records, which follow the position, and bring the models there; False if they stand elsewhere.

        Raises RedisError: then `load` tells whether it was done.
        """
        done = 0
        while done < len(found):
            step = _step(found, done)
            if not await self._batch(step):
                return False
            done += len(step)
        return True

    async def _batch(self, found: Sequence[Record]) -> bool:
        changes = await self._changes(found)
        position = records.encode(
            Progress(
                records.FORMAT,
                self.fold.next_offset,
                self.fold.newest_claim,
                dict(self.fold.damaged),
                _digest(found[-1]),
                self.mended,
            )
        )
        try:
            outcome = await self.models.apply(changes, self.position, position, building=self.building)
        except ResponseError:
            await self._half_done()
            raise
        if outcome is not Outcome.APPLIED:
            _log.info("not applied", game=self.rules.game, partition=self.partition, why=outcome.value)
            return False
        self.position = position
        metrics.PROJECTED.labels(self.rules.game).inc(len(found))
        return await self._applied()

    @abstractmethod
    async def _half_done(self) -> None:
        """Redis refused a command in the midst of a script, as where somebody else has put something of another type
        under a key: it takes back nothing of what came before.
        """

    async def _stand_by(self) -> None:
        """Returns when it seems that nobody else is at work: the models are behind, or have not moved for a while."""
        before = b"not looked yet"
        ours = progress_of(self.position)
        if await self.stored_offset() <= (ours.next_offset if ours is not None else 0):
            return
        while not cancelled():
            now = await self.models.redis.get(self.keys.position) or b""
            generation = await self.models.generation(self.rules.game, self.partition)
            if now == before or generation != self.keys.generation:
                return
            before = records.raw(now)
            await asyncio.sleep(random.uniform(_STANDBY_SECONDS, 2 * _STANDBY_SECONDS))


class PartitionProjection(ModelsOfPartition):
    """The games of a partition."""

    rules: Rules

    def __init__(
        self,
        rules: Rules,
        topic: EventsTopic,
        partition: int,
        models: Models,
        *,
        generation: str | None = None,
        keep_seconds: float = KEEP_SECONDS,
    ) -> None:
        """`keep_seconds`: how long games that are over are kept whole."""
        super().__init__(rules, topic, partition, models, generation=generation)
        self._keep_seconds = keep_seconds
        self._let_go_at = time.monotonic() + random.uniform(0.0, _LET_GO_SECONDS)
        self.messages = Messages(rules)
        self.games: OrderedDict[str, FoldedGame] = OrderedDict()
        self._touched: dict[str, FoldedGame] = {}
        """Games of the batch."""
        self._tried: dict[str, int] = {}
        """Of stopped games the newest version with which they were folded again."""

    def _begin(self) -> None:
        self.games = OrderedDict()

    async def _take_up(self) -> bool:
        return await refold_stopped(self, self._tried)

    async def _changes(self, found: Sequence[Record]) -> Changes:
        await self._remember({record.key for record in found} - {CLAIM_KEY})
        changes = Changes(self.keys)
        touched = self._touched = {}
        for record in found:
            verdict = fold(self.fold, record)
            match verdict:
                case Effective():
                    game = self.games[verdict.aggregate_id]
                    game.take(changes, verdict.offset, verdict.entry)
                    touched[verdict.aggregate_id] = game
                case Damaged() if verdict.key != CLAIM_KEY and verdict.key in self.games:
                    game = self.games[verdict.key]
                    game.damaged(changes, verdict.offset, verdict.reason)
                    touched[verdict.key] = game
        await write(self.models.redis, changes, touched.values(), ended_until(self._keep_seconds))
        return changes

    async def _applied(self) -> bool:
        for name, game in self._touched.items():
            if game.to_refold:
                del self.games[name]
                self.fold.seqs.pop(name, None)
                if not await refold(self, name):
                    return False
            elif game.let_go:
                del self.games[name]
                self.fold.seqs.pop(name, None)
        self._forget()
        return True

    async def _half_done(self) -> None:
        # What the lists have of them is not what their summaries say.
        with contextlib.suppress(RedisError):
            await self.models.redis.sadd(self.keys.doubted, *self._touched)

    async def _look_after(self) -> bool:
        return await self._mend_doubted() and await self._let_go()

    async def _mend_doubted(self) -> bool:
        """Set right what a reader could not read; False where the models stand elsewhere. Raises RedisError,
        `LogUnavailable`.
        """
        for found in await self.models.redis.smembers(self.keys.doubted):
            name = str(records.raw(found), "utf-8")
            self.games.pop(name, None)
            self.fold.seqs.pop(name, None)
            if not await refold(self, name):
                return False
            await self.models.redis.srem(self.keys.doubted, found)
        return True

    async def _let_go(self) -> bool:
        """What is not kept of games that are over; False where the models stand elsewhere. Raises RedisError."""
        if time.monotonic() < self._let_go_at:
            return True
        more = await let_go(self, self._keep_seconds)
        if not more:
            self._let_go_at = time.monotonic() + _LET_GO_SECONDS
        return more is not None

    async def _remember(self, names: set[str]) -> None:
        """Have these games in memory, and their versions in the fold."""
        for name in names & self.games.keys():
            self.games.move_to_end(name)
        missing = sorted(names - self.games.keys())
        for game in await load(self.models.redis, self.keys, self.messages, missing):
            self.games[game.game_id] = game
            if game.seq:
                self.fold.seqs[game.game_id] = game.seq

    def _forget(self) -> None:
        while len(self.games) > REMEMBERED:
            name, _ = self.games.popitem(last=False)
            self.fold.seqs.pop(name, None)


def _passes(error: Exception) -> bool:
    """Whether it is a matter of waiting: log or Redis cannot be reached, or a newer program is at work."""
    away = isinstance(error, LogUnavailable | RedisError | OSError | NewerModels)
    return away and not isinstance(error, ResponseError)


def _step(found: Sequence[Record], begin: int) -> Sequence[Record]:
    """The records from `begin` on that make one batch."""
    size, end = 0, begin
    while end < len(found) and (end == begin or size + len(found[end].value) <= BATCH_BYTES):
        size += len(found[end].value)
        end += 1
    return found[begin:end]


def progress_of(stored: bytes) -> Progress | None:
    """The stored position, if it can be read."""
    try:
        return records.decode(stored, Progress)
    except ValueError:
        return None


def not_newer(progress: Progress | None) -> None:
    """Raises NewerModels."""
    if progress is not None and progress.format > records.FORMAT:
        raise NewerModels(f"the models have format {progress.format}; this program knows {records.FORMAT}")


def _digest(record: Record) -> str:
    return hashlib.sha256(record.key.encode() + b"\0" + record.value).hexdigest()
