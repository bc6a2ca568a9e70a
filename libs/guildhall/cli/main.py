"""The command `guildhall`: collects its sub-commands, from modules with `register(app)` each."""

import importlib
import os
import sys

import typer

from guildhall.telemetry import logs

COMMANDS = {
    "serve": "serve",
    "play": "play",
    "queue": "queue",
    "table": "table",
    "leaderboard": "leaderboard",
    "watch": "watch",
    "games": "games",
    "options": "options",
    "token": "token",
    "verify": "verify",
    "export": "export",
    "import": "export",
    "game": "game",
    "drain": "game",
    "pool": "pool",
    "owners": "owners",
    "log": "log",
    "topics": "topics",
    "projection": "projection",
}
"""The module of this package that has a command, in the order of `guildhall --help`."""


def command_line(command: str = "") -> typer.Typer:
    """The whole command line; of a known command only the module that has it, since all together take three times as
    long to load as most of them alone.
    """
    app = typer.Typer(
        name="guildhall",
        help="An event-sourced game server for heavy board games.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_configure)
    for module in [COMMANDS[command]] if command in COMMANDS else dict.fromkeys(COMMANDS.values()):
        importlib.import_module(f"guildhall.cli.{module}").register(app)
    return app


def _configure() -> None:
    # Standard output is for what was asked for.
    logs.configure("console")


def main() -> None:
    """Entry point of the command `guildhall`."""
    # Looked at when gRPC is imported, so before that; else it tells whoever starts a hall that it has threads.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    try:
        _run()
    except KeyboardInterrupt:  # while modules are loaded
        sys.exit(130)
    except ModuleNotFoundError as error:
        # This program is there before gen/ is; all else of the package is in the source.
        if error.name is None or not error.name.startswith("guildhall."):
            raise
        sys.exit(f"{error.name} is not generated yet: wait until `make run` has done it, or run `make gen`.")


def _run() -> None:
    from guildhall.cli.problems import Problem

    try:
        command_line("".join(sys.argv[1:2]))()
    except Problem as problem:
        sys.exit(str(problem))
