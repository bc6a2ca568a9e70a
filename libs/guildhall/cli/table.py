"""`guildhall table`: a game set up by hand, with friends and bots."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from guildhall.cli import faces
from guildhall.cli.client import DEFAULT_SERVER, HallError, NoHall
from guildhall.cli.hints import Here
from guildhall.cli.matchmaker import Matchmaker, NotStarted
from guildhall.cli.options import Options, Rulings
from guildhall.cli.problems import Problem, run
from guildhall.cli.queue import open_matchmaker, tell_game
from guildhall.cli.terms import ClockSeconds, described, game_terms
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import default_name
from guildhall.cli.ways_out import at_table, games, with_ways_out
from guildhall.matchmaking.v1.structs import Seating, State, Table

Game = Annotated[str, typer.Argument(help="Which game, for example arcane-alley.")]
Name = Annotated[str | None, typer.Option("--name", help="Your name. Default: your login.")]
Server = Annotated[str, typer.Option("--server", help="Where the hall listens, host:port.")]
Data = Annotated[Path, typer.Option("--data", help="Data directory of the hall: its key signs your token.")]
Work = Callable[[Matchmaker, Here], Awaitable[None]]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Set a game up at a table, with friends and bots.", no_args_is_help=True)
    group.command(name="create")(create)
    group.command(name="join")(join)
    group.command(name="wait")(wait)
    group.command(name="add-bot")(add_bot)
    group.command(name="remove-bot")(remove_bot)
    group.command(name="kick")(kick)
    group.command(name="start")(start)
    group.command(name="show")(show)
    group.command(name="list")(list_tables)
    group.command(name="leave")(leave)
    app.add_typer(group, name="table")


def create(
    game: Game,
    seats: Annotated[int, typer.Option(min=1, max=99, help="Number of seats.")] = 3,
    bot: Annotated[
        list[str] | None, typer.Option(help=f"A bot of this strength on one seat; repeatable. {faces.STRENGTHS}")
    ] = None,
    private: Annotated[bool, typer.Option(help="Only whoever knows its code joins.")] = False,
    as_seated: Annotated[bool, typer.Option(help="Seats as people sit down, not drawn.")] = False,
    unrated: Annotated[bool, typer.Option(help="The game does not count for ratings.")] = False,
    option: Options = None,
    ruling: Rulings = None,
    clock: ClockSeconds = None,
    name: Name = None,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
) -> None:
    """Open a table, and sit down on its first seat."""
    terms = game_terms(option, ruling, clock)
    bots = bot or []
    if 1 + len(bots) > seats:
        said = f"you and {len(bots)} bot{'s' if len(bots) > 1 else ''} need {1 + len(bots)} seats"
        raise typer.BadParameter(f"{said}, not {seats}", param_hint="--seats")

    async def work(matchmaker: Matchmaker, here: Here) -> None:
        seating = int(Seating.AS_SEATED if as_seated else Seating.DRAWN)
        await matchmaker.open_table(bots, terms=terms, seats=seats, seating=seating, unrated=unrated, private=private)
        await _show(matchmaker, here)

    _at(game, name, server, data, work)


def join(
    game: Game,
    code: Annotated[str, typer.Option(help="Code of a private table.")] = "",
    id: Annotated[str, typer.Option(help="Id of a public table.")] = "",
    wait: Annotated[bool, typer.Option(help="Wait here until it starts, and confirm.")] = True,
    name: Name = None,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
) -> None:
    """Sit down at a table, and wait until it starts. If you sit there already, wait on."""
    if bool(code) == bool(id):
        raise typer.BadParameter("say --code CODE or --id ID", param_hint="--code")

    async def work(matchmaker: Matchmaker, here: Here) -> None:
        state = await matchmaker.state()
        if state.table is None:
            await _sit_down(matchmaker, code, id)
        elif (id or code) not in (state.table.table_id, state.table.code):
            # It may be the same table, whose code has changed.
            raise Problem(f"You sit at a table already. {at_table(matchmaker.about, here)}")
        if wait:
            await _wait(matchmaker, state, here)
        else:
            _tell(matchmaker.about, await _own(matchmaker, here))
            typer.echo(f"You sit there. {_to_wait(matchmaker.about, here)}")

    _at(game, name, server, data, work)


def wait(game: Game, name: Name = None, server: Server = DEFAULT_SERVER, data: Data = DEFAULT_DATA) -> None:
    """Wait at your table until its owner starts the game, and confirm."""

    async def work(matchmaker: Matchmaker, here: Here) -> None:
        await _wait(matchmaker, await matchmaker.state(), here)

    _at(game, name, server, data, work)


def add_bot(
    game: Game,
    bot: Annotated[str, typer.Argument(help=f"How strong it is. {faces.STRENGTHS}")],
    name: Name = None,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
) -> None:
    """Give a free seat at your own table to a bot."""

    async def work(matchmaker: Matchmaker, here: Here) -> None:
        await matchmaker.ask("AddBot", strength=bot)
        await _show(matchmaker, here)

    _at(game, name, server, data, work)


def remove_bot(game: Game, name: Name = None, server: Server = DEFAULT_SERVER, data: Data = DEFAULT_DATA) -> None:
    """Free the seat of the last bot at your own table."""

    async def work(matchmaker: Matchmaker, here: Here) -> None:
        bots = [number for number, seat in enumerate((await _own(matchmaker, here)).seats) if seat.bot]
        if not bots:
            raise Problem("No bot sits at your table.")
        await matchmaker.ask("RemoveBot", seat=bots[-1])
        await _show(matchmaker, here)

    _at(game, name, server, data, work)


def kick(
    game: Game,
    person: Annotated[str, typer.Argument(help="Whom, by name.")],
    name: Name = None,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
) -> None:
    """Send somebody away from your own table, for good; a private table gets another code."""

    async def work(matchmaker: Matchmaker, here: Here) -> None:
        await matchmaker.ask("KickFromTable", subject=person)
        await _show(matchmaker, here)

    _at(game, name, server, data, work)


def start(game: Game, name: Name = None, server: Server = DEFAULT_SERVER, data: Data = DEFAULT_DATA) -> None:
    """Start the game at your own table, once every seat is taken; whoever sits there has to confirm."""

    async def work(matchmaker: Matchmaker, here: Here) -> None:
        before = await matchmaker.state()
        known, people = _games(before), _others(before.table, here.me)
        await _start(matchmaker)
        asked = await matchmaker.state()
        if asked.offer is not None and people:
            seconds = max(0, math.ceil(asked.offer.deadline_ms / 1000 - time.time()))
            typer.echo(f"{_and(people)} {_has_or_have(people)} {seconds} seconds to confirm.")
        try:
            seat = await matchmaker.new_game(known, started=True)
        except asyncio.CancelledError:
            typer.echo(f"It starts all the same, if everybody confirms. {games(here)}")
            raise
        except NoHall as away:
            again = here.typed("table", "start", faces.typed_name(matchmaker.about))
            raise Problem(f"{away} Whether it starts is not known; go on waiting for that:\n{again}") from None
        except NotStarted as not_started:
            raise Problem(f"{not_started} {_why(people, (await matchmaker.state()).table, here.me)}") from None
        tell_game(matchmaker.about, seat, here)

    _at(game, name, server, data, work)


def show(game: Game, name: Name = None, server: Server = DEFAULT_SERVER, data: Data = DEFAULT_DATA) -> None:
    """Show the table at which you sit."""

    async def work(matchmaker: Matchmaker, here: Here) -> None:
        await _show(matchmaker, here)

    _at(game, name, server, data, work)


def list_tables(game: Game, name: Name = None, server: Server = DEFAULT_SERVER, data: Data = DEFAULT_DATA) -> None:
    """List the public tables."""

    async def work(matchmaker: Matchmaker, here: Here) -> None:
        token, none = "", True
        while True:
            page = await matchmaker.read("ListTables", page_token=token)
            for table in page.tables:
                none = False
                _tell(matchmaker.about, table)
            token = page.next_page_token
            if not token:
                break
        if none:
            typer.echo("There are none.", err=True)

    _at(game, name, server, data, work)


def leave(game: Game, name: Name = None, server: Server = DEFAULT_SERVER, data: Data = DEFAULT_DATA) -> None:
    """Leave your table."""

    async def work(matchmaker: Matchmaker, here: Here) -> None:
        await matchmaker.ask("LeaveTable")
        typer.echo("You have left the table.")

    _at(game, name, server, data, work)


def _at(game: str, name: str | None, server: str, data: Path, work: Work) -> None:
    chosen, here = faces.game_name(game), Here(server, data, name or default_name())

    async def whole() -> None:
        async with open_matchmaker(chosen, here) as matchmaker:
            await matchmaker.ready()
            with with_ways_out(chosen, here):
                await work(matchmaker, here)

    run(whole())


async def _sit_down(matchmaker: Matchmaker, code: str, table_id: str) -> None:
    """Raises Problem where what was named is no such thing, HallError."""
    try:
        await matchmaker.ask("SitDown", code=code, table_id=table_id)
    except HallError as error:
        if error.reason == "TABLE_NOT_FOUND":
            raise Problem(f"{error} The code of a private table goes with --code.") from None
        if error.reason == "CODE_NOT_FOUND":
            raise Problem(f"{error} The id of a public table goes with --id.") from None
        raise


async def _start(matchmaker: Matchmaker) -> None:
    """Have everybody asked, if that is not so already. Raises HallError."""
    try:
        await matchmaker.ask("StartTable")
    except HallError as error:
        if error.reason != "TABLE_STARTING":
            raise
        typer.echo("It is about to start already.")


async def _wait(matchmaker: Matchmaker, before: State, here: Here) -> None:
    """Wait at one's table for a game that was not there before, and tell it, and what changes until then.

    Raises Problem, HallError.
    """
    game, told = matchmaker.about, await _own(matchmaker, here)

    def seen(table: Table) -> None:
        nonlocal told
        if (table.seats, table.owner, table.code) != (told.seats, told.owner, told.code):
            _tell(game, table)
        if table.owner == here.me != told.owner:
            typer.echo("The table is yours now.")
            _tell_how_to_fill_and_start(game, table, here)
        told = table

    _tell(game, told)
    if told.owner == here.me:
        _tell_how_to_fill_and_start(game, told, here)
    typer.echo(f"You wait until it starts. Ctrl-C ends waiting; you keep your seat. {_to_wait(game, here)}")
    try:
        seat = await matchmaker.new_game(_games(before), seen=seen)
    except NoHall as away:
        raise Problem(f"{away} You keep your seat there. {_to_wait(game, here)}") from None
    tell_game(game, seat, here)


async def _show(matchmaker: Matchmaker, here: Here) -> None:
    """Tell one's table, and its owner how to go on. Raises Problem, HallError."""
    table = await _own(matchmaker, here)
    _tell(matchmaker.about, table)
    if table.owner == here.me:
        _tell_how_to_fill_and_start(matchmaker.about, table, here)


