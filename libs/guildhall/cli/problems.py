"""What ends a command of the command line: a sentence on stderr and exit code 1."""

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any

import typer

from guildhall.cli.client import HallError
from guildhall.kernel.verify import Altered
from guildhall.log.errors import LogError

_LEAVING_SECONDS = 5.0


class Problem(Exception):
    """Why the command cannot go on, in a sentence."""


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a command; problems become one line on stderr and exit code 1.

    Ctrl-C, SIGTERM and a terminal that is closed cancel it, so that it can leave in order what it has begun; the exit
    code is 128 + the signal's number. A terminal that is closed may send SIGHUP twice, by its kernel and its shell: a
    further one of these two counts only after a while.
    """
    failed, ended_by = False, 0
    in_main_thread = threading.current_thread() is threading.main_thread()  # signals are told to no other

    def end(number: signal.Signals, task: asyncio.Task[Any]) -> None:
        nonlocal ended_by
        if not ended_by:
            ended_by = number
            task.get_loop().call_later(_LEAVING_SECONDS, task.get_loop().remove_signal_handler, number)
            task.cancel()

    async def whole() -> None:
        task = asyncio.current_task()
        assert task is not None
        for number in (signal.SIGTERM, signal.SIGHUP) if in_main_thread else ():
            # Who ignores it, as nohup does, goes on doing so.
            if signal.getsignal(number) is signal.SIG_DFL:
                asyncio.get_running_loop().add_signal_handler(number, end, number, task)
        await work

    try:
        asyncio.run(whole())
    except* (Problem, HallError, Altered, LogError) as problems:
        # Several tasks may fail of one cause, such as a hall that went away: it is said once.
        for sentence in dict.fromkeys(map(str, leaves(problems))):
            typer.echo(sentence, err=True)
        failed = True
    except* KeyboardInterrupt:
        ended_by = signal.SIGINT
    except* asyncio.CancelledError:
        if not ended_by:
            raise
    if failed:
        raise typer.Exit(1)
    if ended_by:
        raise typer.Exit(128 + ended_by)


def leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The exceptions of a group, those of groups within it included."""
    found: list[BaseException] = []
    for error in group.exceptions:
        found += leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
