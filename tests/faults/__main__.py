"""Plants faults, one at a time, in a copy of the tree, and prints which suite catches which.

    python -m tests.faults [--suites SUITE[,SUITE ...]] [--no-control] [NAME ...]

Every fault must be caught by at least one suite of its game, and the tree without one by none, else the exit code is 1.
"""

import argparse
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
"""Seconds of CPU that a process of a suite may take on one fault; a suite that hangs has caught it."""
ASLEEP = 3_600
"""Seconds after which a suite that takes no CPU is ended, as one that hangs."""


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


def caught(suite: str, game: str, tree: Path) -> str:
    """How a suite tells a fault in the copy: its name where it fails, marked where it hangs; empty where it passes."""
    command = [sys.executable, "-m", "tests.faults.suites", suite, game]
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", f'ulimit -t {LONGEST} && exec "$@"', "sh", *command],
            cwd=tree,
            env=environment(tree),
            capture_output=True,
            timeout=ASLEEP,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{suite} (hangs)"
    if done.returncode < 0:
        return f"{suite} (hangs)"
    return suite if done.returncode else ""


def arguments() -> argparse.Namespace:
    """What was typed; a name that is not there ends the run."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Which suite catches which fault.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="the faults; none: all of them")
    parser.add_argument("--suites", default=",".join(SUITES), help="the suites, with commas between (default: all)")
    parser.add_argument("--no-control", action="store_true", help="not the tree without a fault: it was run before")
    chosen = parser.parse_args()
    chosen.suites = chosen.suites.split(",")
    for word, known in ((chosen.names, [fault.name for fault in FAULTS]), (chosen.suites, list(SUITES))):
        if unknown := set(word) - set(known):
            parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(known)}")
    return chosen


def main() -> int:
    chosen = arguments()
    wanted = [fault for fault in FAULTS if not chosen.names or fault.name in chosen.names]
    games = () if chosen.no_control else dict.fromkeys(fault.game for fault in wanted)
    controls = [Fault(CONTROL, "pyproject.toml", "[project]", "[project]", game) for game in games]
    missed = 0
    for fault in (*controls, *wanted):
        with tempfile.TemporaryDirectory(prefix="guildhall-fault-") as directory:
            tree = Path(directory)
            for name in COPIED:
                source = ROOT / name
                shutil.copytree(source, tree / name) if source.is_dir() else shutil.copy(source, tree / name)
            plant(fault, tree)
            run = partial(caught, game=fault.game, tree=tree)
            with ThreadPoolExecutor(max_workers=2) as both_cores:
                by = list(filter(None, both_cores.map(run, chosen.suites)))
        missed += bool(by) if fault.name == CONTROL else not by
        print(f"{fault.game:13} {fault.name:28} {', '.join(by) or 'not caught'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
