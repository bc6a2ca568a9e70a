"""Metrics count what happened, and logs tell no secret."""

import sqlite3
from pathlib import Path
from random import Random

import pytest
import structlog
from prometheus_client import generate_latest

from guildhall.host.hall import LOG_FILE
from guildhall.telemetry import logs
from guildhall.telemetry.metrics import REGISTRY
from tests.kernel.tiny.build import structs as t
from tests.services.hall import failure, forget_stored, hall, table

SEED = b"S" * 32


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def test_commands_are_counted_by_result(tmp_path: Path) -> None:
    labels = {"game": "tiny"}
    before = value("guildhall_commands_total", result="accepted", **labels)
    refused = value("guildhall_commands_total", result="TOO_FEW_COINS", **labels)
    async with hall(tmp_path) as running, table(running) as game:
        await game.clients[0].submit(game.game_id, "1.0", t.Bid(1))
        await failure(game.clients[0].submit(game.game_id, "1.0", t.Bid(99)))
        assert value("guildhall_games", **labels) == 1
    assert value("guildhall_commands_total", result="accepted", **labels) == before + 1
    assert value("guildhall_commands_total", result="TOO_FEW_COINS", **labels) == refused + 1


async def test_neither_logs_nor_metrics_tell_secrets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A hall through start, play, a damaged record and a stop: all it says, searched for all it must not say."""
    logs.configure("json")
    async with hall(tmp_path) as running, table(running, seed=SEED) as game:
        await game.play(Random(1), 10)
        tokens = [client.token for client in game.clients]
    forget_stored(tmp_path)
    with sqlite3.connect(tmp_path / LOG_FILE) as log:
        log.execute('UPDATE records SET value = ? WHERE key = ? AND "offset" = 3', (b"\xff", game.game_id))
    log.close()
    async with hall(tmp_path) as running:
        assert value("guildhall_quarantined_games", game="tiny") == 1
    structlog.reset_defaults()
    said = capsys.readouterr().err + generate_latest(REGISTRY).decode()
    assert "game quarantined" in said and game.game_id in said
    for secret in (SEED.decode(), SEED.hex(), *tokens):
        assert secret not in said
