"""docs/clients.md says what is so: its table of errors, its examples, its retry policy."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from guildhall.cli.read_side import OneMachine
from guildhall.host.hall import Hall, HallConfig
from guildhall.host.messages import Messages
from guildhall.rpc.errors import REASONS
from guildhall.rpc.identity import existing_key, mint
from guildhall.rpc.server import service_config
from services.arcane_alley.rules import RULES
from services.views.games_service import GAMES_SERVICE
from tests.contract.grpcurl import run

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
    places = [libs / "host", libs / "rpc", libs / "kernel", ROOT / "services" / "views"]
    given = {reason for place in places for path in place.rglob("*.py") for reason in raised(path)}
    # These two are made of a prefix and what they are about.
    made = {f"{how}_{what}" for how in ("UNKNOWN", "INVALID") for what in ("OPTION", "RULING")}
    assert given | made == set(REASONS)
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "services").glob("test_*.py"))
    assert [reason for reason in REASONS if f'"{reason}"' not in tests] == []


def test_the_retry_policy_is_the_published_one() -> None:
    [block] = [text for kind, text in BLOCK.findall(DOCUMENT) if kind == "json service-config"]
    messages = Messages(RULES)
    assert json.loads(block) == json.loads(
        service_config([messages.rules_service, messages.view_service, GAMES_SERVICE])
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
    hall = Hall(HallConfig(data=tmp_path, games=[RULES], port=0, beside=lambda: OneMachine([RULES])))
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
