"""docs/clients.md says what is so: its table of errors, its examples, its retry policy."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from guildhall.host.hall import Hall
from guildhall.host.messages import Messages
from guildhall.rpc.errors import REASONS
from guildhall.rpc.identity import existing_key, mint
from guildhall.rpc.server import service_config
from services.arcane_alley.rules import RULES
from services.matchmaking.house import HouseRules
from services.matchmaking.process import Matchmaking
from services.matchmaking.service import MATCHMAKING_SERVICE
from services.views.games_service import GAMES_SERVICE
from tests.contract.grpcurl import run
from tests.services.hall import config

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([A-Z_]+)` \| `([A-Z_]+)` \| \S", re.MULTILINE)
BLOCK = re.compile(r"^```(\S[^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_table_of_errors_is_the_table() -> None:
    rows = ROW.findall(DOCUMENT)
    assert dict(rows) == {reason: code.name for reason, code in REASONS.items()}
    assert len(rows) == len(REASONS)


def raised(path: Path) -> set[str]:
    """The reasons that a module gives to Failure or Refusal."""
    reasons = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Failure", "Refusal"):
            [first, *_] = node.args
            if isinstance(first, ast.Constant):
                reasons.add(first.value)
    return reasons


def test_every_reason_of_the_hall_is_in_the_table_and_is_provoked() -> None:
    libs = ROOT / "libs" / "guildhall"
    services = ROOT / "services"
    places = [libs / "host", libs / "rpc", libs / "kernel", services / "views", services / "matchmaking"]
    given = {reason for place in places for path in place.rglob("*.py") for reason in raised(path)}
    # These two are made of a prefix and what they are about.
    made = {f"{how}_{what}" for how in ("UNKNOWN", "INVALID") for what in ("OPTION", "RULING")}
    # What the hall is told by itself, and nobody else.
    own = {"RESULTS_TAKEN"}
    assert (given | made) - own == set(REASONS)
    paths = [path for folder in ("services", "matchmaking") for path in (ROOT / "tests" / folder).glob("test_*.py")]
    tests = "".join(path.read_text(encoding="utf-8") for path in paths)
    assert [reason for reason in REASONS if f'"{reason}"' not in tests] == []


def test_the_retry_policy_is_the_published_one() -> None:
    [block] = [text for kind, text in BLOCK.findall(DOCUMENT) if kind == "json service-config"]
    messages = Messages(RULES)
    assert json.loads(block) == json.loads(
        service_config([messages.rules_service, messages.view_service, GAMES_SERVICE, MATCHMAKING_SERVICE])
    )


def examples() -> list[tuple[str, str, Any]]:
    """(command, kind of the block behind it, that block) of every example."""
    blocks = BLOCK.findall(DOCUMENT)
    found = []
    for number, (kind, text) in enumerate(blocks):
        if kind == "sh":
            after = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
            found.append((text, *(after if after[0] in ("json", "error") else ("", ""))))
    return found


async def test_the_examples_work_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hall = Hall(config(tmp_path, games=[RULES], housed=lambda foundation: Matchmaking([HouseRules(RULES)], foundation)))
    await hall.start()
    try:
        key = existing_key(tmp_path)
        scopes = ("play", "seat", "spectate")
        variables = {"ALICE": mint(key, "alice", scopes, 600), "BOB": mint(key, "bob", scopes, 600)}
        assert len(examples()) >= 8
        for command, kind, expected in examples():
            ran = await run(command.replace("localhost:50051", f"127.0.0.1:{hall.port}"), variables)
            if kind == "error":
                assert ran.failure == expected.strip()
                continue
            assert ran.failure == "" and ran.messages, command
            if kind == "json":
                assert ran.messages == [json.loads(expected)]
    finally:
        await hall.stop()
