"""Tables: a game set up by hand, for whoever knows the code or for everybody."""

from guildhall.kernel import ids
from guildhall.kernel.refusal import Refusal
from guildhall.matchmaking.v1.structs import (
    AddBotRequest,
    BotAdded,
    BotRemoved,
    CreateTableRequest,
    GameTerms,
    KickFromTableRequest,
    LeaveTableRequest,
    RemoveBotRequest,
    Seating,
    SeatLeft,
    SeatTaken,
    SitDownRequest,
    StartTableRequest,
    TableCodeChanged,
    TableCreated,
)
from services.matchmaking import offers
from services.matchmaking.evolve import FREE
from services.matchmaking.places import check_free, check_new, check_no_party, check_person
from services.matchmaking.pool import Pool, Table
from services.matchmaking.step import Step


def create(step: Step, subject: str, request: CreateTableRequest) -> None:
    """Open a table and sit down."""
    _check_may_sit(step.pool, subject)
    table_id = ids.game_id(subject, request.command_id)
    check_new(table_id, step.pool.tables.get(table_id))
    terms = step.house.resolve(request.terms or GameTerms(), (request.seats,))
    step.emit(
        TableCreated(
            table_id=table_id,
            subject=subject,
            seats=request.seats,
            terms_id=step.name_terms(terms),
            seating=request.seating or Seating.DRAWN,
            unrated=request.unrated,
            code=step.code() if request.private else "",
        )
    )


def sit_down(step: Step, subject: str, request: SitDownRequest) -> None:
    """Take a free seat."""
    table = _named(step.pool, request)
    _check_may_sit(step.pool, subject)
    if subject in table.barred:
        raise Refusal("BARRED_FROM_TABLE", "You were sent away from this table.")
    _check_at_rest(table)
    step.emit(SeatTaken(table.table_id, _free_seat(table, request.seat), subject))


def leave(step: Step, subject: str, request: LeaveTableRequest) -> None:
    """Leave one's table."""
    get_up(step, _own(step.pool, subject), subject, barred=False)


def kick(step: Step, subject: str, request: KickFromTableRequest) -> None:
    """Send somebody away for good."""
    table = _owned(step.pool, subject)
    if request.subject == subject or request.subject not in table.people:
        raise Refusal("NOT_AT_TABLE", "Nobody else of this name sits there.", details={"subject": request.subject})
    get_up(step, table, request.subject, barred=True)
    if table.code:
        step.emit(TableCodeChanged(table.table_id, step.code()))


def add_bot(step: Step, subject: str, request: AddBotRequest) -> None:
    """Have a bot play on a free seat."""
    table = _owned(step.pool, subject)
    _check_at_rest(table)
    step.house.check_bot(request.strength)
    step.emit(BotAdded(table.table_id, _free_seat(table, request.seat), request.strength))


def remove_bot(step: Step, subject: str, request: RemoveBotRequest) -> None:
    """Free the seat of a bot."""
    table = _owned(step.pool, subject)
    _check_at_rest(table)
    if request.seat >= len(table.seats) or not table.seats[request.seat].bot:
        raise Refusal("NOT_AT_TABLE", f"There is no bot on seat {request.seat}.")
    step.emit(BotRemoved(table.table_id, request.seat))


def start(step: Step, subject: str, request: StartTableRequest) -> None:
    """Ask everybody at a full table to confirm."""
    table = _owned(step.pool, subject)
    _check_at_rest(table)
    free = table.seats.count(FREE)
    if free:
        raise Refusal("TABLE_NOT_FULL", f"{free} {'seat is' if free == 1 else 'seats are'} free; bots may sit there.")
    offers.of_table(step, table)


def expire(step: Step, table_id: str) -> None:
    """Nothing was done with a table for long."""
    for person in step.pool.tables[table_id].people:
        step.emit(SeatLeft(table_id, person))


def get_up(step: Step, table: Table, subject: str, *, barred: bool) -> None:
    """Leave a table, and end its offer. Raises Refusal GAME_STARTING."""
    if table.offer_id:
        offers.lapse(step, offers.still_open(step.pool, table.offer_id), {})
    step.emit(SeatLeft(table.table_id, subject, barred))


def _check_may_sit(pool: Pool, subject: str) -> None:
    check_person(subject)
    check_no_party(pool, subject)
    check_free(pool, subject, subject)


def _named(pool: Pool, request: SitDownRequest) -> Table:
    """The public table of that id, or the table of that code."""
    if request.code:
        table_id = pool.table_codes.get(request.code)
        if table_id is None:
            raise Refusal("CODE_NOT_FOUND", "No table has this code (any more).")
        return pool.tables[table_id]
    table = pool.tables.get(request.table_id)
    if table is None or table.code:
        raise Refusal("TABLE_NOT_FOUND", "There is no such public table (any more).")
    return table


def _own(pool: Pool, subject: str) -> Table:
    """The table where the subject sits."""
    table_id = pool.table_of.get(subject)
    if table_id is None:
        raise Refusal("NOT_AT_TABLE", "You sit at no table.")
    return pool.tables[table_id]


def _owned(pool: Pool, subject: str) -> Table:
    """The table that the subject owns."""
    table = _own(pool, subject)
    if table.owner != subject:
        raise Refusal("NOT_TABLE_OWNER", "Only the owner of the table does that.")
    return table


def _check_at_rest(table: Table) -> None:
    if table.offer_id:
        raise Refusal("TABLE_STARTING", "The table is about to start.")


def _free_seat(table: Table, wanted: int | None) -> int:
    if wanted is None:
        if FREE not in table.seats:
            raise Refusal("TABLE_FULL", "Every seat is taken.")
        return table.seats.index(FREE)
    if wanted >= len(table.seats):
        raise Refusal("INVALID_SEATS", f"The table has seats 0 to {len(table.seats) - 1}.")
    if table.seats[wanted] != FREE:
        raise Refusal("SEAT_TAKEN", f"Seat {wanted} is taken.")
    return wanted
