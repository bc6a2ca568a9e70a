"""Sessions: one's state and one's writes on one stream."""

import asyncio
import gc
import time
import weakref
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from guildhall.log.memory import MemoryBroker
from guildhall.matchmaking.v1 import matchmaking_service_pb2
from guildhall.matchmaking.v1 import structs as wire
from guildhall.matchmaking.v1.structs import (
    ConfirmOfferRequest,
    CreatePartyRequest,
    CreateTicketRequest,
    JoinPartyRequest,
    SitDownRequest,
)
from guildhall.rpc.conversation import Conversation
from guildhall.rpc.errors import Failure, error_info
from guildhall.rpc.identity import Caller
from services.matchmaking import sessions
from services.matchmaking.watching import TOGETHER_SECONDS
from tests.matchmaking.hall import GAME, SERVICE, Player, SessionOf, asked, hall, players, quick, reason
from tests.matchmaking.test_service_owners import owner, ticket
from tests.services.hall import failure

CONTRACT = matchmaking_service_pb2.DESCRIPTOR


async def test_a_session_has_every_write() -> None:
    """And each under the name of its method, in which a retry may come too."""
    methods = {
        method.name
        for method in CONTRACT.services_by_name["MatchmakingService"].methods
        if "command_id" in method.input_type.fields_by_name and not method.client_streaming
    }
    members = {field.message_type.name for field in CONTRACT.message_types_by_name["SessionWrite"].fields}
    assert members == {f"{name}Request" for name in methods}
    for member in members:
        write = getattr(wire, member)("id")
        message = wire.encode_SessionRequest(wire.SessionRequest("a game", asked(write)))
        assert wire.decode_SessionRequest(message).write == asked(write)


