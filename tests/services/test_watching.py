"""Streams: nothing left out, nothing twice, whatever is cut; and what they tell is what the views show."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest

from guildhall.host.hall import Hall
from guildhall.kernel.v1.structs import Undo, Undone
from guildhall.rpc import stalls
from guildhall.rpc.errors import error_info
from guildhall.telemetry import metrics
from services.views.watch import WatchLimits
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import RULES
from tests.services.hall import Client, Table, failure, followed, hall, table
from tests.services.viewer import Viewer, unshared

CODE = grpc.StatusCode


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Hall]:
    async with hall(tmp_path, watching=WatchLimits(heartbeat_seconds=0.2)) as started:
        yield started


@pytest.fixture
async def game(running: Hall) -> AsyncIterator[Table]:
    async with table(running) as made:
        yield made


async def follow(client: Client, game_id: str, until: asyncio.Future[int], random: Random, events: bool) -> list[Any]:
    """Everything told to a client that is cut off at random and resumes after what it has, until a version."""
    told: list[Any] = []
    last = 0
    while not (until.done() and last >= until.result()):
        call = client.watch(game_id, events=events, after=last)
        wanted = random.randint(1, 5)
        got = 0
        async for message in call:
            if message.heartbeat is not None:
                assert message.version == last
                if until.done() and last >= until.result():
                    break
                continue
            assert message.version == last + 1, "a version is left out or told twice"
            last = message.version
            told.append(message)
            got += 1
            if got == wanted:
                break
        call.cancel()
    return told


@pytest.mark.parametrize("events", [True, False])
async def test_a_stream_cut_at_random_tells_the_history(game: Table, running: Hall, events: bool) -> None:
    done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    sam = Client(running.port, running.config.data, "sam", ("spectate",))
    viewers = [*game.clients, sam]
    following = [
        asyncio.create_task(follow(client, game.game_id, done, Random(n), events)) for n, client in enumerate(viewers)
    ]
    done.set_result(await game.play(Random(7), 60))
    for client, told in zip(viewers, await asyncio.gather(*following), strict=True):
        listed = (await client.call("ListEvents", game_id=game.game_id, page_size=1000)).versions
        assert [message.version for message in told] == [batch.version for batch in listed]
        for message, batch in zip(told, listed, strict=True):
            if message.events is not None:
                assert message.events == batch
            else:
                assert message.view == await client.view(game.game_id, at_version=message.version)
            undone = any(type(event) is Undone for event in batch.events)
            assert (message.view is not None) is (undone or not events)
    await sam.channel.close()


async def test_folding_the_events_gives_the_view(game: Table, running: Hall) -> None:
    """Each seat and a spectator, at every version."""
    random = Random(8)
    sam = Client(running.port, running.config.data, "sam", ("spectate",))
    for _ in range(40):  # no undo: after one a client takes the whole view
        view = await game.clients[0].view(game.game_id)
        if view.game.ended is not None:
            break
        seat = random.choice(view.game.waiting_for).seat
        [decision] = (await game.clients[seat].legal(game.game_id)).decisions
        command = random.choice([c for c in decision.commands if type(c) is not Undo])
        await game.clients[seat].submit(game.game_id, decision.decision.id, command)
    for seat, client in [*enumerate(game.clients), (None, sam)]:
        viewer = Viewer(RULES, seat)
        for batch in (await client.call("ListEvents", game_id=game.game_id, page_size=1000)).versions:
            viewer.take(batch)
            assert viewer.view() == unshared(await client.view(game.game_id, at_version=batch.version))
    await sam.channel.close()


async def test_the_first_message_is_the_whole_view_with_what_is_open(game: Table) -> None:
    alice = game.clients[0]
    for events in (False, True):
        first = await alice.watch(game.game_id, events=events).read()
        assert first.view == await alice.view(game.game_id)
        assert [d.seat for d in first.waiting_for] == [0, 1, 2]
        assert first.decisions == (await alice.legal(game.game_id)).decisions


async def test_decisions_stand_beside_the_newest_version_only(game: Table) -> None:
    version = await game.play(Random(9), 10)
    call = game.clients[0].watch(game.game_id, events=True, after=0)
    for expected in range(1, version + 1):
        message = await call.read()
        assert message.version == expected
        assert bool(message.waiting_for) is (expected == version)
    call.cancel()


async def test_a_resumed_stream_with_nothing_new_tells_what_is_open(game: Table) -> None:
    call = game.clients[0].watch(game.game_id, after=1)
    message = await call.read()
    assert message.heartbeat is not None and message.version == 1
    assert message.decisions == (await game.clients[0].legal(game.game_id)).decisions
    call.cancel()


async def test_heartbeats_carry_the_last_version(game: Table) -> None:
    call = game.clients[0].watch(game.game_id)
    assert (await call.read()).version == 1
    for _ in range(2):
        beat = await call.read()
        assert beat.heartbeat is not None and beat.version == 1 and beat.view is None and not beat.decisions
    await game.clients[0].submit(game.game_id, "1.0", t.Bid(0))
    while (message := await call.read()).heartbeat is not None:
        pass
    assert message.version == 2
    call.cancel()


async def test_a_stream_ends_with_its_game(game: Table) -> None:
    call = game.clients[0].watch(game.game_id)
    version = await game.play(Random(10))
    messages = [message async for message in call if message.heartbeat is None]
    assert messages[-1].version == version and messages[-1].view.game.ended is not None
    assert await call.code() == CODE.OK
    over = [message async for message in game.clients[0].watch(game.game_id, events=True, after=version - 2)]
    assert [message.version for message in over] == [version - 1, version]


SMALL_BUFFERS = [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1024)]


async def test_a_slow_watcher_is_dropped_with_a_hint(tmp_path: Path) -> None:
    """A client that does not read: when what gRPC buffers for it is full, its queue fills, and the stream ends."""
    async with hall(tmp_path, watching=WatchLimits(queue=4)) as running, table(running) as game:
        alice, bob = game.clients[:2]
        slow = Client(running.port, tmp_path, "carol", options=SMALL_BUFFERS)
        call = slow.watch(game.game_id)
        assert (await call.read()).version == 1
        watchers = (await followed(running, game.game_id)).watchers
        version = 1
        while watchers:
            assert version < 20_000, "nobody dropped the watcher"
            version = await alice.submit(game.game_id, "1.0", t.Bid(version % 3))
        seen = [1]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            while (message := await call.read()) is not grpc.aio.EOF:
                seen.append(message.version)
        info = error_info(caught.value)
        assert info is not None and info.reason == "SLOW_WATCHER" and caught.value.code() == CODE.UNAVAILABLE
        # What came before the cut is whole, and the stream can be resumed there.
        assert seen == list(range(1, len(seen) + 1)) and len(seen) < version
        again = alice.watch(game.game_id, after=seen[-1])
        assert (await again.read()).version == seen[-1] + 1
        again.cancel()
        assert (await bob.view(game.game_id)).game.version == version
        await slow.channel.close()


@pytest.mark.parametrize("why", ["SLOW_WATCHER", "TOKEN_EXPIRED"])
async def test_a_stream_that_nobody_reads_ends_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """It waits for its client, and the client for nothing: it may not keep its place for that."""
    monkeypatch.setattr(stalls, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(stalls, "STALLED_SECONDS", 1.0 if why == "SLOW_WATCHER" else 3600.0)
    async with hall(tmp_path, watching=WatchLimits(queue=4)) as running, table(running) as game:
        open_streams = metrics.STREAMS.labels("guildhall.tiny.v1.ViewService/WatchView")._value
        ttl = 3600.0 if why == "SLOW_WATCHER" else 5.0
        idle = Client(running.port, tmp_path, "carol", options=SMALL_BUFFERS, ttl=ttl)
        call = idle.watch(game.game_id, timeout=None)
        assert (await call.read()).version == 1
        watchers = (await followed(running, game.game_id)).watchers
        version = 1
        while watchers:
            assert version < 20_000, "nobody dropped the watcher"
            version = await game.clients[0].submit(game.game_id, "1.0", t.Bid(version % 3))
        async with asyncio.timeout(60.0):
            while open_streams.get():
                await asyncio.sleep(0.02)
        # Whoever reads on after all is told.
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            while await call.read() is not grpc.aio.EOF:
                pass
        info = error_info(caught.value)
        assert info is not None and info.reason == why
        reading = game.clients[1].watch(game.game_id)
        assert (await reading.read()).version == version
        reading.cancel()
        await idle.channel.close()


async def drain(call: Any) -> None:
    while await call.read() is not grpc.aio.EOF:
        pass


async def test_streams_end_when_the_token_does(running: Hall, game: Table) -> None:
    async with Client(running.port, running.config.data, "alice", ttl=1.0) as alice:
        watching = alice.watch(game.game_id)
        playing = alice.channel.stream_stream(alice.path("Play"))(metadata=alice.metadata)
        assert (await failure(drain(watching)))[:2] == ("TOKEN_EXPIRED", CODE.UNAUTHENTICATED)
        assert (await failure(drain(playing)))[:2] == ("TOKEN_EXPIRED", CODE.UNAUTHENTICATED)


async def test_streams_end_when_the_hall_does(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game:
        alice = game.clients[0]
        watching = alice.watch(game.game_id)
        await watching.read()
        playing = alice.channel.stream_stream(alice.path("Play"))(metadata=alice.metadata)
        request = t.PlayRequest(game.game_id, "p1", "1.0", t.Bid(0))
        await playing.write(t.encode_PlayRequest(request))
        assert await playing.read()
        assert (await watching.read()).version == 2
        await running.stop()
        reason, code, metadata = await failure(drain(watching))
        assert (reason, code) == ("SHUTTING_DOWN", CODE.UNAVAILABLE) and metadata["after_version"] == "2"
        assert (await failure(drain(playing)))[:2] == ("SHUTTING_DOWN", CODE.UNAVAILABLE)


async def test_the_play_stream(running: Hall, game: Table) -> None:
    from guildhall.tiny.v1.rules_service_pb2 import PlayResponse  # generated when the tiny game is imported

    alice = game.clients[0]
    call = alice.channel.stream_stream(alice.path("Play"))(metadata=alice.metadata)

    async def play(data: bytes) -> Any:
        await call.write(data)
        return PlayResponse.FromString(await call.read())

    def request(**fields: Any) -> bytes:
        return bytes(t.encode_PlayRequest(t.PlayRequest(**fields)))

    bid = {"decision_id": "1.0", "command": t.Bid(1)}
    assert b"MALFORMED_MESSAGE" in (await play(request(command_id="a", **bid))).error.SerializeToString()
    answer = await play(request(game_id=game.game_id, command_id="a", **bid))
    assert (answer.command_id, answer.version) == ("a", 2)
    assert (await play(request(command_id="a", **bid))).version == 2
    refused = await play(request(command_id="b", decision_id="1.0", command=t.Bid(99)))
    assert refused.command_id == "b" and refused.error.code == CODE.FAILED_PRECONDITION.value[0]
    assert b"MALFORMED_MESSAGE" in (await play(b"\xff\xff")).error.SerializeToString()
    assert b"GAME_ID_CHANGED" in (await play(request(game_id="x", command_id="c", **bid))).error.SerializeToString()
    assert (await play(request(command_id="d", decision_id="1.0", command=t.Bid(0)))).version == 3
    await call.done_writing()
    assert await call.code() == CODE.OK


async def test_a_pipelined_play_stream_keeps_its_order(game: Table) -> None:
    from guildhall.tiny.v1.rules_service_pb2 import PlayResponse

    alice = game.clients[0]
    call = alice.channel.stream_stream(alice.path("Play"))(metadata=alice.metadata)
    for n in range(20):
        asked = t.PlayRequest(game.game_id, f"p{n}", "1.0", t.Bid(n % 3))
        await call.write(t.encode_PlayRequest(asked))
    answers = [PlayResponse.FromString(await call.read()) for _ in range(20)]
    assert [answer.command_id for answer in answers] == [f"p{n}" for n in range(20)]
    assert [answer.version for answer in answers] == list(range(2, 22))
    call.cancel()


async def test_a_watcher_hears_every_version_as_it_comes(game: Table) -> None:
    call = game.clients[2].watch(game.game_id, events=True)

    async def listen() -> list[int]:
        return [message.version async for message in call if message.heartbeat is None]

    listening = asyncio.create_task(listen())
    last = await game.play(Random(11))
    assert await listening == list(range(1, last + 1))


async def test_after_an_undo_an_event_stream_sends_the_whole_view(game: Table) -> None:
    for seat in range(3):
        await game.clients[seat].submit(game.game_id, f"1.{seat}", t.Bid(2 - seat))
    live = game.clients[1].watch(game.game_id, events=True)
    await live.read()
    await game.clients[0].submit(game.game_id, "4.0", t.Mark())
    await game.clients[0].submit(game.game_id, "5.0", Undo())
    resumed = game.clients[1].watch(game.game_id, events=True, after=4)
    for call in (live, resumed):
        marked, undone = [await read_version(call) for _ in range(2)]
        assert (marked.version, undone.version) == (5, 6)
        assert marked.events is not None and undone.events is None
        assert undone.view == await game.clients[1].view(game.game_id)
        call.cancel()


async def read_version(call: Any) -> Any:
    while (message := await call.read()).heartbeat is not None:
        pass
    return message
