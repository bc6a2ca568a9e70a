"""Playing an item, from the moment it lies in its cell (AA-42 to AA-50): effect, sets, the item it replaced."""

from collections.abc import Iterable
from typing import ClassVar

from guildhall.arcane_alley.v1.structs import (
    BoomerangPlayed,
    BoomerangReturned,
    Cause,
    Discard,
    EffectSkipped,
    ItemDiscarded,
    PlayBoomerang,
    ReplacedItemDiscarded,
    ReplacedItemTaken,
    ResolveEffect,
    SkipEffect,
    Wizard,
)
from guildhall.kernel.cards import FRONT
from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from services.arcane_alley import commands, scoring
from services.arcane_alley.asking import Ask, HallTable
from services.arcane_alley.cells import open_cells, why_not_cell
from services.arcane_alley.content import Content, content_of
from services.arcane_alley.deck import after_discard
from services.arcane_alley.hall import REPLAYED, REVEALED, Hall, stash_of
from services.arcane_alley.played import resolve_played
from services.arcane_alley.sale import start_sale
from services.arcane_alley.sets import feline_sets, first_to_sell, sets_through


def go_on_playing(table: HallTable, seat: int, cell: int) -> None:
    """An item was put in a cell and the one there was taken out: first its "when played" effect."""
    hall = table.hall
    if table.content.played[hall.storehouses[seat][cell] & FRONT]:
        if hall.powers and hall.wizards[seat] == Wizard.MEEBLEMORE:
            table.then(UseEffect(seat, cell))
            return
        if resolve_played(table, seat, cell):
            table.then(SetCheck(seat, cell))
            return
    check_sets(table, seat, cell)


class UseEffect(Ask, tag="use_effect"):
    """Meeblemore may leave out the effect of the item he played (AA-202 to AA-204)."""

    cell: int

    ASKS: ClassVar[str] = "resolve the effect of the item you played, or skip all of it"
    RULE: ClassVar[str] = "AA-202"
    EXPECTED: ClassVar[tuple[type, ...]] = ()

    def options(self, hall: Hall, seat: int) -> Iterable[ResolveEffect | SkipEffect]:
        return (commands.RESOLVE_EFFECT, commands.SKIP_EFFECT)

    def choose(self, table: HallTable, seat: int, command: ResolveEffect | SkipEffect) -> None:
        if isinstance(command, SkipEffect):
            table.emit(EffectSkipped(seat, table.hall.storehouses[seat][self.cell] & FRONT))
        elif resolve_played(table, seat, self.cell):
            table.then(SetCheck(seat, self.cell))
            return
        check_sets(table, seat, self.cell)


class SetCheck(Frame, tag="set_check"):
    """The look for sets, after an effect that asked somebody."""

    seat: int
    cell: int

    def run(self, table: HallTable) -> None:
        check_sets(table, self.seat, self.cell)


def check_sets(table: HallTable, seat: int, cell: int) -> None:
    """Sell a set that the item played in a cell has made; then comes what it replaced (AA-43, AA-44)."""
    hall, content = table.hall, table.content
    made = sets_through(hall, content, seat, cell)
    lines = made | feline_sets(hall, content, seat)
    if lines:
        table.then(start_sale(seat, first_to_sell(hall, seat, lines, made)), Replaced(seat))
    else:
        send_replaced(table, seat)


class Replaced(Frame, tag="replaced"):
    """What becomes of the item taken out, after a sale."""

    seat: int

    def run(self, table: HallTable) -> None:
        send_replaced(table, self.seat)


def send_replaced(table: HallTable, seat: int) -> None:
    """The item taken out returns (Boomerang), goes to the stash (two players, hidden), or to the discard."""
    hall, content = table.hall, table.content
    card = hall.taken[0]
    item = card & FRONT
    if item in content.returning and boomerang_cells(hall, content, seat):
        table.emit(BoomerangReturned(seat, item))
        table.then(BoomerangCell(seat))
    elif len(hall.gold) == 2 and not card & REVEALED:
        table.emit(ReplacedItemTaken(seat, item))
        table.then(DiscardOne(seat))
    else:
        table.emit(ReplacedItemDiscarded(seat, item))
        if card & REVEALED and content.lost_if_replaced[item]:
            scoring.lose_infamy(table, seat, content.lost_if_replaced[item], Cause.REPLACED, item)
        after_discard(table)


def boomerang_cells(hall: Hall, content: Content, seat: int) -> list[int]:
    """Where a Boomerang that returned can be played; the same on every viewer's hall (RES-15, RES-16)."""
    storehouse = hall.storehouses[seat]
    return [cell for cell in open_cells(hall, content, seat) if not storehouse[cell] & REPLAYED]


class BoomerangCell(Ask, tag="boomerang"):
    """Where the Boomerang that returned is played (AA-166 to AA-168)."""

    FORCED: ClassVar[bool] = True
    ASKS: ClassVar[str] = "play the Magic Boomerang in your storehouse"
    RULE: ClassVar[str] = "AA-168"
    EXPECTED: ClassVar[tuple[type, ...]] = (PlayBoomerang,)

    def options(self, hall: Hall, seat: int) -> Iterable[PlayBoomerang]:
        return [commands.BOOMERANGS[cell] for cell in boomerang_cells(hall, content_of(hall), seat)]

    def default(self, hall: Hall, seat: int) -> PlayBoomerang:
        storehouse = hall.storehouses[seat]
        cells = boomerang_cells(hall, content_of(hall), seat)
        return commands.BOOMERANGS[next((cell for cell in cells if not storehouse[cell] & REVEALED), cells[0])]

    def why_not(self, hall: Hall, seat: int, command: PlayBoomerang) -> Refusal:
        storehouse = hall.storehouses[seat]
        if command.cell < len(storehouse) and storehouse[command.cell] & REPLAYED:
            return Refusal("ALREADY_REPLAYED", "The Boomerang there was already played again in this turn.", "RES-15")
        return why_not_cell(hall, content_of(hall), seat, command.cell)

    def choose(self, table: HallTable, seat: int, command: PlayBoomerang) -> None:
        table.emit(BoomerangPlayed(seat, command.cell))
        go_on_playing(table, seat, command.cell)


class DiscardOne(Ask, tag="discard"):
    """Two players: which item of the stash is discarded for the hidden one that was taken (AA-224, AA-225)."""

    ASKS: ClassVar[str] = "discard an item of your stash"
    RULE: ClassVar[str] = "AA-224"
    EXPECTED: ClassVar[tuple[type, ...]] = (Discard,)

    def options(self, hall: Hall, seat: int) -> Iterable[Discard]:
        return [commands.DISCARDS[item] for item in stash_of(hall, seat)]

    def default(self, hall: Hall, seat: int) -> Discard:
        return commands.DISCARDS[hall.drawn[0] & FRONT]

    def why_not(self, hall: Hall, seat: int, command: Discard) -> Refusal:
        return Refusal("NOT_IN_STASH", "You have no such item in your stash.", "AA-225")

    def choose(self, table: HallTable, seat: int, command: Discard) -> None:
        table.emit(ItemDiscarded(seat, command.item))
        after_discard(table)
