"""Trickerion in words: names of components and places, and what each of them does, for people at a terminal."""

from typing import Final

from guildhall.trickerion.v1.structs import (
    Assignment,
    Category,
    Character,
    Component,
    Direction,
    Location,
    Magician,
    Member,
    PerformanceCard,
    Slot,
    Symbol,
    Theater,
    Trick,
    Weekday,
)

CATEGORIES: Final[dict[int, str]] = {
    Category.SPIRITUAL: "Spiritual",
    Category.MECHANICAL: "Mechanical",
    Category.OPTICAL: "Optical",
    Category.ESCAPE: "Escape",
}

LETTERS: Final[dict[int, str]] = {
    Category.SPIRITUAL: "S",
    Category.MECHANICAL: "M",
    Category.OPTICAL: "O",
    Category.ESCAPE: "E",
}
"""A category at a marker's corner."""

SYMBOLS: Final[dict[int, str]] = {
    Symbol.SPADES: "♠",
    Symbol.HEARTS: "♥",
    Symbol.DIAMONDS: "♦",
    Symbol.CLUBS: "♣",
}

DIRECTIONS: Final[dict[int, str]] = {
    Direction.UP: "up",
    Direction.RIGHT: "right",
    Direction.DOWN: "down",
    Direction.LEFT: "left",
}

ARROWS: Final[dict[int, str]] = {
    Direction.UP: "↑",
    Direction.RIGHT: "→",
    Direction.DOWN: "↓",
    Direction.LEFT: "←",
}

LOCATIONS: Final[dict[int, str]] = {
    Location.DOWNTOWN: "Downtown",
    Location.MARKET_ROW: "Market Row",
    Location.WORKSHOP: "Workshop",
    Location.THEATER: "Theater",
    Location.DARK_ALLEY: "Dark Alley",
}

WEEKDAYS: Final[dict[int, str]] = {
    Weekday.THURSDAY: "Thursday",
    Weekday.FRIDAY: "Friday",
    Weekday.SATURDAY: "Saturday",
    Weekday.SUNDAY: "Sunday",
}

CHARACTERS: Final[dict[int, str]] = {
    Character.MAGICIAN: "Magician",
    Character.ENGINEER: "Engineer",
    Character.MANAGER: "Manager",
    Character.ASSISTANT: "Assistant",
    Character.APPRENTICE: "Apprentice",
}

MEMBERS: Final[dict[int, str]] = {
    Member.MAGICIAN: "Magician",
    Member.ENGINEER: "Engineer",
    Member.MANAGER: "Manager",
    Member.ASSISTANT: "Assistant",
    Member.FIRST_APPRENTICE: "Apprentice",
    Member.SECOND_APPRENTICE: "second Apprentice",
    Member.THIRD_APPRENTICE: "third Apprentice",
    Member.ASSISTANTS_APPRENTICE: "Assistant's Apprentice",
}

THEATERS: Final[dict[int, str]] = {
    Theater.RIVERSIDE: "Riverside",
    Theater.GRAND_MAGORIAN: "Grand Magorian",
    Theater.MAGNUS_PANTHEON: "Magnus Pantheon",
}

DICE: Final = (
    "the first Dahlgaard die",
    "the second Dahlgaard die",
    "the first Inn die",
    "the second Inn die",
    "the first Bank die",
    "the second Bank die",
)

SPECIALISTS: Final[dict[int, str]] = {
    Character.ENGINEER: "Engineer: a fourth Trick slot, on which Tricks get one marker more; a Shard if you perform",
    Character.MANAGER: "Manager: two slots on which Components count one more; 3 coins if you perform",
    Character.ASSISTANT: "Assistant: a slot for an Apprentice without wage; 2 Fame if you perform",
}
"""What each Specialist brings (TR-008, TR-130)."""

COMPONENTS: Final[dict[int, str]] = {
    Component.WOOD: "Wood",
    Component.GLASS: "Glass",
    Component.METAL: "Metal",
    Component.FABRIC: "Fabric",
    Component.ROPE: "Rope",
    Component.PETROLEUM: "Petroleum",
    Component.SAW: "Saw",
    Component.ANIMAL: "Animal",
    Component.PADLOCK: "Padlock",
    Component.MIRROR: "Mirror",
    Component.DISGUISE: "Disguise",
    Component.COG: "Cog",
}

