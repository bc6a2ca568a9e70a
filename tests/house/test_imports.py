"""Imports run one way (design, section 1): services -> host -> {log, rpc, readmodel} -> telemetry."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.layout import LIBS, NOT_GAMES, ROOT, SERVICES, folders, games, modules

MAY_IMPORT: dict[str, set[str]] = {
    "telemetry": set(),
    "shared": set(),
    "kernel": set(),
    "log": {"shared", "telemetry"},
    "rpc": {"telemetry"},
    "readmodel": {"telemetry"},
    "client": {"kernel"},
    "host": {"kernel", "log", "rpc", "readmodel", "shared", "telemetry"},
    "cli": {"kernel", "log", "rpc", "readmodel", "telemetry", "host", "services"},
}
"""For each lib the others that it may import. The command line stands above the services: it starts them."""

SERVICE_MAY_IMPORT: dict[str, set[str]] = {
    # Clients like any third party's, so they cannot know more than one.
    "bots": {"kernel", "rpc", "telemetry"},
    "matchmaking": {"kernel", "host", "log", "rpc", "readmodel", "shared", "telemetry"},
    "projection": {"kernel", "host", "log", "rpc", "readmodel", "telemetry", "games"},
    "views": {"kernel", "host", "log", "rpc", "readmodel", "shared", "telemetry", "games"},
}
"""For each service that is no game what it may import; "games" are the folders of all games."""

IMPURE = {
    "asyncio",
    "concurrent",
    "datetime",
    "google",
    "grpc",
    "http",
    "logging",
    "multiprocessing",
    "os",
    "random",
    "secrets",
    "select",
    "selectors",
    "signal",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "uuid",
}
"""What rules may not touch: clocks, luck of their own, input and output, threads, and protobuf objects.

(But the kernel may name the class Random: whoever samples a family brings one.)"""


def imports(source: str, module: str) -> Iterator[str]:
    """The full names that `source`, which is the module `module`, imports anywhere, relative ones made absolute.

    `import a.b` and `from a import b` both give `a.b`.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def owner(name: str) -> str | None:
    """Whose the import `name` is: a lib's name, `services.<name>`, `generated:<package>`, or None if not ours.

    A package below guildhall with a version (`guildhall.kernel.v1`) is generated from proto/.
    """
    if match := re.match(r"guildhall\.(\w+)\.v\d+\b", name):
        return f"generated:{match[1]}"
    if match := re.match(r"guildhall\.(\w+)", name):
        return match[1]
    if match := re.match(r"services\.(\w+)", name):
        return match[0]
    return name if name in ("guildhall", "services") else None


def lawful(module: str, name: str, all_games: set[str]) -> bool:
    """Whether the law lets `module` (`guildhall.log.fold`, `services.arcane_alley.sell`) import `name`."""
    top, part = module.split(".")[:2]
    theirs = owner(name)
    is_game = top == "services" and part not in NOT_GAMES
    if is_game or module.startswith("guildhall.kernel"):
        if name.split(".")[0] in IMPURE and not (name == "random.Random" and not is_game):
            return False
        if theirs and theirs.startswith("generated:"):
            return theirs.removeprefix("generated:") in ({part, "kernel"} if is_game else {"kernel"})
    if theirs is None or theirs.startswith("generated:"):
        return True
    if theirs in (part, f"services.{part}"):
        return theirs == (part if top == "guildhall" else f"services.{part}")
    if is_game:
        return theirs == "kernel"
    allowed = MAY_IMPORT[part] if top == "guildhall" else SERVICE_MAY_IMPORT[part]
    if theirs.startswith("services."):
        return "services" in allowed or ("games" in allowed and theirs.removeprefix("services.") in all_games)
    return theirs in allowed


@pytest.mark.parametrize(
    ("module", "source", "kept"),
    [
        ("guildhall.log.fold", "from guildhall.log.v1.log import Entry", True),
        ("guildhall.log.fold", "from guildhall.telemetry import metrics", True),
        ("guildhall.log.fold", "from guildhall.kernel.cards import Card", False),
        ("guildhall.log.fold", "def f():\n    import guildhall.host.server", False),
        ("guildhall.log.fold", "from guildhall import host", False),
        ("guildhall.log.fold", "from ..host import server", False),
        ("guildhall.log.fold", "from .port import Port", True),
        ("guildhall.log.fold", "import time", True),
        ("guildhall.kernel.cards", "import msgspec", True),
        ("guildhall.kernel.cards", "from guildhall.kernel.v1.game import Game", True),
        ("guildhall.kernel.cards", "from guildhall.arcane_alley.v1.events import SetSold", False),
        ("guildhall.kernel.cards", "from guildhall.telemetry import metrics", False),
        ("guildhall.kernel.cards", "import time", False),
        ("guildhall.kernel.cards", "from os import urandom", False),
        ("guildhall.kernel.families", "from random import Random", True),
        ("guildhall.kernel.families", "from random import choice", False),
        ("guildhall.telemetry.logs", "from guildhall.rpc import server", False),
        ("guildhall.host.server", "from guildhall.kernel import cards\nfrom guildhall.rpc import server", True),
        ("guildhall.host.server", "from services.arcane_alley import game", False),
        ("guildhall.cli.main", "from services.arcane_alley import game", True),
        ("services.arcane_alley.sell", "from guildhall.kernel.frames import Frame", True),
        ("services.arcane_alley.sell", "from services.arcane_alley import hall", True),
        ("services.arcane_alley.sell", "from guildhall.arcane_alley.v1.events import SetSold", True),
        ("services.arcane_alley.sell", "from guildhall.trickerion.v1.events import Fired", False),
        ("services.arcane_alley.sell", "from services.trickerion import hall", False),
        ("services.arcane_alley.sell", "from guildhall.host import server", False),
        ("services.arcane_alley.sell", "from random import Random", False),
        ("services.bots.greedy", "from guildhall.arcane_alley.v1.views import View", True),
        ("services.bots.greedy", "from services.arcane_alley import hall", False),
        ("services.bots.greedy", "from guildhall.host import server", False),
        ("services.views.cache", "from services.arcane_alley import view", True),
        ("services.views.cache", "from services.bots import greedy", False),
    ],
)
def test_the_law_tells_right_from_wrong(module: str, source: str, kept: bool) -> None:
    assert all(lawful(module, name, {"arcane_alley", "trickerion"}) for name in imports(source, module)) is kept


def test_every_import_keeps_the_law() -> None:
    broken = []
    for path in modules():
        if LIBS in path.parents or SERVICES in path.parents:
            base = ROOT / "libs" if LIBS in path.parents else ROOT
            module = ".".join(path.relative_to(base).with_suffix("").parts)
            names = imports(path.read_text(encoding="utf-8"), module)
            broken += [
                f"{path.relative_to(ROOT)} imports {name}" for name in names if not lawful(module, name, games())
            ]
    assert not broken


def test_the_law_names_every_lib_and_no_other() -> None:
    assert folders(LIBS) <= MAY_IMPORT.keys()
    assert SERVICE_MAY_IMPORT.keys() == NOT_GAMES
