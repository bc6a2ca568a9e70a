"""Set-up: the table, then each player's choices, then initiative (TR-012 to TR-033)."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations_with_replacement
from typing import ClassVar

from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    BoardLaid,
    Category,
    Cause,
    Character,
    CharacterJoined,
    ChooseMagician,
    Component,
    ComponentsGained,
    InitiativeSet,
    MagicianChosen,
    Member,
    PerformanceCardsDisplayed,
    PerformanceDeckShuffled,
    Phase,
    PhaseStarted,
    PickComponents,
    PickSpecialist,
    PickTrick,
    TableLaid,
    TrickTaken,
)
from services.trickerion import commands, hooks, money
from services.trickerion.asking import Ask, HallTable, content_of
from services.trickerion.components import meets
from services.trickerion.content import Content
from services.trickerion.hall import ABSENT, ENGINEERS_SLOT, Hall, initiative_slot
from services.trickerion.packs import PACKS
from services.trickerion.turn import Turn
from services.trickerion.workshop import markers_for, prepare

SPECIALISTS = (Character.ENGINEER, Character.MANAGER, Character.ASSISTANT)
STARTING_SLOT = 0
"""Where the starting Trick lies."""
SYMBOLS = (1, 2, 3, 4)


class SetUp(Frame, tag="set_up"):
    """The table is laid; then each seat makes its choices before the next one does (TR-018, TR-A29)."""

    def run(self, table: HallTable) -> None:
        table.emit(PhaseStarted(Phase.SET_UP, 0))
        lay_table(table)
        seats = len(table.hall.fame)
        order = [(table.hall.first + i) % seats for i in range(seats)]
        choices: list[Frame] = []
        for seat in order:
            choices.append(MagicianChoice(seat))
            if not table.hall.beginners:
                choices += [StartingComponents(seat), StartingTrick(seat), SpecialistChoice(seat)]
                choices.append(ManagerComponents(seat))
        if not table.hall.beginners:
            choices += [EngineerTrick(seat) for seat in order]
        table.then(*choices, SetUpDone())


def lay_table(table: HallTable) -> None:
    """Trick decks, Market Row, Performance deck and display, boards (TR-012 to TR-016, TR-021, TR-027)."""
    hall, content = table.hall, table.content
    seats = len(hall.fame)
    tricks = [trick for category in Category if category for trick in content.tricks_of(category, hall.dark_alley)]
    table.emit(TableLaid(table.rng.below(seats), tuple(sorted(tricks)), content.buy_area))
    for seat in range(seats):
        hand = tuple(content.hand(hall.dark_alley))
        table.emit(BoardLaid(seat, hand, content.starting_fame, content.starting_shards, content.markers_per_symbol))
    deck: list[int] = []
    shown: list[int] = []
    for theater, count in content.decks[hall.dark_alley]:
        cards = table.rng.shuffle(content.cards_of(theater))
        if theater == content.display_theater:
            shown, cards = cards[: seats - 1], cards[seats - 1 :]
        deck += cards[:count]
    deck.reverse()
    table.emit(PerformanceCardsDisplayed(tuple(shown)))
    table.emit(PerformanceDeckShuffled(tuple(content.performances[card].theater for card in deck), tuple(deck)))
    hooks.of(hall).table_laid(table)


# --- each player's choices


class MagicianChoice(Ask, tag="choose_magician"):
    """A magician whose favorite category nobody has (TR-018)."""

    ASKS: ClassVar[str] = "choose a magician"
    RULE: ClassVar[str] = "TR-018"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseMagician,)

    def options(self, hall: Hall, seat: int) -> Iterable[ChooseMagician]:
        content = content_of(hall)
        taken = {content.magicians[magician].category for magician in hall.magicians if magician}
        return [
            commands.choose_magician(magician)
            for magician in hooks.of(hall).magicians(hall, content)
            if content.magicians[magician].category not in taken
        ]

    def why_not(self, hall: Hall, seat: int, command: ChooseMagician) -> Refusal:
        if command.magician in hooks.of(hall).magicians(hall, content_of(hall)):
            return Refusal("CATEGORY_TAKEN", "Another player's magician has that favorite category.", "TR-018")
        return Refusal("NO_SUCH_MAGICIAN", "That magician is not in this game.", "TR-D08")

    def choose(self, table: HallTable, seat: int, command: ChooseMagician) -> None:
        table.emit(MagicianChosen(seat, command.magician))
        if table.hall.beginners:
            take_first_game(table, seat)


def take_first_game(table: HallTable, seat: int) -> None:
    """The rulebook's fixed set for the magician's category (TR-029)."""
    content: Content = table.content
    game = content.first_games[content.magicians[table.hall.magicians[seat]].category]
    assert game is not None
    for component, amount in game.components:
        table.emit(ComponentsGained(seat, component, amount, False))
    table.emit(TrickTaken(seat, game.trick, STARTING_SLOT, SYMBOLS[0]))
    join_specialist(table, seat, game.specialist)
    for component, amount in game.manager_components:
        table.emit(ComponentsGained(seat, component, amount, True))
    if game.engineer_trick:
        table.emit(TrickTaken(seat, game.engineer_trick, ENGINEERS_SLOT, SYMBOLS[1]))


@cache
def component_choices(pack: bytes, barred: tuple[int, ...] = ()) -> list[PickComponents]:
    """Every way to take Components worth the starting coins: two Basic or one Advanced (TR-019, TR-A30)."""
    content = PACKS[pack]
    worth = content.starting_components
    types = [number for number in range(1, len(content.components)) if number not in barred]
    return [
        PickComponents(chosen)
        for count in range(worth, 0, -1)
        for chosen in combinations_with_replacement(types, count)
        if sum(content.components[component].price for component in chosen) == worth
    ]


class StartingComponents(Ask, tag="starting_components"):
    """Components worth two coins (TR-019)."""

    ASKS: ClassVar[str] = "take Components worth 2 coins"
    RULE: ClassVar[str] = "TR-019"
    EXPECTED: ClassVar[tuple[type, ...]] = (PickComponents,)

    def options(self, hall: Hall, seat: int) -> Iterable[PickComponents]:
        return component_choices(hall.pack)

    def why_not(self, hall: Hall, seat: int, command: PickComponents) -> Refusal:
        return Refusal("WORTH_TWO_COINS", "Take two Basic Components, the lower first, or an Advanced one.", "TR-A30")

    def choose(self, table: HallTable, seat: int, command: PickComponents) -> None:
        take_components(table, seat, command.components, False)


def take_components(table: HallTable, seat: int, components: Sequence[int], manager_slot: bool) -> None:
    """Take the Components of a choice, one event for each type."""
    for component in sorted(set(components)):
        table.emit(ComponentsGained(seat, component, components.count(component), manager_slot))


class StartingTrick(Ask, tag="starting_trick"):
    """A level 1 Trick of the favorite category, and its symbol (TR-020)."""

    ASKS: ClassVar[str] = "choose your starting Trick and its symbol"
    RULE: ClassVar[str] = "TR-020"
    EXPECTED: ClassVar[tuple[type, ...]] = (PickTrick,)

    def options(self, hall: Hall, seat: int) -> Iterable[PickTrick]:
        content = content_of(hall)
        category = content.magicians[hall.magicians[seat]].category
        return [
            commands.pick_trick(trick, symbol)
            for trick in hall.residence
            if content.tricks[trick].category == category and content.tricks[trick].level == 1
            for symbol in SYMBOLS
        ]

    def why_not(self, hall: Hall, seat: int, command: PickTrick) -> Refusal:
        if command.symbol not in SYMBOLS:
            return Refusal("NO_SUCH_SYMBOL", "Choose one of the four symbols.", "TR-009")
        return Refusal("NOT_A_STARTING_TRICK", "Choose a level 1 Trick of your favorite category.", "TR-020")

    def choose(self, table: HallTable, seat: int, command: PickTrick) -> None:
        table.emit(TrickTaken(seat, command.trick, STARTING_SLOT, command.symbol))


class SpecialistChoice(Ask, tag="specialist"):
    """A Specialist, with its board extension; the Assistant brings an Apprentice (TR-023, TR-026)."""

    ASKS: ClassVar[str] = "choose a Specialist"
    RULE: ClassVar[str] = "TR-023"
    EXPECTED: ClassVar[tuple[type, ...]] = (PickSpecialist,)

    def options(self, hall: Hall, seat: int) -> Iterable[PickSpecialist]:
        return [commands.pick_specialist(character) for character in SPECIALISTS]

    def why_not(self, hall: Hall, seat: int, command: PickSpecialist) -> Refusal:
        return Refusal("NO_SPECIALIST", "Choose Engineer, Manager or Assistant.", "TR-023")

    def choose(self, table: HallTable, seat: int, command: PickSpecialist) -> None:
        join_specialist(table, seat, command.character)


def join_specialist(table: HallTable, seat: int, character: int) -> None:
    """A Specialist joins at the start; an Assistant brings an Apprentice on its slot."""
    table.emit(CharacterJoined(seat, character, False))
    if character == Character.ASSISTANT:
        table.emit(CharacterJoined(seat, Member.ASSISTANTS_APPRENTICE, False))


class ManagerComponents(Ask, tag="manager_components"):
    """The Manager's further Components, onto its slots; of other types than those on the board (TR-024, TR-A31)."""

    ASKS: ClassVar[str] = "take Components worth 2 coins for your Manager's slots"
    RULE: ClassVar[str] = "TR-024"
    EXPECTED: ClassVar[tuple[type, ...]] = (PickComponents,)

    def asked(self, hall: Hall) -> Sequence[int]:
        return () if hall.posts[self.seat][Member.MANAGER] == ABSENT else (self.seat,)

    def options(self, hall: Hall, seat: int) -> list[PickComponents]:
        owned = tuple(component for component, tokens in enumerate(hall.piles[seat]) if tokens)
        return component_choices(hall.pack, owned)

    def default(self, hall: Hall, seat: int) -> PickComponents:
        options = self.options(hall, seat)
        metal = PickComponents((Component.METAL, Component.METAL))
        return metal if metal in options else options[0]

    def why_not(self, hall: Hall, seat: int, command: PickComponents) -> Refusal:
        if any(0 < component < 13 and hall.piles[seat][component] for component in command.components):
            return Refusal("ONE_PILE_A_TYPE", "You have a pile of that type on your board.", "TR-A31")
        return Refusal("WORTH_TWO_COINS", "Take two Basic Components, the lower first, or an Advanced one.", "TR-A30")

    def choose(self, table: HallTable, seat: int, command: PickComponents) -> None:
        take_components(table, seat, command.components, True)


