"""Checks that the contract in proto/ breaks no client.

It is compared with proto/released.binpb or, before there is one, with the last commit.

The formats freeze when proto/released.binpb is written (design, section 2). Until then a break is allowed on purpose:
commit it, together with the golden games recorded anew, and the next check starts from there.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.gen import ROOT, descriptors

BUF = ROOT / "tools" / "buf" / "node_modules" / ".bin" / "buf"
RELEASED = ROOT / "proto" / "released.binpb"


def committed(directory: Path) -> Path | None:
    """The descriptor set of proto/ as last committed, made inside `directory`; None if no commit has one."""
    archive = subprocess.run(["git", "archive", "HEAD", "proto"], cwd=ROOT, capture_output=True)
    if archive.returncode:
        return None
    subprocess.run(["tar", "-x", "-C", str(directory)], input=archive.stdout, check=True)
    image = directory / "committed.binpb"
    descriptors(directory / "proto", image)
    return image


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        baseline = RELEASED if RELEASED.exists() else committed(Path(directory))
        if baseline is None:
            print("no earlier contract to break: neither proto/released.binpb nor a commit with proto/")
            return 0
        return subprocess.run(
            [str(BUF), "breaking", str(ROOT / "gen" / "guildhall.binpb"), "--against", str(baseline)], cwd=ROOT
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
