"""The Inspection phase, step by step (AA-70 to AA-87), and the powers that act in it."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from guildhall.arcane_alley.v1.structs import (
    Cause,
    ChooseItem,
    Decline,
    Declined,
    InfamyCounted,
    InspectionStarted,
    ItemSetAside,
    ItemsRevealed,
    MarkersRemoved,
    SetAside,
    Wizard,
)
from guildhall.kernel.cards import FRONT
from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from services.arcane_alley import commands, scoring
from services.arcane_alley.asking import Ask, HallTable
from services.arcane_alley.content import content_of
from services.arcane_alley.hall import EMPTY, NOBODY, Hall, hidden_cells, turn_order
from services.arcane_alley.sale import RevealedSets
from services.arcane_alley.sets import sets_with

ROUNDS = 3
TRIGGER_PENALTY = 10
"""Infamy that the triggering player gains unless no other gained less (AA-78)."""
FINE = 25
"""Gold for each fine marker (AA-80, AA-81)."""


class Inspection(Frame, tag="inspection"):
    """All steps in their order (RES-30, RES-40)."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        table.emit(InspectionStarted())
        order = turn_order(hall)
        rulings = hall.rulings
        steps: list[Frame] = []
        if rulings.glynna_first:
            steps += [GlynnaOffer(seat) for seat in order if has(hall, seat, Wizard.GLYNNA)]
        for seat in order:
            if has(hall, seat, Wizard.GLYNNA) and not rulings.glynna_first:
                steps.append(GlynnaOffer(seat))
            steps.append(Reveal(seat))
            if rulings.seat_by_seat:
                steps.append(Count(seat))
        if not rulings.seat_by_seat:
            steps += [Count(seat) for seat in order]
        table.then(*steps, Judge())


def has(hall: Hall, seat: int, wizard: Wizard) -> bool:
    """Whether a seat has this wizard's power."""
    return hall.powers and hall.wizards[seat] == wizard


class GlynnaOffer(Ask, tag="glynna"):
    """Glynna may remove one hidden item, unseen, before she reveals (AA-199 to AA-201)."""

    ASKS: ClassVar[str] = "set aside a hidden item or decline"
    RULE: ClassVar[str] = "AA-199"
    EXPECTED: ClassVar[tuple[type, ...]] = (SetAside,)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if hidden_cells(hall, self.seat) else ()

    def options(self, hall: Hall, seat: int) -> Iterable[SetAside | Decline]:
        return [*(commands.SET_ASIDES[cell] for cell in hidden_cells(hall, seat)), commands.DECLINE]

    def default(self, hall: Hall, seat: int) -> Decline:
        return commands.DECLINE

    def why_not(self, hall: Hall, seat: int, command: SetAside) -> Refusal:
        return Refusal("NOT_HIDDEN", "There is no hidden item in that cell.", "AA-199")

    def choose(self, table: HallTable, seat: int, command: SetAside | Decline) -> None:
        if isinstance(command, SetAside):
            table.emit(ItemSetAside(seat, command.cell))
        else:
            table.emit(Declined(seat))


class Reveal(Frame, tag="reveal"):
    """A seat turns up all its hidden items and sells the sets that this makes (AA-73, AA-74)."""

    seat: int

    def run(self, table: HallTable) -> None:
        hall, seat = table.hall, self.seat
        cells = hidden_cells(hall, seat)
        if cells:
            storehouse = hall.storehouses[seat]
            table.emit(ItemsRevealed(seat, tuple(cells), tuple(storehouse[cell] & FRONT for cell in cells)))
        table.then(RevealedSets(seat, sets_with(hall, table.content, seat, cells)))


class Count(Frame, tag="count"):
    """A seat gains, or loses, the infamy of its remaining items (AA-76, AA-77); then Ninx has her choice."""

    seat: int

    def run(self, table: HallTable) -> None:
        hall, seat, content = table.hall, self.seat, table.content
        items = [card & FRONT for card in hall.storehouses[seat] if card != EMPTY]
        total = sum(content.infamy[item] for item in items)
        table.emit(InfamyCounted(seat, total))
        if total > 0:
            scoring.gain_infamy(table, seat, total, Cause.INSPECTION)
        else:
            scoring.lose_infamy(table, seat, -total, Cause.INSPECTION)
        if items and has(hall, seat, Wizard.NINX) and (total > 0 or hall.rulings.ninx_always):
            table.then(NinxItem(seat))


class NinxItem(Ask, tag="ninx"):
    """Ninx chooses the remaining item whose infamy is her gold (AA-210 to AA-212, RES-27)."""

    FORCED: ClassVar[bool] = True
    ASKS: ClassVar[str] = "choose an item left in your storehouse"
    RULE: ClassVar[str] = "AA-210"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseItem,)

    def options(self, hall: Hall, seat: int) -> Iterable[ChooseItem]:
        items = dict.fromkeys(card & FRONT for card in hall.storehouses[seat] if card != EMPTY)
        return [commands.CHOOSE_ITEMS[item] for item in items]

    def default(self, hall: Hall, seat: int) -> ChooseItem:
        infamy = content_of(hall).infamy
        return max(self.options(hall, seat), key=lambda option: infamy[option.item])

    def why_not(self, hall: Hall, seat: int, command: ChooseItem) -> Refusal:
        return Refusal("NOT_IN_STOREHOUSE", "That item is not left in your storehouse.", "AA-210")

    def choose(self, table: HallTable, seat: int, command: ChooseItem) -> None:
        infamy = table.content.infamy[command.item]
        if infamy > 0:
            scoring.gain_gold(table, seat, infamy, Cause.WIZARD, command.item)
        else:
            scoring.lose_gold(table, seat, -infamy, Cause.WIZARD, command.item)


class Judge(Frame, tag="judge"):
    """The trigger's penalty, fines, and after the third inspection the end (AA-78 to AA-86)."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        if hall.trigger != NOBODY:
            # Every seat has counted by now.
            totals = [total or 0 for total in hall.counted]
            if not hall.rulings.signed_least:
                totals = [max(total, 0) for total in totals]
            if totals[hall.trigger] > min(totals):
                scoring.gain_infamy(table, hall.trigger, TRIGGER_PENALTY, Cause.TRIGGER)
        for seat in turn_order(hall):
            markers = hall.markers[seat]
            if markers:
                table.emit(MarkersRemoved(seat, markers))
                scoring.lose_gold(table, seat, FINE * markers, Cause.FINE)
        if hall.round == ROUNDS:
            table.end()
