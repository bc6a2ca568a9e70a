"""Special cards of Downtown (TR-D71 to TR-D79); of Empower its words say all."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

from guildhall.kernel.cards import FRONT
from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    Assignment,
    Cause,
    Character,
    CharacterHired,
    CharacterJoined,
    ChooseComponent,
    ChooseTrick,
    ChooseTrickSlot,
    Decline,
    Declined,
    DieRerolled,
    DieSet,
    GiveCard,
    Headhunt,
    Hire,
    HireSecond,
    HouseApprentice,
    LearnTrick,
    MarkersPrepared,
    TakeCoins,
    TrickOverhauled,
)
from services.trickerion import commands as base_commands
from services.trickerion import downtown, hooks, market_row, money
from services.trickerion.asking import Ask, HallTable, content_of
from services.trickerion.components import meets
from services.trickerion.content import Action, Content, X
from services.trickerion.dark_alley import commands
from services.trickerion.dark_alley.cards import Bonus, bonus_ap, gain_counted_fame
from services.trickerion.dark_alley.evolve import alley_of
from services.trickerion.dark_alley.market_cards import choices, take_one
from services.trickerion.end_turn import House, homes_for
from services.trickerion.hall import Hall

SECOND_PRICE = 3
"""Coins for the second Apprentice of a Mass Recruitment."""
BLUEPRINT_LEVEL = 2
"""Highest level of a Trick that Leaked Blueprints help with: threshold 16."""
INVESTED_MOST = 3
"""Components that Investments buy."""


# --- Hire


def hires(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Every Hire as usual."""
    if hall.ap < bonus_ap(hall, content):
        return []
    can_hire = downtown.can_hire
    return [base_commands.hire(die) for die in downtown.INN if can_hire(hall, content, seat, hall.dice[die])]


def apprentice_hires(hall: Hall, content: Content, seat: int) -> list[Any]:
    return [command for command in hires(hall, content, seat) if hall.dice[command.die] == Character.APPRENTICE]


def do_hire(table: HallTable, seat: int, die: int, kind: int) -> None:
    """Hire a Character with the special card."""
    downtown.hire(table, seat, die, kind, bonus_ap(table.hall, table.content))


def recruit(table: HallTable, seat: int, command: Hire) -> Sequence[Frame]:
    do_hire(table, seat, command.die, table.hall.dice[command.die])
    return (SecondApprentice(seat),)


