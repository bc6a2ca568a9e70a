"""Two processes of matchmaking under kill -9 and pauses: nobody is seated twice, nothing that was told is lost."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from guildhall.log.kafka import open_kafka
from guildhall.log.sqlite import open_sqlite
from tests import kafka_broker
from tests.campaign import CHAOS_SECONDS
from tests.kafka_broker import Broker
from tests.matchmaking.campaign import run

SECONDS = CHAOS_SECONDS or 20.0


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
    history, done = await run(tmp_path, [], SECONDS, 11, partial(open_sqlite, tmp_path / "log.sqlite"))
    assert done and history.games and history.codes and len(history.accepted) > 50


@pytest.mark.timeout(SECONDS + 240)
async def test_over_kafka(broker: Broker, tmp_path: Path) -> None:
    open_log = partial(open_kafka, broker.bootstrap, single_broker_not_durable=True)
    history, done = await run(tmp_path, ["--kafka", broker.bootstrap], SECONDS, 12, open_log, outlast=True)
    assert done["replaced"], "no owner was paused for so long that another one took its place"
    assert history.games and history.codes and len(history.accepted) > 50


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("unrated", "each game that counts is rated once"),
        ("torn", "a party is"),
        ("untold", "not told how a ticket ended"),
    ],
)
async def test_a_fault_is_found(tmp_path: Path, fault: str, said: str) -> None:
    """The hall is wrong on purpose: without that no check is known to check anything."""
    with pytest.raises(AssertionError, match=said):
        await run(tmp_path, ["--fault", fault], 5.0, 13, partial(open_sqlite, tmp_path / "log.sqlite"), calm=True)
