"""The simplest bot: any legal command but Undo."""

from collections.abc import Sequence
from random import Random
from typing import Any

from guildhall.kernel.v1.structs import Undo


class RandomChoice:
    """Chooses evenly among the listed commands."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def __call__(self, view: Any, kind: str, commands: Sequence[Any]) -> Any:
        """One of the commands that is no Undo."""
        return self._random.choice([command for command in commands if type(command) is not Undo])
