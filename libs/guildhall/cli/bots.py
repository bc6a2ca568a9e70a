"""`guildhall serve bots`: the hall's own bots, each a client with its own subject; and the same as a child process."""

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from guildhall.cli import faces
from guildhall.cli.client import DEFAULT_SERVER, Client
from guildhall.cli.matchmaker import Matchmaker
from guildhall.cli.problems import run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import bot_token
from guildhall.games.v1.structs import GameState
from guildhall.rpc.identity import KEY_FILE, existing_key, give_bots_key
from guildhall.telemetry import logs
from services.bots.player import play as play_game
from services.bots.resident import reside

PATIENCE_SECONDS = 60.0
PAGE = 500

_PR_SET_PDEATHSIG = 1

_log = logs.get("bots")


def serve_bots(
    game: Annotated[
        list[str] | None, typer.Option(help="Game to play, such as arcane-alley; may be given again. Default: all.")
    ] = None,
    server: Annotated[str, typer.Option(help="Where the hall listens, host:port.")] = DEFAULT_SERVER,
    data: Annotated[Path, typer.Option(help="Directory with the bots' key (guildhall bots-key).")] = DEFAULT_DATA,
    child_of: Annotated[int | None, typer.Option(help="End with the process of that id.", hidden=True)] = None,
) -> None:
    """Play the seats that matchmaking gives to bots, until ended; one such process for a hall is enough."""
    logs.configure("console")
    if child_of is not None:
        _end_with(child_of)
    names = [faces.game_name(name) for name in game] if game else faces.games()
    run(_serve(names, server, data))


def write_bots_key(
    data: Annotated[Path, typer.Option(help="Directory of the hall's key.")] = DEFAULT_DATA,
    to: Annotated[Path | None, typer.Option(help="Directory to write bots.key into. Default: the same.")] = None,
) -> None:
    """Write the key of the hall's bots, for `serve bots`: it signs for the bots, and for nobody else."""
    try:
        own = existing_key(data)
        directory = to or data
        directory.mkdir(parents=True, exist_ok=True)
        typer.echo(f"Written: {give_bots_key(own, directory)}")
    except FileNotFoundError:
        hint = "a hall makes it when it first starts. Is --data the directory of its key?"
        typer.echo(f"There is no {data / KEY_FILE}: {hint}", err=True)
        raise typer.Exit(1) from None
    except (ValueError, OSError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


async def _serve(games: Sequence[str], server: str, data: Path) -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        async with asyncio.TaskGroup() as group:
            for game in games:
                for strength in faces.strengths(game):
                    for number in range(1, max(faces.rules(game).seats)):
                        subject = f"{faces.BOT}/{strength}/{number}"
                        bot_token(data, subject)  # a Problem now rather than again and again
                        group.create_task(_reside(game, strength, subject, server, data))
            typer.echo(f"Guildhall's bots play at {server}: {', '.join(games)}")


async def _reside(game: str, strength: str, subject: str, server: str, data: Path) -> None:
    # A token lasts for a day; whoever begins again has a new one.
    async def seated() -> AsyncGenerator[Sequence[str], None]:
        async with Matchmaker(game, server, bot_token(data, subject), PATIENCE_SECONDS) as matchmaker:
            async for state in matchmaker.states():
                yield [seat.game_id for seat in state.games]

    async def unfinished() -> Sequence[str]:
        wanted = {"games": (game,), "state": int(GameState.OPEN), "mine": True, "page_size": PAGE}
        found: list[str] = []
        async with Client("games", server, bot_token(data, subject)) as client:
            token = ""
            while True:
                page = await client.call("GamesService", "ListGames", page_token=token, **wanted)
                found += [listed.game_id for listed in page.games]
                token = page.next_page_token
                if not token:
                    return found

    async def play(game_id: str) -> None:
        # Not where players are told to go: that is how the hall is reached from outside, and it may be TLS alone.
        async with Client(game, server, bot_token(data, subject), PATIENCE_SECONDS) as client:
            pack = await faces.pack_of(client, await client.view(game_id))
            await play_game(client, game_id, faces.chooser(game, strength, pack))

    await reside(subject, seated, unfinished, play)


class BotsChild:
    """`guildhall serve bots` as a child process that ends with this one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, server: str, data: Path) -> None:
        """Begin to play there, with the bots' key that lies in `data`."""
        words = [sys.executable, "-c", "from guildhall.cli.main import main; main()"]
        self._process = subprocess.Popen(
            [*words, "serve", "bots", "--server", server, "--data", str(data), "--child-of", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C at the terminal is the parent's
        )

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()  # it holds nothing: whatever it was about to answer is asked again
            self._process.wait()


def _end_with(parent: int) -> None:
    """Also where the parent is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(0)
