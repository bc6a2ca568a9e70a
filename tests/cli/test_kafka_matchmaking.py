"""Matchmaking as processes of its own, beside those of the rules, on a real broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import kafka_broker
from tests.cli.hall import GUILDHALL, following, guildhall, serving
from tests.cli.test_matchmaking import game_id
from tests.kafka_broker import Broker
from tests.services.test_kafka_views import own_redis


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker of the test's own."""
    try:
        with kafka_broker.own_broker() as own:
            yield own
    except kafka_broker.Missing as missing:
        kafka_broker.give_up(missing)


@pytest.mark.timeout(240)
async def test_two_in_the_queue_get_a_game_of_another_process_and_look_at_their_ratings(
    broker: Broker, tmp_path: Path
) -> None:
    kafka = ["--kafka", broker.bootstrap, "--single-broker-not-durable", "--port", "0"]
    there = ["--game", "trickerion", *kafka]
    async with own_redis() as redis:
        _two_in_the_queue(tmp_path, kafka, there, ["--redis", redis])


def _two_in_the_queue(tmp_path: Path, kafka: list[str], there: list[str], redis: list[str]) -> None:
    with (
        serving(tmp_path, "rules", *there),
        serving(tmp_path, "matchmaking", *there, *redis) as matchmaking,
        serving(tmp_path, "projection", "--game", "matchmaking", *kafka, *redis) as projection,
    ):
        queue = ["queue", "trickerion", "--players", "2", *matchmaking.there]
        with following([*GUILDHALL, *queue, "--name", "alice"]) as alice:
            bob = guildhall(*queue, "--name", "bob")
            assert bob.returncode == 0, bob.stderr
            told, _ = alice.communicate(timeout=60)
        assert game_id(bob.stdout) == game_id(told)
        board = guildhall("leaderboard", "trickerion", "--name", "alice", *matchmaking.there)
        assert board.returncode == 0, board.stderr
        assert "Nobody has played ten rated games yet." in board.stdout and "after 0 rated games" in board.stdout
        matchmaking.stop()
        projection.stop()
