"""A client of a hall for one subject: typed requests in, typed answers out, errors as sentences."""

import asyncio
import importlib
import json
import secrets
from collections.abc import AsyncIterator
from typing import Any

import grpc

from guildhall.rpc.errors import error_info

DEFAULT_SERVER = "127.0.0.1:50051"
CONNECT_SECONDS = 3.0
CALL_SECONDS = 20.0
ATTEMPTS = 6
"""Tries of a request whose outcome is unknown; the same command_id makes that safe."""
FIRST_PAUSE = 0.1
TOKENLESS = {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED}

_OPTIONS = [
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.keepalive_time_ms", 30_000),
    # This client retries by itself, so that streams and calls wait alike.
    ("grpc.enable_retries", 0),
    ("grpc.service_config", json.dumps({})),
]


class HallError(Exception):
    """A request that the hall did not answer: its stable reason, the gRPC code, and a sentence."""

    def __init__(self, reason: str, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.code = code


class NoHall(HallError):
    """Nobody answers at that address."""

    def __init__(self, server: str) -> None:
        hint = "Start one in another terminal: make run" if server == DEFAULT_SERVER else "Is that where it listens?"
        super().__init__("NO_HALL", grpc.StatusCode.UNAVAILABLE, f"No hall answers at {server}. {hint}")


class Client:
    """One subject's connection to the services of one game. Close it when done."""

    def __init__(self, game: str, server: str, token: str) -> None:
        """`game` as in its package (`arcane_alley`); `server` is host:port."""
        self.game = game
        self.server = server
        self.wire: Any = importlib.import_module(f"guildhall.{game}.v1.structs")
        self._channel = grpc.aio.insecure_channel(server, options=_OPTIONS)
        self._metadata = (("authorization", f"Bearer {token}"),)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the connection."""
        await self._channel.close()

    async def ready(self) -> None:
        """Wait until the hall answers. Raises NoHall."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._channel.channel_ready()
        except TimeoutError:
            raise NoHall(self.server) from None

    # --- calls

    async def call(self, service: str, method: str, **fields: Any) -> Any:
        """Ask a method with the fields of its request; the response. Raises HallError.

        UNAVAILABLE (outcome unknown) is tried again with the same bytes, so with the same command_id.
        """
        request = getattr(self.wire, f"encode_{method}Request")(getattr(self.wire, f"{method}Request")(**fields))
        stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(self._path(service, method))
        pause = FIRST_PAUSE
        for attempt in range(ATTEMPTS):
            try:
                answer = await stub(request, metadata=self._metadata, timeout=CALL_SECONDS)
                return getattr(self.wire, f"decode_{method}Response")(answer)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE or attempt == ATTEMPTS - 1:
                    raise self._failed(error) from None
            await asyncio.sleep(pause)
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    async def create(self, **fields: Any) -> str:
        """Create a game with the fields of CreateGameRequest; its id. Raises HallError."""
        answer = await self.call("RulesService", "CreateGame", command_id=secrets.token_hex(16), **fields)
        return str(answer.game_id)

    async def view(self, game_id: str, min_version: int = 0) -> Any:
        """The newest view, of that version at least. Raises HallError."""
        answer = await self.call("ViewService", "GetView", game_id=game_id, min_version=min_version)
        return answer.view

    async def pack(self, pack_hash: bytes) -> bytes:
        """The content pack of that hash. Raises HallError."""
        answer = await self.call("RulesService", "GetPack", pack_hash=pack_hash)
        return bytes(answer.yaml.encode())

    async def submit(self, game_id: str, decision_id: str, command: Any) -> int:
        """Answer a decision; the version that this made, or 0 where it had been closed before, or the game paused.

        Raises HallError for everything else.
        """
        try:
            answer = await self.call(
                "RulesService",
                "SubmitCommand",
                game_id=game_id,
                command_id=secrets.token_hex(16),
                decision_id=decision_id,
                command=command,
            )
        except HallError as error:
            if error.reason in ("STALE_DECISION", "GAME_OVER", "GAME_PAUSED"):
                return 0
            raise
        return int(answer.version)

    async def resign(self, game_id: str) -> None:
        """Give the own seat up. Raises HallError."""
        await self.call("RulesService", "ResignSeat", game_id=game_id, command_id=secrets.token_hex(16))

    async def records(self, game_id: str) -> list[tuple[bytes, bytes]]:
        """The (body, hash) pairs of a finished game, from version 1. Raises HallError."""
        wire = self.wire
        request = wire.encode_GetRecordsRequest(wire.GetRecordsRequest(game_id=game_id))
        stub = self._stream_of("GetRecords")
        try:
            answers = [
                wire.decode_GetRecordsResponse(answer) async for answer in stub(request, metadata=self._metadata)
            ]
        except grpc.aio.AioRpcError as error:
            raise self._failed(error) from None
        return [(answer.body, answer.hash) for answer in answers]

    # --- streams

    def watch(self, game_id: str) -> AsyncIterator[Any]:
        """WatchViewResponses with whole views from the newest version on, until the game ends. Raises HallError."""
        return self._stream(game_id, self.wire.WatchMode.VIEWS, None)

    def events(self, game_id: str, after: int) -> AsyncIterator[Any]:
        """WatchViewResponses with the events of every version after that one, until the game ends.

        Heartbeats are told too; a step taken back comes as a whole view. Raises HallError.
        """
        return self._stream(game_id, self.wire.WatchMode.EVENTS, after)

    async def _stream(self, game_id: str, mode: int, after: int | None) -> AsyncIterator[Any]:
        wire = self.wire
        stub = self._stream_of("WatchView")
        failures = 0
        while True:
            request = wire.WatchViewRequest(game_id=game_id, mode=int(mode), after_version=after)
            try:
                async for answer in stub(wire.encode_WatchViewRequest(request), metadata=self._metadata):
                    message = wire.decode_WatchViewResponse(answer)
                    failures = 0
                    after = message.version
                    yield message
                return
            except grpc.aio.AioRpcError as error:
                failures += 1
                if error.code() is not grpc.StatusCode.UNAVAILABLE or failures >= ATTEMPTS:
                    raise self._failed(error) from None
            await asyncio.sleep(FIRST_PAUSE * 2**failures)

    # --- words

    def _path(self, service: str, method: str) -> str:
        return f"/guildhall.{self.game}.v1.{service}/{method}"

    def _stream_of(self, method: str) -> "grpc.aio.UnaryStreamMultiCallable[bytes, bytes]":
        return self._channel.unary_stream(self._path("ViewService", method))

    def _failed(self, error: grpc.aio.AioRpcError) -> HallError:
        info = error_info(error)
        if info is None:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                return NoHall(self.server)
            return HallError(error.code().name, error.code(), error.details() or error.code().name)
        message = error.details() or info.reason
        rule = info.metadata.get("rule")
        if rule:
            message = f"{message} ({rule})"
        if error.code() in TOKENLESS:
            message = f"{message} [{info.reason}]"
        return HallError(info.reason, error.code(), message)
