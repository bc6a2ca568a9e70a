"""Operators at the command line, on one machine: looking into the log, at owners, into games, and acting on them."""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner, Result

from guildhall.cli import faces
from guildhall.cli.client import Client
from guildhall.cli.main import command_line
from guildhall.cli.tokens import dev_token
from guildhall.host.hall import LOG_FILE
from guildhall.host.owners import place
from guildhall.kernel.v1.structs import Owner, encode_Owner
from guildhall.log import topics
from guildhall.log.port import DEFAULT_PARTITIONS, Position
from guildhall.log.snapshots import Checkpoint, decode_checkpoint, decode_marker, decode_snapshot, encode
from guildhall.log.sqlite import open_sqlite
from tests.cli.hall import GUILDHALL, RunningHall, following, running_hall
from tests.cli.pty_player import sit_down
from tests.services.hall import forget_stored

WHY = "the cat is on the table"
PARTITIONS = DEFAULT_PARTITIONS * (len(faces.games()) + 1)
"""Of every game of the hall together, and of matchmaking."""


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHall]:
    with running_hall(tmp_path_factory.mktemp("hall")) as running:
        yield running


def begun(hall: RunningHall) -> str:
    """The id of a game in which nobody has done anything yet."""

    async def create() -> str:
        async with Client("arcane_alley", hall.server, dev_token(hall.data, "Zoe", ["play", "seat"])) as client:
            return await client.create(subjects=("Zoe", "Yan"))

    return asyncio.run(create())


def ran(*words: str) -> Result:
    """A command run to its end, in this process: a new one takes a second to start."""
    return CliRunner().invoke(command_line(words[0]), words)


def done(*words: str) -> str:
    """What a command printed that did its work."""
    result = ran(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*words: str) -> str:
    """What a command said that could not do its work."""
    result = ran(*words)
    assert result.exit_code in (1, 2) and isinstance(result.exception, SystemExit), result.output
    return re.sub(r"[\s│]+", " ", result.stderr)


def of_olga(hall: RunningHall) -> list[str]:
    return ["--name", "olga", *hall.there]


def test_a_game_is_paused_put_back_resumed_and_aborted(hall: RunningHall) -> None:
    game, olga = begun(hall), of_olga(hall)
    assert "live" in done("game", "status", game, *olga) and "waits for seat" in done("game", "status", game, *olga)
    assert "It would be done" in done("game", "pause", game, "--why", WHY, "--check", *olga)
    assert "is paused" in done("game", "pause", game, "--why", WHY, *olga)
    assert f"paused: {WHY}" in done("game", "status", game, *olga)
    assert game in done("game", "list", *olga)
    assert "An operator has paused this game" in refused("game", "pause", game, "--why", WHY, *olga)
    assert "1 paused" in done("owners", *olga)
    assert "with the state of version 1" in done("game", "repair", game, "--why", WHY, "--to-version", "1", *olga)
    assert "is resumed" in done("game", "resume", game, "--why", WHY, *olga)
    assert "say to which version" in refused("game", "repair", game, "--why", WHY, *olga)
    assert "--yes" in refused("game", "abort", game, "--why", WHY, *olga)
    assert "is aborted" in done("game", "abort", game, "--why", WHY, "--yes", *olga)
    assert "The game is over" in refused("game", "abort", game, "--why", WHY, "--yes", *olga)
    assert f"over: aborted: {WHY}" in done("game", "status", game, *olga)
    watched = done("watch", game, "--name", "Zoe", *hall.there)
    assert f"An operator pauses the game: {WHY}." in watched and "Final standing" not in watched
    assert f"An operator has ended the game: {WHY}." in watched
    assert "is as it was played" in done("verify", game, "--name", "Zoe", *hall.there)
    shown = done("log", "show", game, "--data", str(hall.data))
    assert shown.count(f"because: {WHY}") == 4 and "olga (" in shown and "Paused" in shown and "Restored" in shown


