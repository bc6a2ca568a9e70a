"""Packs: `pack.yaml` checked and turned into what rules ask for (`content`)."""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import yaml

from guildhall.kernel.packs import BadPack, Packs
from guildhall.trickerion.v1.structs import (
    Assignment,
    Category,
    Character,
    Component,
    Location,
    Magician,
    PerformanceCard,
    Prophecy,
    Theater,
    Trick,
    Weekday,
)
from services.trickerion.content import (
    ANY_ACTION,
    ANY_CATEGORY,
    DICE,
    FIRST_SPECIAL,
    Action,
    AssignmentCard,
    Board,
    CharacterKind,
    ComponentType,
    Content,
    Day,
    Die,
    EndBonus,
    FirstGame,
    MagicianCard,
    Performance,
    Place,
    ProphecyCard,
    ScoringLine,
    TownSlot,
    TrickCard,
    X,
    Yield,
)
from services.trickerion.dark_alley import card_words as words
from services.trickerion.links import layout
from services.trickerion.pack_file import (
    ActionEntry,
    CharacterEntry,
    ComponentEntry,
    DeckPartEntry,
    DieEntry,
    Entry,
    Face,
    FirstGameEntry,
    LocationEntry,
    MagicianEntry,
    PackFile,
    PerformanceEntry,
    ProphecyEntry,
    ScoringEntry,
    SlotsEntry,
    SpecialEntry,
    TrickEntry,
    YieldEntry,
)

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Measured: the pack is read in 40 ms with libyaml, 400 ms without."""


def parse(data: bytes) -> Content:
    """The content of a pack's bytes. Raises BadPack, which names the entry and what is wrong with it."""
    try:
        raw = yaml.load(data, Loader=_LOADER)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadPack(f"the pack is no YAML: {error}") from error
    file = _convert(raw, PackFile, "the pack")
    numbers = file.numbers
    components = _by_number(file.components, ComponentEntry, Component, "component")
    characters = _by_number(file.characters, CharacterEntry, Character, "character")
    locations = _by_number(file.locations, LocationEntry, Location, "location")
    actions = _by_number(file.actions, ActionEntry, Action, "action")
    magicians = _by_number(file.magicians, MagicianEntry, Magician, "magician")
    tricks = _by_number(file.tricks, TrickEntry, Trick, "trick")
    cards = _by_number(file.performance_cards, PerformanceEntry, PerformanceCard, "card")
    prophecies = _by_number(file.prophecies, ProphecyEntry, Prophecy, "prophecy")
    if set(numbers.initiative_slots.by_players) != {2, 3, 4}:
        raise BadPack("numbers: initiative_slots are for 2, 3 and 4 players")
    for players, used in numbers.initiative_slots.by_players.items():
        if len(set(used)) != players or sorted(used) != list(used):
            raise BadPack(f"numbers: initiative_slots of {players} players are not {players} slots in order")
    thresholds = (0, *file.thresholds.by_level)
    content = Content(
        turns=(numbers.turns.base, numbers.turns.dark_alley),
        starting_fame=numbers.starting_fame.value,
        starting_shards=numbers.starting_shards.value,
        starting_coins=(0, *numbers.starting_coins.by_initiative_slot),
        starting_components=numbers.starting_components.worth,
        initiative_slots=numbers.initiative_slots.by_players,
        advertise_fame=numbers.advertise_fame.value,
        unpaid_fame=numbers.fame_lost_per_unpaid_coin.value,
        link_bonus=(0, *numbers.link_bonus.by_level),
        component_limit=numbers.component_limit.value,
        multi_bonus=numbers.multi_component_bonus.value,
        engineer_markers=numbers.engineer_markers.value,
        markers_per_symbol=numbers.markers_per_symbol.value,
        fame_per_link=numbers.fame_per_link.value,
        scoring_cap=numbers.cap_per_scoring_line.value,
        first_removal=numbers.first_removal.turn,
        trick_board=_board(file.board.trick_slots),
        component_board=_board(file.board.component_slots),
        apprentice_board=_board(file.board.apprentice_slots),
        components=(ComponentType(), *(ComponentType(c.name, c.tier, c.price) for c in components.values())),
        characters=(CharacterKind(), *(_character(c) for c in characters.values())),
        places=(Place(), *(_place(number, entry) for number, entry in locations.items())),
        days=_days(locations[Location.THEATER]),
        action_names=("", *(a.name for a in actions.values())),
        action_places=(0, *(_number(Location, a.location, f"action {a.action}") for a in actions.values())),
        action_ap=(
            (0, *(a.ap if isinstance(a.ap, int) else a.ap.first for a in actions.values())),
            (0, *(a.ap if isinstance(a.ap, int) else a.ap.revised_2019 for a in actions.values())),
        ),
        enhance_shards=file.enhance.shards,
        enhance_ap=file.enhance.ap,
        buy_most=file.buy.most,
        quick_order_price=file.buy.quick_order_price,
        dice=_dice(file.dice),
        buy_area=tuple(_number(Component, c, "market") for c in file.market.buy_area),
        order_slots=file.market.order_slots,
        decks=(_deck(file.performance_deck.base), _deck(file.performance_deck.dark_alley)),
        display_theater=_number(Theater, file.performance_deck.display, "performance_deck"),
        scoring=_scoring(file.final_scoring),
        first_games=_first_games(file.first_game),
        magicians=(MagicianCard(), *(_magician(m) for m in magicians.values())),
        thresholds=thresholds,
        tricks=(TrickCard(), *(_trick(t, thresholds) for t in tricks.values())),
        performances={front: _performance(card) for front, card in cards.items()},
        assignments=_assignments(file.special_cards, locations),
        pending_prophecies=file.prophecy_track.pending,
        prophecies={0: ProphecyCard(), **{front: _prophecy(entry) for front, entry in prophecies.items()}},
    )
    _check_together(content)
    return content


