"""Commands that are told to people: as they can be typed, towards the same hall and by the same person."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from guildhall.cli.client import DEFAULT_SERVER
from guildhall.cli.token import DEFAULT_DATA
from guildhall.cli.tokens import default_name, is_guest

PROGRAM = ".venv/bin/guildhall"
"""Where `make env` puts the program."""


def typed(
    *words: str,
    server: str = DEFAULT_SERVER,
    data: Path = DEFAULT_DATA,
    name: str | None = None,
    width: int | None = None,
) -> str:
    """A command of a shell; what is as it is without saying so is not said.

    Where its one line would be longer than `width`, each option has a line of its own, which the shell puts together.
    """
    parts = [[PROGRAM, *words]]
    if name is not None and name != default_name():
        parts.append(["--name", name])
    if server != DEFAULT_SERVER:
        parts.append(["--server", server])
    if data != DEFAULT_DATA:
        parts.append(["--data", str(data)])
    line = " ".join(map(shlex.join, parts))
    return line if width is None or len(line) <= width else " \\\n".join(map(shlex.join, parts))


@dataclass(frozen=True)
class Here:
    """The hall towards which a command was typed, and who typed it."""

    server: str
    data: Path
    me: str

    def typed(self, *words: str, server: str = "") -> str:
        """A further command, by the same person; `server`: where it leads, if elsewhere."""
        return typed(*words, server=server or self.server, data=self.data, name=self.me)

    def typed_by_others(self, *words: str) -> str:
        """A command for somebody else: who may use the hall's key says a name, guests have tokens of their own."""
        if is_guest():
            return typed(*words, server=self.server)
        return typed(*words, "--name", "NAME", server=self.server, data=self.data)
