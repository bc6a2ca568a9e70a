"""Halls that are killed, stopped, doubled, or find their data damaged."""

import asyncio
import signal
import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from guildhall.host.hall import LOG_FILE, Hall
from guildhall.host.partition import Partition, Upkeep
from guildhall.kernel.packs import BadPack
from guildhall.kernel.v1.structs import Undo
from guildhall.kernel.verify import verify
from guildhall.log.errors import LogUnavailable, LogUnreadable
from guildhall.log.snapshots import Marker, decode_checkpoint, decode_marker, encode
from guildhall.rpc.server import PortTaken
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import RULES
from tests.services.hall import ALL_SCOPES, SEATS, Client, Table, config, failure, forget_stored, hall, table
from tests.services.process import hall_process

CODE = grpc.StatusCode
ALWAYS = Upkeep(every_seconds=0.02, park_after_seconds=0.0)
"""States are stored, games parked and finished ones dropped all the time."""


def clients(port: int, data: Path) -> list[Client]:
    return [Client(port, data, subject, ALL_SCOPES) for subject in SEATS]


def stored(log: sqlite3.Connection, kind: str) -> list[bytes]:
    """The values of one of the topics beside the events."""
    rows = log.execute("SELECT value FROM compacted WHERE topic = ?", (f"guildhall.tiny.{kind}",))
    return [value for [value] in rows]


async def everything(table_: Table) -> list[Any]:
    """What every seat can be told of a game now."""
    told: list[Any] = []
    for client in table_.clients:
        told.append(await client.view(table_.game_id))
        told.append(await client.legal(table_.game_id))
        told.append(await client.call("ListEvents", game_id=table_.game_id, page_size=1000))
    return told


async def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """Several games played at once while the hall is killed again and again: every acknowledged command is there, at
    the version that was told, and a retry of the one in flight settles it."""
    random = Random(12)
    games: list[str] = []
    acknowledged: dict[tuple[str, str], tuple[Any, int]] = {}

    async def play(table_: Table, seed: int) -> None:
        own = Random(seed)
        while True:
            view = await table_.clients[0].view(table_.game_id)
            if view.game.ended is not None:
                return
            seat = own.choice(view.game.waiting_for).seat
            [decision] = (await table_.clients[seat].legal(table_.game_id)).decisions
            fields = {"decision_id": decision.decision.id, "command": own.choice(decision.commands)}
            command_id = table_.clients[seat].command_id()
            version = await table_.clients[seat].submit(table_.game_id, command_id=command_id, **fields)
            acknowledged[(table_.game_id, command_id)] = ((seat, fields), version)

    for round_ in range(3):
        async with hall_process(tmp_path) as process:
            callers = clients(process.port, tmp_path)
            for (game_id, command_id), ((seat, fields), version) in acknowledged.items():
                assert await callers[seat].submit(game_id, command_id=command_id, **fields) == version
            if not games:
                games = [await callers[0].create() for _ in range(4)]
            playing = [asyncio.create_task(play(Table(callers, game_id), round_)) for game_id in games]
            enough = len(acknowledged) + random.randrange(1, 30)
            while len(acknowledged) < enough and not all(task.done() for task in playing):
                await asyncio.sleep(0.001)
            assert await process.end(signal.SIGKILL) == -signal.SIGKILL
            for outcome in await asyncio.gather(*playing, return_exceptions=True):
                assert outcome is None or isinstance(outcome, grpc.aio.AioRpcError)
            for client in callers:
                await client.channel.close()
    assert acknowledged
    async with hall(tmp_path) as running:
        for game_id in games:
            async with table(running) as last:
                last.game_id = game_id
                await last.play(random)
                records = [(r.body, r.hash) async for r in last.clients[0].stream("GetRecords", game_id=game_id)]
                verify(RULES, records)


async def test_the_same_is_open_after_a_kill(tmp_path: Path) -> None:
    async with hall_process(tmp_path) as process:
        before = Table(clients(process.port, tmp_path), "")
        before.game_id = await before.clients[0].create()
        for seat in range(3):
            await before.clients[seat].submit(before.game_id, "1." + str(seat), t.Bid(3 - seat))
        view = await before.clients[0].view(before.game_id)
        [waiting] = view.game.waiting_for
        for _ in range(2):
            [decision] = (await before.clients[0].legal(before.game_id)).decisions
            version = await before.clients[0].submit(before.game_id, decision.decision.id, t.Mark())
        told = await everything(before)
        await process.end(signal.SIGKILL)
        for client in before.clients:
            await client.channel.close()
    assert waiting.seat == 0
    async with hall_process(tmp_path) as process:
        after = Table(clients(process.port, tmp_path), before.game_id)
        assert await everything(after) == told
        # Undo is still open, and goes back over the kill.
        for step in range(2):
            [decision] = (await after.clients[0].legal(after.game_id)).decisions
            assert Undo() in decision.commands
            await after.clients[0].submit(after.game_id, decision.decision.id, Undo())
            assert (await after.clients[0].view(after.game_id)).game.version == version + step + 1
        [decision] = (await after.clients[0].legal(after.game_id)).decisions
        assert Undo() not in decision.commands
        for client in after.clients:
            await client.channel.close()


