"""How each fact of the Dark Alley changes the hall, and what it keeps of the base game's facts."""

from bisect import insort
from collections.abc import Callable
from typing import Any

from guildhall.kernel.cards import EVERYONE, FRONT, UNKNOWN, join_hand, knows, leave_hand, new_card, told
from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Member
from services.trickerion import evolve as base
from services.trickerion.dark_alley.hall import NOBODY, QUICK_ORDER, Alley, AlleyCards, whom
from services.trickerion.hall import (
    ABSENT,
    CARD_SLOTS,
    NOTHING,
    READY,
    Hall,
    direction_of,
    displayed,
    in_theater,
    is_performance_slot,
    is_pile,
    marker,
    seat_of,
    symbol_of,
    trick_of,
)


def alley_of(hall: Hall) -> Alley:
    """The Dark Alley of a hall that has one."""
    alley = hall.alley
    assert alley is not None
    return alley


def cards_of(hall: Hall) -> AlleyCards:
    """Its hidden cards."""
    cards = hall.alley_cards
    assert cards is not None
    return cards


# --- decks and prophecies


def special_deck_shuffled(hall: Hall, e: wire.SpecialDeckShuffled) -> None:
    cards_of(hall).decks[e.deck] = [new_card(card) for card in e.cards] or [UNKNOWN] * e.count


def prophecy_pile_shuffled(hall: Hall, e: wire.ProphecyPileShuffled) -> None:
    cards_of(hall).pile = [new_card(card) for card in e.prophecies] or [UNKNOWN] * e.count
    alley_of(hall).discarded = []


def prophecy_drawn(hall: Hall, e: wire.ProphecyDrawn) -> None:
    alley_of(hall).pending.insert(e.place, told(cards_of(hall).pile.pop(), e.prophecy, EVERYONE))


def prophecies_moved(hall: Hall, e: wire.PropheciesMoved) -> None:
    alley = alley_of(hall)
    alley.discarded += alley.active
    alley.active = alley.pending[:1]
    del alley.pending[:1]


def prophecies_turned(hall: Hall, e: wire.PropheciesTurned) -> None:
    alley = alley_of(hall)
    alley.pending.append(alley.pending.pop(0))
    alley.told = True


def prophecy_woven(hall: Hall, e: wire.ProphecyWoven) -> None:
    alley = alley_of(hall)
    alley.discarded += alley.active
    alley.active = [alley.pending.pop(e.place)]


# --- drawing


