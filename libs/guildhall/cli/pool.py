"""`guildhall pool list|repair`: what operators do to the pools of matchmaking, one for each game."""

import secrets
from typing import Annotated

import typer

from guildhall.cli import faces
from guildhall.cli.client import DEFAULT_SERVER
from guildhall.cli.game import Check, Data, Server
from guildhall.cli.operator import Name, Operator, Token, operator
from guildhall.cli.problems import Problem, run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.log.topics import MATCHMAKING
from guildhall.operations.v1 import structs as o


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="The pools of matchmaking, one for each game, and what operators do to them.", no_args_is_help=True
    )
    group.command(name="list")(list_)
    group.command()(repair)
    app.add_typer(group, name="pool")


def list_(
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
    name: Name = None,
    token: Token = None,
) -> None:
    """List the pools of all processes, and say which are quarantined and why.

    Exit code 1 if a partition of matchmaking could not be looked into: nobody serves it, or its process does not
    answer.
    """
    run(_list(operator(server, data, name, token)))


def repair(
    game: Annotated[str, typer.Argument(help="The game whose pool it is, such as arcane-alley.")],
    why: Annotated[str, typer.Option("--why", help="Kept in the log.")],
    check: Check = False,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
    name: Name = None,
    token: Token = None,
) -> None:
    """Put a quarantined pool back to its newest whole state; its matchmaking goes on at once."""
    run(_repair(faces.game_name(game), why, check, operator(server, data, name, token)))


async def _list(there: Operator) -> None:
    hall = await there.hall()
    answers = await hall.ask_all("ListPools")
    pools = {status.game: status for answer in answers for status in answer.pools}
    for game in sorted(pools):
        typer.echo(described(pools[game]))
    if unknown := hall.unknown(games=False):
        raise Problem("\n".join(unknown))
    if not pools:
        typer.echo("No process serves matchmaking.")


def described(status: o.PoolStatus) -> str:
    """A pool's state in one line."""
    where = f"{status.game.replace('_', '-'):<20} matchmaking/{status.partition}, version {status.version}"
    if not status.quarantined:
        return f"{where}, whole"
    behind = f", {status.passed_over} passed over" if status.passed_over else ""
    return f"{where}, quarantined at offset {status.offset}{behind}: {status.quarantined}"


async def _repair(game: str, why: str, check: bool, there: Operator) -> None:
    serving = (await there.hall()).serving(MATCHMAKING)
    if not serving:
        raise Problem("No process that answers serves matchmaking.")
    answer = await there.call(
        "RepairPool", serving[0], game=game, command_id=secrets.token_hex(16), why=why, validate_only=check
    )
    if check:
        typer.echo(f"It would get the state of version {answer.to_version}; the newest is {answer.version}.")
        return
    back = f" with the state of version {answer.to_version}" if answer.to_version is not None else ""
    typer.echo(f"The pool of {game.replace('_', '-')} goes on: version {answer.version}{back}.")
