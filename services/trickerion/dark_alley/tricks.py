"""What Tricks yield and score with the Dark Alley (TR-D26, TR-D33, TR-D35 to TR-D50, TR-D67)."""

from collections.abc import Callable
from typing import Final

from services.trickerion.components import effective, meets
from services.trickerion.content import Content, Yield
from services.trickerion.dark_alley.evolve import alley_of
from services.trickerion.hall import Hall, apprentices, has, is_pile, trick_of
from services.trickerion.scoring import specials_in_hand


def own_yield(hall: Hall, content: Content, trick: int) -> Yield:
    """A Trick's own yield: as printed, and 1 Fame and 1 coin for each Shard on it (TR-D67, TR-AD42)."""
    printed = content.tricks[trick].yields
    more = alley_of(hall).enhanced.count(trick)
    return Yield(printed.fame + more, printed.coins + more, printed.shards) if more else printed


def marker_yield(hall: Hall, content: Content, marker: int) -> Yield:
    """The own yield of the Trick for which a marker stands; a pile yields more, by level (TR-D33, TR-AD28)."""
    own = own_yield(hall, content, trick_of(marker))
    if not is_pile(marker):
        return own
    more = content.tricks[trick_of(marker)].level
    return Yield(own.fame + more, own.coins + more, own.shards)


def _of_level(level: int) -> Callable[[Hall, Content, int], int]:
    return lambda hall, content, seat: sum(1 for t in hall.tricks[seat] if t and content.tricks[t].level == level)


def _of_tier(tier: int) -> Callable[[Hall, Content, int], int]:
    return lambda hall, content, seat: sum(
        effective(hall, content, seat, number)
        for number, component in enumerate(content.components)
        if component.tier == tier
    )


COUNTS: Final[dict[str, Callable[[Hall, Content, int], int]]] = {
    "own_level_1_tricks": _of_level(1),
    "own_level_2_tricks": _of_level(2),
    "own_level_3_tricks": _of_level(3),
    "specials_in_hand": lambda hall, content, seat: specials_in_hand(hall, seat),
    "shards": lambda hall, content, seat: hall.shards[seat],
    "coins": lambda hall, content, seat: hall.coins[seat],
    "markers_on_own_tricks": lambda hall, content, seat: sum(hall.prepared[seat]),
    "basic_components": _of_tier(1),
    "advanced_components": _of_tier(2),
    "superior_components": _of_tier(3),
    "apprentices": lambda hall, content, seat: apprentices(hall, seat),
}
"""What the end bonuses of level 3 Tricks count."""


def end_bonus(hall: Hall, content: Content, seat: int, trick: int) -> int:
    """What an own Trick scores at the end, within the limit; 0 without its Components (TR-D26)."""
    bonus = content.tricks[trick].bonus
    if bonus is None or not meets(hall, content, seat, trick):
        return 0
    if bonus.each:
        fame = COUNTS[bonus.each](hall, content, seat) // bonus.per * bonus.fame
    elif bonus.tricks:
        fame = bonus.fame if sum(1 for own in hall.tricks[seat] if own) >= bonus.tricks else 0
    else:
        fame = bonus.fame if all(has(hall, seat, member) for member in bonus.team) else 0
    return min(fame, content.scoring_cap)