class SecondApprentice(Ask, tag="second_apprentice"):
    """Mass Recruitment: a second Apprentice for coins (TR-D71, TR-AD46)."""

    ASKS: ClassVar[str] = "hire a second Apprentice or decline"
    RULE: ClassVar[str] = "TR-D71"
    EXPECTED: ClassVar[tuple[type, ...]] = (HireSecond, Decline)

    def asked(self, hall: Hall) -> Sequence[int]:
        possible = downtown.can_hire(hall, content_of(hall), self.seat, Character.APPRENTICE)
        return (self.seat,) if possible and hall.coins[self.seat] >= SECOND_PRICE else ()

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return (base_commands.DECLINE, commands.HIRE_SECOND)

    def choose(self, table: HallTable, seat: int, command: HireSecond | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
            return
        money.pay_coins(table, seat, SECOND_PRICE, Cause.SPECIAL)
        table.emit(CharacterHired(seat, Character.APPRENTICE))


def hires_to_join(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Hires of Characters that can join at once: an Assistant on the Inn is no home yet (TR-D72, TR-A22)."""
    at_home = bool(homes_for(hall, seat))
    return [c for c in hires(hall, content, seat) if at_home or hall.dice[c.die] != Character.APPRENTICE]


def motivate(table: HallTable, seat: int, command: Hire) -> Sequence[Frame]:
    """The hired Character joins at once (TR-D72, TR-AD46)."""
    kind = table.hall.dice[command.die]
    do_hire(table, seat, command.die, kind)
    if kind != Character.APPRENTICE:
        return join_now(table, seat, kind)
    homes = homes_for(table.hall, seat)
    return join_now(table, seat, homes[0]) if len(homes) == 1 else (HouseNow(seat),)


def join_now(table: HallTable, seat: int, member: int) -> Sequence[Frame]:
    table.emit(CharacterJoined(seat, member, True))
    return (Motivate(seat, member),)


class HouseNow(House, tag="house_now"):
    """Hypnotic Motivation: where the Apprentice lives that joins at once (TR-D72)."""

    def choose(self, table: HallTable, seat: int, command: HouseApprentice) -> None:
        table.then(*join_now(table, seat, command.member))


class Motivate(Ask, tag="motivate"):
    """Hypnotic Motivation: a card of the hand for the Character that joined (TR-D72, TR-AD46)."""

    member: int

    ASKS: ClassVar[str] = "give the Character a card of your hand, or decline"
    RULE: ClassVar[str] = "TR-D72"
    EXPECTED: ClassVar[tuple[type, ...]] = (GiveCard, Decline)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if hall.hands[self.seat] else ()

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        cards = sorted({card & FRONT for card in hall.hands[seat]})
        return [base_commands.DECLINE, *(commands.give_card(card) for card in cards)]

    def choose(self, table: HallTable, seat: int, command: GiveCard | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
        else:
            hooks.of(table.hall).cards_assigned(table, seat, (self.member,), (command.card,))


def plain_hires(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Hires with no more than the words of the card; any face of a die may mean any Character (TR-D73)."""
    if not content.assignments[alley_of(hall).bonus].any_face:
        return hires(hall, content, seat)
    if hall.ap < bonus_ap(hall, content):
        return []
    kinds = [kind for kind in Character if kind > Character.MAGICIAN and downtown.can_hire(hall, content, seat, kind)]
    return [commands.headhunt(die, kind) for die in downtown.INN if hall.dice[die] != X for kind in kinds]


def plain_hire(table: HallTable, seat: int, command: Hire | Headhunt) -> Sequence[Frame]:
    kind = command.character if isinstance(command, Headhunt) else table.hall.dice[command.die]
    do_hire(table, seat, command.die, kind)
    return ()


# --- Learn Trick


def learns(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Every Learn Trick as usual."""
    return list(downtown.learnable(hall, content, seat)) if hall.ap >= bonus_ap(hall, content) else []


def plain_learns(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Learns with no more than the words of the card; any face of a die may mean any category (TR-D75)."""
    if not content.assignments[alley_of(hall).bonus].any_face:
        return learns(hall, content, seat)
    if hall.ap < bonus_ap(hall, content) or not downtown.free_trick_slots(hall, seat):
        return []
    most = hall.fame[seat] + hall.coins[seat]
    tricks = [trick for trick in hall.residence if content.tricks[trick].threshold <= most]
    return [base_commands.learn_trick(t, die) for die in downtown.DAHLGAARD if hall.dice[die] != X for t in tricks]


def learn(table: HallTable, seat: int, command: LearnTrick) -> Sequence[Frame]:
    return (downtown.ask_where(table.hall, seat, command.trick, command.die),)


def blueprints(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Tricks up to threshold 16 (TR-D76)."""
    return [c for c in learns(hall, content, seat) if content.tricks[c.trick].level <= BLUEPRINT_LEVEL]


def learn_from_blueprints(table: HallTable, seat: int, command: LearnTrick) -> Sequence[Frame]:
    return (*learn(table, seat, command), Blueprint(seat, command.trick))


class Blueprint(Frame, tag="blueprint"):
    """Leaked Blueprints: the learnt Trick comes with a marker, if one is in supply (TR-D76, TR-AD48)."""

    seat: int
    trick: int

    def run(self, table: HallTable) -> None:
        hall, seat = table.hall, self.seat
        slot = hall.tricks[seat].index(self.trick)
        if hall.supply[seat][hall.symbols[seat][slot]]:
            table.emit(MarkersPrepared(seat, self.trick, 1))


# --- Trick Overhaul


def overhaul_learns(hall: Hall, content: Content, seat: int) -> list[Any]:
    """What can take the place of an own Trick: its Components have to be there (TR-D74)."""
    learnable = downtown.learnable(hall, content, seat, room=True)
    return [command for command in learnable if meets(hall, content, seat, command.trick)]


def overhaulable(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Own Tricks that can go back while another one is learnt."""
    if hall.ap < bonus_ap(hall, content) or not overhaul_learns(hall, content, seat):
        return []
    return [commands.choose_trick(trick) for trick in hall.tricks[seat] if trick]


def begin_overhaul(table: HallTable, seat: int, command: ChooseTrick) -> Sequence[Frame]:
    return (Overhaul(seat, command.trick),)


class Overhaul(Ask, tag="overhaul"):
    """Trick Overhaul: which Trick is learnt in place of the one that goes back (TR-D74, TR-AD47)."""

    old: int

    ASKS: ClassVar[str] = "choose the Trick that takes the place of the old one"
    RULE: ClassVar[str] = "TR-D74"
    EXPECTED: ClassVar[tuple[type, ...]] = (LearnTrick,)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return overhaul_learns(hall, content_of(hall), seat)

    def choose(self, table: HallTable, seat: int, command: LearnTrick) -> None:
        slots = overhaul_slots(table.hall, seat, self.old)
        if len(slots) == 1:
            overhaul(table, seat, self.old, command.trick, command.die, slots[0])
        else:
            table.then(OverhaulSlot(seat, self.old, command.trick, command.die))


def overhaul_slots(hall: Hall, seat: int, old: int) -> list[int]:
    """Where the new Trick may lie: as any learnt one, or where the old one lay (TR-AD47)."""
    return sorted({hall.tricks[seat].index(old), *downtown.free_trick_slots(hall, seat)})


class OverhaulSlot(Ask, tag="overhaul_slot"):
    """Trick Overhaul: where the new Trick lies (TR-AD47)."""

    old: int
    trick: int
    die: int

    ASKS: ClassVar[str] = "choose a slot for the Trick"
    RULE: ClassVar[str] = "TR-AD47"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseTrickSlot,)

    def options(self, hall: Hall, seat: int) -> Iterable[ChooseTrickSlot]:
        return [base_commands.choose_trick_slot(slot) for slot in overhaul_slots(hall, seat, self.old)]

    def why_not(self, hall: Hall, seat: int, command: ChooseTrickSlot) -> Refusal:
        return Refusal("NO_SLOT", "That is neither the old Trick's slot nor one for a new Trick.", "TR-AD47")

    def choose(self, table: HallTable, seat: int, command: ChooseTrickSlot) -> None:
        overhaul(table, seat, self.old, self.trick, self.die, command.slot)


def overhaul(table: HallTable, seat: int, old: int, trick: int, die: int, slot: int) -> None:
    """Pay as for any learnt Trick; symbol and markers pass on (TR-D74)."""
    hall, tricks = table.hall, table.content.tricks
    money.spend_ap(table, bonus_ap(hall, table.content))
    money.pay_coins(table, seat, max(0, tricks[trick].threshold - hall.fame[seat]), Cause.LEARN)
    if die != downtown.NO_DIE:
        table.emit(DieSet(seat, die, X))
    turns = (tricks[trick].category - tricks[old].category) % 4
    table.emit(TrickOverhauled(seat, old, trick, slot, hall.rulings.overhaul_moves_markers, turns))


# --- Take Coins


def takes(hall: Hall, content: Content, seat: int) -> list[Any]:
    """Every Take Coins as usual."""
    if hall.ap < bonus_ap(hall, content):
        return []
    return [base_commands.take_coins(die) for die in downtown.BANK if hall.dice[die] != X]


def take(table: HallTable, seat: int, die: int, coins: int) -> None:
    """Take coins with what the words of the special card make of it; Fame counts the face as shown (TR-AD14)."""
    face = table.hall.dice[die]
    downtown.take_coins(table, seat, die, coins, bonus_ap(table.hall, table.content))
    gain_counted_fame(table, seat, "coin_on_die", face)


def plain_take(table: HallTable, seat: int, command: TakeCoins) -> Sequence[Frame]:
    take(table, seat, command.die, hooks.of(table.hall).coins_of(table.hall, table.hall.dice[command.die]))
    return ()


def invest(table: HallTable, seat: int, command: TakeCoins) -> Sequence[Frame]:
    coins = hooks.of(table.hall).coins_of(table.hall, table.hall.dice[command.die])
    take(table, seat, command.die, coins)
    return (Invest(seat, coins, INVESTED_MOST),)


class Invest(Ask, tag="invest"):
    """Investments: one more Component for the coins just taken, or no more (TR-D77, TR-AD49)."""

    coins: int
    """Of those taken, what is left."""
    left: int
    """Components that may still be bought."""

    ASKS: ClassVar[str] = "buy a Component for the coins that you took, or decline"
    RULE: ClassVar[str] = "TR-D77"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseComponent, Decline)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if self._choices(hall) else ()

    def _choices(self, hall: Hall) -> list[ChooseComponent]:
        content = content_of(hall)
        if not self.left:
            return []
        return choices(hall, content, self.seat, market_row.prices(hall, content), lambda price: price <= self.coins)

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        return [base_commands.DECLINE, *self._choices(hall)]

    def choose(self, table: HallTable, seat: int, command: ChooseComponent | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
            return
        price = market_row.prices(table.hall, table.content)[command.component]
        money.pay_coins(table, seat, price, Cause.BUY)
        take_one(table, seat, command)
        table.then(Invest(seat, self.coins - price, self.left - 1))


def take_with_interest(table: HallTable, seat: int, command: TakeCoins) -> Sequence[Frame]:
    """The die is rolled once more and added (TR-D79, TR-AD50); by TR-AD14 only the first roll is doubled."""
    hall, die = table.hall, command.die
    hooking = hooks.of(hall)
    first = hall.dice[die]
    faces = table.content.dice[die].faces
    second = faces[table.rng.below(len(faces))]
    table.emit(DieRerolled(seat, die, second))
    if hall.rulings.double_total:
        take(table, seat, die, hooking.coins_of(hall, first + second))
    else:
        take(table, seat, die, hooking.coins_of(hall, first) + second)
    return ()


PLAIN: Final[dict[int, Bonus]] = {
    Action.HIRE: Bonus(plain_hires, plain_hire),
    Action.LEARN_TRICK: Bonus(plain_learns, learn),
    Action.TAKE_COINS: Bonus(takes, plain_take),
}
"""By Action, with no more than the words of the card."""

CASES: Final[dict[int, Bonus]] = {
    Assignment.MASS_RECRUITMENT: Bonus(apprentice_hires, recruit),
    Assignment.HYPNOTIC_MOTIVATION: Bonus(hires_to_join, motivate),
    Assignment.TRICK_OVERHAUL: Bonus(overhaulable, begin_overhaul),
    Assignment.LEAKED_BLUEPRINTS: Bonus(blueprints, learn_from_blueprints),
    Assignment.INVESTMENTS: Bonus(takes, invest),
    Assignment.INTEREST: Bonus(takes, take_with_interest),
}
"""Cards with a case that act on one action of Downtown."""
