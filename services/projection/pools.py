"""The pools of matchmaking as the projection folds them, and what of them is written to Redis: ratings, the leaderboard
and each subject's whole history.

All that is needed of a pool is how its players are rated; who waits and sits where is told by its owner.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from redis.asyncio import Redis

from guildhall.kernel import ids
from guildhall.kernel.v1.structs import Record as PoolRecord
from guildhall.kernel.v1.structs import decode_Record
from guildhall.log.errors import BadValue, LogUnavailable, LogUnreadable
from guildhall.log.fold import Damaged, Effective, fold
from guildhall.log.port import CLAIM_KEY, Entry, EventsTopic, Record
from guildhall.log.reader import READ_LIMIT
from guildhall.log.topics import MATCHMAKING
from guildhall.log.values import decode
from guildhall.matchmaking.v1.structs import (
    PoolRestored,
    Rated,
    decode_event,
    decode_RatingChange,
    encode_RatingChange,
)
from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes, Models, Outcome
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.ratings import PoolKeys, Rating, Stood
from guildhall.readmodel.records import DAMAGED, Progress, Stopped
from guildhall.telemetry import logs
from services.projection.partition import ModelsOfPartition

FOLDED_AT_ONCE = 500
"""Records of a pool that went on, in one batch."""

_log = logs.get("projection")


@dataclass(frozen=True)
class Matchmaking:
    """What is projected here (`partition.Projected`)."""

    game: str = MATCHMAKING


POOLS = Matchmaking()


class FoldedPool:
    """How far a pool is folded."""

    def __init__(self, name: str, stood: Stood, stopped: Stopped | None = None, passed: Sequence[range] = ()) -> None:
        """`passed`: versions that did not happen, since an operator has put the pool back behind them."""
        self.name = name
        self.stood = stood
        self.stopped = stopped
        """Its models stand still since a record could not be folded."""
        self._passed = passed

    @property
    def seq(self) -> int:
        """The newest effective version in the log."""
        if self.stopped is not None and self.stopped.seq != DAMAGED:
            return self.stopped.last_seq
        return self.stood.seq

    def take(self, offset: int, seq: int, body: bytes, digest: bytes) -> Sequence[Rated] | None:
        """What an effective record tells of ratings; None where it cannot be folded, nor anything behind it.

        Raises PutBack.
        """
        if self.stopped is not None and self.stopped.seq == DAMAGED:
            # It has come next, so nothing is missing.
            self.stopped = None
        if any(seq in versions for versions in self._passed):
            self.stood = Stood(seq, digest)
            return ()
        try:
            record = decode_Record(body)
            to_version = put_back_to(record)
            if to_version is not None and self._put_back(seq, to_version):
                self.stopped, self.stood = None, Stood(seq, digest)
                return ()
            if self.stopped is None:
                rated = facts(self.name, self.stood, seq, record, body, digest)
                self.stood = Stood(seq, digest)
                return rated
        except PutBack:
            raise
        except Exception as error:
            if self.stopped is None:
                why = logs.said(error)
                _log.error("pool cannot be folded; its ratings stand still", pool=self.name, seq=seq, error=why)
                self.stopped = Stopped(offset, seq, seq, why)
        assert self.stopped is not None
        self.stopped = Stopped(self.stopped.offset, self.stopped.seq, seq, self.stopped.why)
        return None

    def _put_back(self, seq: int, to_version: int) -> bool:
        """Whether it goes on from the state that it has. Raises PutBack where it has gone further than that."""
        if to_version + 1 == seq or any(to_version + 1 in versions for versions in self._passed):
            return False
        if to_version < self.stood.seq:
            raise PutBack(self.name, range(to_version + 1, seq))
        return to_version == self.stood.seq

    def damaged(self, offset: int, why: str) -> None:
        """A record under its key cannot be read; the next effective one shows that nothing is missing."""
        if self.stopped is None:
            self.stopped = Stopped(offset, DAMAGED, self.stood.seq, why)
            _log.error("a pool's record cannot be read; its ratings stand still", pool=self.name, error=why)


class PutBack(Exception):
    """An operator has put a pool back behind versions that are folded here: they did not happen."""

    def __init__(self, pool: str, versions: range) -> None:
        super().__init__(f"{pool} was put back behind version {versions.start}")
        self.pool = pool
        self.versions = versions


def put_back_to(record: PoolRecord) -> int | None:
    """The version to which an operator's record puts the pool back; None of every other. Raises ValueError."""
    first = decode_event(record.events[0]) if record.events else None
    return first.to_version if isinstance(first, PoolRestored) else None


