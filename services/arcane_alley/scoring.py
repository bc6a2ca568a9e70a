"""The doors for gold and infamy: every gain and loss is one of these four (AA-13 to AA-21, AA-187 to AA-189)."""

from guildhall.arcane_alley.v1.structs import GoldGained, GoldLost, InfamyGained, InfamyLost
from guildhall.kernel.table import Table
from services.arcane_alley.content import Content
from services.arcane_alley.hall import Hall

MAX_INFAMY = 24
MAX_MARKERS = 2


def swords(hall: Hall, content: Content, seat: int) -> int:
    """How many revealed Swords lie in a storehouse."""
    return sum(hall.storehouses[seat].count(sword) for sword in content.halving)


def gain_gold(table: Table[Hall], seat: int, amount: int, cause: int, item: int = 0) -> None:
    """A gain of gold, halved by the seat's revealed Swords (RES-12)."""
    hall = table.hall
    halvings = swords(hall, table.content, seat)
    if halvings > 1 and not hall.rulings.sword_stacks:
        halvings = 1
    gained = amount >> halvings
    if gained:
        table.emit(GoldGained(seat, gained, hall.gold[seat] + gained, cause, item, amount))


def lose_gold(table: Table[Hall], seat: int, amount: int, cause: int, item: int = 0) -> None:
    """A loss of gold, of no more than there is (AA-13)."""
    gold = table.hall.gold[seat]
    lost = min(amount, gold)
    if lost:
        table.emit(GoldLost(seat, lost, gold - lost, cause, item))


def gain_infamy(table: Table[Hall], seat: int, amount: int, cause: int, item: int = 0) -> None:
    """A gain of infamy: above 24 it goes round and brings a fine marker (AA-18, RES-9, RES-10)."""
    hall = table.hall
    infamy = hall.infamy[seat] + amount
    markers = hall.markers[seat]
    while infamy > MAX_INFAMY:
        if markers < MAX_MARKERS:
            markers += 1
        elif not hall.rulings.wrap_without_marker:
            infamy = MAX_INFAMY
            break
        infamy -= hall.rulings.infamy_lap
    table.emit(InfamyGained(seat, amount, infamy, markers, cause, item))


def lose_infamy(table: Table[Hall], seat: int, amount: int, cause: int, item: int = 0) -> None:
    """A loss of infamy, down to 0; fine markers stay (AA-17, AA-21)."""
    infamy = table.hall.infamy[seat]
    lost = min(amount, infamy)
    if lost:
        table.emit(InfamyLost(seat, lost, infamy - lost, cause, item))
