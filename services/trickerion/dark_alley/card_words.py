"""The vocabulary of the Dark Alley's cards: what the special cards and the prophecies of a content pack are made of.

Each word is one Struct; `do` names it in the pack. Words say numbers and plain changes; what a special card does
beyond them is a function under the card's name (`case`).
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Amount = Annotated[int, Meta(ge=1, le=20)]
Change = Annotated[int, Meta(ge=-3, le=3)]


class Word(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do"):
    """One word of a card."""


# --- special cards


class MoreMarkers(Word, frozen=True, tag="more_markers"):
    """The Prepare brings so many Trick markers more, or less."""

    amount: Change


class GainYields(Word, frozen=True, tag="gain_yields"):
    """The printed yields of the Trick are gained at once."""


class GainFame(Word, frozen=True, tag="gain_fame"):
    """1 Fame for each of what is counted, but `less` of it; never below 0 (TR-AD52)."""

    each: Literal["needed_component_above_basic", "coin_on_die", "coin_paid"]
    less: Annotated[int, Meta(ge=0, le=5)]


class LinkPaymentTimes(Word, frozen=True, tag="link_payment_times"):
    """The payments for Links are made so many times, the own Shard too."""

    times: Amount


class AnyFace(Word, frozen=True, tag="any_face"):
    """The die may show anything but X."""


class SaveAp(Word, frozen=True, tag="save_ap"):
    """The action costs so many Action Points less."""

    amount: Amount


class Case(Word, frozen=True, tag="case"):
    """The card has a function of its own."""


class EnhanceAp(Word, frozen=True, tag="enhance_ap"):
    """Enhance gives so many Action Points. A prophecy's word too."""

    ap: Amount


SpecialWord = MoreMarkers | GainYields | GainFame | LinkPaymentTimes | AnyFace | SaveAp | EnhanceAp | Case
"""Words of special cards."""


# --- prophecies


class BaseAp(Word, frozen=True, tag="base_ap"):
    """The Characters meant have so many Action Points of their own."""

    who: Literal["everybody", "apprentices_of_advertisers"]
    ap: Amount


class OnShards(Word, frozen=True, tag="on_shards"):
    """Whoever receives Shards receives this too, once for each receipt."""

    shards: Annotated[int, Meta(ge=0, le=5)] = 0
    fame: Annotated[int, Meta(ge=0, le=5)] = 0


class OrdersAreStock(Word, frozen=True, tag="orders_are_stock"):
    """Components in the Order area can be bought."""


class ActionAp(Word, frozen=True, tag="action_ap"):
    """The action costs so many Action Points."""

    action: str
    ap: Amount


class PerformerBonusTimes(Word, frozen=True, tag="performer_bonus_times"):
    """Performers' bonuses come so many times."""

    times: Amount


class TakeCoinsTimes(Word, frozen=True, tag="take_coins_times"):
    """Take Coins gives so many times the coins of the die."""

    times: Amount


class Placements(Word, frozen=True, tag="placements"):
    """A player may place up to so many Characters in a row."""

    most: Amount


class SetUpFame(Word, frozen=True, tag="set_up_fame"):
    """Setting up a Trick of the category brings Fame."""

    category: str
    fame: Amount


class DayYields(Word, frozen=True, tag="day_yields"):
    """The weekday modifies the yields of each Trick so, in place of what the board says."""

    day: str
    fame: Change
    coins: Change


class CoinYieldsAsFame(Word, frozen=True, tag="coin_yields_as_fame"):
    """Coins that Tricks yield in the Performance phase come as Fame."""


class SlotFee(Word, frozen=True, tag="slot_fee"):
    """Slots of the shared Locations with this modifier cost coins."""

    slot_ap: Amount
    coins: Amount


class PerformersDayForAll(Word, frozen=True, tag="performers_day_for_all"):
    """The performer's weekday modifies the yields of everybody on the card."""


class RevealOneByOne(Word, frozen=True, tag="reveal_one_by_one"):
    """Each assigned card is turned up right before its Character is placed."""


class ComponentPrice(Word, frozen=True, tag="component_price"):
    """Every Component has this price."""

    coins: Amount


class EnhanceInTheater(Word, frozen=True, tag="enhance_in_theater"):
    """Characters in the Theater can be enhanced."""


class LowestSlot(Word, frozen=True, tag="lowest_slot"):
    """Of the free slots one with the lowest modifier has to be taken."""


ProphecyWord = (
    BaseAp
    | OnShards
    | OrdersAreStock
    | ActionAp
    | PerformerBonusTimes
    | TakeCoinsTimes
    | EnhanceAp
    | Placements
    | SetUpFame
    | DayYields
    | CoinYieldsAsFame
    | SlotFee
    | PerformersDayForAll
    | RevealOneByOne
    | ComponentPrice
    | EnhanceInTheater
    | LowestSlot
)
"""Words of prophecies."""
