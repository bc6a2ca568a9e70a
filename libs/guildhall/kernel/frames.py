"""Frames: what comes next in a game, as plain data on the agenda.

Nobody is asked: a function. Somebody may be asked: a frame. A frame class
carries a permanent tag (`class Draw(Choice, tag="draw")`) and plain fields;
it never holds the front of a card.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from guildhall.kernel.refusal import Refusal

if TYPE_CHECKING:
    from guildhall.kernel.table import Table

Seat = int


class Frame(Struct, array_like=True):
    """A step: `run` happens at once when the frame comes to the top of the agenda."""

    def run(self, table: Table[Any]) -> None:
        """Emit events, then queue what comes next."""
        raise AssertionError(f"{type(self).__name__} has nothing to run")


@cache
def tag_of(frame: type[Frame]) -> str:
    """The permanent tag of a frame class."""
    return str(frame.__struct_config__.tag)


class Back(Frame):
    """A step that goes on with the result of the frame it called."""

    def got(self, table: Table[Any], value: int) -> None:
        """Go on with the value that the called frame gave."""
        raise AssertionError(f"{type(self).__name__} takes no result")


class Choice(Frame):
    """Asks one seat. `asked` and `kind` see what everybody may know; `options`,
    `why` and `default` what the seat may know; only `choose` sees the truth.
    """

    FORCED: ClassVar[bool] = False
    """The kernel answers by itself where everybody can see that there is one option."""

    def asked(self, hall: Any) -> Sequence[Seat]:
        """The seat that is asked; none: the frame is passed over."""
        raise AssertionError(f"{type(self).__name__} asks nobody")

    def kind(self, hall: Any) -> str:
        """What is asked, in one word for clients."""
        return tag_of(type(self))

    def options(self, hall: Any, seat: Seat) -> Iterable[Any]:
        """Every legal command, and families of them."""
        raise AssertionError(f"{type(self).__name__} lists no option")

    def default(self, hall: Any, seat: Seat) -> Any:
        """The command that is played when time runs out; one of the options."""
        raise AssertionError(f"{type(self).__name__} has no default")

    def why(self, hall: Any, seat: Seat, command: Any) -> Refusal:
        """Why a command that is not listed is not legal."""
        return Refusal("ILLEGAL_COMMAND", "That is not possible here.")

    def choose(self, table: Table[Any], seat: Seat, command: Any) -> None:
        """Carry out a listed command."""
        raise AssertionError(f"{type(self).__name__} cannot be answered")


class Together(Choice):
    """Asks a fixed set of seats at once. That a seat has answered is public, its answer
    is its own until all are in.
    """

    answers: dict[int, bytes] = {}

    REVISABLE: ClassVar[bool] = False
    """A seat may send its whole choice again until all are in."""

    def all_in(self, table: Table[Any], answers: dict[Seat, Any]) -> None:
        """Carry out the answers of all seats."""
        raise AssertionError(f"{type(self).__name__} takes no answers")
