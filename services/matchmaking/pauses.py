"""Pauses: who has offers come to nothing again and again keeps others waiting, and waits before queueing the next time.

Whoever lets an offer of the queue lapse, declines it, or ends it by taking the ticket back, has missed it. The first is
free (`HouseRules.missed_freely`); then there is a pause, each twice as long as the one before, up to an hour. Six hours
after the last one all is forgotten.
"""

from guildhall.kernel.refusal import Refusal
from guildhall.matchmaking.v1.structs import OfferMissed
from services.matchmaking.house import SECOND
from services.matchmaking.places import addressed
from services.matchmaking.step import Step


def missed(step: Step, subject: str) -> None:
    """An offer of the queue has come to nothing because of the subject."""
    house, known = step.house, step.pool.missed.get(subject)
    times = 1 if known is None or known.forgotten_ms <= step.now_ms else known.times + 1
    paused = times - house.missed_freely
    pause_ms = min(house.pause_ms << min(paused - 1, 30), house.longest_pause_ms) if paused > 0 else 0
    until_ms = step.now_ms + pause_ms
    step.emit(OfferMissed(subject, times, until_ms, until_ms + house.missed_ms))


def check_not_paused(step: Step, subject: str, asking: str) -> None:
    """Raises Refusal OFFERS_MISSED. `asking`: who is told."""
    known = step.pool.missed.get(subject)
    if known is None or known.until_ms <= step.now_ms:
        return
    seconds = -(-(known.until_ms - step.now_ms) // SECOND)
    has = addressed(subject, asking, "have", "has")
    message = f"{has} missed {known.times} offers, and may queue again in {seconds} seconds."
    raise Refusal("OFFERS_MISSED", message, details={"subject": subject, "until_ms": str(known.until_ms)})
