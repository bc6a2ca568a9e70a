"""Arcane Alley in words: names of components and places, and what each item does, for people at a terminal."""

from typing import Final

from guildhall.arcane_alley.v1.structs import Item, Phase, Wizard

NAMES: Final[dict[int, str]] = {
    Item.BOTTLED_FAIRY: "Bottled Fairy",
    Item.BUBBLING_CAULDRON: "Bubbling Cauldron",
    Item.CRYSTAL_BALL: "Crystal Ball",
    Item.CURSED_MIRROR: "Cursed Mirror",
    Item.DARK_LOTUS: "Dark Lotus",
    Item.DRAGONS_EGG: "Dragon's Egg",
    Item.FACSIMILOUS_FELINE: "Facsimilous Feline",
    Item.FLOATING_CARPET: "Floating Carpet",
    Item.HAUNTED_DOLL: "Haunted Doll",
    Item.HYPNOTIC_TOAD: "Hypnotic Toad",
    Item.INVISIBLE_RING: "Invisible Ring",
    Item.MAGIC_BOOMERANG: "Magic Boomerang",
    Item.MYSTICAL_LAMP: "Mystical Lamp",
    Item.OLDER_WAND: "Older Wand",
    Item.PANDORAS_LOCKBOX: "Pandora's Lockbox",
    Item.SACRED_CHALICE: "Sacred Chalice",
    Item.SKELETOMICON: "Skeletomicon",
    Item.SOVEREIGN_SWORD: "Sovereign Sword",
    Item.THREE_HEADED_COIN: "Three-Headed Coin",
    Item.WIZARDS_WATCH: "Wizard's Watch",
}

SHORT: Final[dict[int, str]] = {
    Item.BOTTLED_FAIRY: "Fairy",
    Item.BUBBLING_CAULDRON: "Cauldrn",
    Item.CRYSTAL_BALL: "Ball",
    Item.CURSED_MIRROR: "Mirror",
    Item.DARK_LOTUS: "Lotus",
    Item.DRAGONS_EGG: "Egg",
    Item.FACSIMILOUS_FELINE: "Feline",
    Item.FLOATING_CARPET: "Carpet",
    Item.HAUNTED_DOLL: "Doll",
    Item.HYPNOTIC_TOAD: "Toad",
    Item.INVISIBLE_RING: "Ring",
    Item.MAGIC_BOOMERANG: "Boomrng",
    Item.MYSTICAL_LAMP: "Lamp",
    Item.OLDER_WAND: "Wand",
    Item.PANDORAS_LOCKBOX: "Lockbox",
    Item.SACRED_CHALICE: "Chalice",
    Item.SKELETOMICON: "Skelet.",
    Item.SOVEREIGN_SWORD: "Sword",
    Item.THREE_HEADED_COIN: "Coin",
    Item.WIZARDS_WATCH: "Watch",
}
"""At most seven letters each: the width of a cell when six storehouses share 80 columns."""

