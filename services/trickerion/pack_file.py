"""The shape of `pack.yaml`: one Struct for each sort of entry."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from services.trickerion.dark_alley.card_words import ProphecyWord, SpecialWord

Provenance = Literal["seed", "public", "memory", "stand-in"]
Count = Annotated[int, Meta(ge=0, le=100)]
Amount = Annotated[int, Meta(ge=1, le=100)]
Change = Annotated[int, Meta(ge=-3, le=3)]
Text = Annotated[str, Meta(min_length=1, max_length=300)]
Face = int | str
Slot = Annotated[str, Meta(pattern=r"^[01]\.[012]$")]


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the pack's file."""


class ValueEntry(Entry, frozen=True):
    value: Count
    provenance: Provenance


class TurnsEntry(Entry, frozen=True):
    base: Amount
    dark_alley: Amount
    provenance: Provenance


class CoinsEntry(Entry, frozen=True):
    by_initiative_slot: tuple[Amount, Amount, Amount, Amount]
    provenance: Provenance


class WorthEntry(Entry, frozen=True):
    worth: Amount
    provenance: Provenance


class InitiativeEntry(Entry, frozen=True):
    by_players: dict[Annotated[int, Meta(ge=2, le=4)], tuple[Annotated[int, Meta(ge=1, le=4)], ...]]
    provenance: Provenance


class LevelsEntry(Entry, frozen=True):
    by_level: tuple[Amount, Amount, Amount]
    provenance: Provenance


class RemovalEntry(Entry, frozen=True):
    turn: Amount
    provenance: Provenance


class NumbersEntry(Entry, frozen=True):
    turns: TurnsEntry
    starting_fame: ValueEntry
    starting_shards: ValueEntry
    starting_coins: CoinsEntry
    starting_components: WorthEntry
    initiative_slots: InitiativeEntry
    advertise_fame: ValueEntry
    fame_lost_per_unpaid_coin: ValueEntry
    link_bonus: LevelsEntry
    component_limit: ValueEntry
    multi_component_bonus: ValueEntry
    engineer_markers: ValueEntry
    markers_per_symbol: ValueEntry
    fame_per_link: ValueEntry
    cap_per_scoring_line: ValueEntry
    first_removal: RemovalEntry


class SlotsEntry(Entry, frozen=True):
    value: Amount
    extension: Amount
    provenance: Provenance


class BoardEntry(Entry, frozen=True):
    trick_slots: SlotsEntry
    component_slots: SlotsEntry
    apprentice_slots: SlotsEntry


class YieldEntry(Entry, frozen=True):
    fame: Count = 0
    coins: Count = 0
    shards: Count = 0


class ComponentEntry(Entry, frozen=True):
    component: str
    name: Text
    tier: Literal[1, 2, 3]
    price: Amount
    provenance: Provenance


class CharacterEntry(Entry, frozen=True):
    character: str
    name: Text
    ap: Amount
    wage: Count
    discs: Amount
    provenance: Provenance
    bonus: YieldEntry = YieldEntry()
    unlocks: str = ""


class TownSlotEntry(Entry, frozen=True):
    ap: Change
    players: Annotated[int, Meta(ge=2, le=4)]


class DayEntry(Entry, frozen=True):
    day: str
    name: Text
    backstage: Amount
    ap: Change
    fame: Change
    coins: Change


class CardsEntry(Entry, frozen=True):
    base: Count
    dark_alley: Count


class LocationEntry(Entry, frozen=True):
    location: str
    name: Text
    cards: CardsEntry
    enhance: bool
    provenance: Provenance
    slots: tuple[TownSlotEntry, ...] = ()
    days: tuple[DayEntry, ...] = ()


class EditionsEntry(Entry, frozen=True):
    first: Count
    revised_2019: Count


class EditionsProvenance(Entry, frozen=True):
    first: Provenance
    revised_2019: Provenance


class ActionEntry(Entry, frozen=True):
    action: str
    name: Text
    location: str
    ap: Count | EditionsEntry
    provenance: Provenance | EditionsProvenance