class EngineerTrick(Ask, tag="engineer_trick"):
    """The Engineer's level 1 Trick of any category, when all have their starting Trick (TR-025)."""

    ASKS: ClassVar[str] = "choose a Trick for your Engineer's slot, and its symbol"
    RULE: ClassVar[str] = "TR-025"
    EXPECTED: ClassVar[tuple[type, ...]] = (PickTrick,)

    def asked(self, hall: Hall) -> Sequence[int]:
        return () if hall.posts[self.seat][Member.ENGINEER] == ABSENT else (self.seat,)

    def options(self, hall: Hall, seat: int) -> Iterable[PickTrick]:
        content, used = content_of(hall), hall.symbols[seat]
        return [
            commands.pick_trick(trick, symbol)
            for trick in hall.residence
            if content.tricks[trick].level == 1
            for symbol in SYMBOLS
            if symbol not in used
        ]

    def why_not(self, hall: Hall, seat: int, command: PickTrick) -> Refusal:
        if command.symbol not in SYMBOLS:
            return Refusal("NO_SUCH_SYMBOL", "Choose one of the four symbols.", "TR-009")
        if command.symbol in hall.symbols[seat]:
            return Refusal("SYMBOL_USED", "Choose a symbol that stands for no other Trick of yours.", "TR-025")
        return Refusal("NOT_A_STARTING_TRICK", "Choose a level 1 Trick that nobody has.", "TR-025")

    def choose(self, table: HallTable, seat: int, command: PickTrick) -> None:
        table.emit(TrickTaken(seat, command.trick, ENGINEERS_SLOT, command.symbol))


# --- its end


class SetUpDone(Frame, tag="set_up_done"):
    """Starting Tricks are prepared free if their needs are met; initiative, coins, turn 1 (TR-028 to TR-032)."""

    def run(self, table: HallTable) -> None:
        hall, content = table.hall, table.content
        seats = len(hall.fame)
        for seat in range(seats):
            prepare_free(table, seat)
        table.emit(InitiativeSet(tuple(table.rng.shuffle(range(seats)))))
        for seat in hall.initiative:
            coins = content.starting_coins[initiative_slot(hall, content, seat)]
            money.gain_coins(table, seat, coins, Cause.SET_UP)
        hooks.of(hall).set_up_done(table)
        table.then(Turn(1))


def prepare_free(table: HallTable, seat: int) -> None:
    """Prepare the starting Trick, and by ruling the Engineer's, if the starting Components meet it (TR-028, TR-A32)."""
    hall, content = table.hall, table.content
    slots = (STARTING_SLOT, ENGINEERS_SLOT) if hall.rulings.prepare_all else (STARTING_SLOT,)
    for slot in slots:
        trick = hall.tricks[seat][slot]
        if trick and meets(hall, content, seat, trick):
            prepare(table, seat, slot, markers_for(hall, content, seat, slot))
