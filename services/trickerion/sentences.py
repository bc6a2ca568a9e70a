"""What happened at the table, in sentences, from the events that one viewer is sent."""

from collections.abc import Callable
from typing import Any, Final

from guildhall.kernel.v1 import structs as kernel
from guildhall.trickerion.v1 import structs as tr
from services.trickerion.dark_alley.sentences import CLAUSES as ALLEY_CLAUSES
from services.trickerion.telling import Clause, Narrator
from services.trickerion.words import (
    CHARACTERS,
    COMPONENTS,
    DICE,
    DIRECTIONS,
    MAGICIANS,
    SYMBOLS,
    TRICKS,
    WEEKDAYS,
    amounts,
    an,
    assignment_name,
    card_name,
    counted,
    face_name,
    listed,
    member_name,
    slot_name,
)

# --- the kernel's events


def created(t: Narrator, event: kernel.GameCreated) -> Clause:
    return Clause(None, f"{t.seated(event.subjects)} sit down to a game of Trickerion")


def answered(t: Narrator, event: kernel.Answered) -> Clause:
    return Clause(event.seat, f"{'have' if event.seat == t.viewer else 'has'} assigned", True)


def timed_out(t: Narrator, event: kernel.TimedOut) -> Clause:
    return t.do(event.seat, "run", "out of time", opens=True)


def undone(t: Narrator, event: kernel.Undone) -> Clause:
    t.go_back(event.to_version)
    return t.do(event.seat, "take", f"back {t.own(event.seat)} last step", opens=True)


def resigned(t: Narrator, event: kernel.Resigned) -> Clause:
    return t.do(event.seat, "give", "up", opens=True)


def paused(t: Narrator, event: kernel.Paused) -> Clause:
    return Clause(None, f"An operator pauses the game: {event.why}")


def resumed(t: Narrator, event: kernel.Resumed) -> Clause:
    return Clause(None, f"An operator lets the game go on: {event.why}")


def restored(t: Narrator, event: kernel.Restored) -> Clause:
    t.go_back(event.to_version)
    return Clause(None, f"An operator puts the game back and pauses it: {event.why}")


def ended(t: Narrator, event: kernel.GameEnded) -> Clause:
    if event.reason == kernel.EndReason.ABORTED:
        return Clause(None, f"An operator has ended the game: {event.why}")
    winners = [seat for seat, rank in enumerate(event.ranks) if rank == 1]
    verb = "win" if len(winners) > 1 or winners == [t.viewer] else "wins"
    why = {
        kernel.EndReason.ABANDONED: "The game was abandoned",
        kernel.EndReason.RESIGNED: "The others have given up",
    }.get(kernel.EndReason(event.reason), "The game is over")
    return Clause(None, f"{why}: {listed([t.who(seat) for seat in winners])} {verb}!")


# --- set-up and the frame of a turn


def table_laid(t: Narrator, event: tr.TableLaid) -> Clause:
    return t.do(event.seat, "choose", "first")


def deck_shuffled(t: Narrator, event: tr.PerformanceDeckShuffled) -> Clause:
    return Clause(None, f"The Performance deck of {len(event.theaters)} is shuffled")


def displayed(t: Narrator, event: tr.PerformanceCardsDisplayed) -> Clause:
    return Clause(None, f"On stage: {listed([card_name(card) for card in event.cards])}")


def phase_started(t: Narrator, event: tr.PhaseStarted) -> Clause | None:
    words = {
        tr.Phase.ROLL_DICE: f"Turn {event.turn} begins",
        tr.Phase.ASSIGNMENT: "Everybody assigns cards to Characters",
        tr.Phase.PLACE_CHARACTERS: "Characters are placed",
        tr.Phase.PERFORMANCE: "The performances begin",
        tr.Phase.END_TURN: f"Turn {event.turn} ends",
        tr.Phase.GAME_END: "Final scoring",
    }.get(tr.Phase(event.phase))
    return None if words is None else Clause(None, words)


def magician_chosen(t: Narrator, event: tr.MagicianChosen) -> Clause:
    return t.do(event.seat, "play", f"as {MAGICIANS[event.magician]}", opens=True)


