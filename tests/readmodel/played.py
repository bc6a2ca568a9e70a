"""Games of the tiny game in a log, without a hall: decided, appended, and kept to compare with."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from guildhall.kernel.decide import Creation, Decided, create, created_event, decide
from guildhall.kernel.fold import follow
from guildhall.kernel.game import Game
from guildhall.kernel.game import restore as restored
from guildhall.kernel.ids import decision_id
from guildhall.kernel.operate import Order, restore, resume
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import OpenDecision
from guildhall.log.port import CLAIM_KEY, Appended, Claim, Entry, EventsTopic, ProducerRecord, partition_of
from guildhall.log.values import encode_claim, encode_entry
from tests.kernel.tiny.game import RULES

SUBJECTS = ("alice", "bob", "carol")


@dataclass
class Table:
    """Writes games into a topic as an owner does, one record at a time."""

    topic: EventsTopic
    random: Random
    rules: Rules = field(default=RULES, repr=False)
    pick: Callable[[Game, Random], tuple[OpenDecision, Any]] | None = field(default=None, repr=False)
    """What is played; None: any legal command is as likely as the others."""
    begin_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    """The first game is created a millisecond later; the clock goes on by one with each game, and in it with each
    version.
    """
    claims: dict[int, int] = field(default_factory=dict)
    games: dict[str, Game] = field(default_factory=dict, repr=False)
    snapshots: dict[str, list[bytes]] = field(default_factory=dict, repr=False)
    """Of each game its snapshot at each version from 1."""
    bodies: dict[str, list[bytes]] = field(default_factory=dict, repr=False)
    """Of each game hash and body of each version from 1."""

    async def claim(self, partition: int) -> int:
        """From here on records count under this claim only."""
        value = encode_claim(Claim(f"owner-{self.random.getrandbits(32)}", "127.0.0.1:1"))
        [outcome] = await self.topic.append(partition, [ProducerRecord(CLAIM_KEY, value)])
        assert isinstance(outcome, Appended)
        self.claims[partition] = outcome.offset
        return outcome.offset

    async def create(self, subjects: tuple[str, ...] = SUBJECTS, **choices: Any) -> str:
        """A new game with these fields of its Creation; its id."""
        game_id = f"game-{self.random.getrandbits(64):x}"
        created = created_event(self.rules, Creation(subjects, **choices), game_id, self.random.randbytes(32))
        game, decided = create(
            self.rules,
            created,
            subject=subjects[0],
            command_id=game_id,
            payload_hash=bytes(32),
            at_ms=self.begin_ms + len(self.games) + 1,
        )
        self.games[game_id] = game
        await self._append(game, decided)
        return game_id

    async def step(self, game_id: str) -> None:
        """One random command."""
        game = self.games[game_id]
        decision, command = (self.pick or any_move)(game, self.random)
        decided = decide(
            game,
            decision.seat,
            decision_id(decision.version, decision.seat),
            command,
            subject=game.created.subjects[decision.seat],
            command_id=f"v{game.version}",
            at_ms=game.at_ms + 1,
        )
        await self._append(game, decided)

    async def play(self, games: int, commands: int) -> None:
        """New games, and so many commands spread over those that are not over."""
        for _ in range(games):
            await self.create()
        for _ in range(commands):
            open_games = [game_id for game_id, game in self.games.items() if not (game.ended or game.lost)]
            if not open_games:
                return
            await self.step(self.random.choice(open_games))

    async def spoil(self, game_id: str) -> None:
        """A version that nobody can fold."""
        game = self.games[game_id]
        body, digest = self.random.randbytes(40), self.random.randbytes(32)
        follow(self.rules, game, game.version + 1, body, digest)
        assert game.lost
        await self._append_record(game, body, digest)

    async def put_back(self, game_id: str, version: int) -> None:
        """An operator puts the game back to an earlier version, and lets it go on."""
        game = self.games[game_id]
        whole = restored(self.rules, self.snapshots[game_id][version - 1])
        await self._append(game, restore(game, self._order(game), whole))
        await self._append(game, resume(game, self._order(game)))

    def _order(self, game: Game) -> Order:
        return Order("operator", f"order {game.version}", "It was broken.", game.at_ms + 1)

    async def _append(self, game: Game, decided: Decided) -> None:
        await self._append_record(game, decided.body, decided.hash)

    async def _append_record(self, game: Game, body: bytes, digest: bytes) -> None:
        partition = partition_of(game.game_id, self.topic.partitions)
        if partition not in self.claims:
            await self.claim(partition)
        if self.random.random() < 0.1:
            # Somebody who does not know that he was deposed: void, for every reader.
            deposed = self.claims[partition]
            await self.claim(partition)
            await self._write(partition, game, body, digest, deposed)
        await self._write(partition, game, body, digest, self.claims[partition])
        self.snapshots.setdefault(game.game_id, []).append(game.snapshot())
        self.bodies.setdefault(game.game_id, []).append(digest + body)

    async def _write(self, partition: int, game: Game, body: bytes, digest: bytes, claim: int) -> None:
        value = encode_entry(Entry(claim, digest, body, game.version))
        [outcome] = await self.topic.append(partition, [ProducerRecord(game.game_id, value)])
        assert isinstance(outcome, Appended)


def any_move(game: Game, random: Random) -> tuple[OpenDecision, Any]:
    """An open decision and a legal command."""
    decision = random.choice(game.waiting())
    listing = game.legal(decision.seat)
    members = [member for family in listing.families if (member := family.sample(random)) is not None]
    return decision, random.choice([*listing.commands, *members])


def a_theft(game: Game, random: Random) -> tuple[OpenDecision, Any]:
    """A move of the tiny game that leads to its frame `MayBlock`, where there is one; else any."""
    for decision in game.waiting():
        if (steal := RULES.wire.Steal()) in game.legal(decision.seat).commands:
            return decision, steal
    return any_move(game, random)