def test_a_paused_player_is_told_and_asked_again(hall: RunningHall) -> None:
    """The pause comes between the question and the answer."""

    def answer(question: str, number: int) -> str:
        if number == 1:
            operate("pause")
        if number == 2:
            operate("resume")
        return "q" if number == 4 else ""

    def operate(what: str) -> None:
        shown = done("log", "show", "--game", "arcane-alley", "--data", str(hall.data), "--events")
        [game] = re.findall(r"game_id='([a-z2-7]{26})'[^\n]*'Paula'", shown)
        done("game", what, game, "--why", WHY, *of_olga(hall))

    here = ["arcane-alley", "--name", "Paula", "--players", "2", "--no-powers", "--bots", "random"]
    screen = sit_down([*here, *hall.there], answer)
    assert f"An operator has paused the game: {WHY}" in screen.text
    assert f"An operator lets the game go on: {WHY}." in screen.text


def test_whoever_comes_back_to_a_paused_game_is_told(hall: RunningHall) -> None:
    game = begun(hall)
    done("game", "pause", game, "--why", WHY, *of_olga(hall))
    resumed = ["play", "--resume", game, "--name", "Zoe", *hall.there]
    with following([*GUILDHALL, *resumed]) as playing:
        assert playing.stdout is not None
        assert game in playing.stdout.readline()
        done("game", "resume", game, "--why", WHY, *of_olga(hall))
        told = ""
        while "lets the game go on" not in told:
            line = playing.stdout.readline()
            assert line, told
            told += line
        assert f"An operator has paused the game: {WHY}" in told


def test_who_is_no_operator_is_refused(hall: RunningHall) -> None:
    token = done("token", "--subject", "zoe", "--data", str(hall.data)).strip()
    said = refused("game", "list", "--token", token, "--server", hall.server)
    assert "operate" in said and "MISSING_SCOPE" in said
    scoped = done("token", "--subject", "olga", "--scope", "operate", "--data", str(hall.data)).strip()
    assert ran("game", "list", "--token", scoped, "--server", hall.server).exit_code == 0
    assert "There is no game" in refused("game", "status", "nosuchgame", *of_olga(hall))
    assert "No hall answers" in refused("owners", "--server", "127.0.0.1:1", "--data", str(hall.data))


def test_owners_by_the_hall_and_by_the_log(hall: RunningHall) -> None:
    told = done("owners", *of_olga(hall))
    assert f"{PARTITIONS} of {PARTITIONS} partitions are served, by 1 process;" in told
    assert told.count(hall.server) == PARTITIONS
    by_log = done("owners", "--from-log", "--data", str(hall.data))
    assert by_log.count(hall.server) == PARTITIONS and by_log.count("answers") == PARTITIONS


def test_games_of_other_processes_are_told_of(hall: RunningHall, tmp_path: Path) -> None:
    """Processes of another game that the owners' topic names: one of which answers, but not to Olga, and one that does
    not answer. Their games are not passed over in silence.
    """
    known = {"chess": hall.server, "go": "127.0.0.1:1"}

    async def name_them() -> None:
        log = open_sqlite(tmp_path / LOG_FILE)
        topic = await log.compacted(topics.OWNERS, 1)
        for game, address in known.items():
            await topic.put(0, place(game, 0), encode_Owner(Owner(game, 0, 5, f"of {game}", address)))
        await log.close()

    asyncio.run(name_them())
    with running_hall(tmp_path) as asked:
        olga = of_olga(asked)
        owners = ran("owners", *olga)
        told = {line.split()[0]: line for line in owners.stdout.splitlines()}
        assert "UNAUTHENTICATED" in told["chess/0"] or "INVALID_TOKEN" in told["chess/0"], told["chess/0"]
        assert "does not answer" in told["go/0"] and "does not answer" not in told["chess/0"]
        assert f"{PARTITIONS} of {PARTITIONS + 2} partitions are served, by 1 process" in "".join(told.values())
        listed = ran("game", "list", *olga)
        assert owners.exit_code == listed.exit_code == 1 and "No game is quarantined" not in listed.stdout
        assert owners.stderr == listed.stderr
        assert f"Not looked into: chess/0: {hall.server} says: " in listed.stderr
        assert "Not looked into: go/0: 127.0.0.1:1 does not answer" in listed.stderr
        pools = ran("pool", "list", *olga)
        assert "matchmaking" not in listed.stderr and (pools.exit_code, pools.stderr) == (0, "")
        asked.stop()


