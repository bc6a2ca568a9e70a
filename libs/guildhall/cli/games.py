"""`guildhall games list|mine|decisions|results`: what is played in a hall, as far as one may see it."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from guildhall.cli import faces
from guildhall.cli.client import DEFAULT_SERVER
from guildhall.cli.faces import shown
from guildhall.cli.finding import all_games
from guildhall.cli.problems import run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import default_name
from guildhall.games.v1 import structs as g
from guildhall.kernel.v1.structs import EndReason

PAGE = 100

Game = Annotated[list[str] | None, typer.Option("--game", help="Only of this game; may be given again. Default: all.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="At most so many lines.")]
Name = Annotated[str | None, typer.Option("--name", help="Who asks. Default: your login.")]
Server = Annotated[str, typer.Option("--server", help="Where the hall's views are served, host:port.")]
Data = Annotated[Path, typer.Option("--data", help="Data directory of the hall: its key signs your token.")]
Open = Annotated[bool, typer.Option("--open", help="Only games that are not over.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="List games: those in which you have a seat, and those that you may watch.")
    group.command(name="list")(list_)
    for command in (mine, decisions, results):
        group.command()(command)
    app.add_typer(group, name="games", no_args_is_help=True)


def list_(
    game: Game = None,
    only_open: Open = False,
    limit: Limit = 50,
    name: Name = None,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
) -> None:
    """List every game that you may see, the newest first."""
    run(_list(_names(game), only_open, False, limit, name or default_name(), server, data))


def mine(
    game: Game = None,
    only_open: Open = False,
    limit: Limit = 50,
    name: Name = None,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
) -> None:
    """List the games in which you have a seat, the newest first."""
    run(_list(_names(game), only_open, True, limit, name or default_name(), server, data))


def decisions(
    game: Game = None,
    limit: Limit = 50,
    name: Name = None,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
) -> None:
    """List what waits for you in all your games, the earliest deadline first."""
    run(_decisions(_names(game), limit, name or default_name(), server, data))


def results(
    game: Game = None,
    only_mine: Annotated[bool, typer.Option("--mine", help="Only games in which you had a seat.")] = False,
    limit: Limit = 50,
    name: Name = None,
    server: Server = DEFAULT_SERVER,
    data: Data = DEFAULT_DATA,
) -> None:
    """List what came of finished games, the one that ended last first."""
    run(_results(_names(game), only_mine, limit, name or default_name(), server, data))


async def _list(
    games: Sequence[str], only_open: bool, mine: bool, limit: int, subject: str, server: str, data: Path
) -> None:
    state = g.GameState.OPEN if only_open else g.GameState.UNSPECIFIED
    async for found in _entries(
        "ListGames", "games", limit, subject, server, data, games=games, state=int(state), mine=mine
    ):
        typer.echo(_line(found))


async def _decisions(games: Sequence[str], limit: int, subject: str, server: str, data: Path) -> None:
    async for found in _entries("ListMyDecisions", "decisions", limit, subject, server, data, games=games):
        decision = found.decision
        until = f", until {_time(decision.deadline_ms)}" if decision.deadline_ms else ""
        typer.echo(f"{_head(found)}  {decision.kind.replace('_', ' ')} ({decision.id}){until}")


async def _results(games: Sequence[str], mine: bool, limit: int, subject: str, server: str, data: Path) -> None:
    async for found in _entries("ListResults", "results", limit, subject, server, data, games=games, mine=mine):
        typer.echo(f"{_head(found)}  {_time(found.ended_ms)}  {_outcome(found.reason, found.places)}")


async def _entries(
    method: str, part: str, limit: int, subject: str, server: str, data: Path, **fields: Any
) -> AsyncIterator[Any]:
    """The entries of a list, page by page. Raises HallError, Problem."""
    async with await all_games(subject, server, data) as client:
        token, asked = "", limit
        while limit:
            answer = await client.call("GamesService", method, page_size=min(limit, PAGE), page_token=token, **fields)
            for entry in getattr(answer, part):
                yield entry
                limit -= 1
            token = answer.next_page_token
            if not token:
                if limit == asked:
                    typer.echo("There are none.", err=True)
                return
        typer.echo("There are more: --limit", err=True)


def _names(game: list[str] | None) -> tuple[str, ...]:
    return tuple(faces.game_name(name) for name in dict.fromkeys(game or ()))


def _head(found: Any) -> str:
    return f"{found.game_id}  {found.game.replace('_', '-')}"


def _line(found: g.GameSummary) -> str:
    if found.state == g.GameState.FINISHED:
        stands = _outcome(found.end_reason, found.places)
    else:
        waiting = [shown(found.places[decision.seat].subject) for decision in found.waiting_for]
        stands = "paused" if found.paused else f"waits for {', '.join(waiting)}"
        stands = f"{', '.join(shown(place.subject) for place in found.places)}: {stands}"
    trouble = "  (cannot be shown now)" if found.unavailable else ""
    return f"{_head(found)}  {_time(found.changed_ms)}  version {found.version}  {stands}{trouble}"


def _outcome(reason: int, places: Sequence[g.Place]) -> str:
    ranked = sorted(places, key=lambda place: (place.rank, place.seat))
    who = ", ".join(f"{place.rank} {shown(place.subject)}" if place.rank else shown(place.subject) for place in ranked)
    return who if reason == EndReason.FINISHED else f"{who} ({EndReason(reason).name.lower()})"


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")
