"""Matchmaking as processes of its own, beside those of the rules, on a real broker."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from guildhall.cli.client import HallError
from guildhall.cli.matchmaker import Matchmaker
from guildhall.cli.tokens import dev_token
from guildhall.log import topics
from guildhall.log.kafka import open_kafka
from guildhall.log.port import Appended, ProducerRecord, partition_of
from tests import kafka_broker
from tests.cli.hall import GUILDHALL, RunningHall, following, guildhall, serving
from tests.cli.test_matchmaking import game_id
from tests.cli.test_operating import done, of_olga, ran, refused
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


@pytest.mark.timeout(240)
async def test_a_damaged_pool_stays_so_with_its_next_owner_and_is_put_back(broker: Broker, tmp_path: Path) -> None:
    async with own_redis() as redis:
        await asyncio.to_thread(_put_back, broker, tmp_path, redis)


def _put_back(broker: Broker, tmp_path: Path, redis: str) -> None:
    kafka = ["--kafka", broker.bootstrap, "--single-broker-not-durable", "--port", "0"]
    with (
        serving(tmp_path, "matchmaking", "--game", "trickerion", *kafka, "--redis", redis) as first,
        serving(tmp_path, "matchmaking", "--game", "trickerion", *kafka, "--redis", redis) as second,
    ):
        asyncio.run(wait_for_a_game(first, "alice"))
        asyncio.run(damage(broker))
        until_told("quarantined at offset", "pool", "list", *of_olga(second))
        # Whoever it was that owned the pool: a process that begins anew folds the damaged record, too.
        first.process.kill()
        until_told("quarantined at offset", "pool", "list", *of_olga(second))
        goes_on = until_told("goes on", "pool", "repair", "trickerion", "--why", "a disk went bad", *of_olga(second))
        assert "quarantined" not in done("pool", "list", *of_olga(second)), goes_on
        assert "can be folded" in refused("pool", "repair", "trickerion", "--why", "again", *of_olga(second))
        with pytest.raises(HallError, match="You wait in the queue already"):
            asyncio.run(wait_for_a_game(second, "alice"))
        asyncio.run(wait_for_a_game(second, "bob"))
        second.stop()


async def wait_for_a_game(hall: RunningHall, name: str) -> None:
    """Create a ticket for four seats, so that nobody finds a game."""
    async with Matchmaker("trickerion", hall.server, dev_token(hall.data, name, ["play"])) as there:
        await there.ask("CreateTicket", seats=(4,))


async def damage(broker: Broker) -> None:
    """Write a record that nobody can read to the pool of Trickerion."""
    log = open_kafka(broker.bootstrap, single_broker_not_durable=True)
    topic = await log.events(topics.events(topics.MATCHMAKING))
    record = ProducerRecord("trickerion", b"\xff nonsense")
    [outcome] = await topic.append(partition_of("trickerion", topic.partitions), [record])
    assert isinstance(outcome, Appended)
    await log.close()


def until_told(what: str, *words: str) -> str:
    """What a command prints once it says that; a partition may be between two owners."""
    deadline = time.monotonic() + 60.0
    while True:
        result = ran(*words)
        if what in result.output:
            return result.output
        assert time.monotonic() < deadline, result.output
        time.sleep(0.2)
