"""A broker that does not answer: requests fail in time, memory stays bounded, and all goes on by itself."""

import asyncio
import signal
import time
from pathlib import Path
from random import Random

import grpc

from tests.kafka_broker import Broker
from tests.kernel.tiny.build import structs as t
from tests.services.hall import failure
from tests.services.rules_process import ready, replicas, rules_process, rules_processes

CODE = grpc.StatusCode


async def test_a_broker_that_sleeps(broker: Broker, tmp_path: Path) -> None:
    """For longer than the members' sessions."""
    async with (
        rules_processes(broker.bootstrap, tmp_path, 2) as processes,
        replicas(processes, tmp_path, Random(1), broker.bootstrap) as game,
    ):
        step = await game.step()
        assert step is not None
        broker.send(signal.SIGSTOP)
        try:
            until = time.monotonic() + 8.0
            while time.monotonic() < until:
                for port in game.ports:
                    alice = game.at(port)
                    calls = [
                        alice.call("ListLegalCommands", game_id=game.game_id, timeout=2.0),
                        alice.submit(game.game_id, "1.0", t.Bid(0), timeout=2.0),
                        alice.create(timeout=2.0),
                    ]
                    for reason, code, _ in await asyncio.gather(*map(failure, calls)):
                        assert code is CODE.UNAVAILABLE
                        assert reason in ("OUTCOME_UNKNOWN", "LOG_UNAVAILABLE", "OWNER_UNREACHABLE", "NOT_OWNER")
        finally:
            broker.send(signal.SIGCONT)
        assert await game.send(step) == step.version
        for _ in range(5):
            assert await game.step() is not None


async def test_more_requests_than_can_wait(broker: Broker, tmp_path: Path) -> None:
    """Beyond the bound they are refused at once, with nothing done."""
    async with (
        rules_processes(broker.bootstrap, tmp_path, 1) as processes,
        replicas(processes, tmp_path, Random(2), broker.bootstrap) as game,
    ):
        alice = game.at(game.ports[0])
        broker.send(signal.SIGSTOP)
        try:
            calls = [alice.submit(game.game_id, "1.0", t.Bid(n % 3), timeout=5.0) for n in range(200)]
            reasons = [reason for reason, *_ in await asyncio.gather(*map(failure, calls))]
        finally:
            broker.send(signal.SIGCONT)
        assert reasons.count("GAME_BUSY") >= 100
        assert set(reasons) <= {"GAME_BUSY", "OUTCOME_UNKNOWN", "LOG_UNAVAILABLE"}
        assert await game.step() is not None


async def test_a_broker_that_restarts(broker: Broker, tmp_path: Path) -> None:
    async with (
        rules_processes(broker.bootstrap, tmp_path, 2) as processes,
        replicas(processes, tmp_path, Random(3), broker.bootstrap) as game,
    ):
        steps = [step for _ in range(3) if (step := await game.step()) is not None]
        broker.kill()
        await asyncio.to_thread(broker.start)
        steps += [step for _ in range(3) if (step := await game.step()) is not None]
        for step in steps:
            assert await game.send(step) == step.version
        async with rules_process(broker.bootstrap, tmp_path) as third:
            await ready(third.port)
