"""Players at two processes of a hall that are killed and paused; afterwards the log is asked whether all is as it was
told.
"""

import asyncio
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from guildhall.kernel.v1.structs import EndReason, GameCreated, GameEnded, Resigned, decode_Record
from guildhall.log.errors import LogUnavailable
from guildhall.log.fold import ClaimSeen, Effective, FoldState, Void, fold
from guildhall.log.port import Log, partition_of
from guildhall.matchmaking.v1 import structs as wire
from guildhall.rpc.errors import error_info
from services.matchmaking.evolve import evolve
from services.matchmaking.house import is_bot
from services.matchmaking.pool import MOST_ENDED, Pool
from tests.kernel.tiny.game import RULES
from tests.matchmaking.hall import GAME, Player
from tests.matchmaking.serve_tiny import HOUSE

ROOT = Path(__file__).resolve().parents[2]

LONG_PAUSE_SECONDS = 11.0
"""Beyond the session of a consumer group (6 s): the group gives what the paused process serves to another."""

SETTLE_SECONDS = 30.0


class Process:
    """One process of the hall, started again after each kill."""

    def __init__(self, data: Path, words: Sequence[str]) -> None:
        self._data = data
        self._words = list(words)
        self._process: asyncio.subprocess.Process | None = None
        self.port = 0

    async def start(self) -> None:
        """Start it and wait until it listens."""
        with open(self._data / "said", "ab") as said:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.matchmaking.serve_tiny", str(self._data), *self._words),
                cwd=ROOT,
                stdout=asyncio.subprocess.PIPE,
                stderr=said,
            )
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        assert line, "the process did not start"
        self.port = int(line)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    async def kill(self) -> None:
        """kill -9, whatever state it is in."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


@dataclass
class History:
    """What players were told."""

    accepted: list[tuple[str, str]] = field(default_factory=list)
    """(subject, command id)."""
    tickets: dict[str, str] = field(default_factory=dict)
    """Subject of each ticket."""
    games: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Subjects of each game, as they were told."""
    codes: dict[str, str] = field(default_factory=dict)
    """Of parties, as their members tell each other."""
    last: dict[str, wire.State] = field(default_factory=dict)
    """What each player was told when all was over."""
    reasons: Counter[str] = field(default_factory=Counter)


