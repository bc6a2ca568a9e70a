"""Rules that fail, a log that fails: nothing is changed, or the outcome is unknown and a retry settles it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from guildhall.host import rules_service
from guildhall.kernel.v1.structs import Clock
from guildhall.log.errors import LogUnavailable
from guildhall.log.memory import Faults, MemoryBroker
from guildhall.log.port import AppendOutcome, Doubt, ProducerRecord, TooLarge
from guildhall.log.writer import Limits, Writer
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import RULES
from tests.services.hall import failure, hall, table

CODE = grpc.StatusCode


def boom(*_: Any) -> Any:
    raise ZeroDivisionError("a fault in the rules")


async def test_rules_that_fail_change_nothing(tmp_path: Path) -> None:
    broken = replace(RULES, evolve={**RULES.evolve, t.CoinsPaid: boom})
    async with hall(tmp_path, games=[broken]) as running, table(running) as game:
        for seat in (0, 1):
            await game.clients[seat].submit(game.game_id, f"1.{seat}", t.Bid(seat))
        before = await game.clients[2].view(game.game_id)
        for _ in range(2):
            reason, code, _ = await failure(game.clients[2].submit(game.game_id, "1.2", t.Bid(1)))
            assert (reason, code) == ("RULES_FAILED", CODE.INTERNAL)
        assert await game.clients[2].view(game.game_id) == before
        # The game goes on where the rules do.
        await game.clients[0].submit(game.game_id, "1.0", t.Bid(0))
        await game.clients[1].submit(game.game_id, "1.1", t.Bid(0))
        assert await game.clients[2].submit(game.game_id, "1.2", t.Bid(0)) == 6


async def test_a_clock_over_failing_rules_does_not_spin(tmp_path: Path) -> None:
    def refuse_time_out(hall_: Any, event: Any) -> None:
        raise ZeroDivisionError

    broken = replace(RULES, evolve={**RULES.evolve, t.Led: refuse_time_out})
    async with hall(tmp_path, games=[broken]) as running, table(running, clock=Clock(1_000)) as game:
        for seat in (0, 1):
            await game.clients[seat].submit(game.game_id, f"1.{seat}", t.Bid(0))
        await asyncio.sleep(1.5)
        assert (await game.clients[0].view(game.game_id)).game.version == 3


async def test_a_fault_in_the_hall_is_internal_and_tells_nothing(tmp_path: Path) -> None:
    broken = replace(RULES, view=boom)
    async with hall(tmp_path, games=[broken]) as running, table(running) as game:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await game.clients[0].view(game.game_id)
        assert "ZeroDivision" not in str(caught.value) and "fault in the rules" not in str(caught.value)
        assert (await failure(game.clients[0].view(game.game_id)))[:2] == ("INTERNAL", CODE.INTERNAL)


class Switch(Faults):
    """A log that can be told to fail."""

    def __init__(self) -> None:
        self.fails = ""
        self.reads_fail = False

    async def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducerRecord],
        write: Callable[[ProducerRecord], AppendOutcome],
    ) -> Sequence[AppendOutcome]:
        match self.fails:
            case "before":
                return [Doubt("nothing was written") for _ in records]
            case "after":
                for record in records:
                    write(record)
                return [Doubt("the report was lost") for _ in records]
            case "large":
                return [TooLarge(1) for _ in records]
        return [write(record) for record in records]

    async def request(self, topic: str, partition: int) -> None:
        if self.reads_fail:
            raise LogUnavailable("told to fail")


@pytest.mark.parametrize("how", ["before", "after"])
async def test_a_retry_settles_what_became_of_a_command(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules_service, "LONGEST_WAIT", 0.3)
    faults = Switch()
    log = MemoryBroker().log(faults)
    async with hall(tmp_path, open_log=lambda path: log) as running, table(running) as game:
        alice = game.clients[0]
        faults.fails, faults.reads_fail = how, True
        reason, code, _ = await failure(alice.submit(game.game_id, "1.0", t.Bid(1), command_id="a"))
        assert (reason, code) == ("OUTCOME_UNKNOWN", CODE.UNAVAILABLE)
        assert (await failure(alice.legal(game.game_id)))[:2] == ("LOG_UNAVAILABLE", CODE.UNAVAILABLE)
        # Views are of what was there before.
        assert (await alice.view(game.game_id)).game.version == 1
        faults.fails, faults.reads_fail = "", False
        assert await until_answered(lambda: alice.submit(game.game_id, "1.0", t.Bid(1), command_id="a")) == 2
        assert await until_answered(lambda: alice.submit(game.game_id, "1.0", t.Bid(2), command_id="b")) == 3
        versions = (await alice.call("ListEvents", game_id=game.game_id)).versions
        assert [batch.version for batch in versions] == [1, 2, 3]


async def until_answered(call: Callable[[], Any]) -> Any:
    while True:
        try:
            return await call()
        except grpc.aio.AioRpcError as error:
            assert error.code() == CODE.UNAVAILABLE, error
            await asyncio.sleep(0.02)


async def test_a_record_that_the_log_finds_too_large(tmp_path: Path) -> None:
    faults = Switch()
    log = MemoryBroker().log(faults)
    async with hall(tmp_path, open_log=lambda path: log) as running, table(running) as game:
        before = await game.clients[0].view(game.game_id)
        faults.fails = "large"
        assert (await failure(game.clients[0].submit(game.game_id, "1.0", t.Bid(1))))[0] == "RULES_FAILED"
        faults.fails = ""
        assert await game.clients[0].view(game.game_id) == before
        assert await game.clients[0].submit(game.game_id, "1.0", t.Bid(1)) == 2


async def test_a_full_log_is_said_and_nothing_is_done(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game:
        writer: Writer = running.hosts["tiny"].partition(game.game_id).writer
        writer._limits = Limits(max_in_flight=0)
        reason, code, _ = await failure(game.clients[0].submit(game.game_id, "1.0", t.Bid(1)))
        assert (reason, code) == ("LOG_BUSY", CODE.RESOURCE_EXHAUSTED)
        writer._limits = Limits()
        assert await game.clients[0].submit(game.game_id, "1.0", t.Bid(1)) == 2


async def test_a_caller_that_goes_away_leaves_its_command(tmp_path: Path) -> None:
    """Cancelled calls either count once or not at all, and the game's turn is given back."""
    async with hall(tmp_path) as running, table(running) as game:
        alice = game.clients[0]
        for number in range(60):
            command_id = f"c{number}"
            call = asyncio.create_task(alice.submit(game.game_id, "1.0", t.Bid(number % 3), command_id=command_id))
            await asyncio.sleep(0.0002 * (number % 7))
            call.cancel()
        version = await alice.submit(game.game_id, "1.0", t.Bid(0))
        versions = (await alice.call("ListEvents", game_id=game.game_id, page_size=1000)).versions
        assert len(versions) == version <= 62


