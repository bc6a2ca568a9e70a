"""What a player may give back at own decisions: Components and Tricks (TR-065, TR-066, TR-079, TR-A37)."""

from functools import lru_cache
from typing import Any

from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import ComponentsReturned, ReturnComponents, ReturnTrick, TrickReturned
from services.trickerion import commands
from services.trickerion.asking import HallTable
from services.trickerion.hall import Hall

COMMANDS = (ReturnComponents, ReturnTrick)


def options(hall: Hall, seat: int) -> tuple[Any, ...]:
    """Every own pile, by number, and every own Trick."""
    return _options(tuple(hall.piles[seat]), tuple(hall.tricks[seat]))


@lru_cache(maxsize=4096)
def _options(piles: tuple[int, ...], tricks: tuple[int, ...]) -> tuple[Any, ...]:
    components = [
        commands.return_components(component, amount)
        for component, tokens in enumerate(piles)
        for amount in range(1, tokens + 1)
    ]
    return (*components, *(commands.return_trick(trick) for trick in tricks if trick))


def why_not(hall: Hall, seat: int, command: ReturnComponents | ReturnTrick) -> Refusal:
    """Why the seat cannot give that back."""
    if isinstance(command, ReturnTrick):
        return Refusal("NOT_YOUR_TRICK", "You have no such Trick.", "TR-065")
    return Refusal("NOT_SO_MANY", "You do not have so many of that Component.", "TR-079")


def act(table: HallTable, seat: int, command: ReturnComponents | ReturnTrick) -> None:
    """Give it back."""
    if isinstance(command, ReturnTrick):
        return_trick(table, seat, command.trick)
    else:
        table.emit(ComponentsReturned(seat, command.component, command.amount))


def return_trick(table: HallTable, seat: int, trick: int) -> None:
    """A Trick goes back to Dahlgaard; its markers leave the game, or go to the supply (TR-066, TR-C6)."""
    table.emit(TrickReturned(seat, trick, not table.hall.rulings.revised))
