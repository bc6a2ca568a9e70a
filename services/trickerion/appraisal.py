"""What follows from a view: which Components Tricks lack, what they are worth, what markers show on a card."""

from guildhall.trickerion.v1.structs import DisplayedCard, Player, View
from services.trickerion import links
from services.trickerion.content import Content, Yield
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


def prepared_markers(content: Content, player: Player, trick: int) -> int:
    """How many markers Prepare would put on an own Trick (TR-092, TR-097, TR-A13)."""
    own = next(own for own in player.tricks if own.trick == trick)
    more = content.engineer_markers if own.slot == ENGINEERS_SLOT else 0
    return min(content.tricks[trick].markers + more, player.supply[own.symbol - 1])


def price_of(content: Content, components: dict[int, int]) -> int:
    """Coins that these Components cost at their printed prices."""
    return sum(content.components[component].price * count for component, count in components.items())


def in_stock(view: View) -> set[int]:
    """Components that can be bought now, as far as the table tells."""
    found = {int(component) for component in (*view.buy_area, view.quick_order) if component}
    if view.dark_alley is not None:
        found |= {int(component) for component in view.dark_alley.in_stock}
    return found


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
