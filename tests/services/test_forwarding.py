"""Requests that another hall has to answer, between two halls over one log."""

import asyncio
import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from guildhall.host import membership
from guildhall.host.hall import LOG_FILE, Hall
from guildhall.host.partition import Partition
from guildhall.log.errors import LogUnreadable
from guildhall.log.port import Claim
from guildhall.log.values import encode_claim
from guildhall.rpc import forwarding
from guildhall.rpc.identity import KEY_FILE, FixedKeys, existing_key, key_id, mint
from guildhall.telemetry.metrics import REGISTRY
from tests.kernel.tiny.build import structs as t
from tests.services.hall import ALL_SCOPES, Client, Table, failure, hall, table

CODE = grpc.StatusCode


async def until_stood_down(running: Hall) -> None:
    while running.hosts["tiny"].partitions:
        await asyncio.sleep(0.01)


async def test_the_owner_checks_the_callers_token_itself(tmp_path: Path) -> None:
    """Whoever is let in by one hall is not let in by the next one for that."""
    theirs = Ed25519PrivateKey.generate()
    keys = FixedKeys({key_id(theirs.public_key()): theirs.public_key()})
    async with hall(tmp_path) as older, table(older) as game, hall(tmp_path, keys=keys) as newer:
        await until_stood_down(older)
        alice = game.clients[0]
        assert (await failure(alice.legal(game.game_id)))[:2] == ("INVALID_TOKEN", CODE.UNAUTHENTICATED)
        assert (await failure((await playing(alice, game)).read()))[:2] == ("INVALID_TOKEN", CODE.UNAUTHENTICATED)
        async with Client(newer.port, tmp_path, "alice", token=mint(theirs, "alice", ("play",), 60.0)) as alice:
            assert (await alice.legal(game.game_id)).version == 1


async def playing(client: Client, game: Table) -> Any:
    """A Play stream that has named its game, with a command on its way."""
    stream = client.channel.stream_stream(client.path("Play"))(metadata=client.metadata)
    await stream.write(t.encode_PlayRequest(t.PlayRequest(game.game_id, "p", "1.0", t.Bid(0))))
    return stream


async def test_a_token_that_expires_ends_a_stream_that_was_passed_on(tmp_path: Path) -> None:
    async with hall(tmp_path) as older, table(older) as game, hall(tmp_path):
        await until_stood_down(older)
        async with Client(older.port, tmp_path, "alice", ALL_SCOPES, ttl=1.0) as alice:
            stream = await playing(alice, game)
            assert await stream.read()
            assert (await failure(stream.read()))[0] == "TOKEN_EXPIRED"


async def test_play_streams_end_with_a_hint_when_the_owner_changes(tmp_path: Path) -> None:
    """Also one at which nobody says anything; those that are passed on too."""
    async with hall(tmp_path) as one, table(one) as game:
        alice = game.clients[0]
        direct = await playing(alice, game)
        assert await direct.read()
        async with hall(tmp_path) as two:
            reason, code, metadata = await failure(direct.read())
            assert (reason, code, metadata["owner"]) == ("NOT_OWNER", CODE.UNAVAILABLE, f"127.0.0.1:{two.port}")
            through = await playing(alice, game)
            assert await through.read()
            async with hall(tmp_path) as three:
                reason, code, metadata = await failure(through.read())
                assert (reason, code) == ("NOT_OWNER", CODE.UNAVAILABLE)
                assert metadata["owner"] == f"127.0.0.1:{three.port}"


async def test_a_listing_goes_on_at_another_hall(tmp_path: Path) -> None:
    """One that has a key of its own."""
    async with hall(tmp_path) as older, table(older) as game:
        version = await game.play(Random(3), 5)
        alice = game.clients[0]
        token = (await alice.call("ListEvents", game_id=game.game_id, page_size=3)).next_page_token
        keys = FixedKeys({key_id(key): key for key in [existing_key(tmp_path).public_key()]})
        (tmp_path / KEY_FILE).unlink()
        async with hall(tmp_path, keys=keys) as newer:
            assert newer.key_id != older.key_id
            async with Client(newer.port, tmp_path, "alice", token=alice.token) as moved:
                rest = (await moved.call("ListEvents", game_id=game.game_id, page_token=token)).versions
            assert [batch.version for batch in rest] == list(range(4, version + 1))


GONE = encode_claim(Claim("gone", "127.0.0.1:1"))


def claimed(data: Path, claim: bytes) -> None:
    """Every partition is claimed by somebody else."""
    with sqlite3.connect(data / LOG_FILE) as log:
        log.execute(
            """INSERT INTO records SELECT topic, partition, max("offset") + 1, '', ? FROM records
            WHERE topic = 'guildhall.tiny.events' GROUP BY partition""",
            (claim,),
        )
    log.close()


