"""What performed Tricks yield, and what a performer receives beside (TR-122 to TR-132)."""

from collections.abc import Iterable
from typing import NamedTuple

from guildhall.trickerion.v1.structs import Member
from services.trickerion import hooks
from services.trickerion.content import Content, Yield
from services.trickerion.hall import Hall, displayed, kind_of, seat_of, specialist_at, theater_day, trick_of
from services.trickerion.theater import links_on

SPECIALISTS = (Member.ENGINEER, Member.MANAGER, Member.ASSISTANT)


class TrickYield(NamedTuple):
    """What the owner of a performed marker receives."""

    seat: int
    trick: int
    amount: Yield


def changed(printed: int, changes: Iterable[int], skip_absent: bool) -> int:
    """Fame or coins of a yield after modifiers in their order; after none below 0 (TR-128).

    A printed 0 is modified too, but for the ruling `modifier_on_absent_yield` = `skip` (TR-A2).
    """
    if not printed and skip_absent:
        return 0
    for change in changes:
        printed = max(0, printed + change)
    return printed


def changes_of(hall: Hall, content: Content, performer: int, card: int, slot: int) -> list[tuple[int, int]]:
    """(Fame, coins) of all that changes the yield of the marker in a slot, as it acts in order (TR-124 to TR-127)."""
    hook = hooks.of(hall)
    markers = hall.stage[displayed(hall, card)]
    owner = seat_of(markers[slot])
    day = hook.yield_day(hall, owner, performer, theater_day(hall, owner) or theater_day(hall, performer))
    return hook.modifiers(hall, performer, markers, slot, hook.day_modifier(hall, content, day))


def yield_of(hall: Hall, content: Content, performer: int, card: int, slot: int) -> Yield:
    """What the owner of the marker in a slot of a performed card receives (TR-123 to TR-128)."""
    hook = hooks.of(hall)
    markers = hall.stage[displayed(hall, card)]
    own = hook.trick_yield(hall, content, markers, slot)
    changes = changes_of(hall, content, performer, card, slot)
    skip = hall.rulings.skip_absent_yield
    fame = changed(own.fame, (fame for fame, _ in changes), skip)
    coins = changed(own.coins, (coins for _, coins in changes), skip)
    return hook.final_yield(hall, content, markers, slot, performer, Yield(fame, coins, own.shards))


def yields(hall: Hall, content: Content, performer: int, card: int) -> list[TrickYield]:
    """What each marker on a performed card brings its owner, guests' markers too (TR-122)."""
    return [
        TrickYield(seat_of(marker), trick_of(marker), yield_of(hall, content, performer, card, slot))
        for slot, marker in enumerate(hall.stage[displayed(hall, card)])
        if marker
    ]


def bonuses(hall: Hall, content: Content, performer: int, card: int) -> list[Yield]:
    """What a performer receives beside: for links, for Specialists in the Theater, the card's (TR-129 to TR-131).

    No weekday changes these.
    """
    links = links_on(content, card, hall.stage[displayed(hall, card)])
    found = [Yield(fame=content.fame_per_link * links)]
    for member in SPECIALISTS:
        if specialist_at(hall, performer, member):
            found.append(content.characters[kind_of(member)].bonus)
    found.append(content.performances[card].bonus)
    hook = hooks.of(hall)
    return [hook.performer_bonus(hall, content, bonus) for bonus in found]
