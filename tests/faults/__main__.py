"""Plants faults, one at a time, in a copy of the tree, and prints which suite catches which.

    python -m tests.faults [NAME ...]

Every fault must be caught by at least one suite of its game, and the tree without one by none, else the exit code is 1.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.faults import arcane_alley, trickerion
from tests.faults.fault import Fault
from tests.faults.suites import SUITES

ROOT = Path(__file__).resolve().parents[2]
FAULTS = (*arcane_alley.FAULTS, *trickerion.FAULTS)
COPIED = ("libs", "services", "tests", "proto", "tools", "docs", "pyproject.toml", "gen")
CONTROL = "no fault at all"
LONGEST = 300
"""Seconds that one suite may take on one fault; a suite that hangs has caught it."""


def plant(fault: Fault, tree: Path) -> None:
    """Change the copy. Raises SystemExit where the text to change is not there exactly once."""
    path = tree / fault.file
    text = path.read_text()
    if text.count(fault.old) != 1:
        raise SystemExit(f"{fault.name}: {fault.file} has the text to change {text.count(fault.old)} times")
    path.write_text(text.replace(fault.old, fault.new))
    if fault.file.startswith("proto/"):
        subprocess.run([sys.executable, "tools/gen.py"], cwd=tree, env=environment(tree), check=True)


def environment(tree: Path) -> dict[str, str]:
    """The environment in which Python takes everything of ours from the copy."""
    paths = os.pathsep.join(str(tree / part) for part in ("libs", "gen", "."))
    return {**os.environ, "PYTHONPATH": paths, "GUILDHALL_GAMES": "20", "PYTHONDONTWRITEBYTECODE": "1"}


def caught(suite: str, game: str, tree: Path) -> bool:
    """Whether a suite fails in the copy."""
    command = [sys.executable, "-m", "tests.faults.suites", suite, game]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment(tree), capture_output=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main() -> int:
    wanted = [fault for fault in FAULTS if not sys.argv[1:] or fault.name in sys.argv[1:]]
    controls = [
        Fault(CONTROL, "pyproject.toml", "[project]", "[project]", game) for game in {f.game: 0 for f in wanted}
    ]
    chosen = [*controls, *wanted]
    missed = 0
    for fault in chosen:
        with tempfile.TemporaryDirectory(prefix="guildhall-fault-") as directory:
            tree = Path(directory)
            for name in COPIED:
                source = ROOT / name
                shutil.copytree(source, tree / name) if source.is_dir() else shutil.copy(source, tree / name)
            plant(fault, tree)
            run = partial(caught, game=fault.game, tree=tree)
            with ThreadPoolExecutor(max_workers=2) as both_cores:
                failed = dict(zip(SUITES, both_cores.map(run, SUITES), strict=True))
        by = [suite for suite, fails in failed.items() if fails]
        missed += bool(by) if fault.name == CONTROL else not by
        print(f"{fault.game:13} {fault.name:28} {', '.join(by) or 'not caught'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
