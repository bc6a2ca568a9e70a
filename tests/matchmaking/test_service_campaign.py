"""Two processes of matchmaking under kill -9 and pauses: nobody is seated twice, nothing that was told is lost."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from guildhall.log.kafka import open_kafka
from guildhall.log.sqlite import open_sqlite
from tests import kafka_broker
from tests.kafka_broker import Broker
from tests.matchmaking.campaign import check, run

SECONDS = float(os.environ.get("GUILDHALL_CHAOS_SECONDS", "20"))


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker of the test's own."""
    try:
        with kafka_broker.own_broker() as own:
            yield own
    except kafka_broker.Missing as missing:
        kafka_broker.give_up(missing)


@pytest.mark.timeout(SECONDS + 180)
async def test_over_one_file(tmp_path: Path) -> None:
    history, done = await run(tmp_path, [], SECONDS, seed=11)
    assert done and history.games and len(history.accepted) > 50
    log = open_sqlite(tmp_path / "log.sqlite")
    try:
        await check(log, history)
    finally:
        await log.close()


@pytest.mark.timeout(SECONDS + 240)
async def test_over_kafka(broker: Broker, tmp_path: Path) -> None:
    history, done = await run(tmp_path, [broker.bootstrap], SECONDS, seed=12)
    assert done and history.games and len(history.accepted) > 50
    log = open_kafka(broker.bootstrap, single_broker_not_durable=True)
    try:
        await check(log, history)
    finally:
        await log.close()
