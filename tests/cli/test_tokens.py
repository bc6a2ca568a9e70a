"""Who is meant at the command line, and with which token."""

from pathlib import Path

import pytest

from guildhall.cli.problems import Problem
from guildhall.cli.tokens import HELD, default_name, dev_token
from guildhall.rpc.identity import mint, own_key


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A token that Zoe was given, in the environment."""
    token = mint(own_key(tmp_path), "Zoe", ["play"], 60)
    monkeypatch.setenv(HELD, token)
    return token


def test_who_was_given_a_token_needs_no_key(held: str, tmp_path: Path) -> None:
    assert default_name() == "Zoe"
    assert dev_token(tmp_path / "nowhere", "Zoe", ["play"]) == held


def test_a_token_speaks_for_its_subject_alone(held: str, tmp_path: Path) -> None:
    with pytest.raises(Problem, match=HELD):
        dev_token(tmp_path / "nowhere", "Yan", ["play"])
    assert dev_token(tmp_path, "Yan", ["play"]) != held


def test_what_is_no_token_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HELD, "zoe")
    with pytest.raises(Problem, match="no token"):
        default_name()
