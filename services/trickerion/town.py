"""The Character slots of the town: which a Character may take, and the action points that it has there."""

from collections.abc import Sequence
from functools import cache

from guildhall.trickerion.v1.structs import Character, Location
from services.trickerion import hooks
from services.trickerion.asking import content_of
from services.trickerion.content import Content
from services.trickerion.hall import (
    Hall,
    is_performance_slot,
    kind_of,
    location_of,
    theater_day,
    weekday_of,
)
from services.trickerion.packs import PACKS

WEEKDAYS = (1, 2, 3, 4)
_THEATER, _WORKSHOP, _MAGICIAN = int(Location.THEATER), int(Location.WORKSHOP), int(Character.MAGICIAN)


@cache
def slots_at(pack: bytes, location: int, players: int) -> tuple[int, ...]:
    """The Slots of a Location that are open with so many players; of the Theater see `day_slots` (TR-017)."""
    return tuple(location << 4 | number for number in PACKS[pack].places[location].open_slots(players))


@cache
def day_slots(weekday: int, magician: bool) -> tuple[int, ...]:
    """The Slots of a weekday: two backstage, and for a Magician the Performance slot (TR-105)."""
    first = 62 + 3 * weekday
    return (first, first + 1, first + 2) if magician else (first, first + 1)


def free_slots(hall: Hall, seat: int, member: int, location: int) -> list[int]:
    """Where a member may be placed at a Location."""
    slots = unoccupied(hall, seat, location, member == _MAGICIAN)
    return hooks.of(hall).place_slots(hall, seat, member, slots)


def unoccupied(hall: Hall, seat: int, location: int, magician: bool) -> list[int]:
    """The slots of a Location that are open and free for a seat (TR-048, TR-090, TR-102, TR-103, TR-105)."""
    own = hall.posts[seat]
    if location == _THEATER:
        return [slot for day in open_days(hall, seat) for slot in day_slots(day, magician) if slot not in own]
    if location == _WORKSHOP:
        return [slot for slot in slots_at(hall.pack, location, len(hall.fame)) if slot not in own]
    taken = set().union(*hall.posts)
    return [slot for slot in slots_at(hall.pack, location, len(hall.fame)) if slot not in taken]


def open_days(hall: Hall, seat: int) -> Sequence[int]:
    """The weekdays on which a seat's Characters may stand: the one where they do, or any without opponents."""
    own = theater_day(hall, seat)
    if own:
        return (own,)
    taken = set().union(*hall.posts)
    return [day for day in WEEKDAYS if taken.isdisjoint(day_slots(day, True))]


def slot_ap(content: Content, slot: int) -> int:
    """The modifier of a slot that is no Performance slot (TR-053)."""
    location = location_of(slot)
    if location == _THEATER:
        return content.days[weekday_of(slot)].ap
    return content.places[location].slots[(slot & 15) - 1].ap


def action_points(hall: Hall, seat: int, member: int, slot: int) -> int:
    """What a Character has when it is placed: not below 0, and none on a Performance slot (TR-051, TR-118)."""
    if location_of(slot) == _THEATER and is_performance_slot(slot):
        return 0
    content = content_of(hall)
    base = hooks.of(hall).base_ap(hall, seat, member, content.characters[kind_of(member)].ap)
    return max(0, base + slot_ap(content, slot))
