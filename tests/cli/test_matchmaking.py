"""`guildhall queue`, `table`, `leaderboard`, against a real hall."""

import asyncio
import re
import shlex
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

UNIGNORED = ["env", "--default-signal=INT,TERM,HUP"]
"""Before a command that is sent signals: whoever runs the tests may ignore some, as nohup does, and pass that on."""


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


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whoever_goes_takes_the_ticket_back(hall: RunningHall, end: signal.Signals) -> None:
    queue = [*UNIGNORED, *GUILDHALL, *words(hall, "dave", "queue", "trickerion", "--players", "4")]
    with following(queue) as dave:
        assert dave.stdout is not None
        assert "You wait in the queue" in dave.stdout.readline()
        dave.send_signal(end)
        told, _ = dave.communicate(timeout=30)
        assert dave.returncode == 128 + end and told == "Your ticket is taken back.\n"
    nothing = guildhall(*words(hall, "dave", "queue", "trickerion", "--leave"))
    assert nothing.returncode == 1 and nothing.stderr == "You do not wait in the queue.\n"


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminal_that_is_closed_leaves_no_ticket(hall: RunningHall, end: signal.Signals) -> None:
    with following([*UNIGNORED, *GUILDHALL, *words(hall, "dora", "queue", "trickerion")]) as dora:
        assert dora.stdout is not None and "You wait in the queue." in dora.stdout.readline()
        dora.stdout.close()  # what it says now fails
        for _ in range(3):
            dora.send_signal(end)
            time.sleep(0.01)
        dora.wait(timeout=30)
    nothing = guildhall(*words(hall, "dora", "queue", "trickerion", "--leave"))
    assert nothing.stderr == "You do not wait in the queue.\n"


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ([signal.SIGINT], 130),
        ([signal.SIGTERM], 143),
        ([signal.SIGINT, signal.SIGINT], 130),
        ([signal.SIGHUP, signal.SIGHUP, signal.SIGTERM], 129),
    ],
)
def test_a_hall_that_is_away_keeps_nobody(hall: RunningHall, sent: list[signal.Signals], code: int) -> None:
    """A second Ctrl-C waits for nothing; a terminal that is closed may send several signals, which are one."""
    queue = words(hall, "nora", "queue", "trickerion")
    with following([*UNIGNORED, *GUILDHALL, *queue]) as nora:
        assert nora.stdout is not None and "You wait in the queue." in nora.stdout.readline()
        hall.process.send_signal(signal.SIGSTOP)
        try:
            for number in sent:
                nora.send_signal(number)
                time.sleep(0.2)
            _, told = nora.communicate(timeout=30)
        finally:
            hall.process.send_signal(signal.SIGCONT)
        assert nora.returncode == code and "Traceback" not in told
        assert "your ticket may still stand" in told
    assert guildhall(*queue, "--leave").stdout == "Your ticket is taken back.\n"


def test_who_ignores_a_hangup_waits_on(hall: RunningHall) -> None:
    with following(["nohup", *GUILDHALL, *words(hall, "olaf", "queue", "trickerion")]) as olaf:
        assert olaf.stdout is not None and "You wait in the queue." in olaf.stdout.readline()
        olaf.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert olaf.poll() is None  # it goes on
        left = guildhall(*words(hall, "olaf", "queue", "trickerion", "--leave"))
        assert left.stdout == "Your ticket is taken back.\n"
        _, why = olaf.communicate(timeout=30)
        assert olaf.returncode == 1 and why.endswith("Your ticket was taken back.\n")


def test_whoever_waits_already_goes_on_with_that_ticket(hall: RunningHall) -> None:
    queue = ("queue", "trickerion", "--players", "2", "--option", "dark_alley=true", "--clock", "90")
    what = "for 2 players, a clock of 90 seconds, dark_alley=true"
    with following([*GUILDHALL, *words(hall, "petra", *queue)]) as lost:
        assert lost.stdout is not None and "You wait in the queue." in lost.stdout.readline()
        lost.kill()
    other = guildhall(*words(hall, "petra", "queue", "trickerion", "--players", "3"))
    assert other.returncode == 1
    said, *ways = other.stderr.splitlines()
    assert said.startswith(f"You wait in the queue already, {what}. Go on waiting, or")
    assert ["--leave" in way for way in ways] == [False, True]
    table = guildhall(*words(hall, "petra", "table", "create", "trickerion"))
    assert table.returncode == 1 and table.stderr.splitlines()[-2:] == ways
    with following(["sh", "-c", f"exec {ways[0]}"]) as again:
        assert again.stdout is not None
        assert f"{what}: you go on with that ticket" in again.stdout.readline()
        quinn = guildhall(*words(hall, "quinn", *queue))
        told, _ = again.communicate(timeout=30)
    assert game_id(quinn.stdout) == game_id(told)


