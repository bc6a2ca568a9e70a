"""A turn: its phases in order, and the first three of them: dice, initiative, Advertise (TR-034 to TR-042)."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from guildhall.kernel.frames import Frame
from guildhall.trickerion.v1.structs import (
    Advertise,
    Advertised,
    Cause,
    Decline,
    Declined,
    DiceRolled,
    InitiativeSet,
    Phase,
    PhaseStarted,
)
from services.trickerion import commands, money
from services.trickerion.asking import Ask, HallTable, content_of
from services.trickerion.assign import Assignment
from services.trickerion.end_turn import EndTurn
from services.trickerion.hall import Hall, initiative_slot
from services.trickerion.performance import Performance
from services.trickerion.place import PlaceCharacters
from services.trickerion.scoring import FinalScoring


class Turn(Frame, tag="turn"):
    """A turn's phases (TR-034)."""

    turn: int

    def run(self, table: HallTable) -> None:
        table.then(
            RollDice(self.turn),
            SetInitiative(),
            AdvertisePhase(),
            Assignment(),
            PlaceCharacters(),
            Performance(),
            EndTurn(),
            NextTurn(self.turn),
        )


class NextTurn(Frame, tag="next_turn"):
    """After the turn with this number the next one follows, or final scoring (TR-146)."""

    played: int

    def run(self, table: HallTable) -> None:
        last = self.played == table.content.turns[table.hall.dark_alley]
        table.then(FinalScoring() if last else Turn(self.played + 1))


class RollDice(Frame, tag="roll_dice"):
    """All dice of Downtown are rolled (TR-035)."""

    turn: int

    def run(self, table: HallTable) -> None:
        table.emit(PhaseStarted(Phase.ROLL_DICE, self.turn))
        dice = table.content.dice
        table.emit(DiceRolled(tuple([die.faces[table.rng.below(len(die.faces))] for die in dice])))


class SetInitiative(Frame, tag="set_initiative"):
    """From turn 2 on ascending Fame; ties stand in the reverse of their order before (TR-037 to TR-039)."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        if hall.turn == 1:
            return
        table.emit(PhaseStarted(Phase.SET_INITIATIVE, hall.turn))
        behind_first = hall.initiative[::-1]
        table.emit(InitiativeSet(tuple(sorted(behind_first, key=hall.fame.__getitem__))))


class AdvertisePhase(Frame, tag="advertise_phase"):
    """Each seat once, in initiative order (TR-040, TR-A34)."""

    def run(self, table: HallTable) -> None:
        table.emit(PhaseStarted(Phase.ADVERTISE, table.hall.turn))
        table.then(*(AdvertiseOffer(seat) for seat in table.hall.initiative))


class AdvertiseOffer(Ask, tag="advertise"):
    """Coins as the number of the own initiative slot, for Fame (TR-041, TR-042); who is too poor is not asked."""

    ASKS: ClassVar[str] = "advertise or decline"
    RULE: ClassVar[str] = "TR-040"
    EXPECTED: ClassVar[tuple[type, ...]] = (Advertise, Decline)

    def asked(self, hall: Hall) -> Sequence[int]:
        price = initiative_slot(hall, content_of(hall), self.seat)
        return (self.seat,) if hall.coins[self.seat] >= price else ()

    def options(self, hall: Hall, seat: int) -> Iterable[Advertise | Decline]:
        return (commands.ADVERTISE, commands.DECLINE)

    def default(self, hall: Hall, seat: int) -> Decline:
        return commands.DECLINE

    def choose(self, table: HallTable, seat: int, command: Advertise | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
            return
        money.pay_coins(table, seat, initiative_slot(table.hall, table.content, seat), Cause.ADVERTISE)
        table.emit(Advertised(seat))
        money.gain_fame(table, seat, table.content.advertise_fame, Cause.ADVERTISE)
