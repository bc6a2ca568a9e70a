"""What a schedule's processes have in common, and a rules service in small over the real writer, recovery and
ownership: what it knows is what its fold told it. `hosted` has the host itself do the same.
"""

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from guildhall.log.errors import Busy, Closed, InFlight, LogUnavailable, NotOwner
from guildhall.log.fold import Effective, Verdict
from guildhall.log.ownership import BackOff, Ownership
from guildhall.log.port import Appended, Claim, CompactedTopic, Position, TooLarge
from guildhall.log.recovery import Store, open_store, recover
from guildhall.log.snapshots import Checkpoint, Marker, Snapshot, checkpoint_key, decode_marker, encode, snapshot_key
from guildhall.log.writer import Limits, RuledOut, Writer
from tests.log.simulation.faults import Network
from tests.log.simulation.games import OWN, Game, chained, command_of, known, legal, pack, unpack
from tests.log.virtual_time import Actor, context_of

if TYPE_CHECKING:
    from tests.log.simulation.world import World

P = ParamSpec("P")
T = TypeVar("T")

GAMES = ("a", "b", "c", "d", "e")
LIMITS = Limits(max_in_flight=3, poll_seconds=0.4, first_pause=0.01, last_pause=0.2)
BACK_OFF = BackOff(first_seconds=0.1, last_seconds=1.0)
DRAIN_SECONDS = 0.3

GONE = (NotOwner, Busy, InFlight, Closed, LogUnavailable)
"""Whoever asked may send the same again."""


@dataclass(frozen=True)
class Accepted:
    version: int


@dataclass(frozen=True)
class Refused:
    """Final. `asked`: the log's end when the request came; `version` of the game that it was judged on, None where the
    state had no part in it."""

    asked: int
    version: int | None


@dataclass(frozen=True)
class Unavailable:
    """Outcome unknown: send the same id again."""


Answer = Accepted | Refused | Unavailable