MAGICIANS: Final[dict[int, str]] = {
    Magician.MASTER_OF_CHAINS: "Master of Chains",
    Magician.GREAT_OPTICO: "The Great Optico",
    Magician.PRIESTESS_OF_MYSTICISM: "Priestess of Mysticism",
    Magician.MECHANIKER: "The Mechaniker",
    Magician.RED_LOTUS: "The Red Lotus",
    Magician.GENTLEMAN: "The Gentleman",
    Magician.YORUBA_SPIRITMASTER: "Yoruba Spiritmaster",
    Magician.ELECTRA: "Electra",
}

ABILITIES: Final[dict[int, str]] = {
    Magician.MASTER_OF_CHAINS: (
        "Breaking Free: before the performances you may reschedule one of your markers, and are paid for its links."
    ),
    Magician.GREAT_OPTICO: (
        "Mimesis: once a turn a Permanent card of yours works as an opponent's special card of that Location "
        "that lies face up."
    ),
    Magician.PRIESTESS_OF_MYSTICISM: (
        "Fate Weaving: for 1 AP in the Dark Alley the active prophecy is replaced by a pending one of your choice."
    ),
    Magician.MECHANIKER: (
        "Mechanical Enhancement: once a turn one of your Apprentices has 1 AP more, but not in the Theater."
    ),
    Magician.RED_LOTUS: (
        "Trick Steal: when you perform you may take the yield of an opponent's Trick there in place of one of yours, "
        "if its Fame threshold is not higher; its owner gets 1 Fame less."
    ),
    Magician.GENTLEMAN: (
        "Magic for the Masses: your Magician at Downtown, Market Row or the Dark Alley brings 1 Fame per Trick you own."
    ),
    Magician.YORUBA_SPIRITMASTER: (
        "Soul Possession: once a turn, for a Shard, you choose the card that an opponent performs."
    ),
    Magician.ELECTRA: (
        "Supercharge: you may set up two markers of a Trick as one; performed it yields 1, 2 or 3 Fame and coins more."
    ),
}
"""In force with the Dark Alley only."""

TRICKS: Final[dict[int, str]] = {
    Trick.MIND_READING: "Mind Reading",
    Trick.BREATH_OF_LIFE: "Breath of Life",
    Trick.SPIRIT_HAND: "Spirit Hand",
    Trick.WINDOW_TO_THE_OTHERWORLD: "Window to the Otherworld",
    Trick.FLOATING_TABLE: "Floating Table",
    Trick.FUTURE_SIGHT: "Future Sight",
    Trick.PEPPERS_GHOST: "Pepper's Ghost",
    Trick.GHOST_TRAP: "Ghost Trap",
    Trick.BALSAMOS_SKULL: "Balsamo's Skull",
    Trick.SEANCE: "Séance",
    Trick.SKELETON_DANCE: "Skeleton Dance",
    Trick.METAMORPHOSIS: "Metamorphosis",
    Trick.LINKING_RINGS: "Linking Rings",
    Trick.LIVING_PIANO: "Living Piano",
    Trick.CHINESE_STICKS: "Chinese Sticks",
    Trick.LEVITATION: "Levitation",
    Trick.MECHANICAL_HORNET: "Mechanical Hornet",
    Trick.SAWING_THE_ASSISTANT_IN_HALF: "Sawing the Assistant in Half",
    Trick.VANISHING_BIRD_CAGE: "Vanishing Bird Cage",
    Trick.BULLET_CATCH: "Bullet Catch",
    Trick.AZTEC_LADY: "Aztec Lady",
    Trick.HORROR_SAWS: "Horror Saws",
    Trick.AUTOMATON: "Automaton",
    Trick.HELLHOUND: "Hellhound",
    Trick.ENCHANTED_BUTTERFLIES: "Enchanted Butterflies",
    Trick.RABBIT_FROM_THE_TOP_HAT: "Rabbit from the Top Hat",
    Trick.PUB_IN_A_BOTTLE: "Pub-In-A-Bottle",
    Trick.CARD_MANIPULATION: "Card Manipulation",
    Trick.SELF_DECAPITATION: "Self Decapitation",
    Trick.PAPER_SHRED: "Paper Shred",
    Trick.SHATTERED_MIRROR: "Shattered Mirror",
    Trick.FISHING_IN_THE_AIR: "Fishing in the Air",
    Trick.MUTILATION: "Mutilation",
    Trick.STAIRS_OF_WATER: "Stairs of Water",
    Trick.BEAST_WITHIN: "Beast Within",
    Trick.VANISHING_ELEPHANT: "Vanishing Elephant",
    Trick.BARRICADED_BARRELS: "Barricaded Barrels",
    Trick.STOCKS_ESCAPE: "Stocks Escape",
    Trick.BURNING_MUMMY: "Burning Mummy",
    Trick.WATER_TANK_ESCAPE: "Water Tank Escape",
    Trick.PRISON_BREAK: "Prison Break",
    Trick.ZIG_ZAG_LADY: "Zig Zag Lady",
    Trick.WALLED: "Walled",
    Trick.WOLF_CAGE: "Wolf Cage",
    Trick.BURIED_ALIVE: "Buried Alive",
    Trick.ASSISTANTS_REVENGE: "Assistant's Revenge",
    Trick.IRON_MAIDEN: "Iron Maiden",
    Trick.TRANSPORTED_MAN: "Transported Man",
}

