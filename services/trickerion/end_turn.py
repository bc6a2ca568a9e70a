"""The End Turn phase: wages, Characters, orders, Performance cards, Posters, the turn counter (TR-135 to TR-145)."""

from collections.abc import Iterable, Sequence
from typing import Any

from guildhall.kernel.cards import FRONT
from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    Cause,
    Character,
    CharacterJoined,
    CharactersReturned,
    HouseApprentice,
    Member,
    OrdersArrived,
    PerformanceCardEntered,
    PerformanceCardRemoved,
    Phase,
    PhaseStarted,
    TurnEnded,
)
from services.trickerion import hooks, money
from services.trickerion.asking import Ask, HallTable
from services.trickerion.content import Content
from services.trickerion.hall import ABSENT, APPRENTICES, HOME, Hall, display_of, has, kind_of

BOARD_HOMES = APPRENTICES[:-1]
"""Where Apprentices live on the board itself."""


class EndTurn(Frame, tag="end_turn"):
    """The phase (TR-135)."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        table.emit(PhaseStarted(Phase.END_TURN, hall.turn))
        for seat in hall.initiative:
            pay_wages(table, seat, wages(hall, table.content, seat))
        table.emit(CharactersReturned())
        joins = [JoinHired(seat) for seat in hall.initiative]
        table.then(*hooks.of(hall).characters_returned(hall), *joins, RestOfEndTurn())


def wages(hall: Hall, content: Content, seat: int) -> int:
    """What a seat owes for its Characters that were placed; the Assistant's Apprentice is free (TR-136, TR-137)."""
    return sum(
        content.characters[kind_of(member)].wage
        for member, post in enumerate(hall.posts[seat])
        if post > HOME and member != Member.ASSISTANTS_APPRENTICE
    )


def pay_wages(table: HallTable, seat: int, due: int) -> None:
    """Coins as far as they go, then Fame for each that is missing (TR-138, TR-A25)."""
    paid = min(due, table.hall.coins[seat])
    money.pay_coins(table, seat, paid, Cause.WAGES)
    money.lose_fame(table, seat, (due - paid) * table.content.unpaid_fame, Cause.WAGES)


# --- hired Characters


class JoinHired(Frame, tag="join_hired"):
    """A seat's hired Characters join its team, Specialists first: they bring slots (TR-139, TR-A15)."""

    seat: int

    def run(self, table: HallTable) -> None:
        hall, seat = table.hall, self.seat
        for kind in sorted(hall.inn[seat]):
            if kind != Character.APPRENTICE:
                table.emit(CharacterJoined(seat, kind, True))
        while hall.inn[seat] and len(homes := homes_for(hall, seat)) == 1:
            table.emit(CharacterJoined(seat, homes[0], True))
        if hall.inn[seat]:
            table.then(House(seat), JoinHired(seat))


def homes_for(hall: Hall, seat: int) -> list[int]:
    """Where a hired Apprentice can live: the board's first free slot, the Assistant's if free (TR-A43)."""
    homes = [int(member) for member in BOARD_HOMES if hall.posts[seat][member] == ABSENT][:1]
    extension = has(hall, seat, Member.ASSISTANT) and not has(hall, seat, Member.ASSISTANTS_APPRENTICE)
    if extension and not (homes and hall.rulings.normal_slots_first):
        homes.append(Member.ASSISTANTS_APPRENTICE)
    return homes


class House(Ask, tag="house_apprentice"):
    """Where a hired Apprentice lives: on the board, or on the Assistant's slot (TR-139, TR-A43)."""

    seat: int

    ASKS = "say where the hired Apprentice lives"
    RULE = "TR-139"
    EXPECTED = (HouseApprentice,)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return [HouseApprentice(member) for member in homes_for(hall, seat)]

    def choose(self, table: HallTable, seat: int, command: HouseApprentice) -> None:
        table.emit(CharacterJoined(seat, command.member, True))

    def why_not(self, hall: Hall, seat: int, command: HouseApprentice) -> Refusal:
        if command.member not in APPRENTICES:
            return Refusal("NO_APPRENTICE_SLOT", "An Apprentice lives on an Apprentice slot.", "TR-139")
        if has(hall, seat, command.member):
            return Refusal("SLOT_TAKEN", "An Apprentice lives there already.", "TR-139")
        return Refusal("NO_SUCH_HOME", "It is the board's first free slot, or the Assistant's.", "TR-139")


# --- orders, Performance cards, Posters


class RestOfEndTurn(Frame, tag="rest_of_end_turn"):
    """What nobody is asked for (TR-140 to TR-144)."""

    def run(self, table: HallTable) -> None:
        orders_arrive(table)
        move_performance_cards(table)
        turn, last = table.hall.turn, table.content.turns[table.hall.dark_alley]
        table.emit(TurnEnded(min(turn + 1, last)))
        hooks.of(table.hall).turn_ended(table)


def orders_arrive(table: HallTable) -> None:
    """Ordered Components replace those of the same slot in the Buy area; the Quick Order slot is emptied (TR-140)."""
    hall = table.hall
    hooks.of(hall).before_orders(table)
    table.emit(OrdersArrived(_replaced(hall.buy_area, hall.order_area)))


def _replaced(stock: Sequence[int], orders: Sequence[int]) -> tuple[int, ...]:
    return tuple(ordered or old for old, ordered in zip(stock, orders, strict=True))


def move_performance_cards(table: HallTable) -> None:
    """From the third turn on the last card leaves; the top of the deck comes onto slot 1 (TR-141 to TR-143)."""
    hall, content = table.hall, table.content
    if hall.turn >= content.first_removal:
        table.emit(PerformanceCardRemoved(display_of(hall)[-1]))
    if hall.performances:
        card = hall.performances[-1] & FRONT
        table.emit(PerformanceCardEntered(card))
