"""A third party's client of several processes, with a memory: every call goes into the history, with its times."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import grpc
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.message import Message

from guildhall.arcane_alley.v1 import command_pb2, rules_service_pb2, view_service_pb2
from guildhall.rpc.errors import error_info, status_info
from guildhall.rpc.identity import mint
from tests.chaos.history import WRITES, Call, Kind, Result

SCOPES = ("play", "seat", "spectate", "operate")
TOKEN_SECONDS = 48 * 3600.0
PATIENCE = (2.0, 4.0, 12.0)
"""Seconds that a call may take, one of these. The patient ones still wait at a zombie's door when it wakes up."""

_RULES = "/guildhall.arcane_alley.v1.RulesService/"
_VIEWS = "/guildhall.arcane_alley.v1.ViewService/"
# A process that is back is to be found at once.
_CHANNEL = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500)]
_NO_ANSWER = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}

Answer = Callable[[Any], dict[str, Any]]
"""What a response tells, as fields of a Call."""


class Doors:
    """The processes, as clients know them: by name, through one channel each."""

    def __init__(self, ports: dict[str, int]) -> None:
        self.channels = {
            name: grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=_CHANNEL) for name, port in ports.items()
        }
        self.open: set[str] = set()
        """Those that clients know of: also some that are down at the moment."""
        self.views: set[str] = set()
        """Those that serve views; none: all of them do."""

    def some(self, random: Random, but: str = "") -> str:
        """Any process, if possible another one than that."""
        others = sorted(self.open - {but})
        return random.choice(others or sorted(self.open))

    def some_views(self, random: Random, but: str = "") -> str:
        """Any process that serves views, if possible another one than that."""
        others = sorted((self.views or self.open) - {but})
        return random.choice(others or sorted(self.views or self.open))

    async def close(self) -> None:
        """Ends the connections."""
        for channel in self.channels.values():
            await channel.close()


