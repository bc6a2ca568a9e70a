"""Component data: `pack.yaml` checked and turned into what rules ask for.

A front is the number of an item in the contract's Item; lists of Content are by front, with a blank at 0.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import yaml
from msgspec import Meta, Struct

from guildhall.arcane_alley.v1.structs import Item, Wizard
from guildhall.kernel.packs import BadPack, Packs
from services.arcane_alley.effect_steps import (
    LAST,
    Always,
    AnyPower,
    CannotBeReplaced,
    ChoosePlayer,
    DiscardTopToBottom,
    GainGold,
    GainGoldByInfamy,
    GainGoldOnSale,
    GainGoldPerRevealed,
    GainInfamy,
    HalveGainedGold,
    LoseInfamyIfReplaced,
    PairMakesSet,
    PayToLoseInfamy,
    PlaceSoldCopies,
    Played,
    Power,
    ReturnIfReplaced,
    SetAsideHidden,
    SkipPlayedEffect,
    Sold,
    Special,
    StashSize,
    Step,
)
from services.arcane_alley.hall import FACEUP, Hall

Provenance = Literal["rulebook", "public", "memory", "stand-in"]
Count = Annotated[int, Meta(ge=0, le=200)]
ICON_FROM = 5
"""From so many players on, the copies with the 5-6 player icon are in the game (AA-05 to AA-07)."""


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the pack's file."""


class Copies(Entry, frozen=True):
    base: Count
    five_six: Count
    provenance: Provenance


class ItemEntry(Entry, frozen=True):
    item: str
    name: str
    infamy: Annotated[int, Meta(ge=-24, le=24)]
    copies: Copies
    provenance: Provenance
    gold: Annotated[int, Meta(ge=0, le=100)] | None = None
    played: tuple[Played, ...] = ()
    sold: tuple[Sold, ...] = ()
    special: tuple[Special, ...] = ()
    always: tuple[Always, ...] = ()


class Colour(Entry, frozen=True):
    value: str
    provenance: Provenance


class WizardEntry(Entry, frozen=True):
    wizard: str
    name: str
    power: AnyPower
    colour: Colour
    provenance: Provenance


class Deck(Entry, frozen=True):
    cards: Count
    provenance: Provenance


class PackFile(Entry, frozen=True):
    """The file's outer shape; its entries are checked one by one, so that a fault is named by its entry."""

    format: Literal[1]
    game: Literal["arcane_alley"]
    deck: Deck
    items: list[Any]
    wizards: list[Any]


@dataclass(frozen=True)
class Content:
    """What rules ask the pack for."""

    names: tuple[str, ...]
    gold: tuple[int, ...]
    """What a set brings; 0 for special items."""
    infamy: tuple[int, ...]
    special: frozenset[int]
    played: tuple[tuple[Step, ...], ...]
    sold: tuple[tuple[Step, ...], ...]
    activated: tuple[tuple[Step, ...], ...]
    base: tuple[int, ...]
    """Copies that are in every game."""
    five_six: tuple[int, ...]
    """Copies with the 5-6 player icon."""
    locked: frozenset[int]
    """Cards, as they lie revealed, that cannot be replaced."""
    halving: tuple[int, ...]
    """Cards, as they lie revealed, that halve what their owner gains."""
    pairing: frozenset[int]
    """Items that make a set with a pair."""
    felines: frozenset[int]
    """The same as cards, as they lie revealed."""
    returning: frozenset[int]
    """Items that are played again when replaced."""
    sinking: frozenset[int]
    """Items that go to the bottom of the discard."""
    lost_if_replaced: tuple[int, ...]
    """Infamy that the owner loses when replacing the revealed item."""
    wizard_names: tuple[str, ...]
    """By the contract's Wizard, with a blank at 0."""
    colours: tuple[str, ...]
    """By the contract's Wizard, with a blank at 0."""
    corvus: StashSize
    dafana: PayToLoseInfamy
    byros: GainGoldOnSale

    def deck(self, players: int) -> list[int]:
        """The fronts of all items of a game, sorted."""
        fronts: list[int] = []
        for front, base in enumerate(self.base):
            fronts += [front] * (base + self.five_six[front] * (players >= ICON_FROM))
        return fronts


T = TypeVar("T")

_POWERS: dict[Wizard, type[Power]] = {
    Wizard.GLYNNA: SetAsideHidden,
    Wizard.MEEBLEMORE: SkipPlayedEffect,
    Wizard.CORVUS: StashSize,
    Wizard.DAFANA: PayToLoseInfamy,
    Wizard.NINX: GainGoldByInfamy,
    Wizard.BYROS: GainGoldOnSale,
}
"""The kind of power that rules look for with each wizard; its numbers are the pack's."""


