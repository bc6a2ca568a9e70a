"""`guildhall serve`: what its processes are told to be."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner

from guildhall.cli import serve
from guildhall.cli.main import command_line
from guildhall.host.door import Door, DoorConfig
from guildhall.rpc.identity import KEY_FILE

REDIS = ("--redis", "redis://127.0.0.1:1")
KINDS = {"rules": (), "projection": REDIS, "views": REDIS, "matchmaking": REDIS}


@pytest.mark.parametrize("kind", KINDS)
async def test_who_makes_a_key_on_kafka_says_so(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All processes of a hall need the same one; an empty directory makes one that no other process has."""
    configs: list[DoorConfig] = []
    monkeypatch.setattr(serve, "_run", lambda process, *_: configs.append(process.config))
    words = ["--game", "arcane-alley", "--kafka", "127.0.0.1:1", *KINDS[kind], "--data", str(tmp_path), "--port", "0"]
    result = CliRunner().invoke(command_line("serve"), ["serve", kind, *words])
    assert result.exit_code == 0, result.output
    [config] = configs
    with capture_logs() as lines:
        Door(config)
    [line] = lines
    assert line["log_level"] == "warning" and "all processes of a hall need the same" in line["event"]
    assert line["file"] == str(tmp_path / KEY_FILE)
    with capture_logs() as lines:
        Door(config)
    assert lines == []


async def test_a_hall_that_is_alone_makes_its_key_in_silence(tmp_path: Path) -> None:
    with capture_logs() as lines:
        Door(DoorConfig(data=tmp_path, port=0))
    assert lines == [] and (tmp_path / KEY_FILE).exists()
