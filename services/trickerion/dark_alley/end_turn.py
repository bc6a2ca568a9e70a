"""What ends with the turn in the Dark Alley: prophecies move, special cards return (TR-D11, TR-D21, TR-D22)."""

from guildhall.kernel.cards import FRONT, SPECTATOR
from guildhall.trickerion.v1.structs import HandTakenUp, SpecialCardReturned
from services.trickerion.asking import HallTable
from services.trickerion.content import FIRST_SPECIAL
from services.trickerion.dark_alley import prophecies
from services.trickerion.dark_alley.evolve import alley_of
from services.trickerion.dark_alley.hall import seat_and_member


def end_turn(table: HallTable) -> None:
    """Prophecies first, then special cards (TR-135)."""
    if alley_of(table.hall).with_prophecies:
        prophecies.move(table)
    return_special_cards(table)
    take_up_hands(table)


def return_special_cards(table: HallTable) -> None:
    """Used ones go under their decks: by initiative, then in the order of placement (TR-D11, TR-AD58)."""
    hall = table.hall
    placed = [seat_and_member(who) for who in alley_of(hall).placed]
    for seat in hall.initiative:
        for owner, member in placed:
            card = hall.assigned[seat][member] & FRONT
            if owner == seat and card >= FIRST_SPECIAL:
                table.emit(SpecialCardReturned(seat, member, table.content.assignments[card].location, card))


def take_up_hands(table: HallTable) -> None:
    """After cards lay facedown everybody can tell again that all Permanent cards are in the hands (TR-AD19)."""
    permanent = tuple(table.content.hand(dark_alley=True))
    for seat, hand in enumerate(table.hall.hands):
        if any(card & FRONT < FIRST_SPECIAL and not card & SPECTATOR for card in hand):
            table.emit(HandTakenUp(seat, permanent))
