"""Selling a set, step by step (AA-58 to AA-69), and when sets are looked for."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from guildhall.arcane_alley.v1.structs import (
    Cause,
    Decline,
    Declined,
    Phase,
    SellSet,
    SetSold,
    Slide,
    StorehouseSlid,
    UsePower,
    Wizard,
)
from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from services.arcane_alley import commands, scoring
from services.arcane_alley.asking import Ask, HallTable
from services.arcane_alley.content import content_of
from services.arcane_alley.geometry import LINES, SHAPES, SLIDES, bits, lines_after
from services.arcane_alley.hall import NOBODY, Hall, clockwise_from
from services.arcane_alley.sets import feline_sets, first_to_sell, is_natural, set_item
from services.arcane_alley.sold import resolve_sold


def start_sale(seat: int, lines: int, revealed: int = 0) -> Frame:
    """The frame that sells one of these sets: the only one, or the one that its owner chooses."""
    if lines & (lines - 1):
        return SaleOrder(seat, lines, revealed)
    return Sell(seat, lines.bit_length() - 1)


class SaleOrder(Ask, tag="sale_order"):
    """Which of several sets is sold first (AA-68, RES-8)."""

    lines: int
    """The sets to choose from, as a set of lines."""
    revealed: int
    """In an inspection: the sets made by revealing (see RevealedSets)."""

    ASKS: ClassVar[str] = "choose the set that you sell first"
    RULE: ClassVar[str] = "AA-68"
    EXPECTED: ClassVar[tuple[type, ...]] = (SellSet,)

    def options(self, hall: Hall, seat: int) -> Iterable[SellSet]:
        sets = commands.SELL_SETS[hall.shapes[seat]]
        return [sets[line] for line in bits(self.lines)]

    def default(self, hall: Hall, seat: int) -> SellSet:
        content, shape, storehouse = content_of(hall), hall.shapes[seat], hall.storehouses[seat]

        def gold(line: int) -> int:
            return content.gold[set_item(storehouse, LINES[shape][line], content, special_sets=True)]

        return commands.SELL_SETS[shape][max(bits(self.lines), key=gold)]

    def why_not(self, hall: Hall, seat: int, command: SellSet) -> Refusal:
        return Refusal("NO_SET", "That stack is no set that can be sold now.", "AA-54")

    def choose(self, table: HallTable, seat: int, command: SellSet) -> None:
        shape = table.hall.shapes[seat]
        line = commands.SELL_SETS[shape].index(command)
        table.then(Sell(seat, line))
        if table.hall.phase == Phase.INSPECTION:
            table.then(RevealedSets(seat, lines_after(shape, line, self.revealed)))


class Sell(Frame, tag="sell"):
    """Sells the set in a line, from its removal on."""

    seat: int
    line: int

    def run(self, table: HallTable) -> None:
        hall, content, seat = table.hall, table.content, self.seat
        shape, storehouse = hall.shapes[seat], hall.storehouses[seat]
        line = LINES[shape][self.line]
        item = set_item(storehouse, line, content, special_sets=True)
        natural = is_natural(storehouse, line)
        table.emit(SetSold(seat, item, line, not natural))
        copies = 3 if natural else 2
        if len(SLIDES[shape][self.line]) > 1:
            table.then(SlideChoice(seat, self.line, item, copies))
            return
        (direction,) = SLIDES[shape][self.line]
        slide_and_pay(table, seat, self.line, direction, item, copies)


class SlideChoice(Ask, tag="slide"):
    """How the storehouse closes up after a diagonal set (AA-62)."""

    line: int
    item: int
    """Of which item the set is, for the gold that follows."""
    copies: int
    """How many copies of it were in the set."""

    ASKS: ClassVar[str] = "slide your items together, vertically or horizontally"
    RULE: ClassVar[str] = "AA-62"
    EXPECTED: ClassVar[tuple[type, ...]] = (Slide,)

    def options(self, hall: Hall, seat: int) -> Iterable[Slide]:
        return commands.SLIDES

    def choose(self, table: HallTable, seat: int, command: Slide) -> None:
        slide_and_pay(table, seat, self.line, command.direction, self.item, self.copies)


def slide_and_pay(table: HallTable, seat: int, line: int, direction: int, item: int, copies: int) -> None:
    """Close the gap, gain the gold, then effect, Dafana's offer, and a look for Felines (AA-61 to AA-64)."""
    hall, content = table.hall, table.content
    slide = SLIDES[hall.shapes[seat]][line][direction]
    rows, columns = SHAPES[slide.shape]
    table.emit(StorehouseSlid(seat, rows, columns, slide.from_cells))
    gold = content.gold[item]
    if hall.powers and hall.wizards[seat] == Wizard.BYROS:
        if hall.rulings.byros_halved_separately:
            scoring.gain_gold(table, seat, gold, Cause.SET, item)
            scoring.gain_gold(table, seat, content.byros.amount, Cause.WIZARD)
        else:
            scoring.gain_gold(table, seat, gold + content.byros.amount, Cause.SET, item)
    else:
        scoring.gain_gold(table, seat, gold, Cause.SET, item)
    in_sell = hall.phase == Phase.SELL
    effect = in_sell and seat == hall.active
    if hall.rulings.dafana_before_effect:
        table.then(DafanaOffer(dafana_against(hall, seat)))
        if effect:
            table.then(SoldEffect(seat, item, copies))
    else:
        if effect:
            resolve_sold(table, seat, item, copies)
        table.then(DafanaOffer(dafana_against(hall, seat)))
    if in_sell:
        table.then(FelineSets())


