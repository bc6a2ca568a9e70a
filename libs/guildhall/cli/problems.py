"""What ends a command of the command line: a sentence on stderr and exit code 1."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import typer

from guildhall.cli.client import HallError
from guildhall.kernel.verify import Altered
from guildhall.log.errors import LogError


class Problem(Exception):
    """Why the command cannot go on, in a sentence."""


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a command; problems become one line on stderr and exit code 1, Ctrl-C exit code 130."""
    try:
        asyncio.run(work)
    except (Problem, HallError, Altered, LogError) as problem:
        typer.echo(str(problem), err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
