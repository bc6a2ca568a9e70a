"""What a seat may do with the Dark Alley, in words: the paths of its commands, see `menus`."""

from typing import TYPE_CHECKING, Any, Final

from guildhall.trickerion.v1 import structs as tr
from services.trickerion.words import (
    ASSIGNMENTS,
    CHARACTERS,
    COMPONENTS,
    DICE,
    LOCATIONS,
    SPECIALS,
    TRICKS,
    assignment_name,
    card_name,
    face_name,
    prophecy_text,
    signed,
)

if TYPE_CHECKING:
    from services.trickerion.menus import Menus, Path

QUESTIONS: Final = {
    "special_use": "Do you keep the special card's bonus?",
    "copy_special": "Does the card work as an opponent's special card?",
    "keep_card": "Which card goes under the deck?",
    "break_free": "Do you reschedule a marker before the performances?",
    "on_stage": "Where does one of the new markers go at once?",
    "talent": "Which Specialist does the Apprentice become?",
    "swap_cards": "Which Performance cards change places?",
    "spare_parts": "Which Trick gets the marker?",
    "durable": "Which Trick gets a marker back?",
    "premiere": "Which Trick has its premiere, and what does it yield twice?",
    "steal": "Which yield do you take in place of one of yours?",
    "possess": "Do you choose what the opponent performs?",
    "use_up": "Which Component goes back?",
    "sale": "What else do you buy?",
    "barter": "What else do you take?",
    "invest": "What do you buy with the coins?",
    "merchants": "Do you buy the ordered Component at once?",
    "restock": "Which Basic Component is in stock now?",
    "motivate": "Which card lies under the hired Character?",
    "house_now": "Where does the hired Apprentice live?",
    "second_apprentice": "Do you hire a second Apprentice for 3 coins?",
    "overhaul": "Which Trick takes its place?",
    "overhaul_slot": "Where does the Trick lie?",
}
"""By kind of decision; `question` knows one more."""

MODIFIERS: Final[dict[int, str]] = {
    tr.ModifierSource.ARRANGED_FIASCO: "Arranged Fiasco",
    tr.ModifierSource.TRICK_STEAL: "Trick Steal",
    tr.ModifierSource.GRAND_PREMIERE: "Grand Premiere",
    tr.ModifierSource.WEEKDAY: "the weekday",
}


def question(menus: "Menus", kind: str) -> str | None:
    """What a decision asks; None for one of the base game."""
    alley = menus.view.dark_alley
    if kind == "modifier_order" and alley is not None and alley.unordered:
        marker = menus.marker_at(alley.performed_card, alley.unordered[0].slot)
        return f"In which order is the yield changed of {marker}?"
    return QUESTIONS.get(kind)


def _modifier(modifier: tr.YieldModifier) -> str:
    """What changes a yield, and how: "the weekday (-1 Fame, -1 coins)"."""
    parts = [f"{signed(modifier.fame)} Fame"] if modifier.fame else []
    parts += [f"{signed(modifier.coins)} coins"] if modifier.coins else []
    parts += ["Fame twice"] if modifier.fame_times > 1 else []
    parts += ["coins twice"] if modifier.coins_times > 1 else []
    return f"{MODIFIERS[modifier.source]} ({', '.join(parts) or 'no change'})"


def path(menus: "Menus", command: Any) -> "Path":
    """A command of the Dark Alley in words; empty for another one."""
    return _card(menus, command) or _alley(menus, command) or _performance(menus, command)


