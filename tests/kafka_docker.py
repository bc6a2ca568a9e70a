"""A Kafka broker in a container, through testcontainers; the version is that of the jars."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from tests.kafka_jars import CLUSTER_ID, POM, Missing, free_ports

_START_SECONDS = 180
_SETTINGS = {
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS": "1",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    "KAFKA_LOG_CLEANER_BACKOFF_MS": "100",
    "KAFKA_LOG_SEGMENT_DELETE_DELAY_MS": "100",
    "CLUSTER_ID": CLUSTER_ID,
}


@contextlib.contextmanager
def bootstrap() -> Iterator[str]:
    """The address of a broker in a container of its own. Raises `Missing` if Docker doesn't give one."""
    container, address = _start()
    try:
        _wait(address)
        yield address
    finally:
        container.stop()


def image() -> str:
    """Apache Kafka's own image."""
    version = ElementTree.parse(POM).findtext(".//{*}dependency[{*}artifactId='kafka_2.13']/{*}version")
    return f"apache/kafka:{version}"


def _start() -> tuple[Any, str]:
    # As late as here: importing these takes a second, and they ask Docker who it is.
    from docker.errors import DockerException  # type: ignore[import-untyped]  # comes without types
    from requests.exceptions import RequestException
    from testcontainers.core.container import DockerContainer

    [port] = free_ports(1)
    try:
        container = DockerContainer(image()).with_bind_ports(port, port)
        host = container.get_container_host_ip()
        for name, value in _SETTINGS.items():
            container.with_env(name, value)
        container.with_env("KAFKA_LISTENERS", f"PLAINTEXT://0.0.0.0:{port},CONTROLLER://localhost:9093")
        container.with_env("KAFKA_ADVERTISED_LISTENERS", f"PLAINTEXT://{host}:{port}")
        container.start()
    except (DockerException, RequestException) as error:
        raise Missing(str(error)) from error
    return container, f"{host}:{port}"


def _wait(address: str) -> None:
    """Until the broker answers. Raises RuntimeError."""
    until = time.monotonic() + _START_SECONDS
    while True:
        try:
            KafkaAdminClient(bootstrap_servers=address).close()
            return
        except (KafkaError, OSError, ValueError) as error:
            if time.monotonic() > until:
                raise RuntimeError(f"Kafka in a container doesn't answer at {address}: {error}") from error
            time.sleep(0.2)
