"""What operators do to games and processes: who may, what becomes of the game, and what everybody is told."""

import asyncio
import contextlib
import dataclasses
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from msgspec.structs import replace

from guildhall.host import clock
from guildhall.host.hall import LOG_FILE
from guildhall.host.operations import OPERATIONS_SERVICE
from guildhall.kernel.v1.structs import (
    Clock,
    EndReason,
    GameEnded,
    Owner,
    Paused,
    Record,
    Restored,
    Resumed,
    decode_Record,
    encode_Owner,
    encode_Record,
)
from guildhall.kernel.verify import verify
from guildhall.log import topics
from guildhall.log.errors import BadValue
from guildhall.log.port import Entry, partition_of
from guildhall.log.snapshots import Marker, encode
from guildhall.log.sqlite import open_sqlite
from guildhall.log.values import decode, encode_entry
from guildhall.operations.v1 import structs as o
from guildhall.rpc.errors import error_info
from guildhall.telemetry.metrics import REGISTRY
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import RULES
from tests.services.hall import KNOWN, SEATS, Client, Table, failure, forget_stored, hall, table
from tests.services.operator import WHY, Operator, operator
from tests.services.process import hall_process
from tests.services.test_failures import boom

CODE = grpc.StatusCode
OVER = GameEnded(EndReason.ABORTED, (), WHY)


def gauge(name: str) -> float:
    return REGISTRY.get_sample_value(name, {"game": "tiny"}) or 0.0


# --- who may, and what is refused


@pytest.mark.parametrize("method", [method.name for method in OPERATIONS_SERVICE.methods])
async def test_every_method_needs_the_scope(tmp_path: Path, method: str) -> None:
    async with hall(tmp_path) as running, operator(running, ("play", "seat", "spectate")) as nobody:
        reason, code, metadata = await failure(nobody.call(method))
        assert (reason, code, metadata["scope"]) == ("MISSING_SCOPE", CODE.PERMISSION_DENIED, "operate")


async def test_what_cannot_be_done_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game, operator(running) as olga:
        before = await game.clients[0].view(game.game_id)
        id_ = game.game_id
        for what in ("Abort", "Pause", "Resume", "Repair"):
            for fields, reason in (
                ({"game": "chess"}, "INVALID_GAME"),
                ({"game_id": "nosuchgame"}, "GAME_NOT_FOUND"),
                ({"game_id": ""}, "MALFORMED_MESSAGE"),
                ({"why": ""}, "INVALID_WHY"),
                ({"why": "two\nlines"}, "INVALID_WHY"),
                ({"command_id": ""}, "INVALID_COMMAND_ID"),
            ):
                wanted: dict[str, Any] = {"game_id": id_, **fields}
                assert (await failure(olga.order(what, **wanted)))[0] == reason, (what, fields)
        assert (await failure(olga.order("Resume", id_)))[:2] == ("GAME_NOT_PAUSED", CODE.FAILED_PRECONDITION)
        assert (await failure(olga.order("Repair", id_)))[:2] == ("GAME_NOT_QUARANTINED", CODE.FAILED_PRECONDITION)
        for version in (0, 2):
            reason, code, metadata = await failure(olga.order("Repair", id_, to_version=version))
            assert (reason, code, metadata["version"]) == ("VERSION_OUT_OF_RANGE", CODE.OUT_OF_RANGE, "1")
        assert await game.clients[0].view(id_) == before