def test_a_table_with_a_friend_and_a_bot(hall: RunningHall) -> None:
    create = ("table", "create", "trickerion", "--private", "--bot")
    wrong = guildhall(*words(hall, "erin", *create, "nosuch"))
    assert wrong.returncode == 1 and "no bot 'nosuch'" in wrong.stderr
    made = guildhall(*words(hall, "erin", *create, "random"))  # nothing is left of the first one
    assert made.returncode == 0, made.stderr
    code = re.search(r"--code ([a-z2-7]+)", made.stdout)
    assert code and "erin, random bot, free" in made.stdout
    early = guildhall(*words(hall, "erin", "table", "start", "trickerion"))
    assert early.returncode == 1 and "1 seat is free" in early.stderr
    for key, other in (("--code", "--id"), ("--id", "--code")):
        wrong = guildhall(*words(hall, "frank", "table", "join", "trickerion", key, "guess"))
        assert wrong.returncode == 1 and f"table goes with {other}." in wrong.stderr
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
    none = guildhall(*words(hall, "hugo", "table", "list", "arcane-alley"))
    assert none.returncode == 0 and none.stdout == "" and none.stderr == "There are none.\n"
    none = guildhall(*words(hall, "gwen", "table", "show", "arcane-alley"))
    assert none.returncode == 1 and "You sit at no table" in none.stderr


def test_what_a_new_table_tells_can_be_typed(hall: RunningHall) -> None:
    made = guildhall(*words(hall, "rita", "table", "create", "trickerion", "--seats", "3"))
    join, bot, start = [line for line in made.stdout.splitlines() if " table " in line]

    def typed(line: str, name: str = "rita") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(["sh", "-c", line.replace("NAME", name)], capture_output=True, text=True)

    assert typed(bot).stdout.splitlines()[0].endswith(": rita, greedy bot, free")
    assert "sits there" not in typed(f"{join} --no-wait", "sven").stderr
    wait = typed(f"{join} --no-wait", "sven").stdout.splitlines()[-1]
    with following(["sh", "-c", f"exec {wait}"]) as sven:
        assert sven.stdout is not None and "rita, greedy bot, sven" in sven.stdout.readline()
        started = typed(start)
        told, _ = sven.communicate(timeout=30)
    assert game_id(told) == game_id(started.stdout)
    over = typed(wait)
    assert over.returncode == 1 and "You sit at no table. Your games" in over.stderr


def test_whoever_sits_there_already_is_not_asked_for_a_code_that_has_changed(hall: RunningHall) -> None:
    made = guildhall(*words(hall, "yvonne", "table", "create", "trickerion", "--private", "--seats", "3"))
    code = re.search(r"--code ([a-z2-7]+)", made.stdout)
    assert code
    for name in ("zora", "zack"):
        guildhall(*words(hall, name, "table", "join", "trickerion", "--code", code[1], "--no-wait"))
    kicked = guildhall(*words(hall, "yvonne", "table", "kick", "trickerion", "zack"))
    assert "yvonne, zora, free" in kicked.stdout and code[1] not in kicked.stdout
    again = guildhall(*words(hall, "zora", "table", "join", "trickerion", "--code", code[1]))
    assert again.returncode == 1 and again.stderr.startswith("You sit at a table already. Look at it, wait there")
    back = guildhall(*words(hall, "zack", "table", "join", "trickerion", "--code", code[1]))
    assert back.returncode == 1 and "No table has this code" in back.stderr


def test_nobody_to_read_what_is_said_leaves_no_ticket(hall: RunningHall) -> None:
    queue = shlex.join([*GUILDHALL, *words(hall, "will", "queue", "trickerion")])
    for nowhere in ("| true", "> /dev/full"):
        subprocess.run(["sh", "-c", f"{queue} {nowhere}"], capture_output=True, timeout=60)
        nothing = guildhall(*words(hall, "will", "queue", "trickerion", "--leave"))
        assert nothing.stderr == "You do not wait in the queue.\n"


def test_what_is_no_text_is_refused_in_a_sentence(hall: RunningHall) -> None:
    for wrong in ("--bots", "--option"):
        there = ["queue", "trickerion", "--name", "vito", *hall.there, wrong]
        refused = subprocess.run([*map(str.encode, [*GUILDHALL, *there]), b"a=\xff"], capture_output=True, text=True)
        assert refused.returncode == 1 and refused.stderr.endswith("is no text.\n"), refused.stderr


def test_whoever_waits_at_a_table_is_told_what_changes_and_what_is_agreed(hall: RunningHall) -> None:
    """Also that it is one's own now, since nobody else can start it then."""
    agreed = ("--unrated", "--clock", "77", "--option", "dark_alley=true")
    made = guildhall(*words(hall, "abby", "table", "create", "trickerion", "--seats", "3", *agreed))
    id = re.search(r"--id ([a-z2-7]+)", made.stdout)
    assert id and "(unrated, a clock of 77 seconds, dark_alley=true): abby, free, free" in made.stdout
    joining = words(hall, "bert", "table", "join", "trickerion", "--id", id[1])
    with following([*GUILDHALL, *joining]) as bert:
        assert bert.stdout is not None
        assert "(unrated, a clock of 77 seconds, dark_alley=true): abby, bert, free" in bert.stdout.readline()
        while "table wait" not in bert.stdout.readline():
            pass
        guildhall(*words(hall, "abby", "table", "add-bot", "trickerion", "random"))
        assert bert.stdout.readline().endswith("abby, bert, random bot\n")
        guildhall(*words(hall, "abby", "table", "leave", "trickerion"))
        assert "of bert" in bert.stdout.readline()
        assert bert.stdout.readline() == "The table is yours now.\n"
        while "table start" not in (start := bert.stdout.readline()):
            pass
        guildhall(*words(hall, "bert", "table", "add-bot", "trickerion", "random"))
        started = subprocess.run(["sh", "-c", start], capture_output=True, text=True)
        told, _ = bert.communicate(timeout=30)
    assert game_id(told) == game_id(started.stdout)


