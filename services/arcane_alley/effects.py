"""The step that every timing of effects knows: a gain of infamy."""

from services.arcane_alley import scoring
from services.arcane_alley.asking import HallTable
from services.arcane_alley.effect_steps import GainInfamy
from services.arcane_alley.hall import turn_order

NO_PLAYER = -1
"""No player was chosen."""


def gain_infamy(table: HallTable, step: GainInfamy, seat: int, item: int, cause: int, chosen: int) -> None:
    """The owner, the chosen player, or all others in turn order gain infamy (RES-51)."""
    if step.who == "others":
        for other in turn_order(table.hall):
            if other != seat:
                scoring.gain_infamy(table, other, step.amount, cause, item)
    else:
        scoring.gain_infamy(table, seat if step.who == "self" else chosen, step.amount, cause, item)