async def test_an_owner_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said in time, with who it is; when it is given up for dead, the hall claims again."""
    monkeypatch.setattr(forwarding, "LONGEST_WAIT_FOR_OWNER", 0.3)
    monkeypatch.setattr(membership, "MISSED", 4)
    async with hall(tmp_path) as running, table(running) as game:
        claimed(tmp_path, GONE)
        await until_stood_down(running)
        for call in (
            game.clients[0].legal(game.game_id),
            game.clients[0].submit(game.game_id, "1.0", t.Bid(0)),
            (await playing(game.clients[0], game)).read(),
        ):
            reason, code, metadata = await failure(call)
            assert (reason, code) == ("OWNER_UNREACHABLE", CODE.UNAVAILABLE)
            assert metadata["owner"] == "127.0.0.1:1"
        while not running.hosts["tiny"].partitions:
            await asyncio.sleep(0.05)
        monkeypatch.setattr(forwarding, "LONGEST_WAIT_FOR_OWNER", 10.0)
        assert await game.play(Random(1), 3) == 4


async def test_whether_a_command_would_be_accepted_only_the_owner_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that does not know yet that it is none finds out before it says yes."""
    monkeypatch.setattr(forwarding, "LONGEST_WAIT_FOR_OWNER", 0.3)
    monkeypatch.setattr(membership, "MISSED", 4)
    async with hall(tmp_path) as running, table(running) as game:
        asked = {"validate_only": True, "command_id": "may-i"}
        assert await game.clients[0].submit(game.game_id, "1.0", t.Bid(0), **asked) == 1
        claimed(tmp_path, GONE)
        reason, _, metadata = await failure(game.clients[0].submit(game.game_id, "1.0", t.Bid(0), **asked))
        assert (reason, metadata) == ("OWNER_UNREACHABLE", {"owner": "127.0.0.1:1"})


async def test_a_partition_that_failed_is_not_taken_for_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks this hall again and again, and whoever claims it is found."""
    monkeypatch.setattr(forwarding, "LONGEST_WAIT_FOR_OWNER", 0.3)

    async def spoilt(*_: object) -> None:
        raise LogUnreadable("tiny", "spoilt")

    async with hall(tmp_path) as running, table(running) as game:
        partition = running.hosts["tiny"].partition(game.game_id)
        monkeypatch.setattr(partition.writer, "_listener", lambda verdict: 1 / 0)
        monkeypatch.setattr(Partition, "fold", spoilt)
        await failure(game.clients[0].submit(game.game_id, "1.0", t.Bid(0)))
        await asyncio.sleep(1.0)
        assert (await failure(game.clients[0].legal(game.game_id, timeout=5.0)))[0] == "NOT_OWNER"


async def test_an_owner_that_has_not_heard_of_its_claim_yet_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may read a claim before whoever made it."""
    async with hall(tmp_path) as older, table(older) as game, hall(tmp_path) as newer:
        await until_stood_down(older)
        host = newer.hosts["tiny"]
        partition, asked = host.partition, 0

        def not_yet(game_id: str) -> Partition:
            nonlocal asked
            asked += 1
            if asked <= 3:
                raise forwarding.Elsewhere("tiny/0", None)
            return partition(game_id)

        monkeypatch.setattr(host, "partition", not_yet)
        assert await game.clients[0].submit(game.game_id, "1.0", t.Bid(0)) == 2
        assert asked == 4


async def test_a_request_waits_for_the_new_owner(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game:
        claimed(tmp_path, GONE)
        await until_stood_down(running)
        assert await game.clients[0].submit(game.game_id, "1.0", t.Bid(0)) == 2


async def test_too_many_that_wait_for_an_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "MAX_WAITING", 0)
    async with hall(tmp_path) as running, table(running) as game:
        claimed(tmp_path, b"\xff")  # by nobody knows whom
        await until_stood_down(running)
        reason, code, _ = await failure(game.clients[0].legal(game.game_id))
        assert (reason, code) == ("HALL_BUSY", CODE.RESOURCE_EXHAUSTED)


async def test_what_is_passed_on_is_counted(tmp_path: Path) -> None:
    def counted(reason: str) -> float:
        labels = {"method": "guildhall.tiny.v1.RulesService/ListLegalCommands", "reason": reason}
        return REGISTRY.get_sample_value("guildhall_forwarded_total", labels) or 0.0

    async with hall(tmp_path) as older, table(older) as game, hall(tmp_path):
        await until_stood_down(older)
        ok, refused = counted("OK"), counted("GAME_NOT_FOUND")
        await game.clients[0].legal(game.game_id)
        await failure(game.clients[0].legal("x" * 26))
        assert (counted("OK"), counted("GAME_NOT_FOUND")) == (ok + 1, refused + 1)


async def test_a_drain_ends_what_is_passed_on(tmp_path: Path) -> None:
    async with hall(tmp_path) as older, table(older) as game, hall(tmp_path):
        await until_stood_down(older)
        stream = await playing(game.clients[0], game)
        assert await stream.read()
        ended = asyncio.create_task(failure(stream.read()))
        await asyncio.sleep(0.1)
        await older.stop()
        assert (await ended)[:2] == ("SHUTTING_DOWN", CODE.UNAVAILABLE)


async def test_a_caller_that_goes_away_leaves_nothing_behind(tmp_path: Path) -> None:
    async with hall(tmp_path) as older, table(older) as game, hall(tmp_path) as newer:
        await until_stood_down(older)
        stream = await playing(game.clients[0], game)
        assert await stream.read()
        streams = newer.hosts["tiny"].partition(game.game_id)._streams
        assert len(streams) == 1
        stream.cancel()
        while streams:
            await asyncio.sleep(0.01)
