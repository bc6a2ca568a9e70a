"""`guildhall play`: a game at the terminal, against bots of the hall at a table of one's own."""

import asyncio
import contextlib
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from guildhall.cli import faces
from guildhall.cli.client import DEFAULT_SERVER, Client, HallError
from guildhall.cli.faces import BOT, BOT_NAMES, Menu, is_halls_bot, shown
from guildhall.cli.hints import Here, typed
from guildhall.cli.lines import Lines
from guildhall.cli.matchmaker import Matchmaker
from guildhall.cli.options import Options, Rulings, Settings, pairs
from guildhall.cli.problems import Problem, run
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import default_name, dev_token
from guildhall.cli.ways_out import games, with_ways_out
from guildhall.kernel.v1.structs import Undo
from guildhall.matchmaking.v1.structs import GameSeat, GameTerms, Seating
from services.bots.player import play as play_bot

SEED_BYTES = 32
COMMANDS = "number · u undo · log · ? <item> · help · table · resign · quit"


class Bots(StrEnum):
    """Who plays against you."""

    GREEDY = "greedy"
    RANDOM = "random"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="play")(play)


def play(
    game: Annotated[str, typer.Argument(help="Which game, for example arcane-alley.")] = "arcane-alley",
    players: Annotated[int | None, typer.Option(help="How many players with you. Default: 3, or what fits.")] = None,
    bots: Annotated[Bots, typer.Option(help="Who plays against you.")] = Bots.GREEDY,
    name: Annotated[str | None, typer.Option(help="Your name at the table. Default: your login.")] = None,
    powers: Annotated[bool, typer.Option(help="With the players' special powers, where the game has them.")] = True,
    option: Options = None,
    ruling: Rulings = None,
    seed_file: Annotated[
        Path | None,
        typer.Option(help="32 bytes, raw or as 64 hex digits: the same luck again. Everybody is told."),
    ] = None,
    resume: Annotated[str | None, typer.Option(help="Id of a game that you left: go on there.")] = None,
    server: Annotated[str, typer.Option(help="Where the hall listens, host:port.")] = DEFAULT_SERVER,
    data: Annotated[Path, typer.Option(help="Data directory of the hall: its key signs your token.")] = DEFAULT_DATA,
    patience: Annotated[
        float, typer.Option(min=0.0, help="Seconds for which a hall that does not answer is asked again.")
    ] = 120.0,
) -> None:
    """Play a game in this terminal against bots. Start a hall first, in another terminal: make run."""
    chosen = faces.game_name(game)
    options = dict(pairs(option, "--option"))
    if not powers:
        powers_option = faces.powers_option(chosen)
        if powers_option is None:
            raise typer.BadParameter("this game has no powers to leave out", param_hint="--no-powers")
        options[powers_option] = "false"
    wanted: dict[str, Any] = {
        "options": tuple(sorted(options.items())),
        "rulings": pairs(ruling, "--ruling"),
        "seed": _seed(seed_file),
    }
    me = name or default_name()
    if me.startswith(f"{BOT}/"):
        raise typer.BadParameter(f"names that begin with {BOT}/ are the bots'", param_hint="--name")
    run(_play(chosen, players, bots, me, wanted, resume, server, data, patience))


def _seed(path: Path | None) -> bytes:
    if path is None:
        return b""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise typer.BadParameter(str(error), param_hint="--seed-file") from None
    if len(data) != SEED_BYTES:
        with contextlib.suppress(ValueError):
            data = bytes.fromhex(data.decode("ascii", "replace").strip())
    if len(data) != SEED_BYTES:
        raise typer.BadParameter(f"{path} holds no seed of {SEED_BYTES} bytes", param_hint="--seed-file")
    return data


