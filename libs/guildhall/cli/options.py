"""`guildhall options`: what can be chosen of a game; and how it is chosen at other commands."""

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import typer

from guildhall.cli import faces
from guildhall.kernel.rules import Choosable

Settings: TypeAlias = tuple[tuple[str, str], ...]
_SEE = "repeatable. `guildhall options GAME` lists them."
Options = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help=f"An option of the game; {_SEE}")
]
Rulings = Annotated[
    list[str] | None, typer.Option("--ruling", metavar="NAME=VALUE", help=f"A ruling of the game; {_SEE}")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="options")(options)


def options(game: Annotated[str, typer.Argument(help="Which game, for example trickerion.")]) -> None:
    """List the options and rulings of a game for --option and --ruling, each with its values, the default first."""
    rules = faces.rules(faces.game_name(game))
    _tell("Options, for --option", rules.options)
    _tell("Rulings, for --ruling", rules.rulings)


def _tell(head: str, declared: Sequence[Choosable]) -> None:
    typer.echo(f"{head}:" if declared else f"{head}: none")
    for choosable in declared:
        ref = f" ({choosable.ref})" if choosable.ref else ""
        typer.echo(f"  {choosable}\n      {choosable.text}{ref}")


def pairs(texts: list[str] | None, where: str) -> Settings:
    """What was typed as name=value, several times, sorted. Raises typer.BadParameter."""
    pairs = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} is not name=value", param_hint=where)
        pairs[key] = value
    return tuple(sorted(pairs.items()))
