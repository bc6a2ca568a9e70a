"""Placing Characters with the Dark Alley: prophecies, special cards, copies of them (TR-D10 to TR-D15)."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from guildhall.kernel.cards import FRONT, SPECTATOR
from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    AbilityUsed,
    Assignment,
    BonusKept,
    BusinessShared,
    Cause,
    CopySpecial,
    Decline,
    Declined,
    KeepBonus,
    Location,
    Magician,
    Member,
    SpecialCopied,
    TakeActionPoint,
)
from services.trickerion import commands as base_commands
from services.trickerion import money
from services.trickerion.asking import Ask, HallTable, content_of
from services.trickerion.content import FIRST_SPECIAL, Action, Content
from services.trickerion.dark_alley import commands
from services.trickerion.dark_alley.acting import waits
from services.trickerion.dark_alley.evolve import alley_of
from services.trickerion.dark_alley.market_cards import share
from services.trickerion.dark_alley.prophecies import in_force, turn_up
from services.trickerion.hall import APPRENTICES, MEMBERS, READY, Hall, in_theater, is_performance_slot, location_of
from services.trickerion.town import slot_ap

TOWN = (Location.DOWNTOWN, Location.MARKET_ROW, Location.DARK_ALLEY)
"""The Locations that all players share, but the Theater."""
ALL_LOCATIONS = (Location.DOWNTOWN, Location.MARKET_ROW, Location.WORKSHOP, Location.THEATER, Location.DARK_ALLEY)


def base_ap(hall: Hall, content: Content, seat: int, member: int, ap: int) -> int:
    """A Character's own action points under the active prophecy (TR-D91, TR-D105)."""
    prophecy = in_force(hall, content)
    if prophecy.base_ap:
        return prophecy.base_ap
    if prophecy.advertisers_apprentice_ap and member in APPRENTICES and hall.advertised[seat]:
        return prophecy.advertisers_apprentice_ap
    return ap


def on_stage(slot: int) -> bool:
    """Whether a slot is a Performance slot."""
    return in_theater(slot) and is_performance_slot(slot)


def fee(hall: Hall, content: Content, slot: int) -> int:
    """Coins that a slot costs (TR-D108)."""
    prophecy = in_force(hall, content)
    if prophecy.fee and location_of(slot) in TOWN and slot_ap(content, slot) == prophecy.fee_slot_ap:
        return prophecy.fee
    return 0


def place_slots(hall: Hall, content: Content, seat: int, slots: list[int]) -> list[int]:
    """Of these slots those that the active prophecy leaves (TR-D108, TR-D117, TR-AD18, TR-AD22)."""
    prophecy = in_force(hall, content)
    if prophecy.fee:
        slots = [slot for slot in slots if fee(hall, content, slot) <= hall.coins[seat]]
    if prophecy.lowest_slot:
        lowest = min((slot_ap(content, slot) for slot in slots if not on_stage(slot)), default=0)
        slots = [slot for slot in slots if on_stage(slot) or slot_ap(content, slot) == lowest]
    return slots


def why_not_slot(hall: Hall, content: Content, seat: int, slot: int) -> Refusal | None:
    """Why the active prophecy leaves out a slot that is free; None: it does not."""
    coins = fee(hall, content, slot)
    if coins > hall.coins[seat]:
        return Refusal("SLOT_COSTS_COINS", f"That slot costs {coins} coins in this turn.", "TR-D108")
    if in_force(hall, content).lowest_slot:
        return Refusal("LOWEST_MODIFIER", "In this turn the lowest free modifier has to be taken.", "TR-D117")
    return None


def locations(hall: Hall, seat: int, member: int, location: int) -> Sequence[int]:
    """Where a member may be placed; with Freelancer at any Location (TR-D70, TR-AD45)."""
    front = hall.assigned[seat][member] & FRONT
    if front == Assignment.FREELANCER:
        return ALL_LOCATIONS
    if front == Assignment.WORKSHOP and any(
        card == Assignment.FREELANCER for _, _, card in copyable(hall, content_of(hall), seat, Location.WORKSHOP)
    ):
        return ALL_LOCATIONS
    return (location,)


def before_placing(table: HallTable, seat: int, member: int, slot: int) -> None:
    """The card is turned up, the slot is paid (TR-D110, TR-D108)."""
    turn_up(table, seat, member)
    coins = fee(table.hall, table.content, slot)
    if coins:
        money.pay_coins(table, seat, coins, Cause.PROPHECY)
        if location_of(slot) == Location.MARKET_ROW and not table.hall.rulings.share_without_fee:
            share(table, seat, coins)