T = TypeVar("T")
E = TypeVar("E", bound=Entry)


def _convert(raw: Any, shape: type[T], entry: str) -> T:
    try:
        return msgspec.convert(raw, shape)
    except msgspec.ValidationError as error:
        raise BadPack(f"{entry}: {error}") from error


def _entries(raw: list[Any], shape: type[E], what: str) -> list[tuple[str, E]]:
    """The entries of a list with their names, which stand in their field `what`."""
    named = []
    for index, value in enumerate(raw):
        name = value.get(what) if isinstance(value, dict) else None
        entry = _convert(value, shape, f"{what} {name if isinstance(name, str) else f'number {index + 1}'}")
        named.append((str(name), entry))
    return named


def _by_number(raw: list[Any], shape: type[E], numbers: type[IntEnum], what: str) -> dict[int, E]:
    """Entries by their number, in order. Each member of `numbers` must have one entry."""
    found: dict[int, E] = {}
    for name, entry in _entries(raw, shape, what):
        number = _number(numbers, name, f"{what} {name}")
        if number in found:
            raise BadPack(f"{what} {name}: it has two entries")
        found[number] = entry
    for member in numbers:
        if member and member not in found:
            raise BadPack(f"{what} {member.name.lower()}: it has no entry")
    return {number: found[number] for number in sorted(found)}


def _number(numbers: type[IntEnum], name: str, entry: str) -> int:
    """The number of a member by its name in the pack."""
    member = numbers.__members__.get(name.upper()) if name == name.lower() else None
    if not member:
        raise BadPack(f"{entry}: there is no {numbers.__name__.lower()} {name!r}")
    return int(member)


def _board(entry: SlotsEntry) -> Board:
    return Board(entry.value, entry.extension)


def _yield(entry: YieldEntry) -> Yield:
    return Yield(entry.fame, entry.coins, entry.shards)


def _character(entry: CharacterEntry) -> CharacterKind:
    unlocks = _number(Action, entry.unlocks, f"character {entry.character}") if entry.unlocks else 0
    return CharacterKind(entry.name, entry.ap, entry.wage, entry.discs, _yield(entry.bonus), unlocks)


def _place(number: int, entry: LocationEntry) -> Place:
    if (number == Location.THEATER) != bool(entry.days) or bool(entry.days) == bool(entry.slots):
        raise BadPack(f"location {entry.location}: the Theater has days, every other Location has slots")
    return Place(
        name=entry.name,
        slots=tuple(TownSlot(slot.ap, slot.players) for slot in entry.slots),
        cards=(entry.cards.base, entry.cards.dark_alley),
        enhance=entry.enhance,
    )


def _days(theater: LocationEntry) -> tuple[Day, ...]:
    days = {_number(Weekday, day.day, "location theater"): day for day in theater.days}
    if sorted(days) != [day for day in Weekday if day] or len(days) != len(theater.days):
        raise BadPack("location theater: it has each weekday once")
    found = (days[number] for number in sorted(days))
    return (Day(), *(Day(day.name, day.backstage, day.ap, day.fame, day.coins) for day in found))


_FACES: dict[str, Callable[[Face, str], int]] = {
    "dahlgaard": lambda face, entry: ANY_CATEGORY if face == "any" else _number(Category, str(face), entry),
    "inn": lambda face, entry: _number(Character, str(face), entry),
    "bank": lambda face, entry: _coins(face, entry),
}
"""How a face that is not X is read, by the die's group."""


def _coins(face: Face, entry: str) -> int:
    if not isinstance(face, int) or not 1 <= face <= 20:
        raise BadPack(f"{entry}: {face!r} are no coins")
    return face


