"""The suites as the fault campaign runs them: each small, each in a process of its own.

python -m tests.faults.suites SUITE GAME
"""

import subprocess
import sys
from collections.abc import Callable
from random import Random

from tests.games.arcane_alley.subject import ARCANE_ALLEY
from tests.games.trickerion.subject import BASE, CARD_PLAYERS
from tests.kernel.test_tiny_game import TINY
from tests.suites import conformance, knowledge, noninterference
from tests.suites.subject import Subject

SUBJECTS: dict[str, tuple[Subject, ...]] = {"arcane_alley": (ARCANE_ALLEY,), "trickerion": (BASE, CARD_PLAYERS)}


def random_play(game: str) -> None:
    subjects = SUBJECTS[game]
    for seed in range(40):
        conformance.play_and_check(subjects[seed % len(subjects)], Random(seed), 0.03)
        conformance.play_and_check(TINY, Random(seed), 0.3)


def views(game: str) -> None:
    subjects = SUBJECTS[game]
    for seed in range(12):
        knowledge.check_game(subjects[seed % len(subjects)], Random(seed))
        knowledge.check_game(TINY, Random(seed))


def twins(game: str) -> None:
    subjects = SUBJECTS[game]
    for seed in range(12):
        noninterference.check_game(subjects[seed % len(subjects)], Random(seed), noninterference.Seen(), 0.3)
        noninterference.check_game(TINY, Random(seed), noninterference.Seen())


def golden(game: str) -> None:
    subprocess.run([sys.executable, "-m", f"tests.games.{game}.golden", "check"], check=True)


def scenarios(game: str) -> None:
    campaigns = ("random_play", "knowledge", "noninterference", "golden", "fuzz")
    _pytest(f"tests/games/{game}", *(f"--ignore-glob=*test_{name}.py" for name in campaigns))


def kernel(game: str) -> None:
    _pytest("tests/kernel", "--ignore-glob=*test_tiny_game.py")


def host(game: str) -> None:
    _pytest("tests/services")


def _pytest(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments], check=True)


SUITES: dict[str, Callable[[str], None]] = {
    "random play": random_play,
    "views": views,
    "twins": twins,
    "golden": golden,
    "scenarios": scenarios,
    "kernel": kernel,
    "host": host,
}

if __name__ == "__main__":
    SUITES[sys.argv[1]](sys.argv[2])
