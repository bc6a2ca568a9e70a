"""Component data: what rules ask a pack for (`packs` reads it).

Everything is found by its number in the contract (component.proto). Tuples have a blank at 0; Performance cards and
prophecies, whose numbers begin higher, are in dicts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from guildhall.trickerion.v1.structs import Category
from services.trickerion.links import Layout

FIRST, REVISED_2019 = 0, 1
"""Editions, as indices of what they differ in."""
X = 0
"""The face of a die that offers no action."""
ANY_CATEGORY = 5
"""The question mark of the Dahlgaard dice."""
DICE: Final = {"dahlgaard": (0, 1), "inn": (2, 3), "bank": (4, 5)}
"""The dice of each group."""
FIRST_SPECIAL = 6
"""Assignment cards from this number on are special cards; those below are the Permanent card of each Location."""


class Action(IntEnum):
    """What a Character can do for Action Points, in the order of the pack."""

    LEARN_TRICK = 1
    HIRE = 2
    TAKE_COINS = 3
    REROLL_DIE = 4
    SET_DIE = 5
    BUY = 6
    BARGAIN = 7
    ORDER = 8
    QUICK_ORDER = 9
    PREPARE = 10
    MOVE_TRICKS = 11
    MOVE_COMPONENTS = 12
    MOVE_APPRENTICES = 13
    SET_UP = 14
    RESCHEDULE = 15
    PERFORM = 16
    DRAW_FIRST_CARD = 17
    DRAW_FURTHER_CARDS = 18
    FORTUNE_TELLING = 19
    FATE_WEAVING = 20


ANY_ACTION = 0
"""The "?" frame of a special card."""


@dataclass(frozen=True, slots=True)
class Yield:
    """Fame, coins and Shards together."""

    fame: int = 0
    coins: int = 0
    shards: int = 0


@dataclass(frozen=True, slots=True)
class ComponentType:
    name: str = ""
    tier: int = 0
    """1 Basic, 2 Advanced, 3 Superior."""
    price: int = 0


@dataclass(frozen=True, slots=True)
class CharacterKind:
    name: str = ""
    ap: int = 0
    wage: int = 0
    discs: int = 0
    bonus: Yield = Yield()
    """What one in the Theater brings its performer (TR-130)."""
    unlocks: int = 0
    """The Workshop action that needs this Specialist; 0: none."""


@dataclass(frozen=True, slots=True)
class TownSlot:
    """A Character slot of a Location but the Theater."""

    ap: int
    players: int
    """Open from so many players on."""


@dataclass(frozen=True, slots=True)
class Place:
    """A Location."""

    name: str = ""
    slots: tuple[TownSlot, ...] = ()
    """Empty for the Theater."""
    cards: tuple[int, int] = (0, 0)
    """Permanent cards of it in a hand: without and with the Dark Alley."""
    enhance: bool = False

    def open_slots(self, players: int) -> list[int]:
        """The numbers, from 1, of the slots that are open with so many players (TR-017)."""
        return [number for number, slot in enumerate(self.slots, 1) if players >= slot.players]


@dataclass(frozen=True, slots=True)
class Day:
    """A weekday of the Theater."""

    name: str = ""
    backstage: int = 0
    ap: int = 0
    """Modifier of its backstage slots."""
    fame: int = 0
    """What its Characters' owner gains more, or less, for each performed Trick."""
    coins: int = 0


@dataclass(frozen=True, slots=True)
class Die:
    name: str
    group: str
    faces: tuple[int, ...]
    """Six; equal ones are as often there. Dahlgaard: Category or ANY_CATEGORY; Inn: Character; Bank: coins; X."""
    results: tuple[int, ...]
    """The different faces, sorted."""


@dataclass(frozen=True, slots=True)
class EndBonus:
    """What a level 3 Trick scores at the end if its Components are there (TR-D26, TR-D35 to TR-D50)."""

    fame: int
    each: str = ""
    """What is counted; empty: the Fame comes once."""
    per: int = 1
    tricks: int = 0
    """Own Tricks that are needed."""
    team: tuple[int, ...] = ()
    """Characters that are needed."""


@dataclass(frozen=True, slots=True)
class TrickCard:
    name: str = ""
    category: int = 0
    level: int = 0
    threshold: int = 0
    """Fame Threshold."""
    needs: tuple[tuple[int, int], ...] = ()
    """(Component, how many), by Component."""
    ap: int = 0
    """Of Prepare."""
    markers: int = 0
    yields: Yield = Yield()
    bonus: EndBonus | None = None
    """Of level 3 Tricks only."""


@dataclass(frozen=True, slots=True)
class Performance:
    name: str
    theater: int
    layout: Layout
    bonus: Yield
    """The performer's."""


@dataclass(frozen=True, slots=True)
class MagicianCard:
    name: str = ""
    category: int = 0
    ability: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class AssignmentCard:
    """A Permanent or a special Assignment card; what a word of its effect does not say is neutral."""

    name: str = ""
    location: int = 0
    text: str = ""
    action: int = ANY_ACTION
    """The Action in its frame; ANY_ACTION: a "?"."""
    more_markers: int = 0
    gain_yields: bool = False
    fame_each: str = ""
    fame_less: int = 0
    payment_times: int = 1
    any_face: bool = False
    save_ap: int = 0
    enhance_ap: int = 0
    """0: as without the card."""
    case: str = ""
    """The name of its own function, where it has one."""


