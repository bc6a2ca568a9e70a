"""Owners that are killed, stopped, paused or joined: what was acknowledged stays, and games go on by themselves."""

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import grpc

from guildhall.kernel.verify import verify
from guildhall.log import topics
from guildhall.log.fold import Effective, FoldState, Verdict
from guildhall.log.kafka import open_kafka
from guildhall.log.port import Log, Record, partition_of
from guildhall.log.reader import fold_to_end
from guildhall.log.recovery import open_store
from guildhall.log.snapshots import checkpoint_key, decode_checkpoint
from tests.kafka_broker import Broker
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import RULES
from tests.services.hall import failure
from tests.services.rules_process import (
    Replicas,
    Step,
    owner_of,
    ready,
    replicas,
    rules_process,
    rules_processes,
    until_spread,
)

CODE = grpc.StatusCode


async def playing(game: Replicas, steps: list[Step], stop: asyncio.Event) -> None:
    """Plays until told to stop; notes what was acknowledged."""
    while not stop.is_set():
        step = await game.step()
        if step is None:
            return
        steps.append(step)
        await asyncio.sleep(0.02)


async def check(game: Replicas, steps: list[Step]) -> None:
    """Every acknowledged command is there once, and a retry through any process gives the version that was told."""
    for step in steps:
        assert await game.send(step) == step.version
    assert len({step.version for step in steps}) == len(steps)
    while await game.step() is not None:
        pass
    verify(RULES, await in_log(game.bootstrap, game.game_id))


async def in_log(bootstrap: str, game_id: str) -> list[tuple[bytes, bytes]]:
    """Body and hash of the game's effective records."""
    found: list[tuple[bytes, bytes]] = []

    def take(verdict: Verdict) -> None:
        if isinstance(verdict, Effective) and verdict.aggregate_id == game_id:
            found.append((verdict.entry.body, verdict.entry.hash))

    log = open_kafka(bootstrap, single_broker_not_durable=True)
    try:
        topic = await log.events(topics.events(RULES.game))
        await fold_to_end(topic, partition_of(game_id, topic.partitions), FoldState(), take)
    finally:
        await log.close()
    return found


async def playing_through(game: Replicas, port: int, seat: int) -> Any:
    """A Play stream that has named its game, and was told that its command comes too late."""
    client = game.at(port, seat)
    stream = client.channel.stream_stream(client.path("Play"))(metadata=client.metadata, timeout=60.0)
    request = t.PlayRequest(game.game_id, "late", f"999.{seat}", t.Bid(0))
    await stream.write(t.encode_PlayRequest(request))
    assert await stream.read()
    return stream


async def test_kill_9_of_an_owner(broker: Broker, tmp_path: Path) -> None:
    """A stream through another process ends with a hint when somebody else has claimed."""
    async with rules_processes(broker.bootstrap, tmp_path, 3) as processes:
        await until_spread(broker.bootstrap, processes)
        async with replicas(processes, tmp_path, Random(5), broker.bootstrap) as game:
            owner = await owner_of(broker.bootstrap, game.game_id, processes)
            others = [process for process in processes if process is not owner]
            game.ports = [process.port for process in others]
            steps: list[Step] = []
            stop = asyncio.Event()
            task = asyncio.create_task(playing(game, steps, stop))
            through = await playing_through(game, others[0].port, 0)
            while len(steps) < 3:
                await asyncio.sleep(0.02)
            await owner.end(signal.SIGKILL)
            before = len(steps)
            reason, code, _ = await failure(read_on(through))
            assert code is CODE.UNAVAILABLE and reason in ("OWNER_UNREACHABLE", "NOT_OWNER")
            while len(steps) < before + 3 and not task.done():
                await asyncio.sleep(0.05)
            stop.set()
            await task
            assert await owner_of(broker.bootstrap, game.game_id, others) in others
            await check(game, steps)


async def read_on(call: Any) -> None:
    while await call.read() is not grpc.aio.EOF:
        pass


async def test_sigterm_drains_and_the_others_go_on(broker: Broker, tmp_path: Path) -> None:
    """Streams end with a reason to open them again, whether the others have taken over by then or not yet."""
    async with rules_processes(broker.bootstrap, tmp_path, 3) as processes:
        await until_spread(broker.bootstrap, processes)
        async with replicas(processes, tmp_path, Random(6), broker.bootstrap) as game:
            owner = await owner_of(broker.bootstrap, game.game_id, processes)
            others = [process for process in processes if process is not owner]
            steps: list[Step] = []
            stop = asyncio.Event()
            task = asyncio.create_task(playing(game, steps, stop))
            direct = await playing_through(game, owner.port, 1)
            through = await playing_through(game, others[0].port, 2)
            ends = [asyncio.create_task(failure(read_on(call))) for call in (direct, through)]
            assert await owner.end(signal.SIGTERM) == 0
            for end in ends:
                reason, code, _ = await end
                assert code is CODE.UNAVAILABLE and reason in ("NOT_OWNER", "SHUTTING_DOWN")
            game.ports = [process.port for process in others]
            before = len(steps)
            while len(steps) < before + 3 and not task.done():
                await asyncio.sleep(0.02)
            stop.set()
            await task
            await until_spread(broker.bootstrap, others)
            await check(game, steps)