def parse(data: bytes) -> Content:
    """The content of a pack's bytes. Raises BadPack, which names the entry and what is wrong with it."""
    try:
        raw = yaml.safe_load(data)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadPack(f"the pack is no YAML: {error}") from error
    file = _convert(raw, PackFile, "the pack")
    items = _by_number(file.items, ItemEntry, Item, "item")
    wizards = _by_number(file.wizards, WizardEntry, Wizard, "wizard")
    for front, item in items.items():
        _check_item(Item(front), item)
    for number, wizard in wizards.items():
        if type(wizard.power) is not _POWERS[Wizard(number)]:
            raise BadPack(f"wizard {wizard.wizard}: its power is another one")
    cards = sum(item.copies.base + item.copies.five_six for item in items.values())
    if cards != file.deck.cards:
        raise BadPack(f"deck: {file.deck.cards} cards are announced, but the items' copies are {cards}")
    fronts = range(1, len(items) + 1)
    return Content(
        names=("", *(items[f].name for f in fronts)),
        gold=(0, *(items[f].gold or 0 for f in fronts)),
        infamy=(0, *(items[f].infamy for f in fronts)),
        special=frozenset(f for f in fronts if items[f].special),
        played=((), *(items[f].played for f in fronts)),
        sold=((), *(items[f].sold for f in fronts)),
        activated=((), *(items[f].special for f in fronts)),
        base=(0, *(items[f].copies.base for f in fronts)),
        five_six=(0, *(items[f].copies.five_six for f in fronts)),
        locked=frozenset(f | FACEUP for f in _with(items, CannotBeReplaced)),
        halving=tuple(f | FACEUP for f in sorted(_with(items, HalveGainedGold))),
        pairing=_with(items, PairMakesSet),
        felines=frozenset(f | FACEUP for f in _with(items, PairMakesSet)),
        returning=_with(items, ReturnIfReplaced),
        sinking=_with(items, DiscardTopToBottom),
        lost_if_replaced=(
            0,
            *(sum(s.amount for s in items[f].always if isinstance(s, LoseInfamyIfReplaced)) for f in fronts),
        ),
        wizard_names=("", *(wizards[w].name for w in range(1, len(wizards) + 1))),
        colours=("", *(wizards[w].colour.value for w in range(1, len(wizards) + 1))),
        corvus=_power(wizards[Wizard.CORVUS], StashSize),
        dafana=_power(wizards[Wizard.DAFANA], PayToLoseInfamy),
        byros=_power(wizards[Wizard.BYROS], GainGoldOnSale),
    )


def _convert(raw: Any, shape: type[T], entry: str) -> T:
    try:
        return msgspec.convert(raw, shape)
    except msgspec.ValidationError as error:
        raise BadPack(f"{entry}: {error}") from error


E = TypeVar("E", ItemEntry, WizardEntry)


def _by_number(raw: list[Any], shape: type[E], numbers: type[Item] | type[Wizard], what: str) -> dict[int, E]:
    """Entries by their number in the contract. Each member must have one entry."""
    members = {member.name.lower(): int(member) for member in numbers if member}
    entries: dict[int, E] = {}
    for index, value in enumerate(raw):
        name = value.get(what) if isinstance(value, dict) else None
        entry = _convert(value, shape, f"{what} {name if isinstance(name, str) else f'number {index + 1}'}")
        if name not in members:
            raise BadPack(f"{what} {name}: there is none of this name")
        if members[name] in entries:
            raise BadPack(f"{what} {name}: it has two entries")
        entries[members[name]] = entry
    for name, number in members.items():
        if number not in entries:
            raise BadPack(f"{what} {name}: it has no entry")
    return entries


def _check_item(item: Item, entry: ItemEntry) -> None:
    """What the shapes cannot tell."""
    name = f"item {entry.item}"
    if bool(entry.special) == (entry.gold is not None):
        raise BadPack(f"{name}: an item is either special or has the gold of its set")
    if not (entry.played or entry.sold or entry.special or entry.always):
        raise BadPack(f"{name}: it has no effect")
    for steps in (entry.played, entry.sold, entry.special):
        chosen = False
        for index, step in enumerate(steps):
            if isinstance(step, LAST) and index + 1 < len(steps):
                raise BadPack(f"{name}: a step stands after one that ends the effect")
            if isinstance(step, GainInfamy | GainGold) and step.who == "chosen" and not chosen:
                raise BadPack(f"{name}: no player was chosen for {step}")
            if isinstance(step, GainGoldPerRevealed) and step.item != item.name.lower():
                raise BadPack(f"{name}: it counts copies of another item")
            if isinstance(step, PlaceSoldCopies) and item != Item.HAUNTED_DOLL:
                raise BadPack(f"{name}: only sold Haunted Dolls can be placed")
            chosen = chosen or isinstance(step, ChoosePlayer)


def _with(items: dict[int, ItemEntry], word: type[Step]) -> frozenset[int]:
    """The fronts of the items that have this always-active effect."""
    return frozenset(front for front, item in items.items() if any(type(step) is word for step in item.always))


P = TypeVar("P", bound=Power)


def _power(wizard: WizardEntry, kind: type[P]) -> P:
    assert isinstance(wizard.power, kind)
    return wizard.power


PACKS: Packs[Content] = Packs(parse)
"""The packs that this process knows."""

PACK_HASH = PACKS.add((Path(__file__).parent / "pack.yaml").read_bytes())
"""The pack of new games."""


def content_of(hall: Hall) -> Content:
    """The content of a hall's pack. Raises KeyError where this process does not know it."""
    return PACKS[hall.pack]
