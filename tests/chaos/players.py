"""Those who play: several games at once, each driven by two drivers who know nothing of one another.

They do what clients of a shaky hall do, and worse: send again through other processes, send the same at once through
two, race different answers, repeat what was accepted long ago, reuse ids, answer what is closed, answer for others.
"""

import asyncio
import base64
import contextlib
import hashlib
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.chaos.client import Client, PlayStream, Write
from tests.chaos.history import Call, Result

TRIES = 60
"""How often a write is sent before nobody asks any more what became of it."""
SETTLE_SECONDS = 90.0
"""Seconds, after the faults have ended, in which every game must be reachable again."""


def game_id(subject: str, command_id: str) -> str:
    """The id that follows from who creates a game: SHA-256 of both, in base 32."""
    name = subject.encode()
    digest = hashlib.sha256(len(name).to_bytes(8, "big") + name + command_id.encode()).digest()
    return base64.b32encode(digest[:16]).decode().rstrip("=").lower()


class Table:
    """One game and what its drivers share."""

    def __init__(self, name: str, seats: int, clock_ms: int) -> None:
        self.subjects = [f"{name}-seat{seat}" for seat in range(seats)]
        self.command_id = f"{name}-create"
        self.game_id = game_id(self.subjects[0], self.command_id)
        self.clock_ms = clock_ms
        self.created = False
        self.ended = False
        self.accepted: list[Write] = []
        self.doubtful: list[Write] = []
        """Writes whose outcome nobody knows yet."""


class Players:
    """All tables. `play` runs until it is told to stop; `settle` asks what became of everything."""

    def __init__(self, client: Client, seed: int, tables: int, think: float) -> None:
        """`think`: mean seconds between two commands of a driver."""
        self.client = client
        self.tables: list[Table] = []
        self._seed = seed
        self._count = tables
        self._think = think
        self._next = 0
        self._stop = asyncio.Event()

    async def play(self) -> None:
        """Keeps so many games going; a finished one is followed by a new one."""
        async with asyncio.TaskGroup() as group:
            for place in range(self._count):
                group.create_task(self._play_at(place, Random(f"{self._seed}.{place}")))

    def stop(self) -> None:
        """Finish what is under way, begin nothing new."""
        self._stop.set()

    async def settle(self) -> list[str]:
        """After the faults: every doubtful write is sent again until its outcome is known, every game is read through
        every process, and every game that goes on takes one more command. Returns the games that could not be settled.
        """
        stuck = []
        for table, settled in zip(
            self.tables, await asyncio.gather(*(self._settle(table) for table in self.tables)), strict=True
        ):
            if not settled:
                stuck.append(table.game_id)
        return stuck

    # --- a table

    async def _play_at(self, place: int, random: Random) -> None:
        while not self._stop.is_set():
            table = Table(f"s{self._seed}p{place}g{self._next}", random.choice((2, 2, 3, 4)), 0)
            self._next += 1
            if random.random() < 0.2:
                table.clock_ms = 2000
            self.tables.append(table)
            await self._create(table, random)
            watching = asyncio.create_task(self._watch(table, random))
            try:
                drivers = [_Driver(self, table, Random(random.random())) for _ in range(2)]
                await asyncio.gather(*(driver.drive() for driver in drivers))
            finally:
                watching.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watching

    async def _create(self, table: Table, random: Random) -> None:
        """Creates the game, by two at once now and then."""
        while not table.created and not self._stop.is_set():
            processes = [self.client.doors.some(random) for _ in range(random.choice((1, 1, 2)))]
            for call in await asyncio.gather(*(self._create_once(table, process) for process in processes)):
                table.created |= call.result is Result.ACCEPTED
            if not table.created:
                await asyncio.sleep(random.uniform(0.05, 0.3))

    def _create_once(self, table: Table, process: str) -> Any:
        return self.client.create(process, table.game_id, table.subjects, table.command_id, table.clock_ms)

    async def _watch(self, table: Table, random: Random) -> None:
        """Follows the game through one process after the other, without missing a version."""
        version, done, process = 0, False, ""
        while not done:
            process = self.client.doors.some_views(random, process)
            subject = random.choice(table.subjects)
            version, done = await self.client.watch(process, subject, table.game_id, version)
            await asyncio.sleep(random.uniform(0.05, 0.3))

    # --- at the end

    async def _settle(self, table: Table) -> bool:
        random = Random(table.game_id)
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                if not table.created:
                    await self._until_known(lambda process: self._create_once(table, process), random)
                for write in table.doubtful:
                    await self._until_known(lambda process, write=write: self.client.submit(process, write), random)
                for process in sorted(self.client.doors.open):
                    for subject in table.subjects:
                        await self.client.legal(process, subject, table.game_id)
                for process in sorted(self.client.doors.views or self.client.doors.open):
                    await self._until_read(table, process)
                await self._one_more(table, random)
        except TimeoutError:
            return False
        return True

    async def _until_known(self, ask: Any, random: Random) -> Call:
        while True:
            call: Call = await ask(self.client.doors.some(random))
            if call.result is not Result.UNKNOWN and call.reason not in ("GAME_BUSY", "LOG_BUSY"):
                return call
            await asyncio.sleep(0.2)

    async def _until_read(self, table: Table, process: str) -> None:
        """The whole of what that process tells of the game."""
        while (await self.client.view(process, table.subjects[-1], table.game_id))[0].result is Result.UNKNOWN:
            await asyncio.sleep(0.2)
        await self.client.events(process, table.subjects[0], table.game_id)

    async def _one_more(self, table: Table, random: Random) -> None:
        driver = _Driver(self, table, random)
        while not table.ended:
            for write in await driver.writes():
                if (await self.client.submit(self.client.doors.some(random), write)).result is Result.ACCEPTED:
                    return
            await asyncio.sleep(0.1)


