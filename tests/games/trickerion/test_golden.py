"""Golden games are replayed in a fresh process and are as they were recorded (design section 9.4)."""

import subprocess
import sys
from pathlib import Path

from tests.games.trickerion.golden import FOLDER, GAMES

ROOT = Path(__file__).resolve().parents[3]


def test_golden_games_replay_alike() -> None:
    command = [sys.executable, "-m", "tests.games.trickerion.golden", "check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{len(GAMES)} games are as they were recorded\n"


def test_there_is_a_recording_of_each() -> None:
    assert {path.stem for path in FOLDER.glob("*.bin")} == set(GAMES)
