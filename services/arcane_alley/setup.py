"""Setup: the starting player, the wizards, then the rounds (AA-08, AA-12, RES-36)."""

from collections.abc import Iterable
from typing import ClassVar

from guildhall.arcane_alley.v1.structs import PickWizard, StartingTokenGiven, Wizard, WizardTaken
from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from services.arcane_alley import commands
from services.arcane_alley.asking import Ask, HallTable
from services.arcane_alley.bribe import BribePhase
from services.arcane_alley.hall import NOBODY, Hall, turn_order
from services.arcane_alley.inspection import Inspection
from services.arcane_alley.sell import SellPhase
from services.arcane_alley.stock import Stock


class Setup(Frame, tag="setup"):
    """Who begins, and who is which wizard."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        first = table.rng.below(len(hall.gold)) if hall.given_first == NOBODY else hall.given_first
        table.emit(StartingTokenGiven(first))
        picks: list[Frame] = []
        if hall.powers:
            if hall.given_wizards:
                for seat, wizard in enumerate(hall.given_wizards):
                    table.emit(WizardTaken(seat, wizard))
            elif hall.rulings.random_wizards:
                deal = table.rng.shuffle([wizard for wizard in Wizard if wizard])
                for seat, wizard in zip(turn_order(hall), deal, strict=False):
                    table.emit(WizardTaken(seat, wizard))
            else:
                picks = [WizardPick(seat) for seat in turn_order(hall)]
        table.then(*picks, Round())


class WizardPick(Ask, tag="pick_wizard"):
    """A seat picks its wizard."""

    ASKS: ClassVar[str] = "pick a wizard"
    RULE: ClassVar[str] = "AA-08"
    EXPECTED: ClassVar[tuple[type, ...]] = (PickWizard,)

    def options(self, hall: Hall, seat: int) -> Iterable[PickWizard]:
        return [commands.PICK_WIZARDS[wizard] for wizard in Wizard if wizard and wizard not in hall.wizards]

    def why_not(self, hall: Hall, seat: int, command: PickWizard) -> Refusal:
        if command.wizard:
            return Refusal("WIZARD_TAKEN", "Another player has that wizard.", "AA-08")
        return Refusal("NO_WIZARD", "Name a wizard.", "AA-08")

    def choose(self, table: HallTable, seat: int, command: PickWizard) -> None:
        table.emit(WizardTaken(seat, command.wizard))


class Round(Frame, tag="round"):
    """A round's phases, and the next round; the third inspection ends the game (AA-24)."""

    def run(self, table: HallTable) -> None:
        table.then(Stock(), SellPhase(), Inspection(), BribePhase(), Round())
