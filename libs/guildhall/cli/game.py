"""`guildhall game status|list|pause|resume|repair|abort`, `guildhall drain`: what operators do."""

import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from guildhall.cli.client import DEFAULT_SERVER
from guildhall.cli.operator import Name, Operator, Token, described, operator
from guildhall.cli.problems import Problem, run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.operations.v1 import structs as o

GameId = Annotated[str, typer.Argument(help="Id of the game.")]
Why = Annotated[str, typer.Option("--why", help="Kept in the log; the game's players and spectators read it.")]
Game = Annotated[str | None, typer.Option("--game", help="Which game it is of. Default: they are all looked through.")]
Server = Annotated[str, typer.Option("--server", help="Where any process of the hall listens, host:port.")]
Data = Annotated[Path, typer.Option("--data", help="Data directory of the hall: its key signs your token.")]
Check = Annotated[bool, typer.Option("--check", help="Only say whether it would be done.")]
Sure = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="What operators do to games: each is a record in the game's log, with who, when and why.",
        no_args_is_help=True,
    )
    for command in (status, pause, resume, repair, abort):
        group.command()(command)
    group.command(name="list")(list_)
    app.add_typer(group, name="game")
    app.command(name="drain")(drain)


def status(
    game_id: GameId,
    game: Game = None,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
    name: Name = None,
    token: Token = None,
) -> None:
    """Say how a game stands, without anything that its players hide."""
    run(_status(game_id, game, operator(server, data, name, token)))


def list_(
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
    name: Name = None,
    token: Token = None,
) -> None:
    """List the games that somebody has to look at: quarantined, stuck and paused ones, of all processes.

    Exit code 1 if a partition could not be looked into: nobody serves it, or its process does not answer.
    """
    run(_list(operator(server, data, name, token)))


def pause(
    game_id: GameId,
    why: Why,
    game: Game = None,
    check: Check = False,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
    name: Name = None,
    token: Token = None,
) -> None:
    """Stop a game for a while: it takes no command of its players, and its clocks stand still."""
    run(_order("Pause", game_id, game, why, check, operator(server, data, name, token)))


def resume(
    game_id: GameId,
    why: Why,
    game: Game = None,
    check: Check = False,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
    name: Name = None,
    token: Token = None,
) -> None:
    """Let a paused game go on; every deadline is later by as long as it was paused."""
    run(_order("Resume", game_id, game, why, check, operator(server, data, name, token)))


def repair(
    game_id: GameId,
    why: Why,
    to_version: Annotated[
        int | None,
        typer.Option(min=1, help="The version whose state it gets. Default, if quarantined: the newest that is whole."),
    ] = None,
    game: Game = None,
    check: Check = False,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
    name: Name = None,
    token: Token = None,
) -> None:
    """Put a game back to an earlier version, and pause it; lifts a quarantine. Look at it, then resume it."""
    there = operator(server, data, name, token)
    run(_order("Repair", game_id, game, why, check, there, to_version=to_version))


def abort(
    game_id: GameId,
    why: Why,
    yes: Sure = False,
    game: Game = None,
    check: Check = False,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
    name: Name = None,
    token: Token = None,
) -> None:
    """End a game for good, without ranks. Its seed and its whole log open to its seats; nothing brings it back."""
    if not yes and not check:
        if not sys.stdin.isatty():
            raise typer.BadParameter("say --yes where nobody can be asked", param_hint="--yes")
        typer.confirm(f"End game {game_id} for good?", abort=True)
    run(_order("Abort", game_id, game, why, check, operator(server, data, name, token)))


def drain(
    why: Annotated[str, typer.Option(help="Kept in the log.")],
    server: Annotated[str, typer.Option(help="Where the process listens that is to end, host:port.")] = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
    name: Name = None,
    token: Token = None,
) -> None:
    """Have one process take nothing more, finish what is under way, store everything, and exit: as SIGTERM does."""
    run(_drain(why, operator(server, data, name, token)))


async def _status(game_id: str, game: str | None, there: Operator) -> None:
    _, found = await there.find(game_id, game)
    typer.echo(described(found))
    if found.at_ms:
        at = datetime.fromtimestamp(found.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
        typer.echo(f"  newest version at {at}, offset {found.offset}")
    for decision in found.waiting_for:
        until = ""
        if decision.deadline_ms:
            until = f" until {datetime.fromtimestamp(decision.deadline_ms / 1000, UTC).isoformat(timespec='seconds')}"
        typer.echo(f"  waits for seat {decision.seat}: {decision.kind}{until}")


async def _list(there: Operator) -> None:
    hall = await there.hall()
    answers = await hall.ask_all("ListTroubledGames")
    games = {(status_.game, status_.game_id): status_ for answer in answers for status_ in answer.games}
    for status_ in games.values():
        typer.echo(described(status_))
    left_out = sum(answer.left_out for answer in answers)
    if left_out:
        typer.echo(f"and {left_out} more")
    if unknown := hall.unknown(matchmaking=False):
        raise Problem("\n".join(unknown))
    if not games:
        typer.echo("No game is quarantined, stuck or paused.")


async def _order(
    what: str, game_id: str, game: str | None, why: str, check: bool, there: Operator, **fields: Any
) -> None:
    server, found = await there.find(game_id, game)
    answer = await there.call(
        f"{what}Game",
        server,
        game=found.game,
        game_id=game_id,
        command_id=secrets.token_hex(16),
        why=why,
        validate_only=check,
        **fields,
    )
    back = f" with the state of version {answer.to_version}" if isinstance(answer, o.RepairGameResponse) else ""
    if check:
        typer.echo(f"It would be done{back}; the game has version {answer.version}.")
        return
    done = {"Pause": "paused", "Resume": "resumed", "Repair": "repaired and paused", "Abort": "aborted"}[what]
    typer.echo(f"Game {game_id} is {done}: version {answer.version}{back}.")


async def _drain(why: str, there: Operator) -> None:
    answer = await there.call("Drain", why=why)
    if not answer.instance:
        raise Problem(f"{there.server} does not say that it drains.")
    typer.echo(f"The process {answer.instance} at {answer.address or there.server} drains.")