def _card(menus: "Menus", command: Any) -> "Path":
    """What has to do with special cards."""
    alley = menus.view.dark_alley
    match command:
        case tr.KeepBonus():
            text = SPECIALS.get(_own_card(menus), "")
            return (f"keep it. {text}" if text else "keep it",)
        case tr.TakeActionPoint():
            return ("1 AP more instead of the special card's bonus",)
        case tr.UseBonus():
            bonus = alley.bonus if alley is not None else 0
            return (f"use {ASSIGNMENTS[bonus]}: {SPECIALS[bonus]}" if bonus else "use the special card's bonus",)
        case tr.CopySpecial(target_seat=seat, member=member):
            team = menus.view.players[seat].team
            card = next((mate.card for mate in team if mate.member == member), 0)
            text = f": {SPECIALS[card]}" if card in SPECIALS else ""
            return (f"{menus.who[seat].name}'s {assignment_name(card)}{text}",)
        case tr.UseAbility():
            return ("1 AP more by your magician's ability",)
        case tr.HireSecond():
            return ("yes, for 3 coins",)
        case tr.Headhunt(die=die, character=character):
            return (
                "hire anybody",
                CHARACTERS[character],
                f"by {DICE[die]}, which shows {face_name(die, menus.view.dice[die])}",
            )
        case tr.ChooseComponent(component=component, manager_slot=manager):
            return (COMPONENTS[component], "onto a slot of the Manager's" if manager else "onto the board")
        case tr.PayForSale(bargain=bargain):
            return ("pay" + (f" with {bargain} AP of bargaining" if bargain else ""),)
        case tr.GiveCard(card=card):
            return (assignment_name(card),)
        case tr.OrderIntoStock(component=component):
            return ("order into the stock of this turn", COMPONENTS[component])
        case tr.ChooseTrick(trick=trick):
            return (TRICKS[trick],)
    return ()


def _own_card(menus: "Menus") -> int:
    """The card of the Character that was just placed: a Permanent one where it works as an opponent's."""
    placement = menus.view.placement
    member = placement.member if placement is not None else 0
    return next((int(mate.card) for mate in menus.me.team if mate.member == member), 0)


def _alley(menus: "Menus", command: Any) -> "Path":
    """What is done in the Dark Alley."""
    match command:
        case tr.DrawCards(deck=deck):
            return ("draw special cards", f"of {LOCATIONS[deck]}")
        case tr.PutUnder(draw=draw, card=card):
            alley = menus.view.dark_alley
            of = LOCATIONS[alley.drawn[draw].deck] if alley is not None and draw < len(alley.drawn) else ""
            return (f"{ASSIGNMENTS[card]} ({of}): {SPECIALS[card]}",)
        case tr.TellFortune():
            return ("tell fortunes: the pending prophecies move on",)
        case tr.WeaveFate(prophecy=prophecy):
            return ("weave fate: another prophecy for this turn", prophecy_text(prophecy))
    return ()


def _performance(menus: "Menus", command: Any) -> "Path":
    """What has to do with Performance cards."""
    match command:
        case tr.SetUpPile(trick=trick, card=card, slot=slot, direction=direction):
            spot = menus.spot(trick, card, slot, direction)
            return ("set up two markers as one", TRICKS[trick], f"on {menus.card(card)}", *spot)
        case tr.InviteGuest(trick=trick, card=card):
            return ("set up beside the slots", TRICKS[trick], f"of {menus.card(card)}")
        case tr.InvitePile(trick=trick, card=card):
            return ("set up two markers as one beside the slots", TRICKS[trick], f"of {menus.card(card)}")
        case tr.SwapCards(first=first, second=second):
            return (card_name(first), f"with {card_name(second)}")
        case tr.PerformInStreet(card=card, slot=slot):
            return ("perform in the street", card_name(card), menus.marker_at(card, slot))
        case tr.ChoosePremiere(trick=trick, resource=resource):
            return (TRICKS[trick], {1: "Fame", 2: "coins", 3: "Shards"}[resource] + " twice")
        case tr.StealYield(own_slot=own, slot=slot):
            alley = menus.view.dark_alley
            card = alley.performed_card if alley is not None else 0
            return (f"that of {menus.marker_at(card, slot)}", f"in place of {menus.marker_at(card, own)}")
        case tr.Possess(card=card):
            return (menus.card(card),)
        case tr.OrderModifiers(order=order):
            alley = menus.view.dark_alley
            modifiers = alley.unordered[0].modifiers if alley is not None and alley.unordered else ()
            named = [_modifier(modifiers[position]) for position in order if position < len(modifiers)]
            return (f"first {', then '.join(named)}",)
    return ()
