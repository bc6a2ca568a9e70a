"""A real Kafka broker for tests, by the order of design section 7.

The one at `GUILDHALL_KAFKA`; else one in a container (Docker); else one from Apache Kafka's own jars. What was tried
and could not be had is said in `Missing`, which fails where CI must have a broker.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from functools import partial

import pytest

from tests import kafka_docker
from tests.kafka_jars import QUICK_START, Broker, Cluster, Missing, own_broker, own_cluster

__all__ = ["Broker", "Cluster", "Missing", "bootstrap", "give_up", "own_broker", "own_cluster"]

ENVIRONMENT = "GUILDHALL_KAFKA"


@contextlib.contextmanager
def bootstrap(jvm: Sequence[str] = QUICK_START) -> Iterator[str]:
    """The address of a broker, which others may use too; `jvm`: Java's options, if it is one of our own.

    Raises `Missing`.
    """
    with contextlib.ExitStack() as stack:
        yield _started(stack, jvm)


def give_up(missing: Missing) -> None:
    """Fails where CI must have a broker (`CI=true`); elsewhere skips, saying what to install."""
    if os.environ.get("CI") == "true":
        pytest.fail(str(missing), pytrace=False)
    pytest.skip(str(missing))


def _started(stack: contextlib.ExitStack, jvm: Sequence[str]) -> str:
    if address := os.environ.get(ENVIRONMENT):
        return address
    missing = [f"There is no {ENVIRONMENT}=host:port."]
    for name, provider in (("Docker", kafka_docker.bootstrap), ("Jars", partial(_from_jars, jvm))):
        try:
            return stack.enter_context(provider())
        except Missing as error:
            missing.append(f"{name}: {error}.")
    raise Missing("No Kafka broker for tests. " + " ".join(missing))


@contextlib.contextmanager
def _from_jars(jvm: Sequence[str]) -> Iterator[str]:
    with own_broker(jvm) as broker:
        yield broker.bootstrap
