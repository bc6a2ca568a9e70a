"""Which log a command works on: one on Kafka, with what the cluster asks of its clients, or a file on this machine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from guildhall.cli.problems import Problem
from guildhall.host.hall import LOG_FILE
from guildhall.log.kafka import KafkaLog, open_kafka
from guildhall.log.kafka_client import ClientSettings
from guildhall.log.kafka_home import FILE, Home
from guildhall.log.kafka_settings import read_settings
from guildhall.log.port import Log
from guildhall.log.sqlite import open_sqlite

Kafka = Annotated[
    str | None,
    typer.Option("--kafka", envvar="GUILDHALL_KAFKA_BOOTSTRAP", help="The log is on Kafka, at host:port[,host:port…]."),
]
KafkaConfig = Annotated[
    Path | None,
    typer.Option(
        "--kafka-config",
        envvar="GUILDHALL_KAFKA_CONFIG",
        help="Properties file with what the cluster asks of its clients (TLS, SASL), by librdkafka's names.",
    ),
]
KafkaCluster = Annotated[
    str | None,
    typer.Option(
        "--kafka-cluster",
        envvar="GUILDHALL_KAFKA_CLUSTER",
        help="Id that the cluster must have. Default: the one that was remembered.",
    ),
]
SingleBroker = Annotated[
    bool,
    typer.Option("--single-broker-not-durable", help="Take a cluster of one broker, for development: its disk is all."),
]


@dataclass(frozen=True)
class OnKafka:
    """How to reach a log on Kafka."""

    bootstrap: str
    config: Path | None = None
    cluster: str | None = None
    single_broker_not_durable: bool = False

    def settings(self) -> ClientSettings:
        """Of the properties file. Raises typer.BadParameter."""
        if self.config is None:
            return {}
        try:
            return read_settings(self.config)
        except (OSError, ValueError) as error:
            raise typer.BadParameter(str(error), param_hint="--kafka-config") from None

    def open(self, data: Path | None = None, *, make_topics: bool = False) -> KafkaLog:
        """The log; `data` is a directory that remembers the cluster's id. Raises typer.BadParameter."""
        home = Home(self.cluster or "", data / FILE if data is not None and data.is_dir() else None)
        settings = self.settings()
        try:
            return open_kafka(
                self.bootstrap,
                single_broker_not_durable=self.single_broker_not_durable,
                client=settings,
                home=home,
                make_topics=make_topics,
            )
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--kafka-config") from None


def open_existing(on_kafka: OnKafka | None, data: Path) -> tuple[Log, str]:
    """A log that is there, and where it is, in words. Raises Problem, LogError, typer.BadParameter."""
    if on_kafka is not None:
        return on_kafka.open(data), f"Kafka at {on_kafka.bootstrap}"
    path = data / LOG_FILE
    if not path.exists():
        raise Problem(f"There is no log {path}. Of one on Kafka say where: --kafka or GUILDHALL_KAFKA_BOOTSTRAP.")
    return open_sqlite(path), str(path)


def on_kafka(
    kafka: str | None, config: Path | None, cluster: str | None, single_broker_not_durable: bool
) -> OnKafka | None:
    """The options together; None where the log is a file."""
    return OnKafka(kafka, config, cluster, single_broker_not_durable) if kafka else None