class Request(Generic[T]):
    """Something that a process was asked for; `done` gets the answer, if there ever is one."""

    def __init__(self, process: "Process", work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self.process = process
        self.done: asyncio.Future[T] = process.world.loop.create_future()
        self._work = work
        self._coroutine: Coroutine[Any, Any, None] | None = None
        self._task: asyncio.Task[None] | None = None
        process.requests.append(self)
        process.tell(self._begin)

    def give_up(self) -> None:
        """The process is told, in its turn, that nobody waits any more."""
        self.process.tell(self._cancel)

    def abandon(self) -> None:
        """The process has ended: what it didn't even begin is taken back."""
        if self._coroutine is not None and inspect.getcoroutinestate(self._coroutine) == inspect.CORO_CREATED:
            self._coroutine.close()

    def _begin(self) -> None:
        self._coroutine = self._do()
        self._task = self.process.world.loop.create_task(self._coroutine, context=self.process.context)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _do(self) -> None:
        try:
            self.done.set_result(await self._work())
        except Exception as error:
            if not self.process.actor.ended:  # what is left of its work is cleared away some time later
                self.process.world.violate(f"{self.process.instance} failed: {error!r}")


class Process(ABC):
    """One instance, from its start to its end. What it makes of the log, and answers, is its kind's matter."""

    def __init__(self, world: "World", instance: str, assigned: bool) -> None:
        self.world = world
        self.instance = instance
        self.actor = Actor()
        self.context = context_of(self.actor)
        self.network = Network(world)
        self.requests: list[Request[Any]] = []
        self.assigned = assigned
        self.writer: Writer | None = None
        self.ownership: Ownership | None = None
        self.store: Store | None = None
        self.go(self.run)

    # --- from outside

    def go(self, work: "Callable[P, Coroutine[Any, Any, T]]", *args: P.args, **kwargs: P.kwargs) -> "Request[T]":
        """Has this process do something: if it is held, later; if it has ended, never."""
        return Request(self, lambda: work(*args, **kwargs))

    def tell(self, what: Callable[[], None]) -> None:
        """Has it take notice of something, likewise."""
        self.world.loop.call_soon(what, context=self.context)

    def hold(self, clock_stands_still: bool) -> None:
        self.clock_stands_still = clock_stands_still
        self.actor.hold(self.world.loop)

    def release(self) -> None:
        if self.actor.held:
            self.actor.release(self.world.loop, self.clock_stands_still)

    def kill(self) -> None:
        self.actor.ended = True
        for request in self.requests:
            request.abandon()

    def assign(self) -> None:
        """Told so by whatever spreads the partitions."""
        self.world.tell(f"assigned: {self.instance}")
        self.assigned = True
        if self.ownership is not None:
            self.tell(self.ownership.assign)

    def revoke(self) -> None:
        self.assigned = False
        if self.ownership is not None:
            self.tell(self.ownership.revoke)

    @property
    def serving(self) -> bool:
        return self.writer is not None and self.writer.serving

    # --- the log

    async def run(self) -> None:
        rng = self.world.rng
        log = self.world.broker.log(self.network)
        while self.ownership is None:
            try:
                self.store = await open_store(log, "sim", 1)
                self.writer = await self.fold(self.store, Claim(self.instance, f"{self.instance}:1"))
            except LogUnavailable:
                await asyncio.sleep(rng.uniform(0, 0.1))
                continue
            self.ownership = Ownership(self.writer, BACK_OFF, rng)
        if self.assigned:
            self.ownership.assign()
        await self.ownership.run()
        assert self.writer is not None
        if self.writer.failure is not None:
            raise self.writer.failure

    @abstractmethod
    async def fold(self, store: Store, me: Claim) -> Writer:
        """Begins with what is stored. Raises `LogUnavailable`."""
        ...

    @abstractmethod
    def known_games(self) -> dict[str, Game]:
        """What it has in memory."""
        ...

    # --- requests

    @abstractmethod
    async def command(self, name: str, command: str, body: bytes) -> Answer:
        """Judged in the game's turn, answered when that is in the log, or can't be any more."""
        ...

    @abstractmethod
    async def read(self, name: str) -> None:
        """Somebody looks at a game; the answer must reflect everything that was in the log before."""
        ...

    # --- what is kept beside the events

    async def store_states(self) -> None:
        """Snapshots of what changed, markers of what is finished, then the checkpoint; others may do the same."""
        if self.serving:
            await self.store_all()

    @abstractmethod
    async def store_all(self) -> None: ...

    @abstractmethod
    async def drain(self) -> None:
        """Takes nothing more, waits a little for what is in flight, stores everything."""
        ...


class OwnGames(Process):
    """Keeps games of the simulation's own."""

    def __init__(self, world: "World", instance: str, assigned: bool) -> None:
        self.games: dict[str, Game] = {}
        self.folds = dict.fromkeys(GAMES, 0)
        self.kept = dict.fromkeys(GAMES, 0)
        self.needless: set[str] = set()
        self.turns: dict[str, asyncio.Lock] = {name: asyncio.Lock() for name in GAMES}
        super().__init__(world, instance, assigned)

    def known_games(self) -> dict[str, Game]:
        return self.games

    async def fold(self, store: Store, me: Claim) -> Writer:
        self.games.clear()
        state = await recover(store, 0, OWN.schema, self.restore, self.told)
        return Writer(store.events, 0, me, state, self.told, LIMITS, self.world.rng)

    def restore(self, name: str, snapshot: Snapshot) -> None:
        self.world.meet("restored", f"{self.instance} {name} {snapshot.seq}")
        game = unpack(snapshot.state)
        if game.version != snapshot.seq:
            self.world.violate(f"snapshot of {name} at {snapshot.seq} is of version {game.version}")
        self.games[name] = game
        self.kept[name] = game.version

    def told(self, verdict: Verdict) -> None:
        if isinstance(verdict, Effective):
            name, entry = verdict.aggregate_id, verdict.entry
            if self.serving:
                self.world.tell(f"{self.instance} folds {name} {entry.seq} at {verdict.offset}")
            game = self.games.setdefault(name, Game())
            if entry.seq != game.version + 1:
                self.world.violate(f"{self.instance} is told {name} {entry.seq} after {game.version}")
            if not game.commands:
                game.began = Position(verdict.offset, entry.claim)
            game.commands.append(command_of(entry.body))
            game.digest, game.offset = entry.hash, verdict.offset
            self.folds[name] += 1

    async def command(self, name: str, command: str, body: bytes) -> Answer:
        asked = self.world.end()
        try:
            while self.writer is not None:
                async with self.turns[name]:
                    await self.writer.settled(name)
                    game, folds = await self.find(name), self.folds[name]
                    if (before := known(game, command)) is not None:
                        return Accepted(before)
                    version = game.version
                    # As rules do that ask for more than the state, such as the time.
                    whim = self.world.fault(self.world.profile.whims)
                    if legal(game, command) and not whim:
                        outcome = await self.writer.append(name, version + 1, chained(game.digest, body), body)
                        if isinstance(outcome, Appended):
                            return Accepted(version + 1)
                        if isinstance(outcome, TooLarge):
                            return Refused(asked, None)
                        if not isinstance(outcome, RuledOut):
                            return Unavailable()
                        await self.writer.confirm()
                        continue
                await self.writer.confirm()
                if folds == self.folds[name]:
                    return Refused(asked, None if whim else version)
        except GONE:
            pass
        return Unavailable()

    async def read(self, name: str) -> None:
        asked = self.world.end()
        if self.writer is not None and self.writer.serving:
            try:
                await self.writer.confirm()
                async with self.turns[name]:
                    game = await self.find(name)
            except GONE:
                return
            self.world.answers.append((asked, name, tuple(game.commands)))

    async def find(self, name: str) -> Game:
        """The game, or what its marker says of a finished one. Raises `LogUnavailable`."""
        assert self.writer is not None and self.store is not None
        game = self.games.get(name)
        if game is None and self.writer.last_seq(name):
            self.world.meet("looked up in a marker", f"{self.instance} {name}")
            value = await self.store.markers.get(0, name)
            if value is not None:
                return unpack(decode_marker(value).kept)
            self.world.violate(f"{self.instance} knows nothing of {name} but its last seq")
        return game or Game()

    # --- what is kept beside the events

    async def store_all(self) -> None:
        assert self.writer is not None and self.store is not None
        try:
            for name, game in list(self.games.items()):
                # One whose turn is taken is stored next time.
                if game.version > self.kept[name] and self.world.rng.random() < 0.8:
                    version = game.version
                    snapshot = Snapshot(version, self.writer.position, pack(game))
                    await self.put(self.store.snapshots, snapshot_key(name, OWN.schema), encode(snapshot))
                    self.kept[name] = version
            for name, game in list(self.games.items()):
                if game.ended and self.kept[name] == game.version:
                    await self.finish(name, game)
            begins = {name: game.began for name, game in self.games.items() if not self.kept[name] and game.began}
            checkpoint = self.writer.checkpoint(self.games, begins)
            await self.store_checkpoint(checkpoint)
            for name in sorted(self.needless - checkpoint.seqs.keys()):
                await self.put(self.store.snapshots, snapshot_key(name, OWN.schema), None)
                self.needless.discard(name)
            self.world.meet("checkpoint", f"{self.instance} {self.writer.position}")
        except LogUnavailable:
            pass

    async def store_checkpoint(self, checkpoint: Checkpoint) -> None:
        assert self.store is not None
        await self.put(self.store.checkpoints, checkpoint_key(0), encode(checkpoint))

    async def finish(self, name: str, game: Game) -> None:
        """Has a finished game's marker acknowledged, then forgets the game; its snapshot stays until a checkpoint
        without the game is acknowledged.
        """
        assert self.store is not None and self.writer is not None
        if await self.store.markers.get(0, name) is None:
            await self.put_marker(name, Marker(game.version, game.offset, pack(game)))
        self.games.pop(name, None)
        self.needless.add(name)
        self.world.meet("finished", f"{self.instance} {name}")

    async def put_marker(self, name: str, marker: Marker) -> None:
        assert self.store is not None
        await self.store.markers.put(0, name, encode(marker))

    async def put(self, topic: CompactedTopic, key: str, value: bytes | None) -> None:
        self.world.kept.setdefault((topic.name, key), []).append(value)
        await topic.put(0, key, value)

    async def drain(self) -> None:
        if self.writer is None:
            return
        serving = self.writer.serving
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self.writer.close()
        except TimeoutError:
            return
        if serving:
            await self.store_all()
