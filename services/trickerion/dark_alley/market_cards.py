"""Special cards of the Market Row (TR-D81 to TR-D90)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final

from guildhall.kernel.frames import Frame
from guildhall.trickerion.v1.structs import (
    Assignment,
    Buy,
    Cause,
    ChooseComponent,
    ComponentsGained,
    Decline,
    Declined,
    OrderedIntoStock,
    OrderIntoStock,
    PayForSale,
    QuickOrderClaimed,
    StockReplaced,
)
from services.trickerion import commands as base_commands
from services.trickerion import hooks, market_row, money
from services.trickerion.asking import Ask, HallTable, content_of
from services.trickerion.components import rooms
from services.trickerion.content import Action, Content
from services.trickerion.dark_alley import commands
from services.trickerion.dark_alley.cards import Bonus, bonus_ap, gain_counted_fame
from services.trickerion.dark_alley.evolve import alley_of
from services.trickerion.dark_alley.hall import QUICK_ORDER
from services.trickerion.hall import Hall

SALE_MOST = 4
"""Components of a Component Sale."""
BARTER_WORTH = 4
"""Coins' worth that a Shard buys."""
BASIC = 1
"""Tier of Basic Components."""


def bargain_ap(hall: Hall, content: Content) -> int:
    """What a Bargain costs."""
    return hooks.of(hall).action_costs(hall, content)[Action.BARGAIN]


def most_bargains(hall: Hall, content: Content) -> int:
    """How many Bargains the Character can add to a Buy with its special card."""
    return (hall.ap - bonus_ap(hall, content)) // bargain_ap(hall, content)


def choices(
    hall: Hall, content: Content, seat: int, prices: dict[int, int], affordable: Callable[[int], bool]
) -> list[ChooseComponent]:
    """One Component of each type in `prices` whose price is `affordable`, for each place where there is room."""
    return [
        commands.choose_component(component, manager_slot)
        for component, price in prices.items()
        if affordable(price)
        for manager_slot, _ in rooms(hall, content, seat, component)
    ]


def take_one(table: HallTable, seat: int, command: ChooseComponent) -> None:
    """Take one Component from the supply."""
    table.emit(ComponentsGained(seat, command.component, 1, command.manager_slot))


# --- Component Sale: up to four in any mix, paid together (TR-D81, TR-AD51)


def sale_choices(hall: Hall, content: Content, seat: int, total: int, bargains: int) -> list[ChooseComponent]:
    """What can join the Components that were taken for `total`, with so many Bargains possible."""
    coins = hall.coins[seat]
    return choices(
        hall, content, seat, market_row.prices(hall, content), lambda price: least_pay(total + price, bargains) <= coins
    )


def least_pay(total: int, bargains: int) -> int:
    """What so many Bargains leave of a total; never 0 (TR-083)."""
    return max(1, total - bargains)


def start_sale(hall: Hall, content: Content, seat: int) -> list[Any]:
    if hall.ap < bonus_ap(hall, content):
        return []
    return list(sale_choices(hall, content, seat, 0, most_bargains(hall, content)))


def begin_sale(table: HallTable, seat: int, command: ChooseComponent) -> Sequence[Frame]:
    price = market_row.prices(table.hall, table.content)[command.component]
    money.spend_ap(table, bonus_ap(table.hall, table.content))
    take_one(table, seat, command)
    return (Sale(seat, 1, price),)


