"""`guildhall verify`: that a finished game's luck and history were not altered."""

from pathlib import Path
from typing import Annotated

import typer

from guildhall.cli import archive
from guildhall.cli.client import DEFAULT_SERVER
from guildhall.cli.finding import all_games
from guildhall.cli.problems import run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import default_name


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="verify")(verify)


def verify(
    game_id: Annotated[str | None, typer.Argument(help="Id of a finished game in which you have a seat.")] = None,
    file: Annotated[Path | None, typer.Option(help="Verify an exported game instead; no hall is asked.")] = None,
    name: Annotated[str | None, typer.Option(help="Whose seat. Default: your login.")] = None,
    server: Annotated[str, typer.Option(help="Where the hall listens, host:port.")] = DEFAULT_SERVER,
    data: Annotated[Path, typer.Option(help="Data directory of the hall: its key signs your token.")] = DEFAULT_DATA,
) -> None:
    """Check a finished game: the hash chain, that its records make its states, and every shuffle and die
    against the seed that was committed to before the first one.

    This proves that luck was not altered, not that the seed was not picked.
    """
    if (game_id is None) == (file is None):
        raise typer.BadParameter("say a game's id, or --file FILE")
    run(_verify(game_id, file, name or default_name(), server, data))


async def _verify(game_id: str | None, file: Path | None, subject: str, server: str, data: Path) -> None:
    if file is not None:
        found = archive.read(file)
    else:
        assert game_id is not None
        async with await all_games(subject, server, data) as games:
            found = await archive.fetch(games, game_id)
    verified = archive.check(found)
    created = verified.game.created
    typer.echo(f"Game {found.game_id} of {found.game.replace('_', '-')} is as it was played:")
    typer.echo(
        f"  history    {verified.versions} versions, {verified.events} events; last hash {verified.game.hash.hex()}"
    )
    typer.echo(f"  luck       {verified.draws} draws, all of the seed with SHA-256 {created.seed_hash.hex()}")
    if created.seed_given:
        typer.echo("  but        whoever created the game brought the seed, and so knew all luck beforehand")