class Client:
    """Everybody's calls. Nothing raises for a failing hall: the Call says what was told."""

    def __init__(self, doors: Doors, key: Ed25519PrivateKey) -> None:
        self.doors = doors
        self.calls: list[Call] = []
        self._key = key
        self.newest: dict[str, int] = {}
        """The newest version of each game that was told of: reads of views have to reflect it."""
        self._random = Random(key.private_bytes_raw())
        self._tokens: dict[str, tuple[tuple[str, str], ...]] = {}

    def metadata(self, subject: str) -> tuple[tuple[str, str], ...]:
        """The subject's token."""
        if subject not in self._tokens:
            token = mint(self._key, subject, SCOPES, TOKEN_SECONDS)
            self._tokens[subject] = (("authorization", f"Bearer {token}"),)
        return self._tokens[subject]

    def record(self, call: Call) -> Call:
        """Remembers a call."""
        self.calls.append(call)
        self.newest[call.game_id] = max(self.newest.get(call.game_id, 0), call.told)
        return call

    def patience(self) -> float:
        """Seconds that the next call may take."""
        return self._random.choice(PATIENCE)

    # --- writes

    async def create(self, process: str, game_id: str, subjects: Sequence[str], command_id: str, clock_ms: int) -> Call:
        """Creates the game, which has this id, for these subjects; the first asks."""
        request = rules_service_pb2.CreateGameRequest(command_id=command_id, subjects=subjects)
        if clock_ms:
            request.clock.decision_ms = clock_ms
        asked = {
            "kind": Kind.CREATE,
            "game_id": game_id,
            "subject": subjects[0],
            "process": process,
            "command_id": command_id,
            "payload": hashlib.sha256(request.SerializeToString(deterministic=True)).digest(),
        }
        return await self._ask(_RULES + "CreateGame", request, rules_service_pb2.CreateGameResponse, asked, _version)

    async def resign(self, process: str, game_id: str, subject: str, seat: int, command_id: str) -> Call:
        """Gives the subject's seat up."""
        request = rules_service_pb2.ResignSeatRequest(game_id=game_id, command_id=command_id)
        asked = {
            "kind": Kind.RESIGN,
            "game_id": game_id,
            "subject": subject,
            "process": process,
            "command_id": command_id,
            "payload": hashlib.sha256(b"resign:%d\0" % seat).digest(),
        }
        return await self._ask(_RULES + "ResignSeat", request, rules_service_pb2.ResignSeatResponse, asked, _version)

    async def submit(self, process: str, write: "Write") -> Call:
        """Sends a command."""
        request = rules_service_pb2.SubmitCommandRequest(
            game_id=write.game_id,
            command_id=write.command_id,
            decision_id=write.decision_id,
            command=write.command,
        )
        asked = write.asked(process)
        return await self._ask(
            _RULES + "SubmitCommand", request, rules_service_pb2.SubmitCommandResponse, asked, _version
        )

    async def play(self, process: str, subject: str) -> "PlayStream":
        """Opens a stream for commands."""
        stub = self.doors.channels[process].stream_stream(
            _RULES + "Play",
            request_serializer=rules_service_pb2.PlayRequest.SerializeToString,
            response_deserializer=rules_service_pb2.PlayResponse.FromString,
        )
        return PlayStream(self, process, stub(metadata=self.metadata(subject)))

    # --- reads

    async def legal(self, process: str, subject: str, game_id: str) -> tuple[Call, Any]:
        """The seat's open decisions; with the response, None if there is none."""
        return await self._read(
            Kind.LEGAL,
            process,
            subject,
            _RULES + "ListLegalCommands",
            rules_service_pb2.ListLegalCommandsRequest(game_id=game_id),
            rules_service_pb2.ListLegalCommandsResponse,
            lambda r: {"version": r.version, "decisions": tuple(d.decision.id for d in r.decisions)},
        )

    async def view(self, process: str, subject: str, game_id: str) -> tuple[Call, Any]:
        """The seat's view; with the response."""
        return await self._read(
            Kind.VIEW,
            process,
            subject,
            _VIEWS + "GetView",
            view_service_pb2.GetViewRequest(game_id=game_id, min_version=self.newest.get(game_id, 0)),
            view_service_pb2.GetViewResponse,
            lambda r: {"version": r.version, "decisions": tuple(d.id for d in r.view.game.waiting_for)},
        )

    async def events(self, process: str, subject: str, game_id: str) -> Call:
        """All versions with their hashes, as far as they fill a page."""

        def told(response: Any) -> dict[str, Any]:
            if response.next_page_token:  # only a whole history tells the newest version
                return {"result": Result.UNKNOWN, "reason": "MORE_PAGES"}
            hashes = tuple(batch.hash for batch in response.versions)
            return {"version": response.versions[-1].version if hashes else 0, "first": 1, "hashes": hashes}

        call, _ = await self._read(
            Kind.EVENTS,
            process,
            subject,
            _VIEWS + "ListEvents",
            view_service_pb2.ListEventsRequest(
                game_id=game_id, page_size=1000, min_version=self.newest.get(game_id, 0)
            ),
            view_service_pb2.ListEventsResponse,
            told,
        )
        return call

    async def watch(self, process: str, subject: str, game_id: str, after: int) -> tuple[int, bool]:
        """Follows the game's events after a version until the stream ends: the last one, and whether that was all."""
        stub = self.doors.channels[process].unary_stream(
            _VIEWS + "WatchView",
            request_serializer=view_service_pb2.WatchViewRequest.SerializeToString,
            response_deserializer=view_service_pb2.WatchViewResponse.FromString,
        )
        request = view_service_pb2.WatchViewRequest(
            game_id=game_id, mode=view_service_pb2.WATCH_MODE_EVENTS, after_version=after
        )
        asked: dict[str, Any] = {"kind": Kind.WATCH, "game_id": game_id, "subject": subject, "process": process}
        asked["start"] = time.monotonic_ns()
        try:
            async for message in stub(request, metadata=self.metadata(subject)):
                content = message.WhichOneof("content")
                if content != "heartbeat":
                    told: dict[str, Any] = {"result": Result.READ, "version": message.version, "after": after}
                    if content == "events":  # else the whole view, after an undo
                        told |= {"first": message.version, "hashes": (message.events.hash,)}
                    self.record(Call(**asked, end=time.monotonic_ns(), **told))
                    after = message.version
        except grpc.aio.AioRpcError as error:
            self.record(Call(**asked, end=time.monotonic_ns(), **failed(error)))
            return after, False
        return after, True

    # --- calls

    async def _read(
        self,
        kind: Kind,
        process: str,
        subject: str,
        path: str,
        request: Message,
        response: type[Message],
        told: Answer,
    ) -> tuple[Call, Any]:
        answers: list[Any] = []

        def kept(answer: Any) -> dict[str, Any]:
            answers.append(answer)
            return told(answer)

        game_id = request.game_id  # type: ignore[attr-defined]  # all of these requests name a game
        asked = {"kind": kind, "game_id": game_id, "subject": subject, "process": process}
        call = await self._ask(path, request, response, asked, kept)
        return call, answers[0] if call.result is Result.READ else None

    async def _ask(
        self, path: str, request: Message, response: type[Message], asked: dict[str, Any], told: Answer
    ) -> Call:
        stub = self.doors.channels[asked["process"]].unary_unary(
            path, request_serializer=type(request).SerializeToString, response_deserializer=response.FromString
        )
        start = time.monotonic_ns()
        result = Result.ACCEPTED if asked["kind"] in WRITES else Result.READ
        try:
            answer = await stub(request, metadata=self.metadata(asked["subject"]), timeout=self.patience())
        except grpc.aio.AioRpcError as error:
            return self.record(Call(**asked, start=start, end=time.monotonic_ns(), **failed(error)))
        end = time.monotonic_ns()
        return self.record(Call(**{**asked, "start": start, "end": end, "result": result, **told(answer)}))


