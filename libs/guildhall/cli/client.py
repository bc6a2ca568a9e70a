"""A client of a hall for one subject: typed requests in, typed answers out, errors as sentences."""

import asyncio
import importlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc

from guildhall.kernel.families import received
from guildhall.rpc.errors import error_info

DEFAULT_SERVER = "127.0.0.1:50051"
CONNECT_SECONDS = 3.0
CALL_SECONDS = 20.0
PATIENCE_SECONDS = 3.0
"""For how long what nobody answers is tried again; the same command_id makes that safe."""
FIRST_PAUSE = 0.1
LAST_PAUSE = 2.0
WORTH_TELLING = 1.0
"""Seconds after which a hall that does not answer is spoken of: owners that change take less."""
OF_TOKENS = {"NO_TOKEN", "INVALID_TOKEN", "TOKEN_EXPIRED", "MISSING_SCOPE"}
"""Reasons that go with their sentence: whoever made the token looks them up."""

_OPTIONS = [
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.keepalive_time_ms", 30_000),
    # This client retries by itself, so that streams and calls wait alike.
    ("grpc.enable_retries", 0),
    # A hall that is back is to be found soon.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.service_config", json.dumps({})),
]


_SERVED_APART = "Where each service has processes of its own, a gateway before them takes all requests: is it there?"


_OF_GRPC_ITSELF = {grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED}


