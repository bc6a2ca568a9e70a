"""Parties: friends who are matched together, or not at all."""

from guildhall.kernel import ids
from guildhall.kernel.refusal import Refusal
from guildhall.matchmaking.v1.structs import (
    CreatePartyRequest,
    JoinPartyRequest,
    KickFromPartyRequest,
    LeavePartyRequest,
    PartyCodeChanged,
    PartyCreated,
    PartyJoined,
    PartyLeft,
)
from services.matchmaking import tickets
from services.matchmaking.places import check_new, check_no_party, check_no_place, check_person, party_of
from services.matchmaking.pool import Party
from services.matchmaking.step import Step


def create(step: Step, subject: str, request: CreatePartyRequest) -> None:
    """A party of one."""
    check_person(subject)
    check_no_party(step.pool, subject)
    check_no_place(step.pool, subject, subject)
    party_id = ids.game_id(subject, request.command_id)
    check_new(party_id, step.pool.parties.get(party_id))
    step.emit(PartyCreated(party_id, subject, step.code()))


def join(step: Step, subject: str, request: JoinPartyRequest) -> None:
    """Join by code."""
    pool = step.pool
    check_person(subject)
    party_id = pool.party_codes.get(request.code)
    if party_id is None:
        raise Refusal("CODE_NOT_FOUND", "No party has this code (any more).")
    check_no_party(pool, subject)
    check_no_place(pool, subject, subject)
    party = pool.parties[party_id]
    most = max(step.house.rules.seats)
    if len(party.members) >= most:
        raise Refusal("PARTY_FULL", f"A party has at most {most} members.")
    _cancel_ticket(step, party, subject)
    step.emit(PartyJoined(party_id, subject))


def leave(step: Step, subject: str, request: LeavePartyRequest) -> None:
    """Leave one's party."""
    _part(step, party_of(step.pool, subject), subject, subject)


def kick(step: Step, subject: str, request: KickFromPartyRequest) -> None:
    """Send a member away; the code that it knows is worth nothing any more."""
    party = party_of(step.pool, subject)
    if party.members[0] != subject:
        raise Refusal("NOT_PARTY_LEADER", "Only the leader sends members away.")
    if request.subject == subject or request.subject not in party.members:
        raise Refusal("NOT_IN_PARTY", "That is no other member of your party.", details={"subject": request.subject})
    _part(step, party, request.subject, subject)
    step.emit(PartyCodeChanged(party.party_id, step.code()))


def expire(step: Step, party_id: str) -> None:
    """Nothing was done with a party for long."""
    for member in reversed(step.pool.parties[party_id].members):
        _part(step, step.pool.parties[party_id], member, "")


def _part(step: Step, party: Party, member: str, subject: str) -> None:
    """`subject`: who did it; "": nobody."""
    _cancel_ticket(step, party, subject)
    step.emit(PartyLeft(party.party_id, member))


def _cancel_ticket(step: Step, party: Party, subject: str) -> None:
    """The party's ticket was for others than those who are in it now.

    One whose game is being created stays: all of it have agreed to play.
    """
    pool = step.pool
    ticket = pool.tickets.get(pool.ticket_of.get(party.members[0], ""))
    if ticket is None or (ticket.offer_id and pool.offers[ticket.offer_id].game_id):
        return
    tickets.take_back(step, ticket, subject)
