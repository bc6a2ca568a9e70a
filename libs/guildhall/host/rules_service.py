"""RulesService of any game: creating games, commands, what is legal, resigning, packs."""

import asyncio
import hashlib
import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from typing import Any

from msgspec.structs import replace

from guildhall.host import clock
from guildhall.host.failures import not_found, outcome_unknown, refused, shutting_down
from guildhall.host.game_host import GameHost, Visible, acknowledged
from guildhall.host.hosted_game import HostedGame
from guildhall.host.messages import Messages, parse, required
from guildhall.host.play_stream import PlayStream
from guildhall.kernel import ids
from guildhall.kernel.decide import (
    Creation,
    Decided,
    check_command_id,
    create,
    created_event,
    decide,
    explain,
    resign,
    resign_payload,
)
from guildhall.kernel.game import Game
from guildhall.kernel.luck import SEED_BYTES
from guildhall.kernel.refusal import Refusal
from guildhall.rpc.conversation import ENDS_STREAM
from guildhall.rpc.deadlines import LONGEST_WAIT, patience
from guildhall.rpc.errors import Failure, status
from guildhall.rpc.forwarding import Elsewhere
from guildhall.rpc.identity import Caller
from guildhall.rpc.limits import Meter
from guildhall.rpc.server import Context
from guildhall.telemetry import metrics

_DECISION_ID = re.compile(r"[1-9][0-9]{0,18}\.(0|[1-9][0-9]{0,2})")