def joined(t: Narrator, event: tr.CharacterJoined) -> Clause:
    who = member_name(event.member)
    if event.from_inn:
        return t.do(event.seat, "welcome", f"the hired {who}")
    return t.do(event.seat, "take", f"{an(who)} into {t.own(event.seat)} team")


def trick_taken(t: Narrator, event: tr.TrickTaken) -> Clause:
    return t.do(event.seat, "take", f"{TRICKS[event.trick]} with {SYMBOLS[event.symbol]}")


def initiative_set(t: Narrator, event: tr.InitiativeSet) -> Clause:
    return Clause(None, f"The order of initiative is {listed([t.who(seat) for seat in event.seats])}")


def dice_rolled(t: Narrator, event: tr.DiceRolled) -> Clause:
    faces = [face_name(die, face) for die, face in enumerate(event.faces)]
    return Clause(
        None,
        f"The dice: Dahlgaard {faces[0]} and {faces[1]}, Inn {faces[2]} and {faces[3]}, Bank {faces[4]} and {faces[5]}",
    )


def advertised(t: Narrator, event: tr.Advertised) -> Clause:
    return t.do(event.seat, "advertise", opens=True)


def declined(t: Narrator, event: tr.Declined) -> Clause:
    return t.do(event.seat, "decline", opens=True)


def cards_assigned(t: Narrator, event: tr.CardsAssigned) -> Clause:
    if not event.members:
        return t.do(event.seat, "assign", "nobody", opens=True)
    pairs = zip(event.members, event.cards, strict=True)
    told = listed([f"{assignment_name(card)} to the {member_name(member)}" for member, card in pairs])
    return t.do(event.seat, "assign", told, opens=True)


# --- placements


def placed(t: Narrator, event: tr.CharacterPlaced) -> Clause:
    stage = event.slot in STAGES
    points = "to perform" if stage else f"with {event.action_points} AP"
    where = f"the {member_name(event.member)} {slot_name(event.slot)}, {points}"
    return t.do(event.seat, "place", where, opens=True)


STAGES: Final = frozenset(
    {
        tr.Slot.THURSDAY_PERFORMANCE,
        tr.Slot.FRIDAY_PERFORMANCE,
        tr.Slot.SATURDAY_PERFORMANCE,
        tr.Slot.SUNDAY_PERFORMANCE,
    }
)


def idled(t: Narrator, event: tr.CharacterIdled) -> Clause:
    return t.do(event.seat, "leave", f"the {member_name(event.member)} at home", opens=True)


def points_gained(t: Narrator, event: tr.ActionPointsGained) -> Clause:
    return Clause(event.seat, f"{'have' if event.seat == t.viewer else 'has'} {event.left} AP now")


def trick_returned(t: Narrator, event: tr.TrickReturned) -> Clause:
    t.trick_left(event.seat, event.trick)
    lost = "; its markers leave the game" if event.removed else ""
    return t.do(event.seat, "give", f"{TRICKS[event.trick]} back to Dahlgaard{lost}", opens=True)


def components_returned(t: Narrator, event: tr.ComponentsReturned) -> Clause:
    return t.do(event.seat, "put", f"{event.amount} {COMPONENTS[event.component]} back")


def components_gained(t: Narrator, event: tr.ComponentsGained) -> Clause:
    return t.do(event.seat, "take", f"{event.amount} {COMPONENTS[event.component]}")


def die_rerolled(t: Narrator, event: tr.DieRerolled) -> Clause:
    return t.do(event.seat, "roll", f"{DICE[event.die]} again: {face_name(event.die, event.face)}")


def die_set(t: Narrator, event: tr.DieSet) -> Clause:
    return t.do(event.seat, "turn", f"{DICE[event.die]} to {face_name(event.die, event.face)}")


def hired(t: Narrator, event: tr.CharacterHired) -> Clause:
    return t.do(event.seat, "hire", an(CHARACTERS[event.character]))


def ordered(t: Narrator, event: tr.ComponentOrdered) -> Clause:
    return t.do(event.seat, "order", f"{COMPONENTS[event.component]} for slot {event.slot + 1}")


def quick_ordered(t: Narrator, event: tr.ComponentQuickOrdered) -> Clause:
    return t.do(event.seat, "order", f"{COMPONENTS[event.component]} quickly")


