"""A real hall of the tiny game with matchmaking in this process, and clients of it."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import grpc
from redis.asyncio import Redis

from guildhall.cli.read_side import REDIS_DIRECTORY, OneMachine
from guildhall.host.hall import Foundation, Hall
from guildhall.matchmaking.v1 import matchmaking_service_pb2
from guildhall.matchmaking.v1 import structs as wire
from guildhall.rpc.errors import status_info
from guildhall.rpc.identity import existing_key, mint
from services.matchmaking.house import HouseRules
from services.matchmaking.process import Matchmaking
from tests.kernel.tiny.game import RULES
from tests.services import hall as games

HOUSE = HouseRules(RULES, bots=("random",), pass_ms=50)
GAME = RULES.game
SERVICE = "guildhall.matchmaking.v1.MatchmakingService"
SessionWrite: TypeAlias = Any
"""The request of any method that writes."""


def housing(house: HouseRules = HOUSE, open_redis: Callable[[], Redis] | None = None) -> dict[str, Any]:
    """What a hall's configuration says of matchmaking."""

    def housed(foundation: Foundation) -> Matchmaking:
        return Matchmaking([house], foundation, open_redis)

    return {"housed": housed}


@asynccontextmanager
async def hall(data: Path, house: HouseRules | None = None, **changes: Any) -> AsyncIterator[Hall]:
    """A running hall; `house` says otherwise what matchmaking is like."""
    machine = OneMachine([RULES], data / REDIS_DIRECTORY, pools=True)
    changes = {"beside": lambda: machine, **housing(house or HOUSE, machine.client), **changes}
    async with games.hall(data, **changes) as running:
        yield running


def quick(**changes: Any) -> HouseRules:
    """The house with other times."""
    return replace(HOUSE, **changes)


class Player:
    """One subject's calls to MatchmakingService."""

    def __init__(self, port: int, data: Path, subject: str, scopes: Sequence[str] = ("play",), ttl: float = 600.0):
        self.subject = subject
        self.token = mint(existing_key(data), subject, scopes, ttl)
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        self._next = 0

    async def __aenter__(self) -> "Player":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.channel.close()

    def _path(self, method: str) -> str:
        return f"/{SERVICE}/{method}"

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.token}"),)

    async def read(self, method: str, timeout: float = 20.0, **fields: Any) -> Any:
        """A method's answer."""
        fields.setdefault("game", GAME)
        data = getattr(wire, f"encode_{method}Request")(getattr(wire, f"{method}Request")(**fields))
        call: Any = self.channel.unary_unary(self._path(method))
        answer = await call(data, metadata=self.metadata, timeout=timeout)
        return getattr(wire, f"decode_{method}Response")(answer)

    async def ask(self, method: str, **fields: Any) -> Any:
        """A write's answer, with a command id of its own unless one is given."""
        self._next += 1
        fields.setdefault("command_id", f"{self.subject}-{self._next}-{time.monotonic_ns()}")
        return await self.read(method, **fields)

    async def state(self) -> wire.State:
        """Everything that the subject has."""
        state: wire.State = (await self.read("GetState")).state
        return state

    def stream(self, method: str, timeout: float | None = 20.0, **fields: Any) -> Any:
        """A method's stream."""
        fields.setdefault("game", GAME)
        data = getattr(wire, f"encode_{method}Request")(getattr(wire, f"{method}Request")(**fields))
        call: Any = self.channel.unary_stream(
            self._path(method), response_deserializer=getattr(wire, f"decode_{method}Response")
        )
        return call(data, metadata=self.metadata, timeout=timeout)

    async def session(self, *first: SessionWrite, game: str = GAME) -> "SessionOf":
        """A session with the game's pool; `first`: what its first message has."""
        call: Any = self.channel.stream_stream(
            self._path("Session"), response_deserializer=matchmaking_service_pb2.SessionResponse.FromString
        )
        session = SessionOf(call(metadata=self.metadata))
        await session.send(*first, game=game)
        return session

    async def until(self, holds: Any, timeout: float = 20.0) -> wire.State:
        """The first state of which that holds."""
        call = self.stream("WatchState", timeout)
        async for message in call:
            state: wire.State = message.state
            if holds(state):
                call.cancel()
                return state
        raise AssertionError("the stream ended")


class SessionOf:
    """An open session. Its messages stay as they come, since structs have no errors."""

    def __init__(self, call: Any) -> None:
        self.call = call

    async def send(self, *write: SessionWrite, game: str = "") -> None:
        """One message, with one write or none."""
        request = wire.SessionRequest(game, *map(asked, write))
        await self.call.write(wire.encode_SessionRequest(request))

    async def answer(self, *write: SessionWrite, game: str = "") -> Any:
        """Send a write; its answer, whatever is told before."""
        await self.send(*write, game=game)
        return await self.until(lambda told: told.command_id == write[0].command_id)

    async def until(self, holds: Callable[[Any], bool]) -> Any:
        """The first message of which that holds."""
        async with asyncio.timeout(20.0):
            while True:
                told = await self.call.read()
                assert told is not grpc.aio.EOF
                if holds(told):
                    return told


def asked(write: SessionWrite) -> wire.SessionWrite:
    """As a session's message has it."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(write).__name__.removesuffix("Request")).lower()
    return wire.SessionWrite(**{name: write})


def reason(told: Any) -> str:
    """Why a session's write was refused; "" where it was not."""
    info = status_info(told.error)
    return "" if info is None else info.reason


@asynccontextmanager
async def players(running: Hall, *subjects: str) -> AsyncIterator[list[Player]]:
    """A player for each of these."""
    them = [Player(running.port, running.config.data, subject) for subject in subjects]
    try:
        yield them
    finally:
        for player in them:
            await player.channel.close()