async def _play(
    game: str,
    players: int | None,
    bots: Bots,
    me: str,
    wanted: dict[str, Any],
    resume: str | None,
    server: str,
    data: Path,
    patience: float,
) -> None:
    scopes = ["play"] + (["seat", "operate"] if wanted["seed"] else [])
    console = Console(highlight=False, emoji=False)
    here = Here(server, data, me)
    client = Client(game, server, "")
    await client.ready()
    await client.close()
    seats = faces.rules(game).seats
    count = players if players is not None else min(max(3, seats[0]), seats[-1])
    if resume is None and not wanted["seed"]:
        async with Matchmaker(game, server, dev_token(data, me, scopes), patience, console.print) as matchmaker:
            with with_ways_out(game, here):
                seat = await _at_table(matchmaker, count, bots, wanted["options"], wanted["rulings"], here)
        resume, server = seat.game_id, seat.address or server
    async with Client(game, server, dev_token(data, me, scopes), patience, console.print) as client:
        if resume is None:
            # Whose luck is known is nobody else's game: no table takes it, so its bots are this process's.
            names = [name for name in BOT_NAMES if name != me]
            others = [f"{BOT}/{bots}/{names[n % len(names)]}" for n in range(count - 1)]
            with with_ways_out(game, here):
                game_id = await client.create(subjects=(me, *others), **wanted)
        else:
            game_id = resume
        view = await client.view(game_id)
        if view.game.viewer_seat is None:
            raise Problem(f"{me} has no seat in game {game_id}; say --name NAME for whoever has.")
        pack = await faces.pack_of(client, view)
        back = typed(
            "play", faces.typed_name(game), "--resume", game_id, server=server, data=data, name=me, width=console.width
        )
        check = typed("verify", game_id, server=server, data=data, name=me, width=console.width)
        console.print(f"Game [bold]{game_id}[/bold]. To come back to it:\n{escape(back)}", soft_wrap=True)
        if view.game.paused:
            _tell_paused(console, view.game.paused)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    _bot(game, server, dev_token(data, seat.subject, ["play"]), game_id, seat.subject, pack, patience)
                )
                for seat in view.game.seats
                if seat.subject.startswith(f"{BOT}/") and not is_halls_bot(seat.subject)
            ]
            try:
                if await Table(console, client, game, game_id, view, pack).play():
                    console.print(f"Check that luck was not altered:\n{escape(check)}", soft_wrap=True)
                else:
                    console.print(f"The game waits for you:\n{escape(back)}", soft_wrap=True)
            finally:
                for task in tasks:
                    task.cancel()


def _tell_paused(console: Console, why: str) -> None:
    console.print(f"[red]An operator has paused the game: {escape(why)}[/red]", soft_wrap=True)


async def _at_table(
    matchmaker: Matchmaker, seats: int, bots: Bots, options: Settings, rulings: Settings, here: Here
) -> GameSeat:
    """A seat in a game that is made at a private table, with bots on all other seats. Raises HallError."""
    known = [seat.game_id for seat in (await matchmaker.state()).games]
    await matchmaker.open_table(
        [str(bots)] * (seats - 1),
        terms=GameTerms(options=options, rulings=rulings),
        seats=seats,
        seating=int(Seating.AS_SEATED),
        unrated=True,
        private=True,
    )
    try:
        await matchmaker.ask("StartTable")
        return await matchmaker.new_game(known, started=True)
    except BaseException:
        if await matchmaker.get_up():
            typer.echo(f"The game is made all the same. {games(here)}")
        raise


async def _bot(game: str, server: str, token: str, game_id: str, subject: str, pack: bytes, patience: float) -> None:
    """One bot, a client of its own."""
    kind = subject.split("/")[1]
    async with Client(game, server, token, patience) as client:
        await play_bot(client, game_id, faces.chooser(game, kind, pack))


class Left(Exception):
    """The player leaves the table; the game goes on waiting."""


