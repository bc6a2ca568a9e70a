"""What the metrics tell of a pool: of the entries that this process has decided, once they are in the log."""

from collections.abc import Iterable
from typing import Any

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
            outcome = TicketOutcome(event.outcome)
            metrics.TICKETS_ENDED.labels(game, outcome.name.lower()).inc()
            ended = pool.ended.get(event.ticket_id)
            if outcome is TicketOutcome.MATCHED and ended is not None:
                metrics.SEATED_SECONDS.labels(game).observe((ended.ended_ms - ended.since_ms) / 1000)
