"""A real hall in this process, and a client that speaks its protocol through the game's generated Structs."""

import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import grpc

from guildhall.cli.read_side import REDIS_DIRECTORY, OneMachine
from guildhall.host.hall import LOG_FILE, Hall, HallConfig
from guildhall.kernel.rules import Rules
from guildhall.rpc.errors import error_info
from guildhall.rpc.identity import existing_key, mint
from services.views.live_games import LiveGame
from services.views.watch import WatchLimits
from tests.kernel.tiny.game import RULES

SEATS = ("alice", "bob", "carol")
ALL_SCOPES = ("play", "seat", "spectate", "operate")


def config(data: Path, watching: WatchLimits | None = None, **changes: Any) -> HallConfig:
    """A hall of the tiny game on any free port, with its read side beside it."""
    games = changes.setdefault("games", [RULES])
    beside = {"beside": lambda: OneMachine(games, data / REDIS_DIRECTORY, watching)}
    return HallConfig(**{"data": data, "port": 0, "drain_seconds": 1.0, **beside, **changes})


@asynccontextmanager
async def hall(data: Path, **changes: Any) -> AsyncIterator[Hall]:
    """A running hall."""
    running = Hall(config(data, **changes))
    await running.start()
    try:
        yield running
    finally:
        await running.stop()


VIEWS = ("GetView", "WatchView", "ListEvents", "GetRecords")
"""The methods of ViewService."""

KNOWN: dict[tuple[Path, str], int] = {}
"""The newest version of each game, by its hall's data, that anybody was told. Views are asked for it: they come after
the commands.
"""


def know(data: Path, game_id: str, version: int) -> None:
    """Somebody was told that the game has this version."""
    KNOWN[data, game_id] = max(version, KNOWN.get((data, game_id), 0))


def forget_stored(data: Path, pattern: str = "%", package: str = "tiny") -> None:
    """Drop stored states of a hall that is down, and its read models, so that a start folds events."""
    with sqlite3.connect(data / LOG_FILE) as log:
        log.execute("DELETE FROM compacted WHERE topic LIKE ?", (f"guildhall.{package}.{pattern}",))
    log.close()
    shutil.rmtree(data / REDIS_DIRECTORY, ignore_errors=True)


class Client:
    """One subject's calls to one game."""

    def __init__(
        self,
        port: int,
        data: Path,
        subject: str,
        scopes: Sequence[str] = ("play", "seat", "spectate"),
        ttl: float = 600.0,
        rules: Rules = RULES,
        token: str | None = None,
        options: Sequence[tuple[str, int]] = (),
    ) -> None:
        self.data = data
        self.subject = subject
        self.rules = rules
        self.wire = rules.wire
        self.token = token if token is not None else mint(existing_key(data), subject, scopes, ttl)
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}", options)
        self._next = 0

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.channel.close()

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    def command_id(self) -> str:
        self._next += 1
        return f"{self.subject}-{self._next}-{time.monotonic_ns()}"

    def path(self, method: str) -> str:
        service = "ViewService" if method in VIEWS else "RulesService"
        return f"/guildhall.{self.rules.game}.v1.{service}/{method}"

    async def raw(self, method: str, request: bytes, timeout: float = 20.0) -> bytes:
        call = self.channel.unary_unary(self.path(method))
        answer: bytes = await call(request, metadata=self.metadata, timeout=timeout)
        return answer

    def _request(self, method: str, fields: dict[str, Any]) -> bytes:
        if method in VIEWS:
            fields.setdefault("min_version", KNOWN.get((self.data, fields["game_id"]), 0))
        encoded: bytes = getattr(self.wire, f"encode_{method}Request")(getattr(self.wire, f"{method}Request")(**fields))
        return encoded

    async def call(self, method: str, timeout: float = 20.0, **fields: Any) -> Any:
        data = self._request(method, fields)
        answer = await self.raw(method, data, timeout)
        return getattr(self.wire, f"decode_{method}Response")(answer)

    def stream(self, method: str, timeout: float | None = 20.0, **fields: Any) -> Any:
        data = self._request(method, fields)
        call = self.channel.unary_stream(
            self.path(method), response_deserializer=getattr(self.wire, f"decode_{method}Response")
        )
        return call(data, metadata=self.metadata, timeout=timeout)

    async def create(self, subjects: Sequence[str] = SEATS, **fields: Any) -> str:
        fields.setdefault("command_id", self.command_id())
        answer = await self.call("CreateGame", subjects=tuple(subjects), **fields)
        self._told(answer.game_id, answer.version)
        return str(answer.game_id)

    async def view(self, game_id: str, **fields: Any) -> Any:
        return (await self.call("GetView", game_id=game_id, **fields)).view

    async def legal(self, game_id: str, **fields: Any) -> Any:
        return await self.call("ListLegalCommands", game_id=game_id, **fields)

    async def submit(self, game_id: str, decision_id: str, command: Any, **fields: Any) -> int:
        fields.setdefault("command_id", self.command_id())
        answer = await self.call("SubmitCommand", game_id=game_id, decision_id=decision_id, command=command, **fields)
        self._told(game_id, answer.version)
        return int(answer.version)

    def _told(self, game_id: str, version: int) -> None:
        know(self.data, game_id, version)

    def watch(self, game_id: str, events: bool = False, after: int | None = None, timeout: float = 20.0) -> Any:
        mode = self.wire.WatchMode.EVENTS if events else self.wire.WatchMode.VIEWS
        return self.stream("WatchView", game_id=game_id, mode=mode, after_version=after, timeout=timeout)


class Table:
    """A game with a client for each seat, and the one who created it."""

    def __init__(self, clients: Sequence[Client], game_id: str) -> None:
        self.clients = clients
        self.game_id = game_id

    async def step(self, random: Random) -> int | None:
        """One legal command by some seat that is waited for; its version, or None when the game is over."""
        view = await self.clients[0].view(self.game_id)
        if view.game.ended is not None:
            return None
        seat = random.choice(view.game.waiting_for).seat
        [decision] = (await self.clients[seat].legal(self.game_id)).decisions
        command = random.choice(decision.commands)
        return await self.clients[seat].submit(self.game_id, decision.decision.id, command)

    async def play(self, random: Random, steps: int = 1_000) -> int:
        """Up to so many commands; the last version."""
        version = 1
        for _ in range(steps):
            done = await self.step(random)
            if done is None:
                break
            version = done
        return version


async def followed(running: Hall, game_id: str) -> LiveGame:
    """The game as this hall's views follow it."""
    assert isinstance(running.beside, OneMachine) and running.beside.views is not None
    found = await running.beside.views.games["tiny"].live.get(game_id)
    assert found is not None
    return found


@asynccontextmanager
async def table(running: Hall, subjects: Sequence[str] = SEATS, **fields: Any) -> AsyncIterator[Table]:
    """A new game of these subjects, created by the first."""
    data = running.config.data
    clients = [Client(running.port, data, subject, ALL_SCOPES) for subject in subjects]
    try:
        yield Table(clients, await clients[0].create(subjects, **fields))
    finally:
        for client in clients:
            await client.channel.close()


class Answered(AssertionError):
    """A call that must fail was answered."""


async def failure(call: Any) -> tuple[str, grpc.StatusCode, dict[str, str]]:
    """(reason, code, metadata) of a call that must fail."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        info = error_info(error)
        assert info is not None, error
        assert info.domain == "guildhall"
        return info.reason, error.code(), dict(info.metadata)
    raise Answered
