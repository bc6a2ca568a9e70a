"""What happened with the Dark Alley, in sentences."""

from collections.abc import Callable
from typing import Any, Final

from guildhall.trickerion.v1 import structs as tr
from services.trickerion.telling import Clause, Narrator
from services.trickerion.words import (
    ASSIGNMENTS,
    COMPONENTS,
    DIRECTIONS,
    LOCATIONS,
    TRICKS,
    assignment_name,
    card_name,
    counted,
    listed,
    member_name,
    prophecy_text,
)

PLACES: Final = ("next", "second", "third")
"""Of pending prophecies."""
RESOURCES: Final[dict[int, str]] = {
    tr.Resource.FAME: "Fame",
    tr.Resource.COINS: "coins",
    tr.Resource.SHARDS: "Shards",
}


def deck_shuffled(t: Narrator, event: tr.SpecialDeckShuffled) -> Clause:
    return Clause(None, f"The {event.count} special cards of {LOCATIONS[event.deck]} are shuffled")


def pile_shuffled(t: Narrator, event: tr.ProphecyPileShuffled) -> Clause:
    return Clause(None, f"The {event.count} prophecies of the pile are shuffled")


def prophecy_drawn(t: Narrator, event: tr.ProphecyDrawn) -> Clause:
    t.now.pending[event.place] = event.prophecy
    return Clause(None, f"Pending as {PLACES[event.place]}: {prophecy_text(event.prophecy)}")


def prophecies_moved(t: Narrator, event: tr.PropheciesMoved) -> Clause:
    active, *others = t.now.pending
    t.now.pending = [*others, 0]
    return Clause(None, f"The prophecy now: {prophecy_text(active)}")


def prophecies_turned(t: Narrator, event: tr.PropheciesTurned) -> Clause:
    first, *others = t.now.pending
    t.now.pending = [*others, first]
    coming = prophecy_text(t.now.pending[0])
    return t.do(event.seat, "tell", f"fortunes; the next prophecy is: {coming}")


def prophecy_woven(t: Narrator, event: tr.ProphecyWoven) -> Clause:
    woven, t.now.pending[event.place] = t.now.pending[event.place], 0
    return t.do(event.seat, "weave", f"fate; the prophecy now: {prophecy_text(woven)}")


def cards_drawn(t: Narrator, event: tr.SpecialCardsDrawn) -> Clause:
    names = [ASSIGNMENTS[card] for card in event.cards if card]
    what = listed(names) or counted(event.count, "card")
    return t.do(event.seat, "draw", f"{what} of the special deck of {LOCATIONS[event.deck]}")


def put_under(t: Narrator, event: tr.SpecialCardPutUnder) -> Clause:
    return t.do(event.seat, "put", f"{ASSIGNMENTS[event.card] if event.card else 'one'} under the deck")


def laid_facedown(t: Narrator, event: tr.CardsLaidFacedown) -> Clause:
    if not event.members:
        return t.do(event.seat, "assign", "nobody", opens=True)
    cards = event.cards if any(event.cards) else ()
    if cards:
        pairs = zip(event.members, cards, strict=True)
        told = listed([f"{assignment_name(card)} to the {member_name(member)}" for member, card in pairs])
    else:
        told = f"a card to {listed([f'the {member_name(member)}' for member in event.members])}"
    return t.do(event.seat, "assign", f"{told}, facedown", opens=True)


def turned_up(t: Narrator, event: tr.CardTurnedUp) -> Clause:
    return t.do(event.seat, "turn", f"up {assignment_name(event.card)} under the {member_name(event.member)}")


def bonus_kept(t: Narrator, event: tr.BonusKept) -> Clause:
    return t.do(event.seat, "keep", f"the bonus of {ASSIGNMENTS[event.card]}")


def copied(t: Narrator, event: tr.SpecialCopied) -> Clause:
    return t.do(event.seat, "copy", f"{t.whose(event.target_seat)} {ASSIGNMENTS[event.card]}")


def bonus_armed(t: Narrator, event: tr.BonusArmed) -> Clause:
    return t.do(event.seat, "use", "the special card's bonus")


def ability_used(t: Narrator, event: tr.AbilityUsed) -> Clause:
    return t.do(event.seat, "use", f"{t.own(event.seat)} magician's ability")


def card_returned(t: Narrator, event: tr.SpecialCardReturned) -> Clause:
    return t.do(event.seat, "put", f"{ASSIGNMENTS[event.card]} under its deck")


def pile_set_up(t: Narrator, event: tr.PileSetUp) -> Clause:
    t.put(event.card, event.slot, event.seat, event.trick)
    where = f"slot {event.slot + 1}, {DIRECTIONS[event.direction]}"
    return t.do(
        event.seat, "set", f"up two markers of {TRICKS[event.trick]} as one on {card_name(event.card)} ({where})"
    )


def guest_invited(t: Narrator, event: tr.GuestInvited) -> Clause:
    t.put_beside(event.card, event.seat, event.trick)
    return t.do(event.seat, "set", f"up {TRICKS[event.trick]} beside the slots of {card_name(event.card)}")


def pile_invited(t: Narrator, event: tr.PileInvited) -> Clause:
    t.put_beside(event.card, event.seat, event.trick)
    words = f"up two markers of {TRICKS[event.trick]} as one beside the slots of {card_name(event.card)}"
    return t.do(event.seat, "set", words)


