"""A hall of the tiny game with matchmaking as a process of its own; it prints its port.

python -m tests.matchmaking.serve_tiny DATA [--kafka BOOTSTRAP] [--fault NAME]: over SQLite in DATA, or over Kafka; with
something wrong on purpose (`FAULTS`).
"""

import asyncio
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from guildhall.host.group import group
from guildhall.host.hall import Hall
from guildhall.host.process import run
from guildhall.log.kafka import open_kafka
from guildhall.matchmaking.v1.structs import TicketEnded
from guildhall.telemetry import logs
from services.matchmaking import evolve, ratings, tickets
from tests.matchmaking.hall import housing, quick
from tests.services.hall import config

HOUSE = quick(offer_ms=2_000, pass_ms=100)


def started(hall: Hall) -> None:
    print(hall.port, flush=True)


def unrated() -> None:
    """Every other game that counts is not rated."""
    right = ratings.counts

    def counts(game: Any, result: Any) -> bool:
        return right(game, result) and game.game_id[-1] < "h"

    ratings.counts = counts


def torn() -> None:
    """The leader of a party queues without the others."""
    right = tickets._who

    def who(pool: Any, subject: str) -> tuple[tuple[str, ...], str]:
        subjects, party_id = right(pool, subject)
        return subjects[:1], party_id

    tickets._who = who


def untold() -> None:
    """Of a party's ticket that is over nobody but the leader is told."""
    kinds: Any = evolve.EVOLVE
    right = kinds[TicketEnded]

    def ended(pool: Any, event: TicketEnded) -> None:
        right(pool, event)
        over = pool.ended[event.ticket_id]
        pool.ended.put(over.ticket_id, replace(over, subjects=over.subjects[:1]))

    kinds[TicketEnded] = ended


FAULTS = {fault.__name__: fault for fault in (unrated, torn, untold)}


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
    words = ArgumentParser()
    words.add_argument("data", type=Path)
    words.add_argument("--kafka")
    words.add_argument("--fault", choices=FAULTS)
    asked = words.parse_args()
    if asked.fault:
        FAULTS[asked.fault]()
    main(asked.data, asked.kafka)
