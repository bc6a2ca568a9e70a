"""Who is meant at the command line, and with which token."""

from pathlib import Path

import jwt
import pytest
from typer.testing import CliRunner

from guildhall.cli.main import command_line
from guildhall.cli.problems import Problem
from guildhall.cli.tokens import HELD, default_name, dev_token
from guildhall.rpc.identity import BOTS_KEY_FILE, KEY_FILE, mint, own_key


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
    with pytest.raises(Problem, match=f"The token in {HELD} is Zoe's, not Yan's"):
        dev_token(tmp_path / "nowhere", "Yan", ["play"])
    assert dev_token(tmp_path, "Yan", ["play"]) != held


def test_what_is_no_token_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HELD, "zoe")
    with pytest.raises(Problem, match="no token"):
        default_name()


# --- at the command line


def refused(*words: str) -> str:
    """What a command said, in one line, that could not do its work."""
    result = CliRunner().invoke(command_line(words[0]), words)
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit), result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize("scopes", [["play seat"], ["play", "seat"], ["play seat", "play"], [" play  seat "]])
def test_scopes_are_repeated_or_have_blanks_between_them(tmp_path: Path, scopes: list[str]) -> None:
    own_key(tmp_path)
    words = [word for scope in scopes for word in ("--scope", scope)]
    result = CliRunner().invoke(
        command_line("token"), ["token", "--subject", "Zoe", *words, "--data", str(tmp_path)], catch_exceptions=False
    )
    claims = jwt.decode(result.stdout.strip(), options={"verify_signature": False})
    assert set(claims["scope"].split()) == {"play", "seat"}


@pytest.mark.parametrize("scope", ["", " ", "play fight"])
def test_what_is_no_scope_is_refused(tmp_path: Path, scope: str) -> None:
    own_key(tmp_path)
    words = ["token", "--subject", "Zoe", "--scope", scope, "--data", str(tmp_path)]
    assert "unknown scope" in CliRunner().invoke(command_line("token"), words).stderr


def test_bots_without_their_key_say_so_in_a_sentence(tmp_path: Path) -> None:
    said = refused("serve", "bots", "--server", "127.0.0.1:1", "--data", str(tmp_path))
    assert said.startswith(f"There is no {tmp_path / BOTS_KEY_FILE}: guildhall bots-key makes it")


def test_the_bots_key_is_made_of_a_key_that_is_there(tmp_path: Path) -> None:
    hall = tmp_path / "hall"
    said = refused("bots-key", "--data", str(hall))
    assert f"There is no {hall / KEY_FILE}" in said and "first starts" in said and "--data" in said
    assert not hall.exists()


@pytest.mark.parametrize("error", [OSError, KeyError, ImportError])
def test_whoever_has_no_login_is_you(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    """As in a container, whose user has no entry; which error tells it depends on the version of Python."""

    def nobody() -> str:
        raise error

    monkeypatch.delenv(HELD, raising=False)
    monkeypatch.setattr("getpass.getuser", nobody)
    assert default_name() == "you"
