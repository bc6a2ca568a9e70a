"""Special cards of the Theater for Set Up and Reschedule (TR-D51 to TR-D55, TR-D59, TR-D60), and Electra's piles."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, ClassVar, Final

from guildhall.kernel.frames import Frame
from guildhall.trickerion.v1.structs import (
    Assignment,
    Cause,
    Decline,
    Declined,
    GuestInvited,
    InviteGuest,
    InvitePile,
    Magician,
    MarkerLeft,
    PerformanceCardsSwapped,
    PerformInStreet,
    PileInvited,
    PileSetUp,
    SetUpPile,
    SetUpTrick,
    SwapCards,
)
from services.trickerion import commands as base_commands
from services.trickerion import hooks, money, theater
from services.trickerion.asking import Ask, HallTable
from services.trickerion.content import Action, Content
from services.trickerion.dark_alley import commands
from services.trickerion.dark_alley.cards import Bonus, armed_card, bonus_ap
from services.trickerion.dark_alley.evolve import alley_of
from services.trickerion.dark_alley.tricks import marker_yield
from services.trickerion.dark_alley.workshop_cards import gain_yield
from services.trickerion.hall import Hall, display_of, displayed, seat_of, theater_day, trick_of
from services.trickerion.yields import change_of_day, changed

SWAP_COINS = 3
"""What Buying Time pays."""


# --- Electra's piles


def pile_tricks(hall: Hall, seat: int) -> set[int]:
    """The Tricks of which a seat can set up two markers as one: Electra's with two (TR-D33, TR-AD28)."""
    if hall.magicians[seat] != Magician.ELECTRA:
        return set()
    return {trick for trick, markers in zip(hall.tricks[seat], hall.prepared[seat], strict=True) if markers > 1}


def piles(hall: Hall, content: Content, seat: int, most_same: int = 0) -> list[SetUpPile]:
    """Every Set Up of two markers as one pile (TR-D33, TR-AD28)."""
    two = pile_tricks(hall, seat)
    if not two:
        return []
    return [
        commands.set_up_pile(command.trick, command.card, command.slot, command.direction)
        for command in theater.set_ups(hall, content, seat, most_same)
        if command.trick in two
    ]


def set_up_pile(table: HallTable, seat: int, command: SetUpPile) -> Sequence[Frame]:
    """Set up two markers as one: one action, links paid once."""
    hooking = hooks.of(table.hall)
    money.spend_ap(table, hooking.action_costs(table.hall, table.content)[Action.SET_UP])
    table.emit(PileSetUp(seat, command.trick, command.card, command.slot, command.direction))
    hooking.trick_set_up(table, seat, command.trick)
    return theater.make_links(table, seat, command.card, command.slot)


# --- Set Up


