"""How each fact changes the hall. Nothing here decides, and all works alike on a blind hall with redacted events."""

from bisect import insort
from collections.abc import Callable
from typing import Any

from guildhall.kernel.cards import EVERYONE, FRONT, UNKNOWN, join_hand, leave_hand, new_card, told
from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Assignment, Member
from services.trickerion.hall import (
    ABSENT,
    CARD_SLOTS,
    ENGINEERS_SLOT,
    HOME,
    IDLE,
    MEMBERS,
    NOBODY,
    NOTHING,
    READY,
    THEATER_FLAG,
    Hall,
    direction_of,
    displayed,
    is_pile,
    kind_of,
    marker,
    seat_of,
    symbol_of,
    trick_of,
)

# --- set-up


def table_laid(hall: Hall, e: wire.TableLaid) -> None:
    hall.first = e.seat
    hall.residence = list(e.tricks)
    hall.buy_area = list(e.buy_area)


def board_laid(hall: Hall, e: wire.BoardLaid) -> None:
    hall.hands[e.seat] = [told(new_card(card), card, EVERYONE) for card in e.hand]
    hall.fame[e.seat] = e.fame
    hall.shards[e.seat] = e.shards
    hall.supply[e.seat] = [0] + [e.markers] * 4


def performance_deck_shuffled(hall: Hall, e: wire.PerformanceDeckShuffled) -> None:
    fronts = e.cards or (UNKNOWN,) * len(e.theaters)
    hall.performances = [front | theater << THEATER_FLAG for front, theater in zip(fronts, e.theaters, strict=True)]


def performance_cards_displayed(hall: Hall, e: wire.PerformanceCardsDisplayed) -> None:
    hall.display = [told(new_card(card), card, EVERYONE) for card in e.cards]
    hall.stage = [[0] * CARD_SLOTS for _ in e.cards]


def phase_started(hall: Hall, e: wire.PhaseStarted) -> None:
    hall.phase = e.phase
    hall.turn = e.turn
    hall.weekday = 0


def magician_chosen(hall: Hall, e: wire.MagicianChosen) -> None:
    hall.magicians[e.seat] = e.magician


def character_joined(hall: Hall, e: wire.CharacterJoined) -> None:
    hall.posts[e.seat][e.member] = HOME
    if e.from_inn:
        hall.inn[e.seat].remove(kind_of(e.member))


def trick_taken(hall: Hall, e: wire.TrickTaken) -> None:
    hall.residence.remove(e.trick)
    hall.tricks[e.seat][e.slot] = e.trick
    hall.symbols[e.seat][e.slot] = e.symbol


# --- Components, money


def components_gained(hall: Hall, e: wire.ComponentsGained) -> None:
    hall.piles[e.seat][e.component] += e.amount
    if e.manager_slot:
        multi = hall.multi[e.seat]
        multi[multi.index(0)] = e.component


def components_returned(hall: Hall, e: wire.ComponentsReturned) -> None:
    piles, multi = hall.piles[e.seat], hall.multi[e.seat]
    piles[e.component] -= e.amount
    if not piles[e.component] and e.component in multi:
        multi[multi.index(e.component)] = 0


def coins_changed(hall: Hall, e: wire.CoinsGained | wire.CoinsPaid) -> None:
    hall.coins[e.seat] = e.coins


def fame_changed(hall: Hall, e: wire.FameGained | wire.FameLost) -> None:
    hall.fame[e.seat] = e.fame


def shards_changed(hall: Hall, e: wire.ShardsGained | wire.ShardsSpent) -> None:
    hall.shards[e.seat] = e.shards


# --- the turn, up to Assignment


def initiative_set(hall: Hall, e: wire.InitiativeSet) -> None:
    hall.initiative = list(e.seats)


def dice_rolled(hall: Hall, e: wire.DiceRolled) -> None:
    hall.dice = list(e.faces)


def die_turned(hall: Hall, e: wire.DieRerolled | wire.DieSet) -> None:
    hall.dice[e.die] = e.face


def advertised(hall: Hall, e: wire.Advertised) -> None:
    hall.advertised[e.seat] = True


def declined(hall: Hall, e: wire.Declined) -> None:
    """Changes nothing at the table."""


def cards_assigned(hall: Hall, e: wire.CardsAssigned) -> None:
    hand, assigned, posts = hall.hands[e.seat], hall.assigned[e.seat], hall.posts[e.seat]
    for member, card in zip(e.members, e.cards, strict=True):
        assigned[member] = told(leave_hand(hand, card), card, EVERYONE)
        posts[member] = READY