class SoldEffect(Frame, tag="sold_effect"):
    """The "when sold" effect, where Dafana is asked before it."""

    seat: int
    item: int
    copies: int

    def run(self, table: HallTable) -> None:
        resolve_sold(table, self.seat, self.item, self.copies)


class FelineSets(Frame, tag="feline_sets"):
    """Sells what Felines make sets, in any storehouse: the active seat's first, then clockwise (RES-2)."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        for seat in clockwise_from(hall, hall.active):
            lines = feline_sets(hall, table.content, seat)
            if lines:
                # The sale ends with this question again.
                table.then(start_sale(seat, lines))
                return


class RevealedSets(Frame, tag="revealed_sets"):
    """Inspection: sells a seat's sets one after the other (AA-74, RES-42)."""

    seat: int
    revealed: int
    """The sets made by revealing that are still whole, as a set of lines."""

    def run(self, table: HallTable) -> None:
        hall, seat = table.hall, self.seat
        lines = self.revealed | feline_sets(hall, table.content, seat)
        if not lines:
            return
        lines = first_to_sell(hall, seat, lines, self.revealed)
        sale = start_sale(seat, lines, self.revealed)
        table.then(sale)
        if isinstance(sale, Sell):
            table.then(RevealedSets(seat, lines_after(hall.shapes[seat], sale.line, self.revealed)))


def dafana_against(hall: Hall, seller: int) -> int:
    """Dafana's seat, if she is there and another than the seller; else NOBODY."""
    if hall.powers and hall.wizards[seller] != Wizard.DAFANA and Wizard.DAFANA in hall.wizards:
        return hall.wizards.index(Wizard.DAFANA)
    return NOBODY


class DafanaOffer(Ask, tag="dafana"):
    """Dafana may spend gold to lose infamy when another player has sold a set (AA-207 to AA-209, RES-28)."""

    ASKS: ClassVar[str] = "use Dafana's power or decline"
    RULE: ClassVar[str] = "AA-207"
    EXPECTED: ClassVar[tuple[type, ...]] = ()

    def asked(self, hall: Hall) -> Sequence[int]:
        if self.seat == NOBODY or hall.gold[self.seat] < content_of(hall).dafana.gold:
            return ()
        return (self.seat,)

    def options(self, hall: Hall, seat: int) -> Iterable[UsePower | Decline]:
        return (commands.USE_POWER, commands.DECLINE)

    def default(self, hall: Hall, seat: int) -> Decline:
        return commands.DECLINE

    def choose(self, table: HallTable, seat: int, command: UsePower | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
            return
        power = table.content.dafana
        scoring.lose_gold(table, seat, power.gold, Cause.WIZARD)
        scoring.lose_infamy(table, seat, power.infamy, Cause.WIZARD)
