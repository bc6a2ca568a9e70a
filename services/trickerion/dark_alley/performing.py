"""The Performance phase with the Dark Alley: abilities (TR-D29, D31, D32) and cards for Perform (TR-D56 to TR-D58)."""

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Any, ClassVar

from guildhall.kernel.frames import Frame
from guildhall.trickerion.v1.structs import (
    AbilityUsed,
    Assignment,
    Cause,
    ChoosePremiere,
    ChooseTrick,
    Decline,
    Declined,
    DurableFound,
    Magician,
    MarkerRestored,
    ModifierSource,
    OrderModifiers,
    PerformerPossessed,
    Possess,
    PremiereChosen,
    Reschedule,
    Resource,
    StealYield,
    YieldModified,
    YieldStolen,
)
from services.trickerion import commands as base_commands
from services.trickerion import money
from services.trickerion.asking import Ask, HallTable, content_of
from services.trickerion.content import Content, Yield
from services.trickerion.dark_alley import commands
from services.trickerion.dark_alley.evolve import alley_of
from services.trickerion.dark_alley.prophecies import in_force
from services.trickerion.dark_alley.tricks import marker_yield
from services.trickerion.hall import NOBODY, Hall, displayed, seat_of, trick_of
from services.trickerion.hooks import Change
from services.trickerion.performance import ChooseCard, own_markers, perform, performer_on
from services.trickerion.theater import RescheduleTo, reschedules
from services.trickerion.yields import changed, weekday_change

POSSESSION_SHARDS = 1
"""What Soul Possession costs."""


def seat_with(hall: Hall, magician: int) -> int | None:
    """The seat that plays this magician."""
    return hall.magicians.index(magician) if magician in hall.magicians else None


# --- Master of Chains: a Reschedule before the phase (TR-D29, TR-AD24)