def facts(pool: str, stood: Stood, seq: int, record: PoolRecord, body: bytes, digest: bytes) -> list[Rated]:
    """The ratings that a record tells. Raises ValueError where it does not follow, or has an event of an unknown
    type.
    """
    if (record.aggregate_id, record.seq, record.prev_hash) != (pool, seq, stood.hash):
        raise ValueError("the record does not follow the one before")
    if ids.version_hash(stood.hash, b"", seq, body) != digest:
        raise ValueError("the record's hash is not that of its body")
    told = [event for event in map(decode_event, record.events) if isinstance(event, Rated)]
    if not all(event.change is not None for event in told):
        raise ValueError("a rating without its change")
    return told


def after(rating: Rating | None, rated: Rated) -> Rating:
    """The subject's rating with one more game."""
    change = rated.change
    assert change is not None
    games, wins = (rating.games, rating.wins) if rating is not None else (0, 0)
    return Rating(change.mu_micros, change.sigma_micros, games + 1, wins + (change.rank == 1))


class PoolsOfPartition(ModelsOfPartition):
    """The pools of a partition."""

    def __init__(self, topic: EventsTopic, partition: int, models: Models, *, generation: str | None = None) -> None:
        super().__init__(POOLS, topic, partition, models, generation=generation)
        self._pools: dict[str, FoldedPool] = {}
        self._tried: dict[str, int] = {}
        """Of stopped pools the newest version with which they were folded again."""
        self._passed: dict[str, list[range]] = {}

    def _begin(self) -> None:
        self._pools = {}

    async def _take_up(self) -> bool:
        stopped = sorted(_text(name) for name in await self.models.redis.hkeys(self.keys.stopped))
        try:
            await self._remember(stopped)
            for pool in [self._pools[name] for name in stopped]:
                if self._tried.get(pool.name) != pool.seq:
                    if not await self._go_on(pool):
                        return False
                    self._tried[pool.name] = pool.seq
            return True
        except (Spoilt, PutBack) as why:
            return await self._begin_anew(why)

    async def _batch(self, found: Sequence[Record]) -> bool:
        try:
            return await super()._batch(found)
        except (Spoilt, PutBack) as why:
            return await self._begin_anew(why)

    async def _begin_anew(self, why: "Spoilt | PutBack") -> bool:
        """Remove everything: it is folded from the log again, which takes as long as reading it."""
        _log.warning("all ratings are made again", partition=self.partition, why=logs.said(why))
        if isinstance(why, PutBack):
            self._passed.setdefault(why.pool, []).append(why.versions)
        self.begun_anew = await self.models.wipe(self.keys, self.position, live_too=not self.building)
        return False

    async def _changes(self, found: Sequence[Record]) -> Changes:
        await self._remember(sorted({record.key for record in found} - {CLAIM_KEY}))
        changes = Changes(self.keys)
        told: dict[str, list[Rated]] = {}
        for record in found:
            verdict = fold(self.fold, record)
            match verdict:
                case Effective(offset=offset, aggregate_id=name, entry=entry):
                    pool = self._pools[name]
                    stood_still = pool.stopped is not None
                    rated = pool.take(offset, entry.seq, entry.body, entry.hash)
                    if rated is None:
                        changes.put(PoolKeys(self.keys, name).unfolded, {entry.seq: b"%d" % offset})
                    elif stood_still:
                        changes.remove(PoolKeys(self.keys, name).unfolded)
                    told.setdefault(name, []).extend(rated or ())
                case Damaged(offset=offset, key=name, reason=reason) if name in self._pools:
                    self._pools[name].damaged(offset, reason)
                    told.setdefault(name, [])
        for name, rated in told.items():
            await write(self.models.redis, changes, self._pools[name], rated)
        return changes

    async def _applied(self) -> bool:
        return True

    async def _half_done(self) -> None:
        """Nothing: what is written of a pool does not depend on what is there."""

    async def _look_after(self) -> bool:
        """What a reader could not read is made anew from the log, with everything else."""
        for found in await self.models.redis.smembers(self.keys.doubted):
            pool, _, subject = _text(found).partition(":")
            try:
                await check(self.models.redis, PoolKeys(self.keys, pool), subject)
            except Spoilt as why:
                return await self._begin_anew(why)
            await self.models.redis.srem(self.keys.doubted, found)
        return True

    async def _remember(self, names: Sequence[str]) -> None:
        """Have these pools in memory, and their versions in the fold. Raises Spoilt, RedisError."""
        missing = [name for name in names if name not in self._pools]
        for pool in await load(self.models.redis, self.keys, missing, self._passed):
            self._pools[pool.name] = pool
            if pool.seq:
                self.fold.seqs[pool.name] = pool.seq

    async def _go_on(self, pool: FoldedPool) -> bool:
        """Fold what a pool lacks, as far as that goes now; False if the models were moved by somebody else meanwhile.

        Raises Spoilt, RedisError, `LogUnavailable`.
        """
        keys = PoolKeys(self.keys, pool.name)
        stored = await self.models.redis.hgetall(keys.unfolded)
        lacking = sorted((int(seq), int(offset)) for seq, offset in stored.items())
        first, pool.stopped = pool.stopped, None
        dropped = 0
        for begin in range(0, len(lacking), FOLDED_AT_ONCE):
            some, rest = lacking[begin : begin + FOLDED_AT_ONCE], lacking[begin + FOLDED_AT_ONCE :]
            before, told = pool.stood, list[Rated]()
            try:
                for (seq, offset), (body, digest) in zip(some, await self._records(pool.name, some), strict=True):
                    told += pool.take(offset, seq, body, digest) or ()
            except (LogUnreadable, BadValue) as error:
                _log.error("pool cannot be folded again", pool=pool.name, error=logs.said(error))
                pool.stood, pool.stopped = before, first
                return True
            if pool.stood == before:
                continue
            changes = Changes(self.keys)
            gone = [seq for seq, _ in lacking[dropped : begin + len(some)] if seq <= pool.stood.seq]
            dropped += len(gone)
            changes.drop(keys.unfolded, gone)
            stopped = pool.stopped
            if rest:
                at = stopped or Stopped(rest[0][1], rest[0][0], 0, "it is being folded again")
                pool.stopped = Stopped(at.offset, at.seq, lacking[-1][0], at.why)
            await write(self.models.redis, changes, pool, told)
            if not await self._move(changes):
                return False
            pool.stopped = stopped
        if lacking and pool.stopped is None:
            _log.info("pool goes on", pool=pool.name, seq=pool.stood.seq)
        elif not lacking:
            pool.stopped = first
        return True

    async def _records(self, name: str, lacking: Sequence[tuple[int, int]]) -> list[tuple[bytes, bytes]]:
        """(body, hash) of the pool's records of these (version, offset). Raises `LogError`."""
        found: dict[int, Entry] = {}
        wanted = {offset for _, offset in lacking}
        at, last = min(wanted), max(wanted)
        while at <= last:
            read = await self.topic.read(self.partition, at, min(READ_LIMIT, last - at + 1))
            if not read:
                raise LogUnavailable(f"{self.topic.name}/{self.partition} does not reach offset {last}")
            for record in read:
                entry = decode(record.value) if record.offset in wanted and record.key == name else None
                if isinstance(entry, Entry):
                    found[record.offset] = entry
            at = read[-1].offset + 1
        if found.keys() != wanted:
            raise LogUnreadable(f"{self.topic.name}/{self.partition}", f"records of {name} are not where they were")
        return [(found[offset].body, found[offset].hash) for _, offset in lacking]

    async def _move(self, changes: Changes) -> bool:
        """Make changes at the same place in the log. Raises RedisError."""
        moved = records.moved(records.decode(self.position, Progress))
        outcome = await self.models.apply(changes, self.position, records.encode(moved), building=self.building)
        if outcome is not Outcome.APPLIED:
            return False
        self.position, self.mended = records.encode(moved), moved.mended
        return True


