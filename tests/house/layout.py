"""Where things are in the house (design, section 1)."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBS = ROOT / "libs" / "guildhall"
SERVICES = ROOT / "services"
PROTO = ROOT / "proto" / "guildhall"

NOT_GAMES = {"bots", "matchmaking", "projection", "views"}
"""The folders of services/ that are no game."""


def folders(directory: Path) -> set[str]:
    """The names of the folders in `directory` that hold a source file; none if there is no such directory."""
    found = directory.iterdir() if directory.is_dir() else []
    return {folder.name for folder in found if any(f.suffix != ".pyc" for f in folder.rglob("*") if f.is_file())}


def games() -> set[str]:
    """The folders of services/ that are a game."""
    return folders(SERVICES) - NOT_GAMES


@cache
def sources() -> list[Path]:
    """Every file of the project itself, tracked or about to be: nothing that the build made."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def modules() -> list[Path]:
    """Every Python file among the sources."""
    return [path for path in sources() if path.suffix == ".py"]
