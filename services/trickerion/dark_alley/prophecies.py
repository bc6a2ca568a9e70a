"""Prophecies: which one holds, and how they move (TR-D07, TR-D19 to TR-D21, TR-AD5 to TR-AD8)."""

from guildhall.kernel.cards import FRONT, SPECTATOR
from guildhall.trickerion.v1.structs import (
    CardTurnedUp,
    PropheciesMoved,
    Prophecy,
    ProphecyDrawn,
    ProphecyPileShuffled,
    ProphecyWoven,
)
from services.trickerion.asking import HallTable
from services.trickerion.content import Content, ProphecyCard
from services.trickerion.dark_alley.evolve import alley_of, cards_of
from services.trickerion.hall import MEMBERS, NOTHING, READY, Hall


def in_force(hall: Hall, content: Content) -> ProphecyCard:
    """The active prophecy; a neutral one where none is."""
    active = alley_of(hall).active
    return content.prophecies[active[0] & FRONT if active else 0]


def shuffle_all(table: HallTable) -> None:
    """All prophecies form the pile."""
    _shuffle(table, [prophecy for prophecy in Prophecy if prophecy])


def start(table: HallTable) -> None:
    """After the player set-up the first ones lie open; none is active in the first turn (TR-D07)."""
    for place in range(table.content.pending_prophecies):
        draw(table, place)


def draw(table: HallTable, place: int) -> None:
    """Lay the top prophecy open in a place; those that were discarded are shuffled if need be (TR-AD6)."""
    cards, alley = cards_of(table.hall), alley_of(table.hall)
    if not cards.pile:
        _shuffle(table, [card & FRONT for card in alley.discarded])
    table.emit(ProphecyDrawn(cards.pile[-1] & FRONT, place))


def _shuffle(table: HallTable, prophecies: list[int]) -> None:
    pile = table.rng.shuffle([int(prophecy) for prophecy in prophecies])
    table.emit(ProphecyPileShuffled(len(pile), tuple(pile)))


def move(table: HallTable) -> None:
    """End of the turn: the next one becomes active (TR-D21)."""
    table.emit(PropheciesMoved())
    draw(table, table.content.pending_prophecies - 1)


def weave(table: HallTable, seat: int, prophecy: int) -> None:
    """A pending prophecy becomes active, a new one fills its place; cards may have to be shown (TR-D28, TR-AD8)."""
    hall = table.hall
    pending = [card & FRONT for card in alley_of(hall).pending]
    place = pending.index(prophecy)
    table.emit(ProphecyWoven(seat, place))
    draw(table, place)
    if not in_force(hall, table.content).one_by_one:
        turn_up_all(table)


def turn_up_all(table: HallTable) -> None:
    """Turn up the cards of all Characters that are still to be placed; cards turned down stay so."""
    hall = table.hall
    for seat in hall.initiative:
        for member in MEMBERS:
            if hall.posts[seat][member] == READY:
                turn_up(table, seat, member)


def turn_up(table: HallTable, seat: int, member: int) -> None:
    """Turn up the card under a Character, if it lies facedown."""
    card = table.hall.assigned[seat][member]
    if card != NOTHING and not card & SPECTATOR:
        table.emit(CardTurnedUp(seat, member, card & FRONT))