def cards_swapped(t: Narrator, event: tr.PerformanceCardsSwapped) -> Clause:
    cards = f"{card_name(event.first)} and {card_name(event.second)}"
    return t.do(event.seat, "let", f"{cards} change places")


def marker_left(t: Narrator, event: tr.MarkerLeft) -> Clause:
    _, trick = t.taken(event.card, event.slot)
    return t.do(event.seat, "take", f"{TRICKS.get(trick, 'a marker')} off {card_name(event.card)}")


def marker_restored(t: Narrator, event: tr.MarkerRestored) -> Clause:
    return t.do(event.seat, "put", f"a marker on {TRICKS[event.trick]} again")


def trick_enhanced(t: Narrator, event: tr.TrickEnhanced) -> Clause:
    return t.do(event.seat, "enhance", f"{TRICKS[event.trick]} for good")


def trick_overhauled(t: Narrator, event: tr.TrickOverhauled) -> Clause:
    if event.markers_moved:
        t.trick_replaced(event.seat, event.old_trick, event.trick)
    else:
        t.trick_left(event.seat, event.old_trick)
    return t.do(event.seat, "overhaul", f"{TRICKS[event.old_trick]}: it is {TRICKS[event.trick]} now")


def premiere_chosen(t: Narrator, event: tr.PremiereChosen) -> Clause:
    return t.do(event.seat, "celebrate", f"the premiere of {TRICKS[event.trick]}: {RESOURCES[event.resource]} twice")


def yield_stolen(t: Narrator, event: tr.YieldStolen) -> Clause:
    stolen = t.marker_at(event.card, event.slot)
    return t.do(event.seat, "steal", f"the yield of {stolen} for {t.marker_at(event.card, event.own_slot)}")


def possessed(t: Narrator, event: tr.PerformerPossessed) -> Clause:
    return t.do(event.seat, "make", f"{t.who(event.target_seat)} perform {card_name(event.card)}")


def stock_replaced(t: Narrator, event: tr.StockReplaced) -> Clause:
    return t.do(event.seat, "put", f"{COMPONENTS[event.component]} in stock instead")


def into_stock(t: Narrator, event: tr.OrderedIntoStock) -> Clause:
    return t.do(event.seat, "order", f"{COMPONENTS[event.component]} into the stock of this turn")


def quick_order_claimed(t: Narrator, event: tr.QuickOrderClaimed) -> Clause:
    return t.do(event.seat, "claim", "the Quick Order Component for the end of the turn")


def business_shared(t: Narrator, event: tr.BusinessShared) -> Clause:
    return t.do(event.seat, "share", "in the business of the Market Row")


def talent_found(t: Narrator, event: tr.TalentFound) -> Clause:
    return t.do(event.seat, "find", f"a talent in the {member_name(event.member)}")


def apprentice_left(t: Narrator, event: tr.ApprenticeLeft) -> Clause:
    return t.do(event.seat, "take", f"the {member_name(event.member)} off the team")


def yield_modified(t: Narrator, event: tr.YieldModified) -> Clause:
    return t.do(event.seat, "choose", f"how the yield of {t.marker_at(t.now.performed, event.slot)} is changed")


def durable_found(t: Narrator, event: tr.DurableFound) -> Clause:
    return t.do(event.seat, "keep", "durable Components for after the performances")


def silent(t: Narrator, event: Any) -> None:
    """Nothing worth a word: what follows says it."""


CLAUSES: Final[dict[type, Callable[[Narrator, Any], Clause | None]]] = {
    tr.SpecialDeckShuffled: deck_shuffled,
    tr.ProphecyPileShuffled: pile_shuffled,
    tr.ProphecyDrawn: prophecy_drawn,
    tr.PropheciesMoved: prophecies_moved,
    tr.PropheciesTurned: prophecies_turned,
    tr.ProphecyWoven: prophecy_woven,
    tr.SpecialCardsDrawn: cards_drawn,
    tr.SpecialCardPutUnder: put_under,
    tr.CardsLaidFacedown: laid_facedown,
    tr.CardTurnedUp: turned_up,
    tr.BonusKept: bonus_kept,
    tr.SpecialCopied: copied,
    tr.BonusArmed: bonus_armed,
    tr.BonusSpent: silent,
    tr.AbilityUsed: ability_used,
    tr.SpecialCardReturned: card_returned,
    tr.HandTakenUp: silent,
    tr.PileSetUp: pile_set_up,
    tr.GuestInvited: guest_invited,
    tr.PileInvited: pile_invited,
    tr.PerformanceCardsSwapped: cards_swapped,
    tr.MarkerLeft: marker_left,
    tr.MarkerRestored: marker_restored,
    tr.TrickEnhanced: trick_enhanced,
    tr.TrickOverhauled: trick_overhauled,
    tr.PremiereChosen: premiere_chosen,
    tr.YieldStolen: yield_stolen,
    tr.PerformerPossessed: possessed,
    tr.StockReplaced: stock_replaced,
    tr.OrderedIntoStock: into_stock,
    tr.QuickOrderClaimed: quick_order_claimed,
    tr.BusinessShared: business_shared,
    tr.TalentFound: talent_found,
    tr.ApprenticeLeft: apprentice_left,
    tr.YieldModified: yield_modified,
    tr.DurableFound: durable_found,
}
"""How each event of the Dark Alley is told."""