def test_the_log_is_followed(hall: RunningHall) -> None:
    game = begun(hall)
    words = ["log", "tail", game, "--events", "--data", str(hall.data), "--last", "1"]
    with following([*GUILDHALL, *words]) as tail:
        assert tail.stdout is not None and tail.stderr is not None
        assert f"Following {PARTITIONS} partitions" in tail.stderr.readline()
        assert f"{game} version" in tail.stdout.readline()
        done("game", "pause", game, "--why", WHY, *of_olga(hall))
        while "Paused" not in (line := tail.stdout.readline()):
            assert line


def test_a_whole_log_verifies_and_is_counted(hall: RunningHall) -> None:
    game = begun(hall)
    done("game", "abort", game, "--why", WHY, "--yes", *of_olga(hall))
    assert "is whole" in done("log", "verify", "--data", str(hall.data))
    told = done("log", "stats", "--data", str(hall.data))
    assert "12 claims" in told and re.search(r"games +\d+: .*aborted", told)
    for words in (("log", "stats"), ("owners", "--from-log")):
        said = refused(*words, "--data", str(hall.data / "elsewhere"))
        assert "There is no log" in said and "--kafka or GUILDHALL_KAFKA_BOOTSTRAP" in said


# --- damaged logs


def spoil(data: Path, table: str, where: str, change: Callable[[bytes], bytes]) -> None:
    """Change one stored value."""
    with sqlite3.connect(data / LOG_FILE) as log:
        [(row, value)] = log.execute(f'SELECT "offset", value FROM {table} WHERE {where} ORDER BY 1 DESC LIMIT 1')
        assert change(value) != value
        log.execute(f'UPDATE {table} SET value = ? WHERE "offset" = ? AND {where}', (change(value), row))
    log.close()


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda value: value[:-5],
    "of an unknown kind": lambda value: b"\x1a" + value[1:],
    "with a flipped bit": lambda value: value[:-10] + bytes((value[-10] ^ 1,)) + value[-9:],
}