@dataclass(frozen=True, slots=True)
class ProphecyCard:
    """A prophecy; what its words do not say is neutral."""

    text: str = ""
    base_ap: int = 0
    """0: each Character's own."""
    advertisers_apprentice_ap: int = 0
    """0: the Apprentice's own."""
    shards: int = 0
    """More at each receipt of Shards."""
    shards_fame: int = 0
    """At each receipt of Shards."""
    orders_are_stock: bool = False
    action_ap: Mapping[int, int] = field(default_factory=dict)
    """By Action."""
    bonus_times: int = 1
    take_coins_times: int = 1
    enhance_ap: int = 0
    """0: as without the prophecy."""
    placements: int = 1
    set_up_fame: tuple[int, ...] = (0,) * len(Category)
    """By Category."""
    days: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """(Fame, coins) by Weekday, in place of the board's."""
    coins_as_fame: bool = False
    fee_slot_ap: int = 0
    """Shared slots with this modifier cost `fee`; 0: none."""
    fee: int = 0
    performers_day: bool = False
    one_by_one: bool = False
    component_price: int = 0
    """0: each Component's own."""
    enhance_in_theater: bool = False
    lowest_slot: bool = False


@dataclass(frozen=True, slots=True)
class ScoringLine:
    """`fame` for every `per` of what `line` counts, rounded down."""

    line: str
    fame: int
    per: int
    editions: tuple[bool, bool]
    """Whether it counts without and with the Dark Alley."""


@dataclass(frozen=True, slots=True)
class FirstGame:
    """The rulebook's set for a first game (TR-029)."""

    trick: int
    components: tuple[tuple[int, int], ...]
    specialist: int
    manager_components: tuple[tuple[int, int], ...]
    engineer_trick: int


@dataclass(frozen=True, slots=True)
class Board:
    """Slots of a kind on a player's board, and on the Specialist's extension."""

    slots: int
    extension: int


@dataclass(frozen=True, slots=True)
class Content:
    """What rules ask the pack for."""

    turns: tuple[int, int]
    """Without and with the Dark Alley."""
    starting_fame: int
    starting_shards: int
    starting_coins: tuple[int, ...]
    """By initiative slot, with a blank at 0."""
    starting_components: int
    """Coins' worth."""
    initiative_slots: Mapping[int, tuple[int, ...]]
    """The printed slots that are used, by number of players."""
    advertise_fame: int
    unpaid_fame: int
    """Fame lost for each coin of wages that is not paid."""
    link_bonus: tuple[int, ...]
    """By level, with a blank at 0."""
    component_limit: int
    multi_bonus: int
    engineer_markers: int
    markers_per_symbol: int
    fame_per_link: int
    scoring_cap: int
    first_removal: int
    """The turn at whose end Performance cards begin to leave."""
    trick_board: Board
    component_board: Board
    apprentice_board: Board
    components: tuple[ComponentType, ...]
    characters: tuple[CharacterKind, ...]
    places: tuple[Place, ...]
    """By Location."""
    days: tuple[Day, ...]
    """By Weekday."""
    action_names: tuple[str, ...]
    action_places: tuple[int, ...]
    """The Location of each Action."""
    action_ap: tuple[tuple[int, ...], tuple[int, ...]]
    """By edition (FIRST, REVISED_2019) and Action; 0 for Prepare, whose cost is the Trick's."""
    enhance_shards: int
    enhance_ap: int
    buy_most: int
    quick_order_price: int
    dice: tuple[Die, ...]
    """From 0."""
    buy_area: tuple[int, ...]
    order_slots: int
    decks: tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]
    """(Theater, cards) of the Performance deck from its top, without and with the Dark Alley."""
    display_theater: int
    scoring: tuple[ScoringLine, ...]
    first_games: tuple[FirstGame | None, ...]
    """By Category."""
    magicians: tuple[MagicianCard, ...]
    thresholds: tuple[int, ...]
    """By level, with a blank at 0."""
    tricks: tuple[TrickCard, ...]
    performances: Mapping[int, Performance]
    assignments: tuple[AssignmentCard, ...]
    """Permanent and special cards."""
    pending_prophecies: int
    prophecies: Mapping[int, ProphecyCard]
    """With a neutral one at 0, for turns without an active prophecy."""

    def tricks_of(self, category: int, dark_alley: bool, level: int = 0) -> list[int]:
        """The Tricks of a category that are in the game (TR-012, TR-D02), of one level or (0) of all."""
        return [
            number
            for number, trick in enumerate(self.tricks)
            if trick.category == category and (dark_alley or trick.level < 3) and level in (0, trick.level)
        ]

    def cards_of(self, theater: int) -> list[int]:
        """The Performance cards of a theater."""
        return [front for front, card in self.performances.items() if card.theater == theater]

    def hand(self, dark_alley: bool) -> list[int]:
        """The Permanent cards of a hand, sorted (TR-021, TR-D05)."""
        return [location for location, place in enumerate(self.places) for _ in range(place.cards[dark_alley])]

    def special_deck(self, location: int) -> list[int]:
        """The special cards of a Location (TR-D04)."""
        cards = enumerate(self.assignments[FIRST_SPECIAL:], FIRST_SPECIAL)
        return [front for front, card in cards if card.location == location]