class HallError(Exception):
    """A request that the hall did not answer: its stable reason, the gRPC code, and a sentence.

    `version`: of the game, as it was refused; 0 where that was not told. `subject`: of whom it is true; "" likewise.
    """

    def __init__(self, reason: str, code: grpc.StatusCode, message: str, version: int = 0, subject: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.code = code
        self.version = version
        self.subject = subject


class NoHall(HallError):
    """Nobody answers at that address."""

    def __init__(self, server: str) -> None:
        hint = "Start one in another terminal: make run" if server == DEFAULT_SERVER else "Is that where it listens?"
        super().__init__("NO_HALL", grpc.StatusCode.UNAVAILABLE, f"No hall answers at {server}. {hint}")


class Tries:
    """One request that is tried again and again, from its first failure on for so many seconds."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._began: float | None = None
        self._pause = FIRST_PAUSE

    @property
    def seconds(self) -> float:
        """Since the first failure."""
        if self._began is None:
            self._began = time.monotonic()
        return time.monotonic() - self._began

    @property
    def left(self) -> float:
        """Seconds for which it is tried on."""
        return max(0.0, self._patience - self.seconds)

    @property
    def over(self) -> bool:
        """Whether the next try would come too late."""
        return self.seconds + self._pause > self._patience

    async def pause(self) -> None:
        """Wait, each time twice as long as before."""
        await asyncio.sleep(self._pause)
        self._pause = min(2 * self._pause, LAST_PAUSE)


def _unanswered(error: grpc.aio.AioRpcError) -> bool:
    """Whether the hall did not answer, or says itself that it does not know. CANCELLED and DEADLINE_EXCEEDED without a
    word of the hall's are gRPC's own: the connection went away under the call, or nothing comes through it.
    """
    code = error.code()
    return code is grpc.StatusCode.UNAVAILABLE or (code in _OF_GRPC_ITSELF and error_info(error) is None)


class Client:
    """One subject's connection to the services of one game. Close it when done."""

    def __init__(
        self,
        game: str,
        server: str,
        token: str,
        patience: float = PATIENCE_SECONDS,
        tell: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """`game` as in its package (`arcane_alley`); `server` is host:port; `patience` is for a hall that does not
        answer, in seconds, and `tell` is told when it is gone and when it is back.
        """
        self.game = game
        self._patience = patience
        self._tell = tell
        self._gone = False
        self._versions: dict[str, int] = {}
        """The newest version of each game that a command has told of. Views come after the commands: they are asked
        for it.
        """
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

        UNAVAILABLE (outcome unknown), and what gRPC itself ended before an answer came, is tried again with the same
        bytes, so with the same command_id.
        """
        try:
            request = getattr(self.wire, f"encode_{method}Request")(getattr(self.wire, f"{method}Request")(**fields))
        except UnicodeEncodeError as error:
            raise HallError("NO_TEXT", grpc.StatusCode.INVALID_ARGUMENT, f"{error.object!r} is no text.") from None
        stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(self._path(service, method))
        tries = Tries(self._patience)
        while True:
            try:
                answer = await stub(request, metadata=self._metadata, timeout=CALL_SECONDS)
            except grpc.aio.AioRpcError as error:
                await self._wait(tries, error)
            else:
                self._answers()
                return getattr(self.wire, f"decode_{method}Response")(answer)

    async def create(self, **fields: Any) -> str:
        """Create a game with the fields of CreateGameRequest; its id. Raises HallError."""
        answer = await self.call("RulesService", "CreateGame", command_id=secrets.token_hex(16), **fields)
        self._learn(answer.game_id, answer.version)
        return str(answer.game_id)

    async def view(self, game_id: str, min_version: int = 0) -> Any:
        """The newest view, of that version at least, and with all of one's own commands. Raises HallError."""
        wanted = max(min_version, self._known(game_id))
        answer = await self.call("ViewService", "GetView", game_id=game_id, min_version=wanted)
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
                self._learn(game_id, error.version)
                return 0
            raise
        self._learn(game_id, answer.version)
        return int(answer.version)

    async def resign(self, game_id: str) -> None:
        """Give the own seat up. Raises HallError."""
        answer = await self.call("RulesService", "ResignSeat", game_id=game_id, command_id=secrets.token_hex(16))
        self._learn(game_id, answer.version)

    def _learn(self, game_id: str, version: int) -> None:
        self._versions[game_id] = max(version, self._known(game_id))

    def _known(self, game_id: str) -> int:
        return self._versions.get(game_id, 0)

    async def answers(self, service: str, method: str, **fields: Any) -> AsyncIterator[Any]:
        """The responses of a method that streams them. Raises HallError."""
        request = getattr(self.wire, f"encode_{method}Request")(getattr(self.wire, f"{method}Request")(**fields))
        decode = getattr(self.wire, f"decode_{method}Response")
        stub: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = self._channel.unary_stream(self._path(service, method))
        try:
            async for answer in stub(request, metadata=self._metadata):
                yield decode(answer)
        except grpc.aio.AioRpcError as error:
            raise self._failed(error) from None

    def options(self, legal: Any) -> list[Any]:
        """What a LegalDecision offers: its commands, then its families (kernel.families.Family)."""
        return [*legal.commands, *(received(family, self.wire.COMMAND_TYPES) for family in legal.families)]

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
        stub: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = self._channel.unary_stream(
            self._path("ViewService", "WatchView")
        )
        tries = Tries(self._patience)
        while True:
            request = wire.WatchViewRequest(
                game_id=game_id, mode=int(mode), after_version=after, min_version=self._known(game_id)
            )
            try:
                async for answer in stub(wire.encode_WatchViewRequest(request), metadata=self._metadata):
                    message = wire.decode_WatchViewResponse(answer)
                    tries = Tries(self._patience)
                    self._answers()
                    after = message.version
                    yield message
                return
            except grpc.aio.AioRpcError as error:
                await self._wait(tries, error)

    # --- patience

    async def _wait(self, tries: "Tries", error: grpc.aio.AioRpcError) -> None:
        """Wait before a request is tried again. Raises HallError where that is no use, or patience is at an end."""
        if not _unanswered(error) or tries.over:
            raise self._failed(error) from None
        if tries.seconds >= WORTH_TELLING and not self._gone:
            self._gone = True
            asked = f"It is asked again for {tries.left:.0f} seconds; nothing is lost."
            self._tell(f"The hall at {self.server} does not answer. {asked}")
        await tries.pause()

    def _answers(self) -> None:
        if self._gone:
            self._gone = False
            self._tell(f"The hall at {self.server} is back.")

    # --- words

    def _path(self, service: str, method: str) -> str:
        return f"/guildhall.{self.game}.v1.{service}/{method}"

    def _failed(self, error: grpc.aio.AioRpcError) -> HallError:
        info = error_info(error)
        if info is None:
            if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                return NoHall(self.server)
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                return HallError(error.code().name, error.code(), f"{self.server} does not serve this. {_SERVED_APART}")
            return HallError(error.code().name, error.code(), error.details() or error.code().name)
        message = error.details() or info.reason
        rule = info.metadata.get("rule")
        if rule:
            message = f"{message} ({rule})"
        if info.reason in OF_TOKENS:
            message = f"{message} [{info.reason}]"
        told = info.metadata
        return HallError(info.reason, error.code(), message, int(told.get("version", 0)), told.get("subject", ""))
