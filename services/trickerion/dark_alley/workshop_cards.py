"""Special cards of the Workshop (TR-D61 to TR-D69); Freelancer is about placing."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

from guildhall.kernel.frames import Frame
from guildhall.trickerion.v1.structs import (
    ApprenticeLeft,
    Assignment,
    Cause,
    Character,
    CharacterJoined,
    ChooseComponent,
    ChooseTrick,
    ComponentsReturned,
    Decline,
    Declined,
    MarkersPrepared,
    PickSpecialist,
    Prepare,
    SetUpTrick,
    TalentFound,
    TrickEnhanced,
    TrickSetUp,
)
from services.trickerion import commands as base_commands
from services.trickerion import money
from services.trickerion.asking import Ask, HallTable, content_of
from services.trickerion.components import effective
from services.trickerion.content import Content, Yield
from services.trickerion.dark_alley import commands
from services.trickerion.dark_alley.cards import Bonus, armed_card, gain_counted_fame
from services.trickerion.dark_alley.evolve import alley_of
from services.trickerion.dark_alley.tricks import own_yield
from services.trickerion.end_turn import pay_wages
from services.trickerion.hall import APPRENTICES, Hall, has
from services.trickerion.theater import set_ups
from services.trickerion.workshop import can_prepare, markers_for, prepare

SPECIALISTS = (Character.ENGINEER, Character.MANAGER, Character.ASSISTANT)
USED_UP_MOST = 3
"""Components that an Unstable Prototype may use."""
ABOVE_BASIC = 2
"""Tiers from this one on are Advanced and Superior."""


def preparable(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Every Prepare as usual."""
    return [
        base_commands.prepare(trick)
        for slot, trick in enumerate(hall.tricks[seat])
        if trick and content.tricks[trick].ap <= hall.ap and can_prepare(hall, content, seat, slot)
    ]


def do_prepare(table: HallTable, seat: int, trick: int) -> None:
    """Prepare a Trick with the markers, yields and Fame that the special card's words make of it.

    Yields are the Trick's own, without weekday (TR-D61, TR-D62, TR-D64, TR-AD39).
    """
    content: Content = table.content
    card = armed_card(table.hall, content)
    slot = table.hall.tricks[seat].index(trick)
    money.spend_ap(table, content.tricks[trick].ap)
    prepare(table, seat, slot, markers_for(table.hall, content, seat, slot, card.more_markers))
    if card.gain_yields:
        gain_yield(table, seat, own_yield(table.hall, content, trick))
    needs = content.tricks[trick].needs
    above_basic = sum(count for component, count in needs if content.components[component].tier >= ABOVE_BASIC)
    gain_counted_fame(table, seat, "needed_component_above_basic", above_basic)


def plain_prepare(table: HallTable, seat: int, command: Prepare) -> Sequence[Frame]:
    do_prepare(table, seat, command.trick)
    return ()


def gain_yield(table: HallTable, seat: int, amount: Yield) -> None:
    """Gain what a Trick yields by a special card."""
    money.gain_fame(table, seat, amount.fame, Cause.SPECIAL)
    money.gain_coins(table, seat, amount.coins, Cause.SPECIAL)
    money.gain_shards(table, seat, amount.shards, Cause.SPECIAL)


# --- Replaceable Parts


def spare_targets(hall: Hall, content: Content, seat: int, trick: int) -> list[int]:
    """Own Tricks that may receive the marker: others of no higher threshold, with a marker in supply (TR-D63)."""
    most = content.tricks[trick].threshold
    return [
        other
        for other, symbol in zip(hall.tricks[seat], hall.symbols[seat], strict=True)
        if other and other != trick and content.tricks[other].threshold <= most and hall.supply[seat][symbol]
    ]


def with_spare_targets(hall: Hall, content: Content, seat: int) -> list[Any]:
    return [c for c in preparable(hall, content, seat) if spare_targets(hall, content, seat, c.trick)]


def replace_parts(table: HallTable, seat: int, command: Prepare) -> Sequence[Frame]:
    do_prepare(table, seat, command.trick)
    return (SpareParts(seat, command.trick),)


class SpareParts(Ask, tag="spare_parts"):
    """Replaceable Parts: which other Trick receives a marker (TR-D63, TR-AD39)."""

    trick: int

    ASKS: ClassVar[str] = "choose the Trick that receives a marker"
    RULE: ClassVar[str] = "TR-D63"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseTrick,)

    def options(self, hall: Hall, seat: int) -> Iterable[ChooseTrick]:
        return [commands.choose_trick(trick) for trick in spare_targets(hall, content_of(hall), seat, self.trick)]

    def choose(self, table: HallTable, seat: int, command: ChooseTrick) -> None:
        table.emit(MarkersPrepared(seat, command.trick, 1))


# --- Ingenuity


