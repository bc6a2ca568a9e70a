"""What the kernel needs to know of Arcane Alley."""

from typing import Final

from guildhall.arcane_alley.v1 import structs
from guildhall.kernel.rules import Rules
from services.arcane_alley import bribe, inspection, playing, sale, sell, setup, sold, specials, stock
from services.arcane_alley.content import PACK_HASH, PACKS
from services.arcane_alley.evolve import EVOLVE
from services.arcane_alley.hall import Hall, new_hall
from services.arcane_alley.options import OPTIONS, check_setup
from services.arcane_alley.played import PeekCell
from services.arcane_alley.rulings import RULINGS
from services.arcane_alley.view import view


def ranks(hall: Hall) -> list[int]:
    """Most gold first, then least infamy; seats equal in both share a rank (AA-84 to AA-86)."""
    scores = [(-gold, infamy) for gold, infamy in zip(hall.gold, hall.infamy, strict=True)]
    return [1 + sum(other < score for other in scores) for score in scores]


RULES: Final = Rules(
    game="arcane_alley",
    version="1",
    seats=range(2, 7),
    options=OPTIONS,
    rulings=RULINGS,
    frames=(
        setup.Setup,
        setup.WizardPick,
        setup.Round,
        stock.Stock,
        stock.RevealTwo,
        stock.RevealOne,
        stock.DealStashes,
        sell.SellPhase,
        sell.Draw,
        sell.Act,
        sell.EndTurn,
        playing.UseEffect,
        playing.SetCheck,
        playing.Replaced,
        playing.BoomerangCell,
        playing.DiscardOne,
        PeekCell,
        specials.LampPlay,
        specials.ChalicePlayer,
        specials.ChalicePlay,
        specials.WatchPlay,
        specials.LockboxSwap,
        sale.SaleOrder,
        sale.Sell,
        sale.SlideChoice,
        sale.SoldEffect,
        sale.FelineSets,
        sale.RevealedSets,
        sale.DafanaOffer,
        sold.AfterChoice,
        sold.PlayerChoice,
        sold.Cauldron,
        sold.DollCell,
        inspection.Inspection,
        inspection.GlynnaOffer,
        inspection.Reveal,
        inspection.Count,
        inspection.NinxItem,
        inspection.Judge,
        bribe.BribePhase,
        bribe.BribeOffer,
        bribe.EndRound,
    ),
    hall=Hall,
    wire=structs,
    packs=PACKS,
    pack_hash=PACK_HASH,
    new_hall=new_hall,
    first=setup.Setup,
    evolve=EVOLVE,
    view=view,
    ranks=ranks,
    check_setup=check_setup,
)
"""The rules of Arcane Alley."""
