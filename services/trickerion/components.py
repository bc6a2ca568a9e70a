"""Component piles on a player's board: what counts, and where there is room (TR-077, TR-078, TR-080, TR-081)."""

from guildhall.trickerion.v1.structs import Member
from services.trickerion.content import Content
from services.trickerion.hall import Hall, has


def effective(hall: Hall, content: Content, seat: int, component: int) -> int:
    """How many of a Component count: a pile on a slot of the Manager's counts one more, up to the limit (TR-A12)."""
    tokens: int = hall.piles[seat][component]
    if tokens and component in hall.multi[seat]:
        return min(tokens + content.multi_bonus, content.component_limit)
    return tokens


def meets(hall: Hall, content: Content, seat: int, trick: int) -> bool:
    """Whether a seat has the Components that a Trick needs (TR-093)."""
    return all(effective(hall, content, seat, component) >= count for component, count in content.tricks[trick].needs)


def most_tokens(hall: Hall, content: Content, on_manager_slot: bool) -> int:
    """How many tokens a pile may have (TR-078, TR-081, TR-A12)."""
    if on_manager_slot and not hall.rulings.physical_limit:
        return content.component_limit - content.multi_bonus
    return content.component_limit


def manager_slot_free(hall: Hall, seat: int) -> bool:
    """Whether one of the Manager's slots is there and empty."""
    return 0 in hall.multi[seat] and has(hall, seat, Member.MANAGER)


def board_slot_free(hall: Hall, content: Content, seat: int) -> bool:
    """Whether one of the board's own Component slots is empty."""
    multi = hall.multi[seat]
    used = sum(1 for component, tokens in enumerate(hall.piles[seat]) if tokens and component not in multi)
    return used < content.component_board.slots


def rooms(hall: Hall, content: Content, seat: int, component: int) -> list[tuple[bool, int]]:
    """Where more of a Component may go: (onto a slot of the Manager's, how many) for each place (TR-A43).

    A type that is owned joins its pile, wherever that lies; then the first value is False.
    """
    tokens = hall.piles[seat][component]
    if tokens:
        room = most_tokens(hall, content, component in hall.multi[seat]) - tokens
        return [(False, room)] if room > 0 else []
    return rooms_for_new(hall, content, seat)


def rooms_for_new(hall: Hall, content: Content, seat: int) -> list[tuple[bool, int]]:
    """The same for any type that is not owned (TR-077)."""
    places = []
    normal = board_slot_free(hall, content, seat)
    if normal:
        places.append((False, content.component_limit))
    if manager_slot_free(hall, seat) and not (normal and hall.rulings.normal_slots_first):
        places.append((True, most_tokens(hall, content, True)))
    return places