# --- placements


def character_placed(hall: Hall, e: wire.CharacterPlaced) -> None:
    hall.posts[e.seat][e.member] = e.slot
    hall.active = e.seat
    hall.actor = e.member
    hall.ap = e.action_points
    hall.enhanced = False


def character_idled(hall: Hall, e: wire.CharacterIdled) -> None:
    hall.posts[e.seat][e.member] = IDLE


def character_enhanced(hall: Hall, e: wire.CharacterEnhanced) -> None:
    hall.enhanced = True


def action_points_changed(hall: Hall, e: wire.ActionPointsGained | wire.ActionPointsSpent) -> None:
    hall.ap = e.left


def placement_ended(hall: Hall, e: wire.PlacementEnded) -> None:
    hall.active = NOBODY
    hall.actor = 0
    hall.ap = 0
    hall.enhanced = False


def trick_returned(hall: Hall, e: wire.TrickReturned) -> None:
    tricks, symbols, prepared = hall.tricks[e.seat], hall.symbols[e.seat], hall.prepared[e.seat]
    slot = tricks.index(e.trick)
    symbol, markers = symbols[slot], prepared[slot]
    for index, markers_here in enumerate(hall.stage):
        own = [m for m in markers_here if m and seat_of(m) == e.seat and symbol_of(m) == symbol]
        if own:
            markers += sum(1 + is_pile(m) for m in own)
            hall.stage[index] = [0 if m in own else m for m in markers_here if m not in own or direction_of(m)]
    tricks[slot] = symbols[slot] = prepared[slot] = 0
    if not e.removed:
        hall.supply[e.seat][symbol] += markers
    insort(hall.residence, e.trick)


def character_hired(hall: Hall, e: wire.CharacterHired) -> None:
    hall.inn[e.seat].append(e.character)


def component_ordered(hall: Hall, e: wire.ComponentOrdered) -> None:
    hall.order_area[e.slot] = e.component


def component_quick_ordered(hall: Hall, e: wire.ComponentQuickOrdered) -> None:
    hall.quick_order = e.component


def markers_prepared(hall: Hall, e: wire.MarkersPrepared) -> None:
    slot = hall.tricks[e.seat].index(e.trick)
    hall.prepared[e.seat][slot] += e.markers
    hall.supply[e.seat][hall.symbols[e.seat][slot]] -= e.markers


def trick_moved(hall: Hall, e: wire.TrickMoved) -> None:
    slot = hall.tricks[e.seat].index(e.trick)
    for row in (hall.tricks[e.seat], hall.symbols[e.seat], hall.prepared[e.seat]):
        row[slot], row[ENGINEERS_SLOT] = row[ENGINEERS_SLOT], row[slot]


def components_moved(hall: Hall, e: wire.ComponentsMoved) -> None:
    multi = hall.multi[e.seat]
    multi[multi.index(e.exchanged)] = e.component


def apprentice_moved(hall: Hall, e: wire.ApprenticeMoved) -> None:
    posts, assigned = hall.posts[e.seat], hall.assigned[e.seat]
    home = Member.ASSISTANTS_APPRENTICE
    posts[home], posts[e.member] = posts[e.member], ABSENT
    assigned[home], assigned[e.member] = assigned[e.member], NOTHING
    if hall.active == e.seat and hall.actor == e.member:
        hall.actor = home


# --- the Theater


def trick_set_up(hall: Hall, e: wire.TrickSetUp) -> None:
    slot = hall.tricks[e.seat].index(e.trick)
    hall.prepared[e.seat][slot] -= 1
    here = hall.stage[displayed(hall, e.card)]
    placed = marker(e.trick, e.seat, hall.symbols[e.seat][slot], e.direction)
    if e.direction:
        here[e.slot] = placed
    else:
        here.append(placed)


def trick_rescheduled(hall: Hall, e: wire.TrickRescheduled) -> None:
    left = hall.stage[displayed(hall, e.from_card)]
    moved = left[e.from_slot]
    if direction_of(moved):
        left[e.from_slot] = 0
    else:
        del left[e.from_slot]
    here = hall.stage[displayed(hall, e.card)]
    here[e.slot] = marker(trick_of(moved), seat_of(moved), symbol_of(moved), e.direction, is_pile(moved))


def link_made(hall: Hall, e: wire.LinkMade) -> None:
    """Changes nothing at the table; what it pays comes in events of its own."""


def weekday_started(hall: Hall, e: wire.WeekdayStarted) -> None:
    hall.weekday = e.weekday


