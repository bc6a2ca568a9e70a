"""`guildhall topics apply|check`: the topics of a hall on Kafka."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer
from confluent_kafka.admin import AdminClient

from guildhall.cli import faces
from guildhall.cli.kafka_options import KafkaCluster, KafkaConfig, OnKafka, SingleBroker
from guildhall.cli.problems import Problem, run
from guildhall.log.kafka import KafkaLog
from guildhall.log.kafka_client import Connection
from guildhall.log.kafka_home import Home
from guildhall.log.port import DEFAULT_PARTITIONS
from guildhall.log.provision import Provisioning, Topic, hall_topics
from guildhall.log.topics import MATCHMAKING

_REQUEST_SECONDS = 10.0

Bootstrap = Annotated[
    str,
    typer.Option(
        "--kafka",
        "--bootstrap",
        envvar="GUILDHALL_KAFKA_BOOTSTRAP",
        help="Kafka's address: host:port[,host:port…].",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Make and check the hall's topics on Kafka.", no_args_is_help=True)
    group.command(name="apply")(apply)
    group.command(name="check")(check)
    app.add_typer(group, name="topics")


def apply(
    bootstrap: Bootstrap,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    partitions: Annotated[
        int, typer.Option(min=1, max=1024, help="Of topics that are made now; it can never be changed.")
    ] = DEFAULT_PARTITIONS,
    single_broker_not_durable: SingleBroker = False,
) -> None:
    """Make the topics that are missing, and set right those that could lose events."""
    there = OnKafka(bootstrap, kafka_config, kafka_cluster, single_broker_not_durable)
    run(_apply(there, hall_topics([*faces.games(), MATCHMAKING], partitions)))


def check(
    bootstrap: Bootstrap,
    kafka_config: KafkaConfig = None,
    kafka_cluster: KafkaCluster = None,
    single_broker_not_durable: SingleBroker = False,
) -> None:
    """Say what is wrong with the topics and what to change; exit code 1 if anything is."""
    there = OnKafka(bootstrap, kafka_config, kafka_cluster, single_broker_not_durable)
    run(_check(there, hall_topics([*faces.games(), MATCHMAKING])))


async def _apply(there: OnKafka, wanted: list[Topic]) -> None:
    provisioning = _provisioning(there)
    Home(there.cluster or "").check(there.bootstrap, await provisioning.cluster_id())
    await _with_log(there, KafkaLog.check_copy)
    for line in await provisioning.apply(wanted):
        typer.echo(line)
    # From the first time on the topics remember their cluster.
    await _with_log(there, KafkaLog.check_home)
    typer.echo(f"{len(wanted)} topics are as they should be.")


async def _check(there: OnKafka, wanted: list[Topic]) -> None:
    provisioning = _provisioning(there)
    Home(there.cluster or "").check(there.bootstrap, await provisioning.cluster_id())
    await _with_log(there, KafkaLog.check_copy)
    if problems := await provisioning.check(wanted):
        raise Problem("\n".join(problems))
    typer.echo(f"{len(wanted)} topics are as they should be.")


def _provisioning(there: OnKafka) -> Provisioning:
    if there.single_broker_not_durable:
        typer.echo("One broker, so the log is not durable: its disk is all there is.", err=True)
    admin = AdminClient(Connection(there.bootstrap, client=there.settings()).admin())
    return Provisioning(admin, there.bootstrap, there.single_broker_not_durable, _REQUEST_SECONDS)


async def _with_log(there: OnKafka, check: Callable[[KafkaLog], Awaitable[None]]) -> None:
    log = there.open()
    try:
        await check(log)
    finally:
        await log.close()
