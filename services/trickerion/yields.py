"""What performed Tricks yield, and what a performer receives beside (TR-122 to TR-132)."""

from collections.abc import Sequence
from typing import NamedTuple

from guildhall.trickerion.v1.structs import Member, ModifierSource
from services.trickerion import hooks
from services.trickerion.content import Content, Yield
from services.trickerion.hall import Hall, displayed, kind_of, seat_of, specialist_at, theater_day, trick_of
from services.trickerion.hooks import Change
from services.trickerion.theater import links_on

SPECIALISTS = (Member.ENGINEER, Member.MANAGER, Member.ASSISTANT)
WEEKDAY = int(ModifierSource.WEEKDAY)


class TrickYield(NamedTuple):
    """What the owner of a performed marker receives."""

    seat: int
    trick: int
    amount: Yield


def changed(own: Yield, changes: Sequence[Change], skip_absent: bool) -> Yield:
    """A Trick's yield after what changes it, in this order; Fame and coins after none below 0 (TR-128).

    The weekday changes a printed 0 too, but for the ruling `modifier_on_absent_yield` = `skip` (TR-A2).
    """
    fame, coins = own.fame, own.coins
    for change in changes:
        skipped = skip_absent and change.source == WEEKDAY
        fame = max(0, fame + (change.fame if own.fame or not skipped else 0)) * change.fame_times
        coins = max(0, coins + (change.coins if own.coins or not skipped else 0)) * change.coins_times
    return Yield(fame, coins, own.shards)


def change_of_day(hall: Hall, content: Content, day: int) -> Change:
    """How a weekday changes each Trick's yield (TR-124, TR-125)."""
    fame, coins = hooks.of(hall).day_modifier(hall, content, day)
    return Change(fame, coins, source=WEEKDAY)


def weekday_change(hall: Hall, content: Content, performer: int, markers: Sequence[int], slot: int) -> Change:
    """How the weekday changes the yield of the marker in a slot (TR-124 to TR-127)."""
    owner = seat_of(markers[slot])
    day = theater_day(hall, owner) or theater_day(hall, performer)
    return change_of_day(hall, content, hooks.of(hall).yield_day(hall, owner, performer, day))


def yield_of(hall: Hall, content: Content, performer: int, card: int, slot: int) -> Yield:
    """What the owner of the marker in a slot of a performed card receives (TR-123 to TR-128)."""
    hook = hooks.of(hall)
    markers = hall.stage[displayed(hall, card)]
    own = hook.trick_yield(hall, content, markers, slot)
    day = weekday_change(hall, content, performer, markers, slot)
    orders = hook.modifiers(hall, content, performer, markers, slot, day)
    results = [changed(own, order, hall.rulings.skip_absent_yield) for order in orders]
    best = Yield(max(result.fame for result in results), max(result.coins for result in results), own.shards)
    return hook.final_yield(hall, content, markers, slot, performer, best)


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