class Somebody:
    """A player who looks for games, changes its mind, and sometimes does not confirm."""

    def __init__(self, name: str, processes: Sequence[Process], data: Path, rng: random.Random, history: History):
        self.name = name
        self._processes = processes
        self._data = data
        self._rng = rng
        self._history = history
        self._clients: dict[int, Player] = {}
        self._next = 0
        self._given_up: set[str] = set()

    def _client(self) -> Player:
        port = self._rng.choice(self._processes).port
        if port not in self._clients:
            self._clients[port] = Player(port, self._data, self.name)
        return self._clients[port]

    async def close(self) -> None:
        """End the connections."""
        for client in self._clients.values():
            await client.channel.close()

    async def ask(self, method: str, **fields: Any) -> Any:
        """A write, sent again with the same id for as long as the outcome is not known; None where it is refused."""
        self._next += 1
        command_id = f"{self.name}-{self._next}"
        answer = await self._anywhere(lambda client: client.read(method, 6.0, command_id=command_id, **fields))
        if answer is not None:
            self._history.accepted.append((self.name, command_id))
            if method == "CreateTicket":
                self._history.tickets[answer.ticket_id] = self.name
        return answer

    async def state(self) -> wire.State:
        """Everything that it has."""
        answer = await self._anywhere(lambda client: client.read("GetState", 6.0))
        assert answer is not None
        state: wire.State = answer.state
        for game in state.games:
            told = self._history.games.setdefault(game.game_id, game.subjects)
            assert told == game.subjects, "one game, two tales"
        if state.party is not None:
            self._history.codes[state.party.party_id] = state.party.code
            # Not so while the ticket of those who were a party before has its game created.
            if state.ticket is not None and state.ticket.party_id and state.offer is None:
                assert set(state.ticket.subjects) == set(state.party.members), "a party is torn apart"
        return state

    async def _anywhere(self, call: Callable[[Player], Any]) -> Any:
        while True:
            try:
                return await call(self._client())
            except grpc.aio.AioRpcError as error:
                info = error_info(error)
                reason = info.reason if info is not None else error.code().name
                self._history.reasons[reason] += 1
                if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                    await asyncio.sleep(0.05)
                    continue
                return None

    async def play(self, until: float) -> None:
        """Look for games until then."""
        while time.monotonic() < until:
            state = await self.state()
            open_games = [game.game_id for game in state.games if game.game_id not in self._given_up]
            if len(open_games) > 1:
                await self._give_up(open_games[0])
            if state.offer is not None:
                if not state.offer.you_confirmed and self._rng.random() < 0.9:
                    await self.ask("ConfirmOffer", offer_id=state.offer.offer_id)
            elif state.ticket is not None:
                if self._rng.random() < 0.1:
                    await self.ask("CancelTicket", ticket_id=state.ticket.ticket_id)
            elif state.table is not None:
                step = self._rng.random()
                if state.table.owner != self.name:
                    if step < 0.1:
                        await self.ask("LeaveTable")
                elif step < 0.5:
                    await self.ask("AddBot", strength="random")
                elif step < 0.8:
                    await self.ask("StartTable")
                else:
                    await self.ask("LeaveTable")
            elif state.party is not None:
                await self._in_a_party(state.party)
            else:
                step = self._rng.random()
                if step < 0.5:
                    await self.ask("CreateTicket", seats=self._rng.choice(((2,), (3,), (2, 3))))
                elif step < 0.65:
                    await self.ask("CreateParty")
                elif step < 0.85 and self._history.codes:
                    await self.ask("JoinParty", code=self._rng.choice([*self._history.codes.values()][-8:]))
                else:
                    await self._a_table()
            await asyncio.sleep(self._rng.uniform(0.02, 0.2))

    async def _in_a_party(self, party: wire.Party) -> None:
        step = self._rng.random()
        if step < 0.1:
            await self.ask("LeaveParty")
        elif party.members[0] != self.name or len(party.members) == 1:
            return  # the leader is waited for, or friends are
        elif step < 0.25:
            await self.ask("KickFromParty", subject=self._rng.choice(party.members[1:]))
        else:
            await self.ask("CreateTicket", seats=self._rng.choice(((2, 3), (3,))))

    async def _give_up(self, game_id: str) -> None:
        """Of two players one is enough to end a game; then its result is due."""
        self._next += 1
        request = RULES.wire.ResignSeatRequest(game_id, f"{self.name}-{self._next}")
        data = RULES.wire.encode_ResignSeatRequest(request)

        async def resign(client: Player) -> bool:
            call: Any = client.channel.unary_unary(f"/guildhall.{GAME}.v1.RulesService/ResignSeat")
            await call(data, metadata=client.metadata, timeout=6.0)
            return True

        await self._anywhere(resign)
        self._given_up.add(game_id)

    async def _a_table(self) -> None:
        tables = await self._anywhere(lambda client: client.read("ListTables", 6.0))
        if tables is not None and tables.tables and self._rng.random() < 0.7:
            await self.ask("SitDown", table_id=self._rng.choice(tables.tables).table_id)
        else:
            await self.ask("CreateTable", seats=self._rng.choice((2, 3)))

    async def leave(self) -> None:
        """Want nothing any more."""
        while True:
            state = await self.state()
            if state.ticket is None and state.table is None and state.party is None:
                return
            if state.offer is not None and state.offer.accepted:
                await asyncio.sleep(0.1)
            elif state.party is not None:
                await self.ask("LeaveParty")
            elif state.ticket is not None:
                await self.ask("CancelTicket", ticket_id=state.ticket.ticket_id)
            else:
                await self.ask("LeaveTable")


async def trouble(
    processes: Sequence[Process], log: Log, rng: random.Random, until: float, *, outlast: bool
) -> Counter[str]:
    """Kill, pause and go on, one process at a time; what was done, and how often a paused process was `replaced`.

    `outlast`: first of all the owner is paused for longer than its session.
    """
    done: Counter[str] = Counter()
    while time.monotonic() < until:
        await asyncio.sleep(rng.uniform(0.5, 2.0))
        before = await owner_of(log)
        owning = [process for process in processes if str(process.port) == before.rpartition(":")[2]]
        if outlast and owning:
            outlast = False
            await _pause(owning[0], LONG_PAUSE_SECONDS, log, done)
        elif rng.random() < 0.5:
            process = rng.choice(processes)
            await process.kill()
            await asyncio.sleep(rng.uniform(0.0, 1.0))
            await process.start()
            done["kill"] += 1
        else:
            await _pause(rng.choice(processes), rng.uniform(0.2, 4.0), log, done)
    return done


async def _pause(process: Process, seconds: float, log: Log, done: Counter[str]) -> None:
    before = await owner_of(log)
    process.signal(signal.SIGSTOP)
    try:
        await asyncio.sleep(seconds)
        after = await owner_of(log)
    finally:
        process.signal(signal.SIGCONT)
    done["pause"] += 1
    done["replaced"] += str(process.port) == before.rpartition(":")[2] and after != before


