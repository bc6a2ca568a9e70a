"""MatchmakingService: every request becomes a command or a read of the game's pool."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from functools import partial
from typing import Any, TypeVar

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from msgspec.structs import astuple, replace
from redis.asyncio import Redis

from guildhall.host.failures import outcome_unknown, refused, shutting_down
from guildhall.host.messages import parse, required
from guildhall.kernel import ids
from guildhall.kernel.decide import check_command_id
from guildhall.kernel.game import MAX_COMMAND_ID
from guildhall.kernel.refusal import Refusal
from guildhall.log.topics import MATCHMAKING
from guildhall.matchmaking.v1 import matchmaking_service_pb2
from guildhall.matchmaking.v1 import structs as wire
from guildhall.rpc import pages
from guildhall.rpc.conversation import Conversation
from guildhall.rpc.deadlines import LONGEST_WAIT, patience
from guildhall.rpc.errors import Failure, kept
from guildhall.rpc.forwarding import Elsewhere
from guildhall.rpc.identity import Caller
from guildhall.rpc.limits import Limits, Meter
from guildhall.rpc.server import Context
from guildhall.telemetry import metrics
from services.matchmaking import states
from services.matchmaking.accepted import payload_hash
from services.matchmaking.guesses import Guesses
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.house import HouseRules
from services.matchmaking.judging import Asked
from services.matchmaking.pool import Pool
from services.matchmaking.pool_host import PoolHost
from services.matchmaking.rating_reads import RatingReads
from services.matchmaking.sessions import Answer, Session
from services.matchmaking.watching import Told, Watch

MATCHMAKING_SERVICE: ServiceDescriptor = matchmaking_service_pb2.DESCRIPTOR.services_by_name["MatchmakingService"]

_SESSION = f"{MATCHMAKING_SERVICE.full_name}/Session"
_SIZES = Meter(Limits())
_ACCEPTED = metrics.COMMANDS.labels(MATCHMAKING, "accepted")

DEFAULT_PAGE = 100
MAX_PAGE = 1_000

T = TypeVar("T")


class MatchmakingService:
    """Methods take and give bytes, as `rpc.server.handlers` calls them."""

    def __init__(self, host: PoolHost, page_key: bytes, open_redis: Callable[[], Redis] | None = None) -> None:
        """`open_redis` is called when ratings are asked for first; without one they cannot be read here."""
        self._host = host
        self._ratings = RatingReads(lambda: host.store.events, open_redis)
        self._page_key = page_key
        self._guesses = Guesses()
        self._writes: dict[str, Meter] = {}
        self._streams: set[Watch | Conversation] = set()
        self._closing = False

    def close(self) -> None:
        """Take no more requests, and end the open streams."""
        self._closing = True
        for stream in self._streams:
            stream.end(shutting_down())

    async def stop(self) -> None:
        """End the connections to Redis."""
        await self._ratings.close()

    # --- the queue

    async def create_ticket(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = await self._write("CreateTicket", request, caller)
        return wire.encode_CreateTicketResponse(wire.CreateTicketResponse(_created(asked, caller)))

    async def cancel_ticket(self, request: bytes, caller: Caller, context: Context) -> bytes:
        await self._write("CancelTicket", request, caller)
        return b""

    async def watch_ticket(self, request: bytes, caller: Caller, context: Context) -> AsyncGenerator[bytes, None]:
        asked = parse(wire.decode_WatchTicketRequest, request)
        hosted = self._pool(asked.game, caller)

        def tell(pool: Pool) -> Told:
            answer = states.ticket_of(pool, caller.subject, asked.ticket_id)
            if answer is None:
                return _NO_TICKET
            return Told(wire.encode_WatchTicketResponse(answer), last=answer.ended is not None)

        async for message in self._watch(Watch(hosted, caller, tell)):
            if message is _NO_TICKET.message:
                raise Failure("TICKET_NOT_FOUND", "You have no such ticket (any more).")
            yield message

    # --- parties

    async def create_party(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = await self._write("CreateParty", request, caller)
        return wire.encode_CreatePartyResponse(wire.CreatePartyResponse(_created(asked, caller)))

    async def join_party(self, request: bytes, caller: Caller, context: Context) -> bytes:
        await self._write("JoinParty", request, caller)
        return b""

    async def leave_party(self, request: bytes, caller: Caller, context: Context) -> bytes:
        await self._write("LeaveParty", request, caller)
        return b""

    async def kick_from_party(self, request: bytes, caller: Caller, context: Context) -> bytes:
        await self._write("KickFromParty", request, caller)
        return b""

    # --- tables

    async def create_table(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = await self._write("CreateTable", request, caller)
        return wire.encode_CreateTableResponse(wire.CreateTableResponse(_created(asked, caller)))

    async def sit_down(self, request: bytes, caller: Caller, context: Context) -> bytes:
        await self._write("SitDown", request, caller)
        return b""

    async def leave_table(self, request: bytes, caller: Caller, context: Context) -> bytes:
        await self._write("LeaveTable", request, caller)
        return b""

    async def kick_from_table(self, request: bytes, caller: Caller, context: Context) -> bytes:
        await self._write("KickFromTable", request, caller)
        return b""

    async def add_bot(self, request: bytes, caller: Caller, context: Context) -> bytes:
        await self._write("AddBot", request, caller)
        return b""

    async def remove_bot(self, request: bytes, caller: Caller, context: Context) -> bytes:
        await self._write("RemoveBot", request, caller)
        return b""

    async def start_table(self, request: bytes, caller: Caller, context: Context) -> bytes:
        await self._write("StartTable", request, caller)
        return b""

    async def list_tables(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = parse(wire.decode_ListTablesRequest, request)
        hosted = self._pool(asked.game, caller)
        size = pages.page_size(asked.page_size, DEFAULT_PAGE, MAX_PAGE)
        listing = repr(("ListTables", asked.game, caller.subject))
        after = _place(pages.opened(self._page_key, listing, asked.page_token).decode() if asked.page_token else "")
        page = await hosted.read(lambda pool: states.public_tables(pool, after, size + 1))
        token = pages.sealed(self._page_key, listing, _key(page[size - 1]).encode()) if len(page) > size else ""
        return wire.encode_ListTablesResponse(wire.ListTablesResponse(tuple(page[:size]), token))

    # --- offers

    async def confirm_offer(self, request: bytes, caller: Caller, context: Context) -> bytes:
        await self._write("ConfirmOffer", request, caller)
        return b""

    async def decline_offer(self, request: bytes, caller: Caller, context: Context) -> bytes:
        await self._write("DeclineOffer", request, caller)
        return b""

    # --- what the caller has

    async def get_state(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = parse(wire.decode_GetStateRequest, request)
        state = await self._pool(asked.game, caller).read(lambda pool: states.state_of(pool, caller.subject))
        return wire.encode_GetStateResponse(wire.GetStateResponse(state))

    async def watch_state(self, request: bytes, caller: Caller, context: Context) -> AsyncGenerator[bytes, None]:
        asked = parse(wire.decode_WatchStateRequest, request)
        hosted = self._pool(asked.game, caller)

        def tell(pool: Pool) -> Told:
            state = states.state_of(pool, caller.subject)
            return Told(wire.encode_WatchStateResponse(wire.WatchStateResponse(state)))

        async for message in self._watch(Watch(hosted, caller, tell)):
            yield message

    # --- ratings

    async def get_rating(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = parse(wire.decode_GetRatingRequest, request)
        self._check(asked.game, caller)
        subject = asked.subject or caller.subject
        return wire.encode_GetRatingResponse(await self._ratings.rating(asked.game, subject, patience(context)))

    async def list_rating_history(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = parse(wire.decode_ListRatingHistoryRequest, request)
        self._check(asked.game, caller)
        size = pages.page_size(asked.page_size, DEFAULT_PAGE, MAX_PAGE)
        subject = asked.subject or caller.subject
        listing = repr(("ListRatingHistory", asked.game, subject, caller.subject))
        newest = int(pages.opened(self._page_key, listing, asked.page_token)) if asked.page_token else None
        page, left = await self._ratings.history(asked.game, subject, newest, size, patience(context))
        token = pages.sealed(self._page_key, listing, b"%d" % left) if left else ""
        return wire.encode_ListRatingHistoryResponse(wire.ListRatingHistoryResponse(tuple(page), token))

    async def list_leaderboard(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = parse(wire.decode_ListLeaderboardRequest, request)
        self._check(asked.game, caller)
        size = pages.page_size(asked.page_size, DEFAULT_PAGE, MAX_PAGE)
        listing = repr(("ListLeaderboard", asked.game, caller.subject))
        first = int(pages.opened(self._page_key, listing, asked.page_token)) if asked.page_token else 0
        page = await self._ratings.leaderboard(asked.game, first, size + 1, patience(context))
        token = pages.sealed(self._page_key, listing, b"%d" % (first + size)) if len(page) > size else ""
        answer = wire.ListLeaderboardResponse(tuple(page[:size]), first + 1, token)
        return wire.encode_ListLeaderboardResponse(answer)

    async def session(
        self, requests: AsyncIterator[bytes], caller: Caller, context: Context
    ) -> AsyncGenerator[bytes, None]:
        """Refusals are answers; what cannot be read ends the stream, and so does whatever means that this hall cannot
        go on with the pool. Raises Elsewhere when the first message names the game.
        """
        if self._closing:
            raise shutting_down()
        conversation = Conversation(caller)
        self._streams.add(conversation)
        try:
            async with aclosing(conversation.messages(requests)) as messages:
                first = await anext(messages, None)
                if first is None:
                    return
                _SIZES.check_size(first)
                asked = parse(wire.decode_SessionRequest, first)
                game = asked.game
                session = Session(self._pool(game, caller), caller, conversation)
                writes = messages if asked.write is None else _with_first(first, messages)
                del first, asked  # they would stay for as long as the stream
                carried_out = partial(self._carried_out, game, caller)
                async with aclosing(writes), aclosing(session.messages(writes, carried_out)) as responses:
                    async for response in responses:
                        yield response
        finally:
            self._streams.discard(conversation)

    async def _carried_out(self, game: str, caller: Caller, message: bytes) -> Answer:
        """A write of that game's session. Raises Failure MESSAGE_TOO_LARGE, MALFORMED_MESSAGE."""
        _SIZES.check_size(message)
        asked = parse(wire.decode_SessionRequest, message)
        write = next((write for write in astuple(asked.write) if write is not None), None) if asked.write else None
        if write is None:
            raise required("write", "The write is missing.")
        method = type(write).__name__.removesuffix("Request")
        command_id = write.command_id[:MAX_COMMAND_ID]
        try:
            hosted = self._pool(game, caller)
            self._meter(hosted.house).take(caller.subject)
            if not {asked.game, write.game} <= {"", game}:
                raise Failure("GAME_ID_CHANGED", "A session is one game's.", field="game")
            write = write if write.game else replace(write, game=game)
            await self._accept(method, write, hosted, caller)
        except Failure as failure:
            metrics.REQUESTS.labels(_SESSION, failure.reason).inc()
            # In the middle of a stream nobody else can go on with it.
            return Answer(command_id, refused=kept(failure.plain() if isinstance(failure, Elsewhere) else failure))
        return Answer(command_id, _created(write, caller) if method.startswith("Create") else "")

    # --- shared

    def _pool(self, game: str, caller: Caller) -> HostedPool:
        """The pool, served here. Raises Failure MISSING_SCOPE, INVALID_GAME, SHUTTING_DOWN; Elsewhere."""
        self._let_in(game, caller)
        return self._host.pool(game)

    def _check(self, game: str, caller: Caller) -> None:
        """The same of a pool that may be served anywhere. Raises Failure MISSING_SCOPE, INVALID_GAME, SHUTTING_DOWN."""
        self._let_in(game, caller)
        self._host.check(game)

    def _let_in(self, game: str, caller: Caller) -> None:
        if self._closing:
            raise shutting_down()
        caller.require("play")
        if not game:
            raise required("game", "The game is missing.")

    async def _write(self, method: str, request: bytes, caller: Caller) -> Any:
        """Have the request accepted; as it was parsed. Raises Failure."""
        asked: Any = parse(getattr(wire, f"decode_{method}Request"), request)
        hosted = self._pool(asked.game, caller)
        self._meter(hosted.house).take(caller.subject)
        await self._accept(method, asked, hosted, caller)
        return asked

    async def _accept(self, method: str, asked: Any, hosted: HostedPool, caller: Caller) -> None:
        """Have a write accepted. Raises Failure."""
        try:
            check_command_id("", asked.command_id)
        except Refusal as refusal:
            raise refused(refusal) from None
        once = replace(asked, validate_only=False) if asked.validate_only else asked
        canonical = getattr(wire, f"encode_{method}Request")(once)
        command = Asked(caller.subject, asked.command_id, payload_hash(method, canonical), asked, asked.validate_only)
        guess = bool(getattr(asked, "code", ""))
        if guess:
            self._guesses.begin(caller.subject)
        right = False
        too_long = asyncio.get_running_loop().call_later(LONGEST_WAIT, lambda: command.refused(outcome_unknown()))
        try:
            await hosted.act(command)
        except Failure as failure:
            metrics.COMMANDS.labels(MATCHMAKING, failure.reason).inc()
            if failure.reason == "CODE_NOT_FOUND":
                metrics.WRONG_CODES.labels(asked.game).inc()
            # What says nothing of the code may have been a wrong one.
            right = failure.reason != "CODE_NOT_FOUND" and failure.code is not grpc.StatusCode.UNAVAILABLE
            raise
        else:
            right = True
            _ACCEPTED.inc()
        finally:
            too_long.cancel()
            if guess and right:
                self._guesses.was_right(caller.subject)

    def _meter(self, house: HouseRules) -> Meter:
        """Of the writes to that game's pool."""
        meter = self._writes.get(house.rules.game)
        if meter is None:
            limits = Limits(requests_per_second=house.writes_per_second, burst=house.write_burst)
            meter = self._writes[house.rules.game] = Meter(limits)
        return meter

    async def _watch(self, watch: Watch) -> AsyncGenerator[bytes, None]:
        self._streams.add(watch)
        try:
            async with aclosing(watch.messages()) as messages:
                async for message in messages:
                    yield message
        finally:
            self._streams.discard(watch)


async def _with_first(first: bytes, messages: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    yield first
    del first
    async for message in messages:
        yield message


_NO_TICKET = Told(b"no such ticket", last=True)


def _key(table: wire.Table) -> str:
    """The table's place in the list of tables."""
    return f"{table.created_ms}.{table.table_id}"


def _place(key: str) -> tuple[int, str] | None:
    created_ms, _, table_id = key.partition(".")
    return (int(created_ms), table_id) if key else None


def _created(asked: Any, caller: Caller) -> str:
    """The id of what the request creates; "" when it was only validated."""
    return "" if asked.validate_only else ids.game_id(caller.subject, asked.command_id)