class Spoilt(ValueError):
    """Something stored cannot be read."""


async def load(
    redis: Redis, keys: Keys, names: Sequence[str], passed: Mapping[str, Sequence[range]] | None = None
) -> list[FoldedPool]:
    """These pools as they are stored, new ones at their beginning. Raises Spoilt, RedisError."""
    if not names:
        return []
    stood = await redis.mget([PoolKeys(keys, name).stood for name in names])
    stopped = await redis.hmget(keys.stopped, list(names))
    try:
        return [
            FoldedPool(
                name,
                records.decode(at, Stood) if at is not None else Stood(),
                records.decode(stop, Stopped) if stop is not None else None,
                (passed or {}).get(name, ()),
            )
            for name, at, stop in zip(names, stood, stopped, strict=True)
        ]
    except ValueError as error:
        raise Spoilt(str(error)) from error


async def write(redis: Redis, changes: Changes, pool: FoldedPool, told: Iterable[Rated]) -> None:
    """Add to `changes` where the pool stands, and these ratings. Reads those before. Raises Spoilt, RedisError."""
    keys = PoolKeys(changes.keys, pool.name)
    changes.set(keys.stood, records.encode(pool.stood))
    if pool.stopped is not None:
        changes.put(changes.keys.stopped, {pool.name: records.encode(pool.stopped)})
    else:
        changes.drop(changes.keys.stopped, [pool.name])
    told = list(told)
    before = await ratings(redis, keys, sorted({rated.subject for rated in told}))
    for subject, rating in fold_ratings(changes, keys, before, told).items():
        write_rating(changes, keys, subject, rating)