@asynccontextmanager
async def two_processes(data: Path, words: Sequence[str]) -> AsyncIterator[list[Process]]:
    """Both listen."""
    processes = [Process(data, words), Process(data, words)]
    try:
        for process in processes:
            await process.start()
        yield processes
    finally:
        for process in processes:
            await process.kill()


async def run(
    data: Path,
    words: Sequence[str],
    seconds: float,
    seed: int,
    open_log: Callable[[], Log],
    *,
    players: int = 16,
    calm: bool = False,
    outlast: bool = False,
) -> tuple[History, Counter[str]]:
    """The whole campaign, and the comparison of what was told with the log; what was told, and what was done to the
    processes. `calm`: nothing is. Raises AssertionError.
    """
    rng = random.Random(seed)
    history = History()
    done: Counter[str] = Counter()
    async with two_processes(data, words) as processes:
        log = open_log()
        them = [Somebody(f"player {n}", processes, data, random.Random(seed + n), history) for n in range(players)]
        try:
            until = time.monotonic() + seconds
            playing = asyncio.gather(*(somebody.play(until) for somebody in them))
            if not calm:
                done = await trouble(processes, log, rng, until, outlast=outlast)
            await playing
            async with asyncio.timeout(60.0):
                await asyncio.gather(*(somebody.leave() for somebody in them))
            await results_taken(log)
            history.last = {somebody.name: await somebody.state() for somebody in them}
            await check(log, history)
        finally:
            for somebody in them:
                await somebody.close()
            await log.close()
    return history, done


async def results_taken(log: Log) -> None:
    """Returns when the pool has heard of every game that is over, or has had the time to."""
    until = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < until:
        over = {game_id for game_id, game in (await games_in_log(log)).items() if game.ended is not None}
        if over <= set((await read_pool(log)).over):
            return
        await asyncio.sleep(0.5)


async def check(log: Log, history: History) -> None:
    """Compare what was told with the log. Raises AssertionError."""
    told = await read_pool(log)
    assert [count for count in told.commands.values() if count > 1] == [], "a command was accepted twice"
    lost = [command for command in history.accepted if command not in told.commands]
    assert lost == [], "an acknowledged command is not in the log"
    assert set(history.tickets) <= set(told.created)
    assert sorted(told.ended) == sorted(told.created) and max(told.ended.values(), default=0) <= 1
    assert not told.pool.tickets and not told.pool.offers and not told.pool.tables and not told.pool.parties
    games = await games_in_log(log)
    assert {game_id: game.subjects for game_id, game in games.items()} == told.agreed, "games, and what was agreed on"
    for game_id, subjects in history.games.items():
        assert games[game_id].subjects == subjects
    for game in games.values():
        assert len(set(game.subjects)) == len(game.subjects)
    over = {game_id for game_id, game in games.items() if game.ended is not None}
    assert max(told.over.values(), default=0) <= 1 and set(told.over) == over, "a result is missing, or taken in twice"
    due = Counter((game_id, subject) for game_id, game in games.items() if game.counts for subject in game.subjects)
    assert told.rated == due, "each game that counts is rated once, for each of its players"
    check_told(told, history, games)


def check_told(told: "PoolLog", history: History, games: "dict[str, GameLog]") -> None:
    """Whether each player was told of its tickets' ends, its party's among them, and of its games."""
    for subject, state in history.last.items():
        ended = [ticket_id for ticket_id in told.ended if subject in told.subjects[ticket_id]]
        assert [each.ticket_id for each in state.ended] == ended[-MOST_ENDED:], "not told how a ticket ended"
        for each in state.ended:
            matched = each.outcome == wire.TicketOutcome.MATCHED
            assert not matched or subject in games[each.game_id].subjects, "matched without a seat"
        mine = {game_id for game_id, game in games.items() if game.going_on and subject in game.going_on}
        assert mine <= {game.game_id for game in state.games}, "not told of a game"