def _to_wait(game: str, here: Here) -> str:
    again = here.typed("table", "wait", faces.typed_name(game))
    return f"Whoever does not wait there when it starts loses it:\n{again}"


async def _own(matchmaker: Matchmaker, here: Here) -> Table:
    """Where the subject sits. Raises Problem, HallError."""
    table = (await matchmaker.state()).table
    if table is None:
        raise Problem(f"You sit at no table. {games(here)}")
    return table


def _games(state: State) -> Sequence[str]:
    return [seat.game_id for seat in state.games]


def _others(table: Table | None, me: str) -> Sequence[str]:
    return [seat.subject for seat in table.seats if seat.subject and seat.subject != me] if table else []


def _why(asked: Sequence[str], table: Table | None, me: str) -> str:
    """Why a table did not start of whose people these were asked, as far as it shows in who still sits there."""
    if table is None:
        return "You have no seat there any more."
    gone = [person for person in asked if person not in _others(table, me)]
    if gone:
        return f"{_and(gone)} {_has_or_have(gone)} not confirmed in time, or left, and sits there no more."
    return "Not every word came in time, or the hall could not make it. Start it again."


def _and(people: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(people[:-1]), people[-1]]))


def _has_or_have(people: Sequence[str]) -> str:
    return "has" if len(people) == 1 else "have"


def _tell(game: str, table: Table) -> None:
    seats = ", ".join(faces.shown(seat.subject) or (f"{seat.bot} bot" if seat.bot else "free") for seat in table.seats)
    code = f", code {table.code}" if table.code else ""
    agreed = ", ".join([*(["unrated"] if table.unrated else []), *described(game, table.terms)])
    agreed = f" ({agreed})" if agreed else ""
    typer.echo(f"Table {table.table_id} of {faces.shown(table.owner)}{code}{agreed}: {seats}")


def _tell_how_to_fill_and_start(game: str, table: Table, here: Here) -> None:
    typed = faces.typed_name(game)
    if any(not seat.subject and not seat.bot for seat in table.seats):
        key = ["--code", table.code] if table.code else ["--id", table.table_id]
        typer.echo("Others join it (from another machine with a token of this hall, see README):")
        typer.echo(here.typed_by_others("table", "join", typed, *key))
        typer.echo(f"A bot takes a free seat:\n{here.typed('table', 'add-bot', typed, faces.strengths(game)[0])}")
    typer.echo(f"Once every seat is taken, start it:\n{here.typed('table', 'start', typed)}")
