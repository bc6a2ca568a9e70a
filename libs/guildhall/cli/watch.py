"""`guildhall watch`: a game's table as it changes, for a spectator or from one's own seat."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from guildhall.cli import faces
from guildhall.cli.client import DEFAULT_SERVER, Client
from guildhall.cli.faces import shown
from guildhall.cli.finding import connect
from guildhall.cli.problems import run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import default_name

LAST = 8
"""Sentences below the table."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="watch")(watch)


def watch(
    game_id: Annotated[str, typer.Argument(help="Id of the game.")],
    name: Annotated[str | None, typer.Option(help="Who watches; whoever has a seat sees what it sees.")] = None,
    server: Annotated[str, typer.Option(help="Where the hall listens, host:port.")] = DEFAULT_SERVER,
    data: Annotated[Path, typer.Option(help="Data directory of the hall: its key signs your token.")] = DEFAULT_DATA,
) -> None:
    """Watch a game until it ends: the table and the latest events; without a terminal, one sentence per line."""
    run(_watch(game_id, name or default_name(), server, data))


async def _watch(game_id: str, subject: str, server: str, data: Path) -> None:
    async with await connect(game_id, subject, server, data) as client:
        console = Console(highlight=False, emoji=False)
        if console.is_terminal:
            await _live(client, game_id, console)
        else:
            await _plain(client, game_id, console)


async def _plain(client: Client, game_id: str, console: Console) -> None:
    """Sentences, then the table at the end."""
    view = await client.view(game_id)
    teller = faces.teller(client.game, view.game.viewer_seat)
    async for message in client.events(game_id, 0):
        if message.events is not None:
            for sentence in teller.tell(message.version, message.events.events):
                console.print(sentence, markup=False)
        elif message.view is not None:
            teller.look(message.version, message.view)
            console.print(faces.went_back(message.view), markup=False)
    view = await client.view(game_id)
    terminal = faces.terminal(client.game, await faces.pack_of(client, view))
    console.print(terminal.draw(view, shown, console.width))


async def _live(client: Client, game_id: str, console: Console) -> None:
    view = await client.view(game_id)
    teller = faces.teller(client.game, view.game.viewer_seat)
    terminal = faces.terminal(client.game, await faces.pack_of(client, view))
    newest = view.game.version
    told: list[str] = []
    with Live(console=console, auto_refresh=False) as live:
        async for message in client.events(game_id, 0):
            if message.events is not None:
                told += teller.tell(message.version, message.events.events)
            elif message.view is not None:
                teller.look(message.version, message.view)
                told.append(faces.went_back(message.view))
            if message.version >= newest:
                view = await client.view(game_id, message.version)
                last = Text("\n".join(told[-LAST:]), style="dim")
                live.update(Group(terminal.draw(view, shown, console.width), last), refresh=True)
