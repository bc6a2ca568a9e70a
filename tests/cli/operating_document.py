"""The commands of docs/operating.md."""

import re
import shlex
from pathlib import Path

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "operating.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^ *```sh *(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def commands(kind: str = "") -> list[list[str]]:
    """The words behind `guildhall` of each command, in their order; `kind` as it stands beside the block's `sh`."""
    found = []
    for block, text in _BLOCK.findall(DOCUMENT):
        if block == kind:
            for line in text.strip().splitlines():
                program, *words = shlex.split(line)
                assert program == "guildhall", line
                found.append(words)
    return found
