"""The Bribe phase and the end of a round (AA-88 to AA-92)."""

from collections.abc import Iterable
from typing import ClassVar

from guildhall.arcane_alley.v1.structs import (
    Bribe,
    BribeStarted,
    Cause,
    Decline,
    Declined,
    StartingTokenGiven,
    TurnTrackerMoved,
)
from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from services.arcane_alley import commands, scoring
from services.arcane_alley.asking import Ask, HallTable
from services.arcane_alley.hall import Hall, turn_order


class BribePhase(Frame, tag="bribe_phase"):
    """The round marker advances; each seat may bribe in turn order."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        table.emit(BribeStarted(hall.round + 1))
        table.then(*(BribeOffer(seat) for seat in turn_order(hall)), EndRound())


class BribeOffer(Ask, tag="bribe"):
    """A seat bribes once or passes; one that cannot pay passes (AA-88 to AA-91)."""

    FORCED: ClassVar[bool] = True
    ASKS: ClassVar[str] = "bribe or decline"
    RULE: ClassVar[str] = "AA-88"
    EXPECTED: ClassVar[tuple[type, ...]] = (Bribe,)

    def options(self, hall: Hall, seat: int) -> Iterable[Bribe | Decline]:
        points = min(hall.infamy[seat], hall.gold[seat] // 2)
        return [*commands.BRIBES[1 : points + 1], commands.DECLINE]

    def default(self, hall: Hall, seat: int) -> Decline:
        return commands.DECLINE

    def why_not(self, hall: Hall, seat: int, command: Bribe) -> Refusal:
        if command.gold % 2 or not command.gold:
            return Refusal("ODD_BRIBE", "A bribe is an even amount of gold, 2 at least.", "AA-89")
        if command.gold > hall.gold[seat]:
            return Refusal("NOT_ENOUGH_GOLD", f"You have {hall.gold[seat]} gold.", "AA-90")
        return Refusal("BRIBE_TOO_HIGH", f"You have {hall.infamy[seat]} infamy to bribe away.", "AA-91")

    def choose(self, table: HallTable, seat: int, command: Bribe | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
            return
        scoring.lose_gold(table, seat, command.gold, Cause.BRIBE)
        scoring.lose_infamy(table, seat, command.gold // 2, Cause.BRIBE)


class EndRound(Frame, tag="end_round"):
    """The starting token passes left (AA-92); two players: the turn tracker goes back to 1 (AA-222)."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        table.emit(StartingTokenGiven((hall.starting + 1) % len(hall.gold)))
        if hall.turn:
            table.emit(TurnTrackerMoved(1))
