"""What all decisions of one seat have in common."""

from collections.abc import Sequence
from typing import Any, ClassVar

from guildhall.kernel.frames import Choice
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.table import Table
from services.trickerion.content import Content
from services.trickerion.hall import Hall
from services.trickerion.packs import PACKS

HallTable = Table[Hall]
"""The table that rules of this game act through."""


def content_of(hall: Hall) -> Content:
    """The content of a hall's pack. Raises KeyError where this process does not know it."""
    return PACKS[hall.pack]


class Ask(Choice):
    """Asks one seat, always the same; `ASKS` and `RULE` say what for."""

    seat: int

    ASKS: ClassVar[str]
    """What the seat is asked to do, after "You have to "."""
    RULE: ClassVar[str]
    EXPECTED: ClassVar[tuple[type, ...]]
    """The types of commands that can be an answer."""

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,)

    def default(self, hall: Hall, seat: int) -> Any:
        return next(iter(self.options(hall, seat)))

    def why(self, hall: Hall, seat: int, command: Any) -> Refusal:
        if isinstance(command, self.EXPECTED):
            return self.why_not(hall, seat, command)
        return Refusal("ANOTHER_DECISION", f"You have to {self.ASKS} now.", self.RULE)

    def why_not(self, hall: Hall, seat: int, command: Any) -> Refusal:
        """Why a command that is an answer in kind is not listed."""
        return Refusal("NOT_POSSIBLE", f"That is not possible; you have to {self.ASKS}.", self.RULE)