def short_of_one(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Tricks of whose Components exactly one type is short (TR-D65, TR-AD40)."""
    found = []
    for slot, trick in enumerate(hall.tricks[seat]):
        card = content.tricks[trick]
        if not trick or card.ap > hall.ap or hall.prepared[seat][slot]:
            continue
        short = sum(1 for component, count in card.needs if effective(hall, content, seat, component) < count)
        if short == 1 and hall.supply[seat][hall.symbols[seat][slot]]:
            found.append(base_commands.prepare(trick))
    return found


def improvise(table: HallTable, seat: int, command: Prepare) -> Sequence[Frame]:
    """One marker, wherever the Trick lies (TR-D65)."""
    money.spend_ap(table, table.content.tricks[command.trick].ap)
    table.emit(MarkersPrepared(seat, command.trick, 1))
    return ()


# --- Unstable Prototype


def begin_prototype(table: HallTable, seat: int, command: Prepare) -> Sequence[Frame]:
    money.spend_ap(table, table.content.tricks[command.trick].ap)
    return (UseUp(seat, command.trick),)


class UseUp(Ask, tag="use_up"):
    """Unstable Prototype: one more needed Component that goes back, or no more (TR-D66, TR-AD41)."""

    trick: int
    used: int = 0
    """Components that went back."""

    ASKS: ClassVar[str] = "choose a Component that is used up, or decline"
    RULE: ClassVar[str] = "TR-D66"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseComponent, Decline)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        if self.used < USED_UP_MOST:
            for component, _ in content_of(hall).tricks[self.trick].needs:
                if hall.piles[seat][component]:
                    yield commands.choose_component(component, False)
        yield base_commands.DECLINE

    def default(self, hall: Hall, seat: int) -> Decline:
        return base_commands.DECLINE

    def choose(self, table: HallTable, seat: int, command: ChooseComponent | Decline) -> None:
        if isinstance(command, ChooseComponent):
            table.emit(ComponentsReturned(seat, command.component, 1))
            if self.used + 1 < USED_UP_MOST:
                table.then(UseUp(seat, self.trick, self.used + 1))
                return
        used = self.used + isinstance(command, ChooseComponent)
        slot = table.hall.tricks[seat].index(self.trick)
        prepare(table, seat, slot, markers_for(table.hall, table.content, seat, slot, 1 if used else 0))
        money.gain_fame(table, seat, used, Cause.SPECIAL)
        money.gain_coins(table, seat, used, Cause.SPECIAL)


# --- Enhance Trick, On-stage Preparation, Hidden Talent


def with_shard(hall: Hall, content: Content, seat: int) -> list[Any]:
    return preparable(hall, content, seat) if hall.shards[seat] else []


def enhance_trick(table: HallTable, seat: int, command: Prepare) -> Sequence[Frame]:
    """A Shard raises the Trick's yield for good (TR-D67, TR-AD42)."""
    do_prepare(table, seat, command.trick)
    money.spend_shards(table, seat, 1, Cause.SPECIAL)
    table.emit(TrickEnhanced(seat, command.trick))
    return ()


def prepare_on_stage(table: HallTable, seat: int, command: Prepare) -> Sequence[Frame]:
    do_prepare(table, seat, command.trick)
    return (OnStage(seat, command.trick),)


class OnStage(Ask, tag="on_stage"):
    """On-stage Preparation: where one marker goes at once; nobody is paid (TR-D68, TR-AD43)."""

    trick: int

    ASKS: ClassVar[str] = "put a marker of the prepared Trick onto a Performance card, or decline"
    RULE: ClassVar[str] = "TR-D68"
    EXPECTED: ClassVar[tuple[type, ...]] = (SetUpTrick, Decline)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        there = [command for command in set_ups(hall, content_of(hall), seat) if command.trick == self.trick]
        return [base_commands.DECLINE, *there]

    def choose(self, table: HallTable, seat: int, command: SetUpTrick | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
        else:
            table.emit(TrickSetUp(seat, command.trick, command.card, command.slot, command.direction))


def not_on_team(hall: Hall, seat: int) -> list[Character]:
    """Specialists that a seat has neither on its team nor on the Inn."""
    return [kind for kind in SPECIALISTS if not has(hall, seat, kind) and kind not in hall.inn[seat]]


def by_apprentice(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Only an Apprentice has a hidden talent, and only while a Specialist is lacking (TR-D69)."""
    return preparable(hall, content, seat) if hall.actor in APPRENTICES and not_on_team(hall, seat) else []


def find_talent(table: HallTable, seat: int, command: Prepare) -> Sequence[Frame]:
    do_prepare(table, seat, command.trick)
    table.emit(TalentFound(seat, table.hall.actor))
    return ()


class Talent(Ask, tag="talent"):
    """Hidden Talent, in Return Characters: which Specialist the Apprentice becomes, if any (TR-D69, TR-AD44)."""

    ASKS: ClassVar[str] = "choose the Specialist that your Apprentice becomes, or decline"
    RULE: ClassVar[str] = "TR-D69"
    EXPECTED: ClassVar[tuple[type, ...]] = (PickSpecialist, Decline)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if not_on_team(hall, self.seat) else ()

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return [base_commands.DECLINE, *(base_commands.pick_specialist(kind) for kind in not_on_team(hall, seat))]

    def choose(self, table: HallTable, seat: int, command: PickSpecialist | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
            return
        table.emit(ApprenticeLeft(seat, alley_of(table.hall).talents[seat]))
        table.emit(CharacterJoined(seat, command.character, False))
        pay_wages(table, seat, table.content.characters[command.character].wage)


PLAIN: Final = Bonus(preparable, plain_prepare)
"""A Prepare with no more than the words of its card."""

CASES: Final[dict[int, Bonus]] = {
    Assignment.REPLACEABLE_PARTS: Bonus(with_spare_targets, replace_parts),
    Assignment.INGENUITY: Bonus(short_of_one, improvise),
    Assignment.UNSTABLE_PROTOTYPE: Bonus(preparable, begin_prototype),
    Assignment.ENHANCE_TRICK: Bonus(with_shard, enhance_trick),
    Assignment.ON_STAGE_PREPARATION: Bonus(preparable, prepare_on_stage),
    Assignment.HIDDEN_TALENT: Bonus(by_apprentice, find_talent),
}
"""Cards with a case that act on a Prepare."""