async def test_sigterm_drains(tmp_path: Path) -> None:
    async with hall_process(tmp_path) as process:
        game = Table(clients(process.port, tmp_path), "")
        game.game_id = await game.clients[0].create()
        version = await game.play(Random(1), 8)
        call = game.clients[0].watch(game.game_id)
        assert (await call.read()).version == version
        ended = asyncio.create_task(failure(read_on(call)))
        assert await process.end(signal.SIGTERM) == 0
        assert (await ended)[:2] == ("SHUTTING_DOWN", CODE.UNAVAILABLE)
        for client in game.clients:
            await client.channel.close()
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        stored = dict(log.execute("SELECT topic, count(*) FROM compacted GROUP BY topic"))
    log.close()
    assert stored["guildhall.tiny.snapshots"] == 1 and stored["guildhall.tiny.checkpoints"] == 12


async def read_on(call: Any) -> None:
    while await call.read() is not grpc.aio.EOF:
        pass


async def test_states_stored_all_the_time_change_nothing(tmp_path: Path) -> None:
    """Parked, restored, marked and loaded games tell the same as ones that never left memory."""
    async with hall(tmp_path, upkeep=ALWAYS) as running, table(running) as game:
        random = Random(13)
        while await game.step(random) is not None:
            await asyncio.sleep(random.choice((0, 0, 0.03)))
        host = running.hosts["tiny"]
        told = await everything(game)
        while game.game_id in host.partition(game.game_id).hosted:
            await asyncio.sleep(0.01)
        assert await everything(game) == told
        records = [(r.body, r.hash) async for r in game.clients[1].stream("GetRecords", game_id=game.game_id)]
        game_id = game.game_id
    folded = verify(RULES, records).game
    assert [folded.view(seat) for seat in range(3)] == told[0::3]
    async with hall(tmp_path) as running:
        assert game_id not in running.hosts["tiny"].partition(game_id).hosted
        async with table(running) as game:
            game.game_id = game_id
            assert await everything(game) == told
            call = game.clients[0].watch(game_id, events=True, after=0)
            assert [m.version async for m in call] == list(range(1, len(records) + 1))
            again = game.clients[0].submit(game_id, "1.0", t.Bid(0))
            assert (await failure(again))[0] in ("GAME_OVER", "STALE_DECISION")


async def test_starting_from_stored_states_is_starting_from_the_events(tmp_path: Path) -> None:
    async with hall(tmp_path, upkeep=ALWAYS) as running, table(running) as game:
        random = Random(14)
        for _ in range(20):
            await game.step(random)
            await asyncio.sleep(0.01)
        told, game_id = await everything(game), game.game_id
    for drop in ("nothing", "snapshots", "checkpoints"):
        with sqlite3.connect(tmp_path / LOG_FILE) as log:
            log.execute("DELETE FROM compacted WHERE topic = ?", (f"guildhall.tiny.{drop}",))
        log.close()
        async with hall(tmp_path) as running, table(running) as game:
            game.game_id = game_id
            assert await everything(game) == told


def claims(data: Path) -> int:
    with sqlite3.connect(data / LOG_FILE) as log:
        [count] = log.execute("SELECT count(*) FROM records WHERE key = ''").fetchone()
    log.close()
    return int(count)


async def health(port: int, service: str) -> int:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service))
        return int(answer.status)


async def test_stored_states_that_cannot_be_read_are_told_and_made_up_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with hall(tmp_path) as running, table(running) as live, table(running) as finished:
        await live.play(Random(21), 9)
        await finished.play(Random(22))
        told = await everything(live), await everything(finished)
        ids = live.game_id, finished.game_id
    for change in ("X'c1'", "substr(value, 1, length(value) - 4)", "CAST(replace(value, 'x', 'yy') || X'00' AS BLOB)"):
        with sqlite3.connect(tmp_path / LOG_FILE) as log:
            log.execute(
                f"UPDATE compacted SET value = {change} WHERE topic IN ('guildhall.tiny.snapshots', "
                "'guildhall.tiny.markers')"
            )
        log.close()
        capsys.readouterr()
        async with hall(tmp_path) as running, table(running) as live, table(running) as finished:
            live.game_id, finished.game_id = ids
            assert (await everything(live), await everything(finished)) == told
        assert "stored state unreadable" in "".join(capsys.readouterr())


