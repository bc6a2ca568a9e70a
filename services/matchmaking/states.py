"""What is told: a subject's State, and public tables. Read from a settled pool."""

from bisect import bisect_right
from operator import attrgetter

from guildhall.kernel.luck import commitment
from guildhall.matchmaking.v1 import structs as told
from guildhall.matchmaking.v1.structs import State, WatchTicketResponse
from services.matchmaking.house import is_bot
from services.matchmaking.pool import Ended, Game, Offer, Party, Pool, Table, Ticket

_GAMES = attrgetter("started_ms", "game_id")
_ENDED = attrgetter("number")


def state_of(pool: Pool, subject: str) -> State:
    """Everything that the subject has, and nothing that tells of others' places."""
    ticket = pool.tickets.get(pool.ticket_of.get(subject, ""))
    party = pool.parties.get(pool.party_of.get(subject, ""))
    table = pool.tables.get(pool.table_of.get(subject, ""))
    offer_id = ticket.offer_id if ticket is not None else table.offer_id if table is not None else ""
    offer = pool.offers.get(offer_id)
    games = sorted([pool.games[game_id] for game_id in pool.games_of.get(subject, ())], key=_GAMES)
    ended = sorted([pool.ended[ticket_id] for ticket_id in pool.ended_of.get(subject, ())], key=_ENDED)
    missed = pool.missed.get(subject)
    return State(
        ticket=None if ticket is None else _ticket(pool, ticket),
        party=None if party is None else _party(party),
        table=None if table is None else _table(pool, table),
        offer=None if offer is None else _offer(pool, offer, subject),
        games=tuple([_game(pool, game, subject) for game in games]),
        ended=tuple(map(_ended, ended)),
        pause=None if missed is None else told.Pause(missed.until_ms, missed.times),
    )


def ticket_of(pool: Pool, subject: str, ticket_id: str) -> WatchTicketResponse | None:
    """One ticket of the subject as it stands; None where it has no such ticket (any more)."""
    ticket = pool.tickets.get(ticket_id)
    if ticket is not None and subject in ticket.subjects:
        offer = pool.offers.get(ticket.offer_id)
        return WatchTicketResponse(
            waiting=_ticket(pool, ticket), offer=None if offer is None else _offer(pool, offer, subject)
        )
    ended = pool.ended.get(ticket_id)
    if ended is not None and subject in ended.subjects:
        game = pool.games.get(ended.game_id)
        return WatchTicketResponse(ended=_ended(ended), game=None if game is None else _game(pool, game, subject))
    return None


def public_tables(pool: Pool, after: tuple[int, str] | None, size: int) -> list[told.Table]:
    """At most so many, the oldest first, behind the one of that time of creation and id."""
    begin = 0 if after is None else bisect_right(pool.public_tables, after)
    return [_table(pool, pool.tables[table_id]) for _, table_id in pool.public_tables[begin : begin + size]]


def _ticket(pool: Pool, ticket: Ticket) -> told.Ticket:
    return told.Ticket(
        ticket_id=ticket.ticket_id,
        subjects=ticket.subjects,
        party_id=ticket.party_id,
        terms=pool.terms[ticket.terms_id],
        seats=ticket.seats,
        bots=ticket.bots,
        since_ms=ticket.since_ms,
        expires_ms=ticket.expires_ms,
    )


def _ended(ended: Ended) -> told.EndedTicket:
    return told.EndedTicket(ended.ticket_id, ended.outcome, ended.ended_ms, ended.game_id)


def _party(party: Party) -> told.Party:
    return told.Party(party.party_id, party.members, party.code)


def _table(pool: Pool, table: Table) -> told.Table:
    return told.Table(
        table_id=table.table_id,
        owner=table.owner,
        seats=table.seats,
        terms=pool.terms[table.terms_id],
        seating=table.seating,
        unrated=table.unrated,
        code=table.code,
        created_ms=table.created_ms,
        starting=bool(table.offer_id),
    )


def _offer(pool: Pool, offer: Offer, subject: str) -> told.Offer:
    missing = offer.missing
    return told.Offer(
        offer_id=offer.offer_id,
        seats=len(offer.subjects),
        confirmed=len(offer.subjects) - len(missing),
        you_confirmed=subject not in missing,
        terms=pool.terms[offer.terms_id],
        bots=sum(map(is_bot, offer.subjects)),
        deadline_ms=offer.deadline_ms,
        seed_hash=commitment(offer.seed) if offer.seed else b"",
        accepted=bool(offer.game_id),
    )


def _game(pool: Pool, game: Game, subject: str) -> told.GameSeat:
    seat = game.subjects.index(subject)
    return told.GameSeat(game.game_id, seat, game.subjects, game.started_ms, game.seed, pool.house.public)
