"""Matchmaking as processes of its own, beside those of the rules, on a real broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import kafka_broker
from tests.cli.hall import GUILDHALL, following, guildhall, serving
from tests.cli.test_matchmaking import game_id
from tests.kafka_broker import Broker


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker of the test's own."""
    try:
        with kafka_broker.own_broker() as own:
            yield own
    except kafka_broker.Missing as missing:
        kafka_broker.give_up(missing)


@pytest.mark.timeout(240)
def test_two_in_the_queue_get_a_game_of_another_process(broker: Broker, tmp_path: Path) -> None:
    there = ["--game", "trickerion", "--kafka", broker.bootstrap, "--single-broker-not-durable", "--port", "0"]
    with serving(tmp_path, "rules", *there), serving(tmp_path, "matchmaking", *there) as matchmaking:
        queue = ["queue", "trickerion", "--players", "2", *matchmaking.there]
        with following([*GUILDHALL, *queue, "--name", "alice"]) as alice:
            bob = guildhall(*queue, "--name", "bob")
            assert bob.returncode == 0, bob.stderr
            told, _ = alice.communicate(timeout=60)
        assert game_id(bob.stdout) == game_id(told)
        matchmaking.stop()