@dataclass
class PoolLog:
    """What the log of the pool tells: the pool folded from its first entry, and how often each thing is there."""

    pool: Pool
    commands: Counter[tuple[str, str]] = field(default_factory=Counter)
    created: Counter[str] = field(default_factory=Counter)
    subjects: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of each ticket."""
    parties: int = 0
    """Tickets of more than one."""
    voids: int = 0
    """Records of owners that had been replaced."""
    ended: Counter[str] = field(default_factory=Counter)
    over: Counter[str] = field(default_factory=Counter)
    rated: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(game, subject)."""
    agreed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Subjects by game."""

    def take(self, event: Any) -> None:
        """Count an event, before it takes effect. Raises AssertionError where it may not be."""
        pool = self.pool
        match event:
            case wire.TicketCreated():
                self.created[event.ticket_id] += 1
                self.subjects[event.ticket_id] = event.subjects
                self.parties += len(event.subjects) > 1
                if event.party_id:
                    assert event.subjects == pool.parties[event.party_id].members, "a party is not whole"
                else:
                    assert not any(subject in pool.party_of for subject in event.subjects), "a party is not whole"
                for subject in event.subjects:
                    assert subject not in pool.ticket_of and subject not in pool.table_of, "in two places"
            case wire.TicketEnded():
                self.ended[event.ticket_id] += 1
            case wire.SeatTaken():
                assert event.subject not in pool.ticket_of and event.subject not in pool.table_of, "in two places"
            case wire.OfferMade():
                tickets = [subject for ticket_id in event.ticket_ids for subject in self.subjects[ticket_id]]
                people = [subject for subject in event.subjects if not is_bot(subject)]
                assert event.table_id or sorted(tickets) == sorted(people), "a party is torn apart"
            case wire.OfferAccepted():
                assert event.game_id not in self.agreed
                assert sorted(event.subjects) == sorted(pool.offers[event.offer_id].subjects), "others than agreed"
                self.agreed[event.game_id] = event.subjects
            case wire.GameOver():
                self.over[event.game_id] += 1
            case wire.Rated():
                assert event.change is not None
                self.rated[event.change.game_id, event.subject] += 1
            case _:
                pass


async def read_pool(log: Log) -> PoolLog:
    """Fold the pool by the one rule."""
    topic = await log.events("guildhall.matchmaking.events")
    number = partition_of(GAME, topic.partitions)
    state, told = FoldState(), PoolLog(Pool(HOUSE))
    end = await topic.end_offset(number)
    while state.next_offset < end:
        for record in await topic.read(number, state.next_offset, 1000):
            verdict = fold(state, record)
            told.voids += isinstance(verdict, Void)
            if isinstance(verdict, Effective):
                entry = decode_Record(verdict.entry.body)
                told.commands.update((command.subject, command.command_id) for command in entry.commands)
                for raw in entry.events:
                    event = wire.decode_event(raw)
                    told.take(event)
                    evolve(told.pool, entry.at_ms, event)
                told.pool.settle()
    return told


async def owner_of(log: Log) -> str:
    """The address of whoever made the newest claim of the pool's partition; "" where nobody has.

    Tried again while the file is locked: a process may be paused that has just locked it.
    """
    async with asyncio.timeout(60.0):
        while True:
            try:
                return await _owner_of(log)
            except LogUnavailable:
                await asyncio.sleep(0.2)


async def _owner_of(log: Log) -> str:
    topic = await log.events("guildhall.matchmaking.events")
    number = partition_of(GAME, topic.partitions)
    state, owner = FoldState(), ""
    end = await topic.end_offset(number)
    while state.next_offset < end:
        for record in await topic.read(number, state.next_offset, 1000):
            verdict = fold(state, record)
            owner = verdict.claim.address if isinstance(verdict, ClaimSeen) else owner
    return owner


@dataclass
class GameLog:
    """A game as its own log tells it."""

    subjects: tuple[str, ...]
    ended: GameEnded | None = None
    resigned: set[str] = field(default_factory=set)

    @property
    def going_on(self) -> set[str]:
        """Who plays it still."""
        return set() if self.ended is not None else set(self.subjects) - self.resigned

    @property
    def counts(self) -> bool:
        """Whether it is to be rated: no table here is declared unrated."""
        reason = self.ended.reason if self.ended is not None else None
        people = not any(is_bot(subject) for subject in self.subjects)
        return people and len(self.subjects) >= 2 and reason in (EndReason.FINISHED, EndReason.RESIGNED)


async def games_in_log(log: Log) -> dict[str, GameLog]:
    """Every game, by its id."""
    topic = await log.events(f"guildhall.{GAME}.events")
    found: dict[str, GameLog] = {}
    for number in range(topic.partitions):
        state = FoldState()
        end = await topic.end_offset(number)
        while state.next_offset < end:
            for record in await topic.read(number, state.next_offset, 1000):
                verdict = fold(state, record)
                if isinstance(verdict, Effective):
                    for encoded in decode_Record(verdict.entry.body).events:
                        _take(found, verdict.aggregate_id, RULES.wire.decode_event(encoded))
    return found


def _take(games: dict[str, GameLog], game_id: str, event: Any) -> None:
    match event:
        case GameCreated():
            games[game_id] = GameLog(event.subjects)
        case Resigned():
            games[game_id].resigned.add(games[game_id].subjects[event.seat])
        case GameEnded():
            games[game_id].ended = event
        case _:
            pass
