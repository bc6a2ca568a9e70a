"""A process of the tiny game on Kafka: `python -m tests.services.serve_tiny_kafka DATA BOOTSTRAP` prints its port."""

import sys
from pathlib import Path

from guildhall.host.group import group
from guildhall.host.hall import Hall, run_process
from guildhall.log.kafka import open_kafka
from guildhall.telemetry import logs
from tests.services.hall import config


def started(hall: Hall) -> None:
    print(hall.port, flush=True)


def main(data: Path, bootstrap: str) -> None:
    running = config(
        data,
        open_log=lambda _: open_kafka(bootstrap, single_broker_not_durable=True),
        join=group,
        one_of_several=True,
        drain_seconds=5.0,
        # However busy the machine is, what the tests look for afterwards is there.
        store_seconds=5.0,
    )
    run_process(running, started)


if __name__ == "__main__":
    logs.configure("console")
    main(Path(sys.argv[1]), sys.argv[2])
