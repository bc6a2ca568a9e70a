"""Games as the command line knows them: found by name among the folders of services/."""

import importlib
import random
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import typer
from rich.console import RenderableType

import services
from guildhall.cli.client import Client
from guildhall.kernel.rules import Rules
from services.bots.player import Choose
from services.bots.random_choice import RandomChoice

Name = Callable[[str], str]
BOT = "bot"
BOT_NAMES = ("Ada", "Bela", "Cleo", "Dima", "Edda", "Finn", "Gwen")


class Entry(Protocol):
    """A numbered choice: a command, or a further menu."""

    @property
    def key(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def then(self) -> Any: ...


class Menu(Protocol):
    """A question with numbered answers; `Entry.then` is one where an answer has further steps."""

    @property
    def question(self) -> str: ...
    @property
    def entries(self) -> Sequence[Entry]: ...


class Terminal(Protocol):
    """What a game's `terminal.Terminal` gives; made with the bytes of the game's content pack."""

    help: str

    def draw(self, view: Any, name: Name, width: int) -> RenderableType:
        """The table as this view's viewer may see it."""
        ...

    def about(self, words: str) -> str | None:
        """What the component of that name does; None where there is none."""
        ...

    def menu(self, view: Any, kind: str, options: Sequence[Any], name: Name) -> Menu:
        """The commands of a decision but Undo, and its families, as choices."""
        ...


class Teller(Protocol):
    """What a game's `terminal.Teller` gives; made with the viewer's seat and a `Name`."""

    def tell(self, version: int, events: Sequence[Any]) -> list[str]:
        """The sentences of one version."""
        ...

    def look(self, version: int, view: Any) -> None:
        """Go on from this view, after a step was taken back."""
        ...


def games() -> list[str]:
    """The games that can be played at a terminal, by the name of their folder."""
    return sorted({path.parent.name for root in services.__path__ for path in Path(root).glob("*/terminal.py")})


def game_name(text: str) -> str:
    """The folder's name of a game as typed (`arcane-alley`). Raises typer.BadParameter."""
    name = text.replace("-", "_").lower()
    if name not in games():
        there = ", ".join(map(typed_name, games()))
        raise typer.BadParameter(f"there is no game {text!r}; there are: {there}")
    return name


def typed_name(game: str) -> str:
    """The name of a game's folder as people type it."""
    return game.replace("_", "-")


def rules(game: str) -> Rules:
    """The rules of a game."""
    loaded: Rules = importlib.import_module(f"services.{game}.rules").RULES
    return loaded


def terminal(game: str, pack: bytes) -> Terminal:
    """The game's terminal for one content pack."""
    made: Terminal = importlib.import_module(f"services.{game}.terminal").Terminal(pack)
    return made


def teller(game: str, viewer: int | None) -> Teller:
    """The game's teller for one viewer."""
    made: Teller = importlib.import_module(f"services.{game}.terminal").Teller(viewer, shown)
    return made


def powers_option(game: str) -> str | None:
    """The game's option that `--no-powers` sets to false, if it has one."""
    name: str | None = getattr(importlib.import_module(f"services.{game}.terminal"), "POWERS_OPTION", None)
    return name


def chooser(game: str, kind: str, pack: bytes) -> Choose:
    """A bot of that kind (`greedy` or `random`) for a game."""
    if kind == "greedy":
        made: Choose = importlib.import_module(f"services.{game}.greedy").Greedy(pack)
        return made
    return RandomChoice(random.Random())


def strengths(game: str) -> tuple[str, ...]:
    """The bots that `chooser` makes for a game."""
    greedy = find_spec(f"services.{game}.greedy") is not None
    return ("greedy", "random") if greedy else ("random",)


STRENGTHS = f"There are: {', '.join(sorted({strength for game in games() for strength in strengths(game)}))}."
"""All of them, for whoever has to name one."""


def went_back(view: Any) -> str:
    """What a whole view in a stream of events means: its events cannot be told."""
    if view.game.paused:
        return f"An operator has put the game back and paused it: {view.game.paused}"
    return "A step was taken back."


def shown(subject: str) -> str:
    """A subject as people read it: a bot by its name alone, the hall's own ones by names in place of their numbers."""
    if not subject.startswith(f"{BOT}/"):
        return subject
    name = subject.rsplit("/", 1)[-1]
    return BOT_NAMES[(int(name) - 1) % len(BOT_NAMES)] if is_halls_bot(subject) else name


def is_halls_bot(subject: str) -> bool:
    """Whether the bots service plays that seat: its bots have numbers."""
    return subject.startswith(f"{BOT}/") and subject.rsplit("/", 1)[-1].isdecimal()


async def pack_of(client: Client, view: Any) -> bytes:
    """The content pack of a view's game. Raises HallError."""
    return await client.pack(view.game.pack_hash)
