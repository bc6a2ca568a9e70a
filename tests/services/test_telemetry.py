"""Metrics count what happened, and logs tell no secret."""

import sqlite3
from pathlib import Path
from random import Random

import pytest
import structlog
from prometheus_client import generate_latest

from guildhall.host.hall import LOG_FILE
from guildhall.telemetry import logs, metrics
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


ALARMED = [
    ("guildhall_rules_failures_total", {"game": "tiny"}),
    ("guildhall_damaged_records_total", {"game": "tiny", "of": "game"}),
    ("guildhall_damaged_records_total", {"game": "tiny", "of": "claim"}),
    ("guildhall_stand_downs_total", {"game": "tiny"}),
    ("guildhall_unreadable_models_total", {"game": "tiny"}),
    *(("guildhall_unreadable_states_total", {"topic": kind}) for kind in ("snapshot", "checkpoint", "marker")),
    *(
        ("guildhall_requests_total", {"method": f"guildhall.{method}", "reason": reason})
        for method in ("tiny.v1.RulesService/SubmitCommand", "tiny.v1.ViewService/WatchView")
        for reason in ("LOG_UNAVAILABLE", "OUTCOME_UNKNOWN", "READ_MODELS_UNAVAILABLE", "VIEW_BEHIND")
    ),
]
"""The counters whose growth is an alarm, of a hall of the tiny game."""


async def test_what_an_alarm_counts_is_there_before_its_first_event(tmp_path: Path) -> None:
    """`increase` takes a series that begins with 1 for one that has not grown."""
    for metric in (
        metrics.RULES_FAILURES,
        metrics.DAMAGED_RECORDS,
        metrics.STAND_DOWNS,
        metrics.UNREADABLE_MODELS,
        metrics.UNREADABLE_STATES,
        metrics.REQUESTS,
    ):
        metric.clear()
    async with hall(tmp_path):
        assert [REGISTRY.get_sample_value(name, labels) for name, labels in ALARMED] == [0.0] * len(ALARMED)


@pytest.mark.parametrize(("error", "told"), [(TimeoutError(), "TimeoutError()"), (OSError("away"), "away")])
def test_an_error_without_a_text_is_named(error: Exception, told: str) -> None:
    assert logs.said(error) == told


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
