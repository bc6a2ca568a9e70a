"""The rulings: how this house reads the rulebook where it is ambiguous, each a named choice at creation.

The first value of each is the default. "TR-An", "TR-ADn" and "TR-Cn" are the rulings' numbers in RULES.md.
"""

from collections.abc import Mapping

from msgspec import Struct

from guildhall.kernel.rules import Choosable

TRUE, FALSE = "true", "false"


def _ruling(name: str, ref: str, values: tuple[str, ...], text: str) -> Choosable:
    return Choosable(name, values[0], values, text, ref)


RULINGS = (
    _ruling(
        "edition",
        "TR-C1",
        ("first", "revised_2019"),
        "First edition: Reroll Die costs 2 action points, moving in the Workshop 3, and markers of a Trick given back "
        "leave the game. Revised: 1, 1, and they go to the supply.",
    ),
    _ruling(
        "link_bonus_by",
        "TR-C4",
        ("placed", "neighbour"),
        "A link pays by the level of the Trick just set up; or of the one it is linked with.",
    ),
    _ruling(
        "order_excludes_buy_area",
        "TR-C5",
        (FALSE, TRUE),
        "A type in the Buy area can be ordered; true: it cannot.",
    ),
    _ruling(
        "modifier_on_absent_yield",
        "TR-A2",
        ("apply", "skip"),
        "A weekday's modifier also acts on a yield of printed 0; or only on what the Trick yields.",
    ),
    _ruling(
        "perform",
        "TR-A4",
        ("may", "must"),
        "A performer may perform nothing; or must, with a marker on display.",
    ),
    _ruling(
        "favorite_without_die",
        "TR-A9",
        ("forbid", "allow"),
        "A Trick of the favorite category needs a die that is not on X; or none where both are.",
    ),
    _ruling(
        "manager_limit",
        "TR-A12",
        ("effective", "physical"),
        "The Manager's bonus counts toward the limit of three; or only tokens do.",
    ),
    _ruling(
        "move_apprentice_who",
        "TR-A17",
        ("any", "at_home"),
        "Any Apprentice may move to the Assistant's slot; or only one that was not placed.",
    ),
    _ruling(
        "free_prepare",
        "TR-A32",
        ("starting_trick", "all_tricks"),
        "Only the starting Trick is prepared free in the set-up; or the Engineer's too.",
    ),
    _ruling(
        "enhance_timing",
        "TR-A36",
        ("during_placement", "on_placing"),
        "A Shard may be paid at any moment of a placement; or before the first action.",
    ),
    _ruling(
        "extension_slots",
        "TR-A43",
        ("free_choice", "normal_first"),
        "What is learnt, bought or hired may go to a slot of a Specialist's; or only if no normal one is free.",
    ),
    _ruling(
        "special_choice",
        "TR-AD1",
        ("at_placement", "at_action"),
        "A special card's bonus or action point is chosen when the Character is placed; or when it acts.",
    ),
    _ruling(
        "draw_keep",
        "TR-AD4",
        ("one_per_pair", "half_per_deck"),
        "Of each pair drawn one card is kept; or any half of the cards of a deck.",
    ),
    _ruling(
        "fortune_telling_limit",
        "TR-AD5",
        ("once_per_placement", "unlimited"),
        "Fortune Telling once a placement; or without limit.",
    ),
    _ruling(
        "fate_weaving_without_active",
        "TR-AD7",
        ("forbid", "allow"),
        "The Priestess needs an active prophecy; or does not.",
    ),
    _ruling(
        "yield_modifier_order",
        "TR-AD10",
        ("best", "ask"),
        "Several modifiers of a yield act in the order that gives most; or their owner chooses the order.",
    ),
    _ruling(
        "shard_event",
        "TR-AD11",
        ("payment", "source"),
        "What counts as one receipt of Shards: a payment; or each source in it.",
    ),
    _ruling(
        "take_coins_doubled",
        "TR-AD14",
        ("chosen_face", "total"),
        "Prophecy 7 doubles the face of the chosen die; or all coins taken.",
    ),
    _ruling(
        "flat_price_quick_order",
        "TR-AD20",
        ("plus_one", "flat"),
        "Under prophecy 21 a Component of the Quick Order slot costs one more; or the same.",
    ),
    _ruling(
        "trick_steal_times",
        "TR-AD26",
        ("once", "each_own_trick"),
        "The Red Lotus steals once a performance; or for each own Trick.",
    ),
    _ruling(
        "orchestral_replaces_link_payment",
        "TR-AD31",
        (TRUE, FALSE),
        "Orchestral Interlude pays instead of link bonuses; false: on top of them.",
    ),
    _ruling(
        "buying_time_coins",
        "TR-AD33",
        ("with_swap", "always"),
        "Buying Time pays coins with a swap; or always.",
    ),
    _ruling(
        "arranged_fiasco",
        "TR-AD35",
        ("yield_modifier", "flat"),
        "Arranged Fiasco changes each yield; or is gained and lost apart from yields.",
    ),
    _ruling(
        "overhaul_theater_markers",
        "TR-AD47",
        ("supply", "move"),
        "Markers of the old Trick on Performance cards go to the supply; or stand for the new Trick.",
    ),
    _ruling(
        "business_share_slot_fee",
        "TR-AD56",
        (TRUE, FALSE),
        "Business Share also receives what prophecy 18 costs at the Market Row; false: it does not.",
    ),
)


class Rulings(Struct, array_like=True, frozen=True):
    """The rulings of one game, as rules ask for them."""

    revised: bool
    bonus_by_neighbour: bool
    order_excludes_buy_area: bool
    skip_absent_yield: bool
    must_perform: bool
    favorite_without_die: bool
    physical_limit: bool
    """The Manager's bonus does not count toward the limit of three."""
    apprentice_at_home: bool
    prepare_all: bool
    enhance_on_placing: bool
    normal_slots_first: bool
    special_at_action: bool
    keep_half: bool
    fortune_unlimited: bool
    weave_without_active: bool
    ask_modifier_order: bool
    shard_sources: bool
    double_total: bool
    flat_quick_order: bool
    steal_each: bool
    orchestral_on_top: bool
    buying_time_always: bool
    fiasco_flat: bool
    overhaul_moves_markers: bool
    share_without_fee: bool


def read(chosen: Mapping[str, str]) -> Rulings:
    """The rulings of a game's creation; one that is absent there has its default."""
    values = {ruling.name: ruling.default for ruling in RULINGS} | dict(chosen)
    other = [values[ruling.name] != ruling.default for ruling in RULINGS]
    return Rulings(*other)