class Sale(Ask, tag="sale"):
    """One more Component, or the payment (TR-D81)."""

    taken: int
    total: int
    """The price so far."""

    ASKS: ClassVar[str] = "take one more Component, or pay"
    RULE: ClassVar[str] = "TR-D81"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseComponent, PayForSale)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        content = content_of(hall)
        bargains = hall.ap // bargain_ap(hall, content)
        least = max(0, self.total - hall.coins[seat])
        listed: list[Any] = [
            commands.pay_for_sale(bargain) for bargain in range(least, min(bargains, self.total - 1) + 1)
        ]
        if self.taken < SALE_MOST:
            listed += sale_choices(hall, content, seat, self.total, bargains)
        return listed

    def choose(self, table: HallTable, seat: int, command: ChooseComponent | PayForSale) -> None:
        if isinstance(command, PayForSale):
            money.spend_ap(table, command.bargain * bargain_ap(table.hall, table.content))
            market_row.pay(table, seat, self.total - command.bargain)
        else:
            price = market_row.prices(table.hall, table.content)[command.component]
            take_one(table, seat, command)
            table.then(Sale(seat, self.taken + 1, self.total + price))


# --- Barter with Power: a Shard for Components worth up to four (TR-D83, TR-AD51)


def barter_choices(hall: Hall, content: Content, seat: int, worth: int) -> list[ChooseComponent]:
    return choices(hall, content, seat, market_row.prices(hall, content), lambda price: price <= worth)


def start_barter(hall: Hall, content: Content, seat: int) -> list[Any]:
    if hall.ap < bonus_ap(hall, content) or not hall.shards[seat]:
        return []
    return list(barter_choices(hall, content, seat, BARTER_WORTH))


def begin_barter(table: HallTable, seat: int, command: ChooseComponent) -> Sequence[Frame]:
    money.spend_ap(table, bonus_ap(table.hall, table.content))
    money.spend_shards(table, seat, 1, Cause.SPECIAL)
    return barter(table, seat, command, BARTER_WORTH)


def barter(table: HallTable, seat: int, command: ChooseComponent, worth: int) -> Sequence[Frame]:
    price = market_row.prices(table.hall, table.content)[command.component]
    take_one(table, seat, command)
    return (Barter(seat, worth - price),)


