"""Kafka at the command line where none answers, or a smaller one than is wanted; with brokers: tests/log."""

from functools import partial

import pytest
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner

from guildhall.cli import kafka_options, topics
from guildhall.cli.main import command_line
from guildhall.log.kafka import open_kafka
from guildhall.log.provision import Provisioning, Topic, _Found, hall_topics

NOWHERE = "127.0.0.1:1"
SINGLE = "--single-broker-not-durable"


COMMANDS = [("topics", "apply"), ("topics", "check"), ("owners", "--from-log"), ("log", "stats")]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_broker_that_does_not_answer_is_named(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "_REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(kafka_options, "open_kafka", partial(open_kafka, request_seconds=0.3))
    result = CliRunner().invoke(command_line(words[0]), [*words, "--kafka", NOWHERE])
    assert result.exit_code == 1 and f"\nKafka at {NOWHERE}: " in f"\n{result.stderr}", result.output


class OneBroker(Provisioning):
    """All topics are there as one broker has them."""

    def __init__(self, single_broker_not_durable: bool) -> None:
        super().__init__(AdminClient({"bootstrap.servers": NOWHERE}), NOWHERE, single_broker_not_durable, 0.1)

    async def _find(self, topic: Topic) -> _Found:
        settings = {**topic.exactly, **{name: str(least) for name, least in topic.at_least.items()}}
        return _Found(topic.partitions, 1, {**settings, "min.insync.replicas": "1"}, [0] * topic.partitions)


async def test_topics_on_one_broker_are_refused_with_what_development_needs_said_once() -> None:
    wanted = hall_topics(["tiny", "matchmaking"])
    problems = await OneBroker(False).check(wanted)
    assert sum("lies on 1 broker" in problem for problem in problems) == len(wanted)
    assert sum(SINGLE in problem for problem in problems) == 1 and SINGLE in problems[-1]
    assert await OneBroker(True).check(wanted) == []
