"""Deadlines: defaults are played when they pass, also over a restart, and nobody is timed out at once after one."""

import asyncio
from pathlib import Path
from random import Random

import grpc
import pytest

from guildhall.host import clock
from guildhall.host.hall import Hall
from guildhall.kernel.game import Game
from guildhall.kernel.v1.structs import Clock, EndReason, TimedOut
from tests.kernel.tiny.build import structs as t
from tests.services.hall import Table, hall, table

CODE = grpc.StatusCode
CLOCK = Clock(1_000)
"""The shortest that may be chosen."""


def open_game(running: Hall, game: Table) -> Game:
    found = running.hosts["tiny"].partition(game.game_id).hosted[game.game_id].game
    assert found is not None
    return found


async def test_a_decision_that_nobody_answers_gets_its_default(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running, clock=CLOCK) as game:
        for seat in (0, 1):
            await game.clients[seat].submit(game.game_id, f"1.{seat}", t.Bid(seat))
        view = await game.clients[0].view(game.game_id, min_version=4)
        assert [d.id for d in view.game.waiting_for] == ["4.1"]
        batches = (await game.clients[0].call("ListEvents", game_id=game.game_id)).versions
        assert TimedOut(2, "1.2") in batches[3].events and batches[3].seat is None
        assert batches[3].at_ms >= batches[0].at_ms + CLOCK.decision_ms


async def test_a_game_that_nobody_plays_is_abandoned(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running, ("alice", "bob"), clock=CLOCK) as game:
        call = game.clients[0].watch(game.game_id)
        *_, last = [message async for message in call]
        assert last.view.game.ended.reason == EndReason.ABANDONED


async def test_a_game_without_clock_waits(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game:
        assert clock.first_deadline(open_game(running, game)) is None
        assert (await game.clients[0].view(game.game_id)).game.waiting_for[0].deadline_ms == 0


async def test_deadlines_after_a_take_over(tmp_path: Path) -> None:
    """Never earlier than 60 s after the claim, or the decision's own allowance, if shorter."""
    async with hall(tmp_path) as running:
        for allowance, grace in ((1_000, 1_000), (59_000, 59_000), (3_600_000, 60_000)):
            async with table(running, clock=Clock(allowance)) as game:
                played = open_game(running, game)
                first = clock.first_deadline(played)
                assert first == (played.open[0].deadline_ms, "1.0", allowance)
                late = first.at_ms + 10_000
                assert clock.due_ms(first, late) == late + grace
                assert clock.due_ms(first, 0) == first.at_ms


async def test_deadlines_go_on_over_a_restart(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running, clock=CLOCK) as game:
        game_id = game.game_id
        await game.clients[0].submit(game_id, "1.0", t.Bid(0))
    await asyncio.sleep(1.1)  # the deadline passes while no hall runs
    async with hall(tmp_path) as running, table(running) as game:
        game.game_id = game_id
        assert (await game.clients[1].view(game_id)).game.version == 2
        # Within the allowance after the start the seat can still answer.
        assert await game.clients[1].submit(game_id, "1.1", t.Bid(1)) == 3
        view = await game.clients[0].view(game_id, min_version=4)
        assert view.game.waiting_for[0].id.startswith("4.")


@pytest.mark.parametrize("seed", range(3))
async def test_clocks_and_players_race(tmp_path: Path, seed: int) -> None:
    """Whoever comes first is in the log, once, and the game ends whatever is left unanswered."""
    async with hall(tmp_path) as running, table(running, clock=CLOCK) as game:
        random = Random(seed)
        for _ in range(6):
            try:
                if await game.step(random) is None:
                    break
            except (grpc.aio.AioRpcError, ValueError) as lost:  # the clock was quicker between the look and the command
                assert not isinstance(lost, grpc.aio.AioRpcError) or lost.code() == CODE.FAILED_PRECONDITION
            await asyncio.sleep(random.choice((0.0, 1.0)))
        listed = (await game.clients[0].call("ListEvents", game_id=game.game_id, page_size=1000)).versions
        assert [batch.version for batch in listed] == list(range(1, len(listed) + 1))