async def test_an_order_sent_again_counts_once(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game, operator(running) as olga:
        once = {"command_id": "once"}
        assert (await olga.order("Pause", game.game_id, **once)).version == 2
        assert (await olga.order("Pause", game.game_id, **once)).version == 2
        assert (await failure(olga.order("Pause", game.game_id, why="another", **once)))[0] == "COMMAND_ID_REUSED"
        assert (await olga.order("Resume", game.game_id, command_id="on")).version == 3
        assert (await olga.order("Pause", game.game_id, **once)).version == 2
        again = {"command_id": "back", "to_version": 1}
        assert await olga.order("Repair", game.game_id, **again) == o.RepairGameResponse(4, 1)
        assert await olga.order("Repair", game.game_id, **again) == o.RepairGameResponse(4, 1)


async def test_only_checking_does_nothing(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game, operator(running) as olga:
        await game.play(Random(1), 3)
        before = await game.clients[0].view(game.game_id)
        for what in ("Abort", "Pause"):
            assert (await olga.order(what, game.game_id, validate_only=True)).version == before.game.version
        assert (await failure(olga.order("Resume", game.game_id, validate_only=True)))[0] == "GAME_NOT_PAUSED"
        checked = await olga.order("Repair", game.game_id, to_version=2, validate_only=True)
        assert checked == o.RepairGameResponse(before.game.version, 2)
        assert await game.clients[0].view(game.game_id) == before


# --- pausing


async def test_a_paused_game_refuses_its_players_and_asks_nobody(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game, operator(running) as olga:
        watching = [game.clients[0].watch(game.game_id, events=events) for events in (False, True)]
        for call in watching:
            assert (await call.read()).decisions
        assert (await olga.order("Pause", game.game_id)).version == 2
        for call in watching:
            message = await call.read()
            assert message.version == 2 and not message.decisions and message.waiting_for
        assert message.events.events == (Paused(WHY),)
        reason, code, metadata = await failure(game.clients[0].submit(game.game_id, "1.0", t.Bid(0)))
        assert (reason, code, metadata["version"]) == ("GAME_PAUSED", CODE.FAILED_PRECONDITION, "2")
        resigning = game.clients[0].call("ResignSeat", game_id=game.game_id, command_id="r")
        assert (await failure(resigning))[0] == "GAME_PAUSED"
        assert (await failure(olga.order("Pause", game.game_id)))[0] == "GAME_PAUSED"
        assert (await game.clients[0].legal(game.game_id)).decisions == ()
        assert (await game.clients[1].view(game.game_id)).game.paused == WHY
        assert gauge("guildhall_paused_games") == 1
        assert await olga.troubled() == {game.game_id: o.GameState.PAUSED}
        assert (await olga.status(game.game_id)).why == WHY
        await olga.order("Resume", game.game_id)
        for call in watching:
            assert (await call.read()).decisions
        assert gauge("guildhall_paused_games") == 0 and await olga.troubled() == {}
        assert await game.clients[0].submit(game.game_id, "1.0", t.Bid(0)) == 4
        for call in watching:
            call.cancel()


async def test_clocks_stand_still(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running, clock=Clock(1_000)) as game, operator(running) as olga:
        await olga.order("Pause", game.game_id)
        await asyncio.sleep(1.5)
        assert (await game.clients[0].view(game.game_id)).game.version == 2
        await olga.order("Resume", game.game_id)
        deadlines = {d.deadline_ms for d in (await game.clients[0].view(game.game_id)).game.waiting_for}
        assert min(deadlines) > clock.now_ms()
        assert (await game.clients[0].view(game.game_id, min_version=4)).game.version >= 4


@pytest.mark.parametrize("drop", ["nothing", "%"])
async def test_a_pause_outlives_the_hall(tmp_path: Path, drop: str) -> None:
    async with hall(tmp_path) as running, table(running, clock=Clock(1_000)) as game, operator(running) as olga:
        await olga.order("Pause", game.game_id)
        game_id = game.game_id
    forget_stored(tmp_path, drop)
    async with hall(tmp_path) as running, table(running) as game, operator(running) as olga:
        game.game_id = game_id
        await asyncio.sleep(1.2)
        assert (await game.clients[0].view(game_id)).game.paused == WHY
        assert await olga.troubled() == {game_id: o.GameState.PAUSED}
        await olga.order("Resume", game_id)
        assert await game.clients[0].submit(game_id, "1.0", t.Bid(0)) == 4


# --- aborting


async def test_an_aborted_game_is_over_and_opens_to_its_seats(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game, operator(running) as olga:
        version = await game.play(Random(3), 6)
        call = game.clients[2].watch(game.game_id, events=True)
        assert (await call.read()).version == version
        assert (await olga.order("Abort", game.game_id)).version == version + 1
        assert (await call.read()).events.events == (OVER,)
        assert await call.read() is grpc.aio.EOF
        assert (await game.clients[0].view(game.game_id)).game.ended == OVER
        assert (await failure(game.clients[0].submit(game.game_id, "1.0", t.Bid(0))))[0] == "GAME_OVER"
        for what in ("Abort", "Pause", "Resume"):
            assert (await failure(olga.order(what, game.game_id)))[0] == "GAME_OVER"
        assert (await failure(olga.order("Repair", game.game_id, to_version=1)))[0] == "GAME_OVER"
        records = [(r.body, r.hash) async for r in game.clients[1].stream("GetRecords", game_id=game.game_id)]
        verified = verify(RULES, records)
        assert verified.game.created.seed
        [ref] = decode_Record(records[-1][0]).commands
        assert ref.subject == "olga"
        assert (await olga.status(game.game_id)).state == o.GameState.OVER


# --- putting back


async def test_a_game_is_put_back_and_played_on(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game, operator(running) as olga:
        random = Random(4)
        then = await game.clients[0].view(game.game_id, at_version=await game.play(random, 4))
        version = await game.play(random, 5)
        call = game.clients[1].watch(game.game_id, events=True)
        await call.read()
        assert await olga.order("Repair", game.game_id, to_version=5) == o.RepairGameResponse(version + 1, 5)
        message = await call.read()
        assert message.version == version + 1 and message.view is not None and not message.decisions
        now = await game.clients[0].view(game.game_id)
        assert (now.points, now.hand, now.played) == (then.points, then.hand, then.played) and now.game.paused
        assert [d.seat for d in now.game.waiting_for] == [d.seat for d in then.game.waiting_for]
        batch = (await game.clients[0].call("ListEvents", game_id=game.game_id, page_size=1000)).versions[-1]
        assert batch.events == (Restored(WHY, 5),)
        await olga.order("Resume", game.game_id)
        await game.play(random)
        records = [(r.body, r.hash) async for r in game.clients[1].stream("GetRecords", game_id=game.game_id)]
        assert verify(RULES, records).game.ended is not None
        call.cancel()


# --- quarantine


def spoil(data: Path, game_id: str, version: int, change: Callable[[bytes], bytes]) -> None:
    """Change the bytes of a game's record in the log. The versions from there on may be others now."""
    forget_stored(data)
    KNOWN.clear()
    with sqlite3.connect(data / LOG_FILE) as log:
        offset, value = log.execute(
            'SELECT "offset", value FROM records WHERE key = ? ORDER BY "offset" LIMIT 1 OFFSET ?',
            (game_id, version - 1),
        ).fetchone()
        changed = change(value)
        assert changed != value
        log.execute('UPDATE records SET value = ? WHERE key = ? AND "offset" = ?', (changed, game_id, offset))
    log.close()


def unknown_event(value: bytes) -> bytes:
    """An entry as a newer hall may write it: whole, with an event that is not known here."""
    entry = decode(value)
    assert isinstance(entry, Entry)
    record = decode_Record(entry.body)
    body = encode_Record(replace(record, events=(*record.events, b"\xfa\x07\x02\x08\x01")))
    return encode_entry(replace(entry, body=body))


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "nonsense": lambda value: b"\xff" * 40,
    "truncated": lambda value: value[:-5],
    "a kind of value that is not known": lambda value: b"\x1a" + value[1:],
    "a flipped bit": lambda value: value[:-10] + bytes((value[-10] ^ 1,)) + value[-9:],
    "an event that is not known": unknown_event,
}


async def quarantined_game(data: Path, how: str) -> tuple[str, str, list[Any]]:
    """Ids of a game whose version 4 of 7 is spoilt and of one that is whole; what the first showed at version 3."""
    async with hall(data) as running, table(running) as broken, table(running) as whole:
        for seat in range(3):
            await broken.clients[seat].submit(broken.game_id, f"1.{seat}", t.Bid(3 - seat))
        for _ in range(3):
            [decision] = (await broken.clients[0].legal(broken.game_id)).decisions
            await broken.clients[0].submit(broken.game_id, decision.decision.id, t.Mark())
        shown = [await client.view(broken.game_id, at_version=3) for client in broken.clients]
        await whole.play(Random(6), 4)
    spoil(data, broken.game_id, 4, SPOILT[how])
    return broken.game_id, whole.game_id, shown


async def test_a_game_whose_marker_tells_that_it_ended_is_not_put_back(tmp_path: Path) -> None:
    """Its seed may be known, though the record that ended it cannot be read."""
    broken_id, _, _ = await quarantined_game(tmp_path, "nonsense")
    async with hall(tmp_path) as running, operator(running) as olga:
        store = running.hosts["tiny"].store
        number = partition_of(broken_id, store.events.partitions)
        assert (await olga.order("Repair", broken_id, validate_only=True)).to_version == 3
        await store.markers.put(number, broken_id, encode(Marker(4, 4, b"")))
        assert (await failure(olga.order("Repair", broken_id)))[0] == "GAME_OVER"
        assert (await olga.status(broken_id)).state == o.GameState.QUARANTINED


@pytest.mark.parametrize("how", SPOILT)
async def test_a_quarantine_is_told_and_lifted(tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    broken_id, whole_id, shown = await quarantined_game(tmp_path, how)
    async with hall(tmp_path) as running, table(running) as broken, table(running) as whole, operator(running) as olga:
        broken.game_id, whole.game_id = broken_id, whole_id
        assert "game quarantined" in "".join(capsys.readouterr())
        assert gauge("guildhall_quarantined_games") == 1
        status = await olga.status(broken_id)
        assert status.state == o.GameState.QUARANTINED and status.why and status.waiting_for == ()
        assert await olga.troubled() == {broken_id: o.GameState.QUARANTINED}
        owners = (await olga.call("ListOwners")).owners
        assert sum(owner.quarantined for owner in owners) == 1
        assert (await failure(olga.order("Pause", broken_id)))[0] == "GAME_QUARANTINED"
        assert (await failure(broken.clients[0].view(broken_id)))[0] == "GAME_QUARANTINED"
        await whole.play(Random(7))
        checked = await olga.order("Repair", broken_id, validate_only=True)
        assert checked.to_version == 3 and (await olga.status(broken_id)).state == o.GameState.QUARANTINED
        repaired = await olga.order("Repair", broken_id)
        assert repaired.to_version == 3
        assert gauge("guildhall_quarantined_games") == 0
        await seen_again(broken, shown, repaired.version)
        # Nothing that it cannot vouch for is told of the versions between.
        listed = (await broken.clients[0].call("ListEvents", game_id=broken_id, page_size=1000)).versions
        assert [batch.version for batch in listed] == list(range(1, repaired.version + 1))
        assert not any(batch.events for batch in listed[3 : repaired.version - 1])
        for version in range(4, repaired.version):
            assert (await failure(broken.clients[0].view(broken_id, at_version=version)))[0] == "GAME_QUARANTINED"
        assert await watched(broken.clients[2], broken_id, after=2, count=2) == [3, repaired.version]
    for drop in ("nothing", "%"):
        forget_stored(tmp_path, drop)
        async with hall(tmp_path) as running, table(running) as broken:
            broken.game_id = broken_id
            await seen_again(broken, shown, repaired.version)
    async with hall(tmp_path) as running, table(running) as broken, operator(running) as olga:
        broken.game_id = broken_id
        await olga.order("Resume", broken_id)
        await broken.play(Random(8))
        assert (await broken.clients[0].view(broken_id)).game.ended.reason == EndReason.FINISHED


async def watched(client: Client, game_id: str, after: int, count: int) -> list[int]:
    """The versions that come next; a stream that ends since the game is looked at anew is resumed, as clients do."""
    versions: list[int] = []
    while len(versions) < count:
        call = client.watch(game_id, after=after)
        try:
            while len(versions) < count:
                after = (await call.read()).version
                versions.append(after)
        except grpc.aio.AioRpcError as error:
            info = error_info(error)
            assert info is not None and info.reason == "VIEW_BEHIND"
        call.cancel()
    return versions


@pytest.mark.parametrize("how", SPOILT)
async def test_luck_of_a_spoilt_record_is_not_drawn_again(tmp_path: Path, how: str) -> None:
    """Its players were told what it drew; so they were of those behind it, which count for nothing without it."""
    async with hall(tmp_path) as running, table(running) as broken:
        for seat in range(3):
            await broken.clients[seat].submit(broken.game_id, f"1.{seat}", t.Bid(3 - seat))
        [decision] = (await broken.clients[0].legal(broken.game_id)).decisions
        rolled = await broken.clients[0].submit(broken.game_id, decision.decision.id, t.Roll())
        [draw] = records(tmp_path, broken.game_id)[-1].draws
    spoil(tmp_path, broken.game_id, rolled, SPOILT[how])
    async with hall(tmp_path) as running, table(running) as again, operator(running) as olga:
        again.game_id = broken.game_id
        await olga.order("Repair", again.game_id)
        [restored] = records(tmp_path, again.game_id)[-1].events
        event = RULES.wire.decode_event(restored)
        assert isinstance(event, Restored) and event.next_draw > draw.n


def records(data: Path, game_id: str) -> list[Record]:
    """The game's records that can be read, in the log's order."""
    with sqlite3.connect(data / LOG_FILE) as log:
        rows = log.execute('SELECT value FROM records WHERE key = ? ORDER BY "offset"', (game_id,)).fetchall()
    log.close()
    found = []
    for (value,) in rows:
        with contextlib.suppress(BadValue, ValueError):
            entry = decode(value)
            assert isinstance(entry, Entry)
            found.append(decode_Record(entry.body))
    return found


async def seen_again(broken: Table, shown: list[Any], version: int) -> None:
    """Everybody sees what was there at version 3, paused."""
    for client, then in zip(broken.clients, shown, strict=True):
        now = await client.view(broken.game_id)
        assert (now.points, now.hand, now.hand_sizes) == (then.points, then.hand, then.hand_sizes)
        assert now.game.paused == WHY and now.game.version == version


@pytest.mark.parametrize("how", SPOILT)
async def test_a_quarantined_game_can_be_aborted(tmp_path: Path, how: str) -> None:
    broken_id, _, shown = await quarantined_game(tmp_path, how)
    async with hall(tmp_path) as running, table(running) as broken, operator(running) as olga:
        await olga.order("Abort", broken_id, validate_only=True)
        assert (await olga.status(broken_id)).state == o.GameState.QUARANTINED
        await olga.order("Abort", broken_id)
    for drop in ("nothing", "%"):
        forget_stored(tmp_path, drop)
        async with hall(tmp_path) as running, table(running) as broken, operator(running) as olga:
            view = await broken.clients[0].view(broken_id)
            assert view.game.ended == OVER and view.hand == shown[0].hand
            assert await olga.troubled() == {} and gauge("guildhall_quarantined_games") == 0


async def test_a_quarantined_game_can_be_put_back_further(tmp_path: Path) -> None:
    broken_id, _, _ = await quarantined_game(tmp_path, "a flipped bit")
    async with hall(tmp_path) as running, operator(running) as olga:
        assert (await failure(olga.order("Repair", broken_id, to_version=5)))[0] == "VERSION_OUT_OF_RANGE"
        assert (await olga.order("Repair", broken_id, to_version=1)).to_version == 1


@pytest.mark.parametrize("how", SPOILT)
async def test_without_its_first_version_a_game_is_beyond_repair(tmp_path: Path, how: str) -> None:
    async with hall(tmp_path) as running, table(running) as game:
        game_id = game.game_id
        await game.play(Random(9), 3)
    spoil(tmp_path, game_id, 1, SPOILT[how])
    async with hall(tmp_path) as running, operator(running) as olga:
        assert (await olga.status(game_id)).state == o.GameState.QUARANTINED
        for what in ("Repair", "Abort"):
            reason, code, metadata = await failure(olga.order(what, game_id))
            assert (reason, code) == ("GAME_BEYOND_REPAIR", CODE.FAILED_PRECONDITION) and metadata["why"]


# --- stuck games


async def test_a_game_whose_time_outs_fail_is_told_and_tried_again_ever_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "FIRST_RETRY_SECONDS", 0.02)
    faults: list[bool] = [True]

    def led(hall_: Any, event: Any) -> None:
        if faults:
            boom()
        RULES.evolve[t.Led](hall_, event)

    broken = dataclasses.replace(RULES, evolve={**RULES.evolve, t.Led: led})
    async with (
        hall(tmp_path, games=[broken]) as running,
        table(running, clock=Clock(1_000)) as game,
        operator(running) as olga,
    ):
        while await olga.troubled() != {game.game_id: o.GameState.STUCK}:
            await asyncio.sleep(0.02)
        assert "time-outs in a row" in (await olga.status(game.game_id)).why
        assert gauge("guildhall_stuck_games") == 1
        version = (await olga.status(game.game_id)).version
        faults.clear()
        await game.clients[0].view(game.game_id, min_version=version + 1)
        assert gauge("guildhall_stuck_games") == 0


def test_pauses_double_up_to_a_limit_and_are_jittered() -> None:
    pauses = [[clock.retry_seconds(failures) for _ in range(50)] for failures in range(1, 40)]
    assert all(0.75 * 2**n <= p <= 2**n for n, tried in enumerate(pauses[:8]) for p in tried)
    assert all(0.75 * clock.LAST_RETRY_SECONDS <= p <= clock.LAST_RETRY_SECONDS for p in pauses[-1])
    assert len(set(pauses[0])) > 1


# --- processes


async def test_owners_are_listed(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game, operator(running) as olga:
        told = await olga.call("ListOwners")
        owners = told.owners
        assert [(owner.game, owner.partition) for owner in owners] == [("tiny", n) for n in range(12)]
        assert told.address == f"127.0.0.1:{running.port}" and told.instance == owners[0].instance
        assert (await olga.call("ListTroubledGames")).instance == told.instance
        assert (await olga.call("ListPools")).instance == told.instance
        assert {(owner.here, owner.address) for owner in owners} == {(True, f"127.0.0.1:{running.port}")}
        assert len({owner.instance for owner in owners}) == 1
        place = running.hosts["tiny"].partition(game.game_id).number
        assert [owner.games for owner in owners] == [int(n == place) for n in range(12)]
        assert all(owner.next_offset > owner.claim >= 0 for owner in owners)


async def test_owners_of_other_games_and_partitions_that_nobody_serves_are_listed(tmp_path: Path) -> None:
    """All claims that the owners' topic tells; and a partition that cannot be folded, though nobody tells of it."""
    async with hall(tmp_path) as running, table(running) as game:
        place = running.hosts["tiny"].partition(game.game_id).number
    forget_stored(tmp_path)
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        log.execute("DELETE FROM compacted WHERE topic = ?", (topics.OWNERS,))
        log.execute(
            "DELETE FROM records WHERE topic = 'guildhall.tiny.events' AND partition = ? AND \"offset\" = 0", (place,)
        )
    log.close()
    other = Owner("chess", 3, 7, "them", "127.0.0.1:1")
    opened = open_sqlite(tmp_path / LOG_FILE)
    await (await opened.compacted(topics.OWNERS, 1)).put(0, "chess/3", encode_Owner(other))
    await opened.close()
    async with hall(tmp_path, one_of_several=True, beside=None) as running, operator(running) as olga:
        owners = ()
        while sum(owner.here for owner in owners) < 11:
            owners = (await olga.call("ListOwners")).owners
        assert owners[0] == o.PartitionOwner("chess", 3, 7, "them", "127.0.0.1:1")
        assert [(owner.game, owner.partition) for owner in owners[1:]] == [("tiny", n) for n in range(12)]
        assert owners[1 + place] == o.PartitionOwner("tiny", place, -1)


async def test_an_operator_drains_a_process(tmp_path: Path) -> None:
    async with hall_process(tmp_path) as process:
        olga = Operator(process.port, tmp_path)
        alice = Client(process.port, tmp_path, "alice")
        game_id = await alice.create(SEATS)
        assert (await failure(olga.call("Drain", why="")))[0] == "INVALID_WHY"
        drains = await olga.call("Drain", why="a new version")
        instance = drains.instance
        assert drains.address == f"127.0.0.1:{process.port}"
        assert await asyncio.wait_for(process.process.wait(), 20) == 0
        await olga.close()
        await alice.channel.close()
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        [(key, value)] = log.execute("SELECT key, value FROM compacted WHERE topic = ?", (topics.OPERATIONS,))
        [stored] = log.execute("SELECT count(*) FROM compacted WHERE topic = 'guildhall.tiny.snapshots'").fetchone()
    log.close()
    drained = o.decode_Drained(value)
    assert key == f"drain/{instance}" and stored == 1 and game_id
    assert (drained.subject, drained.why, drained.instance) == ("olga", "a new version", instance)


async def test_orders_outlive_a_kill(tmp_path: Path) -> None:
    async with hall_process(tmp_path) as process:
        olga, alice = Operator(process.port, tmp_path), Client(process.port, tmp_path, "alice")
        game_id = await alice.create(SEATS)
        assert (await olga.order("Pause", game_id, command_id="p")).version == 2
        await process.end(signal.SIGKILL)
        await olga.close()
        await alice.channel.close()
    async with hall(tmp_path) as running, table(running) as game, operator(running) as olga:
        assert (await olga.order("Pause", game_id, command_id="p")).version == 2
        await olga.order("Resume", game_id)
        batches = (await game.clients[0].call("ListEvents", game_id=game_id)).versions
        assert batches[1].events == (Paused(WHY),) and isinstance(batches[2].events[0], Resumed)