def placed(table: HallTable, seat: int, member: int) -> Sequence[Frame]:
    """A Character was placed: what its card, or a copied one, offers (TR-D15, TR-D30, TR-D34)."""
    hall = table.hall
    slot = hall.posts[seat][member]
    front = hall.assigned[seat][member] & FRONT
    if member == Member.MAGICIAN and hall.magicians[seat] == Magician.GENTLEMAN and location_of(slot) in TOWN:
        money.gain_fame(table, seat, sum(1 for trick in hall.tricks[seat] if trick), Cause.MAGICIAN)
    if front >= FIRST_SPECIAL:
        return offer(table, seat, front)
    candidates = copyable(hall, table.content, seat, front)
    if not candidates:
        return ()
    if location_of(slot) != front:
        copy(table, seat, *next(candidate for candidate in candidates if candidate[2] == Assignment.FREELANCER))
        return ()
    return (CopyOffer(seat),) if copy_options(hall, table.content, seat, member) else ()


def offer(table: HallTable, seat: int, card: int) -> Sequence[Frame]:
    """What is asked of the Character that has this special card; without a bonus of use it has the action point."""
    hall, content = table.hall, table.content
    slot = hall.posts[seat][hall.actor]
    if location_of(slot) != content.assignments[card].location:
        return ()
    if not useful(content, card, slot):
        if not on_stage(slot):
            money.gain_ap(table, 1)
        return ()
    if hall.rulings.special_at_action and waits(content, card):
        table.emit(BonusKept(seat, card))
        return ()
    return (SpecialUse(seat),)


def useful(content: Content, card: int, slot: int) -> bool:
    """Whether the bonus can serve on that slot (TR-AD2); Freelancer's would have been another Location (TR-AD45)."""
    if card == Assignment.FREELANCER:
        return False
    return (content.assignments[card].action == Action.PERFORM) == on_stage(slot)


class SpecialUse(Ask, tag="special_use"):
    """The bonus of the special card, or one action point more (TR-D15, TR-AD1)."""

    ASKS: ClassVar[str] = "keep the bonus of the special card, or take an action point"
    RULE: ClassVar[str] = "TR-D15"
    EXPECTED: ClassVar[tuple[type, ...]] = (KeepBonus, TakeActionPoint)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return (commands.KEEP_BONUS, commands.TAKE_ACTION_POINT)

    def default(self, hall: Hall, seat: int) -> TakeActionPoint:
        return commands.TAKE_ACTION_POINT

    def choose(self, table: HallTable, seat: int, command: KeepBonus | TakeActionPoint) -> None:
        hall = table.hall
        card = alley_of(hall).copied or hall.assigned[seat][hall.actor] & FRONT
        if isinstance(command, TakeActionPoint):
            if on_stage(hall.posts[seat][hall.actor]):
                table.emit(Declined(seat))  # An action point is of no use there.
            else:
                money.gain_ap(table, 1)
        elif card == Assignment.BUSINESS_SHARE:
            table.emit(BusinessShared(seat))
        else:
            table.emit(BonusKept(seat, card))


# --- Great Optico


def copyable(hall: Hall, content: Content, seat: int, location: int) -> list[tuple[int, int, int]]:
    """(seat, member, card) of each opponent's special card for a Location that a seat may copy (TR-D30, TR-AD25)."""
    if hall.magicians[seat] != Magician.GREAT_OPTICO or alley_of(hall).used[seat]:
        return []
    found = []
    for other, (posts, assigned) in enumerate(zip(hall.posts, hall.assigned, strict=True)):
        if other == seat:
            continue
        for member in MEMBERS:
            card = assigned[member]
            front = card & FRONT
            faceup = front >= FIRST_SPECIAL and card & SPECTATOR and (posts[member] > 0 or posts[member] == READY)
            if faceup and content.assignments[front].location == location:
                found.append((other, member, front))
    return found


def copy_options(hall: Hall, content: Content, seat: int, member: int) -> list[CopySpecial]:
    """The special cards that the Permanent card of a placed Character may work as."""
    slot = hall.posts[seat][member]
    return [
        commands.copy_special(other, theirs)
        for other, theirs, card in copyable(hall, content, seat, location_of(slot))
        if useful(content, card, slot) or not on_stage(slot)
    ]


def copy(table: HallTable, seat: int, other: int, member: int, card: int) -> None:
    """Great Optico's card works as that one."""
    table.emit(AbilityUsed(seat))
    table.emit(SpecialCopied(seat, other, member, card))


class CopyOffer(Ask, tag="copy_special"):
    """Which opponent's special card the Permanent card works as, if any (TR-D30)."""

    ASKS: ClassVar[str] = "copy an opponent's special card or decline"
    RULE: ClassVar[str] = "TR-D30"
    EXPECTED: ClassVar[tuple[type, ...]] = (CopySpecial, Decline)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return [base_commands.DECLINE, *copy_options(hall, content_of(hall), seat, hall.actor)]

    def choose(self, table: HallTable, seat: int, command: CopySpecial | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
            return
        card = table.hall.assigned[command.target_seat][command.member] & FRONT
        copy(table, seat, command.target_seat, command.member, card)
        table.then(*offer(table, seat, card))
