"""`guildhall topics apply|check`: the topics of a hall on Kafka."""

from typing import Annotated

import typer
from confluent_kafka.admin import AdminClient

from guildhall.cli import faces
from guildhall.cli.problems import Problem, run
from guildhall.log.kafka_client import Connection
from guildhall.log.port import DEFAULT_PARTITIONS
from guildhall.log.provision import Provisioning, Topic, hall_topics

_REQUEST_SECONDS = 10.0

Bootstrap = Annotated[str, typer.Option(help="Kafka's address: host:port[,host:port…].")]
SingleBroker = Annotated[
    bool,
    typer.Option("--single-broker-not-durable", help="Take a cluster of one broker, for development: its disk is all."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Make and check the hall's topics on Kafka.", no_args_is_help=True)
    group.command(name="apply")(apply)
    group.command(name="check")(check)
    app.add_typer(group, name="topics")


def apply(
    bootstrap: Bootstrap,
    partitions: Annotated[
        int, typer.Option(min=1, max=1024, help="Of topics that are made now; it can never be changed.")
    ] = DEFAULT_PARTITIONS,
    single_broker_not_durable: SingleBroker = False,
) -> None:
    """Make the topics that are missing, and set right those that could lose events."""
    run(_apply(_provisioning(bootstrap, single_broker_not_durable), hall_topics(faces.games(), partitions)))


def check(bootstrap: Bootstrap, single_broker_not_durable: SingleBroker = False) -> None:
    """Say what is wrong with the topics and what to change; exit code 1 if anything is."""
    run(_check(_provisioning(bootstrap, single_broker_not_durable), hall_topics(faces.games())))


async def _apply(provisioning: Provisioning, wanted: list[Topic]) -> None:
    for line in await provisioning.apply(wanted):
        typer.echo(line)
    typer.echo(f"{len(wanted)} topics are as they should be.")


async def _check(provisioning: Provisioning, wanted: list[Topic]) -> None:
    if problems := await provisioning.check(wanted):
        raise Problem("\n".join(problems))
    typer.echo(f"{len(wanted)} topics are as they should be.")


def _provisioning(bootstrap: str, single_broker_not_durable: bool) -> Provisioning:
    if single_broker_not_durable:
        typer.echo("One broker, so the log is not durable: its disk is all there is.", err=True)
    admin = AdminClient(Connection(bootstrap).admin())
    return Provisioning(admin, single_broker_not_durable, _REQUEST_SECONDS)
