"""Everything is in its place, and says nothing that it should not."""

import ast
import importlib.metadata
import json
import re
import subprocess
import tokenize
import tomllib
from itertools import chain

import pytest

from tests.house.layout import LIBS, PROTO, ROOT, SERVICES, folders, games, modules, sources

LONGEST = 800
"""Lines of the longest file of code: a longer one is split by phase of the game or by purpose."""


def text_of_sources() -> dict[str, str]:
    """The text of every source file that is text, by its name."""
    texts = {}
    for path in sources():
        try:
            texts[str(path.relative_to(ROOT))] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return texts


def test_the_packages_are_namespaces() -> None:
    inits = [str(p.relative_to(ROOT)) for p in modules() if p.name == "__init__.py"]
    assert not [p for p in inits if p.startswith(("libs/", "services/"))]


@pytest.mark.parametrize("part", ["RULES.md", "content pack"])
def test_every_game_has_its(part: str) -> None:
    pattern = {"RULES.md": "RULES.md", "content pack": "**/*.yaml"}[part]
    assert not [game for game in games() if not any((SERVICES / game).glob(pattern))]


def test_a_game_is_one_folder_each_of_services_proto_and_tests() -> None:
    contracts = {name for name in folders(PROTO) if "service RulesService" in _text_below(name)}
    assert contracts == games()
    assert folders(ROOT / "tests" / "games") - {"__pycache__"} == games()


def _text_below(package: str) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in sorted((PROTO / package).rglob("*.proto")))


def test_no_file_of_code_is_too_long() -> None:
    code = [path for path in modules() if LIBS in path.parents or SERVICES in path.parents]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in code}
    assert not {name: length for name, length in lengths.items() if length > LONGEST}


def test_nothing_is_left_to_be_implemented() -> None:
    left = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Name) and node.id == "NotImplementedError":
                left.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not left


def test_no_line_of_the_log_leaves_out_what_an_error_says() -> None:
    """Some errors have no text of their own: `logs.said` names them."""
    silent = re.compile(r"\b(why|error)=str\(")
    assert not [str(path.relative_to(ROOT)) for path in modules() if silent.search(path.read_text(encoding="utf-8"))]


def test_every_ignored_type_error_has_its_reason_beside_it() -> None:
    bare = []
    for path in modules():
        with path.open("rb") as file:
            comments = [token for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT]
        for comment in comments:
            if re.match(r"#\s*type:\s*ignore(?!\[[\w, -]+\]  # \w)", comment.string):
                bare.append(f"{path.relative_to(ROOT)}:{comment.start[0]}")
    assert not bare


def test_no_source_names_this_machine_or_where_packages_come_from() -> None:
    hosts = r"https?://\S*(registry|npmjs|pypi|pythonhosted)"
    named = re.compile(f"{re.escape(str(ROOT))}\\b|{hosts}")
    assert not [name for name, text in text_of_sources().items() if named.search(text)]
    assert "resolved" not in str(json.loads((ROOT / "tools" / "buf" / "package-lock.json").read_text())["packages"])


def test_help_lists_every_target() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    command = ["make", "--no-print-directory", "help"]
    helped = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert phony and [line.split()[0] for line in helped.splitlines()] == phony[1].split()
    assert all(len(line.split()) > 1 for line in helped.splitlines())


def _pins(lines: list[str]) -> dict[str, str]:
    pins = {}
    for line in lines:
        name, _, version = line.partition("==")
        assert re.fullmatch(r"[0-9][0-9a-z.]*", version), f"{line} is not pinned with =="
        pins[_normal(name)] = version
    return pins


def _normal(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_installed_distribution_is_pinned_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = _pins(project["dependencies"] + list(chain.from_iterable(project["optional-dependencies"].values())))
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    indirect = _pins([line for line in lines if line and not line.startswith("#")])
    assert not direct.keys() & indirect.keys()
    installed = {_normal(d.name): d.version for d in importlib.metadata.distributions()}
    for name in ("guildhall", "pip"):
        installed.pop(name, None)
    assert {name: (direct | indirect).get(name) for name in installed} == installed
