"""Where a broker for tests comes from: an address, Docker, jars; and that having none is loud."""

import pytest

from tests import kafka_broker, kafka_docker
from tests.kafka_jars import Missing


def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither Docker nor Java."""
    monkeypatch.delenv(kafka_broker.ENVIRONMENT, raising=False)
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    monkeypatch.setenv("PATH", "")


def test_an_address_in_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere(monkeypatch)
    monkeypatch.setenv(kafka_broker.ENVIRONMENT, "broker.example:9092")
    with kafka_broker.bootstrap() as address:
        assert address == "broker.example:9092"


def test_what_cannot_be_had_is_told_of_every_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere(monkeypatch)
    with pytest.raises(Missing) as told, kafka_broker.bootstrap():
        pass
    text = str(told.value)
    assert text.index("GUILDHALL_KAFKA") < text.index("Docker: ") < text.index("Jars: ")
    assert "apt-get install default-jre-headless" in text


def test_no_broker_fails_in_ci_and_is_said_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no broker"):
        kafka_broker.give_up(Missing("no broker"))
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="no broker"):
        kafka_broker.give_up(Missing("no broker"))


def test_the_container_runs_the_version_of_the_jars() -> None:
    assert kafka_docker.image() == "apache/kafka:4.1.0"
