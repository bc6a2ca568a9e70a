"""Fame, coins, Shards and action points: one door for each way in which they change. An amount of 0 is no event."""

from guildhall.trickerion.v1.structs import (
    ActionPointsGained,
    ActionPointsSpent,
    CoinsGained,
    CoinsPaid,
    FameGained,
    FameLost,
    ShardsGained,
    ShardsSpent,
)
from services.trickerion import hooks
from services.trickerion.asking import HallTable


def gain_fame(table: HallTable, seat: int, amount: int, cause: int) -> None:
    """Fame has no upper end (TR-A20)."""
    if amount:
        table.emit(FameGained(seat, amount, table.hall.fame[seat] + amount, cause))


def lose_fame(table: HallTable, seat: int, amount: int, cause: int) -> None:
    """Fame never falls below 0 (TR-A45)."""
    fame = table.hall.fame[seat]
    lost = min(amount, fame)
    if lost:
        table.emit(FameLost(seat, lost, fame - lost, cause))


def gain_coins(table: HallTable, seat: int, amount: int, cause: int) -> None:
    """Coins are not limited (TR-A48)."""
    if amount:
        table.emit(CoinsGained(seat, amount, table.hall.coins[seat] + amount, cause))


def pay_coins(table: HallTable, seat: int, amount: int, cause: int) -> None:
    """The seat has them: a listing offers only what can be paid."""
    if amount:
        table.emit(CoinsPaid(seat, amount, table.hall.coins[seat] - amount, cause))


def gain_shards(table: HallTable, seat: int, amount: int, cause: int) -> None:
    """Shards are not limited (TR-A48). One call is one receipt."""
    if amount:
        table.emit(ShardsGained(seat, amount, table.hall.shards[seat] + amount, cause))
        hooks.of(table.hall).shards_gained(table, seat)


def spend_shards(table: HallTable, seat: int, amount: int, cause: int) -> None:
    """The seat has them: a listing offers only what can be spent."""
    if amount:
        table.emit(ShardsSpent(seat, amount, table.hall.shards[seat] - amount, cause))


def gain_ap(table: HallTable, amount: int) -> None:
    """More action points for the Character that acts."""
    hall = table.hall
    if amount:
        table.emit(ActionPointsGained(hall.active, amount, hall.ap + amount))


def spend_ap(table: HallTable, amount: int) -> None:
    """The Character that acts has them: a listing offers only what it can do."""
    hall = table.hall
    if amount:
        table.emit(ActionPointsSpent(hall.active, amount, hall.ap - amount))
