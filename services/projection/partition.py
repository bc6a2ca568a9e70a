"""The projection of one partition: folds its log by the one rule and keeps its models in Redis.

It holds nothing that matters. Killed anywhere, started twice, with a Redis that is empty or went back to an older copy:
the models' own position says where to go on, and every batch is guarded by it.
"""

import asyncio
import random
from collections import OrderedDict
from collections.abc import Sequence

from redis.exceptions import RedisError

from guildhall.host.messages import Messages
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogUnavailable
from guildhall.log.fold import Damaged, Effective, FoldState, fold
from guildhall.log.port import BEGINNING, CLAIM_KEY, EventsTopic, Record, Tail
from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes, Models, Outcome
from guildhall.readmodel.keys import FIRST_GENERATION, Keys
from guildhall.readmodel.records import Progress
from guildhall.telemetry import logs, metrics
from services.projection.games import FoldedGame, load, write
from services.projection.refold import refold, refold_stopped

BATCH_RECORDS = 500
BATCH_BYTES = 4 << 20
"""A batch ends when its changes are larger."""
REMEMBERED = 500
"""Games that are kept in memory between batches."""
_RETRY_SECONDS = (0.05, 2.0)
_LOOK_SECONDS = 1.0
"""How soon it is seen that an idle partition's models are gone."""
_STANDBY_SECONDS = 1.0
"""Another projection that has not moved the models for so long, and up to twice that, is taken for idle or dead."""

_log = logs.get("projection")


class PartitionProjection:
    """Folds on from the models' position. `building`: a generation that is not read yet."""

    def __init__(
        self,
        rules: Rules,
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
        self.messages = Messages(rules)
        self.building = generation is not None
        self.keys = Keys(rules.game, partition, generation or FIRST_GENERATION)
        self.fold = FoldState()
        self.position = b""
        """The stored position, as it is in Redis."""
        self.games: OrderedDict[str, FoldedGame] = OrderedDict()

    async def run(self, tail: Tail) -> None:
        """Fold until cancelled. Errors of log and Redis are waited out; `LogUnreadable` is raised."""
        wait = _RETRY_SECONDS[0]
        loaded = False
        while not _cancelled():
            try:
                if not loaded:
                    await self.load()
                    await refold_stopped(self)
                    loaded = True
                found = await self._next(tail)
                if not (await self.advance(found) if found else await self._still_there()):
                    # Another projection is at work here. It goes on; this one takes over when that one stands still.
                    loaded = False
                    await self._stand_by()
                wait = _RETRY_SECONDS[0]
            except (LogUnavailable, RedisError, OSError) as error:
                _log.warning("waiting", game=self.rules.game, partition=self.partition, error=str(error))
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
        return (await self.models.redis.get(self.keys.position) or b"") == self.position

    async def load(self) -> None:
        """Take up the models where they are. Raises RedisError."""
        if not self.building:
            self.keys = Keys(
                self.rules.game, self.partition, await self.models.generation(self.rules.game, self.partition)
            )
        stored = await self.models.redis.get(self.keys.position)
        self.position = stored if isinstance(stored, bytes) else b""
        progress = _progress(self.position)
        if progress is None:
            if self.position:
                _log.warning("models of another format are built again", game=self.rules.game, partition=self.partition)
                await self.models.wipe(self.keys)
                self.position = b""
            progress = Progress(records.FORMAT, BEGINNING.next_offset, BEGINNING.newest_claim)
        self.fold = FoldState(progress.next_offset, progress.newest_claim, None, {}, dict(progress.damaged))
        self.games = OrderedDict()

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
        await self._remember({record.key for record in found} - {CLAIM_KEY})
        changes = Changes(self.keys)
        touched: dict[str, FoldedGame] = {}
        for record in found:
            verdict = fold(self.fold, record)
            match verdict:
                case Effective():
                    game = self.games[verdict.aggregate_id]
                    game.take(changes, verdict.offset, verdict.entry)
                    touched[verdict.aggregate_id] = game
                case Damaged() if verdict.key != CLAIM_KEY and verdict.key in self.games:
                    game = self.games[verdict.key]
                    game.damaged(verdict.offset, verdict.reason)
                    touched[verdict.key] = game
        await write(self.models.redis, changes, touched.values())
        position = records.encode(
            Progress(records.FORMAT, self.fold.next_offset, self.fold.newest_claim, dict(self.fold.damaged))
        )
        outcome = await self.models.apply(changes, self.position, position, building=self.building)
        if outcome is not Outcome.APPLIED:
            _log.info("not applied", game=self.rules.game, partition=self.partition, why=outcome.value)
            return False
        self.position = position
        metrics.PROJECTED.labels(self.rules.game).inc(len(found))
        for game in touched.values():
            if game.unreadable:
                await refold(self, game)
        self._forget()
        return True

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

    async def _stand_by(self) -> None:
        before = b"not looked yet"
        while not _cancelled():
            now = await self.models.redis.get(self.keys.position) or b""
            generation = await self.models.generation(self.rules.game, self.partition)
            if now == before or generation != self.keys.generation:
                return
            before = records.raw(now)
            await asyncio.sleep(random.uniform(_STANDBY_SECONDS, 2 * _STANDBY_SECONDS))


def _cancelled() -> bool:
    """Whether this task was told to end. The Redis client may report that as a lost connection."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _step(found: Sequence[Record], begin: int) -> Sequence[Record]:
    """The records from `begin` on that make one batch."""
    size, end = 0, begin
    while end < len(found) and (end == begin or size + len(found[end].value) <= BATCH_BYTES):
        size += len(found[end].value)
        end += 1
    return found[begin:end]


def _progress(stored: bytes) -> Progress | None:
    """The stored position, if it can be read and is of this format."""
    try:
        progress = records.decode(stored, Progress)
    except ValueError:
        return None
    return progress if progress.format == records.FORMAT else None
