"""Pools of matchmaking in a log, without a hall: records of ratings, appended and kept to compare with."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from redis.asyncio import Redis

from guildhall.kernel import ids
from guildhall.kernel.v1.structs import Record, encode_Record
from guildhall.log.port import CLAIM_KEY, Appended, Claim, Entry, EventsTopic, ProducerRecord, partition_of
from guildhall.log.topics import MATCHMAKING
from guildhall.log.values import encode_claim, encode_entry
from guildhall.matchmaking.v1.structs import (
    GameOver,
    PartyCreated,
    Rated,
    RatingChange,
    decode_RatingChange,
    encode_event,
)
from guildhall.readmodel import records
from guildhall.readmodel.keys import Keys, live
from guildhall.readmodel.ratings import MIN_GAMES, PoolKeys, Rating, Stood

GAMES = ("arcane_alley", "tiny", "trickerion")
SUBJECTS = ("ann", "bob", "cid", "dan:dan", "über/eva")


@dataclass
class Pools:
    """Writes pools into a topic as an owner does, one record at a time."""

    topic: EventsTopic
    random: Random
    claims: dict[int, int] = field(default_factory=dict)
    stood: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Version and hash of each pool."""
    histories: dict[tuple[str, str], list[RatingChange]] = field(default_factory=dict, repr=False)
    """Of each (pool, subject) every rated game, the oldest first."""

    async def play(self, games: int, commands: int) -> None:
        """So many records of pools; the first number is for what plays games."""
        for _ in range(games + commands):
            await self.record(self.random.choice(GAMES))

    async def record(self, pool: str) -> None:
        """What an entry of a pool may hold: other facts, and games that are rated."""
        events: list[bytes] = [encode_event(PartyCreated("party", "ann", "code"))]
        for _ in range(self.random.randrange(3)):
            game_id = f"game-{self.random.getrandbits(40):x}"
            players = self.random.sample(SUBJECTS, self.random.randint(2, 4))
            events.append(encode_event(GameOver(game_id, 1, tuple(range(1, len(players) + 1)), 5)))
            for rank, subject in enumerate(players, 1):
                mu, sigma = self.random.randrange(10**7, 4 * 10**7), 10**6 * self.random.randint(1, 3)
                change = RatingChange(game_id, self.random.getrandbits(40), rank, len(players), mu, sigma)
                events.append(encode_event(Rated(subject, change)))
                self.histories.setdefault((pool, subject), []).append(change)
        await self.append(pool, tuple(events))

    async def append(self, pool: str, events: tuple[bytes, ...]) -> None:
        """An entry with these events."""
        partition = partition_of(pool, self.topic.partitions)
        if partition not in self.claims:
            await self.claim(partition)
        seq, before = self.stood.get(pool, (0, b""))
        body = encode_Record(Record(aggregate_id=pool, seq=seq + 1, at_ms=seq, prev_hash=before, events=events))
        digest = ids.version_hash(before, b"", seq + 1, body)
        if self.random.random() < 0.1:
            # Somebody who does not know that he was deposed: void, for every reader.
            deposed = self.claims[partition]
            await self.claim(partition)
            await self._write(partition, pool, Entry(deposed, digest, body, seq + 1))
        await self._write(partition, pool, Entry(self.claims[partition], digest, body, seq + 1))
        self.stood[pool] = seq + 1, digest

    async def claim(self, partition: int) -> None:
        """From here on records count under this claim only."""
        value = encode_claim(Claim(f"owner-{self.random.getrandbits(32)}", "127.0.0.1:1"))
        [outcome] = await self.topic.append(partition, [ProducerRecord(CLAIM_KEY, value)])
        assert isinstance(outcome, Appended)
        self.claims[partition] = outcome.offset

    async def _write(self, partition: int, pool: str, entry: Entry) -> None:
        [outcome] = await self.topic.append(partition, [ProducerRecord(pool, encode_entry(entry))])
        assert isinstance(outcome, Appended)

    def rating(self, pool: str, subject: str) -> Rating:
        """What it has to be."""
        history = self.histories[pool, subject]
        newest = history[-1]
        wins = sum(change.rank == 1 for change in history)
        return Rating(newest.mu_micros, newest.sigma_micros, len(history), wins)

    def board(self, pool: str) -> list[tuple[str, int]]:
        """(subject, ordinal) of whoever has played enough, the best first."""
        ratings = {subject: self.rating(pool, subject) for name, subject in self.histories if name == pool}
        enough = [(name, rating.ordinal) for name, rating in ratings.items() if rating.games >= MIN_GAMES]
        return sorted(enough, key=lambda each: (-each[1], each[0].encode()))

    def keys(self, pool: str, generation: str = "1") -> PoolKeys:
        """Its keys in Redis."""
        return PoolKeys(Keys(MATCHMAKING, partition_of(pool, self.topic.partitions), generation), pool)

    async def check(self, redis: Redis) -> None:
        """Every model of every pool that is read, and nothing else."""
        for pool, (seq, digest) in self.stood.items():
            generation = await redis.get(live(MATCHMAKING, partition_of(pool, self.topic.partitions)))
            keys = self.keys(pool, generation.decode() if isinstance(generation, bytes) else "1")
            stood = await redis.get(keys.stood)
            assert stood is not None and records.decode(stood, Stood) == Stood(seq, digest)
            assert not await redis.exists(keys.unfolded, keys.keys.stopped)
            stored: dict[Any, bytes] = await redis.hgetall(keys.ratings)
            ratings = {name.decode(): records.decode(value, Rating) for name, value in stored.items()}
            names = [subject for each, subject in self.histories if each == pool]
            assert ratings == {subject: self.rating(pool, subject) for subject in names}
            board: Any = await redis.zrange(keys.board, 0, -1, withscores=True)
            assert [(name.decode(), -int(score)) for name, score in board] == self.board(pool)
            for subject in names:
                found: dict[Any, bytes] = await redis.hgetall(keys.history(subject))
                changes = [decode_RatingChange(found[b"%d" % number]) for number in range(1, len(found) + 1)]
                assert changes == self.histories[pool, subject]
