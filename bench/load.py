"""Games of Arcane Alley that play themselves, as a load: both seats watch, and answer when they are asked."""

import asyncio
import secrets
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

import grpc

from bench.processes import HallOnKafka
from guildhall.arcane_alley.v1 import rules_service_pb2
from guildhall.cli.client import Client
from guildhall.cli.tokens import dev_token
from guildhall.kernel.v1.structs import Undo

PATIENCE = 60.0
OPTIONS = (("wizard_powers", "false"),)
PLAY = "/guildhall.arcane_alley.v1.RulesService/Play"


@dataclass
class Seen:
    """Of the commands of a load: when each was sent, accepted and first seen by a watcher, by game and version."""

    sent: dict[tuple[str, int], float] = field(default_factory=dict)
    accepted: dict[tuple[str, int], float] = field(default_factory=dict)
    seen: dict[tuple[str, int], list[float]] = field(default_factory=dict)

    def since(self, begin: dict[tuple[str, int], float], after: float) -> list[float]:
        """Seconds until each watcher saw what was begun after that time."""
        return [at - begin[key] for key, times in self.seen.items() if begin.get(key, 0.0) > after for at in times]


class _Play:
    """One seat's stream of commands of one game."""

    def __init__(self, rules: Client) -> None:
        self.turn = asyncio.Lock()
        self.call: Any = rules._channel.stream_stream(PLAY)(metadata=rules._metadata)

    async def submit(self, request: bytes) -> int:
        """The version that was made; 0 where the decision was closed meanwhile, or the game is over."""
        try:
            await self.call.write(request)
            answer = await self.call.read()
        except (asyncio.InvalidStateError, asyncio.CancelledError):
            if self.call.cancelled():  # whoever watches has seen the end
                return 0
            raise
        if answer is grpc.aio.EOF:
            raise RuntimeError(f"{await self.call.code()}: {await self.call.details()}")
        return int(rules_service_pb2.PlayResponse.FromString(answer).version)


class Load:
    """Games that play themselves: each seat watches its own, and answers on a `Play` stream when it is asked."""

    def __init__(self, hall: HallOnKafka, name: str) -> None:
        self.subjects = (f"{name}-a", f"{name}-b")
        tokens = [dev_token(hall.data, subject, ("play", "seat", "spectate")) for subject in self.subjects]
        self.rules = [Client("arcane_alley", hall.rules, token, PATIENCE) for token in tokens]
        self.views = [Client("arcane_alley", hall.views, token, PATIENCE) for token in tokens]
        self.random = Random(name)
        self.ready: deque[tuple[int, str, str, Any]] = deque()
        """(seat, game, decision, command) that can be sent now."""
        self.times = Seen()
        self._plays: dict[tuple[int, str], _Play] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._may: asyncio.Event = asyncio.Event()

    async def create(self) -> str:
        """A new game, watched and played by both seats."""
        game_id = await self.rules[0].create(subjects=self.subjects, options=OPTIONS)
        for seat in (0, 1):
            self._start(self._watch(seat, game_id))
        return game_id

    async def _watch(self, seat: int, game_id: str) -> None:
        answered = ""
        await self.views[seat].view(game_id, 1)
        async for message in self.views[seat].events(game_id, 0):
            if message.events is not None or message.view is not None:
                self.times.seen.setdefault((game_id, message.version), []).append(time.perf_counter())
            for legal in message.decisions:
                if legal.decision.id != answered:
                    answered = legal.decision.id
                    options = [option for option in legal.commands if type(option) is not Undo]
                    self.ready.append((seat, game_id, answered, self.random.choice(options)))
                    self._may.set()
        play = self._plays.pop((seat, game_id), None)
        if play is not None:
            play.call.cancel()
        if seat == 0:
            await self.create()

    async def next(self) -> tuple[int, str, str, Any]:
        """What can be sent next, waited for."""
        while not self.ready:
            self._may.clear()
            await self._may.wait()
        return self.ready.popleft()

    async def send(self, seat: int, game_id: str, decision: str, command: Any) -> None:
        """One command, its times kept."""
        play = self._plays.get((seat, game_id))
        if play is None:
            play = self._plays[seat, game_id] = _Play(self.rules[seat])
        wire = self.rules[seat].wire
        request = wire.encode_PlayRequest(wire.PlayRequest(game_id, secrets.token_hex(16), decision, command))
        # A watcher may see what was accepted, and be asked again, before the answer is read.
        async with play.turn:
            before = time.perf_counter()
            version = await play.submit(request)
        if version:
            self.times.sent[game_id, version] = before
            self.times.accepted[game_id, version] = time.perf_counter()

    async def at_rate(self, rate: float, seconds: float) -> None:
        """So many commands a second; what is late is sent as soon as it can be."""
        begin = time.perf_counter()
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, begin + number / rate - time.perf_counter()))
            move = await self.next()
            self._start(self.send(*move))

    async def flat_out(self, writers: int, seconds: float) -> float:
        """Accepted commands a second, with so many writers that each wait for their answer."""
        until = time.perf_counter() + seconds
        done = 0

        async def write() -> None:
            nonlocal done
            while time.perf_counter() < until:
                await self.send(*await self.next())
                done += 1

        begin = time.perf_counter()
        await asyncio.gather(*(write() for _ in range(writers)))
        return done / (time.perf_counter() - begin)

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            print(f"a part of the load has ended: {task.exception()!r}", file=sys.stderr)

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for client in (*self.rules, *self.views):
            await client.close()
