"""The suites as the fault campaign runs them: each small, each in a process of its own."""

import subprocess
import sys
from collections.abc import Callable
from random import Random

from tests.games.arcane_alley.subject import ARCANE_ALLEY
from tests.kernel.test_tiny_game import TINY
from tests.suites import conformance, knowledge, noninterference


def random_play() -> None:
    for seed in range(40):
        conformance.play_and_check(ARCANE_ALLEY, Random(seed), 0.03)
        conformance.play_and_check(TINY, Random(seed), 0.3)


def views() -> None:
    for seed in range(12):
        knowledge.check_game(ARCANE_ALLEY, Random(seed))
        knowledge.check_game(TINY, Random(seed))


def twins() -> None:
    for seed in range(12):
        noninterference.check_game(ARCANE_ALLEY, Random(seed), noninterference.Seen(), 0.3)
        noninterference.check_game(TINY, Random(seed), noninterference.Seen())


def golden() -> None:
    subprocess.run([sys.executable, "-m", "tests.games.arcane_alley.golden", "check"], check=True)


def scenarios() -> None:
    campaigns = ("random_play", "knowledge", "noninterference", "golden", "fuzz")
    _pytest("tests/games/arcane_alley", *(f"--ignore-glob=*test_{name}.py" for name in campaigns))


def kernel() -> None:
    _pytest("tests/kernel", "--ignore-glob=*test_tiny_game.py")


def host() -> None:
    _pytest("tests/services")


def _pytest(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments], check=True)


SUITES: dict[str, Callable[[], None]] = {
    "random play": random_play,
    "views": views,
    "twins": twins,
    "golden": golden,
    "scenarios": scenarios,
    "kernel": kernel,
    "host": host,
}

if __name__ == "__main__":
    SUITES[sys.argv[1]]()