class Write:
    """A command on its way: what every try of it sends alike."""

    def __init__(self, game_id: str, subject: str, command_id: str, decision_id: str, command: command_pb2.Command):
        self.game_id = game_id
        self.subject = subject
        self.command_id = command_id
        self.decision_id = decision_id
        self.command = command

    def asked(self, process: str) -> dict[str, Any]:
        """As fields of a Call."""
        encoded = self.command.SerializeToString(deterministic=True)
        return {
            "kind": Kind.COMMAND,
            "game_id": self.game_id,
            "subject": self.subject,
            "process": process,
            "command_id": self.command_id,
            "decision_id": self.decision_id,
            "payload": hashlib.sha256(self.decision_id.encode() + b"\0" + encoded).digest(),
        }


class PlayStream:
    """An open Play stream of one subject and game."""

    def __init__(self, client: Client, process: str, call: Any) -> None:
        self.process = process
        self.ended = False
        self._client = client
        self._call = call

    async def submit(self, write: Write) -> Call:
        """Sends a command up and waits for its result. Without one, the stream has ended."""
        request = rules_service_pb2.PlayRequest(
            game_id=write.game_id,
            command_id=write.command_id,
            decision_id=write.decision_id,
            command=write.command,
        )
        asked = write.asked(self.process)
        start = time.monotonic_ns()
        try:
            async with asyncio.timeout(self._client.patience()):
                await self._call.write(request)
                answer = await self._call.read()
            told = _play_told(answer) if answer is not grpc.aio.EOF else await self._why()
        except TimeoutError:
            told = {"result": Result.UNKNOWN, "reason": "NO_ANSWER"}
        except grpc.aio.AioRpcError as error:
            told = failed(error)
        except asyncio.InvalidStateError:  # it ended before this was sent
            told = {"result": Result.UNKNOWN, "reason": "STREAM_ENDED"}
        if told["result"] is Result.UNKNOWN:
            self.end()
        return self._client.record(Call(**asked, start=start, end=time.monotonic_ns(), **told))

    def end(self) -> None:
        """No more commands."""
        self.ended = True
        self._call.cancel()

    async def _why(self) -> dict[str, Any]:
        return {"result": Result.UNKNOWN, "reason": f"STREAM_{(await self._call.code()).name}"}


def _version(response: Any) -> dict[str, Any]:
    return {"version": response.version}


def _play_told(answer: rules_service_pb2.PlayResponse) -> dict[str, Any]:
    if answer.WhichOneof("result") == "version":
        return {"result": Result.ACCEPTED, "version": answer.version}
    info = status_info(answer.error)
    assert info is not None, answer
    return {"result": Result.REFUSED, "reason": info.reason, "version": int(info.metadata.get("version", 0))}


def failed(error: grpc.aio.AioRpcError) -> dict[str, Any]:
    """What a failed call tells, as fields of a Call."""
    info = error_info(error)
    if info is None:  # not of the hall: a connection that ended
        return {"result": Result.UNKNOWN, "reason": error.code().name}
    if error.code() in _NO_ANSWER:
        return {"result": Result.UNKNOWN, "reason": info.reason}
    return {"result": Result.REFUSED, "reason": info.reason, "version": int(info.metadata.get("version", 0))}
