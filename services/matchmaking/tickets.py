"""Tickets: entering the queue and leaving it."""

from guildhall.kernel import ids
from guildhall.kernel.refusal import Refusal
from guildhall.matchmaking.v1.structs import (
    CancelTicketRequest,
    CreateTicketRequest,
    GameTerms,
    TicketCreated,
    TicketEnded,
    TicketOutcome,
)
from services.matchmaking import offers
from services.matchmaking.house import SECOND, HouseRules
from services.matchmaking.pauses import check_not_paused, missed
from services.matchmaking.places import check_free, check_new, check_person
from services.matchmaking.pool import Pool, Ticket
from services.matchmaking.step import Step


def create(step: Step, subject: str, request: CreateTicketRequest) -> None:
    """Queue a subject, or the party that it leads."""
    pool, house = step.pool, step.house
    check_person(subject)
    subjects, party_id = _who(pool, subject)
    for each in subjects:
        check_free(pool, each, subject)
        check_not_paused(step, each, subject)
    ticket_id = ids.game_id(subject, request.command_id)
    check_new(ticket_id, pool.tickets.get(ticket_id) or pool.ended.get(ticket_id))
    seats = _sizes(house, request.seats, len(subjects))
    terms = house.resolve(request.terms or GameTerms(), seats)
    if request.bots is not None:
        house.check_bot(request.bots.strength)
    wait_ms = request.wait_ms or house.wait_ms
    if wait_ms > house.longest_wait_ms:
        raise Refusal("INVALID_WAIT", f"A ticket waits at most {house.longest_wait_ms // SECOND} seconds.")
    step.emit(
        TicketCreated(
            ticket_id=ticket_id,
            subjects=subjects,
            party_id=party_id,
            terms_id=step.name_terms(terms),
            seats=seats,
            bots=request.bots,
            expires_ms=step.now_ms + wait_ms,
        )
    )


def _who(pool: Pool, subject: str) -> tuple[tuple[str, ...], str]:
    """Everybody on the ticket, and their party."""
    party_id = pool.party_of.get(subject, "")
    if not party_id:
        return (subject,), ""
    members = pool.parties[party_id].members
    if members[0] != subject:
        raise Refusal("NOT_PARTY_LEADER", "Only the leader of your party enters the queue, for all of you.")
    return members, party_id


def _sizes(house: HouseRules, asked: tuple[int, ...], party: int) -> tuple[int, ...]:
    """The welcome numbers of seats that have room for the party."""
    wanted = asked or tuple(reversed(house.rules.seats))
    house.check_seats(wanted)
    if party > max(wanted):
        raise Refusal("PARTY_TOO_LARGE", f"Your party of {party} has no room in a game of {max(wanted)}.")
    return tuple(number for number in wanted if number >= party)


def cancel(step: Step, subject: str, request: CancelTicketRequest) -> None:
    """Take a ticket back."""
    ticket = step.pool.tickets.get(request.ticket_id)
    if ticket is None or subject not in ticket.subjects:
        raise Refusal("TICKET_NOT_FOUND", "You have no such ticket (any more).")
    take_back(step, ticket, subject)


def take_back(step: Step, ticket: Ticket, subject: str) -> None:
    """Cancel a ticket because of what a subject ("": nobody) does, and with it the offer that it has.

    Raises Refusal GAME_STARTING.
    """
    if ticket.offer_id:
        offer = offers.still_open(step.pool, ticket.offer_id)
        offers.lapse(step, offer, {ticket.ticket_id: TicketOutcome.CANCELLED})
        if subject:
            missed(step, subject)
    else:
        step.emit(TicketEnded(ticket.ticket_id, TicketOutcome.CANCELLED))


def expire(step: Step, ticket_id: str) -> None:
    """A ticket has waited as long as it was to wait."""
    step.emit(TicketEnded(ticket_id, TicketOutcome.EXPIRED))
