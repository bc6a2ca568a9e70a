"""All frames of the Dark Alley."""

from typing import Final

from guildhall.kernel.frames import Frame
from services.trickerion.dark_alley import (
    cards,
    downtown_cards,
    location,
    market_cards,
    performing,
    placing,
    theater_cards,
    workshop_cards,
)

FRAMES: Final[tuple[type[Frame], ...]] = (
    cards.BonusDone,
    placing.SpecialUse,
    placing.CopyOffer,
    location.KeepCard,
    theater_cards.SwapOffer,
    workshop_cards.SpareParts,
    workshop_cards.UseUp,
    workshop_cards.OnStage,
    workshop_cards.Talent,
    downtown_cards.SecondApprentice,
    downtown_cards.HouseNow,
    downtown_cards.Motivate,
    downtown_cards.Blueprint,
    downtown_cards.Overhaul,
    downtown_cards.OverhaulSlot,
    downtown_cards.Invest,
    market_cards.Sale,
    market_cards.Barter,
    market_cards.Restock,
    market_cards.Merchants,
    performing.BreakFree,
    performing.Possession,
    performing.Premiere,
    performing.Steal,
    performing.AskOrders,
    performing.OrderOffer,
    performing.Durable,
)
