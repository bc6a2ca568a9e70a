"""The Theater: Tricks set up on Performance cards, their links, and markers rescheduled (TR-106 to TR-117)."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    Cause,
    LinkMade,
    MoveMarker,
    Reschedule,
    Resource,
    SetUpTrick,
    TakeLinkBonus,
    TrickRescheduled,
    TrickSetUp,
)
from services.trickerion import hooks, links, money
from services.trickerion.asking import Ask, HallTable, content_of
from services.trickerion.content import Action, Content
from services.trickerion.hall import Hall, direction_of, display_of, displayed, seat_of, symbol_of, trick_of
from services.trickerion.links import FREE, Layout, Place

COMMANDS = (SetUpTrick, Reschedule)
"""What a Character that acts in the Theater can do."""

BONUSES = (TakeLinkBonus(Resource.FAME), TakeLinkBonus(Resource.COINS))


# --- markers on cards


def tops_of(content: Content, card: int, markers: Sequence[int]) -> list[int]:
    """What the markers on a card show, by slot (see links.py); guests beside the slots show nothing."""
    tricks = content.tricks
    return [
        links.top_of(tricks[trick_of(marker)].category, direction_of(marker)) if marker else FREE
        for marker in markers[: len(content.performances[card].layout.slots)]
    ]


def links_on(content: Content, card: int, markers: Sequence[int]) -> int:
    """How many links there are on a card, however they came about (TR-129, TR-A6)."""
    return len(links.links(content.performances[card].layout, tops_of(content, card, markers)))


def same_symbol(markers: Iterable[int], seat: int, symbol: int) -> int:
    """How many markers of that seat and symbol lie on a card (TR-109)."""
    return sum(1 for marker in markers if marker and seat_of(marker) == seat and symbol_of(marker) == symbol)


@cache
def _set_up_commands(places: tuple[Place, ...], trick: int, card: int) -> tuple[SetUpTrick, ...]:
    return tuple(SetUpTrick(trick, card, slot, direction) for slot, direction in places)


@cache
def _move_commands(places: tuple[Place, ...], card: int) -> tuple[MoveMarker, ...]:
    return tuple(MoveMarker(card, slot, direction) for slot, direction in places)


def set_ups(hall: Hall, content: Content, seat: int, most_same: int = 0) -> list[SetUpTrick]:
    """Every Set Up of a seat by the rules of marker placement (TR-106, TR-108, TR-109).

    On a card lie at most `most_same` markers of the same seat and symbol already.
    """
    cards = list(zip(display_of(hall), hall.stage, strict=True))
    found: list[SetUpTrick] = []
    for trick, symbol, prepared in zip(hall.tricks[seat], hall.symbols[seat], hall.prepared[seat], strict=True):
        if prepared:
            for card, markers in cards:
                if same_symbol(markers, seat, symbol) <= most_same:
                    commands = _set_up_commands(content.performances[card].layout.places, trick, card)
                    found += [command for command in commands if not markers[command.slot]]
    return found


def moves(hall: Hall, content: Content, card: int, slot: int) -> Iterator[MoveMarker]:
    """Where the marker in that slot can be rescheduled to (TR-116): by the same rules, itself not counted."""
    here = hall.stage[displayed(hall, card)]
    moved = here[slot]
    seat, symbol = seat_of(moved), symbol_of(moved)
    for other, markers in zip(display_of(hall), hall.stage, strict=True):
        if same_symbol(markers, seat, symbol) == (markers is here):
            commands = _move_commands(content.performances[other].layout.places, other)
            yield from (command for command in commands if not markers[command.slot])


def reschedules(hall: Hall, content: Content, owners: Sequence[int]) -> list[Reschedule]:
    """The markers of these seats that can be rescheduled somewhere."""
    return [
        Reschedule(card, slot)
        for card, markers in zip(display_of(hall), hall.stage, strict=True)
        for slot, marker in enumerate(markers)
        if marker and seat_of(marker) in owners and any(moves(hall, content, card, slot))
    ]


# --- actions


def options(hall: Hall, content: Content, seat: int, ap: int) -> list[Any]:
    """What a Character with so many action points can do in the Theater."""
    costs = hooks.of(hall).action_costs(hall, content)
    found: list[Any] = []
    if ap >= costs[Action.SET_UP]:
        found += set_ups(hall, content, seat)
    if ap >= costs[Action.RESCHEDULE]:
        found += reschedules(hall, content, (seat,))
    return found


def act(table: HallTable, seat: int, command: Any) -> Sequence[Frame]:
    """Carry out a listed command of the Theater."""
    hook = hooks.of(table.hall)
    if type(command) is SetUpTrick:
        money.spend_ap(table, hook.action_costs(table.hall, table.content)[Action.SET_UP])
        return set_up(table, seat, command.trick, command.card, command.slot, command.direction)
    money.spend_ap(table, hook.action_costs(table.hall, table.content)[Action.RESCHEDULE])
    return (RescheduleTo(seat, command.card, command.slot),)


def set_up(table: HallTable, seat: int, trick: int, card: int, slot: int, direction: int) -> list[Frame]:
    """Put a marker of an own Trick onto a card; the answer asks what its links bring (TR-106, TR-110)."""
    table.emit(TrickSetUp(seat, trick, card, slot, direction))
    hooks.of(table.hall).trick_set_up(table, seat, trick)
    return make_links(table, seat, card, slot)


def make_links(table: HallTable, seat: int, card: int, slot: int) -> list[Frame]:
    """Link the marker that a seat just put into a slot with those around it (TR-110 to TR-115)."""
    hall, content = table.hall, table.content
    hook = hooks.of(hall)
    layout: Layout = content.performances[card].layout
    markers = hall.stage[displayed(hall, card)]
    tops = tops_of(content, card, markers)
    linked: list[int] = []
    bonuses: list[int] = []
    for circle in links.links_of(layout, tops, slot, tops[slot]):
        other = links.across(layout, circle, slot)
        table.emit(LinkMade(seat, card, slot, other))
        if layout.circles[circle].shard:
            money.gain_shards(table, seat, hook.link_shards(hall, content), Cause.LINK)
            if seat_of(markers[other]) != seat:
                money.gain_shards(table, seat_of(markers[other]), 1, Cause.LINK)
        paying = markers[other if hall.rulings.bonus_by_neighbour else slot]
        linked.append(other)
        bonuses.append(content.link_bonus[content.tricks[trick_of(paying)].level])
    return [LinkBonus(seat, amount) for amount in hook.link_bonuses(hall, content, card, slot, linked, bonuses)]


class LinkBonus(Ask, tag="link_bonus"):
    """What one link brings whoever made it: so much Fame or coins (TR-111, TR-112, TR-A42)."""

    seat: int
    amount: int

    ASKS = "take Fame or coins for your link"
    RULE = "TR-112"
    EXPECTED = (TakeLinkBonus,)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return BONUSES

    def choose(self, table: HallTable, seat: int, command: TakeLinkBonus) -> None:
        gain = money.gain_fame if command.resource == Resource.FAME else money.gain_coins
        gain(table, seat, self.amount, Cause.LINK)

    def why_not(self, hall: Hall, seat: int, command: TakeLinkBonus) -> Refusal:
        return Refusal("NO_SUCH_BONUS", "A link brings Fame or coins.", "TR-112")


class RescheduleTo(Ask, tag="reschedule"):
    """Where the marker goes that was taken up from a slot (TR-116); without `paid` it brings nothing (TR-117)."""

    seat: int
    card: int
    slot: int
    paid: bool = False
    """Whether the links that it makes are paid as those of a Set Up."""

    ASKS = "say where the marker goes"
    RULE = "TR-116"
    EXPECTED = (MoveMarker,)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return moves(hall, content_of(hall), self.card, self.slot)

    def choose(self, table: HallTable, seat: int, command: MoveMarker) -> None:
        card, slot = command.card, command.slot
        table.emit(TrickRescheduled(seat, self.card, self.slot, card, slot, command.direction))
        if self.paid:
            table.then(*make_links(table, seat, card, slot))

    def why_not(self, hall: Hall, seat: int, command: MoveMarker) -> Refusal:
        here = hall.stage[displayed(hall, self.card)]
        moved = here[self.slot]
        refusal = why_not_there(hall, content_of(hall), command.card, command.slot, command.direction)
        if refusal is not None:
            return refusal
        assert same_symbol(hall.stage[displayed(hall, command.card)], seat_of(moved), symbol_of(moved))
        return _same_symbol_refused()


# --- refusals


def _same_symbol_refused() -> Refusal:
    return Refusal("SAME_SYMBOL", "A marker of that player with that symbol lies on the card already.", "TR-109")


def why_not_there(hall: Hall, content: Content, card: int, slot: int, direction: int) -> Refusal | None:
    """Why no marker can lie in that slot so; None where it can, as far as the slot goes."""
    if card not in display_of(hall):
        return Refusal("NOT_ON_DISPLAY", "That Performance card is not on display.", "TR-106")
    layout = content.performances[card].layout
    if slot >= len(layout.slots):
        return Refusal("NO_SUCH_SLOT", "That Performance card has no such slot.", "TR-106")
    if hall.stage[displayed(hall, card)][slot]:
        return Refusal("SLOT_TAKEN", "A marker lies in that slot.", "TR-106")
    if (slot, direction) not in layout.places:
        return Refusal("NO_CIRCLE", "The corner of the Trick's category has to point into a Link circle.", "TR-108")
    return None


def why_not(hall: Hall, content: Content, seat: int, ap: int, command: Any) -> Refusal:
    """Why a command of the Theater is not listed."""
    costs = hooks.of(hall).action_costs(hall, content)
    if type(command) is SetUpTrick:
        if command.trick not in hall.tricks[seat]:
            return Refusal("NOT_YOUR_TRICK", "You do not have that Trick.", "TR-106")
        here = hall.tricks[seat].index(command.trick)
        if not hall.prepared[seat][here]:
            return Refusal("NO_MARKER", "No marker lies on that Trick: it has to be prepared first.", "TR-106")
        if ap < costs[Action.SET_UP]:
            return _too_few_points()
        refusal = why_not_there(hall, content, command.card, command.slot, command.direction)
        return refusal if refusal is not None else _same_symbol_refused()
    if command.card not in display_of(hall):
        return Refusal("NOT_ON_DISPLAY", "That Performance card is not on display.", "TR-116")
    markers = hall.stage[displayed(hall, command.card)]
    if command.slot >= len(markers) or not markers[command.slot]:
        return Refusal("NO_MARKER", "No marker lies in that slot.", "TR-116")
    if seat_of(markers[command.slot]) != seat:
        return Refusal("NOT_YOUR_MARKER", "You can reschedule your own markers only.", "TR-116")
    if ap < costs[Action.RESCHEDULE]:
        return _too_few_points()
    return Refusal("NOWHERE_TO_GO", "There is no other slot to which that marker could go.", "TR-116")


def _too_few_points() -> Refusal:
    return Refusal("TOO_FEW_ACTION_POINTS", "The Character has too few action points left for that.", "TR-055")
