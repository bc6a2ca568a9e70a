"""How each fact changes the hall. Nothing here decides, and all works alike on a blind hall with redacted events."""

from collections.abc import Callable
from typing import Any

from guildhall.arcane_alley.v1 import structs as wire
from guildhall.arcane_alley.v1.structs import Item, Phase
from guildhall.kernel.cards import EVERYONE, FRONT, UNKNOWN, join_hand, knows, leave_hand, new_card, told
from services.arcane_alley.geometry import FULL, SHAPE_OF
from services.arcane_alley.hall import EMPTY, NOBODY, REPLAYED, REVEALED, Hall

_IDENTITY = FRONT | EVERYONE
"""A card's front and knowledge, without flags."""


def _put_by(hall: Hall, seat: int) -> None:
    """Put the item just drawn with the rest of the stash."""
    if hall.drawn:
        join_hand(hall.stashes[seat], hall.drawn.pop())


def _take_out(hall: Hall, seat: int, cell: int, card: int) -> None:
    """Take the item in a cell out of the storehouse and put this card in its place."""
    storehouse = hall.storehouses[seat]
    hall.taken.append(storehouse[cell])
    storehouse[cell] = card


def _deck_of(count: int, items: tuple[int, ...]) -> list[int]:
    return [new_card(item) for item in items] if items else [UNKNOWN] * count


# --- setup and Stock


def starting_token_given(hall: Hall, e: wire.StartingTokenGiven) -> None:
    hall.starting = e.seat


def wizard_taken(hall: Hall, e: wire.WizardTaken) -> None:
    hall.wizards[e.seat] = e.wizard


def round_started(hall: Hall, e: wire.RoundStarted) -> None:
    seats = len(hall.gold)
    hall.round = e.round
    hall.phase = Phase.STOCK
    hall.active = hall.trigger = NOBODY
    hall.counted = [None] * seats


def items_shuffled(hall: Hall, e: wire.ItemsShuffled) -> None:
    seats = len(hall.gold)
    hall.deck = _deck_of(e.count, e.items)
    hall.shapes = [FULL] * seats
    hall.storehouses = [[] for _ in range(seats)]
    hall.stashes = [[] for _ in range(seats)]
    hall.discard = []
    hall.set_aside = []
    hall.removed = []


def storehouse_dealt(hall: Hall, e: wire.StorehouseDealt) -> None:
    hall.storehouses[e.seat] = [hall.deck.pop() for _ in range(9)]


def items_revealed(hall: Hall, e: wire.ItemsRevealed) -> None:
    storehouse = hall.storehouses[e.seat]
    for cell, item in zip(e.cells, e.items, strict=True):
        storehouse[cell] = told(storehouse[cell], item, EVERYONE) | REVEALED


def items_added_to_stash(hall: Hall, e: wire.ItemsAddedToStash) -> None:
    for index in range(e.count):
        item = e.items[index] if e.items else UNKNOWN
        join_hand(hall.stashes[e.seat], told(hall.deck.pop(), item, knows(e.seat)))


def discard_started(hall: Hall, e: wire.DiscardStarted) -> None:
    hall.discard.append(told(hall.deck.pop(), e.item, EVERYONE))


# --- a turn of the Sell phase


def turn_started(hall: Hall, e: wire.TurnStarted) -> None:
    if hall.active != NOBODY:
        storehouse = hall.storehouses[hall.active]
        if max(storehouse, default=0) >= REPLAYED:
            hall.storehouses[hall.active] = [card & ~REPLAYED for card in storehouse]
    hall.phase = Phase.SELL
    hall.active = e.seat


def item_drawn(hall: Hall, e: wire.ItemDrawn) -> None:
    hall.drawn.append(told(hall.deck.pop(), e.item, knows(e.seat)))


def discard_taken(hall: Hall, e: wire.DiscardTaken) -> None:
    hall.drawn.append(told(hall.discard.pop(), e.item, EVERYONE))


def item_played(hall: Hall, e: wire.ItemPlayed) -> None:
    _put_by(hall, e.seat)
    card = leave_hand(hall.stashes[e.seat], e.item)
    _take_out(hall, e.seat, e.cell, told(card, e.item, EVERYONE) | REVEALED)


def item_discarded(hall: Hall, e: wire.ItemDiscarded) -> None:
    _put_by(hall, e.seat)
    hall.discard.append(told(leave_hand(hall.stashes[e.seat], e.item), e.item, EVERYONE))