async def test_two_sessions_become_a_game(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, players(running, "alice", "bob") as them:
        open_sessions = [await player.session() for player in them]
        for session in open_sessions:
            first = await session.call.read()
            assert first.command_id == "" and first.HasField("state") and first.state == type(first.state)()
        for session in open_sessions:
            told = await session.answer(CreateTicketRequest("look", seats=(2,)))
            assert told.created_id == told.state.ticket.ticket_id != ""
        for session in open_sessions:
            offered = await session.until(lambda told: told.state.offer.offer_id)
            confirmed = await session.answer(ConfirmOfferRequest("agree", offer_id=offered.state.offer.offer_id))
            assert (confirmed.created_id, reason(confirmed)) == ("", "")
            # The answer comes with what it did.
            assert confirmed.state.offer.you_confirmed or confirmed.state.games
        games = [(await session.until(lambda told: told.state.games)).state.games[0] for session in open_sessions]
        assert games[0].game_id == games[1].game_id and {game.seat for game in games} == {0, 1}


async def test_refusals_are_answers_and_a_retry_counts_once(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, players(running, "alice") as [alice]:
        session = await alice.session(CreateTicketRequest("one", seats=(4,)))
        made = await session.until(lambda told: told.command_id == "one")
        assert made.created_id == made.state.ticket.ticket_id
        # The same, here, there, and with another request.
        again = await session.answer(CreateTicketRequest("one", GAME, seats=(4,)))
        assert (again.created_id, again.HasField("state")) == (made.created_id, False)
        unary = await alice.ask("CreateTicket", command_id="one", seats=(4,))
        assert unary.ticket_id == made.created_id
        other = await session.answer(CreateTicketRequest("one", seats=(3,)))
        assert reason(other) == "COMMAND_ID_REUSED" and other.created_id == ""
        for write, why in (
            (CreateTicketRequest("two", seats=(4,)), "ALREADY_WAITING"),
            (CreatePartyRequest("two", "another_game"), "GAME_ID_CHANGED"),
            (CreatePartyRequest(""), "INVALID_COMMAND_ID"),
            (JoinPartyRequest("two", code="nobodys"), "CODE_NOT_FOUND"),
        ):
            refused = await session.answer(write)
            assert (reason(refused), refused.HasField("state")) == (why, False)
        # All of it left the stream, and the ticket.
        await session.call.done_writing()
        assert await session.call.read() is grpc.aio.EOF
        assert (await alice.state()).ticket.ticket_id == made.created_id


async def test_what_is_only_validated_makes_nothing(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, players(running, "alice") as [alice]:
        session = await alice.session()
        await session.call.read()
        told = await session.answer(CreatePartyRequest("three", validate_only=True))
        assert (told.created_id, reason(told), told.HasField("state")) == ("", "", False)
        assert (await alice.state()).party is None


async def test_writes_are_carried_out_in_their_order(tmp_path: Path) -> None:
    async with hall(tmp_path, quick(write_burst=1_000.0)) as running, players(running, "alice") as [alice]:
        session = await alice.session()
        count = 4 * sessions.MOST_ANSWERS
        for number in range(count):
            await session.send(CreatePartyRequest(f"{number}"))
            await session.send(wire.LeavePartyRequest(f"leave {number}"))
        answers = []
        while len(answers) < 2 * count:
            told = await session.until(lambda told: told.command_id)
            assert reason(told) == ""
            answers.append(told.command_id)
        assert answers == [name for number in range(count) for name in (f"{number}", f"leave {number}")]
        assert (await alice.state()).party is None


async def test_writes_of_a_session_are_bounded(tmp_path: Path) -> None:
    house = quick(write_burst=3.0, writes_per_second=0.001)
    async with hall(tmp_path, house) as running, players(running, "alice", "bob") as (alice, bob):
        session = await alice.session()
        for number in range(3):
            await session.send(CreatePartyRequest(f"{number}"))
        assert reason(await session.answer(CreatePartyRequest("late"))) == "RATE_LIMITED"
        # Whoever goes on too soon waits for as long as it was told, a second at most.
        begin = asyncio.get_running_loop().time()
        assert reason(await session.answer(CreatePartyRequest("later"))) == "RATE_LIMITED"
        assert asyncio.get_running_loop().time() - begin > 0.9 * sessions.LONGEST_PAUSE_SECONDS
        other = await bob.session(CreatePartyRequest("x"))
        assert (await other.until(lambda told: told.command_id == "x")).created_id
        long = await other.answer(CreatePartyRequest("i" * 64))
        assert reason(long) == "IN_PARTY"
        await other.send(CreatePartyRequest("i" * 1_000))
        longer = await other.until(lambda told: told.HasField("error"))
        assert (reason(longer), longer.command_id) == ("INVALID_COMMAND_ID", "i" * 64)


async def test_what_cannot_be_read_ends_a_session(tmp_path: Path) -> None:
    """And so nobody can have the hall read much of it, or keep it."""
    async with hall(tmp_path) as running, players(running, "alice") as [alice]:
        large = asked(SitDownRequest("y", table_id="t" * 70_000))
        for message, why in (
            (wire.encode_SessionRequest(wire.SessionRequest(GAME, large)), "MESSAGE_TOO_LARGE"),
            (b"\xff", "MALFORMED_MESSAGE"),
            (wire.encode_SessionRequest(wire.SessionRequest(GAME)), "MALFORMED_MESSAGE"),
        ):
            begun = await alice.session()
            await begun.until(lambda told: told.HasField("state"))
            await begun.call.write(message)
            assert (await failure(begun.call.read()))[0] == why
            if why == "MESSAGE_TOO_LARGE" or message == b"\xff":
                first = alice.channel.stream_stream(f"/{SERVICE}/Session")(metadata=alice.metadata)
                await first.write(message)
                assert (await failure(first.read()))[0] == why
        await alice.ask("CreateParty")


async def test_an_answer_has_the_state_that_its_write_made(tmp_path: Path) -> None:
    """In one message, also where nothing was told for a while."""
    async with hall(tmp_path) as running, players(running, "alice") as [alice]:
        session = await alice.session()
        await session.until(lambda told: told.HasField("state"))
        for number in range(5):
            await asyncio.sleep(2 * TOGETHER_SECONDS)
            for write in (CreatePartyRequest(f"{number}"), wire.LeavePartyRequest(f"leave {number}")):
                await session.send(write)
                told = await session.call.read()
                assert told.command_id == write.command_id and told.HasField("state")
                assert bool(told.state.party.party_id) == isinstance(write, CreatePartyRequest)


async def test_a_session_that_is_cancelled_while_it_begins_is_not_told_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = MemoryBroker()
    partition = await owner(broker, "first")
    hosted = partition.pools[GAME]
    caller = Caller("carl", frozenset({"play"}), 1e11)
    acting = asyncio.create_task(hosted.act(ticket("alice")))
    while hosted.settled:
        await asyncio.sleep(0)
    session = sessions.Session(hosted, caller, Conversation(caller))
    beginning = asyncio.create_task(anext(session.messages(_nothing(), _unasked)))
    subscribe = hosted.subscribe

    def subscribed(*them: Any) -> Callable[[], None]:
        # Just before it hears that it is subscribed.
        asyncio.get_running_loop().call_soon(beginning.cancel)
        return subscribe(*them)

    monkeypatch.setattr(hosted, "subscribe", subscribed)
    # At once, while the entry is in flight: whoever settles that subscribes it then.
    monkeypatch.setattr(hosted, "confirm", lambda: asyncio.sleep(0))
    await asyncio.gather(beginning, acting, return_exceptions=True)
    assert beginning.cancelled() and not hosted._watchers
    await partition.finish(1.0)


async def _nothing() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def _unasked(write: bytes) -> sessions.Answer:
    raise AssertionError(write)


async def test_a_session_tells_nothing_after_its_token_has_expired() -> None:
    partition = await owner(MemoryBroker(), "first")
    hosted = partition.pools[GAME]
    caller = Caller("carl", frozenset({"play"}), time.time() + 0.5)
    writing = asyncio.Event()

    async def slow(write: bytes) -> sessions.Answer:
        await writing.wait()
        return sessions.Answer("late")

    conversation = Conversation(caller)
    told = sessions.Session(hosted, caller, conversation).messages(conversation.messages(_one()), slow)
    await anext(told)
    await asyncio.sleep(0.6)
    await hosted.act(ticket("carl"))
    with pytest.raises(Failure, match="TOKEN_EXPIRED"):
        await anext(told)
    await partition.finish(1.0)


async def _one() -> AsyncIterator[bytes]:
    yield b""
    await asyncio.Event().wait()


class Settling:
    """As much of a hosted pool as a session needs. Each state that is settled has another number of missed offers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pool = self
        self._number = 0
        monkeypatch.setattr(
            sessions.states, "state_of", lambda pool, subject: wire.State(pause=wire.Pause(0, self._number))
        )

    def check(self) -> None:
        """It serves."""

    def subscribe(self, subject: str, watcher: sessions.Session) -> Callable[[], None]:
        self._watcher = watcher
        return lambda: None

    async def read(self, what: Callable[[Any], None]) -> None:
        what(self)

    def settle(self, write: "asyncio.Future[None] | None" = None) -> None:
        """A state, and the write that made it."""
        self._number += 1
        self._watcher.hear()
        if write is not None:
            write.set_result(None)

    def told(self, message: bytes) -> tuple[str, int | None]:
        """Which write a message answers, and the number of its state."""
        response = matchmaking_service_pb2.SessionResponse.FromString(message)
        return response.command_id, response.state.pause.missed if response.HasField("state") else None


async def test_an_answer_has_its_state_also_where_another_was_about_to_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop was held, so the time to tell what another did and the settling of the write come in one turn."""
    pool: Any = Settling(monkeypatch)
    caller = Caller("alice", frozenset({"play"}), time.time() + 600.0)
    written = asyncio.get_running_loop().create_future()

    async def carried_out(write: bytes) -> sessions.Answer:
        await written
        return sessions.Answer("mine")

    conversation = Conversation(caller)
    told = sessions.Session(pool, caller, conversation).messages(conversation.messages(_one()), carried_out)
    assert pool.told(await anext(told)) == ("", 0)
    loop = asyncio.get_running_loop()
    loop.call_later(0.02, pool.settle)
    loop.call_later(TOGETHER_SECONDS - 0.05, time.sleep, 0.1)
    loop.call_later(TOGETHER_SECONDS + 0.02, pool.settle, written)
    assert pool.told(await anext(told)) == ("mine", 2)
    await told.aclose()


async def test_the_newest_state_is_told_before_a_session_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client writes no more, and takes the last answer late."""
    pool: Any = Settling(monkeypatch)
    caller = Caller("alice", frozenset({"play"}), time.time() + 600.0)

    async def last() -> AsyncIterator[bytes]:
        yield b""

    async def carried_out(write: bytes) -> sessions.Answer:
        pool.settle()
        return sessions.Answer("last")

    conversation = Conversation(caller)
    session = sessions.Session(pool, caller, conversation)
    told = session.messages(conversation.messages(last()), carried_out)
    assert pool.told(await anext(told)) == ("", 0)
    assert pool.told(await anext(told)) == ("last", 1)
    pool.settle()
    assert pool.told(await anext(told)) == ("", 2)
    with pytest.raises(StopAsyncIteration):
        await anext(told)
    # And nothing holds it then.
    gone = weakref.ref(session)
    gc.disable()
    try:
        del session, told, pool._watcher
        assert gone() is None
    finally:
        gc.enable()


async def test_what_others_do_is_told(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, players(running, "alice", "bob") as (alice, bob):
        session = await alice.session(CreatePartyRequest("mine"))
        mine = (await session.until(lambda told: told.command_id == "mine")).state.party
        await bob.ask("JoinParty", code=mine.code)
        told = await session.until(lambda told: len(told.state.party.members) == 2)
        assert told.command_id == "" and list(told.state.party.members) == ["alice", "bob"]


async def test_a_session_needs_its_game_first(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, players(running, "alice") as [alice]:
        for game, why in (("", "MALFORMED_MESSAGE"), ("no_game", "INVALID_GAME")):
            assert (await failure((await alice.session(game=game)).call.read()))[0] == why


async def test_a_session_ends_with_its_token_and_with_the_hall(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, Player(running.port, tmp_path, "alice", ttl=5.0) as alice:
        session = await alice.session(CreatePartyRequest("mine"))
        await session.until(lambda told: told.command_id == "mine")
        assert (await failure(session.call.read()))[0] == "TOKEN_EXPIRED"
        silent = Player(running.port, tmp_path, "silent", ttl=1.0)
        call = silent.channel.stream_stream(f"/{SERVICE}/Session")
        assert (await failure(call(metadata=silent.metadata).read()))[0] == "TOKEN_EXPIRED"
        await silent.channel.close()
    async with hall(tmp_path) as running:
        bob = Player(running.port, tmp_path, "bob")
        last = await bob.session()
        await last.until(lambda told: told.HasField("state"))
        silent_call = bob.channel.stream_stream(f"/{SERVICE}/Session")(metadata=bob.metadata)
        await bob.state()
        ending = [asyncio.create_task(failure(call.read())) for call in (last.call, silent_call)]
    assert {(await each)[0] for each in ending} == {"SHUTTING_DOWN"}
    await bob.channel.close()


async def test_any_hall_takes_sessions(tmp_path: Path) -> None:
    """One that does not own the pool passes them on; they end with a hint when the owner changes."""
    async with hall(tmp_path) as first, players(first, "alice") as [alice], hall(tmp_path):
        session, made = await _queued(alice)
        assert made.state.ticket.ticket_id == made.created_id
        async with hall(tmp_path) as third:
            why, code, metadata = await failure(_to_the_end(session))
            assert (why, code) == ("NOT_OWNER", grpc.StatusCode.UNAVAILABLE)
            assert metadata["owner"] == f"127.0.0.1:{third.port}"
            _, again = await _queued(alice)
            assert again.created_id == made.created_id


async def _queued(player: Player) -> tuple[SessionOf, Any]:
    """A session and the answer to its one write. It is opened again where the owner has just changed, as clients do."""
    while True:
        session = await player.session(CreateTicketRequest("one", seats=(4,)))
        try:
            return session, await session.until(lambda told: told.command_id == "one")
        except grpc.aio.AioRpcError as error:
            info = error_info(error)
            assert info is not None and info.reason == "NOT_OWNER"
        await asyncio.sleep(0.1)


async def _to_the_end(session: SessionOf) -> None:
    while await session.call.read() is not grpc.aio.EOF:
        pass
