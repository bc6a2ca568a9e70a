"""Offers: a match becomes a game when all have confirmed in time; else everybody is where they were."""

from collections.abc import Mapping, Sequence

from guildhall.kernel import ids
from guildhall.kernel.luck import Luck
from guildhall.kernel.refusal import Refusal
from guildhall.matchmaking.v1.structs import (
    ConfirmOfferRequest,
    DeclineOfferRequest,
    GameRefused,
    GameStarted,
    OfferAccepted,
    OfferConfirmed,
    OfferLapsed,
    OfferMade,
    Seating,
    SeatLeft,
    TicketEnded,
    TicketOutcome,
)
from services.matchmaking import pauses
from services.matchmaking.commands import CreationRefused, GameMade
from services.matchmaking.house import MATCHMAKER, bot_subject, is_bot
from services.matchmaking.pool import OVER, Offer, Pool, Table, Ticket
from services.matchmaking.step import Step

AWAY_MS = 2_000
"""So long without an answer, and the pool was away."""


def of_tickets(step: Step, matched: Sequence[Ticket], bots: Sequence[str]) -> None:
    """Offer a game to the players of these tickets and bots of these strengths."""
    step.emit(
        OfferMade(
            offer_id=step.offer_id(),
            ticket_ids=tuple(ticket.ticket_id for ticket in matched),
            subjects=(
                *(subject for ticket in matched for subject in ticket.subjects),
                *(bot_subject(strength, number) for number, strength in enumerate(bots, 1)),
            ),
            terms_id=matched[0].terms_id,
            deadline_ms=step.now_ms + step.house.offer_ms,
            seed=step.fresh(),
        )
    )


def of_table(step: Step, table: Table) -> None:
    """Offer the game of a full table; who started it has confirmed."""
    offer_id = step.offer_id()
    subjects, bots = [], 0
    for seat in table.seats:
        bots += bool(seat.bot)
        subjects.append(seat.subject or bot_subject(seat.bot, bots))
    step.emit(
        OfferMade(
            offer_id=offer_id,
            table_id=table.table_id,
            subjects=tuple(subjects),
            terms_id=table.terms_id,
            deadline_ms=step.now_ms + step.house.offer_ms,
            seed=b"" if table.seating == Seating.AS_SEATED else step.fresh(),
            unrated=table.unrated,
        )
    )
    _confirm(step, step.pool.offers[offer_id], table.owner)


def confirm(step: Step, subject: str, request: ConfirmOfferRequest) -> None:
    """Agree to play. To agree again changes nothing."""
    known = step.pool.offers.get(request.offer_id)
    if known is None or subject not in known.confirmed:
        _confirm(step, _own(step, subject, request.offer_id), subject)


def _confirm(step: Step, offer: Offer, subject: str) -> None:
    step.emit(OfferConfirmed(offer.offer_id, subject))
    offer = step.pool.offers[offer.offer_id]
    if not offer.missing:
        game_id = ids.game_id(MATCHMAKER, offer.offer_id)
        step.emit(OfferAccepted(offer.offer_id, game_id, draw_seats(offer.subjects, offer.seed)))


def draw_seats(subjects: Sequence[str], seed: bytes) -> tuple[str, ...]:
    """The subject of each seat: players by the bytes of their names, then bots, in the order of draw 0 of the seed
    (kernel.luck). Without a seed as they are.
    """
    if not seed:
        return tuple(subjects)
    people = sorted((subject for subject in subjects if not is_bot(subject)), key=str.encode)
    drawn = [*people, *(subject for subject in subjects if is_bot(subject))]
    return tuple(drawn[place] for place in Luck(seed, 0).shuffle(range(len(drawn))))


def decline(step: Step, subject: str, request: DeclineOfferRequest) -> None:
    """Refuse to play: one's ticket ends, or one leaves the table."""
    offer = _own(step, subject, request.offer_id)
    at_fault(step, offer, [subject])
    if not offer.table_id:
        pauses.missed(step, subject)


def expire(step: Step, offer_id: str) -> None:
    """The time to confirm is over; for nobody's fault where the pool was away in that time."""
    offer = step.pool.offers[offer_id]
    if offer.deadline_ms == OVER or _may_be_unheard(step, offer):
        lapse(step, offer, {})
        return
    at_fault(step, offer, offer.missing)
    if not offer.table_id:
        for subject in offer.missing:
            pauses.missed(step, subject)


def _may_be_unheard(step: Step, offer: Offer) -> bool:
    """Whether players may have confirmed in vain: there was no answer for a while after the offer was made, or nobody
    looked at it when it was due.
    """
    made_ms = offer.deadline_ms - step.house.offer_ms
    return step.heard_ms > made_ms or step.now_ms > offer.deadline_ms + AWAY_MS


def at_fault(step: Step, offer: Offer, subjects: Sequence[str]) -> None:
    """End an offer because of some, whose tickets end or who leave the table."""
    pool = step.pool
    tickets = {pool.ticket_of[subject] for subject in subjects if subject in pool.ticket_of} & {*offer.ticket_ids}
    outcome = TicketOutcome.NOT_CONFIRMED
    lapse(step, offer, {ticket_id: outcome for ticket_id in offer.ticket_ids if ticket_id in tickets})
    if offer.table_id:
        for subject in subjects:
            step.emit(SeatLeft(offer.table_id, subject))


def lapse(step: Step, offer: Offer, ended: Mapping[str, TicketOutcome]) -> None:
    """End an offer and these tickets of it; the others wait again where they were."""
    for ticket_id, outcome in ended.items():
        step.emit(TicketEnded(ticket_id, outcome))
    step.emit(OfferLapsed(offer.offer_id))


def still_open(pool: Pool, offer_id: str) -> Offer:
    """The offer, if it may still come to nothing. Raises Refusal GAME_STARTING."""
    offer = pool.offers[offer_id]
    if offer.game_id:
        raise Refusal("GAME_STARTING", "All have confirmed: the game is being created.")
    return offer


def _own(step: Step, subject: str, offer_id: str) -> Offer:
    """The subject's open offer. Raises Refusal OFFER_OVER, also for one that never was, and GAME_STARTING."""
    offer = step.pool.offers.get(offer_id)
    if offer is None or subject not in offer.subjects:
        raise Refusal("OFFER_OVER", "You have no such offer (any more).")
    still_open(step.pool, offer_id)
    if step.now_ms >= offer.deadline_ms:
        raise Refusal("OFFER_OVER", "The time to confirm is over.")
    return offer


def made(step: Step, command: GameMade) -> None:
    """The game is there: tickets end, and its players are free for another. Nothing if this is known."""
    offer = step.pool.offers.get(command.offer_id)
    if offer is None or not offer.game_id:
        return
    for ticket_id in offer.ticket_ids:
        step.emit(TicketEnded(ticket_id, TicketOutcome.MATCHED, offer.game_id))
    step.emit(GameStarted(offer.offer_id))


def refused(step: Step, command: CreationRefused) -> None:
    """The game can't be: tickets end, a table stays as it was. Nothing if this is known."""
    offer = step.pool.offers.get(command.offer_id)
    if offer is None or not offer.game_id:
        return
    for ticket_id in offer.ticket_ids:
        step.emit(TicketEnded(ticket_id, TicketOutcome.GAME_REFUSED))
    step.emit(GameRefused(offer.offer_id, command.reason))
