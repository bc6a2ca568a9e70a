"""Is the live history check awake? Breaks a promise in a copy of the tree, and says what a short campaign finds there.

    python -m tests.chaos.mutants [NAME ...]

Every mutant must be found out, else the exit code is 1. Each takes some two minutes.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.faults.__main__ import COPIED, ROOT, environment, plant
from tests.faults.fault import Fault

HOSTED = "libs/guildhall/host/hosted_game.py"

FAULTS = "pause,last words,hold,cut"
"""Those that make zombies and late writes: a weaker check shows under little else."""

MUTANTS = (
    Fault(
        "an answer that is not confirmed",
        HOSTED,
        "            await self.owner.writer.confirm()\n",
        "            self.owner.writer.position  # as it stands here\n",
    ),
    Fault(
        "an acknowledgement before the outcome is known",
        HOSTED,
        "            outcome = await result.answer\n",
        "            return result.decided.record.seq\n",
    ),
    Fault(
        "an acknowledgement of what was ruled out",
        HOSTED,
        "            if isinstance(outcome, Appended):\n                return result.decided.record.seq\n",
        "            if not isinstance(outcome, TooLarge):\n                return result.decided.record.seq\n",
    ),
    Fault(
        "a retry that counts twice",
        "libs/guildhall/kernel/game.py",
        "        if known is None:\n            return None\n",
        "        return None\n",
    ),
    Fault(
        "a chain without links",
        "libs/guildhall/kernel/ids.py",
        "_sha256(prev_hash + salt + body)",
        "_sha256(salt + body)",
    ),
)


def campaign(mutant: Fault) -> set[str]:
    """The names of the rules that are found broken."""
    with tempfile.TemporaryDirectory(prefix="guildhall-mutant-") as directory:
        tree = Path(directory)
        for name in COPIED:
            source = ROOT / name
            shutil.copytree(source, tree / name) if source.is_dir() else shutil.copy(source, tree / name)
        (tree / ".cache").symlink_to(ROOT / ".cache")
        plant(mutant, tree)
        words = ["--seconds", "60", "--rest", "2", "--only", FAULTS, "--directory", str(tree / "campaign")]
        command = [sys.executable, "-m", "tests.chaos", *words]
        done = subprocess.run(command, cwd=tree, env=environment(tree), capture_output=True, text=True, check=False)
        if "violations" not in done.stdout:
            raise SystemExit(f"{mutant.name}: {done.stdout}{done.stderr}")
        return set(re.findall(r"^  ([A-Z_]+) \(", done.stdout, re.MULTILINE))


def main() -> int:
    """Runs those that are named, or all."""
    missed = 0
    for mutant in MUTANTS:
        if not sys.argv[1:] or mutant.name in sys.argv[1:]:
            found = campaign(mutant)
            missed += not found
            print(f"{mutant.name:48} {', '.join(sorted(found)) or 'not found'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