def prepared(t: Narrator, event: tr.MarkersPrepared) -> Clause:
    return t.do(event.seat, "put", f"{counted(event.markers, 'marker')} on {TRICKS[event.trick]}")


def trick_moved(t: Narrator, event: tr.TrickMoved) -> Clause:
    return t.do(event.seat, "move", f"{TRICKS[event.trick]} to the Engineer's slot")


def components_moved(t: Narrator, event: tr.ComponentsMoved) -> Clause:
    exchanged = f" in exchange for {COMPONENTS[event.exchanged]}" if event.exchanged else ""
    return t.do(event.seat, "move", f"{COMPONENTS[event.component]} to a slot of the Manager's{exchanged}")


def apprentice_moved(t: Narrator, event: tr.ApprenticeMoved) -> Clause:
    return t.do(event.seat, "move", "an Apprentice to the Assistant's slot")


# --- the Theater


def trick_set_up(t: Narrator, event: tr.TrickSetUp) -> Clause:
    t.put(event.card, event.slot, event.seat, event.trick)
    where = f"slot {event.slot + 1}, {DIRECTIONS[event.direction]}"
    return t.do(event.seat, "set", f"up {TRICKS[event.trick]} on {card_name(event.card)} ({where})")


def rescheduled(t: Narrator, event: tr.TrickRescheduled) -> Clause:
    owner, trick = t.taken(event.from_card, event.from_slot)
    t.put(event.card, event.slot, owner, trick)
    whose = t.own(event.seat) if owner == event.seat else t.whose(owner)
    where = f"{card_name(event.card)} (slot {event.slot + 1}, {DIRECTIONS[event.direction]})"
    return t.do(event.seat, "move", f"{whose} {TRICKS[trick]} from {card_name(event.from_card)} to {where}")


def link_made(t: Narrator, event: tr.LinkMade) -> Clause:
    return t.do(event.seat, "link", f"it with {t.marker_at(event.card, event.other_slot)}")


def weekday_started(t: Narrator, event: tr.WeekdayStarted) -> Clause:
    return Clause(None, f"It is {WEEKDAYS[event.weekday]}")


def card_performed(t: Narrator, event: tr.CardPerformed) -> Clause:
    t.now.performed = event.card
    return t.do(event.seat, "perform", card_name(event.card), opens=True)


def markers_returned(t: Narrator, event: tr.MarkersReturned) -> Clause:
    t.cleared(event.card)
    return Clause(None, f"The markers on {card_name(event.card)} go back to their owners")


def orders_arrived(t: Narrator, event: tr.OrdersArrived) -> Clause:
    return Clause(None, f"In stock at the Market Row: {listed([COMPONENTS[c] for c in event.buy_area])}")


def card_removed(t: Narrator, event: tr.PerformanceCardRemoved) -> Clause:
    t.cleared(event.card)
    return Clause(None, f"{card_name(event.card)} leaves the Theater")


def card_entered(t: Narrator, event: tr.PerformanceCardEntered) -> Clause:
    return Clause(None, f"{card_name(event.card)} comes to the Theater")


# --- Fame, coins, Shards

REASONS: Final[dict[int, str]] = {
    tr.Cause.SET_UP: " to begin with",
    tr.Cause.LINK: " for the link",
    tr.Cause.YIELD: " for performed Tricks",
    tr.Cause.PERFORMER: " as the performer",
    tr.Cause.FINAL_SHARDS: " for Shards",
    tr.Cause.FINAL_COINS: " for coins",
    tr.Cause.FINAL_APPRENTICES: " for Apprentices",
    tr.Cause.FINAL_SPECIALISTS: " for Specialists",
    tr.Cause.FINAL_ASSIGNMENTS: " for special cards",
    tr.Cause.FINAL_TRICK: " for a level 3 Trick",
    tr.Cause.SPECIAL: " for the special card",
    tr.Cause.MAGICIAN: " by the magician's ability",
    tr.Cause.PROPHECY: " by the prophecy",
}
"""What a gain is for."""

PRICES: Final[dict[int, str]] = {
    tr.Cause.ENHANCE: " to be enhanced",
    tr.Cause.LEARN: " for the Fame that lacks",
    tr.Cause.WAGES: " of wages",
    tr.Cause.SPECIAL: " for the special card",
    tr.Cause.MAGICIAN: " for the magician's ability",
    tr.Cause.PROPHECY: " by the prophecy",
}
"""What is paid for, where the sentence does not say it anyhow."""