async def test_one_more_takes_its_share(broker: Broker, tmp_path: Path) -> None:
    """Whoever has a partition serves it until the new one has claimed it."""
    async with (
        rules_processes(broker.bootstrap, tmp_path, 2) as processes,
        replicas(processes, tmp_path, Random(7), broker.bootstrap) as one,
        replicas(processes, tmp_path, Random(8), broker.bootstrap) as two,
    ):
        games = (one, two)
        steps: tuple[list[Step], list[Step]] = ([], [])
        stop = asyncio.Event()
        tasks = [asyncio.create_task(playing(game, done, stop)) for game, done in zip(games, steps, strict=True)]
        async with rules_process(broker.bootstrap, tmp_path) as third:
            await ready(third.port)
            await until_spread(broker.bootstrap, [*processes, third])
            async with replicas([*processes, third], tmp_path, Random(9), broker.bootstrap) as three:
                assert await three.step() is not None
            stop.set()
            await asyncio.gather(*tasks)
            for game, done in zip(games, steps, strict=True):
                await check(game, done)


async def test_an_owner_that_was_paused_stands_down(broker: Broker, tmp_path: Path) -> None:
    """For longer than its session: others take over, it acknowledges nothing of its own, and passes on."""
    async with rules_processes(broker.bootstrap, tmp_path, 2) as processes:
        await until_spread(broker.bootstrap, processes)
        async with replicas(processes, tmp_path, Random(10), broker.bootstrap) as game:
            owner = await owner_of(broker.bootstrap, game.game_id, processes)
            [other] = [process for process in processes if process is not owner]
            first = await game.step()
            assert first is not None
            owner.process.send_signal(signal.SIGSTOP)
            try:
                game.ports = [other.port]
                steps = [first, *[step for _ in range(3) if (step := await game.step()) is not None]]
                asked = asyncio.create_task(game.at(owner.port).legal(game.game_id, timeout=60.0))
                await asyncio.sleep(0.5)
            finally:
                owner.process.send_signal(signal.SIGCONT)
            # Asked while it slept, it wakes, finds another's claim, and answers what is so now.
            assert (await asked).version >= steps[-1].version
            game.ports = [process.port for process in processes]
            await until_spread(broker.bootstrap, processes)
            await check(game, steps)


async def told_by(game: Replicas) -> list[Any]:
    """What every seat can do, and at which version."""
    return [await game.at(game.ports[0], seat).legal(game.game_id) for seat in range(game.seats)]


async def test_states_are_found_again(broker: Broker, tmp_path: Path) -> None:
    """Snapshots, checkpoints and markers lie in their topics when a drain is over, and a start begins with them: both
    games tell the same, finished and live, and know their commands.
    """
    async with rules_processes(broker.bootstrap, tmp_path, 1) as processes:
        async with (
            replicas(processes, tmp_path, Random(11), broker.bootstrap) as live,
            replicas(processes, tmp_path, Random(12), broker.bootstrap) as finished,
        ):
            steps = [step for _ in range(5) if (step := await live.step()) is not None]
            last: list[Step] = []
            while (step := await finished.step()) is not None:
                last.append(step)
            games = (live, finished)
            told = [await told_by(game) for game in games]
        assert await processes[0].end(signal.SIGTERM) == 0
    log = open_kafka(broker.bootstrap, single_broker_not_durable=True)
    try:
        store = await open_store(log, "tiny")
        numbers = [partition_of(game.game_id, store.events.partitions) for game in games]
        snapshots = await store.snapshots.scan(numbers[0])
        assert any(record.key.startswith(f"{live.game_id}/") for record in snapshots)
        assert await store.markers.get(numbers[1], finished.game_id) is not None
        checkpoint = await store.checkpoints.get(numbers[0], checkpoint_key(numbers[0]))
        assert checkpoint is not None
        known = decode_checkpoint(checkpoint)
        assert known.seqs[live.game_id] == steps[-1].version
        assert known.position.next_offset == await store.events.end_offset(numbers[0])
        assert any(record.key == f"tiny/{RULES.pack_hash.hex()}" for record in await packs(log))
    finally:
        await log.close()
    async with rules_processes(broker.bootstrap, tmp_path, 1) as processes:
        for before, accepted, legal in zip(games, (steps, last), told, strict=True):
            again = Replicas([process.port for process in processes], tmp_path, Random(13), broker.bootstrap)
            again.game_id = before.game_id
            assert await told_by(again) == legal
            await check(again, accepted)
            await again.close()


async def packs(log: Log) -> Sequence[Record]:
    return await (await log.compacted(topics.PACKS, 1)).scan(0)
