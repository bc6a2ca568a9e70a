"""`guildhall leaderboard`: who plays a game best, as far as its games tell."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from guildhall.cli import faces
from guildhall.cli.client import DEFAULT_SERVER
from guildhall.cli.matchmaker import Matchmaker
from guildhall.cli.problems import run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import default_name, dev_token
from guildhall.matchmaking.v1.structs import ListLeaderboardResponse, Rating

_MICROS = 1_000_000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="leaderboard")(leaderboard)


def leaderboard(
    game: Annotated[str, typer.Argument(help="Which game, for example arcane-alley.")],
    first: Annotated[int, typer.Option(min=1, max=1000, help="So many of the best.")] = 20,
    name: Annotated[str | None, typer.Option(help="Your name. Default: your login.")] = None,
    server: Annotated[str, typer.Option(help="Where the hall listens, host:port.")] = DEFAULT_SERVER,
    data: Annotated[Path, typer.Option(help="Data directory of the hall: its key signs your token.")] = DEFAULT_DATA,
) -> None:
    """Print the best players, and where you stand. Whoever has played fewer than ten rated games is not listed."""
    run(_leaderboard(faces.game_name(game), first, name or default_name(), server, data))


async def _leaderboard(game: str, first: int, me: str, server: str, data: Path) -> None:
    async with Matchmaker(game, server, dev_token(data, me, ["play"])) as matchmaker:
        await matchmaker.ready()
        best = await matchmaker.read("ListLeaderboard", page_size=first)
        own = await matchmaker.read("GetRating")
    console = Console(highlight=False)
    if best.ratings:
        console.print(listed(best))
    else:
        console.print("Nobody has played ten rated games yet.")
    skill, doubt, games, won = _numbers(own.rating)
    place = f"place {own.place}" if own.place else "no place yet"
    console.print(f"You: {skill} ± {doubt} after {games} rated games, {won} won; {place}.")


def listed(best: ListLeaderboardResponse) -> Table:
    """A page of the leaderboard."""
    table = Table("", "player", "rating", "±", "games", "won", box=None, header_style="dim")
    for number, rating in enumerate(best.ratings, start=best.first_place):
        table.add_row(str(number), Text(faces.shown(rating.subject)), *_numbers(rating))
    return table


def _numbers(rating: Rating) -> tuple[str, str, str, str]:
    mu, sigma = rating.mu_micros / _MICROS, rating.sigma_micros / _MICROS
    return f"{mu:.1f}", f"{sigma:.1f}", str(rating.games), str(rating.wins)