class BreakFree(Ask, tag="break_free"):
    """Breaking Free: which own marker is rescheduled, with link bonuses, or none."""

    ASKS: ClassVar[str] = "reschedule one of your markers or decline"
    RULE: ClassVar[str] = "TR-D29"
    EXPECTED: ClassVar[tuple[type, ...]] = (Reschedule, Decline)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if reschedules(hall, content_of(hall), (self.seat,)) else ()

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return [base_commands.DECLINE, *reschedules(hall, content_of(hall), (seat,))]

    def choose(self, table: HallTable, seat: int, command: Reschedule | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
        else:
            table.then(RescheduleTo(seat, command.card, command.slot, True))


def before_performances(hall: Hall) -> Sequence[Frame]:
    """Breaking Free, where a seat has it."""
    seat = seat_with(hall, Magician.MASTER_OF_CHAINS)
    return () if seat is None else (BreakFree(seat),)


# --- Yoruba Spiritmaster: chooses what an opponent performs (TR-D32, TR-AD27)


def instead_of_choosing(hall: Hall, performer: int) -> Sequence[Frame]:
    """Soul Possession, where it can be used now."""
    seat = seat_with(hall, Magician.YORUBA_SPIRITMASTER)
    if seat is None or seat == performer or alley_of(hall).used[seat]:
        return ()
    if hall.shards[seat] < POSSESSION_SHARDS or not own_markers(hall, performer):
        return ()
    return (Possession(seat, performer),)


class Possession(Ask, tag="possess"):
    """Soul Possession: the card that an opponent performs, or none."""

    performer: int

    ASKS: ClassVar[str] = "choose the card that your opponent performs, or decline"
    RULE: ClassVar[str] = "TR-D32"
    EXPECTED: ClassVar[tuple[type, ...]] = (Possess, Decline)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return [base_commands.DECLINE, *(commands.possess(card) for card, _ in own_markers(hall, self.performer))]

    def choose(self, table: HallTable, seat: int, command: Possess | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
            table.then(ChooseCard(self.performer))
            return
        money.spend_shards(table, seat, POSSESSION_SHARDS, Cause.MAGICIAN)
        table.emit(AbilityUsed(seat))
        table.emit(PerformerPossessed(seat, self.performer, command.card))
        perform(table, self.performer, command.card)


# --- what is asked of the performer before yields


def before_yields(hall: Hall, performer: int, card: int) -> Sequence[Frame]:
    """Grand Premiere, Trick Steal, and by ruling the order of modifiers."""
    frames: list[Frame] = []
    if alley_of(hall).performing[performer] == Assignment.GRAND_PREMIERE:
        frames.append(Premiere(performer, card))
    if hall.magicians[performer] == Magician.RED_LOTUS:
        frames.append(Steal(performer, card))
    if hall.rulings.ask_modifier_order:
        frames.append(AskOrders(performer, card))
    return frames


class Premiere(Ask, tag="premiere"):
    """Grand Premiere: which Trick that is performed for the first time yields what twice (TR-D58, TR-AD36)."""

    card: int

    ASKS: ClassVar[str] = "choose a Trick and what it yields twice, or decline"
    RULE: ClassVar[str] = "TR-D58"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChoosePremiere, Decline)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if self._tricks(hall) else ()

    def _tricks(self, hall: Hall) -> list[int]:
        before = alley_of(hall).performed[self.seat]
        markers = hall.stage[displayed(hall, self.card)]
        own = {trick_of(marker) for marker in markers if marker and seat_of(marker) == self.seat}
        return sorted(trick for trick in own if trick not in before)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        resources = (Resource.FAME, Resource.COINS, Resource.SHARDS)
        choices = [commands.choose_premiere(trick, resource) for trick in self._tricks(hall) for resource in resources]
        return [base_commands.DECLINE, *choices]

    def choose(self, table: HallTable, seat: int, command: ChoosePremiere | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
        else:
            table.emit(PremiereChosen(seat, command.trick, command.resource))


class Steal(Ask, tag="steal"):
    """Trick Steal: an opponent's yield in place of an own one (TR-D31, TR-AD26)."""

    card: int

    ASKS: ClassVar[str] = "choose an own Trick and whose yield it takes, or decline"
    RULE: ClassVar[str] = "TR-D31"
    EXPECTED: ClassVar[tuple[type, ...]] = (StealYield, Decline)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if self._steals(hall) else ()

    def _steals(self, hall: Hall) -> list[StealYield]:
        tricks, stolen = content_of(hall).tricks, alley_of(hall).stolen
        markers = hall.stage[displayed(hall, self.card)]
        own = [s for s, m in enumerate(markers) if m and seat_of(m) == self.seat and s not in stolen[::2]]
        others = [s for s, m in enumerate(markers) if m and seat_of(m) != self.seat and s not in stolen[1::2]]
        return [
            commands.steal_yield(mine, theirs)
            for mine in own
            for theirs in others
            if tricks[trick_of(markers[theirs])].threshold <= tricks[trick_of(markers[mine])].threshold
        ]

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return [base_commands.DECLINE, *self._steals(hall)]

    def choose(self, table: HallTable, seat: int, command: StealYield | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
            return
        table.emit(YieldStolen(seat, self.card, command.own_slot, command.slot))
        if table.hall.rulings.steal_each:
            table.then(Steal(seat, self.card))


# --- yields


def trick_yield(hall: Hall, content: Content, markers: Sequence[int], slot: int) -> Yield:
    """The own yield of the marker in a slot, or of the one whose yield it takes (TR-D31)."""
    stolen = alley_of(hall).stolen
    taken = dict(zip(stolen[::2], stolen[1::2], strict=True))
    return marker_yield(hall, content, markers[taken.get(slot, slot)])


def changes(
    hall: Hall, content: Content, performer: int, markers: Sequence[int], slot: int, day: Change
) -> list[Change]:
    """What changes the yield of the marker in a slot: weekday, Arranged Fiasco, Trick Steal, Grand Premiere."""
    alley = alley_of(hall)
    found = [day]
    if alley.performing[performer] == Assignment.ARRANGED_FIASCO and not hall.rulings.fiasco_flat:
        found.append(Change(1 if seat_of(markers[slot]) == performer else -1, 0, source=ModifierSource.ARRANGED_FIASCO))
    if slot in alley.stolen[1::2]:
        found.append(Change(-1, 0, source=ModifierSource.TRICK_STEAL))
    found.sort()
    if alley.premiere and slot == premiere_slot(hall, content, markers, performer):
        twice = alley.premiere[1]
        times = (2 if twice == Resource.FAME else 1, 2 if twice == Resource.COINS else 1)
        found.append(Change(0, 0, *times, source=ModifierSource.GRAND_PREMIERE))
    return found


def modifiers(
    hall: Hall, content: Content, performer: int, markers: Sequence[int], slot: int, day: Change
) -> Iterable[Sequence[Change]]:
    """Changes in every order, or in the one that the owner chose (TR-D23, TR-D31, TR-D57, TR-D58, TR-AD10, TR-AD35)."""
    found = changes(hall, content, performer, markers, slot, day)
    for chosen in alley_of(hall).chosen_orders:
        if chosen[0] == slot:
            return [[found[position] for position in chosen[1:]]]
    return permutations(found)


def final_yield(hall: Hall, content: Content, markers: Sequence[int], slot: int, performer: int, paid: Yield) -> Yield:
    """What the owner of the marker in a slot receives (TR-D58, TR-D104, TR-AD17); no change acts on Shards."""
    premiere = alley_of(hall).premiere
    if premiere and premiere[1] == Resource.SHARDS and slot == premiere_slot(hall, content, markers, performer):
        paid = Yield(paid.fame, paid.coins, paid.shards * 2)
    if in_force(hall, content).coins_as_fame:
        return Yield(paid.fame + paid.coins, 0, paid.shards)
    return paid


def premiere_slot(hall: Hall, content: Content, markers: Sequence[int], performer: int) -> int:
    """The slot with the Trick that has its premiere; of two of its markers the one that yields more of what is chosen.

    Two lie on a card by New Twist; they differ where one is a pile or takes an opponent's yield. Modifiers are the same
    for all markers of a performer.
    """
    trick, resource = alley_of(hall).premiere
    slots = [s for s, m in enumerate(markers) if m and seat_of(m) == performer and trick_of(m) == trick]
    return max(slots, key=lambda s: _amount(trick_yield(hall, content, markers, s), resource))


def _amount(amount: Yield, resource: int) -> int:
    amounts: dict[int, int] = {
        Resource.FAME: amount.fame,
        Resource.COINS: amount.coins,
        Resource.SHARDS: amount.shards,
    }
    return amounts[resource]


def changes_on(hall: Hall, performer: int, card: int, slot: int) -> list[Change]:
    """What changes the yield of the marker in a slot of a card that is performed."""
    content, markers = content_of(hall), hall.stage[displayed(hall, card)]
    day = weekday_change(hall, content, performer, markers, slot)
    return changes(hall, content, performer, markers, slot, day)


def outcomes(hall: Hall, performer: int, card: int, slot: int) -> dict[tuple[int, ...], Yield]:
    """By each order of positions what that marker yields."""
    own = trick_yield(hall, content_of(hall), hall.stage[displayed(hall, card)], slot)
    found = changes_on(hall, performer, card, slot)
    return {
        order: changed(own, [found[position] for position in order], hall.rulings.skip_absent_yield)
        for order in permutations(range(len(found)))
    }


def order_matters(hall: Hall, performer: int, card: int, slot: int) -> bool:
    """Whether the yield of that marker depends on the order of its changes."""
    return len(set(outcomes(hall, performer, card, slot).values())) > 1


def unordered(hall: Hall) -> list[tuple[int, list[Change]]]:
    """(slot, changes) of each marker on the performed card whose order matters and is not chosen (TR-AD10)."""
    alley = alley_of(hall)
    card, performer = alley.performed_card, performer_on(hall, hall.weekday)
    if not hall.rulings.ask_modifier_order or not card or performer == NOBODY:
        return []
    chosen = {slot for slot, *_ in alley.chosen_orders}
    return [
        (slot, changes_on(hall, performer, card, slot))
        for slot, marker in enumerate(hall.stage[displayed(hall, card)])
        if marker and slot not in chosen and order_matters(hall, performer, card, slot)
    ]


class AskOrders(Frame, tag="ask_orders"):
    """Ruling `yield_modifier_order` = `ask`: owners order the modifiers of each Trick (TR-AD10)."""

    performer: int
    card: int

    def run(self, table: HallTable) -> None:
        markers = table.hall.stage[displayed(table.hall, self.card)]
        table.then(*(OrderOffer(seat_of(m), self.performer, self.card, slot) for slot, m in enumerate(markers) if m))


class OrderOffer(Ask, tag="modifier_order"):
    """In which order modifiers change the yield of one Trick (TR-D23, TR-AD10)."""

    performer: int
    card: int
    slot: int

    ASKS: ClassVar[str] = "choose the order of the modifiers of your Trick's yield"
    RULE: ClassVar[str] = "TR-AD10"
    EXPECTED: ClassVar[tuple[type, ...]] = (OrderModifiers,)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if order_matters(hall, self.performer, self.card, self.slot) else ()

    def _outcomes(self, hall: Hall) -> dict[tuple[int, ...], Yield]:
        return outcomes(hall, self.performer, self.card, self.slot)

    def options(self, hall: Hall, seat: int) -> Iterable[OrderModifiers]:
        return [commands.order_modifiers(order) for order in self._outcomes(hall)]

    def default(self, hall: Hall, seat: int) -> OrderModifiers:
        """The order that gives most Fame and coins; of equals the first that is listed."""
        found = self._outcomes(hall)
        return commands.order_modifiers(max(found, key=lambda order: found[order].fame + found[order].coins))

    def choose(self, table: HallTable, seat: int, command: OrderModifiers) -> None:
        table.emit(YieldModified(seat, self.slot, command.order))


# --- after a performance, and after Sunday


def card_performed(table: HallTable, performer: int, card: int) -> None:
    """Arranged Fiasco by ruling `flat`; what Durable Components may bring back (TR-D56, TR-D57, TR-AD35)."""
    hall = table.hall
    special = alley_of(hall).performing[performer]
    owners = [seat_of(marker) for marker in hall.stage[displayed(hall, card)] if marker]
    if special == Assignment.ARRANGED_FIASCO and hall.rulings.fiasco_flat:
        money.gain_fame(table, performer, owners.count(performer), Cause.SPECIAL)
        for seat in hall.initiative:
            if seat != performer:
                money.lose_fame(table, seat, owners.count(seat), Cause.SPECIAL)
    if special == Assignment.DURABLE_COMPONENTS:
        markers = hall.stage[displayed(hall, card)]
        own = sorted({trick_of(marker) for marker in markers if marker and seat_of(marker) == performer})
        table.emit(DurableFound(performer, tuple(own)))


def after_performances(hall: Hall) -> Sequence[Frame]:
    """Durable Components, in initiative order (TR-A50)."""
    return [Durable(seat) for seat in hall.initiative]


class Durable(Ask, tag="durable"):
    """Durable Components: which performed marker returns to its Trick, if any (TR-D56, TR-AD34)."""

    ASKS: ClassVar[str] = "choose the Trick to which a performed marker returns, or decline"
    RULE: ClassVar[str] = "TR-D56"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseTrick, Decline)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if self._tricks(hall) else ()

    def _tricks(self, hall: Hall) -> list[int]:
        seat = self.seat
        found = []
        for trick in alley_of(hall).durable[seat]:
            if trick in hall.tricks[seat]:
                symbol = hall.symbols[seat][hall.tricks[seat].index(trick)]
                if hall.supply[seat][symbol]:
                    found.append(trick)
        return found

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return [base_commands.DECLINE, *(commands.choose_trick(trick) for trick in self._tricks(hall))]

    def choose(self, table: HallTable, seat: int, command: ChooseTrick | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
        else:
            table.emit(MarkerRestored(seat, command.trick))
