"""`guildhall queue` and `table join` where something comes between, against a hall in this process."""

from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from typer.testing import CliRunner

from guildhall.cli import queue
from guildhall.cli.client import HallError
from guildhall.cli.main import command_line
from guildhall.cli.matchmaker import Matchmaker
from guildhall.cli.tokens import dev_token
from guildhall.host.hall import Hall
from guildhall.matchmaking.v1.structs import GameTerms, Offer, State
from tests.matchmaking.hall import GAME, hall, players


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