def special_activated(hall: Hall, e: wire.SpecialActivated) -> None:
    _put_by(hall, e.seat)
    hall.set_aside.append(told(leave_hand(hall.stashes[e.seat], e.item), e.item, EVERYONE))


def ring_sank(hall: Hall, e: wire.RingSank) -> None:
    hall.discard.insert(0, hall.discard.pop())


def effect_skipped(hall: Hall, e: wire.EffectSkipped) -> None:
    """Changes nothing at the table."""


def item_peeked(hall: Hall, e: wire.ItemPeeked) -> None:
    storehouse = hall.storehouses[e.seat]
    storehouse[e.cell] = told(storehouse[e.cell], e.item, knows(e.seat))


def items_hidden(hall: Hall, e: wire.ItemsHidden) -> None:
    storehouse = hall.storehouses[e.seat]
    for cell in e.cells:
        storehouse[cell] &= ~REVEALED


def item_put_on_deck(hall: Hall, e: wire.ItemPutOnDeck) -> None:
    hall.deck.append(told(hall.discard.pop(), e.item, EVERYONE))


def deck_rebuilt(hall: Hall, e: wire.DeckRebuilt) -> None:
    hall.deck = _deck_of(e.count, e.items)
    hall.discard = hall.discard[-1:]


# --- the item that was replaced


def replaced_item_discarded(hall: Hall, e: wire.ReplacedItemDiscarded) -> None:
    hall.discard.append(told(hall.taken.pop() & _IDENTITY, e.item, EVERYONE))


def replaced_item_taken(hall: Hall, e: wire.ReplacedItemTaken) -> None:
    hall.drawn.append(told(hall.taken.pop() & _IDENTITY, e.item, knows(e.seat)))


def boomerang_returned(hall: Hall, e: wire.BoomerangReturned) -> None:
    hall.taken.append(told(hall.taken.pop(), e.item, EVERYONE) | REVEALED | REPLAYED)


def boomerang_played(hall: Hall, e: wire.BoomerangPlayed) -> None:
    _take_out(hall, e.seat, e.cell, hall.taken.pop())


# --- special items


def item_turned_up(hall: Hall, e: wire.ItemTurnedUp) -> None:
    hall.turned_up.append(told(hall.deck.pop(), e.item, EVERYONE))


def turned_up_item_played(hall: Hall, e: wire.TurnedUpItemPlayed) -> None:
    card = e.item | EVERYONE
    hall.turned_up.remove(card)
    hall.set_aside += hall.turned_up
    hall.turned_up = []
    _take_out(hall, e.seat, e.cell, card | REVEALED)


def stash_looked_at(hall: Hall, e: wire.StashLookedAt) -> None:
    left = hall.stashes[e.target_seat]
    known: list[int] = []
    for item in e.items:
        # Where this hall knows the item already, that card; else one of those that it doesn't know.
        card = next((card for card in left if card & FRONT == item), UNKNOWN)
        left.remove(card)
        known.append(told(card, item, knows(e.seat)))
    left += known
    left.sort()


def looked_at_item_played(hall: Hall, e: wire.LookedAtItemPlayed) -> None:
    card = leave_hand(hall.stashes[e.target_seat], e.item)
    _take_out(hall, e.seat, e.cell, told(card, e.item, EVERYONE) | REVEALED)


def discard_item_played(hall: Hall, e: wire.DiscardItemPlayed) -> None:
    card = hall.discard.pop(-1 - e.position)
    _take_out(hall, e.seat, e.cell, told(card, e.item, EVERYONE) | REVEALED)


def items_swapped(hall: Hall, e: wire.ItemsSwapped) -> None:
    mine, theirs = hall.storehouses[e.seat], hall.storehouses[e.target_seat]
    mine[e.cell], theirs[e.target_cell] = theirs[e.target_cell], mine[e.cell]


# --- sales


def set_sold(hall: Hall, e: wire.SetSold) -> None:
    storehouse = hall.storehouses[e.seat]
    for cell in e.cells:
        hall.set_aside.append(storehouse[cell] & _IDENTITY)
        storehouse[cell] = EMPTY


def storehouse_slid(hall: Hall, e: wire.StorehouseSlid) -> None:
    storehouse = hall.storehouses[e.seat]
    hall.storehouses[e.seat] = [storehouse[cell] for cell in e.from_cells]
    hall.shapes[e.seat] = SHAPE_OF[e.rows, e.columns]


