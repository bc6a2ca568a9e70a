"""`guildhall play trickerion` by a person at a pseudo-terminal, against a real hall."""

import re
from collections.abc import Iterator

import pytest

from tests.cli.hall import RunningHall, guildhall, running_hall
from tests.cli.pty_player import Screen, sit_down


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHall]:
    with running_hall(tmp_path_factory.mktemp("hall")) as running:
        yield running


def game_id(screen: Screen) -> str:
    found = re.search(r"Game ([a-z2-7]{26})", screen.text)
    assert found, screen.text
    return found[1]


@pytest.mark.parametrize("options", [["--players", "3"], ["--players", "2", "--option", "dark_alley=true"]])
def test_a_whole_game_is_played_by_numbers(hall: RunningHall, options: list[str]) -> None:
    screen = sit_down(["trickerion", "--name", "Zoe", *options, *hall.there], columns=80, lines=24)
    assert screen.exit_code == 0, screen.text[-2000:]
    assert "Final standing" in screen.text and screen.questions > 30
    assert "There is no choice" not in screen.text
    assert max(len(line) for line in screen.text.splitlines()) <= 80
    assert "Which card lies under the Magician?" in screen.text and "You have assigned." in screen.text
    verified = guildhall("verify", game_id(screen), "--name", "Zoe", *hall.there)
    assert verified.returncode == 0, verified.stderr
    watched = guildhall("watch", game_id(screen), "--name", "Spectator", *hall.there)
    assert watched.returncode == 0 and "Final standing" in watched.stdout and "Your hand" not in watched.stdout


def test_leave_and_come_back_with_help_in_between(hall: RunningHall) -> None:
    def ask_then_leave(question: str, number: int) -> str:
        return ["help", "? levitation", "? R08", "table", "99", "q"][number]

    there = ["--name", "Zoe", *hall.there]
    left = sit_down(["trickerion", "--players", "2", "--bots", "random", *there], ask_then_leave, columns=120)
    assert left.exit_code == 0 and "The game waits for you" in left.text
    assert "Most Fame after five turns wins" in left.text and "Levitation: Mechanical, level 1" in left.text
    assert "R08: Riverside, 4 slots" in left.text and "There is no choice 99" in left.text
    words = ["trickerion", "--resume", game_id(left), *there]
    back = sit_down(words, lambda question, number: "q" if number > 3 else "")
    assert back.exit_code == 0 and back.questions > 3 and "The game waits for you" in back.text


def test_without_powers_to_leave_out_it_is_said(hall: RunningHall) -> None:
    result = guildhall("play", "trickerion", "--no-powers", "--name", "Zoe", *hall.there)
    assert result.returncode == 2 and "no powers" in re.sub(r"[\s│]+", " ", result.stderr)