class Barter(Ask, tag="barter"):
    """One more Component for what is left of the Shard's worth, or no more (TR-D83)."""

    worth: int

    ASKS: ClassVar[str] = "take one more Component, or decline"
    RULE: ClassVar[str] = "TR-D83"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseComponent, Decline)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if barter_choices(hall, content_of(hall), self.seat, self.worth) else ()

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return [base_commands.DECLINE, *barter_choices(hall, content_of(hall), seat, self.worth)]

    def choose(self, table: HallTable, seat: int, command: ChooseComponent | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
        else:
            table.then(*barter(table, seat, command, self.worth))


# --- a Buy, plain or paid otherwise: Smuggled Goods, Shoplifting, Workshop Delivery


def sold(
    hall: Hall,
    content: Content,
    prices: dict[int, int],
    seat: int,
    total_of: Callable[[int, int], int],
    payable: Callable[[int], bool],
) -> list[Any]:
    """Every Buy of types in `prices`: `total_of(price, amount)` with Bargain is `payable`, and not bargained to 0."""
    if hall.ap < bonus_ap(hall, content):
        return []
    bargains = most_bargains(hall, content)
    listed = []
    for component, price in prices.items():
        for manager_slot, room in rooms(hall, content, seat, component):
            for amount in range(1, min(room, content.buy_most) + 1):
                total = total_of(price, amount)
                for bargain in range(min(bargains, max(0, total - 1)) + 1):
                    if payable(total - bargain):
                        listed.append(base_commands.buy(component, amount, bargain, manager_slot))
    return listed


def full_price(price: int, amount: int) -> int:
    """What so many cost."""
    return price * amount


def one_free(price: int, amount: int) -> int:
    """What so many cost if one is free."""
    return price * (amount - 1)


def buys(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Every Buy as usual."""
    coins = hall.coins[seat]
    return sold(hall, content, market_row.prices(hall, content), seat, full_price, lambda total: total <= coins)


def spend_buy_ap(table: HallTable, bargain: int) -> None:
    """The action points of a Buy with a special card."""
    hall, content = table.hall, table.content
    money.spend_ap(table, bonus_ap(hall, content) + bargain * bargain_ap(hall, content))


def smuggles(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Paid with Fame, 1 less than the price (TR-D82)."""
    fame = hall.fame[seat]
    return sold(hall, content, market_row.prices(hall, content), seat, full_price, lambda total: total - 1 <= fame)


def smuggle(table: HallTable, seat: int, command: Buy) -> Sequence[Frame]:
    price = market_row.prices(table.hall, table.content)[command.component]
    spend_buy_ap(table, command.bargain)
    money.lose_fame(table, seat, price * command.amount - command.bargain - 1, Cause.SPECIAL)
    table.emit(ComponentsGained(seat, command.component, command.amount, command.manager_slot))
    return ()


def plain_buy(table: HallTable, seat: int, command: Buy) -> Sequence[Frame]:
    """A Buy with no more than the words of the card, such as Fame for the coins paid (TR-D84)."""
    total = market_row.prices(table.hall, table.content)[command.component] * command.amount - command.bargain
    spend_buy_ap(table, command.bargain)
    market_row.buy(table, seat, command.component, command.amount, total, command.manager_slot)
    gain_counted_fame(table, seat, "coin_paid", total)
    return ()


def shelf_of(hall: Hall, component: int) -> int | None:
    """The slot of the stock that shows a Component: of the Buy area, or the Quick Order slot; None: neither does."""
    if component in hall.buy_area:
        return hall.buy_area.index(component)
    return QUICK_ORDER if component == hall.quick_order else None


def lifts(hall: Hall, content: Content, seat: int) -> list[Any]:
    """One of the units is free, and taken from the stock itself (TR-D85)."""
    coins = hall.coins[seat]
    shown = {c: price for c, price in market_row.prices(hall, content).items() if shelf_of(hall, c) is not None}
    return sold(hall, content, shown, seat, one_free, lambda total: total <= coins)


def lift(table: HallTable, seat: int, command: Buy) -> Sequence[Frame]:
    hall = table.hall
    total = one_free(market_row.prices(hall, table.content)[command.component], command.amount) - command.bargain
    shelf = shelf_of(hall, command.component)
    assert shelf is not None
    spend_buy_ap(table, command.bargain)
    market_row.buy(table, seat, command.component, command.amount, total, command.manager_slot)
    return (Restock(seat, shelf),)


class Restock(Ask, tag="restock"):
    """The Basic Component that the slot of the stock shows from now on (TR-D85, TR-AD53)."""

    shelf: int

    ASKS: ClassVar[str] = "choose the Basic Component that is in stock from now on"
    RULE: ClassVar[str] = "TR-D85"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseComponent,)

    def options(self, hall: Hall, seat: int) -> Iterable[ChooseComponent]:
        components = enumerate(content_of(hall).components)
        return [commands.choose_component(number, False) for number, kind in components if kind.tier == BASIC]

    def choose(self, table: HallTable, seat: int, command: ChooseComponent) -> None:
        table.emit(StockReplaced(seat, self.shelf, command.component))


def delivery_prices(hall: Hall, content: Content, seat: int) -> dict[int, int]:
    """Own types, 1 coin cheaper each (TR-D90, TR-AD57)."""
    price = hooks.of(hall).price
    return {c: max(0, price(hall, content, c) - 1) for c, tokens in enumerate(hall.piles[seat]) if tokens}


def deliveries(hall: Hall, content: Content, seat: int) -> list[Any]:
    coins = hall.coins[seat]
    return sold(hall, content, delivery_prices(hall, content, seat), seat, full_price, lambda total: total <= coins)


def deliver(table: HallTable, seat: int, command: Buy) -> Sequence[Frame]:
    price = delivery_prices(table.hall, table.content, seat)[command.component]
    spend_buy_ap(table, command.bargain)
    total = price * command.amount - command.bargain
    market_row.buy(table, seat, command.component, command.amount, total, command.manager_slot)
    return ()


# --- Logistics, Dubious Sources, Traveling Merchants, Business Share


def logistics(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Components that are not in stock (TR-D86, TR-AD54)."""
    if hall.ap < bonus_ap(hall, content):
        return []
    stock = {*hall.buy_area, *alley_of(hall).in_stock}
    return [commands.order_into_stock(c) for c in range(1, len(content.components)) if c not in stock]


def order_into_stock(table: HallTable, seat: int, command: OrderIntoStock) -> Sequence[Frame]:
    money.spend_ap(table, bonus_ap(table.hall, table.content))
    table.emit(OrderedIntoStock(seat, command.component))
    return ()


def quick_orders(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Every Quick Order (TR-D88)."""
    if hall.ap < bonus_ap(hall, content):
        return []
    return [base_commands.quick_order(c) for c in range(1, len(content.components)) if c != hall.quick_order]


def claim(table: HallTable, seat: int, command: Any) -> Sequence[Frame]:
    """The Component will come to the seat (TR-AD55)."""
    frames = market_row.act(table, seat, command)
    table.emit(QuickOrderClaimed(seat))
    return frames


def quick_order_comes(table: HallTable) -> None:
    """The claimed Component goes to its seat's Workshop where there is room (TR-D88, TR-AD55)."""
    hall = table.hall
    seat, component = alley_of(hall).claimant, hall.quick_order
    if seat >= 0 and component:
        for manager_slot, _ in rooms(hall, table.content, seat, component)[:1]:
            table.emit(ComponentsGained(seat, component, 1, manager_slot))


def merchants_price(hall: Hall, content: Content, component: int) -> int:
    """What an ordered Component costs of the Traveling Merchants (TR-D87)."""
    return hooks.of(hall).price(hall, content, component) + 1


class Merchants(Ask, tag="merchants"):
    """Whether the Component just ordered is bought, once (TR-D87, TR-AD54)."""

    component: int

    ASKS: ClassVar[str] = "buy the Component that you ordered, or decline"
    RULE: ClassVar[str] = "TR-D87"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseComponent, Decline)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if self._choices(hall) else ()

    def _choices(self, hall: Hall) -> list[ChooseComponent]:
        content, coins = content_of(hall), hall.coins[self.seat]
        price = {self.component: merchants_price(hall, content, self.component)}
        return choices(hall, content, self.seat, price, lambda price: price <= coins)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return [base_commands.DECLINE, *self._choices(hall)]

    def choose(self, table: HallTable, seat: int, command: ChooseComponent | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
            return
        market_row.pay(table, seat, merchants_price(table.hall, table.content, self.component))
        take_one(table, seat, command)


def share(table: HallTable, payer: int, coins: int) -> None:
    """Coins that a seat paid at the Market Row go to whoever has a Business Share there (TR-D89, TR-AD56)."""
    holder = next((seat for seat in alley_of(table.hall).shares if seat != payer), None)
    if holder is not None:
        money.gain_coins(table, holder, coins, Cause.SPECIAL)


PLAIN: Final = Bonus(buys, plain_buy)
"""A Buy with no more than the words of its card."""

CASES: Final[dict[int, Bonus]] = {
    Assignment.COMPONENT_SALE: Bonus(start_sale, begin_sale),
    Assignment.SMUGGLED_GOODS: Bonus(smuggles, smuggle),
    Assignment.BARTER_WITH_POWER: Bonus(start_barter, begin_barter),
    Assignment.SHOPLIFTING: Bonus(lifts, lift),
    Assignment.LOGISTICS: Bonus(logistics, order_into_stock),
    Assignment.DUBIOUS_SOURCES: Bonus(quick_orders, claim),
    Assignment.WORKSHOP_DELIVERY: Bonus(deliveries, deliver),
}
"""Cards with a case that act on one action; Traveling Merchants acts on every Order, Business Share when chosen."""