class _Driver:
    """Plays all seats of a game, one command after the other, beside another driver who does the same."""

    def __init__(self, players: Players, table: Table, random: Random) -> None:
        self.players = players
        self.client = players.client
        self.table = table
        self.random = random
        self.streams: dict[str, PlayStream] = {}
        self.own = f"{random.randrange(1 << 32):08x}"
        self.next = 0

    async def drive(self) -> None:
        """Until the game is over or the players are told to stop."""
        while not self.players._stop.is_set() and not self.table.ended:
            await self.step()
            await asyncio.sleep(self.random.expovariate(1 / self.players._think))
        for stream in self.streams.values():
            stream.end()

    async def step(self) -> None:
        """One thing that a client may do."""
        dice = self.random.random()
        if dice < 0.06:
            await self.client.events(self._views(), self.random.choice(self.table.subjects), self.table.game_id)
        elif dice < 0.10 and self.table.accepted:
            await self.insist(self.random.choice(self.table.accepted))
        elif dice < 0.13 and self.table.accepted:
            old = self.random.choice(self.table.accepted)
            other = self.random.choice(self.table.accepted).command
            await self.once(Write(old.game_id, old.subject, old.command_id, old.decision_id, other))
        elif dice < 0.16 and self.table.accepted:
            old = self.random.choice(self.table.accepted)
            await self.once(Write(old.game_id, old.subject, self._id(), old.decision_id, old.command))
        elif dice < 0.163 and len(self.table.subjects) > 2:
            await self.resign(self.random.randrange(len(self.table.subjects)))
        else:
            writes = await self.writes()
            if writes:
                await self.answer(self.random.choice(writes), writes)

    async def writes(self) -> list[Write]:
        """Every command that answers one open decision, as a new write each."""
        table = self.table
        call, response = await self.client.view(self._views(), self.random.choice(table.subjects), table.game_id)
        if response is not None and response.view.game.HasField("ended"):
            table.ended = True
        if response is not None and not call.decisions:
            return []
        # Whoever cannot see whom the game waits for asks for anybody.
        decision_id = self.random.choice(call.decisions) if response is not None else ""
        seat = int(decision_id.partition(".")[2]) if decision_id else self.random.randrange(len(table.subjects))
        subject = table.subjects[seat]
        _, legal = await self.client.legal(self._process(), subject, table.game_id)
        if legal is None:
            return []
        return [
            Write(table.game_id, subject, self._id(), decision.decision.id, command)
            for decision in legal.decisions
            for command in decision.commands
        ]

    async def answer(self, write: Write, others: Sequence[Write]) -> None:
        """Answers, in one way or another."""
        dice = self.random.random()
        if dice < 0.35:
            await self.insist(write, streamed=True)
        elif dice < 0.75:
            await self.insist(write)
        elif dice < 0.85:
            await asyncio.gather(*(self.once(write, process) for process in sorted(self.client.doors.open)[:2]))
            await self.insist(write)
        elif dice < 0.93:
            rival = self.random.choice(others)
            await asyncio.gather(self.insist(write), self.insist(rival) if rival is not write else asyncio.sleep(0))
        elif dice < 0.96:
            stranger = self.random.choice(self.table.subjects)
            await self.once(Write(write.game_id, stranger, self._id(), write.decision_id, write.command))
        elif self.table.accepted:
            unfit = self.random.choice(self.table.accepted).command
            await self.insist(Write(write.game_id, write.subject, self._id(), write.decision_id, unfit))

    async def insist(self, write: Write, *, streamed: bool = False) -> None:
        """Sends a write until its outcome is known, each time through another process; now and then gives up."""
        process = ""
        for _ in range(TRIES):
            process = self.client.doors.some(self.random, process)
            call = await (self.through_stream(write, process) if streamed else self.client.submit(process, write))
            if call.result is Result.ACCEPTED:
                self.table.accepted.append(write)
            if call.result is not Result.UNKNOWN:
                return
            if self.players._stop.is_set() or self.random.random() < 0.05:
                break
            await asyncio.sleep(self.random.uniform(0.02, 0.3))
        if self.random.random() < 0.8:
            self.table.doubtful.append(write)

    async def resign(self, seat: int) -> None:
        """Gives a seat up: its defaults are played from then on."""
        subject, command_id = self.table.subjects[seat], self._id()
        for _ in range(TRIES):
            call = await self.client.resign(self._process(), self.table.game_id, subject, seat, command_id)
            if call.result is not Result.UNKNOWN or self.players._stop.is_set():
                return

    async def once(self, write: Write, process: str = "") -> None:
        """Sends a write once; whatever becomes of it."""
        call = await self.client.submit(process or self._process(), write)
        if call.result is Result.ACCEPTED and write.command_id not in {w.command_id for w in self.table.accepted}:
            self.table.accepted.append(write)

    async def through_stream(self, write: Write, process: str) -> Call:
        stream = self.streams.get(write.subject)
        if stream is None or stream.ended:
            stream = self.streams[write.subject] = await self.client.play(process, write.subject)
        return await stream.submit(write)

    def _process(self) -> str:
        return self.client.doors.some(self.random)

    def _views(self) -> str:
        return self.client.doors.some_views(self.random)

    def _id(self) -> str:
        self.next += 1
        return f"{self.own}-{self.next}"
