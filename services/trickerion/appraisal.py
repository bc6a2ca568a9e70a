"""What follows from a view: which Components Tricks lack, what they are worth, what markers show on a card."""

from guildhall.trickerion.v1.structs import DisplayedCard, Player, View
from services.trickerion import links
from services.trickerion.content import FIRST, REVISED_2019, AssignmentCard, Content, ProphecyCard, Yield
from services.trickerion.hall import ENGINEERS_SLOT


def have(content: Content, player: Player) -> dict[int, int]:
    """What each pile counts: tokens, one more on a slot of the Manager's, at most three (TR-080, TR-081)."""
    return {
        int(pile.component): min(content.component_limit, pile.amount + content.multi_bonus * pile.manager_slot)
        for pile in player.piles
    }


def missing(content: Content, player: Player, trick: int) -> dict[int, int]:
    """How many of each Component a player lacks for a Trick; empty: it can be prepared (TR-093)."""
    there = have(content, player)
    return {
        component: count - there.get(component, 0)
        for component, count in content.tricks[trick].needs
        if there.get(component, 0) < count
    }


def prepared_markers(content: Content, player: Player, trick: int, bonus: int = 0) -> int:
    """How many markers Prepare would put on an own Trick; `bonus` is a card's (TR-092, TR-097, TR-A13, TR-D61)."""
    own = next(own for own in player.tricks if own.trick == trick)
    more = content.engineer_markers if own.slot == ENGINEERS_SLOT else 0
    return min(content.tricks[trick].markers + more + bonus, player.supply[own.symbol - 1])


def price_of(content: Content, components: dict[int, int]) -> int:
    """Coins that these Components cost at their printed prices."""
    return sum(content.components[component].price * count for component, count in components.items())


def in_stock(view: View) -> set[int]:
    """Components that can be bought now, as far as the table tells."""
    found = {int(component) for component in (*view.buy_area, view.quick_order) if component}
    if view.dark_alley is not None:
        found |= {int(component) for component in view.dark_alley.in_stock}
    return found


def prophecy_of(view: View, content: Content) -> ProphecyCard:
    """The active prophecy; a neutral one where none is."""
    return content.prophecies[view.dark_alley.active if view.dark_alley is not None else 0]


def card_in_use(view: View) -> int:
    """The special card whose bonus the next action has, or 0."""
    alley = view.dark_alley
    return alley.bonus if alley is not None and alley.armed else 0


def bonus_in_use(view: View, content: Content) -> AssignmentCard:
    """What that card does; a neutral one where there is none."""
    return content.assignments[card_in_use(view)]


def ruling(view: View, name: str) -> str:
    """The value of one of the game's rulings; "" where the view does not tell."""
    settings = view.game.rulings if view.game is not None else ()
    return next((setting.value for setting in settings if setting.name == name), "")


def cost_now(view: View, content: Content, action: int) -> int:
    """Action points that an Action costs (TR-C1, TR-C2, TR-AD9); of Prepare the Trick tells it."""
    printed = content.action_ap[REVISED_2019 if ruling(view, "edition") == "revised_2019" else FIRST][action]
    usual = prophecy_of(view, content).action_ap.get(action, printed)
    card = bonus_in_use(view, content)
    return max(0, usual - card.save_ap) if card.action == action else usual


def enhance_now(view: View, content: Content) -> int:
    """Action points that Enhance brings (TR-054, TR-AD15)."""
    alley = view.dark_alley
    empowered = content.assignments[alley.bonus].enhance_ap if alley is not None else 0
    return empowered or prophecy_of(view, content).enhance_ap or content.enhance_ap


def price_now(view: View, content: Content, component: int) -> int:
    """What one Component costs from the Buy area (TR-074, TR-D111)."""
    return prophecy_of(view, content).component_price or content.components[component].price


def quick_price_now(view: View, content: Content, component: int) -> int:
    """What one Component costs from the Quick Order slot (TR-088, TR-AD20)."""
    flat = prophecy_of(view, content).component_price and ruling(view, "flat_price_quick_order") == "flat"
    return price_now(view, content, component) + (0 if flat else content.quick_order_price)


def on_quick_order_only(view: View, content: Content, component: int) -> bool:
    """Whether that slot is the only source of a Component (TR-A11, TR-D94)."""
    ordered = view.order_area if prophecy_of(view, content).orders_are_stock else ()
    this_turn = view.dark_alley.in_stock if view.dark_alley is not None else ()
    return component == view.quick_order and component not in (*view.buy_area, *ordered, *this_turn)


def day_now(view: View, content: Content, day: int) -> tuple[int, int]:
    """(Fame, coins) by which a weekday changes each Trick's yield (TR-124, TR-125, TR-D101, TR-D106, TR-D112)."""
    printed = content.days[day]
    return prophecy_of(view, content).days.get(day, (printed.fame, printed.coins))


def yield_now(view: View, content: Content, trick: int) -> Yield:
    """A Trick's own yield: as printed, and 1 Fame and 1 coin for each Shard on it (TR-D67)."""
    printed = content.tricks[trick].yields
    more = shards_on(view, trick)
    return Yield(printed.fame + more, printed.coins + more, printed.shards)


def shards_on(view: View, trick: int) -> int:
    """How many Shards lie on a Trick (TR-D67)."""
    return view.dark_alley.enhanced.count(trick) if view.dark_alley is not None else 0


def worth(amount: Yield) -> float:
    """A yield in Fame: coins count a third at the end, and pay for things before."""
    return amount.fame + 0.5 * amount.coins + amount.shards


def tops(content: Content, card: DisplayedCard) -> list[int]:
    """What the markers of a card show, by slot (see links.py)."""
    found = [links.FREE] * len(content.performances[card.card].layout.slots)
    for marker in card.markers:
        if marker.direction:
            found[marker.slot] = links.top_of(content.tricks[marker.trick].category, marker.direction)
    return found
