"""`guildhall play` by a person at a pseudo-terminal, against a real hall; then what one does with a finished game."""

import contextlib
import re
import shlex
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from guildhall.cli import archive
from guildhall.kernel.fold import fold
from guildhall.kernel.redact import redact
from services.arcane_alley.rules import RULES
from services.arcane_alley.sentences import Teller
from tests.cli.hall import RunningHall, guildhall, running_hall
from tests.cli.pty_player import Screen, sit_down

SEED = "07" * 32


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHall]:
    with running_hall(tmp_path_factory.mktemp("hall")) as running:
        yield running


@pytest.fixture(scope="module")
def finished(hall: RunningHall) -> Screen:
    """A whole game of three, played at 80 columns."""
    seed = hall.data / "seed"
    seed.write_text(SEED)
    words = ["arcane-alley", "--name", "Zoe", "--players", "3", "--seed-file", str(seed), *hall.there]
    return sit_down(words, columns=80, lines=24)


def game_id(screen: Screen) -> str:
    found = re.search(r"Game ([a-z2-7]{26})", screen.text)
    assert found, screen.text
    return found[1]


def exported(hall: RunningHall, screen: Screen, path: Path) -> archive.Archive:
    result = guildhall("export", game_id(screen), str(path), "--name", "Zoe", *hall.there)
    assert result.returncode == 0, result.stderr
    return archive.read(path)


def test_a_whole_game_is_played_by_numbers(finished: Screen) -> None:
    assert finished.exit_code == 0, finished.text[-2000:]
    assert "Final standing" in finished.text
    assert finished.questions > 20
    assert "There is no choice" not in finished.text
    assert max(len(line) for line in finished.text.splitlines()) <= 80


def test_the_player_was_told_what_the_seat_may_know(hall: RunningHall, finished: Screen, tmp_path: Path) -> None:
    """Every sentence on the screen follows from the events as the seat may see them."""
    teller, game, told = Teller(0, lambda subject: subject.rsplit("/", 1)[-1]), None, []
    for body, digest in exported(hall, finished, tmp_path / "game.json").pairs():
        game, events = fold(RULES, game, body, digest)
        visible = [event for raw in events if (event := redact(RULES, raw, 0)) is not None]
        told += teller.tell(game.version, visible)
    story = re.sub(r"\s+", " ", finished.text)
    assert all(re.sub(r"\s+", " ", sentence) in story for sentence in told)
    drawn_by_others = re.findall(r"(?:Ada|Bela) draws ([^.]*)\.", story)
    assert drawn_by_others and set(drawn_by_others) == {"from the deck"}


def test_it_verifies_and_says_that_the_seed_was_given(hall: RunningHall, finished: Screen) -> None:
    result = guildhall("verify", game_id(finished), "--name", "Zoe", *hall.there)
    assert result.returncode == 0, result.stderr
    assert "is as it was played" in result.stdout and "brought the seed" in result.stdout


def test_a_stranger_sees_no_records(hall: RunningHall, finished: Screen) -> None:
    result = guildhall("verify", game_id(finished), "--name", "Stranger", *hall.there)
    assert result.returncode == 1 and "Traceback" not in result.stderr and result.stderr


def test_watching_a_finished_game_tells_it_and_shows_the_table(hall: RunningHall, finished: Screen) -> None:
    result = guildhall("watch", game_id(finished), "--name", "Spectator", *hall.there)
    assert result.returncode == 0, result.stderr
    assert "Final standing" in result.stdout and "Zoe draws from the deck." in result.stdout
    assert "Your stash" not in result.stdout


def test_export_import_into_another_hall(hall: RunningHall, finished: Screen, tmp_path: Path) -> None:
    file = tmp_path / "game.bin"
    found = exported(hall, finished, file)
    assert guildhall("verify", "--file", str(file)).returncode == 0
    assert guildhall("export", found.game_id, str(file), "--name", "Zoe", *hall.there).returncode == 1
    other = tmp_path / "other"
    with running_hall(other) as running:
        refused = guildhall("import", str(file), "--data", str(other))
        assert refused.returncode == 1 and f"serves this log at {running.server}" in refused.stderr
        running.stop()
    assert guildhall("import", str(file), "--data", str(other)).returncode == 0
    again = guildhall("import", str(file), "--data", str(other))
    assert again.returncode == 1 and "is there already" in again.stderr
    with running_hall(other) as running:
        result = guildhall("verify", found.game_id, "--name", "Zoe", *running.there)
        assert result.returncode == 0, result.stderr
        back = exported(running, finished, tmp_path / "back.json")
    assert back == found