async def ratings(redis: Redis, keys: PoolKeys, subjects: Sequence[str]) -> dict[str, Rating]:
    """The stored ratings of those of these who have one. Raises Spoilt, RedisError."""
    stored = await redis.hmget(keys.ratings, list(subjects)) if subjects else []
    try:
        pairs = zip(subjects, stored, strict=True)
        return {subject: records.decode(value, Rating) for subject, value in pairs if value is not None}
    except ValueError as error:
        raise Spoilt(str(error)) from error


async def check(redis: Redis, keys: PoolKeys, subject: str) -> None:
    """Raises Spoilt where a subject's rating or history cannot be read; RedisError."""
    rating = (await ratings(redis, keys, [subject])).get(subject)
    stored = await redis.hgetall(keys.history(subject))
    history = {int(number): records.raw(change) for number, change in stored.items()}
    try:
        for number in range(1, rating.games + 1 if rating is not None else 1):
            decode_RatingChange(history[number])
    except (ValueError, KeyError) as error:
        raise Spoilt(f"the history of {subject} in {keys.pool}: {error!r}") from error


def fold_ratings(
    changes: Changes, keys: PoolKeys, before: dict[str, Rating], told: Iterable[Rated]
) -> dict[str, Rating]:
    """The ratings of those who have played, with what they are before; each game goes into its subject's history."""
    now: dict[str, Rating] = {}
    for rated in told:
        subject = rated.subject
        rating = now[subject] = after(now.get(subject) or before.get(subject), rated)
        assert rated.change is not None
        changes.put(keys.history(subject), {rating.games: encode_RatingChange(rated.change)})
    return now


def write_rating(changes: Changes, keys: PoolKeys, subject: str, rating: Rating) -> None:
    """Add a subject's rating, and its place on the board if it has one."""
    changes.put(keys.ratings, {subject: records.encode(rating)})
    if rating.ranked:
        changes.rank(keys.board, rating.score, subject)


def _text(name: bytes | str) -> str:
    return str(records.raw(name), "utf-8")
