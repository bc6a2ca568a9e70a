"""An operator: a client of OperationsService."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc

from guildhall.operations.v1 import structs as o
from guildhall.rpc.identity import existing_key, mint
from tests.services.hall import know

WHY = "the cat is on the table"


class Operator:
    """One operator's calls, for the tiny game."""

    def __init__(self, port: int, data: Path, scopes: Sequence[str] = ("operate",), subject: str = "olga") -> None:
        self._metadata = (("authorization", f"Bearer {mint(existing_key(data), subject, scopes, 600)}"),)
        self._data = data
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        self._next = 0

    async def close(self) -> None:
        await self._channel.close()

    async def call(self, method: str, **fields: Any) -> Any:
        request = getattr(o, f"encode_{method}Request")(getattr(o, f"{method}Request")(**fields))
        stub = self._channel.unary_unary(f"/guildhall.operations.v1.OperationsService/{method}")
        answer = await stub(request, metadata=self._metadata, timeout=20.0)
        return getattr(o, f"decode_{method}Response")(answer)

    async def order(self, what: str, game_id: str, **fields: Any) -> Any:
        """`what` is Abort, Pause, Resume or Repair."""
        self._next += 1
        wanted = {"command_id": f"{what}-{self._next}-{time.monotonic_ns()}", "why": WHY, "game": "tiny", **fields}
        answer = await self.call(f"{what}Game", game_id=game_id, **wanted)
        know(self._data, game_id, answer.version)
        return answer

    async def status(self, game_id: str) -> o.GameStatus:
        status: o.GameStatus = (await self.call("GetGameStatus", game="tiny", game_id=game_id)).status
        return status

    async def troubled(self) -> dict[str, o.GameState]:
        """States of the games that need somebody to look at them."""
        games = (await self.call("ListTroubledGames")).games
        return {game.game_id: o.GameState(game.state) for game in games}


@asynccontextmanager
async def operator(running: Any, scopes: Sequence[str] = ("operate",)) -> AsyncIterator[Operator]:
    """An operator of that hall."""
    olga = Operator(running.port, running.config.data, scopes)
    try:
        yield olga
    finally:
        await olga.close()