def test_the_log_shows_no_secret_unless_asked(hall: RunningHall, finished: Screen) -> None:
    shown = guildhall("log", "show", game_id(finished), "--events", "--data", str(hall.data))
    assert shown.returncode == 0, shown.stderr
    assert "GameCreated" in shown.stdout and "ItemDrawn(seat=0, item=0)" in shown.stdout
    seed = repr(bytes.fromhex(SEED))
    assert seed not in shown.stdout and "agenda" not in shown.stdout and not re.search(r" draw \d", shown.stdout)
    secret = guildhall("log", "show", game_id(finished), "--secrets", "--data", str(hall.data))
    assert seed in secret.stdout and "agenda" in secret.stdout and re.search(r" draw \d", secret.stdout)
    assert guildhall("log", "show", "nosuchgame", "--data", str(hall.data)).returncode == 1


def test_leave_and_come_back(hall: RunningHall) -> None:
    def ask_then_leave(question: str, number: int) -> str:
        return ["help", "? coin", "log", "99", "nonsense", "q"][number]

    there = ["--name", "Zoe", *hall.there]
    left = sit_down(["arcane-alley", "--players", "2", "--no-powers", "--bots", "random", *there], ask_then_leave)
    assert left.exit_code == 0 and "The game waits for you" in left.text
    assert "Three-Headed Coin: 2/1" in left.text and "There is no choice 99" in left.text
    program, *words = shlex.split(left.text.split("The game waits for you:")[1].replace("\r", "").replace("\\\n", ""))
    assert (program, words[:2]) == (".venv/bin/guildhall", ["play", "arcane-alley"]) and set(there) <= set(words)
    back = sit_down(words[1:], lambda question, number: "q" if number > 3 else "")
    assert back.exit_code == 0 and "Round 1" in back.text


def test_a_crystal_ball_can_be_taken_back_before_one_looks(hall: RunningHall) -> None:
    undone: list[int] = []

    def play_a_ball(question: str, number: int) -> str:
        if undone:
            return "q"
        if "u undo" in question and "Which hidden item do you look at?" in question:
            undone.append(number)
            return "u"
        ball = re.search(r" (\d+)  (?:play a Crystal Ball|take the Crystal Ball|resolve it)", question)
        return ball[1] if ball else ""

    seed = hall.data / "seed of balls"
    seed.write_text("11" * 32)
    words = ["arcane-alley", "--name", "Zoe", "--bots", "random", "--seed-file", str(seed)]
    # What Meeblemore played is known already when he is asked for its effect: nothing is learned in between.
    given = ["--ruling", "wizard_assignment=given", "--option", "wizards=meeblemore,byros,ninx"]
    screen = sit_down([*words, *given, *hall.there], play_a_ball)
    assert undone and screen.exit_code == 0 and "A step was taken back." in screen.text


