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
    failed = interrupted = False
    try:
        asyncio.run(work)
    except* (Problem, HallError, Altered, LogError) as problems:
        # Several tasks may fail of one cause, such as a hall that went away: it is said once.
        for sentence in dict.fromkeys(map(str, leaves(problems))):
            typer.echo(sentence, err=True)
        failed = True
    except* KeyboardInterrupt:
        interrupted = True
    if failed:
        raise typer.Exit(1)
    if interrupted:
        raise typer.Exit(130)


def leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The exceptions of a group, those of groups within it included."""
    found: list[BaseException] = []
    for error in group.exceptions:
        found += leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
