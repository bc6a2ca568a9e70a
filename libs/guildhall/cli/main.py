"""The command `guildhall`: collects its sub-commands, one module each with `register(app)`."""

import importlib
from importlib.util import find_spec

import typer

from guildhall.telemetry import logs

COMMANDS = (
    "serve",
    "play",
    "queue",
    "table",
    "leaderboard",
    "watch",
    "games",
    "token",
    "verify",
    "export",
    "game",
    "pool",
    "owners",
    "log",
    "topics",
    "projection",
)
"""Modules of this package, in the order of `guildhall --help`."""

app = typer.Typer(
    name="guildhall",
    help="An event-sourced game server for heavy board games.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def configure() -> None:
    """An event-sourced game server for heavy board games."""
    # Standard output is for what was asked for.
    logs.configure("console")


for name in COMMANDS:
    if find_spec(f"guildhall.cli.{name}") is not None:
        importlib.import_module(f"guildhall.cli.{name}").register(app)


def main() -> None:
    """Entry point of the command `guildhall`."""
    app()