class Gate(Faults):
    """A log whose appends wait to be let through, one by one."""

    def __init__(self) -> None:
        self.waiting: asyncio.Queue[asyncio.Event] = asyncio.Queue()
        self.closed = False

    async def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducerRecord],
        write: Callable[[ProducerRecord], AppendOutcome],
    ) -> Sequence[AppendOutcome]:
        if self.closed:
            gate = asyncio.Event()
            self.waiting.put_nowait(gate)
            await gate.wait()
        return [write(record) for record in records]


async def test_nobody_sees_what_is_not_in_the_log_yet(tmp_path: Path) -> None:
    gate = Gate()
    log = MemoryBroker().log(gate)
    async with hall(tmp_path, open_log=lambda path: log) as running, table(running) as game:
        gate.closed = True
        watching = game.clients[2].watch(game.game_id)
        assert (await watching.read()).version == 1
        heard = asyncio.create_task(watching.read())
        one = asyncio.create_task(game.clients[0].submit(game.game_id, "1.0", t.Bid(1)))
        first = await gate.waiting.get()
        two = asyncio.create_task(game.clients[1].submit(game.game_id, "1.1", t.Bid(1)))
        reads = [asyncio.create_task(client.legal(game.game_id)) for client in game.clients]
        await asyncio.sleep(0.1)
        assert not any(task.done() for task in (heard, one, two, *reads))
        assert [(await client.view(game.game_id)).game.version for client in game.clients] == [1, 1, 1]
        first.set()
        second = await gate.waiting.get()
        await asyncio.sleep(0.1)
        assert await one == 2 and (await heard).version == 2 and not two.done()
        assert all(not read.done() or read.result().version == 2 for read in reads)
        gate.closed = False
        second.set()
        assert await two == 3
        assert {(await read).version for read in reads} <= {2, 3}
        watching.cancel()
