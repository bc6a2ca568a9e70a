"""The rulings: how this house reads the rulebook where it is ambiguous, each a named choice at creation.

The first value of each is the default. "RES-n" is the ruling's number in RULES.md.
"""

from collections.abc import Mapping

from msgspec import Struct

from guildhall.kernel.rules import Choosable

TRUE, FALSE = "true", "false"


def _ruling(name: str, ref: str, values: tuple[str, ...], text: str) -> Choosable:
    return Choosable(name, values[0], values, text, ref)


RULINGS = (
    _ruling(
        "set_needs_played_or_revealed_card",
        "RES-1",
        (TRUE,),
        "A natural set holds the item just played (Sell) or one just revealed (Inspection); slides, swaps and placed "
        "Dolls make none.",
    ),
    _ruling(
        "feline_is_continuous",
        "RES-2",
        (TRUE, FALSE),
        "A Feline's stack is looked at after every change of a storehouse; false: only with an item just played or "
        "revealed.",
    ),
    _ruling(
        "three_felines_continuous",
        "RES-38",
        (TRUE, FALSE),
        "Three Felines that come to stand in a stack are sold as any Feline's stack is; false: they are a natural set "
        "only.",
    ),
    _ruling(
        "natural_or_feline_first",
        "RES-8",
        ("owner_choice", "natural_first"),
        "Of a natural set and a Feline's at once, the owner chooses which is sold first; or the natural one is.",
    ),
    _ruling(
        "sold_effect_only_on_sellers_turn",
        "RES-4",
        (TRUE,),
        'A "when sold" effect happens only for a set sold on its seller\'s own turn.',
    ),
    _ruling(
        "infamy_lap",
        "RES-9",
        ("25", "24"),
        "Moving above 24 infamy lands on 0, so a lap has 25 points; or on 1, so it has 24.",
    ),
    _ruling(
        "infamy_overflow_at_two_markers",
        "RES-10",
        ("clamp_24", "wrap_without_marker"),
        "With two fine markers infamy stops at 24; or it goes round without a marker.",
    ),
    _ruling(
        "sword_stacks",
        "RES-12",
        (TRUE, FALSE),
        "Each revealed Sovereign Sword halves gained gold, one after the other; false: it is halved once.",
    ),
    _ruling(
        "byros_halved_separately",
        "RES-12",
        (TRUE, FALSE),
        "Byros's 3 gold are a gain of their own; false: they are added to the set's gold before Swords halve it.",
    ),
    _ruling(
        "boomerang_max_replays_per_card_per_turn",
        "RES-15",
        ("1",),
        "A Boomerang that was already played again in this turn is no place for another one to be played again.",
    ),
    _ruling(
        "doll_placement_ignores_boomerang",
        "RES-13",
        (TRUE,),
        "An item that another player's Doll replaces was not replaced by its owner: no Boomerang, no Fairy.",
    ),
    _ruling(
        "reshuffle_when",
        "RES-20",
        ("eager_on_empty_with_2plus_discard", "lazy_on_draw"),
        "An empty deck is rebuilt as soon as the discard has two items; or only when somebody has to take from it.",
    ),
    _ruling(
        "special_sets_sell_for_zero",
        "RES-24",
        (TRUE, FALSE),
        "Three equal special items are a set without gold; false: they are no set.",
    ),
    _ruling(
        "least_infamy_uses_signed_total",
        "RES-26",
        (TRUE, FALSE),
        "Who gained the least is told by totals that may be negative; false: a negative total counts as 0.",
    ),
    _ruling(
        "ninx_applies_when_total_not_positive",
        "RES-27",
        (TRUE, FALSE),
        "Ninx gains gold in every inspection in which an item remains; false: only if her total is positive.",
    ),
    _ruling(
        "dafana_window",
        "RES-28",
        ("after_sold_effect", "before_sold_effect"),
        'Dafana decides after the "when sold" effect of the set; or before it.',
    ),
    _ruling(
        "glynna_timing",
        "RES-40",
        ("own_reveal", "before_first_reveal"),
        "Glynna decides at her own place in the reveal; or before anybody reveals.",
    ),
    _ruling(
        "inspection_order",
        "RES-30",
        ("reveal_all_then_score", "seat_by_seat"),
        "All reveal and sell, then all count; or each player reveals, sells and counts in turn.",
    ),
    _ruling(
        "player_two_is_second_in_current_turn_order",
        "RES-31",
        (TRUE, FALSE),
        "Player 2 of a game of two is the second in the present round; false: the second of the first round.",
    ),
    _ruling(
        "stock_reveal",
        "RES-37",
        ("both_at_once", "one_by_one"),
        "Each player names both items to reveal at once; or sees the first before naming the second.",
    ),
    _ruling(
        "wizard_assignment",
        "RES-36",
        ("pick_in_turn_order", "random", "given"),
        "Wizards are picked in turn order; or dealt at random; or given by the option `wizards`.",
    ),
    _ruling(
        "first_player",
        "RES-36",
        ("random", "given"),
        "The first player is drawn; or given by the option `first_seat`.",
    ),
    _ruling(
        "final_tie_shared",
        "RES-32",
        (TRUE,),
        "Players tied for gold and infamy share their rank.",
    ),
)


class Rulings(Struct, array_like=True, frozen=True):
    """The rulings of one game, as rules ask for them. Those with one value only are not among them."""

    feline_is_continuous: bool
    three_felines_continuous: bool
    natural_first: bool
    infamy_lap: int
    """Points from one passing of 24 infamy to the next."""
    wrap_without_marker: bool
    sword_stacks: bool
    byros_halved_separately: bool
    lazy_rebuild: bool
    special_sets: bool
    signed_least: bool
    ninx_always: bool
    dafana_before_effect: bool
    glynna_first: bool
    seat_by_seat: bool
    second_of_this_round: bool
    reveal_one_by_one: bool
    random_wizards: bool


def read(chosen: Mapping[str, str]) -> Rulings:
    """The rulings of a game's creation; one that is absent there has its default."""
    values = {ruling.name: ruling.default for ruling in RULINGS} | dict(chosen)
    return Rulings(
        feline_is_continuous=values["feline_is_continuous"] == TRUE,
        three_felines_continuous=values["three_felines_continuous"] == TRUE,
        natural_first=values["natural_or_feline_first"] == "natural_first",
        infamy_lap=int(values["infamy_lap"]),
        wrap_without_marker=values["infamy_overflow_at_two_markers"] == "wrap_without_marker",
        sword_stacks=values["sword_stacks"] == TRUE,
        byros_halved_separately=values["byros_halved_separately"] == TRUE,
        lazy_rebuild=values["reshuffle_when"] == "lazy_on_draw",
        special_sets=values["special_sets_sell_for_zero"] == TRUE,
        signed_least=values["least_infamy_uses_signed_total"] == TRUE,
        ninx_always=values["ninx_applies_when_total_not_positive"] == TRUE,
        dafana_before_effect=values["dafana_window"] == "before_sold_effect",
        glynna_first=values["glynna_timing"] == "before_first_reveal",
        seat_by_seat=values["inspection_order"] == "seat_by_seat",
        second_of_this_round=values["player_two_is_second_in_current_turn_order"] == TRUE,
        reveal_one_by_one=values["stock_reveal"] == "one_by_one",
        random_wizards=values["wizard_assignment"] == "random",
    )
