""" "When sold" effects (AA-117 to AA-120), and the choices that they ask for."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from guildhall.arcane_alley.v1.structs import (
    Cause,
    ChoosePlayer,
    DollPlaced,
    ItemsAddedToStash,
    LoseInfamy,
    PlaceDoll,
)
from guildhall.kernel.cards import FRONT
from guildhall.kernel.frames import Back
from guildhall.kernel.refusal import Refusal
from services.arcane_alley import commands, effects, scoring
from services.arcane_alley.asking import Ask, HallTable
from services.arcane_alley.cells import no_such_cell
from services.arcane_alley.deck import after_discard, after_draw, ready_to_draw
from services.arcane_alley.effect_steps import ChoosePlayer as ChoosePlayerStep
from services.arcane_alley.effect_steps import (
    DrawToStash,
    GainGold,
    GainInfamy,
    LoseOrGiveInfamy,
    PlaceSoldCopies,
    Step,
)
from services.arcane_alley.hall import Hall, clockwise_from, hidden_cells, turn_order


def resolve_sold(
    table: HallTable, seat: int, item: int, copies: int, at: int = 0, chosen: int = effects.NO_PLAYER
) -> None:
    """Resolve the effect of a sold set from step `at` on; `copies` of the item were in the set."""
    steps = table.content.sold[item]
    for index in range(at, len(steps)):
        step = steps[index]
        if isinstance(step, ChoosePlayerStep):
            asks = PlayerChoice(seat, step.among == "others", step.by_default == "least_gold")
            table.call(asks, AfterChoice(seat, item, copies, index + 1))
            return
        _SOLD[type(step)](table, step, seat, item, copies, chosen)


class AfterChoice(Back, tag="after_choice"):
    """The rest of a sold effect, once its player is chosen."""

    seat: int
    item: int
    copies: int
    at: int

    def got(self, table: HallTable, value: int) -> None:
        resolve_sold(table, self.seat, self.item, self.copies, self.at, value)


def _gain_infamy(table: HallTable, step: GainInfamy, seat: int, item: int, copies: int, chosen: int) -> None:
    effects.gain_infamy(table, step, seat, item, Cause.SOLD, chosen)


def _gain_gold(table: HallTable, step: GainGold, seat: int, item: int, copies: int, chosen: int) -> None:
    scoring.gain_gold(table, seat if step.who == "self" else chosen, step.amount, Cause.SOLD, item)


def _lose_or_give(table: HallTable, step: LoseOrGiveInfamy, seat: int, item: int, copies: int, chosen: int) -> None:
    table.then(Cauldron(seat, item, step.lose, step.give))


def _draw_to_stash(table: HallTable, step: DrawToStash, seat: int, item: int, copies: int, chosen: int) -> None:
    for _ in range(step.count):
        if ready_to_draw(table):
            table.emit(ItemsAddedToStash(seat, 1, (table.hall.deck[-1] & FRONT,)))
            after_draw(table)


def _place_copies(table: HallTable, step: PlaceSoldCopies, seat: int, item: int, copies: int, chosen: int) -> None:
    table.then(DollCell(seat, copies, []))


_SOLD: dict[type[Step], Callable[[HallTable, Any, int, int, int, int], None]] = {
    GainInfamy: _gain_infamy,
    GainGold: _gain_gold,
    LoseOrGiveInfamy: _lose_or_give,
    DrawToStash: _draw_to_stash,
    PlaceSoldCopies: _place_copies,
}


class PlayerChoice(Ask, tag="choose_player"):
    """Whom the sold set is for; gives the chosen seat (AA-143, AA-161)."""

    others_only: bool
    gift: bool
    """Whether the effect does good: the clock would then choose the poorest, else the most infamous."""

    FORCED: ClassVar[bool] = True
    ASKS: ClassVar[str] = "choose a player"
    RULE: ClassVar[str] = "AA-103"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChoosePlayer,)

    def options(self, hall: Hall, seat: int) -> Iterable[ChoosePlayer]:
        return [
            commands.PLAYERS[other] for other in range(len(hall.gold)) if other != self.seat or not self.others_only
        ]

    def default(self, hall: Hall, seat: int) -> ChoosePlayer:
        others = clockwise_from(hall, self.seat)[1:]
        if self.gift:
            return commands.PLAYERS[min(others, key=hall.gold.__getitem__)]
        return commands.PLAYERS[max(others, key=hall.infamy.__getitem__)]

    def why_not(self, hall: Hall, seat: int, command: ChoosePlayer) -> Refusal:
        if command.target_seat == self.seat:
            return Refusal("NOT_YOURSELF", "You have to choose another player.", "AA-144")
        return no_such_seat(hall)

    def choose(self, table: HallTable, seat: int, command: ChoosePlayer) -> None:
        table.give(command.target_seat)


def no_such_seat(hall: Hall) -> Refusal:
    """A seat that the game has not."""
    return Refusal("NO_SUCH_SEAT", f"Seats are numbered from 0 to {len(hall.gold) - 1}.", "AA-103")


class Cauldron(Ask, tag="cauldron"):
    """Bubbling Cauldron: lose infamy, or let a player gain some (AA-130, RES-33)."""

    item: int
    lose: int
    give: int

    ASKS: ClassVar[str] = "lose infamy or choose a player who gains some"
    RULE: ClassVar[str] = "AA-131"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChoosePlayer,)

    def options(self, hall: Hall, seat: int) -> Iterable[LoseInfamy | ChoosePlayer]:
        return [commands.LOSE_INFAMY, *commands.PLAYERS[: len(hall.gold)]]

    def why_not(self, hall: Hall, seat: int, command: ChoosePlayer) -> Refusal:
        return no_such_seat(hall)

    def choose(self, table: HallTable, seat: int, command: LoseInfamy | ChoosePlayer) -> None:
        if isinstance(command, ChoosePlayer):
            scoring.gain_infamy(table, command.target_seat, self.give, Cause.SOLD, self.item)
        else:
            scoring.lose_infamy(table, seat, self.lose, Cause.SOLD, self.item)


class DollCell(Ask, tag="doll"):
    """Haunted Doll: where the next sold Doll goes, while one is left and can be placed (AA-156 to AA-159, RES-39)."""

    left: int
    """Dolls not yet placed."""
    done: list[int]
    """Seats that have their Doll."""

    FORCED: ClassVar[bool] = True
    ASKS: ClassVar[str] = "place a Doll on a hidden item of another player"
    RULE: ClassVar[str] = "AA-156"
    EXPECTED: ClassVar[tuple[type, ...]] = (PlaceDoll,)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if self.left and any(self._targets(hall)) else ()

    def _targets(self, hall: Hall) -> list[list[int]]:
        """The cells, by seat, on which a Doll can be placed."""
        return [
            hidden_cells(hall, other) if other != self.seat and other not in self.done else []
            for other in range(len(hall.gold))
        ]

    def options(self, hall: Hall, seat: int) -> Iterable[PlaceDoll]:
        return [commands.DOLLS[other][cell] for other, cells in enumerate(self._targets(hall)) for cell in cells]

    def default(self, hall: Hall, seat: int) -> PlaceDoll:
        targets = self._targets(hall)
        first = next(other for other in turn_order(hall) if targets[other])
        return commands.DOLLS[first][targets[first][0]]

    def why_not(self, hall: Hall, seat: int, command: PlaceDoll) -> Refusal:
        other = command.target_seat
        if other >= len(hall.gold):
            return no_such_seat(hall)
        if other == self.seat:
            return Refusal("NOT_YOURSELF", "Dolls go to other players' storehouses.", "AA-156")
        if other in self.done:
            return Refusal("HAS_A_DOLL", "Each storehouse gets one Doll at most.", "AA-157")
        if not hidden_cells(hall, other):
            return Refusal("NOTHING_HIDDEN", "That player has no hidden items.", "AA-159")
        if command.cell >= len(hall.storehouses[other]):
            return no_such_cell(hall, other)
        return Refusal("NOT_HIDDEN", "A Doll replaces a hidden item.", "AA-156")

    def choose(self, table: HallTable, seat: int, command: PlaceDoll) -> None:
        other, cell = command.target_seat, command.cell
        table.emit(DollPlaced(seat, other, cell, table.hall.storehouses[other][cell] & FRONT))
        after_discard(table)
        table.then(DollCell(seat, self.left - 1, [*self.done, other]))