class RulesService:
    """One generic servicer; methods take and give bytes, as `rpc.server.handlers` calls them."""

    def __init__(self, host: GameHost, messages: Messages, meter: Meter) -> None:
        self._host = host
        self._messages = messages
        self._meter = meter
        self._wire = messages.wire
        self._rules = host.rules
        self._playing: set[PlayStream] = set()
        self._closing = False
        self._accepted = metrics.COMMANDS.labels(self._rules.game, "accepted")

    def close(self) -> None:
        """Take no more requests, and end the open streams."""
        self._closing = True
        for stream in self._playing:
            stream.end(shutting_down())

    # --- creating

    async def create_game(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(self._wire.decode_CreateGameRequest, request)
        _check_command_id(asked.command_id)
        asked_for = replace(asked, validate_only=False)
        payload = hashlib.sha256(self._wire.encode_CreateGameRequest(asked_for)).digest()
        game_id = ids.game_id(caller.subject, asked.command_id)

        def attempt(game: Game | None) -> tuple[Game, Decided] | int:
            if game is not None:
                known = game.accepted_version(caller.subject, asked.command_id, payload)
                if known is not None:
                    return known
                raise not_this_creation()
            created = self._created(asked, caller, game_id)
            return create(
                self._rules,
                created,
                subject=caller.subject,
                command_id=asked.command_id,
                payload_hash=payload,
                at_ms=clock.now_ms(),
            )

        partition = self._host.partition(game_id)
        if asked.validate_only:
            try:
                self._created(asked, caller, game_id)
            except Refusal as refusal:
                raise refused(refusal) from None
            response: bytes = self._wire.encode_CreateGameResponse(self._wire.CreateGameResponse())
            return response
        hosted = await partition.find(game_id) or partition.slot(game_id)
        try:
            version = await hosted.act(attempt)
        finally:
            partition.drop_empty(hosted)
        response = self._wire.encode_CreateGameResponse(self._wire.CreateGameResponse(game_id, version))
        return response

    def _created(self, asked: Any, caller: Caller, game_id: str) -> Any:
        """The first event. Raises Refusal, Failure."""
        caller.require("play")
        if asked.seed:
            caller.require("operate")
        if any(subject != caller.subject for subject in asked.subjects):
            caller.require("seat")
        creation = Creation(
            subjects=asked.subjects,
            options=dict(asked.options),
            rulings=dict(asked.rulings),
            decision_ms=None if asked.clock is None else asked.clock.decision_ms,
            spectators=not asked.no_spectators,
            seed=asked.seed or None,
        )
        return created_event(self._rules, creation, game_id, asked.seed or secrets.token_bytes(SEED_BYTES))

    # --- commands

    async def submit_command(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(self._wire.decode_SubmitCommandRequest, request)
        version = await self._submit(asked, caller, validate_only=asked.validate_only)
        response: bytes = self._wire.encode_SubmitCommandResponse(self._wire.SubmitCommandResponse(version))
        return response

    async def play(
        self, requests: AsyncIterator[bytes], caller: Caller, context: Context
    ) -> AsyncGenerator[bytes, None]:
        """Commands of one game in their order. Refusals are answers; whatever means that this hall cannot go on with
        the game ends the stream. Raises Elsewhere when the stream names its game.
        """
        self._check_open()
        stream = PlayStream(caller)
        self._playing.add(stream)
        try:
            async with aclosing(stream.messages(requests)) as messages, AsyncExitStack() as bound:
                async for request in messages:
                    command_id = ""
                    try:
                        self._meter.take(caller.subject)
                        self._meter.check_size(request)
                        asked = parse(self._wire.decode_PlayRequest, request)
                        command_id = asked.command_id
                        if not stream.game_id:
                            game_id = stream.game_of(asked.game_id)
                            bound.enter_context(self._host.partition(game_id).streaming(stream))
                        asked = replace(asked, game_id=stream.game_of(asked.game_id))
                        version = await self._played(asked, caller)
                    except Failure as failure:
                        if failure.reason in ENDS_STREAM:
                            raise
                        yield self._messages.play_refused(command_id, status(failure))
                    else:
                        yield self._messages.play_accepted(command_id, version)
        finally:
            self._playing.discard(stream)

    async def _played(self, asked: Any, caller: Caller) -> int:
        try:
            # A unary request is bounded by the server.
            async with asyncio.timeout(LONGEST_WAIT):
                return await self._submit(asked, caller, validate_only=False)
        except Elsewhere as elsewhere:
            # In the middle of a stream nobody else can go on with it.
            raise elsewhere.plain() from None
        except TimeoutError:
            raise outcome_unknown() from None

    async def _submit(self, asked: Any, caller: Caller, *, validate_only: bool) -> int:
        try:
            version = await self._judged(asked, caller, validate_only)
        except Elsewhere:  # counted where it is judged
            raise
        except Failure as failure:
            metrics.COMMANDS.labels(self._rules.game, failure.reason).inc()
            raise
        self._accepted.inc()
        return version

    async def _judged(self, asked: Any, caller: Caller, validate_only: bool) -> int:
        """Checks in the order of design section 4: visible, known, seat, open, legal."""
        _check_command_id(asked.command_id)
        decision_id: str = asked.decision_id
        named = _DECISION_ID.fullmatch(decision_id)
        if named is None:
            raise Failure("INVALID_DECISION_ID", "A decision id looks like 17.2.", field="decision_id")
        if asked.command is None:
            raise required("command", "The command is missing.")
        visible = await self._host.visible(asked.game_id, caller)
        payload = ids.payload_hash(decision_id, self._wire.encode_command(asked.command))

        def attempt(game: Game | None) -> Decided | int:
            if game is None:
                raise not_found()
            known = game.accepted_version(caller.subject, asked.command_id, payload)
            if known is not None:
                return known
            seat = _own_seat(visible)
            if int(named[1]) != seat:
                raise Failure("NOT_YOUR_SEAT", "This decision is another seat's.", {"decision": decision_id})
            try:
                if validate_only:
                    return _would_accept(game, seat, decision_id, asked.command)
                return decide(
                    game,
                    seat,
                    decision_id,
                    asked.command,
                    subject=caller.subject,
                    command_id=asked.command_id,
                    at_ms=max(clock.now_ms(), game.at_ms),
                )
            except Refusal as refusal:
                raise refused(refusal, decision=decision_id, version=str(game.version)) from None

        if validate_only:
            # A yes adds nothing to the log, by which an owner would find out that it is none.
            await visible.hosted.confirm()
        return await visible.hosted.act(attempt)

    async def resign_seat(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(self._wire.decode_ResignSeatRequest, request)
        _check_command_id(asked.command_id)
        visible = await self._host.visible(asked.game_id, caller)

        def attempt(game: Game | None) -> Decided | int:
            if game is None:
                raise not_found()
            seat = _own_seat(visible)
            known = game.accepted_version(caller.subject, asked.command_id, resign_payload(seat))
            if known is not None:
                return known
            at_ms = max(clock.now_ms(), game.at_ms)
            return resign(game, seat, subject=caller.subject, command_id=asked.command_id, at_ms=at_ms)

        version = await visible.hosted.act(attempt)
        response: bytes = self._wire.encode_ResignSeatResponse(self._wire.ResignSeatResponse(version))
        return response

    # --- reading

    async def list_legal_commands(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._check_open()
        asked = parse(self._wire.decode_ListLegalCommandsRequest, request)
        visible = await self._host.visible(asked.game_id, caller)
        game = await newest(visible.hosted, asked.min_version, patience(context))
        answer = self._wire.ListLegalCommandsResponse(game.version, self._messages.legal(game, visible.seat))
        response: bytes = self._wire.encode_ListLegalCommandsResponse(answer)
        return response

    async def get_pack(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = parse(self._wire.decode_GetPackRequest, request)
        pack_hash = asked.pack_hash or self._rules.pack_hash
        if pack_hash not in self._rules.packs:
            raise Failure("PACK_NOT_FOUND", "This hall has no pack with that hash.", field="pack_hash")
        answer = self._wire.GetPackResponse(pack_hash, self._rules.packs.data(pack_hash).decode())
        response: bytes = self._wire.encode_GetPackResponse(answer)
        return response

    # --- shared

    def _check_open(self) -> None:
        if self._closing:
            raise shutting_down()


async def newest(hosted: HostedGame, min_version: int, seconds: float) -> Game:
    """The newest state, of `min_version` at least if that comes within so many seconds; valid until the caller awaits.

    It reflects everything that was acknowledged before the call. Raises Failure.
    """
    await hosted.confirm()
    game = acknowledged(hosted, await hosted.read())
    if game.version < min_version:
        if game.ended is not None:
            raise Failure("VERSION_OUT_OF_RANGE", f"The game ended at version {game.version}.")
        await hosted.reach(min_version, seconds)
        game = acknowledged(hosted, await hosted.read())
    return game


def not_this_creation() -> Failure:
    """The derived id is another creation's; only a collision of SHA-256 gets here."""
    return Failure("COMMAND_ID_REUSED", "This command_id was accepted before with another request.")


def _check_command_id(command_id: str) -> None:
    try:
        check_command_id("", command_id)
    except Refusal as refusal:
        raise refused(refusal) from None


def _own_seat(visible: Visible) -> int:
    if visible.seat is None:
        raise Failure("NO_SEAT", "Spectators only watch.")
    return visible.seat


def _would_accept(game: Game, seat: int, decision_id: str, command: Any) -> int:
    """The current version. Raises Refusal where the command would be refused."""
    game.decision(decision_id)
    if not game.legal(seat).holds(command):
        raise explain(game, seat, command)
    return game.version