def test_resigning_lets_the_game_go_on_without_one(hall: RunningHall) -> None:
    answers = iter(["resign", "no", "resign", "yes"])
    screen = sit_down(["arcane-alley", "--name", "Zoe", "--players", "2", *hall.there], lambda *_: next(answers))
    assert screen.exit_code == 0 and "You give up." in screen.text and "Final standing" in screen.text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chess"], "there is no game"),
        (["arcane-alley", "--players", "9"], "from 2 to 6"),
        (["arcane-alley", "--ruling", "no_such=1"], "There is no ruling 'no_such'. All that can be chosen"),
        (["trickerion", "--option", "dark_alleys=true"], "guildhall options trickerion"),
        (["trickerion", "--option", "dark_alley=yes"], "is one of false, true, not 'yes'"),
        (["arcane-alley", "--option", "nonsense"], "name=value"),
        (["--resume", "aaaaaaaaaaaaaaaaaaaaaaaaaa"], "game"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(hall: RunningHall, words: list[str], said: str) -> None:
    result = guildhall("play", *words, "--name", "Zoe", *hall.there)
    assert result.returncode in (1, 2) and said in re.sub(r"[\s│]+", " ", result.stderr)
    assert "Traceback" not in result.stderr


def test_a_hall_tells_how_each_of_its_games_is_played(tmp_path: Path) -> None:
    with running_hall(tmp_path) as running:
        assert running.process.stdout is not None
        told = "".join(iter(running.process.stdout.readline, "  stop    Ctrl-C\n"))
        for game in ("arcane-alley", "trickerion"):
            (words,) = [shlex.split(line) for line in told.splitlines() if f" play {game} " in line]
            assert words[-5:] == [game, *running.there]


def test_without_a_hall_it_says_how_to_start_one(tmp_path: Path) -> None:
    result = guildhall("play", "arcane-alley", "--server", "127.0.0.1:1", "--data", str(tmp_path))
    assert result.returncode == 1 and "No hall answers" in result.stderr


def test_a_hall_that_goes_away_is_said_in_a_sentence_and_the_game_goes_on_later(tmp_path: Path) -> None:
    there = ["--name", "Zoe", "--no-powers"]
    with running_hall(tmp_path) as first:

        def kill_the_hall(question: str, number: int) -> str:
            if number == 4:
                first.process.kill()
                first.process.wait()
            return ""

        gone = sit_down(["arcane-alley", *there, "--patience", "2", *first.there], kill_the_hall)
    assert gone.exit_code == 1 and gone.text.count("No hall answers") == 1 and "Traceback" not in gone.text
    with running_hall(tmp_path) as second:
        back = sit_down(["--resume", game_id(gone), *there[:2], *second.there])
    assert back.exit_code == 0 and "Final standing" in back.text


def test_a_hall_that_comes_back_is_waited_for(tmp_path: Path) -> None:
    with contextlib.ExitStack() as halls:
        first = halls.enter_context(running_hall(tmp_path))

        def restart(question: str, number: int) -> str:
            if number == 3:
                first.process.kill()
                first.process.wait()
                port = first.server.rpartition(":")[2]
                later = threading.Timer(3.0, lambda: halls.enter_context(running_hall(tmp_path, port)))
                later.start()
            return ""

        screen = sit_down(["arcane-alley", "--name", "Zoe", "--no-powers", *first.there], restart)
    assert screen.exit_code == 0 and "Final standing" in screen.text
    there = f"The hall at {first.server}"
    assert screen.text.count(f"{there} does not answer.") == screen.text.count(f"{there} is back.") == 1


def test_ctrl_c_leaves_without_a_traceback(hall: RunningHall) -> None:
    screen = sit_down(["arcane-alley", "--name", "Zoe", *hall.there], lambda question, number: "\x03" * (number == 2))
    assert screen.exit_code == 130 and "Traceback" not in screen.text


def test_without_a_terminal_it_is_plain_text(hall: RunningHall) -> None:
    result = guildhall("play", "arcane-alley", "--name", "Zoe", *hall.there)
    assert result.returncode == 0 and "\x1b" not in result.stdout and "The game waits for you" in result.stdout


def test_whoever_thinks_for_too_long_finds_the_next_question(hall: RunningHall) -> None:
    """The clock answers, and what is typed afterwards is an answer no more."""
    queue = ("queue", "arcane-alley", "--players", "2", "--bots", "random", "--bots-after", "0", "--clock", "3")
    queued = guildhall(*queue, "--name", "Yan", *hall.there)
    found = re.search(r"Game ([a-z2-7]{26})", queued.stdout)
    assert found, queued.stderr
    asked = []

    def late(question: str, number: int) -> str:
        asked.append(question)
        time.sleep(4.0 if number == 0 else 0.0)
        return "" if number < 2 else "quit"

    screen = sit_down(["--resume", found[1], "--name", "Yan", *hall.there], late)
    assert screen.exit_code == 0 and "The game waits for you" in screen.text and "Traceback" not in screen.text
    assert len(asked) == 3 and all(re.search(r"help for more.* · until \d\d:\d\d:\d\d", question) for question in asked)