class EnhanceEntry(Entry, frozen=True):
    shards: Amount
    ap: Amount
    provenance: Provenance


class BuyEntry(Entry, frozen=True):
    most: Amount
    quick_order_price: Count
    provenance: Provenance


class DieEntry(Entry, frozen=True):
    die: Literal["dahlgaard_a", "dahlgaard_b", "inn_a", "inn_b", "bank_a", "bank_b"]
    name: Text
    group: Literal["dahlgaard", "inn", "bank"]
    faces: tuple[Face, Face, Face, Face, Face, Face]
    provenance: Provenance


class MarketEntry(Entry, frozen=True):
    buy_area: tuple[str, ...]
    order_slots: Amount
    provenance: Provenance


class DeckPartEntry(Entry, frozen=True):
    theater: str
    cards: Amount


class DeckEntry(Entry, frozen=True):
    base: tuple[DeckPartEntry, ...]
    dark_alley: tuple[DeckPartEntry, ...]
    display: str
    provenance: Provenance


class ScoringEntry(Entry, frozen=True):
    line: Literal["shards", "coins", "apprentices", "specialists", "special_assignments_in_hand"]
    fame: Amount
    per: Amount
    base: bool
    dark_alley: bool
    provenance: Provenance


class FirstGameEntry(Entry, frozen=True):
    category: str
    trick: str
    components: dict[str, Amount]
    specialist: str
    provenance: Provenance
    manager_components: dict[str, Amount] = {}
    engineer_trick: str = ""


class MagicianEntry(Entry, frozen=True):
    magician: str
    name: Text
    category: str
    ability: Text
    text: Text
    provenance: Provenance


class EndBonusEntry(Entry, frozen=True):
    fame: Amount
    each: Literal[
        "",
        "own_level_1_tricks",
        "own_level_2_tricks",
        "own_level_3_tricks",
        "specials_in_hand",
        "shards",
        "coins",
        "markers_on_own_tricks",
        "basic_components",
        "advanced_components",
        "superior_components",
        "apprentices",
    ] = ""
    per: Amount = 1
    tricks: Count = 0
    team: tuple[str, ...] = ()


class TrickEntry(Entry, frozen=True):
    trick: str
    name: Text
    category: str
    level: Literal[1, 2, 3]
    components: dict[str, Annotated[int, Meta(ge=1, le=3)]]
    ap: Annotated[int, Meta(ge=1, le=3)]
    markers: Annotated[int, Meta(ge=1, le=4)]
    yields: YieldEntry
    provenance: Provenance
    end_bonus: EndBonusEntry | None = None


class PerformanceEntry(Entry, frozen=True):
    card: str
    theater: str
    slots: tuple[Slot, ...]
    circles: tuple[tuple[Slot, Slot], ...]
    shards: tuple[tuple[Slot, Slot], ...]
    bonus: YieldEntry
    provenance: Provenance


class SpecialEntry(Entry, frozen=True):
    special: str
    name: Text
    location: str
    applies_to: str
    text: Text
    effect: tuple[SpecialWord, ...]
    provenance: Provenance


class TrackEntry(Entry, frozen=True):
    pending: Amount
    provenance: Provenance


class ProphecyEntry(Entry, frozen=True):
    prophecy: str
    text: Text
    effect: tuple[ProphecyWord, ...]
    provenance: Provenance


class PackFile(Entry, frozen=True):
    """The outer shape; entries of lists are checked one by one, so that a fault is named by its entry."""

    format: Literal[1]
    game: Literal["trickerion"]
    numbers: NumbersEntry
    board: BoardEntry
    components: list[Any]
    characters: list[Any]
    locations: list[Any]
    actions: list[Any]
    enhance: EnhanceEntry
    buy: BuyEntry
    dice: list[Any]
    market: MarketEntry
    performance_deck: DeckEntry
    final_scoring: list[Any]
    first_game: list[Any]
    magicians: list[Any]
    thresholds: LevelsEntry
    tricks: list[Any]
    performance_cards: list[Any]
    special_cards: list[Any]
    prophecy_track: TrackEntry
    prophecies: list[Any]