END_BONUSES: Final[dict[int, str]] = {
    Trick.BALSAMOS_SKULL: "3 Fame per Superior Component",
    Trick.SEANCE: "3 Fame per Apprentice",
    Trick.SKELETON_DANCE: "1 Fame per Basic Component",
    Trick.METAMORPHOSIS: "1 Fame more per 3 coins",
    Trick.AZTEC_LADY: "2 Fame per marker on your Trick cards",
    Trick.HORROR_SAWS: "1 Fame more per Shard",
    Trick.AUTOMATON: "4 Fame per level 2 Trick of yours",
    Trick.HELLHOUND: "2 Fame more per special card in hand",
    Trick.MUTILATION: "12 Fame with all three Specialists",
    Trick.STAIRS_OF_WATER: "2 Fame per Advanced Component",
    Trick.BEAST_WITHIN: "10 Fame with four Tricks",
    Trick.VANISHING_ELEPHANT: "7 Fame with a Manager",
    Trick.BURIED_ALIVE: "7 Fame with an Engineer",
    Trick.ASSISTANTS_REVENGE: "7 Fame with an Assistant",
    Trick.IRON_MAIDEN: "4 Fame per level 1 Trick of yours",
    Trick.TRANSPORTED_MAN: "4 Fame per level 3 Trick of yours, itself included",
}
"""What a level 3 Trick scores at the game's end while its Components are met; at most 20."""

ASSIGNMENTS: Final[dict[int, str]] = {
    Assignment.DOWNTOWN: "Downtown",
    Assignment.MARKET_ROW: "Market Row",
    Assignment.WORKSHOP: "Workshop",
    Assignment.THEATER: "Theater",
    Assignment.DARK_ALLEY: "Dark Alley",
    Assignment.GUEST_PERFORMER: "Guest Performer",
    Assignment.ORCHESTRAL_INTERLUDE: "Orchestral Interlude",
    Assignment.HEADLINER_TRICK: "Headliner Trick",
    Assignment.NEW_TWIST: "New Twist",
    Assignment.BUYING_TIME: "Buying Time",
    Assignment.DURABLE_COMPONENTS: "Durable Components",
    Assignment.ARRANGED_FIASCO: "Arranged Fiasco",
    Assignment.GRAND_PREMIERE: "Grand Premiere",
    Assignment.STREET_PERFORMANCE: "Street Performance",
    Assignment.DIRECTORS_FAVOR: "Director's Favor",
    Assignment.TRICK_TWEAKING: "Trick Tweaking",
    Assignment.TEST_RUN: "Test Run",
    Assignment.REPLACEABLE_PARTS: "Replaceable Parts",
    Assignment.INVENTION: "Invention",
    Assignment.INGENUITY: "Ingenuity",
    Assignment.UNSTABLE_PROTOTYPE: "Unstable Prototype",
    Assignment.ENHANCE_TRICK: "Enhance Trick",
    Assignment.ON_STAGE_PREPARATION: "On-stage Preparation",
    Assignment.HIDDEN_TALENT: "Hidden Talent",
    Assignment.FREELANCER: "Freelancer",
    Assignment.MASS_RECRUITMENT: "Mass Recruitment",
    Assignment.HYPNOTIC_MOTIVATION: "Hypnotic Motivation",
    Assignment.HEADHUNTER: "Headhunter",
    Assignment.TRICK_OVERHAUL: "Trick Overhaul",
    Assignment.THIRST_FOR_KNOWLEDGE: "Thirst for Knowledge",
    Assignment.LEAKED_BLUEPRINTS: "Leaked Blueprints",
    Assignment.INVESTMENTS: "Investments",
    Assignment.FAME_AND_FORTUNE: "Fame and Fortune",
    Assignment.INTEREST: "Interest",
    Assignment.EMPOWER: "Empower",
    Assignment.COMPONENT_SALE: "Component Sale",
    Assignment.SMUGGLED_GOODS: "Smuggled Goods",
    Assignment.BARTER_WITH_POWER: "Barter with Power",
    Assignment.WORKSHOP_EXHIBITION: "Workshop Exhibition",
    Assignment.SHOPLIFTING: "Shoplifting",
    Assignment.LOGISTICS: "Logistics",
    Assignment.TRAVELING_MERCHANTS: "Traveling Merchants",
    Assignment.DUBIOUS_SOURCES: "Dubious Sources",
    Assignment.BUSINESS_SHARE: "Business Share",
    Assignment.WORKSHOP_DELIVERY: "Workshop Delivery",
}