def doll_placed(hall: Hall, e: wire.DollPlaced) -> None:
    doll = Item.HAUNTED_DOLL | EVERYONE
    # The Dolls just sold came last.
    at = len(hall.set_aside) - 1 - hall.set_aside[::-1].index(doll)
    del hall.set_aside[at]
    storehouse = hall.storehouses[e.target_seat]
    replaced = storehouse[e.cell]
    storehouse[e.cell] = doll | REVEALED
    hall.discard.append(told(replaced & _IDENTITY, e.item, EVERYONE))


# --- gold and infamy


def gold_changed(hall: Hall, e: wire.GoldGained | wire.GoldLost) -> None:
    hall.gold[e.seat] = e.gold


def infamy_gained(hall: Hall, e: wire.InfamyGained) -> None:
    hall.infamy[e.seat] = e.infamy
    hall.markers[e.seat] = e.markers


def infamy_lost(hall: Hall, e: wire.InfamyLost) -> None:
    hall.infamy[e.seat] = e.infamy


# --- Inspection and Bribe


def inspection_triggered(hall: Hall, e: wire.InspectionTriggered) -> None:
    hall.trigger = e.seat


def turn_tracker_moved(hall: Hall, e: wire.TurnTrackerMoved) -> None:
    hall.turn = e.turn


def inspection_started(hall: Hall, e: wire.InspectionStarted) -> None:
    hall.phase = Phase.INSPECTION


def item_set_aside(hall: Hall, e: wire.ItemSetAside) -> None:
    storehouse = hall.storehouses[e.seat]
    hall.removed.append(storehouse[e.cell])
    storehouse[e.cell] = EMPTY


def infamy_counted(hall: Hall, e: wire.InfamyCounted) -> None:
    hall.counted[e.seat] = e.total


def markers_removed(hall: Hall, e: wire.MarkersRemoved) -> None:
    hall.markers[e.seat] = 0


def bribe_started(hall: Hall, e: wire.BribeStarted) -> None:
    hall.phase = Phase.BRIBE
    hall.round = e.round


def declined(hall: Hall, e: wire.Declined) -> None:
    """Changes nothing at the table."""


EVOLVE: dict[type, Callable[[Any, Any], None]] = {
    wire.StartingTokenGiven: starting_token_given,
    wire.WizardTaken: wizard_taken,
    wire.RoundStarted: round_started,
    wire.ItemsShuffled: items_shuffled,
    wire.StorehouseDealt: storehouse_dealt,
    wire.ItemsRevealed: items_revealed,
    wire.ItemsAddedToStash: items_added_to_stash,
    wire.DiscardStarted: discard_started,
    wire.TurnStarted: turn_started,
    wire.ItemDrawn: item_drawn,
    wire.DiscardTaken: discard_taken,
    wire.ItemPlayed: item_played,
    wire.ItemDiscarded: item_discarded,
    wire.SpecialActivated: special_activated,
    wire.RingSank: ring_sank,
    wire.EffectSkipped: effect_skipped,
    wire.ItemPeeked: item_peeked,
    wire.ItemsHidden: items_hidden,
    wire.ItemPutOnDeck: item_put_on_deck,
    wire.DeckRebuilt: deck_rebuilt,
    wire.ReplacedItemDiscarded: replaced_item_discarded,
    wire.ReplacedItemTaken: replaced_item_taken,
    wire.BoomerangReturned: boomerang_returned,
    wire.BoomerangPlayed: boomerang_played,
    wire.ItemTurnedUp: item_turned_up,
    wire.TurnedUpItemPlayed: turned_up_item_played,
    wire.StashLookedAt: stash_looked_at,
    wire.LookedAtItemPlayed: looked_at_item_played,
    wire.DiscardItemPlayed: discard_item_played,
    wire.ItemsSwapped: items_swapped,
    wire.SetSold: set_sold,
    wire.StorehouseSlid: storehouse_slid,
    wire.DollPlaced: doll_placed,
    wire.GoldGained: gold_changed,
    wire.GoldLost: gold_changed,
    wire.InfamyGained: infamy_gained,
    wire.InfamyLost: infamy_lost,
    wire.InspectionTriggered: inspection_triggered,
    wire.TurnTrackerMoved: turn_tracker_moved,
    wire.InspectionStarted: inspection_started,
    wire.ItemSetAside: item_set_aside,
    wire.InfamyCounted: infamy_counted,
    wire.MarkersRemoved: markers_removed,
    wire.BribeStarted: bribe_started,
    wire.Declined: declined,
}
"""What each event does."""