def test_a_start_can_be_taken_up_again(hall: RunningHall) -> None:
    made = guildhall(*words(hall, "cora", "table", "create", "trickerion", "--seats", "2"))
    id = re.search(r"--id ([a-z2-7]+)", made.stdout)
    assert id
    guildhall(*words(hall, "dirk", "table", "join", "trickerion", "--id", id[1], "--no-wait"))
    start = [*GUILDHALL, *words(hall, "cora", "table", "start", "trickerion")]
    with following(start) as lost:
        assert lost.stdout is not None and "dirk has" in lost.stdout.readline()
        lost.kill()
    with following(start) as again:
        assert again.stdout is not None and again.stdout.readline() == "It is about to start already.\n"
        waited = guildhall(*words(hall, "dirk", "table", "wait", "trickerion"))
        told, _ = again.communicate(timeout=30)
    assert game_id(told) == game_id(waited.stdout)


def test_a_full_table_only_has_to_be_started(hall: RunningHall) -> None:
    bots = ("--bot", "random", "--bot", "random")
    small = guildhall(*words(hall, "tilda", "table", "create", "trickerion", "--seats", "2", *bots))
    assert small.returncode == 2 and "you and 2 bots need 3 seats, not 2" in small.stderr
    made = guildhall(*words(hall, "tilda", "table", "create", "trickerion", "--seats", "3", *bots))
    assert "join" not in made.stdout and "table start trickerion --name tilda" in made.stdout
    play = guildhall(*words(hall, "tilda", "play", "trickerion"))
    assert play.returncode == 1 and "You sit at a table already." in play.stderr
    assert "table wait trickerion --name tilda" in play.stderr and "table leave trickerion --name tilda" in play.stderr
    for _ in range(2):
        assert guildhall(*words(hall, "tilda", "table", "remove-bot", "trickerion")).returncode == 0
    none = guildhall(*words(hall, "tilda", "table", "remove-bot", "trickerion"))
    assert none.returncode == 1 and "No bot sits at your table." in none.stderr
    assert guildhall(*words(hall, "tilda", "table", "leave", "trickerion")).returncode == 0


@pytest.mark.timeout(120)
def test_who_did_not_confirm_is_named(hall: RunningHall) -> None:
    """The real half minute."""
    made = guildhall(*words(hall, "ulla", "table", "create", "arcane-alley", "--seats", "3"))
    id = re.search(r"--id ([a-z2-7]+)", made.stdout)
    assert id
    join = ("table", "join", "arcane-alley", "--id", id[1])
    guildhall(*words(hall, "vera", *join, "--no-wait"))
    with following([*GUILDHALL, *words(hall, "wanda", *join)]) as wanda:
        assert wanda.stdout is not None
        while "Whoever does not wait" not in wanda.stdout.readline():
            pass
        started = guildhall(*words(hall, "ulla", "table", "start", "arcane-alley"))
        assert started.returncode == 1 and re.match(r"vera and wanda have \d\d seconds to confirm\.\n$", started.stdout)
        assert started.stderr == (
            "The game does not start. vera has not confirmed in time, or left, and sits there no more.\n"
        )
        guildhall(*words(hall, "ulla", "table", "kick", "arcane-alley", "wanda"))
        told, why = wanda.communicate(timeout=30)
    assert "It did not start: not everybody confirmed, or the hall could not make it. You wait on." in told
    assert "You have no seat any more" in why
    assert "ulla, free, free" in guildhall(*words(hall, "ulla", "table", "show", "arcane-alley")).stdout
    stranger = guildhall(*words(hall, "vera", "table", "kick", "arcane-alley", "ulla"))
    assert stranger.returncode == 1 and stranger.stderr == "You sit at no table.\n"


def test_a_choice_that_there_is_not_leads_to_those_that_there_are(hall: RunningHall) -> None:
    for word, wrong in (("--ruling", "nosuch=1"), ("--option", "dark_alley=perhaps")):
        for command in (("queue", "trickerion"), ("table", "create", "trickerion")):
            refused = guildhall(*words(hall, "xenia", *command, word, wrong))
            assert refused.returncode == 1 and refused.stderr.endswith("guildhall options trickerion\n")
            assert len(refused.stderr) < 600


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
