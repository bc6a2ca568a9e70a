"""Those who only watch: many streams of events, each folded into a view, through whatever breaks.

At the end each must have seen every version once, in order, as the log has it, and have the view that its seat has.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import grpc

from guildhall.arcane_alley.v1 import structs as wire
from guildhall.client.folder import CannotFold, Folder
from guildhall.host.messages import Messages
from guildhall.kernel.fold import fold
from guildhall.kernel.game import Game
from guildhall.kernel.v1.structs import Undone, decode_Record
from guildhall.log.fold import Effective, FoldState, Verdict
from guildhall.log.kafka import open_kafka
from guildhall.log.reader import fold_to_end
from guildhall.rpc.errors import error_info
from services.arcane_alley.rules import RULES
from tests.chaos.client import Client
from tests.chaos.players import Players, Table
from tests.chaos.violations import Rule, Violation

SETTLE_SECONDS = 60.0
LOOK_SECONDS = 0.5
MAY_HAPPEN = {"SLOW_WATCHER", "VIEW_BEHIND", "READ_MODELS_UNAVAILABLE", "VERSION_NOT_REACHED", "SHUTTING_DOWN"}
"""Why a stream may end: it may be opened again."""
_WATCH = "/guildhall.arcane_alley.v1.ViewService/WatchView"


class Watcher:
    """One subject's stream of one game, from version 1 on."""

    def __init__(self, client: Client, table: Table, seat: int | None, random: Random) -> None:
        self.table = table
        self.seat = seat
        self.folder = Folder(RULES, seat)
        self.seen: list[Any] = []
        """What came for each version from 1."""
        self.ended = False
        self.reasons: Counter[str] = Counter()
        self.wrong = ""
        self._client = client
        self._random = random
        self._spectator = f"spectator-{random.randrange(1 << 40)}"

    @property
    def name(self) -> str:
        return f"watcher of {self.table.game_id} from seat {self.seat}"

    async def watch(self) -> None:
        """Until the game has ended, or it is cancelled; comes again through another process whenever a stream ends."""
        process = ""
        while not self.ended and not self.wrong:
            process = self._client.doors.some_views(self._random, process)
            await self._stream(process)
            await asyncio.sleep(self._random.uniform(0.05, 0.4))

    async def _stream(self, process: str) -> None:
        subject = self._spectator if self.seat is None else self.table.subjects[self.seat]
        stub = self._client.doors.channels[process].unary_stream(
            _WATCH, response_deserializer=wire.decode_WatchViewResponse
        )
        request = wire.WatchViewRequest(self.table.game_id, wire.WatchMode.EVENTS, self.folder.version)
        try:
            async for message in stub(wire.encode_WatchViewRequest(request), metadata=self._client.metadata(subject)):
                self.folder.take(message)
                if message.heartbeat is None:
                    self.seen.append(message.events or message.view)
            self.ended = True
        except CannotFold as error:
            self.wrong = str(error)
        except grpc.aio.AioRpcError as error:
            info = error_info(error)
            self.reasons[info.reason if info is not None else error.code().name] += 1
            if info is not None and info.reason not in MAY_HAPPEN:
                self.wrong = f"was told {info.reason}: {error.details()}"
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self.wrong = repr(error)


class Watchers:
    """So many at once, spread over the tables as they begin."""

    def __init__(self, client: Client, players: Players, count: int, seed: int) -> None:
        self.all: list[Watcher] = []
        self._client = client
        self._players = players
        self._count = count
        self._random = Random(seed)
        self._tasks: dict[Watcher, asyncio.Task[None]] = {}

    async def watch(self) -> None:
        """Until it is cancelled: whoever has seen a game to its end goes to watch another one."""
        while True:
            open_tables = [table for table in self._players.tables if table.created and not table.ended]
            busy = sum(not task.done() for task in self._tasks.values())
            for _ in range(self._count - busy if open_tables else 0):
                table = self._random.choice(open_tables)
                seat = self._random.choice((None, *range(len(table.subjects))))
                watcher = Watcher(self._client, table, seat, Random(self._random.random()))
                self.all.append(watcher)
                self._tasks[watcher] = asyncio.create_task(watcher.watch())
            await asyncio.sleep(LOOK_SECONDS)

    async def settle(self, bootstrap: str, single: bool) -> list[Violation]:
        """After the faults: everybody gets what is in the log, on a `single` broker or not, and nothing else. What is
        wrong.
        """
        self._count = 0
        truth = await Truth.read(bootstrap, single)
        until = asyncio.get_running_loop().time() + SETTLE_SECONDS
        while asyncio.get_running_loop().time() < until and any(
            not watcher.wrong and len(watcher.seen) < truth.newest(watcher.table.game_id) for watcher in self.all
        ):
            await asyncio.sleep(0.1)
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        return [violation for watcher in self.all for violation in truth.judge(watcher)]

    def reasons(self) -> Counter[str]:
        """Why streams ended."""
        return sum((watcher.reasons for watcher in self.all), Counter())


class Truth:
    """What each viewer of each game has to see, from the log."""

    def __init__(self) -> None:
        self._messages = Messages(RULES)
        self._records: dict[str, list[tuple[bytes, bytes]]] = {}
        self._expected: dict[tuple[str, int | None], tuple[list[Any], Any]] = {}

    @classmethod
    async def read(cls, bootstrap: str, single: bool) -> "Truth":
        """All of it."""
        truth = cls()
        log = open_kafka(bootstrap, single_broker_not_durable=single)
        try:
            topic = await log.events(f"guildhall.{RULES.game}.events")
            for partition in range(topic.partitions):
                await fold_to_end(topic, partition, FoldState(), truth._told)
        finally:
            await log.close()
        return truth

    def _told(self, verdict: Verdict) -> None:
        if isinstance(verdict, Effective):
            self._records.setdefault(verdict.aggregate_id, []).append((verdict.entry.body, verdict.entry.hash))

    def newest(self, game_id: str) -> int:
        """The newest version."""
        return len(self._records.get(game_id, ()))

    def judge(self, watcher: Watcher) -> Sequence[Violation]:
        """What is wrong with what the watcher saw."""
        if watcher.wrong:
            return [Violation(Rule.DIFFERENT, watcher.name, watcher.wrong)]
        seen, view = self._of(watcher.table.game_id, watcher.seat)
        if len(watcher.seen) < len(seen):
            return [Violation(Rule.STUCK, watcher.name, f"has {len(watcher.seen)} versions of {len(seen)}")]
        for version, (got, wanted) in enumerate(zip(watcher.seen, seen, strict=False), 1):
            if got != wanted:
                return [Violation(Rule.DIFFERENT, watcher.name, f"another version {version} than the log has")]
        if watcher.seen and watcher.folder.view() != view:
            return [Violation(Rule.DIFFERENT, watcher.name, "its own fold is not the view that it gets")]
        return []

    def _of(self, game_id: str, seat: int | None) -> tuple[list[Any], Any]:
        key = (game_id, seat)
        if key not in self._expected:
            game: Game | None = None
            seen: list[Any] = []
            for body, digest in self._records.get(game_id, ()):
                game, events = fold(RULES, game, body, digest)
                if any(type(event) is Undone for event in events):
                    seen.append(game.view(seat))
                else:
                    seen.append(self._messages.batch(decode_Record(body), digest, events, seat))
            self._expected[key] = (seen, game.view(seat) if game is not None else None)
        return self._expected[key]