def _dice(raw: list[Any]) -> tuple[Die, ...]:
    entries = _entries(raw, DieEntry, "die")
    if [name for name, _ in entries] != ["dahlgaard_a", "dahlgaard_b", "inn_a", "inn_b", "bank_a", "bank_b"]:
        raise BadPack("dice: there are six, in the order of the contract")
    dice = []
    for index, (name, entry) in enumerate(entries):
        if index not in DICE[entry.group]:
            raise BadPack(f"die {name}: it is of another group")
        faces = tuple(X if face == "X" else _FACES[entry.group](face, f"die {name}") for face in entry.faces)
        dice.append(Die(entry.name, entry.group, faces, tuple(sorted(set(faces)))))
    return tuple(dice)


def _deck(parts: Sequence[DeckPartEntry]) -> tuple[tuple[int, int], ...]:
    return tuple((_number(Theater, part.theater, "performance_deck"), part.cards) for part in parts)


def _scoring(raw: list[Any]) -> tuple[ScoringLine, ...]:
    entries = _entries(raw, ScoringEntry, "line")
    if len({name for name, _ in entries}) != len(entries):
        raise BadPack("final_scoring: a line stands there twice")
    return tuple(ScoringLine(e.line, e.fame, e.per, (e.base, e.dark_alley)) for _, e in entries)


def _counted(of: dict[str, int], entry: str) -> tuple[tuple[int, int], ...]:
    """Components and how many, by Component."""
    return tuple(sorted((_number(Component, name, entry), count) for name, count in of.items()))


def _first_games(raw: list[Any]) -> tuple[FirstGame | None, ...]:
    found: list[FirstGame | None] = [None] * len(Category)
    for name, entry in _entries(raw, FirstGameEntry, "category"):
        what = f"first_game {name}"
        found[_number(Category, name, what)] = FirstGame(
            trick=_number(Trick, entry.trick, what),
            components=_counted(entry.components, what),
            specialist=_number(Character, entry.specialist, what),
            manager_components=_counted(entry.manager_components, what),
            engineer_trick=_number(Trick, entry.engineer_trick, what) if entry.engineer_trick else 0,
        )
    if any(game is None for game in found[1:]):
        raise BadPack("first_game: each category has one")
    return tuple(found)


def _magician(entry: MagicianEntry) -> MagicianCard:
    category = _number(Category, entry.category, f"magician {entry.magician}")
    return MagicianCard(entry.name, category, entry.ability, entry.text)


def _trick(entry: TrickEntry, thresholds: Sequence[int]) -> TrickCard:
    what = f"trick {entry.trick}"
    bonus = entry.end_bonus
    if (entry.level == 3) != (bonus is not None):
        raise BadPack(f"{what}: Tricks of level 3, and only those, have an end bonus")
    if bonus is not None and bool(bonus.each) + bool(bonus.tricks) + bool(bonus.team) != 1:
        raise BadPack(f"{what}: its end bonus counts something, or needs Tricks, or needs a team")
    if not entry.components:
        raise BadPack(f"{what}: it needs no Components")
    return TrickCard(
        name=entry.name,
        category=_number(Category, entry.category, what),
        level=entry.level,
        threshold=thresholds[entry.level],
        needs=_counted(entry.components, what),
        ap=entry.ap,
        markers=entry.markers,
        yields=_yield(entry.yields),
        bonus=None
        if bonus is None
        else EndBonus(
            bonus.fame, bonus.each, bonus.per, bonus.tricks, tuple(_number(Character, c, what) for c in bonus.team)
        ),
    )


def _performance(entry: PerformanceEntry) -> Performance:
    what = f"card {entry.card}"
    numbers = {slot: number for number, slot in enumerate(entry.slots)}
    for circle in (*entry.circles, *entry.shards):
        if not set(circle) <= set(numbers):
            raise BadPack(f"{what}: a circle of {' and '.join(circle)}, which are not both slots")
    if not set(entry.shards) <= set(entry.circles):
        raise BadPack(f"{what}: a Shard lies in no circle")
    try:
        place = layout(
            [(int(slot[0]), int(slot[2])) for slot in entry.slots],
            [(numbers[a], numbers[b], (a, b) in entry.shards) for a, b in entry.circles],
        )
    except ValueError as error:
        raise BadPack(f"{what}: {error}") from error
    return Performance(entry.card.upper(), _number(Theater, entry.theater, what), place, _yield(entry.bonus))


