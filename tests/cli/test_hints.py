"""Commands that people are told work as they stand: those of the README, and those that the program prints."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from guildhall.cli.hints import PROGRAM, Here, typed
from guildhall.cli.main import command_line
from guildhall.cli.tokens import HELD
from guildhall.rpc.identity import mint, own_key

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line.startswith(PROGRAM)]


@pytest.mark.parametrize("line", COMMANDS)
def test_the_readmes_commands_and_options_are_there(line: str) -> None:
    """Options are looked at before --help is, so one that is not there is refused."""
    _, *words = shlex.split(line, comments=True)
    result = CliRunner().invoke(command_line(words[0]), [*words, "--help"])
    assert result.exit_code == 0, result.output


def test_there_are_such_commands() -> None:
    assert len(COMMANDS) >= 3
    missing = CliRunner().invoke(command_line("topics"), ["topics", "apply", "--game", "arcane-alley", "--help"])
    assert missing.exit_code != 0


def test_what_goes_without_saying_is_not_said() -> None:
    assert typed("verify", "abc") == ".venv/bin/guildhall verify abc"
    assert typed("verify", "abc", server="127.0.0.1:50051", data=Path(".data/hall")) == typed("verify", "abc")
    told = typed("play", "trickerion", server="127.0.0.1:7", data=Path("/a b"), name="Zoe's")
    expected = ["play", "trickerion", "--name", "Zoe's", "--server", "127.0.0.1:7", "--data", "/a b"]
    assert shlex.split(told)[1:] == expected


def test_what_others_type_has_their_own_name_or_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = Here("127.0.0.1:7", tmp_path, "Zoe")
    assert shlex.split(here.typed_by_others("table"))[1:] == (
        ["table", "--name", "NAME", "--server", "127.0.0.1:7", "--data", str(tmp_path)]
    )
    monkeypatch.setenv(HELD, mint(own_key(tmp_path), "Zoe", ["play"], 60))
    assert shlex.split(here.typed_by_others("table"))[1:] == ["table", "--server", "127.0.0.1:7"]


def test_a_long_command_has_lines_that_the_shell_puts_together() -> None:
    told = typed("verify", "a" * 26, server="127.0.0.1:50052", data=Path("/a/rather/long/path"), name="Zoe", width=60)
    assert max(map(len, told.splitlines())) <= 60
    assert shlex.split(told.replace("\\\n", "")) == shlex.split(
        typed("verify", "a" * 26, server="127.0.0.1:50052", data=Path("/a/rather/long/path"), name="Zoe")
    )
