"""Special cards in use: the bonus that a Character has, and what the next action is with it (TR-D12 to TR-D15).

A card that acts on an action is a Bonus: which commands that action has with it, and what they do. What the words of a
card say is done by the Bonus of its action, which is the same for all such cards; a card with a case has its own. Those
of each Location are in its own file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from guildhall.kernel.frames import Frame
from guildhall.trickerion.v1.structs import BonusSpent, Cause
from services.trickerion import money
from services.trickerion.asking import HallTable
from services.trickerion.content import AssignmentCard, Content
from services.trickerion.dark_alley.evolve import alley_of
from services.trickerion.dark_alley.prophecies import in_force
from services.trickerion.hall import Hall


@dataclass(frozen=True)
class Bonus:
    """What a special card makes of the action in its frame."""

    options: Callable[[Hall, Content, int], list[Any]]
    """The commands with which a seat can do that action now."""
    act: Callable[[HallTable, int, Any], Sequence[Frame]]
    """Carry one out; what is asked before the placement goes on."""


def armed_card(hall: Hall, content: Content) -> AssignmentCard:
    """The special card with which the action that is going on is done; a neutral one where none is."""
    alley = alley_of(hall)
    return content.assignments[alley.bonus if alley.armed else 0]


def gain_counted_fame(table: HallTable, seat: int, each: str, count: int) -> None:
    """The Fame that the special card in use gives for this, of which there were so many (TR-AD52)."""
    card = armed_card(table.hall, table.content)
    if card.fame_each == each:
        money.gain_fame(table, seat, max(0, count - card.fame_less), Cause.SPECIAL)


def usual_costs(hall: Hall, content: Content) -> Sequence[int]:
    """What each action costs without a special card: action points by Action (TR-D95, TR-D102, TR-D114, TR-D115)."""
    printed = content.action_ap[hall.rulings.revised]
    changed = in_force(hall, content).action_ap
    return [changed.get(action, ap) for action, ap in enumerate(printed)] if changed else printed


def bonus_ap(hall: Hall, content: Content) -> int:
    """What the action in the frame of the Character's special card costs with it (TR-AD9)."""
    card = content.assignments[alley_of(hall).bonus]
    return max(0, usual_costs(hall, content)[card.action] - card.save_ap)


class BonusDone(Frame, tag="bonus_done"):
    """The action with the bonus is over: the bonus is used up."""

    seat: int

    def run(self, table: HallTable) -> None:
        table.emit(BonusSpent(self.seat))
