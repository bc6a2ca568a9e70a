"""A hall of the tiny game with matchmaking as a process of its own; it prints its port.

python -m tests.matchmaking.serve_tiny DATA [BOOTSTRAP]: over SQLite in DATA, or over Kafka.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from guildhall.host.group import group
from guildhall.host.hall import Hall
from guildhall.host.process import run
from guildhall.log.kafka import open_kafka
from guildhall.telemetry import logs
from tests.matchmaking.hall import housing, quick
from tests.services.hall import config

HOUSE = quick(offer_ms=2_000, pass_ms=100)


def started(hall: Hall) -> None:
    print(hall.port, flush=True)


def main(data: Path, bootstrap: str | None) -> None:
    changes: dict[str, Any] = {}
    if bootstrap is not None:
        changes = {
            "open_log": lambda _: open_kafka(bootstrap, single_broker_not_durable=True),
            "join": group,
            "one_of_several": True,
            "beside": None,
        }
    asyncio.run(run(Hall(config(data, **housing(HOUSE), **changes)), started))


if __name__ == "__main__":
    logs.configure("console")
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
