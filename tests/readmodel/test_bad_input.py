"""What the read side is sent and must not take: each a typed error, limits held, nobody else slowed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest

from guildhall.host.hall import Hall
from guildhall.rpc.errors import error_info
from guildhall.rpc.limits import Limits
from tests.services.hall import Client, Table, failure, hall, table

CODE = grpc.StatusCode
STREAMS = 50
BEYOND = 2**64 - 1
"""What -1 becomes where versions are never below zero."""


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Hall]:
    async with hall(tmp_path, limits=Limits(streams=STREAMS)) as opened:
        yield opened


@pytest.fixture
async def game(running: Hall) -> AsyncIterator[Table]:
    async with table(running) as made:
        await made.play(Random(2), 6)
        yield made


def calls(client: Client, game_id: str) -> list[Any]:
    """Every way to read a game."""
    return [
        client.call("GetView", game_id=game_id),
        client.call("GetView", game_id=game_id, at_version=1),
        client.call("ListEvents", game_id=game_id),
        client.watch(game_id).read(),
        client.watch(game_id, events=True, after=0).read(),
        client.stream("GetRecords", game_id=game_id).read(),
    ]


async def test_a_foreign_game_and_one_that_never_was_are_told_apart_by_nothing(running: Hall, game: Table) -> None:
    async with Client(running.port, running.config.data, "eve", ("play",)) as eve:
        told = [[await failure(call) for call in calls(eve, name)] for name in (game.game_id, "nosuchgame", "", "\0")]
    assert told[0] == told[1]
    assert {(reason, code) for reason, code, _ in told[0]} == {("GAME_NOT_FOUND", CODE.NOT_FOUND)}
    assert all(code in (CODE.NOT_FOUND, CODE.INVALID_ARGUMENT) for some in told[2:] for _, code, _ in some)


async def test_a_foreign_seat_shows_nothing_of_itself(game: Table) -> None:
    """No request names a seat: who asks is the token's subject, and sees from its own."""
    for seat, client in enumerate(game.clients):
        view = await client.view(game.game_id)
        assert view.game.viewer_seat == seat
        message = await client.watch(game.game_id).read()
        assert message.view.game.viewer_seat == seat
        assert {decision.decision.seat for decision in message.decisions} <= {seat}


async def test_a_version_that_is_not_there_yet_is_waited_for_and_then_refused(game: Table) -> None:
    alice = game.clients[0]
    newest = (await alice.view(game.game_id)).game.version
    coming = asyncio.create_task(alice.call("GetView", game_id=game.game_id, min_version=newest + 1))
    await asyncio.sleep(0.05)
    assert not coming.done()
    await game.step(Random(3))
    assert (await coming).version == newest + 1
    for version in (newest + 100, BEYOND):
        call = alice.call("GetView", game_id=game.game_id, min_version=version, timeout=0.6)
        reason, code, metadata = await failure(call)
        assert (reason, code) == ("VERSION_NOT_REACHED", CODE.DEADLINE_EXCEEDED)
        assert metadata["version"] == str(newest + 1)


@pytest.mark.parametrize("version", [0, BEYOND])
async def test_versions_below_zero_and_zero_are_none(game: Table, version: int) -> None:
    alice = game.clients[0]
    call = alice.call("GetView", game_id=game.game_id, at_version=version, timeout=0.6)
    assert (await failure(call))[:2] == ("VERSION_OUT_OF_RANGE", CODE.OUT_OF_RANGE)
    if version:
        watching = alice.watch(game.game_id, after=version, timeout=0.6)
        assert (await failure(watching.read()))[:2] == ("VERSION_OUT_OF_RANGE", CODE.OUT_OF_RANGE)


async def test_page_tokens_of_others_and_forged_ones(running: Hall, game: Table) -> None:
    alice, bob = game.clients[:2]
    async with table(running) as other:
        await other.play(Random(4), 6)
        mine = (await alice.call("ListEvents", game_id=game.game_id, page_size=2)).next_page_token
        elsewhere = (await other.clients[0].call("ListEvents", game_id=other.game_id, page_size=2)).next_page_token
    assert mine and elsewhere
    attempts = [(bob, mine), (alice, elsewhere), (alice, mine[::-1]), (alice, "A" * 10_000)]
    random = Random(5)
    for _ in range(30):
        at = random.randrange(len(mine))
        sign = random.choice([letter for letter in "ABCabc012-_" if letter != mine[at]])
        attempts.append((alice, mine[:at] + sign + mine[at + 1 :]))
    for client, token in attempts:
        call = client.call("ListEvents", game_id=game.game_id, page_token=token)
        assert (await failure(call))[:2] == ("INVALID_PAGE_TOKEN", CODE.INVALID_ARGUMENT)
    assert (await alice.call("ListEvents", game_id=game.game_id, page_token=mine)).versions


async def test_a_token_that_expires_ends_its_streams_and_no_others(running: Hall, game: Table) -> None:
    async with Client(running.port, running.config.data, "alice", ttl=1.5) as short:
        streams = [short.watch(game.game_id), short.watch(game.game_id, events=True, after=0)]
        other = game.clients[1].watch(game.game_id)
        await other.read()
        for stream in streams:
            assert (await failure(_drained(stream)))[:2] == ("TOKEN_EXPIRED", CODE.UNAUTHENTICATED)
        version = await game.step(Random(6))
        assert (await other.read()).version == version


async def _drained(stream: Any) -> None:
    async for _ in stream:
        pass


async def test_a_thousand_streams_of_one_subject(game: Table) -> None:
    """It gets as many as are allowed; the rest are refused, and everybody else goes on."""
    alice, bob = game.clients[:2]
    beside = bob.watch(game.game_id)
    await beside.read()

    async def opened() -> Any:
        stream = alice.watch(game.game_id, timeout=60.0)
        try:
            return stream if await stream.read() else None
        except grpc.aio.AioRpcError as error:
            info = error_info(error)
            assert info is not None and error.code() is CODE.RESOURCE_EXHAUSTED
            return str(info.reason)

    opening = [asyncio.create_task(opened()) for _ in range(1_000)]
    version = await game.step(Random(7))
    message = await beside.read()
    while message.version != version:
        message = await beside.read()
    streams = await asyncio.gather(*opening)
    refused = [stream for stream in streams if isinstance(stream, str)]
    assert set(refused) <= {"TOO_MANY_STREAMS", "RATE_LIMITED"} and len(streams) - len(refused) == STREAMS
    await game.step(Random(8))
    assert (await bob.view(game.game_id)).game.version == version + 1
    for stream in streams:
        if not isinstance(stream, str):
            stream.cancel()