EFFECTS: Final[dict[int, str]] = {
    Item.BOTTLED_FAIRY: "Always: you lose 2 infamy when you replace it while it is revealed.",
    Item.BUBBLING_CAULDRON: "When sold: either you lose 3 infamy, or any player you name gains 3.",
    Item.CRYSTAL_BALL: "When played: you gain 1 infamy and peek at one of your hidden items.",
    Item.CURSED_MIRROR: "When played: your revealed items beside it (not diagonally) are turned down.",
    Item.DARK_LOTUS: "When played: you lose 5 gold.",
    Item.DRAGONS_EGG: "When sold: another player you name gains 2 infamy and 15 gold.",
    Item.FACSIMILOUS_FELINE: (
        "Always: revealed in line with two revealed copies of an item, it sells with them as that set."
    ),
    Item.FLOATING_CARPET: "When sold: the top item of the deck joins your stash for the rest of the round.",
    Item.HAUNTED_DOLL: (
        "Always: cannot be replaced while revealed. "
        "When sold: one Doll each goes in place of a hidden item of the other players."
    ),
    Item.HYPNOTIC_TOAD: "When sold: any player you name gains 5 infamy.",
    Item.INVISIBLE_RING: "Always: on top of the discard it sinks to the bottom.",
    Item.MAGIC_BOOMERANG: "Always: when you replace it, even hidden, you play it again in your storehouse.",
    Item.MYSTICAL_LAMP: "Special: gain 5 infamy, turn up three items of the deck, play one of them.",
    Item.OLDER_WAND: "When played: the top item of the discard goes facedown on the deck.",
    Item.PANDORAS_LOCKBOX: (
        "Special: gain 5 infamy, swap one of your hidden items with a revealed item of another player."
    ),
    Item.SACRED_CHALICE: "Special: gain 5 infamy, look at another player's stash, play an item of it.",
    Item.SKELETOMICON: "When played: gain 3 infamy. When sold: everybody else gains 5 infamy.",
    Item.SOVEREIGN_SWORD: "Always: while it is revealed, all gold you gain is halved, rounded down.",
    Item.THREE_HEADED_COIN: "When played: gain 1 gold for each other Coin that lies revealed in any storehouse.",
    Item.WIZARDS_WATCH: "Special: gain 5 infamy, play one of the top five items of the discard.",
}

WIZARDS: Final[dict[int, str]] = {
    Wizard.GLYNNA: "Glynna Goodspell",
    Wizard.MEEBLEMORE: "Master Magus Meeblemore",
    Wizard.CORVUS: "Corvus the Collector",
    Wizard.DAFANA: "Lady Dafana",
    Wizard.NINX: "Ninx of Nethernight",
    Wizard.BYROS: "Byros Bankhouse",
}

SHORT_WIZARDS: Final[dict[int, str]] = {
    Wizard.GLYNNA: "Glynna",
    Wizard.MEEBLEMORE: "Meeblemore",
    Wizard.CORVUS: "Corvus",
    Wizard.DAFANA: "Dafana",
    Wizard.NINX: "Ninx",
    Wizard.BYROS: "Byros",
}

POWERS: Final[dict[int, str]] = {
    Wizard.GLYNNA: "may remove one hidden item, unseen, before the inspection turns up her items",
    Wizard.MEEBLEMORE: "may leave out the “when played” effect of what he plays",
    Wizard.CORVUS: "is dealt a stash of four",
    Wizard.DAFANA: "may spend 3 gold to lose 2 infamy whenever somebody else sells a set",
    Wizard.NINX: "gains gold equal to the infamy of one remaining item at the inspection",
    Wizard.BYROS: "gains 3 more gold for each set sold",
}

PHASES: Final[dict[int, str]] = {
    Phase.UNSPECIFIED: "Setup",
    Phase.STOCK: "Stock",
    Phase.SELL: "Sell",
    Phase.INSPECTION: "Inspection",
    Phase.BRIBE: "Bribe",
}

_ROWS: Final = {1: ("",), 2: ("top", "bottom"), 3: ("top", "middle", "bottom")}
_COLUMNS: Final = {1: ("",), 2: ("left", "right"), 3: ("left", "middle", "right")}


def item_name(item: int) -> str:
    """The item's name; "an item" where the viewer does not know it."""
    return NAMES.get(item, "an item")


def plural(item: int) -> str:
    """Several copies of the item: "Bottled Fairies"."""
    name = item_name(item)
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("ch") else f"{name}s"


def an_item(item: int) -> str:
    """The item with its article; "an item" where the viewer does not know it."""
    name = item_name(item)
    if not item:
        return name
    return f"an {name}" if name[0] in "AEIOU" else f"a {name}"


def place(cell: int, rows: int, columns: int) -> str:
    """Where a cell lies in a storehouse of that shape: "top left", "middle", "bottom right"."""
    if not columns or cell >= rows * columns:
        return f"slot {cell + 1}"
    row, column = _ROWS[rows][cell // columns], _COLUMNS[columns][cell % columns]
    if row == column:
        return row or "only"
    return f"{row} {column}".strip()


def listed(words: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
