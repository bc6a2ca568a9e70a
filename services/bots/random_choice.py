"""The simplest bot: any legal command but Undo."""

from collections.abc import Sequence
from random import Random
from typing import Any

from guildhall.kernel.families import Family
from guildhall.kernel.v1.structs import Undo


class RandomChoice:
    """Chooses evenly among what is listed; of a family any member."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def __call__(self, view: Any, kind: str, options: Sequence[Any]) -> Any:
        """One of the commands that is no Undo, or a member of one of the families."""
        chosen = self._random.choice([option for option in options if type(option) is not Undo])
        return chosen.sample(self._random) if isinstance(chosen, Family) else chosen
