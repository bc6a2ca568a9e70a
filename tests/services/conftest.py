"""A broker for the tests that need one."""

from collections.abc import Iterator

import pytest

from tests import kafka_broker
from tests.kafka_broker import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A broker of the module's own, to be stopped and started at will."""
    try:
        with kafka_broker.own_broker() as own:
            yield own
    except kafka_broker.Missing as missing:
        kafka_broker.give_up(missing)
