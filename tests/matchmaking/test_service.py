"""From a ticket or a table to a seat, over the wire."""

import asyncio
from pathlib import Path
from random import Random

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from guildhall.host.hall import Hall
from guildhall.matchmaking.v1 import structs as wire
from services.bots.player import play
from services.bots.random_choice import RandomChoice
from services.bots.resident import reside
from services.matchmaking.guesses import BURST, SECONDS_EACH, Guesses
from tests.matchmaking.hall import GAME, SERVICE, Player, hall, players, quick
from tests.services.hall import Client, failure

Outcome = wire.TicketOutcome


async def confirmed_all(*them: Player) -> None:
    """Each confirms what is offered."""
    for player in them:
        state = await player.until(lambda state: state.offer is not None)
        assert state.offer is not None
        await player.ask("ConfirmOffer", offer_id=state.offer.offer_id)


async def in_game(*them: Player) -> wire.GameSeat:
    """Two tickets, an offer, and the game that comes of it; the first one's seat."""
    for player in them:
        await player.ask("CreateTicket", seats=(len(them),))
    await confirmed_all(*them)
    for player in them[1:]:
        await player.until(lambda state: bool(state.games))
    return (await them[0].until(lambda state: bool(state.games))).games[-1]


async def test_two_tickets_become_a_game(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, players(running, "alice", "bob") as (alice, bob):
        mine = await alice.ask("CreateTicket", seats=(2,))
        watched = alice.stream("WatchTicket", ticket_id=mine.ticket_id)
        await bob.ask("CreateTicket", seats=(2,))
        offered = [await player.until(lambda state: state.offer is not None) for player in (alice, bob)]
        assert offered[0].offer is not None and offered[0].offer.seats == 2 and not offered[0].offer.you_confirmed
        await confirmed_all(alice, bob)
        [game] = (await alice.until(lambda state: bool(state.games))).games
        assert set(game.subjects) == {"alice", "bob"} and game.subjects[game.seat] == "alice"
        told = [message async for message in watched]
        assert told[0].waiting is not None and told[0].waiting.ticket_id == mine.ticket_id
        last = told[-1]
        assert (last.ended.outcome, last.ended.game_id, last.game.game_id) == (Outcome.MATCHED, *2 * (game.game_id,))
        assert (await alice.state()).ended == (last.ended,)
        async with Client(running.port, tmp_path, "bob") as client:
            view = await client.view(game.game_id)
        assert [seat.subject for seat in view.game.seats] == list(game.subjects)


async def test_a_table_with_a_friend_and_a_bot_is_played_to_its_end(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, players(running, "alice", "bob") as (alice, bob):
        made = await alice.ask("CreateTable", seats=3, private=True)
        code = (await alice.state()).table.code
        assert (await bob.read("ListTables")).tables == ()
        await bob.ask("SitDown", code=code)
        await alice.ask("AddBot", strength="random")
        table = (await bob.state()).table
        assert table is not None and table.table_id == made.table_id and table.owner == "alice"
        assert [(seat.subject, seat.bot) for seat in table.seats] == [("alice", ""), ("bob", ""), ("", "random")]
        await alice.ask("StartTable")
        await confirmed_all(bob)
        [game] = (await alice.until(lambda state: bool(state.games))).games
        assert (await alice.state()).table is None
        async with asyncio.TaskGroup() as group:
            for subject in ("alice", "bob"):
                group.create_task(_played(running, subject, game.game_id))
            bot = asyncio.create_task(_resident(running, "bot/random/1"))
        bot.cancel()
        await alice.until(lambda state: not state.games)


async def _played(running: Hall, subject: str, game_id: str) -> None:
    async with Client(running.port, running.config.data, subject) as client:
        await play(Seat(client), game_id, RandomChoice(Random(7)))


async def _resident(running: Hall, subject: str) -> None:
    async def seated():
        async with Player(running.port, running.config.data, subject) as player:
            async for message in player.stream("WatchState", None):
                yield [game.game_id for game in message.state.games]

    async def unfinished() -> list[str]:
        return []

    await reside(subject, seated, unfinished, lambda game_id: _played(running, subject, game_id))


class Seat:
    """A test's client as a bot needs it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def watch(self, game_id: str):
        return self._client.watch(game_id)

    def options(self, legal):
        return list(legal.commands)

    async def submit(self, game_id: str, decision_id: str, command: object) -> int:
        try:
            return await self._client.submit(game_id, decision_id, command)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
                return 0
            raise


async def test_a_result_is_taken_in_once_and_rates_both(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, players(running, "alice", "bob") as (alice, bob):
        game = await in_game(alice, bob)
        async with Client(running.port, tmp_path, "alice") as client:
            await client.call("ResignSeat", game_id=game.game_id, command_id="resign")
        await alice.until(lambda state: not state.games)
        before = [(await player.read("GetRating")).rating for player in (alice, bob)]
        assert [rating.games for rating in before] == [1, 1] and [rating.wins for rating in before] == [0, 1]
        assert before[0].mu_micros < before[1].mu_micros
        history = (await bob.read("GetRating", subject="alice")).history
        assert [(change.game_id, change.rank, change.seats) for change in history] == [(game.game_id, 2, 2)]
        whole = await bob.read("ListRatingHistory", subject="alice")
        assert (whole.changes, whole.next_page_token) == (history, "")
    async with hall(tmp_path) as running, players(running, "alice", "bob", "carol", "dave") as (alice, bob, *others):
        # Again from the log: the same, once, also when its readers go on.
        game = await in_game(*others)
        async with Client(running.port, tmp_path, "carol") as client:
            await client.call("ResignSeat", game_id=game.game_id, command_id="resign")
        await others[0].until(lambda state: not state.games)
        assert (await others[0].read("GetRating")).rating.games == 1
        assert [(await player.read("GetRating")).rating for player in (alice, bob)] == before


async def test_a_game_is_made_though_everything_stopped_between_match_and_game(tmp_path: Path) -> None:
    async with hall(tmp_path, games=[]) as running, players(running, "alice", "bob") as (alice, bob):
        for player in (alice, bob):
            await player.ask("CreateTicket", seats=(2,))
        await confirmed_all(alice, bob)
        state = await alice.until(lambda state: state.offer is not None and state.offer.accepted)
        assert state.games == ()  # nobody serves the game's rules
        cancelling = alice.ask("CancelTicket", ticket_id=state.ticket.ticket_id)
        assert (await failure(cancelling))[0] == "GAME_STARTING"
    async with hall(tmp_path) as running, players(running, "alice", "bob") as (alice, bob):
        [game] = (await alice.until(lambda state: bool(state.games))).games
        assert (await bob.state()).games[0].game_id == game.game_id
        assert sum(len(partition.hosted) for partition in running.hosts[GAME].partitions) == 1


async def test_whoever_does_not_confirm_is_out_and_the_others_keep_their_place(tmp_path: Path) -> None:
    async with hall(tmp_path, quick(offer_ms=500)) as running, players(running, "alice", "bob") as (alice, bob):
        for player in (alice, bob):
            await player.ask("CreateTicket", seats=(2,))
        state = await alice.until(lambda state: state.offer is not None)
        await confirmed_all(alice)
        back = await alice.until(lambda state: state.offer is None)
        assert back.ticket == state.ticket
        gone = await bob.until(lambda state: bool(state.ended))
        assert gone.ticket is None and gone.ended[0].outcome == Outcome.NOT_CONFIRMED
        late = bob.ask("ConfirmOffer", offer_id=state.offer.offer_id)
        assert (await failure(late))[0] == "OFFER_OVER"


async def test_cancelling_while_a_match_is_made_has_one_outcome_for_all(tmp_path: Path) -> None:
    house = quick(pass_ms=1, missed_freely=100)
    async with hall(tmp_path, house) as running, players(running, "alice", "bob") as (alice, bob):
        for number in range(20):
            ticket = await alice.ask("CreateTicket", seats=(2,))
            await asyncio.gather(
                bob.ask("CreateTicket", seats=(2,)), alice.ask("CancelTicket", ticket_id=ticket.ticket_id)
            )
            mine, theirs = await alice.state(), await bob.state()
            assert mine.ticket is None and mine.offer is None
            assert mine.ended[-1].outcome == Outcome.CANCELLED, number
            # Whatever was offered came to nothing, and the other one waits on.
            waiting = await bob.until(lambda state: state.offer is None and state.ticket is not None)
            assert waiting.ticket is not None and theirs.ticket is not None
            assert waiting.ticket.since_ms == theirs.ticket.since_ms
            await bob.ask("CancelTicket", ticket_id=waiting.ticket.ticket_id)


async def test_a_party_is_told_and_matched_as_a_whole(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, players(running, "alice", "bob", "carol") as (alice, bob, carol):
        await alice.ask("CreateParty")
        party = (await alice.state()).party
        assert party is not None
        await bob.ask("JoinParty", code=party.code)
        joined = await alice.until(lambda state: state.party is not None and len(state.party.members) == 2)
        assert joined.party is not None and joined.party.members == ("alice", "bob")
        assert (await failure(bob.ask("CreateTicket", seats=(3,))))[0] == "NOT_PARTY_LEADER"
        await alice.ask("CreateTicket", seats=(3,))
        shared = await bob.until(lambda state: state.ticket is not None)
        assert shared.ticket is not None and shared.ticket.subjects == ("alice", "bob")
        await carol.ask("CreateTicket", seats=(3,))
        await confirmed_all(alice, bob, carol)
        [game] = (await bob.until(lambda state: bool(state.games))).games
        assert set(game.subjects) == {"alice", "bob", "carol"}
        # Sent away: not in the party any more, and its code is another one.
        await alice.ask("KickFromParty", subject="bob")
        assert (await bob.state()).party is None
        assert (await failure(bob.ask("JoinParty", code=party.code)))[0] == "CODE_NOT_FOUND"


async def test_what_is_not_so(tmp_path: Path) -> None:
    """Bad input: each a typed error, and nothing has changed."""
    async with hall(tmp_path) as running, players(running, "alice", "bob", "carol", "dave") as them:
        alice, bob, carol, dave = them

        async def reason(player: Player, method: str, **fields: object) -> str:
            return (await failure(player.ask(method, **fields)))[0]

        assert await reason(alice, "CreateTicket", game="") == "MALFORMED_MESSAGE"
        assert await reason(alice, "CreateTicket", game="chess") == "INVALID_GAME"
        assert await reason(alice, "CreateTicket", command_id="") == "INVALID_COMMAND_ID"
        assert await reason(alice, "CreateTicket", command_id="x" * 65) == "INVALID_COMMAND_ID"
        assert await reason(alice, "CreateTicket", seats=(99,)) == "INVALID_SEATS"
        assert await reason(alice, "CreateTicket", wait_ms=86_400_001) == "INVALID_WAIT"
        assert await reason(alice, "CreateTicket", bots=wire.BotFill("genius", 0)) == "UNKNOWN_BOT"
        terms = wire.GameTerms(options=(("nonsense", "1"),))
        assert await reason(alice, "CreateTicket", terms=terms) == "UNKNOWN_OPTION"
        assert await reason(alice, "CreateTable", seats=2, terms=terms) == "UNKNOWN_OPTION"
        terms = wire.GameTerms(rulings=(("steal", "7"),))
        assert await reason(alice, "CreateTicket", terms=terms) == "INVALID_RULING"
        assert await reason(alice, "CancelTicket", ticket_id="nowhere") == "TICKET_NOT_FOUND"
        assert await reason(alice, "LeaveParty") == "NOT_IN_PARTY"
        assert await reason(alice, "LeaveTable") == "NOT_AT_TABLE"
        assert await reason(alice, "SitDown", table_id="nowhere") == "TABLE_NOT_FOUND"
        assert await reason(alice, "ConfirmOffer", offer_id="nowhere") == "OFFER_OVER"
        watching = alice.stream("WatchTicket", ticket_id="nowhere").read()
        assert (await failure(watching))[0] == "TICKET_NOT_FOUND"
        assert (await failure(alice.read("ListTables", page_token="forged")))[0] == "INVALID_PAGE_TOKEN"
        assert (await failure(alice.read("ListTables", page_size=1001)))[0] == "INVALID_PAGE_SIZE"

        await alice.ask("CreateTicket", seats=(4,), command_id="one")
        await alice.ask("CreateTicket", seats=(4,), command_id="one")
        assert await reason(alice, "CreateTicket", seats=(3,), command_id="one") == "COMMAND_ID_REUSED"
        assert await reason(alice, "CreateTicket", seats=(4,)) == "ALREADY_WAITING"
        assert await reason(alice, "CreateTable", seats=2) == "ALREADY_WAITING"

        table = await bob.ask("CreateTable", seats=2)
        assert await reason(bob, "CreateTicket") == "ALREADY_AT_TABLE"
        assert await reason(bob, "StartTable") == "TABLE_NOT_FULL"
        assert await reason(bob, "AddBot", strength="genius") == "UNKNOWN_BOT"
        assert await reason(carol, "SitDown", table_id=table.table_id, seat=0) == "SEAT_TAKEN"
        await carol.ask("SitDown", table_id=table.table_id)
        assert await reason(carol, "StartTable") == "NOT_TABLE_OWNER"
        assert await reason(dave, "SitDown", table_id=table.table_id) == "TABLE_FULL"
        await bob.ask("KickFromTable", subject="carol")
        assert await reason(carol, "SitDown", table_id=table.table_id) == "BARRED_FROM_TABLE"
        await dave.ask("SitDown", table_id=table.table_id)
        await bob.ask("StartTable")
        assert await reason(bob, "AddBot", strength="random") == "TABLE_STARTING"

        await carol.ask("CreateParty")
        assert await reason(carol, "CreateParty") == "IN_PARTY"
        async with players(running, *(f"friend {n}" for n in range(9))) as friends:
            code = (await carol.state()).party.code
            last = ""
            for friend in friends:
                try:
                    await friend.ask("JoinParty", code=code)
                except grpc.aio.AioRpcError:
                    last = await reason(friend, "JoinParty", code=code)
            assert last == "PARTY_FULL"
            assert await reason(carol, "CreateTicket", seats=(2,)) == "PARTY_TOO_LARGE"
        async with Player(running.port, tmp_path, "bot/random/1") as bot:
            assert await reason(bot, "CreateTicket") == "BOTS_DO_NOT_QUEUE"
        async with Player(running.port, tmp_path, "erin", scopes=("spectate",)) as erin:
            assert await reason(erin, "CreateTicket") == "MISSING_SCOPE"


async def test_too_many_unfinished_games(tmp_path: Path) -> None:
    async with hall(tmp_path, quick(games_at_once=1)) as running, players(running, "alice", "bob") as (alice, bob):
        await in_game(alice, bob)
        assert (await failure(alice.ask("CreateTicket")))[0] == "TOO_MANY_GAMES"


async def test_codes_cannot_be_guessed(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, players(running, "alice", "mallory") as (alice, mallory):
        await alice.ask("CreateParty")
        code = (await alice.state()).party.code
        reasons = await asyncio.gather(
            *(failure(mallory.ask("JoinParty", code=f"guess {n}")) for n in range(3 * BURST))
        )
        told = [reason for reason, _, _ in reasons]
        assert told.count("CODE_NOT_FOUND") <= BURST + 1 and set(told) == {"CODE_NOT_FOUND", "RATE_LIMITED"}
        # Not even the right one, until the wait is over.
        assert (await failure(mallory.ask("JoinParty", code=code)))[0] == "RATE_LIMITED"
        assert (await failure(mallory.ask("SitDown", code="guess")))[0] == "RATE_LIMITED"
        assert (await alice.state()).party.members == ("alice",)


async def test_a_subject_writes_at_a_bounded_rate(tmp_path: Path) -> None:
    house = quick(writes_per_second=0.001, write_burst=3.0)
    async with hall(tmp_path, house) as running, players(running, "alice", "bob") as (alice, bob):
        for _ in range(3):
            await alice.ask("CreateTicket", validate_only=True)
        reason, code, metadata = await failure(alice.ask("CreateTicket"))
        assert (reason, code) == ("RATE_LIMITED", grpc.StatusCode.RESOURCE_EXHAUSTED)
        assert float(metadata["retry_after_seconds"]) > 0.0
        assert (await alice.state()).ticket is None
        await bob.ask("CreateTicket")


def test_guesses_come_back_with_time_and_right_ones_cost_nothing() -> None:
    now = [0.0]
    guesses = Guesses(lambda: now[0])
    for _ in range(100):
        guesses.begin("alice")
        guesses.was_right("alice")
    for _ in range(BURST):
        guesses.begin("alice")
    with pytest.raises(Exception, match="RATE_LIMITED"):
        guesses.begin("alice")
    guesses.begin("bob")
    now[0] += SECONDS_EACH
    guesses.begin("alice")
    with pytest.raises(Exception, match="RATE_LIMITED"):
        guesses.begin("alice")


async def test_public_tables_in_pages(tmp_path: Path) -> None:
    names = [f"player {n}" for n in range(7)]
    async with hall(tmp_path) as running, players(running, *names) as them:
        made = [(await player.ask("CreateTable", seats=2)).table_id for player in them]
        found, token = [], ""
        while True:
            page = await them[0].read("ListTables", page_size=3, page_token=token)
            found += page.tables
            token = page.next_page_token
            if not token:
                break
            assert (await failure(them[1].read("ListTables", page_token=token)))[0] == "INVALID_PAGE_TOKEN"
        assert [table.table_id for table in found] == made
        assert all(table.code == "" for table in found)


async def test_a_seat_comes_with_where_to_play(tmp_path: Path) -> None:
    async with (
        hall(tmp_path, quick(public="games.example:443")) as running,
        players(running, "alice", "bob") as (alice, bob),
    ):
        assert (await in_game(alice, bob)).address == "games.example:443"


async def test_a_stream_tells_the_newest_state_and_ends_with_its_token(tmp_path: Path) -> None:
    async with (
        hall(tmp_path) as running,
        Player(running.port, tmp_path, "alice", ttl=1.5) as alice,
        players(running, "alice") as [again],
    ):
        stream = alice.stream("WatchState", None)
        first = await stream.read()
        assert first.state == wire.State()
        await again.ask("CreateParty")
        second = await stream.read()
        assert second.state.party.members == ("alice",)
        assert (await failure(stream.read()))[0] == "TOKEN_EXPIRED"


async def test_a_newer_hall_takes_over_and_the_older_one_passes_on(tmp_path: Path) -> None:
    """Also streams end with a hint, and states are the same everywhere."""
    async with hall(tmp_path) as first, players(first, "alice") as [alice]:
        await alice.ask("CreateTicket", seats=(4,), command_id="one")
        stream = alice.stream("WatchState", None)
        before = (await stream.read()).state
        async with hall(tmp_path) as second, players(second, "bob", "alice") as (bob, moved):
            assert (await failure(stream.read()))[0] in ("NOT_OWNER", "OWNER_UNREACHABLE")
            assert await alice.state() == before == await moved.state()
            assert (await alice.ask("CreateTicket", seats=(4,), command_id="one")).ticket_id == before.ticket.ticket_id
            await alice.ask("CancelTicket", ticket_id=before.ticket.ticket_id)
            assert (await moved.state()).ticket is None
            await bob.ask("CreateTable", seats=2)
            assert len((await alice.read("ListTables")).tables) == 1


async def test_any_hall_takes_streams(tmp_path: Path) -> None:
    """One that does not own the pool passes them on; they end with a hint when the owner changes."""
    async with hall(tmp_path) as first, players(first, "alice") as [alice]:
        mine = await alice.ask("CreateTicket", seats=(4,))
        async with hall(tmp_path):
            states, ticket = alice.stream("WatchState", None), alice.stream("WatchTicket", ticket_id=mine.ticket_id)
            assert (await states.read()).state.ticket.ticket_id == mine.ticket_id
            assert (await ticket.read()).waiting.ticket_id == mine.ticket_id
            nothing = alice.stream("WatchTicket", ticket_id="nobodys")
            assert (await failure(nothing.read()))[0] == "TICKET_NOT_FOUND"
            async with hall(tmp_path) as third:
                for stream in (states, ticket):
                    reason, code, metadata = await failure(stream.read())
                    assert (reason, code) == ("NOT_OWNER", grpc.StatusCode.UNAVAILABLE)
                    assert metadata["owner"] == f"127.0.0.1:{third.port}"


async def test_nobody_without_a_token(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, players(running, "alice") as [alice]:
        alice.token = "not.a.token"
        assert (await failure(alice.state()))[0] == "INVALID_TOKEN"
        assert (await failure(alice.stream("WatchState").read()))[0] == "INVALID_TOKEN"


async def test_health_tells_when_the_pools_are_folded(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel:
        request = health_pb2.HealthCheckRequest(service=SERVICE)
        answer = await health_pb2_grpc.HealthStub(channel).Check(request)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
