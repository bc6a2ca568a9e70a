"""`guildhall queue`, `table`, `leaderboard`, against a real hall."""

import asyncio
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from guildhall.cli import serve
from guildhall.cli.client import Client
from guildhall.cli.tokens import dev_token
from services.bots.player import play
from services.bots.random_choice import RandomChoice
from tests.cli.hall import GUILDHALL, RunningHall, following, guildhall, running_hall, serving


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHall]:
    with running_hall(tmp_path_factory.mktemp("hall")) as running:
        yield running


def game_id(text: str) -> str:
    found = re.search(r"Game ([a-z2-7]{26}): you have seat \d", text)
    assert found, text
    return found[1]


def words(hall: RunningHall, name: str, *rest: str) -> list[str]:
    return [*rest, "--name", name, *hall.there]


def test_two_in_the_queue_get_one_game(hall: RunningHall) -> None:
    queue = ["queue", "trickerion", "--players", "2"]
    with following([*GUILDHALL, *words(hall, "alice", *queue)]) as alice:
        bob = guildhall(*words(hall, "bob", *queue))
        assert bob.returncode == 0, bob.stderr
        told, _ = alice.communicate(timeout=30)
    assert game_id(bob.stdout) == game_id(told)
    assert "with alice" in bob.stdout and f"play trickerion --resume {game_id(told)}" in told


def test_bots_fill_up(hall: RunningHall) -> None:
    queue = guildhall(*words(hall, "carol", "queue", "arcane-alley", "--bots", "greedy", "--bots-after", "0"))
    assert queue.returncode == 0, queue.stderr
    assert re.search(r"with .*\bAda\b", queue.stdout)  # in the order in which the seats were drawn


def test_ctrl_c_takes_the_ticket_back(hall: RunningHall) -> None:
    queue = [*GUILDHALL, *words(hall, "dave", "queue", "trickerion", "--players", "4")]
    with following(queue) as dave:
        assert dave.stdout is not None
        assert "You wait in the queue" in dave.stdout.readline()
        second = guildhall(*words(hall, "dave", "queue", "trickerion"))
        assert second.returncode == 1 and "waits in the queue" in second.stderr
        dave.send_signal(signal.SIGINT)
        assert dave.wait(timeout=30) == 130
    with following(queue) as again:
        assert again.stdout is not None and "You wait in the queue" in again.stdout.readline()


def test_a_table_with_a_friend_and_a_bot(hall: RunningHall) -> None:
    create = ("table", "create", "trickerion", "--private", "--bot")
    wrong = guildhall(*words(hall, "erin", *create, "nosuch"))
    assert wrong.returncode == 1 and "no bot 'nosuch'" in wrong.stderr
    made = guildhall(*words(hall, "erin", *create, "random"))  # nothing is left of the first one
    assert made.returncode == 0, made.stderr
    code = re.search(r"--code ([a-z2-7]+)", made.stdout)
    assert code and "erin, random bot, free" in made.stdout
    early = guildhall(*words(hall, "erin", "table", "start", "trickerion"))
    assert early.returncode == 1 and "1 seats are free" in early.stderr
    wrong = guildhall(*words(hall, "frank", "table", "join", "trickerion", "--code", "guess"))
    assert wrong.returncode == 1 and "No table has this code" in wrong.stderr
    with following([*GUILDHALL, *words(hall, "frank", "table", "join", "trickerion", "--code", code[1])]) as frank:
        assert frank.stdout is not None
        assert "erin, random bot, frank" in frank.stdout.readline()
        assert "You wait until it starts" in frank.stdout.readline()
        started = guildhall(*words(hall, "erin", "table", "start", "trickerion"))
        assert started.returncode == 0, started.stderr
        told, _ = frank.communicate(timeout=30)
    assert game_id(told) == game_id(started.stdout)


def test_public_tables_are_listed_and_left(hall: RunningHall) -> None:
    made = guildhall(*words(hall, "gwen", "table", "create", "arcane-alley", "--seats", "2"))
    assert made.returncode == 0 and "--id" in made.stdout
    assert "of gwen: gwen, free" in guildhall(*words(hall, "hugo", "table", "list", "arcane-alley")).stdout
    assert "of gwen" in guildhall(*words(hall, "gwen", "table", "show", "arcane-alley")).stdout
    assert guildhall(*words(hall, "gwen", "table", "leave", "arcane-alley")).returncode == 0
    assert guildhall(*words(hall, "hugo", "table", "list", "arcane-alley")).stdout == ""
    none = guildhall(*words(hall, "gwen", "table", "show", "arcane-alley"))
    assert none.returncode == 1 and "You sit at no table" in none.stderr


def test_the_leaderboard_says_where_one_stands(hall: RunningHall) -> None:
    told = guildhall(*words(hall, "ivan", "leaderboard", "trickerion"))
    assert told.returncode == 0, told.stderr
    assert "Nobody has played ten rated games yet." in told.stdout and "after 0 rated games" in told.stdout


def test_where_to_play_is_said_as_host_and_port() -> None:
    for said, why in (
        ("games.example", "host:port"),
        ("nothing=games.example:443", "nothing"),
        ("arcane-alley=games.example:https", "host:port"),
    ):
        refused = guildhall("serve", "all", "--public", said)
        assert refused.returncode == 2 and why in refused.stderr, refused.stderr


def test_where_each_game_is_played() -> None:
    games = serve.games()
    everywhere = {rules.game: "a:1" for rules in games}
    assert serve.public_places(None, games) == {}
    assert serve.public_places(["a:1"], games) == everywhere
    for said in (["a:1", "arcane-alley=b:2"], ["arcane-alley=b:2", "a:1"]):
        assert serve.public_places(said, games) == {**everywhere, "arcane_alley": "b:2"}


def test_bots_play_where_they_were_told_the_hall_listens(tmp_path: Path) -> None:
    """And not where its players reach it from outside."""
    with serving(tmp_path, "all", "--port", "0", "--public", "127.0.0.1:1") as outside:
        queue = ["queue", "arcane-alley", "--players", "2", "--bots", "random", "--bots-after", "0"]
        queued = guildhall(*words(outside, "alice", *queue))
        assert queued.returncode == 0 and "127.0.0.1:1" in queued.stdout, queued.stdout + queued.stderr

        async def played() -> None:
            token = dev_token(outside.data, "alice", ["play"])
            async with asyncio.timeout(60), Client("arcane_alley", outside.server, token) as client:
                await play(client, game_id(queued.stdout), RandomChoice(Random(1)))

        asyncio.run(played())


def test_the_bots_end_with_their_hall(hall: RunningHall) -> None:
    """Also where it is killed; last, since nothing is served afterwards."""

    def children() -> list[int]:
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(hall.process.pid)], capture_output=True, text=True)
        return [int(pid) for pid in listed.stdout.split()]

    bots = children()
    assert bots
    hall.process.kill()
    hall.process.wait()
    until = time.monotonic() + 10
    while any(map(alive, bots)):
        assert time.monotonic() < until, "a bot outlives its hall"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended may stay listed until somebody asks for its exit code."""
    listed = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True)
    return listed.stdout.strip() not in ("", "Z")