def _assignments(raw: list[Any], locations: Mapping[int, LocationEntry]) -> tuple[AssignmentCard, ...]:
    permanent = [AssignmentCard(entry.name, number) for number, entry in locations.items()]
    found: dict[int, AssignmentCard] = {}
    for name, entry in _entries(raw, SpecialEntry, "special"):
        front = _number(Assignment, name, f"special {name}")
        if front < FIRST_SPECIAL:
            raise BadPack(f"special {name}: that is a Permanent card")
        if front in found:
            raise BadPack(f"special {name}: it has two entries")
        found[front] = _special(entry)
    for member in Assignment:
        if member >= FIRST_SPECIAL and member not in found:
            raise BadPack(f"special {member.name.lower()}: it has no entry")
    return (AssignmentCard(), *permanent, *(found[front] for front in sorted(found)))


def _special(entry: SpecialEntry) -> AssignmentCard:
    what = f"special {entry.special}"
    if not entry.effect:
        raise BadPack(f"{what}: it has no effect")
    said: dict[str, Any] = {}
    for word in entry.effect:
        match word:
            case words.MoreMarkers(amount):
                said["more_markers"] = amount
            case words.GainYields():
                said["gain_yields"] = True
            case words.GainFame(each, less):
                said |= {"fame_each": each, "fame_less": less}
            case words.LinkPaymentTimes(times):
                said["payment_times"] = times
            case words.AnyFace():
                said["any_face"] = True
            case words.SaveAp(amount):
                said["save_ap"] = amount
            case words.EnhanceAp(ap):
                said["enhance_ap"] = ap
            case words.Case():
                said["case"] = entry.special
    return AssignmentCard(
        name=entry.name,
        location=_number(Location, entry.location, what),
        text=entry.text,
        action=ANY_ACTION if entry.applies_to == "any" else _number(Action, entry.applies_to, what),
        **said,
    )


def _prophecy(entry: ProphecyEntry) -> ProphecyCard:
    what = f"prophecy {entry.prophecy}"
    if not entry.effect:
        raise BadPack(f"{what}: it has no effect")
    said: dict[str, Any] = {}
    days: dict[int, tuple[int, int]] = {}
    costs: dict[int, int] = {}
    fame = [0] * len(Category)
    for word in entry.effect:
        match word:
            case words.BaseAp("everybody", ap):
                said["base_ap"] = ap
            case words.BaseAp(_, ap):
                said["advertisers_apprentice_ap"] = ap
            case words.OnShards(shards, gained):
                said |= {"shards": shards, "shards_fame": gained}
            case words.OrdersAreStock():
                said["orders_are_stock"] = True
            case words.ActionAp(action, ap):
                costs[_number(Action, action, what)] = ap
            case words.PerformerBonusTimes(times):
                said["bonus_times"] = times
            case words.TakeCoinsTimes(times):
                said["take_coins_times"] = times
            case words.EnhanceAp(ap):
                said["enhance_ap"] = ap
            case words.Placements(most):
                said["placements"] = most
            case words.SetUpFame(category, gained):
                fame[_number(Category, category, what)] = gained
            case words.DayYields(day, gained, coins):
                days[_number(Weekday, day, what)] = (gained, coins)
            case words.CoinYieldsAsFame():
                said["coins_as_fame"] = True
            case words.SlotFee(slot_ap, coins):
                said |= {"fee_slot_ap": slot_ap, "fee": coins}
            case words.PerformersDayForAll():
                said["performers_day"] = True
            case words.RevealOneByOne():
                said["one_by_one"] = True
            case words.ComponentPrice(coins):
                said["component_price"] = coins
            case words.EnhanceInTheater():
                said["enhance_in_theater"] = True
            case words.LowestSlot():
                said["lowest_slot"] = True
    return ProphecyCard(entry.text, action_ap=costs, days=days, set_up_fame=tuple(fame), **said)


def _check_together(content: Content) -> None:
    """What single entries cannot tell."""
    for category in Category:
        for level in (1, 2, 3):
            if category and len(content.tricks_of(category, True, level)) != 4:
                raise BadPack(f"tricks: there are four of level {level} of {category.name.lower()}")
    for dark_alley in (False, True):
        for theater, cards in content.decks[dark_alley]:
            shown = 3 if theater == content.display_theater else 0  # with four players
            if len(content.cards_of(theater)) < cards + shown:
                raise BadPack(f"performance_deck: there are too few cards of theater {theater}")
    for location in Location:
        specials = content.special_deck(location)
        if specials and len(specials) != 10:
            raise BadPack(f"special_cards: a deck has ten cards, not {len(specials)}")
        for front in specials:
            card = content.assignments[front]
            if card.action and content.action_places[card.action] != location:
                raise BadPack(f"special {Assignment(front).name.lower()}: its action is of another Location")
    if len(content.buy_area) != content.order_slots:
        raise BadPack("market: there are as many Order slots as Buy slots")


PACKS: Packs[Content] = Packs(parse)
"""The packs that this process knows."""

PACK_HASH = PACKS.add((Path(__file__).parent / "pack.yaml").read_bytes())
"""The pack of new games."""
