"""What a request may not do: each a typed error from the table, in the order of the checks, with nothing changed."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest

from guildhall.host.hall import Hall
from guildhall.kernel.frames import Choice
from guildhall.kernel.rules import Choosable
from guildhall.kernel.v1.structs import Clock, Undo
from guildhall.rpc.errors import Failure
from guildhall.rpc.limits import Limits
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import RULES, BidAll
from tests.services.hall import ALL_SCOPES, SEATS, Answered, Client, Table, failure, followed, hall, table

CODE = grpc.StatusCode


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Hall]:
    async with hall(tmp_path) as started:
        yield started


@pytest.fixture
async def game(running: Hall) -> AsyncIterator[Table]:
    async with table(running) as made:
        yield made


def caller(running: Hall, subject: str, *scopes: str, **changes: Any) -> Client:
    return Client(running.port, running.config.data, subject, scopes or ("play", "spectate"), **changes)


def records(running: Hall, game_id: str) -> int:
    """Records of the game in the log."""
    return len(running.hosts["tiny"].partition(game_id).hosted[game_id].offsets)


# --- who is calling


@pytest.mark.parametrize("method", ["GetView", "SubmitCommand", "ListLegalCommands", "ListEvents", "ResignSeat"])
async def test_nobody_gets_in_without_a_token(running: Hall, method: str) -> None:
    async with caller(running, "alice", token="") as client:
        assert (await failure(client.raw(method, b"")))[:2] == ("NO_TOKEN", CODE.UNAUTHENTICATED)
    async with caller(running, "alice", token="not.a.token") as client:
        assert (await failure(client.raw(method, b"")))[:2] == ("INVALID_TOKEN", CODE.UNAUTHENTICATED)


async def test_a_token_of_another_hall_is_refused(running: Hall, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    async with hall(other), Client(running.port, other, "alice") as client:
        assert (await failure(client.create()))[0] == "INVALID_TOKEN"


async def test_an_expired_token_is_refused(running: Hall) -> None:
    async with caller(running, "alice", ttl=-1.0) as client:
        assert (await failure(client.create()))[:2] == ("TOKEN_EXPIRED", CODE.UNAUTHENTICATED)


# --- which game


async def test_a_game_that_does_not_exist(running: Hall) -> None:
    async with caller(running, "alice") as client:
        for call in (
            client.view("nowhere"),
            client.legal("nowhere"),
            client.submit("nowhere", "1.0", Undo()),
            client.call("ResignSeat", game_id="nowhere", command_id="x"),
            client.call("ListEvents", game_id=""),
            client.watch("nowhere").read(),
            client.stream("GetRecords", game_id="nowhere").read(),
        ):
            assert (await failure(call))[:2] == ("GAME_NOT_FOUND", CODE.NOT_FOUND)


async def test_a_stranger_sees_no_game(game: Table, running: Hall) -> None:
    async with caller(running, "mallory", "play", "seat") as stranger:
        for call in (
            stranger.view(game.game_id),
            stranger.legal(game.game_id),
            stranger.submit(game.game_id, "1.0", t.Bid(0)),
            stranger.call("ResignSeat", game_id=game.game_id, command_id="x"),
            stranger.call("ListEvents", game_id=game.game_id),
            stranger.watch(game.game_id).read(),
            stranger.stream("GetRecords", game_id=game.game_id).read(),
        ):
            assert (await failure(call))[:2] == ("GAME_NOT_FOUND", CODE.NOT_FOUND)


async def test_spectators_only_read(game: Table, running: Hall) -> None:
    async with caller(running, "sam", "spectate") as spectator:
        view = await spectator.view(game.game_id)
        assert view.game.viewer_seat is None and view.hand == ()
        assert (await spectator.legal(game.game_id)).decisions == ()
        assert (await failure(spectator.submit(game.game_id, "1.0", t.Bid(0))))[:2] == (
            "NO_SEAT",
            CODE.PERMISSION_DENIED,
        )
        resigning = spectator.call("ResignSeat", game_id=game.game_id, command_id="x")
        assert (await failure(resigning))[0] == "NO_SEAT"


async def test_a_game_without_spectators_is_not_there_for_them(running: Hall) -> None:
    async with table(running, no_spectators=True) as game, caller(running, "sam", "spectate", "operate") as spectator:
        assert (await failure(spectator.view(game.game_id)))[0] == "GAME_NOT_FOUND"


async def test_a_seat_needs_the_scope_play(game: Table, running: Hall) -> None:
    async with caller(running, "alice", "spectate") as client:
        assert (await client.view(game.game_id)).game.viewer_seat is None
        reason, code, metadata = await failure(client.legal(game.game_id))
        assert (reason, code, metadata) == ("MISSING_SCOPE", CODE.PERMISSION_DENIED, {"scope": "play"})
    async with table(running, no_spectators=True) as hidden, caller(running, "alice", "spectate") as client:
        assert (await failure(client.view(hidden.game_id)))[0] == "GAME_NOT_FOUND"
    async with caller(running, "alice", "seat") as client:
        assert (await failure(client.view(game.game_id)))[0] == "MISSING_SCOPE"


# --- creating


@pytest.mark.parametrize(
    ("fields", "reason", "code"),
    [
        ({"subjects": ("alice",)}, "WRONG_PLAYER_COUNT", CODE.INVALID_ARGUMENT),
        ({"subjects": tuple("abcdefg")}, "WRONG_PLAYER_COUNT", CODE.INVALID_ARGUMENT),
        ({"subjects": ()}, "WRONG_PLAYER_COUNT", CODE.INVALID_ARGUMENT),
        ({"subjects": ("alice", "alice")}, "DUPLICATE_SUBJECT", CODE.INVALID_ARGUMENT),
        ({"subjects": ("alice", "")}, "INVALID_SUBJECT", CODE.INVALID_ARGUMENT),
        ({"subjects": ("alice", "guildhall:clock")}, "INVALID_SUBJECT", CODE.INVALID_ARGUMENT),
        ({"rulings": (("nonsense", "1"),)}, "UNKNOWN_RULING", CODE.INVALID_ARGUMENT),
        ({"rulings": (("steal", "7"),)}, "INVALID_RULING", CODE.INVALID_ARGUMENT),
        ({"options": (("nonsense", "1"),)}, "UNKNOWN_OPTION", CODE.INVALID_ARGUMENT),
        ({"seed": b"short"}, "INVALID_SEED", CODE.INVALID_ARGUMENT),
        ({"clock": Clock(10)}, "INVALID_CLOCK", CODE.INVALID_ARGUMENT),
        ({"command_id": ""}, "INVALID_COMMAND_ID", CODE.INVALID_ARGUMENT),
        ({"command_id": "x" * 65}, "INVALID_COMMAND_ID", CODE.INVALID_ARGUMENT),
    ],
)
@pytest.mark.parametrize("validate_only", [False, True])
async def test_what_cannot_be_created(
    running: Hall, fields: dict[str, Any], reason: str, code: grpc.StatusCode, validate_only: bool
) -> None:
    async with caller(running, "alice", *ALL_SCOPES) as client:
        call = client.create(**{"subjects": SEATS, **fields}, validate_only=validate_only)
        assert (await failure(call))[:2] == (reason, code)
    assert not any(partition.hosted for partition in running.hosts["tiny"].partitions)


async def test_a_field_at_fault_is_named(running: Hall) -> None:
    async with caller(running, "alice", *ALL_SCOPES) as client:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await client.create(rulings=(("nonsense", "1"),))
    assert b"rulings" in dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"]


async def test_scopes_of_creating(running: Hall) -> None:
    async with caller(running, "alice", "play") as client:
        assert (await failure(client.create()))[2] == {"scope": "seat"}
    async with caller(running, "alice", "play", "seat") as client:
        assert (await failure(client.create(seed=b"s" * 32)))[2] == {"scope": "operate"}
    async with caller(running, "alice", *ALL_SCOPES) as client:
        game_id = await client.create(seed=b"s" * 32)
        assert (await client.view(game_id)).game.seed_given


async def test_creating_again_gives_the_same_game(running: Hall) -> None:
    async with caller(running, "alice", *ALL_SCOPES) as client:
        first = await client.create(command_id="one")
        assert await client.create(command_id="one") == first
        assert await client.create(command_id="two") != first
        changed = client.create(command_id="one", rulings=(("steal", "3"),))
        assert (await failure(changed))[:2] == ("COMMAND_ID_REUSED", CODE.ALREADY_EXISTS)
        at_once = await asyncio.gather(*(client.create(command_id="three") for _ in range(10)))
        assert len(set(at_once)) == 1 and records(running, at_once[0]) == 1


async def test_a_creation_that_is_only_validated_creates_nothing(running: Hall) -> None:
    async with caller(running, "alice", *ALL_SCOPES) as client:
        assert await client.create(validate_only=True) == ""
    assert not any(partition.hosted for partition in running.hosts["tiny"].partitions)


# --- commands


async def test_retries_give_the_first_answer(game: Table, running: Hall) -> None:
    alice = game.clients[0]
    version = await alice.submit(game.game_id, "1.0", t.Bid(1), command_id="a")
    await game.clients[1].submit(game.game_id, "1.1", t.Bid(0))
    assert await alice.submit(game.game_id, "1.0", t.Bid(1), command_id="a") == version
    reused = alice.submit(game.game_id, "1.0", t.Bid(2), command_id="a")
    reason, code, metadata = await failure(reused)
    assert (reason, code, metadata["version"]) == ("COMMAND_ID_REUSED", CODE.ALREADY_EXISTS, str(version))
    assert records(running, game.game_id) == 3


async def test_a_retry_after_the_decision_closed_is_no_stale_decision(game: Table) -> None:
    alice = game.clients[0]
    version = await alice.submit(game.game_id, "1.0", t.Bid(1), command_id="a")
    await game.play(Random(1))
    assert await alice.submit(game.game_id, "1.0", t.Bid(1), command_id="a") == version


async def test_another_seats_decision(game: Table) -> None:
    reason, code, metadata = await failure(game.clients[0].submit(game.game_id, "1.1", t.Bid(0)))
    assert (reason, code, metadata["decision"]) == ("NOT_YOUR_SEAT", CODE.PERMISSION_DENIED, "1.1")
    # The seat is judged before whether the decision is open.
    assert (await failure(game.clients[0].submit(game.game_id, "900.1", t.Bid(0))))[0] == "NOT_YOUR_SEAT"


async def test_a_decision_that_is_not_open(game: Table) -> None:
    for decision in ("2.0", "900.0"):
        reason, code, metadata = await failure(game.clients[0].submit(game.game_id, decision, t.Bid(0)))
        assert (reason, code) == ("STALE_DECISION", CODE.FAILED_PRECONDITION)
        assert metadata["decision"] == decision and metadata["version"] == "1"


async def test_an_illegal_command_names_its_rule(game: Table, running: Hall) -> None:
    reason, code, metadata = await failure(game.clients[0].submit(game.game_id, "1.0", t.Bid(99)))
    assert (reason, code, metadata["rule"]) == ("TOO_FEW_COINS", CODE.FAILED_PRECONDITION, "T-1")
    assert (await failure(game.clients[0].submit(game.game_id, "1.0", Undo())))[0] == "UNDO_CLOSED"
    assert records(running, game.game_id) == 1


async def test_validate_only_asks_and_changes_nothing(game: Table, running: Hall) -> None:
    alice = game.clients[0]
    assert await alice.submit(game.game_id, "1.0", t.Bid(1), validate_only=True) == 1
    assert (await failure(alice.submit(game.game_id, "1.0", t.Bid(99), validate_only=True)))[0] == "TOO_FEW_COINS"
    assert records(running, game.game_id) == 1


async def test_a_game_that_is_over(game: Table) -> None:
    await game.play(Random(4))
    view = await game.clients[0].view(game.game_id)
    stale = game.clients[0].submit(game.game_id, f"{view.game.version}.0", t.Bid(0))
    assert (await failure(stale))[:2] == ("GAME_OVER", CODE.FAILED_PRECONDITION)
    resigning = game.clients[0].call("ResignSeat", game_id=game.game_id, command_id="x")
    assert (await failure(resigning))[0] == "GAME_OVER"


async def test_resigning(game: Table) -> None:
    alice = game.clients[0]
    version = (await alice.call("ResignSeat", game_id=game.game_id, command_id="r")).version
    assert (await alice.call("ResignSeat", game_id=game.game_id, command_id="r")).version == version
    again = alice.call("ResignSeat", game_id=game.game_id, command_id="s")
    assert (await failure(again))[:2] == ("ALREADY_RESIGNED", CODE.FAILED_PRECONDITION)
    assert (await alice.view(game.game_id)).game.seats[0].resigned


# --- messages


def submit_bytes(game_id: str, command: bytes, extra: bytes = b"") -> bytes:
    """A SubmitCommandRequest whose command is these bytes."""
    parts = [(1, game_id.encode()), (2, b"id"), (3, b"1.0"), (4, command)]
    return b"".join(bytes((number << 3 | 2, len(data))) + data for number, data in parts) + extra


@pytest.mark.parametrize(
    ("command", "extra", "field"),
    [
        (b"\x82\x01\x00", b"", "command.bid.coins"),  # a bid without coins is not a bid of 0
        (b"\x82\x01\x04\x08\x01\x10\x01", b"", "command.bid"),  # an unknown field
        (b"", b"", "command"),  # no member of the oneof
        (b"\xff", b"", "command"),  # truncated
        (b"\x82\x01\x02\x08\x01", b"\xf8\x01\x01", ""),  # an unknown field of the request
        (b"\x82\x01\x02\x08\x01", b"\x09", ""),  # garbage behind
    ],
)
async def test_malformed_commands(game: Table, running: Hall, command: bytes, extra: bytes, field: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await game.clients[0].raw("SubmitCommand", submit_bytes(game.game_id, command, extra))
    assert caught.value.code() == CODE.INVALID_ARGUMENT
    details = dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"]
    assert b"MALFORMED_MESSAGE" in details and field.encode() in details
    assert records(running, game.game_id) == 1


@pytest.mark.parametrize(
    "method",
    ["CreateGame", "SubmitCommand", "ListLegalCommands", "ResignSeat", "GetPack", "GetView", "ListEvents"],
)
async def test_garbage(running: Hall, method: str) -> None:
    random = Random(method)
    async with caller(running, "alice") as client:
        for size in (1, 2, 10, 100, 1000):
            reason, code, _ = await failure(client.raw(method, b"\xff" + random.randbytes(size)))
            assert (reason, code) == ("MALFORMED_MESSAGE", CODE.INVALID_ARGUMENT)


async def test_fields_that_must_be_there(game: Table) -> None:
    alice = game.clients[0]
    for decision in ("", "1", "1.", "x.y", "-1.0", "01.0", "1.0 "):
        reason, code, _ = await failure(alice.submit(game.game_id, decision, t.Bid(0)))
        assert (reason, code) == ("INVALID_DECISION_ID", CODE.INVALID_ARGUMENT)
    assert (await failure(alice.submit(game.game_id, "1.0", None)))[0] == "MALFORMED_MESSAGE"
    assert (await failure(alice.submit(game.game_id, "1.0", t.Bid(0), command_id="")))[0] == "INVALID_COMMAND_ID"


async def test_messages_that_are_too_large(game: Table, running: Hall) -> None:
    large = b"\x0a" + b"\xff\xff\x7f" + b"x" * 200_000
    assert (await failure(game.clients[0].raw("SubmitCommand", large)))[:2] == (
        "MESSAGE_TOO_LARGE",
        CODE.INVALID_ARGUMENT,
    )
    with pytest.raises(grpc.aio.AioRpcError) as caught:  # gRPC itself refuses what is larger still
        await game.clients[0].raw("SubmitCommand", b"x" * 5_000_000)
    assert caught.value.code() == CODE.RESOURCE_EXHAUSTED
    assert records(running, game.game_id) == 1


# --- reading


async def test_versions_out_of_range(game: Table) -> None:
    alice = game.clients[0]
    for version in (0, 2, 10**12):
        call = alice.view(game.game_id, at_version=version)
        assert (await failure(call))[:2] == ("VERSION_OUT_OF_RANGE", CODE.OUT_OF_RANGE)
    watching = alice.watch(game.game_id, after=7)
    assert (await failure(watching.read()))[0] == "VERSION_OUT_OF_RANGE"


async def test_min_version_waits(game: Table) -> None:
    alice, bob = game.clients[:2]
    waiting = asyncio.create_task(alice.view(game.game_id, min_version=2))
    await asyncio.sleep(0.05)
    await bob.submit(game.game_id, "1.1", t.Bid(0))
    assert (await waiting).game.version == 2
    reason, code, _ = await failure(alice.call("GetView", game_id=game.game_id, min_version=3, timeout=0.5))
    assert (reason, code) == ("VERSION_NOT_REACHED", CODE.DEADLINE_EXCEEDED)


async def test_pages_of_events(game: Table) -> None:
    version = await game.play(Random(5), 25)
    for client in game.clients:
        seen: list[Any] = []
        token, pages = "", 0
        while True:
            answer = await client.call("ListEvents", game_id=game.game_id, page_size=7, page_token=token)
            seen += answer.versions
            token, pages = answer.next_page_token, pages + 1
            if not token:
                break
        assert [batch.version for batch in seen] == list(range(1, version + 1))
        assert pages == -(-version // 7)


async def test_page_tokens_cannot_be_forged(game: Table) -> None:
    await game.play(Random(5), 5)
    alice, bob = game.clients[:2]
    token = (await alice.call("ListEvents", game_id=game.game_id, page_size=2)).next_page_token
    forged = ("B" + token[1:], token[:-4], "%", "é", token + "AAAA")
    for bad in forged:
        reason, code, _ = await failure(alice.call("ListEvents", game_id=game.game_id, page_token=bad))
        assert (reason, code) == ("INVALID_PAGE_TOKEN", CODE.INVALID_ARGUMENT)
    foreign = bob.call("ListEvents", game_id=game.game_id, page_token=token)
    assert (await failure(foreign))[0] == "INVALID_PAGE_TOKEN"
    too_many = alice.call("ListEvents", game_id=game.game_id, page_size=1001)
    assert (await failure(too_many))[0] == "INVALID_PAGE_SIZE"


async def test_records_open_at_the_end_to_seats(game: Table, running: Hall) -> None:
    early = game.clients[0].stream("GetRecords", game_id=game.game_id)
    assert (await failure(early.read()))[:2] == ("GAME_NOT_FINISHED", CODE.FAILED_PRECONDITION)
    version = await game.play(Random(6))
    told = [(r.body, r.hash) async for r in game.clients[0].stream("GetRecords", game_id=game.game_id)]
    assert len(told) == version
    async with caller(running, "sam", "spectate") as spectator:
        call = spectator.stream("GetRecords", game_id=game.game_id)
        assert (await failure(call.read()))[:2] == ("NO_SEAT", CODE.PERMISSION_DENIED)


async def test_packs(running: Hall) -> None:
    async with caller(running, "alice") as client:
        pack = await client.call("GetPack")
        assert pack.yaml == "size=1"
        assert (await client.call("GetPack", pack_hash=pack.pack_hash)) == pack
        unknown = client.call("GetPack", pack_hash=b"x" * 32)
        assert (await failure(unknown))[:2] == ("PACK_NOT_FOUND", CODE.NOT_FOUND)


# --- bounds


async def test_too_many_requests(tmp_path: Path) -> None:
    async with (
        hall(tmp_path, limits=Limits(requests_per_second=0.001, burst=5)) as running,
        caller(running, "alice", *ALL_SCOPES) as alice,
        caller(running, "bob") as bob,
    ):
        outcomes = [await failure(alice.view("nowhere")) for _ in range(6)]
        assert [reason for reason, _, _ in outcomes] == ["GAME_NOT_FOUND"] * 5 + ["RATE_LIMITED"]
        assert outcomes[-1][1] == CODE.RESOURCE_EXHAUSTED
        assert (await failure(bob.view("nowhere")))[0] == "GAME_NOT_FOUND"


async def test_too_many_streams(tmp_path: Path) -> None:
    async with hall(tmp_path, limits=Limits(streams=2)) as running, table(running) as game:
        alice = game.clients[0]
        streams = [alice.watch(game.game_id) for _ in range(2)]
        for stream in streams:
            await stream.read()
        third = alice.watch(game.game_id)
        assert (await failure(third.read()))[:2] == ("TOO_MANY_STREAMS", CODE.RESOURCE_EXHAUSTED)
        await game.clients[1].watch(game.game_id).read()
        streams[0].cancel()
        while True:  # until the hall has noticed
            again = alice.watch(game.game_id)
            try:
                await again.read()
                break
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.01)


async def test_too_many_views_at_once(tmp_path: Path) -> None:
    async with hall(tmp_path, limits=Limits(calls=1)) as running, table(running) as game:
        alice, bob = game.clients[:2]
        newest = (await alice.call("GetView", game_id=game.game_id)).version
        waiting = asyncio.create_task(alice.view(game.game_id, min_version=newest + 1))
        live = await followed(running, game.game_id)
        while not live.needed:
            await asyncio.sleep(0.01)
        assert (await failure(alice.view(game.game_id)))[:2] == ("RATE_LIMITED", CODE.RESOURCE_EXHAUSTED)
        assert (await bob.view(game.game_id)) is not None
        assert (await bob.legal(game.game_id)) is not None
        live.fail(Failure("VIEW_BEHIND", "Come again."))
        assert (await failure(waiting))[0] == "VIEW_BEHIND"
        assert (await alice.view(game.game_id)) is not None


async def test_concurrent_commands_are_judged_one_by_one(game: Table, running: Hall) -> None:
    """Forty at once: exactly those that were legal in their turn are in the log, once."""
    alice = game.clients[0]
    calls = [alice.submit(game.game_id, "1.0", t.Bid(n % 3), command_id=f"c{n % 20}") for n in range(40)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    versions = {answer for answer in answers if isinstance(answer, int)}
    assert records(running, game.game_id) == 1 + len(versions)
    assert versions == set(range(2, 2 + len(versions)))


async def test_a_games_queue_is_bounded(game: Table) -> None:
    alice = game.clients[0]
    calls = [alice.submit(game.game_id, "1.0", t.Bid(1)) for _ in range(400)]
    answers = await asyncio.gather(*(outcome(call) for call in calls))
    assert set(answers) <= {"accepted", "GAME_BUSY"} and "accepted" in answers


async def outcome(call: Any) -> str:
    try:
        return (await failure(call))[0]
    except Answered:
        return "accepted"


async def test_options_have_their_values(tmp_path: Path) -> None:
    rules = replace(RULES, options=(Choosable("pace", "slow", ("slow", "fast"), "How fast."),))
    async with hall(tmp_path, games=[rules]) as running, caller(running, "alice", *ALL_SCOPES) as client:
        game_id = await client.create(options=(("pace", "fast"),))
        assert (await client.view(game_id)).game.options[0].value == "fast"
        wrong = client.create(options=(("pace", "sideways"),))
        assert (await failure(wrong))[:2] == ("INVALID_OPTION", CODE.INVALID_ARGUMENT)


async def test_a_frame_that_explains_nothing(game: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BidAll, "why", Choice.why)
    wrong = game.clients[0].submit(game.game_id, "1.0", t.Bid(99))
    assert (await failure(wrong))[:2] == ("ILLEGAL_COMMAND", CODE.FAILED_PRECONDITION)