def set_ups(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Every Set Up as usual."""
    return _set_ups(hall, content, seat, 0)


def _set_ups(hall: Hall, content: Content, seat: int, most_same: int) -> list[Any]:
    if hall.ap < bonus_ap(hall, content):
        return []
    return [*theater.set_ups(hall, content, seat, most_same), *piles(hall, content, seat, most_same)]


def set_up(table: HallTable, seat: int, command: SetUpTrick | SetUpPile) -> Sequence[Frame]:
    """Set up with the special card: what it changes is asked of `link_bonuses` and `link_shards`."""
    if isinstance(command, SetUpPile):
        return set_up_pile(table, seat, command)
    return theater.act(table, seat, command)


def twists(hall: Hall, content: Content, seat: int) -> list[Any]:
    """A second marker of a symbol may lie on a card (TR-D54, TR-AD32)."""
    return _set_ups(hall, content, seat, 1)


def link_bonuses(
    hall: Hall, content: Content, card: int, slot: int, linked: Sequence[int], bonuses: Sequence[int]
) -> Sequence[int]:
    """What a marker just set up is paid for, an amount each (TR-D52, TR-D53, TR-AD31)."""
    special = armed_card(hall, content)
    if alley_of(hall).armed and alley_of(hall).bonus == Assignment.ORCHESTRAL_INTERLUDE:
        joined = joined_bonuses(hall, content, card, slot)
        return [*bonuses, *joined] if hall.rulings.orchestral_on_top else joined
    return list(bonuses) * special.payment_times


def joined_bonuses(hall: Hall, content: Content, card: int, slot: int) -> list[int]:
    """A payment for every marker that a circle joins with the one in this slot."""
    markers = hall.stage[displayed(hall, card)]
    amounts = []
    for _, _, other in content.performances[card].layout.around[slot]:
        if markers[other]:
            paying = markers[other if hall.rulings.bonus_by_neighbour else slot]
            amounts.append(content.link_bonus[content.tricks[trick_of(paying)].level])
    return amounts


def guests(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Markers, or Electra's piles, beside the slots of cards without a free slot (TR-D51, TR-AD30)."""
    if hall.ap < bonus_ap(hall, content):
        return []
    full = [
        (card, markers)
        for card, markers in zip(display_of(hall), hall.stage, strict=True)
        if all(markers[: len(content.performances[card].layout.slots)])
    ]
    single = [
        commands.invite_guest(trick, card)
        for trick, symbol, prepared in zip(hall.tricks[seat], hall.symbols[seat], hall.prepared[seat], strict=True)
        if prepared
        for card, markers in full
        if not theater.same_symbol(markers, seat, symbol)
    ]
    two = pile_tricks(hall, seat)
    return [*single, *(commands.invite_pile(guest.trick, guest.card) for guest in single if guest.trick in two)]


def invite(table: HallTable, seat: int, command: InviteGuest | InvitePile) -> Sequence[Frame]:
    kind = PileInvited if isinstance(command, InvitePile) else GuestInvited
    money.spend_ap(table, bonus_ap(table.hall, table.content))
    table.emit(kind(seat, command.trick, command.card))
    hooks.of(table.hall).trick_set_up(table, seat, command.trick)
    return ()


def buy_time(table: HallTable, seat: int, command: SetUpTrick | SetUpPile) -> Sequence[Frame]:
    return (*set_up(table, seat, command), SwapOffer(seat))


class SwapOffer(Ask, tag="swap_cards"):
    """Buying Time: two Performance cards may swap places (TR-D55, TR-AD33)."""

    ASKS: ClassVar[str] = "swap two Performance cards or decline"
    RULE: ClassVar[str] = "TR-D55"
    EXPECTED: ClassVar[tuple[type, ...]] = (SwapCards, Decline)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        pairs = combinations(display_of(hall), 2)
        return [base_commands.DECLINE, *(commands.swap_cards(first, second) for first, second in pairs)]

    def choose(self, table: HallTable, seat: int, command: SwapCards | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
        else:
            table.emit(PerformanceCardsSwapped(seat, command.first, command.second))
        if isinstance(command, SwapCards) or table.hall.rulings.buying_time_always:
            money.gain_coins(table, seat, SWAP_COINS, Cause.SPECIAL)


# --- Reschedule


def street(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Own markers, guests too, that can leave their cards (TR-D59)."""
    if hall.ap < bonus_ap(hall, content):
        return []
    return [
        commands.perform_in_street(card, slot)
        for card, markers in zip(display_of(hall), hall.stage, strict=True)
        for slot, marker in enumerate(markers)
        if marker and seat_of(marker) == seat
    ]


def perform_in_street(table: HallTable, seat: int, command: PerformInStreet) -> Sequence[Frame]:
    """The Trick's yields, as the own weekday modifies them; no performance otherwise (TR-AD37)."""
    hall, content = table.hall, table.content
    marker = hall.stage[displayed(hall, command.card)][command.slot]
    own = marker_yield(hall, content, marker)
    day = change_of_day(hall, content, theater_day(hall, seat))
    money.spend_ap(table, bonus_ap(hall, content))
    table.emit(MarkerLeft(seat, command.card, command.slot))
    gain_yield(table, seat, changed(own, [day], hall.rulings.skip_absent_yield))
    return ()


def favors(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Opponents' markers (TR-D60, TR-AD38)."""
    if hall.ap < bonus_ap(hall, content):
        return []
    others = [other for other in range(len(hall.fame)) if other != seat]
    return list(theater.reschedules(hall, content, others))


PLAIN: Final = Bonus(set_ups, set_up)
"""A Set Up with no more than the words of its card."""

CASES: Final[dict[int, Bonus]] = {
    Assignment.GUEST_PERFORMER: Bonus(guests, invite),
    Assignment.ORCHESTRAL_INTERLUDE: Bonus(set_ups, set_up),
    Assignment.NEW_TWIST: Bonus(twists, set_up),
    Assignment.BUYING_TIME: Bonus(set_ups, buy_time),
    Assignment.STREET_PERFORMANCE: Bonus(street, perform_in_street),
    Assignment.DIRECTORS_FAVOR: Bonus(favors, theater.act),
}
"""Cards with a case that act on one action of the Theater."""
