"""What the kernel needs to know of Trickerion."""

from typing import Final

from guildhall.kernel.rules import Rules
from guildhall.trickerion.v1 import structs
from services.trickerion import (
    actions,
    assign,
    downtown,
    end_turn,
    hooks,
    performance,
    place,
    scoring,
    set_up,
    theater,
    turn,
)
from services.trickerion.dark_alley.evolve import EVOLVE as DARK_ALLEY_EVOLVE
from services.trickerion.dark_alley.frames import FRAMES as DARK_ALLEY_FRAMES
from services.trickerion.dark_alley.hooks import DarkAlleyHooks
from services.trickerion.evolve import EVOLVE
from services.trickerion.hall import Hall, new_hall
from services.trickerion.options import OPTIONS, check_setup
from services.trickerion.packs import PACK_HASH, PACKS
from services.trickerion.rulings import RULINGS
from services.trickerion.scoring import ranks
from services.trickerion.view import view

hooks.extend(DarkAlleyHooks())

RULES: Final = Rules(
    game="trickerion",
    version="1",
    seats=range(2, 5),
    options=OPTIONS,
    rulings=RULINGS,
    frames=(
        set_up.SetUp,
        set_up.MagicianChoice,
        set_up.StartingComponents,
        set_up.StartingTrick,
        set_up.SpecialistChoice,
        set_up.ManagerComponents,
        set_up.EngineerTrick,
        set_up.SetUpDone,
        turn.Turn,
        turn.NextTurn,
        turn.RollDice,
        turn.SetInitiative,
        turn.AdvertisePhase,
        turn.AdvertiseOffer,
        assign.Assignment,
        assign.AssignAll,
        place.PlaceCharacters,
        place.PlaceRound,
        place.PlaceTurn,
        actions.Act,
        actions.PlacementOver,
        downtown.TrickSlot,
        downtown.TrickSymbol,
        theater.RescheduleTo,
        theater.LinkBonus,
        performance.Performance,
        performance.PerformanceDay,
        performance.ChooseCard,
        performance.PayYields,
        end_turn.EndTurn,
        end_turn.JoinHired,
        end_turn.House,
        end_turn.RestOfEndTurn,
        scoring.FinalScoring,
        *DARK_ALLEY_FRAMES,
    ),
    hall=Hall,
    wire=structs,
    packs=PACKS,
    pack_hash=PACK_HASH,
    new_hall=new_hall,
    first=set_up.SetUp,
    evolve=EVOLVE | DARK_ALLEY_EVOLVE,
    view=view,
    ranks=ranks,
    check_setup=check_setup,
)
"""The rules of Trickerion."""
