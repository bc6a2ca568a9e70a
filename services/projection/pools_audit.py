"""`guildhall projection audit` of matchmaking: some subjects' ratings made from the log alone, and what is stored
compared and set right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from redis.asyncio import Redis

from guildhall.log.errors import LogUnavailable
from guildhall.log.fold import Damaged, Effective, FoldState, Verdict, fold
from guildhall.log.port import CLAIM_KEY, EventsTopic
from guildhall.log.reader import READ_LIMIT
from guildhall.matchmaking.v1.structs import encode_RatingChange
from guildhall.readmodel import records
from guildhall.readmodel.changes import Changes, Models, Outcome
from guildhall.readmodel.keys import Keys
from guildhall.readmodel.ratings import PoolKeys, Rating, Stood
from services.projection.audit import Audited, Sample
from services.projection.partition import progress_of
from services.projection.pools import POOLS, FoldedPool, PutBack, Spoilt, after, load, write_rating

_AT_ONCE = 20
_TRIES = 500
"""A subject is set right between two batches of the projection."""

Named: TypeAlias = tuple[str, str]
"""(pool, subject)"""


@dataclass(frozen=True)
class Rated:
    """Everything that is stored of a subject in a pool."""

    rating: Rating | None = None
    score: int | None = None
    """On the leaderboard."""
    history: Mapping[int, bytes] = field(default_factory=dict)


async def audit_pools(
    topic: EventsTopic, partition: int, models: Models, sample: Sample, *, mend: bool = True
) -> Audited:
    """Compare a sample of subjects (of all pools, named `<pool>/<subject>`) with what the log says; set them right.

    A pool that stands elsewhere than the log says is told of and left: a rebuild makes it anew.

    Raises RedisError, `LogError`.
    """
    keys = Keys(POOLS.game, partition, await models.generation(POOLS.game, partition))
    found = Audited(partition, "rating")
    progress = progress_of(records.raw(await models.redis.get(keys.position) or b""))
    end = await topic.end_offset(partition)
    if progress is None or progress.format != records.FORMAT:
        found.missing = end > 0
        return found
    found.behind = max(0, end - progress.next_offset)
    truth = _Truth(topic, partition, sample)
    await truth.advance(progress.next_offset)
    for pool in await _elsewhere(models.redis, keys, truth):
        found.wrong[pool] = ["place in the log"]
    names = {name for name in await _stored(models, keys) | truth.subjects.keys() if sample.has("/".join(name))}
    found.named = {*sample.games} & {"/".join(name) for name in names}
    chosen = sorted(name for name in names if name[0] not in found.wrong)
    wrong: list[Named] = []
    for begin in range(0, len(chosen), _AT_ONCE):
        some = chosen[begin : begin + _AT_ONCE]
        position, stored = await _read(models.redis, keys, some)
        await truth.follow(position)
        for name, old in zip(some, stored, strict=True):
            if what := _differences(old, truth.of(name)):
                found.wrong["/".join(name)] = what
                wrong.append(name)
        found.games += len(some)
    for name in wrong if mend else ():
        if await _mend(models, keys, truth, name):
            found.mended.add("/".join(name))
    return found


class _Truth:
    """The subjects of the sample, folded from the log up to wherever the models were read."""

    def __init__(self, topic: EventsTopic, partition: int, sample: Sample) -> None:
        self.pools: dict[str, FoldedPool] = {}
        self.subjects: dict[Named, tuple[Rating, dict[int, bytes]]] = {}
        self._topic = topic
        self._partition = partition
        self._sample = sample
        self._state = FoldState()
        self._passed: dict[str, list[range]] = {}

    async def advance(self, end: int) -> None:
        """Fold to just there. Raises `LogError`."""
        while (state := self._state).next_offset < end:
            found = await self._topic.read(self._partition, state.next_offset, min(READ_LIMIT, end - state.next_offset))
            if not found:
                raise LogUnavailable(f"{self._topic.name}/{self._partition} does not reach offset {end}")
            try:
                for record in found:
                    self._told(fold(state, record))
            except PutBack as why:
                # Once more from the beginning, without those versions.
                self._passed.setdefault(why.pool, []).append(why.versions)
                self.pools, self.subjects, self._state = {}, {}, FoldState()

    async def follow(self, position: bytes) -> None:
        """Fold to where the models were. Raises `LogUnavailable` where they have gone back meanwhile."""
        progress = progress_of(position)
        if progress is None or progress.next_offset < self._state.next_offset:
            raise LogUnavailable("the models have gone back; ask again when the projection has caught up")
        await self.advance(progress.next_offset)

    def of(self, name: Named) -> Rated:
        """What has to be stored of a subject."""
        if name not in self.subjects:
            return Rated()
        rating, history = self.subjects[name]
        return Rated(rating, rating.score if rating.ranked else None, dict(history))

    def _told(self, verdict: Verdict) -> None:
        match verdict:
            case Effective(offset=offset, aggregate_id=pool, entry=entry):
                folded = self._pool(pool)
                for rated in folded.take(offset, entry.seq, entry.body, entry.hash) or ():
                    name = (pool, rated.subject)
                    if self._sample.has("/".join(name)):
                        before, history = self.subjects.get(name, (None, {}))
                        rating = after(before, rated)
                        assert rated.change is not None
                        history[rating.games] = encode_RatingChange(rated.change)
                        self.subjects[name] = rating, history
            case Damaged(offset=offset, key=pool, reason=reason) if pool != CLAIM_KEY:
                self._pool(pool).damaged(offset, reason)

    def _pool(self, name: str) -> FoldedPool:
        return self.pools.setdefault(name, FoldedPool(name, Stood(), passed=self._passed.get(name, ())))


async def _elsewhere(redis: Redis, keys: Keys, truth: _Truth) -> list[str]:
    """The pools that are not where the log says."""
    names = sorted(truth.pools)
    try:
        position, stored = await _read_pools(redis, keys, names)
    except Spoilt:
        return names
    await truth.follow(position)
    return [pool.name for pool in stored if pool.stood != truth.pools[pool.name].stood]


async def _read_pools(redis: Redis, keys: Keys, names: Sequence[str]) -> tuple[bytes, list[FoldedPool]]:
    """These pools, and the position at that moment."""
    while True:
        before = records.raw(await redis.get(keys.position) or b"")
        stored = await load(redis, keys, names)
        if records.raw(await redis.get(keys.position) or b"") == before:
            return before, stored


async def _stored(models: Models, keys: Keys) -> set[Named]:
    """Every subject of which anything is stored."""
    found: set[Named] = set()
    for begin in ("ratings:", "board:"):
        async for pool in models.named(f"{keys.base}:{begin}"):
            key = f"{keys.base}:{begin}{pool}"
            members: Any = (
                await models.redis.hkeys(key) if begin == "ratings:" else await models.redis.zrange(key, 0, -1)
            )
            found |= {(pool, str(records.raw(member), "utf-8")) for member in members}
    async for name in models.named(f"{keys.base}:history:"):
        pool, _, subject = name.partition(":")
        found.add((pool, subject))
    return found


async def _read(redis: Redis, keys: Keys, names: Sequence[Named]) -> tuple[bytes, list[Rated | None]]:
    """What is stored of these subjects (None: it cannot be read), and the position at that moment."""
    async with redis.pipeline(transaction=True) as at_once:
        at_once.get(keys.position)
        for pool, subject in names:
            of = PoolKeys(keys, pool)
            at_once.hget(of.ratings, subject)
            at_once.zscore(of.board, subject)
            at_once.hgetall(of.history(subject))
        position, *values = await at_once.execute()
    found: list[Rated | None] = []
    for begin in range(0, len(values), 3):
        rating, score, history = values[begin : begin + 3]
        try:
            found.append(
                Rated(
                    records.decode(rating, Rating) if rating is not None else None,
                    int(score) if score is not None else None,
                    {int(number): change for number, change in history.items()},
                )
            )
        except ValueError:
            found.append(None)
    return position or b"", found


def _differences(stored: Rated | None, right: Rated) -> list[str]:
    if stored is None:
        return ["what cannot be read"]
    names = {"rating": "rating", "score": "place on the leaderboard", "history": "history"}
    return [told for name, told in names.items() if getattr(stored, name) != getattr(right, name)]


async def _mend(models: Models, keys: Keys, truth: _Truth, name: Named) -> bool:
    """Set one subject right, between two batches of the projection; False where that never succeeds."""
    pool, subject = name
    of = PoolKeys(keys, pool)
    for _ in range(_TRIES):
        position, [stored] = await _read(models.redis, keys, [name])
        await truth.follow(position)
        right = truth.of(name)
        if not _differences(stored, right):
            return True
        changes = Changes(keys)
        changes.drop(of.ratings, [subject])
        changes.add("ZREM", of.board, subject)
        changes.remove(of.history(subject))
        if right.rating is not None:
            write_rating(changes, of, subject, right.rating)
            changes.put(of.history(subject), right.history)
        progress = progress_of(position)
        assert progress is not None
        outcome = await models.apply(changes, position, records.encode(records.moved(progress)))
        if outcome is Outcome.APPLIED:
            return True
        if outcome is Outcome.GENERATION:
            return False
    return False
