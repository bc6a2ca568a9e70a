"""`guildhall queue` and `table join` where something comes between, against a hall in this process."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from typer.testing import CliRunner

from guildhall.cli import queue
from guildhall.cli.client import DEFAULT_SERVER, HallError, NoHall
from guildhall.cli.hints import Here
from guildhall.cli.main import command_line
from guildhall.cli.matchmaker import Matchmaker
from guildhall.cli.problems import Problem
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import dev_token
from guildhall.host.hall import Hall
from guildhall.kernel.v1.structs import Clock
from guildhall.matchmaking.v1.structs import (
    BotFill,
    EndedTicket,
    GameTerms,
    Offer,
    State,
    Table,
    TableSeat,
    Ticket,
    TicketOutcome,
)
from tests.matchmaking.hall import GAME, hall, players, quick

HERE = Here(DEFAULT_SERVER, DEFAULT_DATA, "alice")
FOR_FOUR = queue.Wish(GameTerms(), (4,), None, 60_000)


def matchmaker(running: Hall, subject: str) -> Matchmaker:
    server = f"127.0.0.1:{running.port}"
    return Matchmaker(GAME, server, dev_token(running.config.data, subject, ["play"]))


def test_help_names_the_strengths_of_bots() -> None:
    told = CliRunner().invoke(command_line("queue"), ["queue", "--help"], env={"COLUMNS": "200"})
    assert "There are: greedy, random." in told.stdout


async def test_an_offer_that_is_over_by_now_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with hall(tmp_path) as running, matchmaker(running, "alice") as alice:
        real = alice.states

        async def late() -> AsyncIterator[State]:
            yield State(offer=Offer(offer_id="over by now", seats=2))
            async for state in real():
                yield state

        monkeypatch.setattr(alice, "states", late)
        async with players(running, "bob") as [bob]:
            for player in (alice, bob):
                await player.ask("CreateTicket", terms=GameTerms(), seats=(2,))
            state = await bob.until(lambda state: state.offer is not None)
            await bob.ask("ConfirmOffer", offer_id=state.offer.offer_id)
            assert set((await alice.new_game([])).subjects) == {"alice", "bob"}


async def test_a_table_that_did_not_start_is_told_and_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with (
        hall(tmp_path) as running,
        matchmaker(running, "alice") as alice,
        players(running, "bob", "carol") as [bob, carol],
    ):
        await bob.ask("CreateTable", seats=3)
        table = (await bob.state()).table
        for player in (alice, carol):
            await player.ask("SitDown", table_id=table.table_id)
        told: list[str] = []
        alice._tell = told.append
        waiting = asyncio.create_task(alice.new_game([]))
        await bob.ask("StartTable")
        state = await bob.until(lambda state: state.offer is not None and state.offer.confirmed == 2)
        await carol.ask("DeclineOffer", offer_id=state.offer.offer_id)
        await bob.until(lambda state: state.offer is None)
        await bob.ask("AddBot", strength="random")
        await bob.ask("StartTable")
        assert "alice" in (await waiting).subjects
        assert told == ["It did not start: not everybody confirmed, or the hall could not make it. You wait on."]


@pytest.mark.parametrize(
    ("command", "said"), [("wait", "You keep your seat there."), ("start", "table start trickerion")]
)
async def test_whoever_waits_at_a_table_of_a_hall_that_is_gone_is_told_how_they_stand(
    monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    own = Table("t", "alice", (TableSeat("alice"), TableSeat("bob")))

    async def state(self: Matchmaker) -> State:
        return State(table=own)

    async def nothing(self: Matchmaker, *_: object, **__: object) -> None:
        return None

    async def gone(self: Matchmaker, *_: object, **__: object) -> None:
        raise NoHall("127.0.0.1:1")

    for method, instead in {"state": state, "ask": nothing, "ready": nothing, "new_game": gone}.items():
        monkeypatch.setattr(Matchmaker, method, instead)
    monkeypatch.setattr("guildhall.cli.queue.dev_token", lambda *_: "")
    told = await asyncio.to_thread(
        CliRunner().invoke, command_line("table"), ["table", command, "trickerion", "--name", "alice"]
    )
    assert told.exit_code == 1 and "No hall answers" in told.stderr and said in told.stderr


async def test_whoever_was_sent_away_waits_no_more(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, matchmaker(running, "alice") as alice, matchmaker(running, "bob") as bob:
        await alice.ask("CreateTable", seats=3)
        table = (await alice.state()).table
        assert table is not None
        await bob.ask("SitDown", table_id=table.table_id)
        waiting = asyncio.create_task(bob.new_game([]))
        await asyncio.sleep(0.2)
        await alice.ask("KickFromTable", subject="bob")
        with pytest.raises(Problem, match="no seat any more"):
            await waiting


async def test_a_game_that_does_not_start_is_not_waited_for(tmp_path: Path) -> None:
    async with (
        hall(tmp_path, quick(offer_ms=500)) as running,
        matchmaker(running, "alice") as alice,
        matchmaker(running, "bob") as bob,
    ):
        await alice.ask("CreateTable", seats=2)
        table = (await alice.state()).table
        assert table is not None
        await bob.ask("SitDown", table_id=table.table_id)
        await alice.ask("StartTable")
        with pytest.raises(Problem, match="does not start"):
            await alice.new_game([], started=True)


async def test_a_ticket_that_nobody_knows_any_more_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def forgotten(self: Matchmaker) -> AsyncIterator[State]:
        yield State()
        await asyncio.Event().wait()

    monkeypatch.setattr(Matchmaker, "states", forgotten)
    async with hall(tmp_path) as running, matchmaker(running, "alice") as alice:
        with pytest.raises(Problem, match="too long ago"):
            await queue._queue(GAME, FOR_FOUR, Here(alice.server, tmp_path, "alice"))


async def test_a_seat_that_came_just_before_the_wait_was_ended_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = Matchmaker.states

    async def interrupted(self: Matchmaker) -> AsyncIterator[State]:
        async for state in real(self):
            if state.games:
                raise asyncio.CancelledError  # what Ctrl-C becomes
            yield state

    monkeypatch.setattr(Matchmaker, "states", interrupted)
    async with hall(tmp_path) as running, players(running, "bob") as [bob]:
        await bob.ask("CreateTicket", seats=(2,))

        async def confirm() -> None:
            state = await bob.until(lambda state: state.offer is not None)
            await bob.ask("ConfirmOffer", offer_id=state.offer.offer_id)

        confirming = asyncio.create_task(confirm())
        server = f"127.0.0.1:{running.port}"
        with pytest.raises(asyncio.CancelledError):
            await queue._queue(GAME, replace(FOR_FOUR, seats=(2,)), Here(server, tmp_path, "alice"))
        await confirming
        assert "with bob. Play it:" in capsys.readouterr().out


async def test_the_ticket_is_taken_back_whatever_ends_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[bool] = []

    async def failing(self: Matchmaker) -> AsyncIterator[State]:
        state = await self.state()
        waiting.append(state.ticket is not None)
        yield state
        raise HallError("INTERNAL", grpc.StatusCode.INTERNAL, "Something went wrong.")

    monkeypatch.setattr(Matchmaker, "states", failing)
    async with hall(tmp_path) as running, matchmaker(running, "alice") as alice:
        with pytest.raises(HallError, match="Something went wrong"):
            await queue._queue(GAME, FOR_FOUR, Here(alice.server, tmp_path, "alice"))
        assert waiting == [True] and (await alice.state()).ticket is None


# --- a ticket that is there already


TERMS = GameTerms((("dark", "true"), ("long", "false")), clock=Clock(60_000))
TICKET = Ticket("t", terms=TERMS, seats=(3, 2), bots=BotFill("random", 1000), since_ms=1_000_000, expires_ms=1_060_005)


@pytest.mark.parametrize(
    ("wish", "fits"),
    [
        ({}, True),
        ({"wait_ms": 60_000}, True),
        ({"wait_ms": 30_000}, False),
        ({"seats": (3, 2)}, True),
        ({"seats": (2, 3)}, False),
        ({"bots": BotFill("random", 1000)}, True),
        ({"bots": BotFill("random", 2000)}, False),
        ({"terms": GameTerms((("dark", "true"),))}, True),
        ({"terms": GameTerms(clock=Clock(60_000))}, True),
        ({"terms": GameTerms(clock=Clock(61_000))}, False),
        ({"terms": GameTerms((("dark", "false"),))}, False),
        ({"terms": GameTerms(rulings=(("dark", "true"),))}, False),
    ],
)
def test_what_is_asked_for_has_to_be_true_of_the_ticket(wish: dict[str, Any], fits: bool) -> None:
    assert replace(queue.Wish(GameTerms(), (), None, 0), **wish).fits(TICKET) is fits


LOST = grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize("end", [asyncio.CancelledError(), NoHall(""), HallError("X", LOST, "x"), OSError()])
async def test_a_ticket_of_which_no_answer_came_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: BaseException
) -> None:
    real = Matchmaker.ask

    async def unanswered(self: Matchmaker, method: str, **fields: Any) -> Any:
        answer = await real(self, method, **fields)
        if method == "CreateTicket":
            raise end
        return answer

    monkeypatch.setattr(Matchmaker, "ask", unanswered)
    async with hall(tmp_path) as running, matchmaker(running, "alice") as alice:
        with pytest.raises(type(end)):
            await queue._queue(GAME, FOR_FOUR, Here(alice.server, tmp_path, "alice"))
        state = await alice.state()
        assert state.ticket is None and [ended.outcome for ended in state.ended] == [TicketOutcome.CANCELLED]


@pytest.mark.parametrize("refused", [True, False])
async def test_a_ticket_of_another_terminal_is_not_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    """It came in between; this one was refused, or interrupted before it was asked for."""
    real = Matchmaker.ask

    async def late(self: Matchmaker, method: str, **fields: Any) -> Any:
        if method == "CreateTicket":
            await real(self, method, seats=(4,))
            if not refused:
                raise asyncio.CancelledError
        return await real(self, method, **fields)

    monkeypatch.setattr(Matchmaker, "ask", late)
    async with hall(tmp_path) as running, matchmaker(running, "alice") as alice:
        with pytest.raises(Problem if refused else asyncio.CancelledError):
            await queue._queue(GAME, FOR_FOUR, Here(alice.server, tmp_path, "alice"))
        assert (await alice.state()).ticket is not None


@pytest.mark.parametrize("made", [True, False])
async def test_a_table_of_which_no_answer_came_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    """But not another one, at which one sat before."""
    real = Matchmaker.ask

    async def unanswered(self: Matchmaker, method: str, **fields: Any) -> Any:
        if method == "CreateTable":
            if made:
                await real(self, method, **fields)
            raise asyncio.CancelledError
        return await real(self, method, **fields)

    async with hall(tmp_path) as running, matchmaker(running, "alice") as alice:
        if not made:
            await alice.ask("CreateTable", seats=3)
        monkeypatch.setattr(Matchmaker, "ask", unanswered)
        with pytest.raises(asyncio.CancelledError):
            await alice.open_table(["random"], seats=3)
        assert ((await alice.state()).table is None) is made


async def test_an_offer_that_lapsed_is_told_and_the_next_one_confirmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with hall(tmp_path) as running, players(running, "bob") as [bob]:
        wish = replace(FOR_FOUR, seats=(2,))
        waiting = asyncio.create_task(queue._queue(GAME, wish, Here(f"127.0.0.1:{running.port}", tmp_path, "alice")))
        for ending in ("DeclineOffer", "ConfirmOffer"):
            await bob.ask("CreateTicket", seats=(2,))
            state = await bob.until(lambda state: state.offer is not None and state.offer.confirmed == 1)
            await bob.ask(ending, offer_id=state.offer.offer_id)
        await waiting
        offered, lapsed = "A game of 2 is offered; you confirm.", "Not everybody has confirmed: you wait on"
        told = capsys.readouterr().out
        assert [line.partition(",")[0] for line in told.splitlines() if "confirm" in line] == [offered, lapsed, offered]
        assert "with bob. Play it:" in told


async def test_whoever_goes_while_all_have_confirmed_is_told_the_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = Matchmaker.ask

    async def too_late(self: Matchmaker, method: str, **fields: Any) -> Any:
        if method == "CancelTicket":
            async with players(running, "bob") as [bob]:
                await bob.ask("CreateTicket", seats=(2,))
                for player in (bob, self):
                    offer_id = (await bob.until(lambda state: state.offer is not None)).offer.offer_id
                    await player.ask("ConfirmOffer", offer_id=offer_id)
            raise HallError("GAME_STARTING", grpc.StatusCode.FAILED_PRECONDITION, "All have confirmed.")
        return await real(self, method, **fields)

    monkeypatch.setattr(Matchmaker, "ask", too_late)
    async with hall(tmp_path) as running, matchmaker(running, "alice") as alice:
        await real(alice, "CreateTicket", seats=(2,))
        ticket = (await alice.state()).ticket
        assert ticket is not None
        await queue._take_back(alice, ticket.ticket_id, Here(alice.server, tmp_path, "alice"))
    told = capsys.readouterr().out
    assert "too late" in told and "with bob. Play it:" in told


async def test_a_hall_that_does_not_answer_keeps_nobody_who_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also in a task that is being cancelled, as Ctrl-C does."""

    async def never(self: Matchmaker, *_: object, **__: object) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr("guildhall.cli.matchmaker.LEAVING_SECONDS", 0.1)
    async with hall(tmp_path) as running:
        server = f"127.0.0.1:{running.port}"
        waiting = asyncio.create_task(queue._queue(GAME, FOR_FOUR, Here(server, tmp_path, "alice")))
        while "You wait" not in capsys.readouterr().out:
            await asyncio.sleep(0.05)
        monkeypatch.setattr(Matchmaker, "state", never)
        monkeypatch.setattr(Matchmaker, "ask", never)
        waiting.cancel()
        async with asyncio.timeout(10), matchmaker(running, "alice") as alice:
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await alice.get_up()
        told = capsys.readouterr().err
        assert "may still stand" in told and "queue tiny --leave --name alice" in told


def test_how_a_ticket_ended_is_said_in_a_sentence() -> None:
    told = [queue._why_over(EndedTicket("t", outcome), 2, HERE) for outcome in TicketOutcome]
    assert len(set(told)) == len(told) and all(re.search(r"\.$|games mine --name alice", sentence) for sentence in told)
    assert queue._why_over(EndedTicket("t", TicketOutcome.EXPIRED), 2, HERE) == "Nobody was found in 2 seconds."
