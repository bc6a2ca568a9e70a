"""`guildhall table`: a game set up by hand, with friends and bots."""

import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer

from guildhall.cli import faces
from guildhall.cli.client import DEFAULT_SERVER, HallError
from guildhall.cli.hints import typed
from guildhall.cli.matchmaker import Matchmaker
from guildhall.cli.options import Options, Rulings, pairs
from guildhall.cli.problems import Problem, run
from guildhall.cli.queue import PATIENCE_SECONDS, tell_game
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import default_name, dev_token
from guildhall.matchmaking.v1.structs import GameTerms, Seating, Table

Game = Annotated[str, typer.Argument(help="Which game, for example arcane-alley.")]
Name = Annotated[str | None, typer.Option("--name", help="Your name. Default: your login.")]
Server = Annotated[str, typer.Option("--server", help="Where the hall listens, host:port.")]
Data = Annotated[Path, typer.Option("--data", help="Data directory of the hall: its key signs your token.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Set a game up at a table, with friends and bots.", no_args_is_help=True)
    group.command(name="create")(create)
    group.command(name="join")(join)
    group.command(name="start")(start)
    group.command(name="show")(show)
    group.command(name="list")(list_tables)
    group.command(name="leave")(leave)
    app.add_typer(group, name="table")


def create(
    game: Game,
    seats: Annotated[int, typer.Option(help="Number of seats.")] = 3,
    bot: Annotated[
        list[str] | None, typer.Option(help=f"A bot of this strength on one seat; repeatable. {faces.STRENGTHS}")
    ] = None,
    private: Annotated[bool, typer.Option(help="Only whoever knows its code joins.")] = False,
    as_seated: Annotated[bool, typer.Option(help="Seats as people sit down, not drawn.")] = False,
    unrated: Annotated[bool, typer.Option(help="The game does not count for ratings.")] = False,
    option: Options = None,
    ruling: Rulings = None,
    name: Name = None,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
) -> None:
    """Open a table, and sit down on its first seat."""
    terms = GameTerms(options=pairs(option, "--option"), rulings=pairs(ruling, "--ruling"))

    async def work(matchmaker: Matchmaker, me: str) -> None:
        seating = int(Seating.AS_SEATED if as_seated else Seating.DRAWN)
        await matchmaker.ask("CreateTable", terms=terms, seats=seats, seating=seating, unrated=unrated, private=private)
        try:
            for strength in bot or ():
                await matchmaker.ask("AddBot", strength=strength)
        except BaseException:
            with contextlib.suppress(HallError):
                await matchmaker.ask("LeaveTable")
            raise
        table = await _own(matchmaker)
        _tell(table)
        key = ["--code", table.code] if table.code else ["--id", table.table_id]
        typer.echo(f"Others join it:\n{typed('table', 'join', game, *key, server=server, data=data)}")

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
    """Sit down at a table."""
    if bool(code) == bool(id):
        raise typer.BadParameter("say --code CODE or --id ID", param_hint="--code")

    async def work(matchmaker: Matchmaker, me: str) -> None:
        known = [seat.game_id for seat in (await matchmaker.state()).games]
        await matchmaker.ask("SitDown", code=code, table_id=id)
        _tell(await _own(matchmaker))
        if wait:
            typer.echo("You wait until it starts. Ctrl-C ends waiting; you keep your seat.")
            tell_game(matchmaker.about, await matchmaker.new_game(known), me, server, data)

    _at(game, name, server, data, work)


def start(game: Game, name: Name = None, server: Server = DEFAULT_SERVER, data: Data = DEFAULT_DATA) -> None:
    """Start the game at your table, once every seat is taken; whoever sits there has to confirm."""

    async def work(matchmaker: Matchmaker, me: str) -> None:
        known = [seat.game_id for seat in (await matchmaker.state()).games]
        await matchmaker.ask("StartTable")
        tell_game(matchmaker.about, await matchmaker.new_game(known, started=True), me, server, data)

    _at(game, name, server, data, work)


def show(game: Game, name: Name = None, server: Server = DEFAULT_SERVER, data: Data = DEFAULT_DATA) -> None:
    """Show the table at which you sit."""

    async def work(matchmaker: Matchmaker, me: str) -> None:
        _tell(await _own(matchmaker))

    _at(game, name, server, data, work)


def list_tables(game: Game, name: Name = None, server: Server = DEFAULT_SERVER, data: Data = DEFAULT_DATA) -> None:
    """List the public tables."""

    async def work(matchmaker: Matchmaker, me: str) -> None:
        token = ""
        while True:
            page = await matchmaker.read("ListTables", page_token=token)
            for table in page.tables:
                _tell(table)
            token = page.next_page_token
            if not token:
                return

    _at(game, name, server, data, work)


def leave(game: Game, name: Name = None, server: Server = DEFAULT_SERVER, data: Data = DEFAULT_DATA) -> None:
    """Leave your table."""

    async def work(matchmaker: Matchmaker, me: str) -> None:
        await matchmaker.ask("LeaveTable")
        typer.echo("You have left the table.")

    _at(game, name, server, data, work)


def _at(
    game: str, name: str | None, server: str, data: Path, work: Callable[[Matchmaker, str], Awaitable[None]]
) -> None:
    async def whole() -> None:
        me = name or default_name()
        token = dev_token(data, me, ["play"])
        async with Matchmaker(faces.game_name(game), server, token, PATIENCE_SECONDS, typer.echo) as matchmaker:
            await matchmaker.ready()
            await work(matchmaker, me)

    run(whole())


async def _own(matchmaker: Matchmaker) -> Table:
    """Where the subject sits. Raises Problem, HallError."""
    table = (await matchmaker.state()).table
    if table is None:
        raise Problem("You sit at no table.")
    return table


def _tell(table: Table) -> None:
    seats = ", ".join(faces.shown(seat.subject) or (f"{seat.bot} bot" if seat.bot else "free") for seat in table.seats)
    code = f", code {table.code}" if table.code else ""
    typer.echo(f"Table {table.table_id} of {faces.shown(table.owner)}{code}: {seats}")
