"""Processes that are the host's own: its partitions, games, turns, snapshots and markers, with games of the kernel.

A game's commands are what operators may do at any time (pause, resume, abort), so that no rules are needed to know what
is legal; its first command creates it. The command's text is its id.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from guildhall.host import snapshots
from guildhall.host.history import History
from guildhall.host.partition import Partition, Upkeep
from guildhall.kernel import operate
from guildhall.kernel.decide import Creation, Decided, create, created_event
from guildhall.kernel.game import Game as KernelGame
from guildhall.kernel.ids import command_digest, version_hash
from guildhall.kernel.operate import Order
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import decode_Record
from guildhall.log.errors import LogError
from guildhall.log.port import Claim, CompactedTopic, Record
from guildhall.log.recovery import Store
from guildhall.log.writer import Writer
from guildhall.rpc.errors import Failure
from tests.kernel.stage import SEED
from tests.kernel.tiny.game import RULES
from tests.log.simulation.games import Game, Speech, ends, wanted
from tests.log.simulation.owners import DRAIN_SECONDS, LIMITS, Accepted, Answer, Process, Refused, Unavailable

if TYPE_CHECKING:
    from tests.log.simulation.world import World

T = TypeVar("T")

SUBJECT = "somebody"
UPKEEP = Upkeep(every_seconds=1e9)
"""States are stored when the schedule says so."""
SHORT, LONG = ".", "." * operate.MAX_WHY
"""Why something is done; the second is too long for the log."""

_texts: dict[bytes, str] = {}
"""Every command that was ever sent, by its digest: a game keeps no more of it."""


class HostedGames(Process):
    """Has a `Partition` of the host."""

    def __init__(self, world: "World", instance: str, assigned: bool) -> None:
        self.partition: Partition | None = None
        super().__init__(world, instance, assigned)

    async def fold(self, store: Store, me: Claim) -> Writer:
        watched = Store(
            store.events, Kept(self.world, store.snapshots), Kept(self.world, store.checkpoints), store.markers
        )
        history = History(RULES, store.events)
        partition = Partition(RULES, watched, 0, me, history, UPKEEP, lambda *_: None, LIMITS, self.world.rng)
        await partition.fold()
        self.partition = partition
        return partition.writer

    def known_games(self) -> dict[str, Game]:
        assert self.partition is not None
        found = {}
        for name, hosted in self.partition.hosted.items():
            if hosted.quarantined:
                self.world.violate(f"{self.instance} has {name} in quarantine: {hosted.quarantined}")
            if not hosted.settled:
                self.world.violate(f"{self.instance} never knew what came of its last command of {name}")
            if hosted.game is not None:
                found[name] = Game(commands_of(hosted.game))
        return found

    async def command(self, name: str, command: str, body: bytes) -> Answer:
        asked = self.world.end()
        if self.partition is None or not self.serving:
            return Unavailable()
        digest = command_digest(SUBJECT, command)
        _texts[digest] = command
        why = LONG if len(body) > len(command) else SHORT

        def attempt(game: KernelGame | None) -> Decided | tuple[KernelGame, Decided] | int:
            if game is not None and digest in game.accepted:
                return game.accepted[digest][0]
            if self.world.fault(self.world.profile.whims):
                raise Refusal("WHIM", "As rules do that ask for more than the state, such as the time.")
            if not legal(Game() if game is None else Game(commands_of(game)), command):
                raise Refusal("ILLEGAL", "Not now.")
            if game is None:
                created = created_event(RULES, Creation(("alice", "bob")), name, SEED)
                return create(RULES, created, subject=SUBJECT, command_id=command, payload_hash=bytes(32), at_ms=1)
            order = Order(SUBJECT, command, why, game.at_ms + 1)
            if ends(command):
                return operate.abort(game, order)
            return operate.resume(game, order) if game.paused else operate.pause(game, order)

        try:
            hosted = await self.partition.find(name) or self.partition.slot(name)
            try:
                return Accepted(await hosted.act(attempt))
            finally:
                self.partition.drop_empty(hosted)
        except Failure as failure:
            return self.told_why(name, failure, asked)

    def told_why(self, name: str, failure: Failure, asked: int) -> Answer:
        match failure.reason:
            case "ILLEGAL":
                return Refused(asked, int(failure.metadata.get("version", "0")))
            case "WHIM":
                return Refused(asked, None)
            case "RULES_FAILED" if "too large" in failure.message:
                return Refused(asked, None)
            case "OUTCOME_UNKNOWN" | "LOG_UNAVAILABLE" | "LOG_BUSY" | "GAME_BUSY" | "NOT_OWNER":
                return Unavailable()
        self.world.violate(f"{self.instance} answers for {name}: {failure.reason}")
        return Unavailable()

    async def read(self, name: str) -> None:
        asked = self.world.end()
        if self.partition is None or not self.serving:
            return
        try:
            await self.partition.writer.confirm()
            hosted = await self.partition.find(name)
            game = await hosted.read() if hosted is not None else None
        except (LogError, Failure):
            return
        self.world.answers.append((asked, name, tuple(commands_of(game)) if game is not None else ()))

    async def store_all(self) -> None:
        assert self.partition is not None
        try:
            await self.partition.store_states(all_of_them=True)
        except LogError:
            return
        self.world.meet("checkpoint of a host", self.instance)

    async def drain(self) -> None:
        if self.partition is None:
            return
        serving = self.serving
        await self.partition.finish(DRAIN_SECONDS)
        if serving:
            await self.store_all()


class Kept:
    """A compacted topic of which the world keeps every value that was ever to be stored."""

    def __init__(self, world: "World", topic: CompactedTopic) -> None:
        self._world = world
        self._topic = topic
        self.name = topic.name
        self.partitions = topic.partitions

    async def put(self, partition: int, key: str, value: bytes | None) -> int:
        self._world.kept.setdefault((self.name, key), []).append(value)
        return await self._topic.put(partition, key, value)

    async def get(self, partition: int, key: str) -> bytes | None:
        return await self._topic.get(partition, key)

    async def scan(self, partition: int, offset: int = 0) -> Sequence[Record]:
        return await self._topic.scan(partition, offset)

    async def scan_as(self, partition: int, make: Callable[[Record], T]) -> Sequence[T]:
        return await self._topic.scan_as(partition, make)


def commands_of(game: KernelGame) -> list[str]:
    """The texts of the accepted commands, by version."""
    return [_texts[digest] for digest, _ in sorted(game.accepted.items(), key=lambda item: item[1][0])]


def legal(game: Game, command: str) -> bool:
    if game.ended or wanted(command) not in (None, game.version):
        return False
    return game.version > 0 or not ends(command)  # what isn't there can't be ended


def commands_in(state: bytes) -> list[str]:
    game, _ = snapshots.unkeep(RULES, HOSTED.schema, state)
    assert game is not None
    return commands_of(game)


HOSTED = Speech(
    schema=snapshots.schema_of(RULES),
    max_record_bytes=600,
    command_of=lambda body: decode_Record(body).commands[0].command_id,
    legal=legal,
    chained=lambda digest, seq, body: version_hash(digest, SEED, seq, body),
    commands_in=commands_in,
)
"""Of the kernel's games."""
