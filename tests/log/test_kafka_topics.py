"""Topics on Kafka: made as they must be, set right, and refused while they can lose what was acknowledged."""

import time

import pytest
import typer
from confluent_kafka.admin import AdminClient, NewTopic
from typer.testing import CliRunner

from guildhall.cli import faces
from guildhall.cli import topics as command
from guildhall.log import topics
from guildhall.log.kafka import open_kafka
from guildhall.log.kafka_client import Connection
from guildhall.log.provision import CanLoseEvents, Provisioning, Topic, compacted_topic, events_topic, hall_topics
from tests.log.test_kafka import Cluster, alter

SINGLE = "--single-broker-not-durable"


@pytest.fixture
def single_broker(kafka: Cluster) -> str:
    """Address of a cluster of one; these tests say what is refused there."""
    address, single = kafka
    if not single:
        pytest.skip("needs a cluster of one broker: unset GUILDHALL_KAFKA")
    return address


@pytest.fixture
def admin(single_broker: str) -> AdminClient:
    return AdminClient(Connection(single_broker).admin())


@pytest.fixture
def provisioning(single_broker: str, admin: AdminClient) -> Provisioning:
    return Provisioning(admin, single_broker, True, 5.0)


def make(admin: AdminClient, topic: Topic, **other: str) -> None:
    """A topic as it must be for one broker, but for some settings."""
    config = {**topic.exactly, **{name: str(least) for name, least in topic.at_least.items()}}
    config |= {"min.insync.replicas": "1"} | {name.replace("_", "."): value for name, value in other.items()}
    admin.create_topics([NewTopic(topic.name, 2, 1, config=config)])[topic.name].result()
    while admin.list_topics(topic.name, timeout=5).topics[topic.name].error is not None:
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"retention_ms": "604800000"}, "has retention.ms=604800000: set retention.ms=-1"),
        ({"retention_bytes": "1000000"}, "has retention.bytes=1000000: set retention.bytes=-1"),
        ({"cleanup_policy": "compact"}, "has cleanup.policy=compact: set cleanup.policy=delete"),
        ({"unclean_leader_election_enable": "true"}, "set unclean.leader.election.enable=false"),
        ({"max_message_bytes": "1000000"}, "has max.message.bytes=1000000: set at least 2097152"),
        ({"min_insync_replicas": "2"}, "lies on 1 and acknowledges on 2 brokers, so never"),
    ],
)
async def test_events_that_could_be_lost_are_refused_until_set_right(
    single_broker: str, admin: AdminClient, provisioning: Provisioning, topic: str, other: dict[str, str], sentence: str
) -> None:
    wanted = events_topic(topic)
    make(admin, wanted, **other)
    log = open_kafka(single_broker, single_broker_not_durable=True)
    with pytest.raises(CanLoseEvents) as refused:
        await log.events(topic)
    await log.close()
    [problem] = refused.value.problems
    assert topic in problem and sentence in problem
    assert await provisioning.check([wanted]) == [problem]
    if "min_insync_replicas" in other:
        alter(single_broker, topic, min_insync_replicas="1")
    else:
        [done] = await provisioning.apply([wanted])
        assert done.startswith(f"{topic} was changed: ")
    assert await provisioning.check([wanted]) == []
    assert await provisioning.apply([wanted]) == []


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
async def test_compacted_topics_that_would_lose_keys_are_refused(
    admin: AdminClient, provisioning: Provisioning, topic: str, policy: str
) -> None:
    wanted = compacted_topic(topic)
    make(admin, wanted, cleanup_policy=policy)
    [problem] = await provisioning.check([wanted])
    assert f"has cleanup.policy={policy}: set cleanup.policy=compact" in problem
    await provisioning.apply([wanted])
    assert await provisioning.check([wanted]) == []


async def test_apply_makes_what_is_missing_and_keeps_counts(provisioning: Provisioning, topic: str) -> None:
    assert await provisioning.check([events_topic(topic)]) == [
        f"{topic} is missing: make it with `guildhall topics apply`."
    ]
    assert await provisioning.apply([events_topic(topic, 3)]) == [f"{topic} was made with 3 partitions."]
    assert await provisioning.apply([events_topic(topic, 12)]) == []
    assert await provisioning.ensure(events_topic(topic, 12)) == 3


async def test_a_games_topics_have_equal_counts(provisioning: Provisioning, store: str) -> None:
    game = store.removeprefix("guildhall.")
    wanted = hall_topics([game], 2)
    await provisioning.apply([events_topic(topics.events(game), 2)])
    await provisioning.apply([compacted_topic(topics.markers(game), 3)])
    said = (
        r"markers has 3 partitions, guildhall.*events has 2: .* delete guildhall.*markers and guildhall.*checkpoints,"
    )
    with pytest.raises(CanLoseEvents, match=said):
        await provisioning.apply(wanted)


async def test_without_the_flag_one_broker_is_refused(single_broker: str, admin: AdminClient, topic: str) -> None:
    log = open_kafka(single_broker)
    with pytest.raises(CanLoseEvents, match=r"1 broker, a record is to lie on 3: .*--single-broker-not-durable"):
        await log.events(topic)
    make(admin, events_topic(topic))
    with pytest.raises(CanLoseEvents) as refused:
        await log.events(topic)
    await log.close()
    assert [problem.split(":")[0] for problem in refused.value.problems] == [
        f"{topic} has min.insync.replicas=1",
        f"{topic} lies on 1 broker",
        "For development on a cluster of one broker say --single-broker-not-durable.",
    ]


async def test_two_that_make_a_topic_at_once_get_the_same(single_broker: str, topic: str) -> None:
    logs = [open_kafka(single_broker, single_broker_not_durable=True) for _ in range(2)]
    one, other = [log.events(topic, count) for log, count in zip(logs, (3, 5), strict=True)]
    assert (await one).partitions == (await other).partitions
    for log in logs:
        await log.close()


def test_topics_at_the_command_line(single_broker: str, monkeypatch: pytest.MonkeyPatch, store: str) -> None:
    monkeypatch.setattr(faces, "games", lambda: [store.removeprefix("guildhall.")])
    app = typer.Typer()
    command.register(app)
    run = CliRunner().invoke
    there = ["--bootstrap", single_broker, SINGLE]
    before = run(app, ["topics", "check", *there])
    assert before.exit_code == 1 and f"{store}.events is missing" in before.output
    applied = run(app, ["topics", "apply", *there, "--partitions", "2"])
    assert applied.exit_code == 0, applied.output
    assert f"{store}.events was made with 2 partitions." in applied.output and "not durable" in applied.output
    assert run(app, ["topics", "check", *there]).exit_code == 0
    refused = run(app, ["topics", "check", "--bootstrap", single_broker])
    assert refused.exit_code == 1 and "reassign its partitions to 3 replicas" in refused.output
    assert refused.output.count(SINGLE) == 1
    alter(single_broker, f"{store}.events", retention_ms="1000")
    wrong = run(app, ["topics", "check", *there])
    assert wrong.exit_code == 1 and "set retention.ms=-1" in wrong.output
