"""What each fact does to the pool. Nothing here decides; folding runs this and nothing else."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from guildhall.matchmaking.v1 import structs as facts
from guildhall.matchmaking.v1.structs import Seating, TableSeat, TicketOutcome
from services.matchmaking.pool import MOST_ENDED, OVER, Ended, Game, Missed, Offer, Party, Pool, Table, Ticket
from services.matchmaking.ratings import after

FREE: Final = TableSeat()


def evolve(pool: Pool, at_ms: int, event: Any) -> None:
    """Apply one event of an entry of that time (Unix ms)."""
    pool.at_ms = at_ms
    EVOLVE[type(event)](pool, event)


# --- tickets


def terms_named(pool: Pool, event: facts.TermsNamed) -> None:
    assert event.terms is not None
    pool.terms.put(event.terms_id, event.terms)


def ticket_created(pool: Pool, event: facts.TicketCreated) -> None:
    pool.tickets.put(
        event.ticket_id,
        Ticket(
            ticket_id=event.ticket_id,
            subjects=event.subjects,
            party_id=event.party_id,
            terms_id=event.terms_id,
            seats=event.seats,
            bots=event.bots,
            since_ms=pool.at_ms,
            number=_number(pool),
            expires_ms=event.expires_ms,
        ),
    )
    if event.party_id:
        _touch_party(pool, event.party_id)


def ticket_ended(pool: Pool, event: facts.TicketEnded) -> None:
    ticket = pool.tickets[event.ticket_id]
    pool.tickets.put(event.ticket_id, None)
    outcome = TicketOutcome(event.outcome)
    ended = Ended(event.ticket_id, ticket.subjects, outcome, ticket.since_ms, pool.at_ms, _number(pool), event.game_id)
    pool.ended.put(event.ticket_id, ended)
    for subject in ticket.subjects:
        told = pool.ended_of[subject]
        if len(told) > MOST_ENDED:
            _tell_no_more(
                pool, subject, min((pool.ended[ticket_id] for ticket_id in told), key=lambda each: each.number)
            )


def _tell_no_more(pool: Pool, subject: str, ended: Ended) -> None:
    """The subject is not told of that ticket any more; it is forgotten once nobody is."""
    subjects = tuple(each for each in ended.subjects if each != subject)
    pool.ended.put(ended.ticket_id, replace(ended, subjects=subjects) if subjects else None)


def ended_forgotten(pool: Pool, event: facts.EndedForgotten) -> None:
    ended, terms = forgettable(pool, event.before_ms)
    for ticket_id in ended:
        pool.ended.put(ticket_id, None)
    for terms_id in terms:
        pool.terms.put(terms_id, None)
    for subject in missed_long_ago(pool, pool.at_ms):
        pool.missed.put(subject, None)


def missed_long_ago(pool: Pool, now_ms: int) -> list[str]:
    """Whose missed offers are to be forgotten by then."""
    return [missed.subject for missed in pool.missed.values() if missed.forgotten_ms <= now_ms]


def forgettable(pool: Pool, before_ms: int) -> tuple[list[str], set[str]]:
    """Tickets that ended before that time, and terms that nothing names."""
    ended = [ended.ticket_id for ended in pool.ended.values() if ended.ended_ms <= before_ms]
    named = {ticket.terms_id for ticket in pool.tickets.values()} | {table.terms_id for table in pool.tables.values()}
    return ended, pool.terms.keys() - named


def _number(pool: Pool) -> int:
    pool.numbers += 1
    return pool.numbers


# --- parties


def party_created(pool: Pool, event: facts.PartyCreated) -> None:
    pool.parties.put(event.party_id, Party(event.party_id, (event.subject,), event.code, pool.at_ms))


def party_joined(pool: Pool, event: facts.PartyJoined) -> None:
    party = pool.parties[event.party_id]
    pool.parties.put(event.party_id, replace(party, members=(*party.members, event.subject), touched_ms=pool.at_ms))


def party_left(pool: Pool, event: facts.PartyLeft) -> None:
    party = pool.parties[event.party_id]
    left = tuple(member for member in party.members if member != event.subject)
    pool.parties.put(event.party_id, replace(party, members=left, touched_ms=pool.at_ms) if left else None)


def party_code_changed(pool: Pool, event: facts.PartyCodeChanged) -> None:
    pool.parties.put(event.party_id, replace(pool.parties[event.party_id], code=event.code))


def _touch_party(pool: Pool, party_id: str) -> None:
    pool.parties.put(party_id, replace(pool.parties[party_id], touched_ms=pool.at_ms))


# --- tables


def table_created(pool: Pool, event: facts.TableCreated) -> None:
    pool.tables.put(
        event.table_id,
        Table(
            table_id=event.table_id,
            owner=event.subject,
            seats=(TableSeat(event.subject), *(FREE,) * (event.seats - 1)),
            terms_id=event.terms_id,
            seating=Seating(event.seating),
            unrated=event.unrated,
            code=event.code,
            created_ms=pool.at_ms,
            touched_ms=pool.at_ms,
        ),
    )


def seat_taken(pool: Pool, event: facts.SeatTaken) -> None:
    _seat(pool, event.table_id, event.seat, TableSeat(event.subject))


def seat_left(pool: Pool, event: facts.SeatLeft) -> None:
    table = pool.tables[event.table_id]
    seats = tuple(FREE if seat.subject == event.subject else seat for seat in table.seats)
    left = replace(
        table, seats=seats, touched_ms=pool.at_ms, barred=(*table.barred, *((event.subject,) if event.barred else ()))
    )
    if not left.people:
        pool.tables.put(event.table_id, None)
        return
    owner = left.people[0] if left.owner == event.subject else left.owner
    pool.tables.put(event.table_id, replace(left, owner=owner))


def bot_added(pool: Pool, event: facts.BotAdded) -> None:
    _seat(pool, event.table_id, event.seat, TableSeat(bot=event.strength))


def bot_removed(pool: Pool, event: facts.BotRemoved) -> None:
    _seat(pool, event.table_id, event.seat, FREE)


def table_code_changed(pool: Pool, event: facts.TableCodeChanged) -> None:
    pool.tables.put(event.table_id, replace(pool.tables[event.table_id], code=event.code))


def _seat(pool: Pool, table_id: str, seat: int, taken: TableSeat) -> None:
    table = pool.tables[table_id]
    seats = (*table.seats[:seat], taken, *table.seats[seat + 1 :])
    pool.tables.put(table_id, replace(table, seats=seats, touched_ms=pool.at_ms))


# --- offers


def offer_made(pool: Pool, event: facts.OfferMade) -> None:
    offer = Offer(
        offer_id=event.offer_id,
        ticket_ids=event.ticket_ids,
        table_id=event.table_id,
        subjects=event.subjects,
        terms_id=event.terms_id,
        deadline_ms=event.deadline_ms,
        seed=event.seed,
        unrated=event.unrated,
    )
    pool.offers.put(event.offer_id, offer)
    _bind(pool, offer, event.offer_id)


def offer_confirmed(pool: Pool, event: facts.OfferConfirmed) -> None:
    offer = pool.offers[event.offer_id]
    pool.offers.put(event.offer_id, replace(offer, confirmed=(*offer.confirmed, event.subject)))


def offer_lapsed(pool: Pool, event: facts.OfferLapsed) -> None:
    offer = pool.offers[event.offer_id]
    pool.offers.put(event.offer_id, None)
    _bind(pool, offer, "")


def offer_missed(pool: Pool, event: facts.OfferMissed) -> None:
    missed = Missed(event.subject, event.times, event.until_ms, event.forgotten_ms)
    pool.missed.put(event.subject, missed)


def offer_accepted(pool: Pool, event: facts.OfferAccepted) -> None:
    offer = pool.offers[event.offer_id]
    pool.offers.put(
        event.offer_id, replace(offer, game_id=event.game_id, subjects=event.subjects, accepted_ms=pool.at_ms)
    )


def game_started(pool: Pool, event: facts.GameStarted) -> None:
    offer = pool.offers[event.offer_id]
    pool.offers.put(event.offer_id, None)
    if offer.table_id:
        pool.tables.put(offer.table_id, None)
    secret = pool.terms[offer.terms_id].no_spectators
    game = Game(offer.game_id, offer.subjects, offer.seed, offer.unrated, offer.accepted_ms, secret)
    pool.games.put(game.game_id, game)


def game_refused(pool: Pool, event: facts.GameRefused) -> None:
    offer_lapsed(pool, facts.OfferLapsed(event.offer_id))


def _bind(pool: Pool, offer: Offer, offer_id: str) -> None:
    """Tell the tickets and the table of an offer which offer they have; "" for none."""
    for ticket_id in offer.ticket_ids:
        if ticket_id in pool.tickets:
            pool.tickets.put(ticket_id, replace(pool.tickets[ticket_id], offer_id=offer_id))
    if offer.table_id in pool.tables:
        pool.tables.put(offer.table_id, replace(pool.tables[offer.table_id], offer_id=offer_id))


# --- games


def game_over(pool: Pool, event: facts.GameOver) -> None:
    pool.games.put(event.game_id, None)


def seat_resigned(pool: Pool, event: facts.SeatResigned) -> None:
    game = pool.games[event.game_id]
    pool.games.put(event.game_id, replace(game, resigned=(*game.resigned, event.seat)))


def rated(pool: Pool, event: facts.Rated) -> None:
    assert event.change is not None
    pool.ratings.put(event.subject, after(pool.ratings.get(event.subject), event.subject, event.change))


def results_taken(pool: Pool, event: facts.ResultsTaken) -> None:
    pool.positions.put(event.partition, (event.next_offset, event.newest_claim))


def pool_restored(pool: Pool, event: facts.PoolRestored) -> None:
    """Whoever folds this has the state of that version (`hosted_pool`). No offer of it can be confirmed any more."""
    for offer in list(pool.offers.values()):
        if not offer.game_id:
            pool.offers.put(offer.offer_id, replace(offer, deadline_ms=OVER))


EVOLVE: Final[Mapping[type, Callable[[Pool, Any], None]]] = {
    facts.TermsNamed: terms_named,
    facts.TicketCreated: ticket_created,
    facts.TicketEnded: ticket_ended,
    facts.EndedForgotten: ended_forgotten,
    facts.PartyCreated: party_created,
    facts.PartyJoined: party_joined,
    facts.PartyLeft: party_left,
    facts.PartyCodeChanged: party_code_changed,
    facts.TableCreated: table_created,
    facts.SeatTaken: seat_taken,
    facts.SeatLeft: seat_left,
    facts.BotAdded: bot_added,
    facts.BotRemoved: bot_removed,
    facts.TableCodeChanged: table_code_changed,
    facts.OfferMade: offer_made,
    facts.OfferConfirmed: offer_confirmed,
    facts.OfferLapsed: offer_lapsed,
    facts.OfferMissed: offer_missed,
    facts.OfferAccepted: offer_accepted,
    facts.GameStarted: game_started,
    facts.GameRefused: game_refused,
    facts.GameOver: game_over,
    facts.SeatResigned: seat_resigned,
    facts.Rated: rated,
    facts.ResultsTaken: results_taken,
    facts.PoolRestored: pool_restored,
}