SPECIALS: Final[dict[int, str]] = {
    Assignment.GUEST_PERFORMER: "Set Up: the marker may lie on a full card, outside its slots.",
    Assignment.ORCHESTRAL_INTERLUDE: "Set Up: a link bonus for every marker joined by a circle, matching or not.",
    Assignment.HEADLINER_TRICK: "Set Up: bonus and Shard of the links you make are doubled.",
    Assignment.NEW_TWIST: "Set Up: a second marker of the same symbol may lie on the card.",
    Assignment.BUYING_TIME: "Set Up: afterwards two Performance cards may change places, for 3 coins.",
    Assignment.DURABLE_COMPONENTS: "Perform: after all performances one of your markers returns to its Trick.",
    Assignment.ARRANGED_FIASCO: "Perform: each Trick of yours yields 1 Fame more, each of others 1 less.",
    Assignment.GRAND_PREMIERE: "Perform: a Trick of yours performed for the first time yields one thing twice.",
    Assignment.STREET_PERFORMANCE: "Reschedule: instead the marker leaves its card and pays its Trick's yield.",
    Assignment.DIRECTORS_FAVOR: "Reschedule: you move an opponent's marker.",
    Assignment.TRICK_TWEAKING: "Prepare: one marker more.",
    Assignment.TEST_RUN: "Prepare: one marker less, and the Trick's yield at once.",
    Assignment.REPLACEABLE_PARTS: "Prepare: one marker less, one on another Trick of same or lower threshold.",
    Assignment.INVENTION: "Prepare: 1 Fame per Advanced and Superior Component that the Trick needs.",
    Assignment.INGENUITY: "Prepare: one type of Component may be short; only 1 marker.",
    Assignment.UNSTABLE_PROTOTYPE: "Prepare: give up to 3 needed Components back for a marker, Fame and coins.",
    Assignment.ENHANCE_TRICK: "Prepare: a Shard on the Trick; it yields 1 Fame and 1 coin more for good.",
    Assignment.ON_STAGE_PREPARATION: "Prepare: one of the markers goes onto a Performance card at once.",
    Assignment.HIDDEN_TALENT: "Prepare: the Apprentice who does it may become a Specialist at the end of the turn.",
    Assignment.FREELANCER: "The Character is placed at any other Location instead.",
    Assignment.MASS_RECRUITMENT: "Hire: with an Apprentice a second one for 3 coins.",
    Assignment.HYPNOTIC_MOTIVATION: "Hire: the Character joins at once and may be placed this turn.",
    Assignment.HEADHUNTER: "Hire: any Character for a die that is not X, for 1 AP less.",
    Assignment.TRICK_OVERHAUL: "Learn: a Trick goes back, its markers and symbol pass to the new one.",
    Assignment.THIRST_FOR_KNOWLEDGE: "Learn: any category for a die that is not X, for 1 AP less.",
    Assignment.LEAKED_BLUEPRINTS: "Learn: a Trick up to threshold 16 comes with 1 marker.",
    Assignment.INVESTMENTS: "Take Coins: buy up to three Components with them at once.",
    Assignment.FAME_AND_FORTUNE: "Take Coins: also the die's number less 1 in Fame.",
    Assignment.INTEREST: "Take Coins: the die is rolled again and added, for 1 AP less.",
    Assignment.EMPOWER: "Enhance gives 3 AP.",
    Assignment.COMPONENT_SALE: "Buy: up to 4 Components of any types.",
    Assignment.SMUGGLED_GOODS: "Buy: pay Fame, 1 less than the price, instead of coins.",
    Assignment.BARTER_WITH_POWER: "Buy: a Shard for Components worth up to 4 coins.",
    Assignment.WORKSHOP_EXHIBITION: "Buy: Fame of 1 less than the coins paid.",
    Assignment.SHOPLIFTING: "Buy: one Component is free, and its stock slot gets a Basic one of your choice.",
    Assignment.LOGISTICS: "Order: the Component is stock this turn, and goes back at its end.",
    Assignment.TRAVELING_MERCHANTS: "Order: each Component ordered may be bought at once for 1 coin more.",
    Assignment.DUBIOUS_SOURCES: "Quick Order: the Component comes to your Workshop at the end of the turn.",
    Assignment.BUSINESS_SHARE: "Coins that others spend at the Market Row later this turn are yours.",
    Assignment.WORKSHOP_DELIVERY: "Buy: types you own count as stock, at 1 coin less each.",
}
"""A special card's bonus; it may be given up for 1 AP more."""