def test_what_is_wrong_with_a_log_is_named_and_repaired(tmp_path: Path) -> None:
    """Records that are damaged while no hall runs: each is found, its game alone is quarantined, and put back."""
    with running_hall(tmp_path) as running:
        games = [begun(running) for _ in DAMAGE]
        whole = begun(running)
        for game in games:
            done("game", "pause", game, "--why", WHY, *of_olga(running))
        running.stop()
    assert "is whole" in done("log", "verify", "--data", str(tmp_path))
    for game, change in zip(games, DAMAGE.values(), strict=True):
        spoil(tmp_path, "records", f"key = '{game}'", change)
    forget_stored(tmp_path, package="arcane_alley")
    result = ran("log", "verify", "--data", str(tmp_path))
    assert result.exit_code == 1 and "3 problems" in result.stderr, result.output
    assert all(game in result.stderr for game in games) and whole not in result.stderr
    told = done("log", "stats", "--data", str(tmp_path))
    assert told.count("QUARANTINED") == 3 and "3 quarantined" in told and "1 live" in told
    assert "DAMAGED" in done("log", "show", games[0], "--data", str(tmp_path))
    with running_hall(tmp_path) as running:
        olga = of_olga(running)
        assert done("game", "list", *olga).count("quarantined") == 3
        assert "3 quarantined" in done("owners", *olga)
        for game in games:
            assert "A record of this game is damaged" in refused("watch", game, "--name", "Zoe", *running.there)
            assert "with the state of version 1" in done("game", "repair", game, "--why", WHY, *olga)
            assert "is resumed" in done("game", "resume", game, "--why", WHY, *olga)
        assert "No game is quarantined" in done("game", "list", *olga)
        running.stop()
    assert done("log", "verify", "--data", str(tmp_path)).count("olga put it back at version") == 3


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of a hall that was stopped, with a live game and one that is over."""
    data = tmp_path_factory.mktemp("played")
    with running_hall(data) as running:
        begun(running)
        done("game", "abort", begun(running), "--why", WHY, "--yes", *of_olga(running))
        running.stop()
    assert "2 games" in done("log", "verify", "--data", str(data))
    with sqlite3.connect(data / LOG_FILE) as log:
        log.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    log.close()
    return data


def change_marker(**fields: Any) -> Callable[[bytes], bytes]:
    return lambda value: encode(replace(decode_marker(value), **fields))


def change_checkpoint(**fields: Any) -> Callable[[bytes], bytes]:
    return lambda value: encode(replace(decode_checkpoint(value), **fields))


def later(versions: int, records: int) -> Callable[[bytes], bytes]:
    """A snapshot as if its events had been lost."""

    def change(value: bytes) -> bytes:
        snapshot = decode_snapshot(value)
        position = Position(snapshot.position.next_offset + records, snapshot.position.newest_claim)
        return encode(replace(snapshot, seq=snapshot.seq + versions, position=position))

    return change


@pytest.mark.parametrize(
    ("topic", "change", "said"),
    [
        ("snapshots", lambda value: b"\xc1", "unreadable"),
        (
            "snapshots",
            lambda value: encode(replace(decode_snapshot(value), state=b"junk")),
            "its snapshot cannot be read",
        ),
        ("markers", lambda value: b"\xc1", "unreadable"),
        ("markers", lambda value: encode(replace(decode_marker(value), kept=b"junk")), "its marker cannot be read"),
        ("markers", change_marker(seq=99), "tells of later versions"),
        ("markers", change_marker(seq=1), "tells of earlier versions"),
        ("markers", change_marker(offset=0), "tells of another record"),
        ("snapshots", later(50, 0), "its snapshot is not of these events"),
        ("snapshots", later(50, 50), "its snapshot was made at offset"),
        ("checkpoints", lambda value: b"\xc1", "unreadable"),
        ("checkpoints", change_checkpoint(finished=7), "is not of these events"),
        ("checkpoints", change_checkpoint(damaged={"x": 1}), "is not of these events (x)"),
        ("checkpoints", change_checkpoint(begins={"x": Position(1, 0)}), "is not of these events (x)"),
        ("checkpoints", lambda value: encode(Checkpoint(Position(99, 0), {})), "before its checkpoint"),
        ("checkpoints", lambda value: encode(Checkpoint(Position(1, 7), {"x": 1})), "is not of these events"),
    ],
)
def test_stored_states_are_compared_with_the_events(
    tmp_path: Path, played: Path, topic: str, change: Callable[[bytes], bytes], said: str
) -> None:
    (tmp_path / LOG_FILE).write_bytes((played / LOG_FILE).read_bytes())
    spoil(tmp_path, "compacted", f"topic = 'guildhall.arcane_alley.{topic}'", change)
    result = ran("log", "verify", "--data", str(tmp_path))
    assert result.exit_code == 1 and said in result.stderr, result.output


def test_a_marker_that_is_missing_is_named(tmp_path: Path, played: Path) -> None:
    (tmp_path / LOG_FILE).write_bytes((played / LOG_FILE).read_bytes())
    where = "topic = 'guildhall.arcane_alley.markers'"
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        [(game,)] = log.execute(f"SELECT key FROM compacted WHERE {where}")
        log.execute(f"DELETE FROM compacted WHERE {where}")
    log.close()
    said = refused("log", "verify", "--data", str(tmp_path))
    assert f"game {game}: it is not in the checkpoint, and its marker is missing" in said and "1 problem." in said


def test_a_stored_state_of_another_game_is_noticed(tmp_path: Path, played: Path) -> None:
    (tmp_path / LOG_FILE).write_bytes((played / LOG_FILE).read_bytes())
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        [(marker,)] = log.execute("SELECT value FROM compacted WHERE topic = 'guildhall.arcane_alley.markers'")
    log.close()
    other = decode_marker(marker).kept
    spoil(
        tmp_path,
        "compacted",
        "topic = 'guildhall.arcane_alley.snapshots'",
        lambda value: encode(replace(decode_snapshot(value), state=other)),
    )
    assert "its snapshot is not what its events make" in refused("log", "verify", "--data", str(tmp_path))
