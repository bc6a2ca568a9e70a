"""A process of the tiny game on Kafka, which prints its port.

python -m tests.services.serve_tiny_kafka DATA BOOTSTRAP rules
python -m tests.services.serve_tiny_kafka DATA BOOTSTRAP projection|views REDIS
"""

import sys
from pathlib import Path
from typing import Any

from guildhall.cli.read_side import ProjectionProcess, ReadSideConfig, ViewsConfig, ViewsProcess
from guildhall.host.group import group
from guildhall.host.hall import Hall
from guildhall.host.process import run_process
from guildhall.log.kafka import open_kafka
from guildhall.telemetry import logs
from tests.kernel.tiny.game import RULES
from tests.services.hall import config


def rules(data: Path, bootstrap: str, store_seconds: float = 5.0) -> Hall:
    """However busy the machine is, what the tests look for afterwards is stored in so many seconds."""
    return Hall(
        config(
            data,
            open_log=lambda _: open_kafka(bootstrap, single_broker_not_durable=True),
            join=group,
            beside=None,
            one_of_several=True,
            drain_seconds=5.0,
            store_seconds=store_seconds,
        )
    )


def read_side(role: str, data: Path, bootstrap: str, redis: str) -> ProjectionProcess | ViewsProcess:
    fields: dict[str, Any] = {
        "data": data,
        "port": 0,
        "games": [RULES],
        "open_log": lambda: open_kafka(bootstrap, single_broker_not_durable=True),
        "redis": redis,
    }
    return ViewsProcess(ViewsConfig(**fields)) if role == "views" else ProjectionProcess(ReadSideConfig(**fields))


def started(process: Hall | ProjectionProcess | ViewsProcess) -> None:
    print(process.port, flush=True)


def main(data: str, bootstrap: str, role: str, redis: str = "") -> None:
    made = rules(Path(data), bootstrap) if role == "rules" else read_side(role, Path(data), bootstrap, redis)
    run_process(made, started)


if __name__ == "__main__":
    logs.configure("console")
    main(*sys.argv[1:])