PROPHECIES: Final[tuple[str, ...]] = (
    "",
    "every Character has 1 AP of its own",
    "whenever you gain Shards you gain one more",
    "whenever you gain Shards you gain 2 Fame",
    "Components in the Order area can be bought",
    "Draw Further costs 1 AP",
    "performer bonuses are doubled",
    "Take Coins brings double",
    "Enhance gives 2 AP",
    "up to two Characters are placed at a time",
    "2 Fame for setting up an Escape Trick",
    "Friday yields 1 Fame and 1 coin less",
    "Learn Trick costs 1 AP",
    "2 Fame for setting up a Mechanical Trick",
    "coins of performed Tricks come as Fame",
    "Apprentices of whoever advertised have 2 AP",
    "Thursday and Sunday do not change yields",
    "2 Fame for setting up an Optical Trick",
    "+2 slots at Downtown, Market Row and Dark Alley cost 3 coins",
    "the performer's weekday counts for everybody on the card",
    "assignments are shown one by one, when they are placed",
    "every Component costs 2",
    "Saturday yields 1 Fame and 1 coin more",
    "2 Fame for setting up a Spiritual Trick",
    "Take Coins costs 1 AP",
    "Hire costs 1 AP",
    "Enhance works in the Theater",
    "the lowest free modifier must be taken",
)
"""By number from 1, with a blank at 0; the contract's numbers begin at 201."""


def prophecy_text(prophecy: int) -> str:
    """What a prophecy says."""
    return PROPHECIES[prophecy - 200] if prophecy else "none"


def category_of(trick: int) -> int:
    """A Trick's category: twelve of each, in the order of the categories."""
    return (trick - 1) // 12 + 1


def level_of(trick: int) -> int:
    """A Trick's level, 1 to 3: four of each in every category."""
    return (trick - 1) % 12 // 4 + 1


def location_of(assignment: int) -> int:
    """The Location that a card names; 0 where it is not known."""
    if assignment <= Assignment.DARK_ALLEY:
        return assignment
    return (Location.THEATER, Location.WORKSHOP, Location.DOWNTOWN, Location.MARKET_ROW)[(assignment - 6) // 10]


def member_name(member: int) -> str:
    """A Character of a team: "Magician", "second Apprentice"."""
    return MEMBERS[member]


def slot_name(slot: int) -> str:
    """Where a Character slot is, with the word before it: "at Downtown", "backstage on Thursday"."""
    if Slot.THURSDAY_BACKSTAGE_1 <= slot <= Slot.SUNDAY_PERFORMANCE:
        number = slot - Slot.THURSDAY_BACKSTAGE_1
        return f"{'on stage' if number % 3 == 2 else 'backstage'} on {WEEKDAYS[number // 3 + 1]}"
    if slot // 16 == Location.DOWNTOWN:
        return "Downtown"
    return f"{'in' if slot // 16 == Location.WORKSHOP else 'at'} the {LOCATIONS[slot // 16]}"


def face_name(die: int, face: int) -> str:
    """What a die shows."""
    if not face:
        return "X"
    if die < 2:
        return CATEGORIES.get(face, "?")
    return CHARACTERS[face] if die < 4 else str(face)


def card_name(card: int) -> str:
    """A Performance card's short name: "R08"."""
    return PerformanceCard(card).name if card else "a card"


def assignment_name(card: int) -> str:
    """A card with its Location: "Theater", "Guest Performer (Theater)"; "a card" where it is not known."""
    if not card:
        return "a card"
    name = ASSIGNMENTS[card]
    return name if card <= Assignment.DARK_ALLEY else f"{name} ({LOCATIONS[location_of(card)]})"


def amounts(fame: int = 0, coins: int = 0, shards: int = 0) -> str:
    """What is gained or lost: "2 Fame, 1 coin and 1 Shard"; "nothing"."""
    parts = [f"{fame} Fame"] if fame else []
    parts += [counted(coins, "coin")] if coins else []
    parts += [counted(shards, "Shard")] if shards else []
    return listed(parts) or "nothing"


def counted(number: int, thing: str) -> str:
    """ "1 coin", "2 coins"."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def signed(number: int) -> str:
    """ "+1", "+0", "-1"."""
    return f"{number:+d}"


def an(name: str) -> str:
    """A name with its article."""
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def listed(words: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