def special_cards_drawn(hall: Hall, e: wire.SpecialCardsDrawn) -> None:
    alley, cards = alley_of(hall), cards_of(hall)
    fronts = e.cards or (UNKNOWN,) * e.count
    drawn = [told(cards.decks[e.deck].pop(), front, knows(e.seat)) for front in fronts]
    alley.drew = True
    if hall.rulings.keep_half and e.deck in alley.drawn_from:
        draw = alley.drawn_from.index(e.deck)
        cards.drawn[draw] += drawn
        alley.to_put_under[draw] = len(cards.drawn[draw]) // 2
    elif e.count == 1:
        join_hand(hall.hands[e.seat], drawn[0])
    else:
        cards.drawn.append(drawn)
        alley.drawn_from.append(e.deck)
        alley.to_put_under.append(e.count // 2)


def special_card_put_under(hall: Hall, e: wire.SpecialCardPutUnder) -> None:
    """Which of them goes under the deck is the seat's secret, even where everybody knew what was drawn."""
    alley, cards = alley_of(hall), cards_of(hall)
    drawn = cards.drawn[e.draw]
    fronts = [card & FRONT for card in drawn]
    chosen = fronts.index(e.card) if e.card in fronts else 0
    drawn[:] = [only_known_by(card, e.seat) for card in drawn]
    cards.decks[alley.drawn_from[e.draw]].insert(0, drawn.pop(chosen))
    alley.to_put_under[e.draw] -= 1
    if not alley.to_put_under[e.draw]:
        for card in drawn:
            join_hand(hall.hands[e.seat], card)
        del cards.drawn[e.draw], alley.drawn_from[e.draw], alley.to_put_under[e.draw]


def only_known_by(card: int, seat: int) -> int:
    """The card when nobody but that seat can tell any more which one it is."""
    return card & (FRONT | knows(seat))


# --- cards that lie facedown (prophecy 20)


def cards_laid_facedown(hall: Hall, e: wire.CardsLaidFacedown) -> None:
    """Nobody else can tell any more which cards are in the hand and which lie under Characters, if any do."""
    if not e.members:
        return
    hand, assigned, posts = hall.hands[e.seat], hall.assigned[e.seat], hall.posts[e.seat]
    if e.cards:
        for card in e.cards:
            leave_hand(hand, card)
        hall.hands[e.seat] = sorted(card & FRONT | knows(e.seat) for card in hand)
    else:
        hall.hands[e.seat] = [UNKNOWN] * (len(hand) - len(e.members))
    for index, member in enumerate(e.members):
        assigned[member] = e.cards[index] | knows(e.seat) if e.cards else UNKNOWN
        posts[member] = READY


def card_turned_up(hall: Hall, e: wire.CardTurnedUp) -> None:
    assigned = hall.assigned[e.seat]
    assigned[e.member] = told(assigned[e.member], e.card, EVERYONE)


def hand_taken_up(hall: Hall, e: wire.HandTakenUp) -> None:
    """The hand has these cards: known ones, or some of those that are not known."""
    rest = list(hall.hands[e.seat])
    for front in e.cards:
        there = next((card for card in rest if card & FRONT == front), None)
        rest.remove(UNKNOWN if there is None else there)
    hall.hands[e.seat] = sorted([*rest, *(front | EVERYONE for front in e.cards)])


# --- special cards in use


def bonus_kept(hall: Hall, e: wire.BonusKept) -> None:
    alley = alley_of(hall)
    post = hall.posts[e.seat][hall.actor]
    if in_theater(post) and is_performance_slot(post):
        alley.performing[e.seat] = e.card
    else:
        alley.bonus = e.card


def special_copied(hall: Hall, e: wire.SpecialCopied) -> None:
    alley_of(hall).copied = e.card


def bonus_armed(hall: Hall, e: wire.BonusArmed) -> None:
    alley_of(hall).armed = True


def bonus_spent(hall: Hall, e: wire.BonusSpent) -> None:
    alley = alley_of(hall)
    alley.armed = False
    alley.bonus = 0


def ability_used(hall: Hall, e: wire.AbilityUsed) -> None:
    alley_of(hall).used[e.seat] = True


def special_card_returned(hall: Hall, e: wire.SpecialCardReturned) -> None:
    hall.assigned[e.seat][e.member] = NOTHING
    cards_of(hall).decks[e.deck].insert(0, e.card | EVERYONE)


# --- the Theater


def pile_set_up(hall: Hall, e: wire.PileSetUp) -> None:
    slot = hall.tricks[e.seat].index(e.trick)
    hall.prepared[e.seat][slot] -= 2
    here = hall.stage[displayed(hall, e.card)]
    here[e.slot] = marker(e.trick, e.seat, hall.symbols[e.seat][slot], e.direction, True)


def guest_invited(hall: Hall, e: wire.GuestInvited) -> None:
    slot = hall.tricks[e.seat].index(e.trick)
    hall.prepared[e.seat][slot] -= 1
    hall.stage[displayed(hall, e.card)].append(marker(e.trick, e.seat, hall.symbols[e.seat][slot], 0))


def pile_invited(hall: Hall, e: wire.PileInvited) -> None:
    slot = hall.tricks[e.seat].index(e.trick)
    hall.prepared[e.seat][slot] -= 2
    hall.stage[displayed(hall, e.card)].append(marker(e.trick, e.seat, hall.symbols[e.seat][slot], 0, True))


def performance_cards_swapped(hall: Hall, e: wire.PerformanceCardsSwapped) -> None:
    a, b = displayed(hall, e.first), displayed(hall, e.second)
    hall.display[a], hall.display[b] = hall.display[b], hall.display[a]
    hall.stage[a], hall.stage[b] = hall.stage[b], hall.stage[a]


def marker_left(hall: Hall, e: wire.MarkerLeft) -> None:
    here = hall.stage[displayed(hall, e.card)]
    left = here[e.slot]
    hall.supply[e.seat][symbol_of(left)] += 1 + is_pile(left)
    if e.slot < CARD_SLOTS:
        here[e.slot] = 0
    else:
        del here[e.slot]


def marker_restored(hall: Hall, e: wire.MarkerRestored) -> None:
    slot = hall.tricks[e.seat].index(e.trick)
    hall.supply[e.seat][hall.symbols[e.seat][slot]] -= 1
    hall.prepared[e.seat][slot] += 1


def premiere_chosen(hall: Hall, e: wire.PremiereChosen) -> None:
    alley_of(hall).premiere = [e.trick, e.resource]


def yield_stolen(hall: Hall, e: wire.YieldStolen) -> None:
    alley_of(hall).stolen += [e.own_slot, e.slot]


def yield_modified(hall: Hall, e: wire.YieldModified) -> None:
    alley_of(hall).chosen_orders.append([e.slot, *e.order])


def performer_possessed(hall: Hall, e: wire.PerformerPossessed) -> None:
    """Changes nothing at the table; the performance comes in events of its own."""


# --- Tricks and the Market Row


def trick_enhanced(hall: Hall, e: wire.TrickEnhanced) -> None:
    insort(alley_of(hall).enhanced, e.trick)


def trick_overhauled(hall: Hall, e: wire.TrickOverhauled) -> None:
    tricks, symbols, prepared = hall.tricks[e.seat], hall.symbols[e.seat], hall.prepared[e.seat]
    old = tricks.index(e.old_trick)
    symbol, markers = symbols[old], prepared[old]
    tricks[old] = symbols[old] = prepared[old] = 0
    tricks[e.slot], symbols[e.slot], prepared[e.slot] = e.trick, symbol, markers
    hall.residence.remove(e.trick)
    insort(hall.residence, e.old_trick)
    _forget_shards(alley_of(hall), e.old_trick)
    for index, here in enumerate(hall.stage):
        own = [slot for slot, m in enumerate(here) if m and seat_of(m) == e.seat and symbol_of(m) == symbol]
        if e.markers_moved:
            for slot in own:
                here[slot] = _turned(here[slot], e.trick, e.quarter_turns)
        elif own:
            hall.supply[e.seat][symbol] += sum(1 + is_pile(here[slot]) for slot in own)
            hall.stage[index] = [
                0 if slot in own else m for slot, m in enumerate(here) if slot < CARD_SLOTS or slot not in own
            ]


def _turned(m: int, trick: int, quarter_turns: int) -> int:
    """The marker, as it lies, for another Trick, the corner of whose category is so many quarter turns further."""
    direction = direction_of(m)
    turned = (direction - 1 + quarter_turns) % 4 + 1 if direction else 0
    return marker(trick, seat_of(m), symbol_of(m), turned, is_pile(m))


def _forget_shards(alley: Alley, trick: int) -> None:
    if trick in alley.enhanced:
        alley.enhanced = [other for other in alley.enhanced if other != trick]


def stock_replaced(hall: Hall, e: wire.StockReplaced) -> None:
    if e.slot == QUICK_ORDER:
        hall.quick_order = e.component
    else:
        hall.buy_area[e.slot] = e.component


def ordered_into_stock(hall: Hall, e: wire.OrderedIntoStock) -> None:
    alley_of(hall).in_stock.append(e.component)


def quick_order_claimed(hall: Hall, e: wire.QuickOrderClaimed) -> None:
    alley_of(hall).claimant = e.seat


def business_shared(hall: Hall, e: wire.BusinessShared) -> None:
    alley_of(hall).shares.append(e.seat)


def talent_found(hall: Hall, e: wire.TalentFound) -> None:
    alley_of(hall).talents[e.seat] = e.member


def apprentice_left(hall: Hall, e: wire.ApprenticeLeft) -> None:
    hall.posts[e.seat][e.member] = ABSENT
    alley_of(hall).talents[e.seat] = 0


# --- what the Dark Alley keeps of the base game's facts; each comes before the base game's own change


def _dice_rolled(hall: Hall, alley: Alley, e: wire.DiceRolled) -> None:
    """A new turn."""
    seats = len(hall.fame)
    alley.used = [False] * seats
    alley.placed = []
    alley.performing = [0] * seats
    alley.durable = [[] for _ in range(seats)]
    alley.shares = []


def _declined(hall: Hall, alley: Alley, e: wire.Declined) -> None:
    """In End Turn only a Hidden Talent can be declined: the Apprentice stays one."""
    if hall.phase == wire.Phase.END_TURN:
        alley.talents[e.seat] = 0


def _turn_ended(hall: Hall, alley: Alley, e: wire.TurnEnded) -> None:
    """Whose Specialists were all there was not asked for a talent."""
    alley.talents = [0] * len(hall.fame)


def _character_placed(hall: Hall, alley: Alley, e: wire.CharacterPlaced) -> None:
    alley.placed.append(whom(e.seat, e.member))


def _placement_ended(hall: Hall, alley: Alley, e: wire.PlacementEnded) -> None:
    alley.bonus = alley.copied = 0
    alley.armed = alley.drew = alley.told = False


def _apprentice_moved(hall: Hall, alley: Alley, e: wire.ApprenticeMoved) -> None:
    old, new = whom(e.seat, e.member), whom(e.seat, Member.ASSISTANTS_APPRENTICE)
    alley.placed = [new if who == old else who for who in alley.placed]
    if alley.talents[e.seat] == e.member:
        alley.talents[e.seat] = Member.ASSISTANTS_APPRENTICE


def _trick_returned(hall: Hall, alley: Alley, e: wire.TrickReturned) -> None:
    _forget_shards(alley, e.trick)


def _card_performed(hall: Hall, alley: Alley, e: wire.CardPerformed) -> None:
    alley.performed_card = e.card


def _markers_returned(hall: Hall, alley: Alley, e: wire.MarkersReturned) -> None:
    """The Tricks on the card were performed."""
    for m in hall.stage[displayed(hall, e.card)]:
        if m and trick_of(m) not in alley.performed[seat_of(m)]:
            insort(alley.performed[seat_of(m)], trick_of(m))
    alley.performed_card = 0
    alley.premiere = []
    alley.stolen = []
    alley.chosen_orders = []


def _orders_arrived(hall: Hall, alley: Alley, e: wire.OrdersArrived) -> None:
    alley.in_stock = []
    alley.claimant = NOBODY


def durable_found(hall: Hall, e: wire.DurableFound) -> None:
    alley_of(hall).durable[e.seat] = list(e.tricks)


def _beside(base_kind: type, more: Callable[[Hall, Alley, Any], None]) -> Callable[[Hall, Any], None]:
    """The base game's change with the Dark Alley's before it."""
    change = base.EVOLVE[base_kind]

    def both(hall: Hall, e: Any) -> None:
        if hall.alley is not None:
            more(hall, hall.alley, e)
        change(hall, e)

    return both


EVOLVE: dict[type, Callable[[Any, Any], None]] = {
    wire.SpecialDeckShuffled: special_deck_shuffled,
    wire.ProphecyPileShuffled: prophecy_pile_shuffled,
    wire.ProphecyDrawn: prophecy_drawn,
    wire.PropheciesMoved: prophecies_moved,
    wire.PropheciesTurned: prophecies_turned,
    wire.ProphecyWoven: prophecy_woven,
    wire.SpecialCardsDrawn: special_cards_drawn,
    wire.SpecialCardPutUnder: special_card_put_under,
    wire.CardsLaidFacedown: cards_laid_facedown,
    wire.CardTurnedUp: card_turned_up,
    wire.HandTakenUp: hand_taken_up,
    wire.BonusKept: bonus_kept,
    wire.SpecialCopied: special_copied,
    wire.BonusArmed: bonus_armed,
    wire.BonusSpent: bonus_spent,
    wire.AbilityUsed: ability_used,
    wire.SpecialCardReturned: special_card_returned,
    wire.PileSetUp: pile_set_up,
    wire.GuestInvited: guest_invited,
    wire.PileInvited: pile_invited,
    wire.PerformanceCardsSwapped: performance_cards_swapped,
    wire.MarkerLeft: marker_left,
    wire.MarkerRestored: marker_restored,
    wire.DurableFound: durable_found,
    wire.PremiereChosen: premiere_chosen,
    wire.YieldStolen: yield_stolen,
    wire.YieldModified: yield_modified,
    wire.PerformerPossessed: performer_possessed,
    wire.TrickEnhanced: trick_enhanced,
    wire.TrickOverhauled: trick_overhauled,
    wire.StockReplaced: stock_replaced,
    wire.OrderedIntoStock: ordered_into_stock,
    wire.QuickOrderClaimed: quick_order_claimed,
    wire.BusinessShared: business_shared,
    wire.TalentFound: talent_found,
    wire.ApprenticeLeft: apprentice_left,
    wire.DiceRolled: _beside(wire.DiceRolled, _dice_rolled),
    wire.Declined: _beside(wire.Declined, _declined),
    wire.TurnEnded: _beside(wire.TurnEnded, _turn_ended),
    wire.CharacterPlaced: _beside(wire.CharacterPlaced, _character_placed),
    wire.PlacementEnded: _beside(wire.PlacementEnded, _placement_ended),
    wire.ApprenticeMoved: _beside(wire.ApprenticeMoved, _apprentice_moved),
    wire.TrickReturned: _beside(wire.TrickReturned, _trick_returned),
    wire.CardPerformed: _beside(wire.CardPerformed, _card_performed),
    wire.MarkersReturned: _beside(wire.MarkersReturned, _markers_returned),
    wire.OrdersArrived: _beside(wire.OrdersArrived, _orders_arrived),
}
"""What each event does in a game with the Dark Alley; laid over the base game's."""