def coins_gained(t: Narrator, event: tr.CoinsGained) -> Clause:
    return t.do(event.seat, "gain", amounts(coins=event.amount) + REASONS.get(event.cause, ""))


def fame_gained(t: Narrator, event: tr.FameGained) -> Clause:
    return t.do(event.seat, "gain", amounts(fame=event.amount) + REASONS.get(event.cause, ""))


def shards_gained(t: Narrator, event: tr.ShardsGained) -> Clause:
    return t.do(event.seat, "gain", amounts(shards=event.amount) + REASONS.get(event.cause, ""))


def coins_paid(t: Narrator, event: tr.CoinsPaid) -> Clause:
    return t.do(event.seat, "pay", amounts(coins=event.amount) + PRICES.get(event.cause, ""))


def fame_lost(t: Narrator, event: tr.FameLost) -> Clause:
    reason = " for wages not paid" if event.cause == tr.Cause.WAGES else PRICES.get(event.cause, "")
    return t.do(event.seat, "lose", amounts(fame=event.amount) + reason)


def shards_spent(t: Narrator, event: tr.ShardsSpent) -> Clause:
    return t.do(event.seat, "spend", amounts(shards=event.amount) + PRICES.get(event.cause, ""))


def silent(t: Narrator, event: Any) -> None:
    """Nothing worth a word: what follows says it."""


CLAUSES: Final[dict[type, Callable[[Narrator, Any], Clause | None]]] = {
    kernel.GameCreated: created,
    kernel.Answered: answered,
    kernel.TimedOut: timed_out,
    kernel.Undone: undone,
    kernel.Resigned: resigned,
    kernel.GameEnded: ended,
    kernel.Paused: paused,
    kernel.Resumed: resumed,
    kernel.Restored: restored,
    tr.TableLaid: table_laid,
    tr.BoardLaid: silent,
    tr.PerformanceDeckShuffled: deck_shuffled,
    tr.PerformanceCardsDisplayed: displayed,
    tr.PhaseStarted: phase_started,
    tr.MagicianChosen: magician_chosen,
    tr.CharacterJoined: joined,
    tr.TrickTaken: trick_taken,
    tr.ComponentsGained: components_gained,
    tr.ComponentsReturned: components_returned,
    tr.CoinsGained: coins_gained,
    tr.CoinsPaid: coins_paid,
    tr.FameGained: fame_gained,
    tr.FameLost: fame_lost,
    tr.ShardsGained: shards_gained,
    tr.ShardsSpent: shards_spent,
    tr.InitiativeSet: initiative_set,
    tr.DiceRolled: dice_rolled,
    tr.DieRerolled: die_rerolled,
    tr.DieSet: die_set,
    tr.Advertised: advertised,
    tr.Declined: declined,
    tr.CardsAssigned: cards_assigned,
    tr.CharacterPlaced: placed,
    tr.CharacterIdled: idled,
    tr.CharacterEnhanced: silent,
    tr.ActionPointsGained: points_gained,
    tr.ActionPointsSpent: silent,
    tr.PlacementEnded: silent,
    tr.TrickReturned: trick_returned,
    tr.CharacterHired: hired,
    tr.ComponentOrdered: ordered,
    tr.ComponentQuickOrdered: quick_ordered,
    tr.MarkersPrepared: prepared,
    tr.TrickMoved: trick_moved,
    tr.ComponentsMoved: components_moved,
    tr.ApprenticeMoved: apprentice_moved,
    tr.TrickSetUp: trick_set_up,
    tr.TrickRescheduled: rescheduled,
    tr.LinkMade: link_made,
    tr.WeekdayStarted: weekday_started,
    tr.CardPerformed: card_performed,
    tr.MarkersReturned: markers_returned,
    tr.CharactersReturned: silent,
    tr.OrdersArrived: orders_arrived,
    tr.PerformanceCardRemoved: card_removed,
    tr.PerformanceCardEntered: card_entered,
    tr.TurnEnded: silent,
}


class Teller(Narrator):
    """Tells a game of Trickerion, with or without the Dark Alley."""

    CLAUSES = CLAUSES | ALLEY_CLAUSES
