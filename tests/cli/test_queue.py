"""`guildhall queue` and `table join` where something comes between, against a hall in this process."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from typer.testing import CliRunner

from guildhall.cli import queue
from guildhall.cli.client import HallError
from guildhall.cli.main import command_line
from guildhall.cli.matchmaker import Matchmaker
from guildhall.cli.problems import Problem
from guildhall.cli.tokens import dev_token
from guildhall.host.hall import Hall
from guildhall.matchmaking.v1.structs import GameTerms, Offer, State
from tests.matchmaking.hall import GAME, hall, players, quick


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
            await queue._queue(GAME, (4,), None, 60_000, GameTerms(), "alice", alice.server, tmp_path)


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
            await queue._queue(GAME, (2,), None, 60_000, GameTerms(), "alice", server, tmp_path)
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
            await queue._queue(GAME, (4,), None, 60_000, GameTerms(), "alice", alice.server, tmp_path)
        assert waiting == [True] and (await alice.state()).ticket is None