async def test_a_marker_whose_game_cannot_be_read_is_made_up_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with hall(tmp_path) as running, table(running) as game:
        await game.play(Random(23))
        told, game_id = await everything(game), game.game_id
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        [value] = log.execute("SELECT value FROM compacted WHERE topic = 'guildhall.tiny.markers'").fetchone()
        marker = decode_marker(value)
        spoilt = encode(Marker(marker.seq, marker.offset, marker.kept[:40]))
        log.execute("UPDATE compacted SET value = ? WHERE topic = 'guildhall.tiny.markers'", (spoilt,))
    log.close()
    async with hall(tmp_path) as running, table(running) as game:
        game.game_id = game_id
        assert await everything(game) == told
    assert "stored state unreadable" in "".join(capsys.readouterr())


async def test_markers_that_were_lost_are_made_up_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A checkpoint counts them. Else a game that is over would be unknown, and its creation could be accepted again."""
    async with hall(tmp_path) as running, table(running) as game:
        await game.play(Random(29))
        told, game_id = await everything(game), game.game_id
    for _ in range(2):  # and they are written again
        forget_stored(tmp_path, "markers")
        async with hall(tmp_path) as running, table(running) as game:
            game.game_id = game_id
            assert await everything(game) == told
        assert "markers are missing" in "".join(capsys.readouterr())
    async with hall(tmp_path) as running:
        assert game_id not in running.hosts["tiny"].partition(game_id).hosted
    assert "markers are missing" not in "".join(capsys.readouterr())


async def test_states_are_stored_again_after_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_states = Partition.store_states
    faults = [ValueError("one"), LogUnavailable("two")]

    async def faulty(self: Partition, *, all_of_them: bool) -> None:
        if faults:
            raise faults.pop()
        await store_states(self, all_of_them=all_of_them)

    monkeypatch.setattr(Partition, "store_states", faulty)
    async with hall(tmp_path, upkeep=ALWAYS) as running, table(running) as game:
        await game.play(Random(31))
        partition = running.hosts["tiny"].partition(game.game_id)
        while game.game_id in partition.hosted or faults:
            await asyncio.sleep(0.01)


async def test_two_halls_on_one_directory(tmp_path: Path) -> None:
    """The newer one takes over; the older one stands down, and passes commands on. Both show the games."""
    async with hall(tmp_path) as older, table(older) as game:
        version = await game.play(Random(15), 10)
        watching = game.clients[0].watch(game.game_id, after=version)
        assert (await watching.read()).version == version
        async with hall(tmp_path) as newer:
            first, version = version, await game.play(Random(16), 3)
            heard = [(await watching.read()).version for _ in range(3)]
            assert heard == list(range(first + 1, version + 1))
            async with table(newer) as moved:
                moved.game_id = game.game_id
                assert await everything(moved) == await everything(game)
            assert (await failure(game.clients[0].submit(game.game_id, "1.0", t.Bid(0))))[0] == "STALE_DECISION"
            created = await game.clients[0].create()
            while older.hosts["tiny"].partitions:
                await asyncio.sleep(0.01)  # each partition hears of it within its poll, and is let go of
            assert newer.hosts["tiny"].partition(created).hosted[created].game is not None
            for service in ("", "guildhall.tiny.v1.RulesService", "guildhall.tiny.v1.ViewService"):
                assert await health(older.port, service) == health_pb2.HealthCheckResponse.SERVING
        # The newer one is gone: the older one claims again, and its stream goes on.
        assert (await game.clients[0].view(game.game_id)).game.version == version
        last = await game.play(Random(17))
        assert [(await watching.read()).version for _ in range(last - version)] == list(range(version + 1, last + 1))
    assert claims(tmp_path) == 3 * 12


async def test_a_hall_that_stood_down_claims_again_when_the_other_is_killed(tmp_path: Path) -> None:
    """And does so once, however often it looks."""
    async with hall(tmp_path) as older, table(older) as game:
        version = await game.play(Random(15), 5)
        async with hall_process(tmp_path) as newer:
            while older.hosts["tiny"].partitions:
                await asyncio.sleep(0.01)
            version = await game.play(Random(16), 3)
            await asyncio.sleep(3.0)  # some looks: the other is there, so nothing is claimed
            assert claims(tmp_path) == 2 * 12
            await newer.end(signal.SIGKILL)
        assert (await game.clients[0].view(game.game_id)).game.version == version
        assert await game.play(Random(17), 3) == version + 3
        await asyncio.sleep(3.0)
    assert claims(tmp_path) == 3 * 12


async def test_several_halls_that_stood_down_agree_on_one(tmp_path: Path) -> None:
    async with hall(tmp_path) as one, hall(tmp_path) as two, table(one) as game:
        async with hall_process(tmp_path) as three:
            while one.hosts["tiny"].partitions or two.hosts["tiny"].partitions:
                await asyncio.sleep(0.01)
            version = await game.play(Random(16), 3)
            await three.end(signal.SIGKILL)
        assert await game.play(Random(17), 3) == version + 3
        await asyncio.sleep(5.0)
        serving = [len([p for p in hall_.hosts["tiny"].partitions if p.serving]) for hall_ in (one, two)]
        assert sum(serving) == 12
    # Three starts, and then at most one claim of each partition by each of the two.
    assert 4 * 12 <= claims(tmp_path) <= 5 * 12


async def test_a_claim_that_cannot_be_read_is_followed_by_another(tmp_path: Path) -> None:
    """Nobody serves behind it, until somebody claims again."""
    async with hall(tmp_path) as running, table(running) as game:
        version = await game.play(Random(15), 5)
        number = running.hosts["tiny"].partition(game.game_id).number
        with sqlite3.connect(tmp_path / LOG_FILE) as log:
            log.execute(
                """INSERT INTO records SELECT topic, partition, max("offset") + 1, '', ? FROM records
                WHERE topic = 'guildhall.tiny.events' AND partition = ?""",
                (b"\xff", number),
            )
        log.close()
        assert (await game.clients[0].view(game.game_id)).game.version == version
        assert await game.play(Random(17), 3) == version + 3


async def test_commands_while_another_hall_takes_over(tmp_path: Path) -> None:
    """Commands that are under way when a second hall claims are in the log, once, in their order."""
    async with hall(tmp_path) as older, table(older) as game:
        alice = game.clients[0]
        accepted: dict[str, int] = {}

        async def submit(number: int) -> None:
            command_id = f"c{number}"
            answer = await alice.submit(game.game_id, "1.0", t.Bid(number % 3), command_id=command_id)
            accepted[command_id] = answer

        async def keep_submitting() -> None:
            for number in range(240):
                await submit(number)

        submitting = asyncio.create_task(keep_submitting())
        while not accepted:
            await asyncio.sleep(0)
        async with hall(tmp_path) as newer, Client(newer.port, tmp_path, "alice", ALL_SCOPES) as moved:
            await submitting
            assert sorted(accepted.values()) == list(range(2, 2 + len(accepted)))
            for command_id, version in accepted.items():
                fields = {"command_id": command_id, "command": t.Bid(int(command_id[1:]) % 3)}
                assert await moved.submit(game.game_id, "1.0", **fields) == version
            versions = (await moved.call("ListEvents", game_id=game.game_id, page_size=1000)).versions
            assert [batch.version for batch in versions] == list(range(1, 242))


async def test_a_damaged_record_stops_its_game_alone(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as broken, table(running) as whole:
        await broken.play(Random(17), 6)
        await whole.play(Random(18), 6)
    ids = broken.game_id, whole.game_id
    forget_stored(tmp_path)
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        [offset] = log.execute(
            'SELECT max("offset") FROM records WHERE key = ? AND "offset" < '
            '(SELECT max("offset") FROM records WHERE key = ?)',
            (ids[0], ids[0]),
        ).fetchone()
        log.execute('UPDATE records SET value = ? WHERE key = ? AND "offset" = ?', (b"\xff" * 40, ids[0], offset))
    log.close()
    async with hall(tmp_path) as running, table(running) as broken, table(running) as whole:
        broken.game_id, whole.game_id = ids
        for call in (
            broken.clients[0].view(ids[0]),
            broken.clients[0].submit(ids[0], "1.0", t.Bid(0)),
            broken.clients[0].legal(ids[0]),
            read_on(broken.clients[0].watch(ids[0])),
        ):
            assert (await failure(call))[:2] == ("GAME_QUARANTINED", CODE.DATA_LOSS)
        await whole.play(Random(19))
        await running.stop()
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        [first] = log.execute('SELECT min("offset") FROM records WHERE key = ?', (ids[0],)).fetchone()
        values = [decode_checkpoint(value) for value in stored(log, "checkpoints")]
    log.close()
    # It has no stored state, so the next start must know where it begins.
    begins = {game: position for value in values for game, position in value.begins.items()}
    assert begins.keys() == {ids[0]} and begins[ids[0]].next_offset == first
    async with hall(tmp_path) as running, table(running) as broken:  # and it stays so over the next start
        assert (await failure(broken.clients[0].view(ids[0])))[0] == "GAME_QUARANTINED"


async def test_a_record_with_a_flipped_bit_stops_its_game(tmp_path: Path) -> None:
    """One that still decodes, but does not follow the hash of the version before."""
    async with hall(tmp_path) as running, table(running) as broken:
        await broken.play(Random(17), 6)
    forget_stored(tmp_path)
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        offset, value = log.execute(
            'SELECT "offset", value FROM records WHERE key = ? ORDER BY "offset" LIMIT 1 OFFSET 2', (broken.game_id,)
        ).fetchone()
        changed = value.replace(b"bid", b"bad")
        assert changed != value
        log.execute('UPDATE records SET value = ? WHERE key = ? AND "offset" = ?', (changed, broken.game_id, offset))
    log.close()
    game_id = broken.game_id
    async with hall(tmp_path) as running, table(running) as broken:
        assert (await failure(broken.clients[0].view(game_id)))[0] == "GAME_QUARANTINED"


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be looked at" * 100, b"SQLite format 3\0" * 300]
)
async def test_an_unreadable_log_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LOG_FILE).write_bytes(content)
    with pytest.raises(LogUnreadable, match=LOG_FILE):
        await Hall(config(tmp_path)).start()


async def test_a_log_with_a_hole_is_named(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game:
        await game.play(Random(20), 5)
    forget_stored(tmp_path)
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        log.execute('DELETE FROM records WHERE key = ? AND "offset" = 3', (game.game_id,))
    log.close()
    with pytest.raises(LogUnreadable, match=r"tiny, partition \d+: records are missing"):
        await Hall(config(tmp_path)).start()


async def test_a_log_that_lost_records_is_named(tmp_path: Path) -> None:
    """The stored states tell of more than is there: serving on would be rewriting history."""
    async with hall(tmp_path) as running, table(running) as game:
        await game.play(Random(20), 5)
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        log.execute('DELETE FROM records WHERE key = ? AND "offset" > 3', (game.game_id,))
    log.close()
    with pytest.raises(LogUnreadable, match="tiny"):
        await Hall(config(tmp_path)).start()


async def test_a_stored_pack_that_does_not_parse_is_named(tmp_path: Path) -> None:
    import hashlib

    async with hall(tmp_path):
        pass
    data = b"nonsense"
    key = f"tiny/{hashlib.sha256(data).hexdigest()}"
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        statement = "INSERT INTO compacted (topic, partition, key, value) VALUES ('guildhall.packs', 0, ?, ?)"
        log.execute(statement, (key, data))
    log.close()
    with pytest.raises(BadPack, match=key):
        await Hall(config(tmp_path)).start()


async def test_a_pack_whose_bytes_changed_is_named(tmp_path: Path) -> None:
    async with hall(tmp_path):
        pass
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        log.execute("UPDATE compacted SET value = ? WHERE topic = 'guildhall.packs'", (b"size=2",))
    log.close()
    with pytest.raises(BadPack, match=RULES.pack_hash.hex()):
        await Hall(config(tmp_path)).start()


async def test_a_taken_port_is_said_clearly(tmp_path: Path) -> None:
    async with hall(tmp_path / "one") as running:
        with pytest.raises(PortTaken, match=str(running.port)):
            await Hall(config(tmp_path / "two", port=running.port)).start()


async def test_a_taken_port_takes_nobodys_games(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game:
        with pytest.raises(PortTaken):
            await Hall(config(tmp_path, port=running.port)).start()
        assert await game.clients[0].submit(game.game_id, "1.0", t.Bid(0)) == 2


async def test_a_start_that_fails_gives_its_port_back(tmp_path: Path) -> None:
    async with hall(tmp_path / "whole") as running:
        port = running.port
    (tmp_path / LOG_FILE).write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(LogUnreadable):
        await Hall(config(tmp_path, port=port)).start()
    async with hall(tmp_path / "whole", port=port):
        pass


async def test_a_claim_says_on_which_port_its_hall_is_reached(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game:
        owner = running.hosts["tiny"].partition(game.game_id).writer.owner
        assert owner is not None and owner.address == f"127.0.0.1:{running.port}" and running.port > 0
