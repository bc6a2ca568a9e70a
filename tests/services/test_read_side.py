"""The read side beside the rules in one process: its Redis, and what is told when it is not there."""

import asyncio
import os
import signal
from pathlib import Path
from random import Random
from typing import Any

import grpc
import pytest
from msgspec.structs import replace

from guildhall.cli import read_side
from guildhall.cli.read_side import REDIS_DIRECTORY, OneMachine
from guildhall.host.hall import Hall
from guildhall.readmodel import records
from guildhall.readmodel.child import DUMP
from guildhall.readmodel.records import Progress
from guildhall.rpc.errors import error_info
from guildhall.telemetry.metrics import REGISTRY
from services.projection import service
from services.views import live_games
from services.views.watch import WatchLimits
from tests.kernel.tiny.build import structs as t
from tests.services.hall import Client, failure, followed, hall, table
from tests.services.process import hall_process

CODE = grpc.StatusCode


def beside(running: Hall) -> OneMachine:
    assert isinstance(running.beside, OneMachine)
    return running.beside


async def test_nobody_else_may_enter_where_redis_is(tmp_path: Path) -> None:
    """It holds hands, decks and seeds."""
    async with hall(tmp_path) as running:
        child = beside(running).child
        assert child is not None
        assert child.socket.parent.stat().st_mode & 0o777 == 0o700
        assert child.socket.stat().st_mode & 0o077 == 0
        home = child.socket.parent
    assert not home.exists()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def runs(pid: int) -> bool:
    """Whether there is such a process; one that has ended and is not yet waited for does not run."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc on this system")
async def test_redis_ends_with_a_hall_that_is_killed(tmp_path: Path) -> None:
    async with hall_process(tmp_path) as process:
        [redis] = children(process.process.pid)
        assert runs(redis)
        await process.end(signal.SIGKILL)
        async with asyncio.timeout(5.0):
            while runs(redis):
                await asyncio.sleep(0.01)


async def test_play_goes_on_without_redis_and_views_come_back(tmp_path: Path) -> None:
    """All that it held is built again from the log."""
    async with hall(tmp_path) as running, table(running) as seen, table(running) as unseen:
        child = beside(running).child
        assert child is not None
        version = await seen.play(Random(1), 5)
        watching = seen.clients[1].watch(seen.game_id, events=True, after=0, timeout=60.0)
        assert [(await watching.read()).version for _ in range(version)] == list(range(1, version + 1))
        await child.stop()
        assert (await seen.clients[0].view(seen.game_id)).game.version == version
        refused = await failure(unseen.clients[0].view(unseen.game_id))
        assert refused[:2] == ("READ_MODELS_UNAVAILABLE", CODE.UNAVAILABLE)
        [decision] = [d for client in seen.clients for d in (await client.legal(seen.game_id)).decisions][:1]
        seat = decision.decision.seat
        last = await seen.clients[seat].submit(seen.game_id, decision.decision.id, decision.commands[0])
        await child.start()
        assert (await back(watching)).version == last
        for game in (seen, unseen):
            shown = await until_shown(game.clients[0], game.game_id)
            assert shown.game.version == (last if game is seen else 1)
        assert await seen.play(Random(2)) > last


async def test_streams_that_are_cut_off_from_redis_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heartbeat must not say that all is well where nobody can know."""
    monkeypatch.setattr(live_games, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(live_games, "CUT_OFF_SECONDS", 3.0)
    limits = WatchLimits(heartbeat_seconds=0.1)
    async with hall(tmp_path, watching=limits) as running, table(running) as game:
        child = beside(running).child
        assert child is not None
        version = await game.play(Random(1), 5)
        watching = game.clients[1].watch(game.game_id, events=True, after=version, timeout=60.0)
        for _ in range(40):
            assert (await watching.read()).version == version
        await child.stop()
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            while True:
                assert (await watching.read()).version == version
        info = error_info(ended.value)
        assert info is not None and ended.value.code() is CODE.UNAVAILABLE
        assert (info.reason, info.metadata["after_version"]) == ("READ_MODELS_UNAVAILABLE", str(version))
        refused = await failure(game.clients[0].view(game.game_id))
        assert refused[:2] == ("READ_MODELS_UNAVAILABLE", CODE.UNAVAILABLE)
        await child.start()
        assert (await until_shown(game.clients[0], game.game_id)).game.version == version
        again = game.clients[1].watch(game.game_id, events=True, after=version, timeout=60.0)
        assert (await again.read()).version == version


async def test_redis_that_is_killed_is_started_again(tmp_path: Path) -> None:
    """What it has not stored is built from the log once more."""
    async with hall(tmp_path) as running, table(running) as game:
        child = beside(running).child
        assert child is not None
        last = await game.play(Random(7), 5)
        before = child.pid
        for _ in range(2):
            os.kill(child.pid, signal.SIGKILL)
            async with asyncio.timeout(20.0):
                while child.pid == before or not runs(child.pid):
                    await asyncio.sleep(0.02)
                assert (await until_shown(game.clients[0], game.game_id)).game.version >= last
            before = child.pid
            last = await game.step(Random(8))
    assert not runs(before)


async def test_a_projection_that_ends_begins_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a fault outside of what each partition waits out for itself."""
    monkeypatch.setattr(read_side, "_PROJECT_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(service, "_MEASURE_SECONDS", 0.05)
    async with hall(tmp_path) as running, table(running) as game:
        await game.clients[0].view(game.game_id)
        first = beside(running).projection
        with monkeypatch.context() as broken:
            broken.setattr(service, "lag", _broken)
            last = await game.step(Random(9))
            async with asyncio.timeout(20.0):
                while beside(running).projection is first:
                    await asyncio.sleep(0.01)
        async with asyncio.timeout(20.0):
            assert (await game.clients[0].call("GetView", game_id=game.game_id, min_version=last)).version == last


async def _broken(*_: object) -> list[object]:
    raise ZeroDivisionError


async def projected(running: Hall) -> float:
    """Records that were folded into read models since the test began, once they have everything."""
    projection = beside(running).projection
    assert projection is not None
    await projection.level()
    return REGISTRY.get_sample_value("guildhall_projected_records_total", {"game": "tiny"}) or 0.0


async def test_a_start_folds_what_came_since(tmp_path: Path) -> None:
    """After a hall that was ended, nothing but its own claims; what Redis has stored and cannot read is built anew."""
    async with hall(tmp_path) as running, table(running) as game:
        await game.play(Random(4), 20)
        game_id, shown = game.game_id, await game.clients[0].view(game.game_id)
    dump = tmp_path / REDIS_DIRECTORY / DUMP
    assert dump.exists() and dump.parent.stat().st_mode & 0o777 == 0o700
    for spoilt, least, most in ((b"", 12, 12), (b"nonsense", 12 + 20, 1_000)):
        if spoilt:
            dump.write_bytes(spoilt)
        before = REGISTRY.get_sample_value("guildhall_projected_records_total", {"game": "tiny"}) or 0.0
        async with hall(tmp_path) as running, Client(running.port, tmp_path, "alice") as alice:
            assert least <= await projected(running) - before <= most
            assert await alice.view(game_id) == shown


async def test_models_of_another_log_are_not_shown(tmp_path: Path) -> None:
    """Its data directory was emptied but for what Redis had stored."""
    async with hall(tmp_path) as running, table(running) as game:
        await game.play(Random(5), 10)
        game_id = game.game_id
    for file in tmp_path.glob("log.sqlite*"):
        file.unlink()
    async with hall(tmp_path) as running, table(running) as other:
        assert (await failure(other.clients[0].call("GetView", game_id=game_id)))[0] == "GAME_NOT_FOUND"
        assert await other.play(Random(6), 3) == 4


async def back(watching: Any) -> Any:
    while (message := await watching.read()).heartbeat is not None:
        pass
    return message


async def until_shown(client: Client, game_id: str) -> Any:
    while True:
        try:
            return await client.view(game_id)
        except grpc.aio.AioRpcError as error:
            assert error.code() is CODE.UNAVAILABLE
            await asyncio.sleep(0.05)


async def test_a_game_that_the_models_do_not_have_yet_is_waited_for(tmp_path: Path) -> None:
    async with hall(tmp_path) as running, table(running) as game:
        projection = beside(running).projection
        assert projection is not None
        await game.clients[0].view(game.game_id)
        await projection.close()
        created = await game.clients[0].create()
        late = await failure(game.clients[0].call("GetView", game_id=created, timeout=0.5))
        assert late[:2] == ("READ_MODELS_UNAVAILABLE", CODE.UNAVAILABLE)
        # A stranger waits for as long for the answer about a game that is there as about one that is not.
        async with Client(running.port, tmp_path, "eve", ("play",)) as eve:
            for name in (created, "x" * 26):
                call = eve.call("GetView", game_id=name, timeout=0.5)
                assert (await failure(call))[0] in ("READ_MODELS_UNAVAILABLE", "GAME_NOT_FOUND")
        await game.clients[0].submit(game.game_id, "1.0", t.Bid(0))
        late = await failure(game.clients[0].call("GetView", game_id=game.game_id, min_version=2, timeout=0.5))
        assert late[:2] == ("VERSION_NOT_REACHED", CODE.DEADLINE_EXCEEDED)


async def test_models_of_a_newer_format_are_not_read(tmp_path: Path) -> None:
    """As if there were none: while a rebuild by a newer program is live before this one is upgraded."""
    async with hall(tmp_path) as running, table(running) as game:
        projection, views = beside(running).projection, beside(running).views
        assert projection is not None and views is not None
        await projection.level()  # else the models lack the game, and stay behind for good
        await projection.close()
        where = views.games["tiny"].news.keys_of(game.game_id).position
        position = records.decode(await views.redis.get(where) or b"", Progress)
        await views.redis.set(where, records.encode(replace(position, format=records.FORMAT + 1)))
        refused = await failure(game.clients[0].call("GetView", game_id=game.game_id, timeout=0.5))
        assert refused[:2] == ("READ_MODELS_UNAVAILABLE", CODE.UNAVAILABLE)
        await views.redis.set(where, records.encode(position))
        assert (await game.clients[0].view(game.game_id)).game.version == 1


async def test_models_that_were_set_right_are_looked_at_anew(tmp_path: Path) -> None:
    """Whoever watches is told to come again, and goes on after the version it has."""
    async with hall(tmp_path, watching=WatchLimits(heartbeat_seconds=0.2)) as running, table(running) as game:
        views = beside(running).views
        assert views is not None
        version = await game.play(Random(3), 6)
        watching = game.clients[2].watch(game.game_id, after=version)
        assert (await watching.read()).version == version
        before = await followed(running, game.game_id)
        news = views.games["tiny"].news.keys_of(game.game_id).news
        await views.redis.xadd(news, {"g": game.game_id, "v": 0, "r": b""}, id=f"{1 << 40}-0")
        reason, code, metadata = await failure(back(watching))
        assert (reason, code, metadata["after_version"]) == ("VIEW_BEHIND", CODE.UNAVAILABLE, str(version))
        again = game.clients[2].watch(game.game_id, after=version)
        assert (await again.read()).version == version
        assert await followed(running, game.game_id) is not before
        again.cancel()
