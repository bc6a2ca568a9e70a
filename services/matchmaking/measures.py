"""What the metrics tell of a pool: of the entries that this process has decided, once they are in the log."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from prometheus_client import Counter, Histogram

from guildhall.matchmaking.v1.structs import OfferLapsed, TicketEnded, TicketOutcome
from guildhall.telemetry import metrics
from services.matchmaking.pool import Pool


def count(pool: Pool, events: Iterable[Any]) -> None:
    """Count the events of an entry that is in the log; the pool stands right behind it."""
    game = pool.house.rules.game
    for event in events:
        if isinstance(event, OfferLapsed):
            metrics.OFFERS_LAPSED.labels(game).inc()
        elif isinstance(event, TicketEnded):
            _tickets_ended(game, event.outcome).inc()
            ended = pool.ended.get(event.ticket_id)
            if event.outcome == TicketOutcome.MATCHED and ended is not None:
                _seated_seconds(game).observe((ended.ended_ms - ended.since_ms) / 1000)


# Looked up once: that takes longer than to count.


@lru_cache(maxsize=256)
def _tickets_ended(game: str, outcome: int) -> Counter:
    return metrics.TICKETS_ENDED.labels(game, TicketOutcome(outcome).name.lower())


@lru_cache(maxsize=256)
def _seated_seconds(game: str) -> Histogram:
    return metrics.SEATED_SECONDS.labels(game)
