"""The Market Row: Buy with Bargain, Order, Quick Order (TR-073 to TR-089)."""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final

from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    Buy,
    Cause,
    ComponentOrdered,
    ComponentQuickOrdered,
    ComponentsGained,
    Order,
    QuickOrder,
)
from services.trickerion import commands, hooks, money
from services.trickerion.asking import HallTable
from services.trickerion.components import rooms, rooms_for_new
from services.trickerion.content import Action, Content
from services.trickerion.hall import Hall

COMMANDS = (Buy, Order, QuickOrder)


def options(hall: Hall, content: Content, seat: int, ap: int) -> list[Any]:
    """What a Character with so many action points can do."""
    costs = hooks.of(hall).action_costs(hall, content)
    listed: list[Any] = []
    left = ap - costs[Action.BUY]
    if left >= 0:
        bargain_ap = costs[Action.BARGAIN]
        piles, coins = hall.piles[seat], hall.coins[seat]
        new = rooms_for_new(hall, content, seat)
        for component, price in prices(hall, content).items():
            for manager_slot, room in rooms(hall, content, seat, component) if piles[component] else new:
                listed += buys(component, manager_slot, min(room, content.buy_most), price, coins, left // bargain_ap)
    if ap >= costs[Action.ORDER]:
        barred = hall.buy_area if hall.rulings.order_excludes_buy_area else ()
        listed += orders(tuple(hall.order_area), tuple(barred), len(content.components))
    if ap >= costs[Action.QUICK_ORDER]:
        listed += quick_orders(hall.quick_order, len(content.components))
    return listed


# --- Buy


def prices(hall: Hall, content: Content) -> dict[int, int]:
    """The price of one of each Component in stock, from its cheapest source (TR-074, TR-075, TR-088, TR-A11)."""
    hooking = hooks.of(hall)
    found = {c: hooking.price(hall, content, c) for c in (*hall.buy_area, *hooking.stock(hall)) if c}
    quick = hall.quick_order
    if quick and quick not in found:
        found[quick] = quick_price(hall, content, quick)
    return found


def quick_price(hall: Hall, content: Content, component: int) -> int:
    """The price of one Component from the Quick Order slot (TR-088)."""
    hooking = hooks.of(hall)
    return hooking.quick_price(hall, content, hooking.price(hall, content, component))


@lru_cache(maxsize=8192)
def buys(component: int, manager_slot: bool, most: int, price: int, coins: int, bargains: int) -> list[Buy]:
    """Every number of a Component that can be paid, with every useful Bargain (TR-073, TR-082, TR-083)."""
    return [
        commands.buy(component, amount, bargain, manager_slot)
        for amount in range(1, most + 1)
        for bargain in range(max(0, amount * price - coins), min(bargains, amount * price - 1) + 1)
    ]


def buy(table: HallTable, seat: int, component: int, amount: int, total: int, manager_slot: bool) -> None:
    """Pay the total and take Components from the supply (TR-076)."""
    pay(table, seat, total)
    table.emit(ComponentsGained(seat, component, amount, manager_slot))


def pay(table: HallTable, seat: int, coins: int) -> None:
    """Pay coins at the Market Row."""
    money.pay_coins(table, seat, coins, Cause.BUY)
    hooks.of(table.hall).market_paid(table, seat, coins)


# --- Order


@lru_cache(maxsize=8192)
def orders(order_area: tuple[int, ...], barred: tuple[int, ...], components: int) -> list[Order]:
    """Each Component that may be ordered onto each open slot; `barred` may not (TR-084, TR-C5)."""
    slots = [slot for slot, ordered in enumerate(order_area) if not ordered]
    orderable = [c for c in range(1, components) if c not in order_area and c not in barred]
    return [commands.order(component, slot) for component in orderable for slot in slots]


@cache
def quick_orders(lying: int, components: int) -> list[QuickOrder]:
    """Each Component but the one that lies on the Quick Order slot (TR-086, TR-A38, TR-A39)."""
    return [commands.quick_order(component) for component in range(1, components) if component != lying]


def act(table: HallTable, seat: int, command: Any) -> Sequence[Frame]:
    """Carry out a listed command."""
    hall, content = table.hall, table.content
    costs = hooks.of(hall).action_costs(hall, content)
    match command:
        case Buy(component, amount, bargain, manager_slot):
            ap = costs[Action.BUY] + bargain * costs[Action.BARGAIN]
            total = amount * prices(hall, content)[component] - bargain
            money.spend_ap(table, ap)
            buy(table, seat, component, amount, total, manager_slot)
        case Order(component, slot):
            money.spend_ap(table, costs[Action.ORDER])
            table.emit(ComponentOrdered(seat, component, slot))
        case QuickOrder(component):
            money.spend_ap(table, costs[Action.QUICK_ORDER])
            table.emit(ComponentQuickOrdered(seat, component))
    return ()


_ACTIONS: Final[dict[type[Any], Action]] = {Buy: Action.BUY, Order: Action.ORDER, QuickOrder: Action.QUICK_ORDER}
_RULES: Final[dict[type[Any], str]] = {Buy: "TR-073", Order: "TR-084", QuickOrder: "TR-086"}


def why_not(hall: Hall, content: Content, seat: int, ap: int, command: Any) -> Refusal:
    """Why a command of the Market Row is not listed."""
    hooking = hooks.of(hall)
    kind = type(command)
    cost = hooking.action_costs(hall, content)[_ACTIONS[kind]]
    if kind is Buy:
        cost += command.bargain * hooking.action_costs(hall, content)[Action.BARGAIN]
    if ap < cost:
        return Refusal("TOO_FEW_ACTION_POINTS", f"That costs {cost} action points; you have {ap}.", _RULES[kind])
    if not command.component:
        return Refusal("NO_COMPONENT", "Name a type of Components.", _RULES[kind])
    match command:
        case Buy():
            return _why_not_buy(hall, content, seat, command)
        case Order(component, slot):
            if slot not in range(len(hall.order_area)) or hall.order_area[slot]:
                return Refusal("SLOT_TAKEN", "That Order slot is not open.", "TR-084")
            if component in hall.order_area:
                return Refusal("ORDERED_ALREADY", "That Component is in the Order area.", "TR-084")
            return Refusal("IN_STOCK", "That Component cannot be ordered.", "TR-C5")
    return Refusal("ON_THE_SLOT", "That Component lies on the Quick Order slot.", "TR-A38")


def _why_not_buy(hall: Hall, content: Content, seat: int, command: Buy) -> Refusal:
    stock = prices(hall, content)
    if command.component not in stock:
        return Refusal("NOT_IN_STOCK", "That Component is not in stock.", "TR-075")
    if not 1 <= command.amount <= content.buy_most:
        return Refusal("ONE_TO_THREE", f"Buy 1 to {content.buy_most} Components of a type.", "TR-073")
    places = dict(rooms(hall, content, seat, command.component))
    if command.manager_slot not in places:
        if command.manager_slot:
            return Refusal("NO_MANAGER_SLOT", "It cannot go onto a slot of the Manager's.", "TR-A43")
        if hall.piles[seat][command.component]:
            rule = "TR-081" if command.component in hall.multi[seat] else "TR-078"
            return Refusal("AT_MOST_THREE", "You have as many of that Component as you may.", rule)
        return Refusal("NO_ROOM", "You have no slot for another type of Components.", "TR-077")
    if command.amount > places[command.manager_slot]:
        return Refusal("AT_MOST_THREE", "You would have too many of that Component.", "TR-078")
    if command.bargain >= command.amount * stock[command.component]:
        return Refusal("NOT_FOR_NOTHING", "Bargain never takes a price down to 0.", "TR-083")
    return Refusal("TOO_FEW_COINS", "You have too few coins.", "TR-074")