class Table:
    """One person's place at a game."""

    def __init__(self, console: Console, client: Client, game: str, game_id: str, view: Any, pack: bytes) -> None:
        self._console = console
        self._client = client
        self._game_id = game_id
        self._seat: int = view.game.viewer_seat
        self._terminal = faces.terminal(game, pack)
        self._teller = faces.teller(game, self._seat)
        self._begun: int = view.game.version
        """What happened up to this version is in the log, but not told again."""
        self._log: list[str] = []
        self._lines = Lines()

    async def play(self) -> bool:
        """Follow the game and ask the player whenever the game does; whether it came to its end, or the player left."""
        asked = ""
        try:
            async for message in self._client.events(self._game_id, 0):
                self._tell(message)
                for legal in message.decisions:
                    if legal.decision.id != asked:
                        asked = legal.decision.id
                        await self._answer(legal, message.version)
        except Left:
            return False
        view = await self._client.view(self._game_id)
        self._draw(view)
        return True

    def _tell(self, message: Any) -> None:
        sentences: list[str] = []
        if message.events is not None:
            sentences = self._teller.tell(message.version, message.events.events)
        elif message.view is not None:
            self._teller.look(message.version, message.view)
            sentences = [faces.went_back(message.view)]
        self._log += sentences
        if message.version > self._begun or self._begun <= 1:
            for sentence in sentences:
                self._console.print(f"  {escape(sentence)}", style="dim" if self._console.is_terminal else "")

    def _draw(self, view: Any) -> None:
        self._console.print()
        self._console.print(self._terminal.draw(view, shown, self._console.width))

    async def _answer(self, legal: Any, version: int) -> None:
        """Ask until a command is taken; what the hall refuses is shown and asked again."""
        view = await self._client.view(self._game_id, version)
        self._draw(view)
        while True:
            command = await self._choose(legal, view)
            if command is None:
                return
            try:
                accepted = await self._client.submit(self._game_id, legal.decision.id, command)
                paused = "" if accepted else (await self._client.view(self._game_id)).game.paused
            except HallError as error:
                if error.reason in ("NO_HALL", "INTERNAL"):
                    raise
                self._console.print(f"[red]{escape(str(error))}[/red]")
                continue
            if not paused:
                return
            _tell_paused(self._console, paused)

    async def _choose(self, legal: Any, view: Any) -> Any:
        """The command that the player chooses; None where the seat was given up."""
        undo = next((command for command in legal.commands if type(command) is Undo), None)
        top = self._terminal.menu(view, legal.decision.kind, self._client.options(legal), shown)
        menu = top
        while True:
            self._show(menu, legal.decision.deadline_ms, back=menu is not top, undo=undo is not None)
            line = await self._lines.next()
            if line is None or line in ("q", "quit", "exit"):
                raise Left
            word, _, rest = line.partition(" ")
            if word in ("u", "undo"):
                if undo is not None:
                    return undo
                self._console.print("Nothing can be taken back now.")
            elif word in ("b", "back"):
                menu = top
            elif word == "resign":
                if await self._sure("Give your seat up for good?"):
                    await self._client.resign(self._game_id)
                    return None
            elif word.isascii() and word.lstrip("-").isdigit():
                entry = next((entry for entry in menu.entries if entry.key == int(word)), None)
                if entry is None:
                    self._console.print(f"There is no choice {escape(word)}.")
                elif hasattr(entry.then, "entries"):
                    menu = entry.then
                else:
                    return entry.then
            else:
                self._inform(word, rest, view)

    def _show(self, menu: Menu, deadline_ms: int, *, back: bool, undo: bool) -> None:
        self._console.print(f"\n[bold]{escape(menu.question)}[/bold]")
        for entry in menu.entries:
            more = " …" if hasattr(entry.then, "entries") else ""
            self._console.print(f" [cyan]{entry.key:>3}[/cyan]  {escape(entry.text)}{more}")
        hints = (" · b back" if back else "") + (" · u undo" if undo else "")
        if deadline_ms:
            hints += f" · until {datetime.fromtimestamp(deadline_ms / 1000):%H:%M:%S}"
        self._console.print(f"[dim]{'help for more' + hints}[/dim] > ", end="")
        self._console.file.flush()

    def _inform(self, word: str, rest: str, view: Any) -> None:
        """What only shows something: the log, help, the table, what an item does."""
        if word in ("l", "log"):
            for sentence in self._log if rest == "all" else self._log[-25:]:
                self._console.print(f"  {escape(sentence)}")
        elif word in ("h", "help"):
            self._console.print(self._terminal.help, markup=False)
            self._console.print(f"Type: {COMMANDS}", markup=False)
        elif word in ("t", "table"):
            self._draw(view)
        elif word in ("?", "rules") or (word.startswith("?") and len(word) > 1):
            asked = f"{word.removeprefix('rules').lstrip('?')} {rest}".strip()
            told = self._terminal.about(asked.removeprefix("of ").strip())
            self._console.print(told or "Which one? Type part of its name: ? coin", markup=False)
        elif word:
            self._console.print(f"Type: {COMMANDS}", markup=False)

    async def _sure(self, question: str) -> bool:
        self._console.print(f"{question} Type yes or no > ", end="")
        self._console.file.flush()
        return await self._lines.next() == "yes"