def card_performed(hall: Hall, e: wire.CardPerformed) -> None:
    """Changes nothing at the table; yields and markers come in events of their own."""


def _to_supply(hall: Hall, markers: list[int]) -> None:
    for m in markers:
        if m:
            hall.supply[seat_of(m)][symbol_of(m)] += 1 + is_pile(m)


def markers_returned(hall: Hall, e: wire.MarkersReturned) -> None:
    index = displayed(hall, e.card)
    markers = hall.stage[index]
    _to_supply(hall, markers)
    hall.stage[index] = [0 for m in markers if not m or direction_of(m)]


# --- End of the turn


def characters_returned(hall: Hall, e: wire.CharactersReturned) -> None:
    """Cards turned down come back to hand whatever they are; of the others the Permanent ones do (TR-145, TR-D22)."""
    for posts, assigned, hand in zip(hall.posts, hall.assigned, hall.hands, strict=True):
        for member in MEMBERS:
            card = assigned[member]
            if card != NOTHING and (posts[member] == IDLE or card & FRONT <= Assignment.DARK_ALLEY):
                join_hand(hand, card)
                assigned[member] = NOTHING
            if posts[member] != ABSENT:
                posts[member] = HOME


def orders_arrived(hall: Hall, e: wire.OrdersArrived) -> None:
    hall.buy_area = list(e.buy_area)
    hall.order_area = [0] * len(hall.order_area)
    hall.quick_order = 0


def performance_card_removed(hall: Hall, e: wire.PerformanceCardRemoved) -> None:
    index = displayed(hall, e.card)
    hall.removed.append(hall.display.pop(index))
    _to_supply(hall, hall.stage.pop(index))


def performance_card_entered(hall: Hall, e: wire.PerformanceCardEntered) -> None:
    card = hall.performances.pop() & FRONT
    hall.display.insert(0, told(card, e.card, EVERYONE))
    hall.stage.insert(0, [0] * CARD_SLOTS)


def turn_ended(hall: Hall, e: wire.TurnEnded) -> None:
    hall.turn = e.turn
    hall.advertised = [False] * len(hall.advertised)


EVOLVE: dict[type, Callable[[Any, Any], None]] = {
    wire.TableLaid: table_laid,
    wire.BoardLaid: board_laid,
    wire.PerformanceDeckShuffled: performance_deck_shuffled,
    wire.PerformanceCardsDisplayed: performance_cards_displayed,
    wire.PhaseStarted: phase_started,
    wire.MagicianChosen: magician_chosen,
    wire.CharacterJoined: character_joined,
    wire.TrickTaken: trick_taken,
    wire.ComponentsGained: components_gained,
    wire.ComponentsReturned: components_returned,
    wire.CoinsGained: coins_changed,
    wire.CoinsPaid: coins_changed,
    wire.FameGained: fame_changed,
    wire.FameLost: fame_changed,
    wire.ShardsGained: shards_changed,
    wire.ShardsSpent: shards_changed,
    wire.InitiativeSet: initiative_set,
    wire.DiceRolled: dice_rolled,
    wire.DieRerolled: die_turned,
    wire.DieSet: die_turned,
    wire.Advertised: advertised,
    wire.Declined: declined,
    wire.CardsAssigned: cards_assigned,
    wire.CharacterPlaced: character_placed,
    wire.CharacterIdled: character_idled,
    wire.CharacterEnhanced: character_enhanced,
    wire.ActionPointsGained: action_points_changed,
    wire.ActionPointsSpent: action_points_changed,
    wire.PlacementEnded: placement_ended,
    wire.TrickReturned: trick_returned,
    wire.CharacterHired: character_hired,
    wire.ComponentOrdered: component_ordered,
    wire.ComponentQuickOrdered: component_quick_ordered,
    wire.MarkersPrepared: markers_prepared,
    wire.TrickMoved: trick_moved,
    wire.ComponentsMoved: components_moved,
    wire.ApprenticeMoved: apprentice_moved,
    wire.TrickSetUp: trick_set_up,
    wire.TrickRescheduled: trick_rescheduled,
    wire.LinkMade: link_made,
    wire.WeekdayStarted: weekday_started,
    wire.CardPerformed: card_performed,
    wire.MarkersReturned: markers_returned,
    wire.CharactersReturned: characters_returned,
    wire.OrdersArrived: orders_arrived,
    wire.PerformanceCardRemoved: performance_card_removed,
    wire.PerformanceCardEntered: performance_card_entered,
    wire.TurnEnded: turn_ended,
}
"""What each event of the base game does."""
