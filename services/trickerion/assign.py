"""Assignment: everybody at once puts cards from hand facedown under Characters (TR-043 to TR-046)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from guildhall.kernel.cards import FRONT
from guildhall.kernel.families import Family, Limit, Slot
from guildhall.kernel.frames import Frame, Together
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import Assign, Member, Phase, PhaseStarted
from services.trickerion import hooks
from services.trickerion.asking import HallTable
from services.trickerion.hall import ABSENT, MEMBERS, Hall

_NAMES = {member: Member(member).name.lower() for member in MEMBERS}


class Assignment(Frame, tag="assignment"):
    """The phase begins."""

    def run(self, table: HallTable) -> None:
        table.emit(PhaseStarted(Phase.ASSIGNMENT, table.hall.turn))
        table.then(AssignAll())


def team(hall: Hall, seat: int) -> list[int]:
    """The members of a seat's team, in the order of their numbers."""
    posts = hall.posts[seat]
    return [member for member in MEMBERS if posts[member] != ABSENT]


@lru_cache(maxsize=4096)
def assignments(hand: tuple[int, ...], members: tuple[int, ...]) -> Family:
    """Every way to put cards of a hand (fronts, sorted) under members, at most one under each."""
    kinds = tuple(sorted(set(hand)))
    slots = tuple(Slot(_NAMES[member], (0, *kinds)) for member in members)
    few = [(kind, hand.count(kind)) for kind in kinds]
    limits = tuple(Limit(frozenset({kind}), count) for kind, count in few if count < len(members))
    return Family(Assign, "cards", slots, 0, len(members), limits)


class AssignAll(Together, tag="assign"):
    """All seats; what they have put is secret until all are done, and may be changed until then."""

    REVISABLE: ClassVar[bool] = True

    def asked(self, hall: Hall) -> Sequence[int]:
        return range(len(hall.fame))

    def options(self, hall: Hall, seat: int) -> Sequence[Family]:
        hand = tuple(sorted([card & FRONT for card in hall.hands[seat]]))
        return (assignments(hand, tuple(team(hall, seat))),)

    def default(self, hall: Hall, seat: int) -> Assign:
        return Assign((0,) * len(team(hall, seat)))

    def why(self, hall: Hall, seat: int, command: object) -> Refusal:
        if not isinstance(command, Assign):
            return Refusal("ANOTHER_DECISION", "You have to assign cards to your Characters now.", "TR-043")
        if len(command.cards) != len(team(hall, seat)):
            return Refusal("ONE_FOR_EACH", "Say for each of your Characters which card lies under it, or 0.", "TR-043")
        return Refusal("NOT_IN_HAND", "You do not have all those cards in hand.", "TR-043")

    def all_in(self, table: HallTable, answers: dict[int, Assign]) -> None:
        for seat in table.hall.initiative:
            under = zip(team(table.hall, seat), answers[seat].cards, strict=True)
            assigned = [(member, card) for member, card in under if card]
            members = tuple(member for member, _ in assigned)
            hooks.of(table.hall).cards_assigned(table, seat, members, tuple(card for _, card in assigned))
