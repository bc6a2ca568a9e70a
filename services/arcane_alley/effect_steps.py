"""The vocabulary of effects: what the items' and wizards' texts of a content pack are made of.

Each word is one Struct; `do` names it in the pack. "The owner" is the seat that
played, sold or activated the item, or whose storehouse it lies in.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Amount = Annotated[int, Meta(ge=1, le=100)]


class Step(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do"):
    """One step of an effect."""


class GainInfamy(Step, frozen=True, tag="gain_infamy"):
    """The owner, every other player in turn order, or the chosen player gains infamy."""

    who: Literal["self", "others", "chosen"]
    amount: Amount


class LoseGold(Step, frozen=True, tag="lose_gold"):
    """The owner loses gold, as far as there is some."""

    amount: Amount


class GainGold(Step, frozen=True, tag="gain_gold"):
    """The owner or the chosen player gains gold."""

    who: Literal["self", "chosen"]
    amount: Amount


class GainGoldPerRevealed(Step, frozen=True, tag="gain_gold_per_revealed"):
    """The owner gains gold for each revealed copy of an item in all storehouses but the one just played."""

    item: str
    amount: Amount


class Peek(Step, frozen=True, tag="peek"):
    """The owner looks at one hidden item of the own storehouse, if there is one. Ends an effect."""


class HideAdjacent(Step, frozen=True, tag="hide_adjacent"):
    """Every revealed item that shares a side with the one just played is turned down."""


class DiscardTopToDeck(Step, frozen=True, tag="discard_top_to_deck"):
    """The top item of the discard, if there is one, goes facedown on top of the deck."""


class ChoosePlayer(Step, frozen=True, tag="choose_player"):
    """The owner chooses a player for the steps that follow; `by_default` says whom the clock would choose."""

    among: Literal["all", "others"]
    by_default: Literal["least_gold", "most_infamy"]


class LoseOrGiveInfamy(Step, frozen=True, tag="lose_or_give_infamy"):
    """The owner loses infamy, or any player whom the owner chooses gains some. Ends an effect."""

    lose: Amount
    give: Amount


class DrawToStash(Step, frozen=True, tag="draw_to_stash"):
    """Items go from the top of the deck into the owner's stash, as many as there are."""

    count: Amount


class PlaceSoldCopies(Step, frozen=True, tag="place_sold_copies"):
    """The sold copies replace hidden items of the other players, one each. Ends an effect."""


class RevealAndPlay(Step, frozen=True, tag="reveal_and_play"):
    """Items are turned up from the deck; the owner plays one and the others are set aside. Ends an effect."""

    count: Amount


class LookAtStashAndPlay(Step, frozen=True, tag="look_at_stash_and_play"):
    """The owner looks at another player's stash and plays an item of it. Ends an effect."""


class PlayFromDiscard(Step, frozen=True, tag="play_from_discard"):
    """The owner plays one of the top items of the discard. Ends an effect."""

    count: Amount


class SwapItems(Step, frozen=True, tag="swap_items"):
    """The owner swaps an own hidden item with another player's revealed item. Ends an effect."""


class LoseInfamyIfReplaced(Step, frozen=True, tag="lose_infamy_if_replaced"):
    """The owner, when replacing this item while it is revealed, loses infamy."""

    amount: Amount


class PairMakesSet(Step, frozen=True, tag="pair_makes_set"):
    """Revealed in a stack with two revealed copies of an item, it makes a set of that item."""


class CannotBeReplaced(Step, frozen=True, tag="cannot_be_replaced"):
    """While it is revealed, nobody may choose its cell for a play."""


class DiscardTopToBottom(Step, frozen=True, tag="discard_top_to_bottom"):
    """On top of the discard, it moves to the bottom."""


class ReturnIfReplaced(Step, frozen=True, tag="return_if_replaced"):
    """The owner, when replacing this item, revealed or hidden, plays it again."""


class HalveGainedGold(Step, frozen=True, tag="halve_gained_gold"):
    """While it is revealed, all gold that its owner gains is halved, rounded down."""


Played = GainInfamy | LoseGold | GainGoldPerRevealed | Peek | HideAdjacent | DiscardTopToDeck
"""Steps of a "when played" effect."""

Sold = GainInfamy | GainGold | ChoosePlayer | LoseOrGiveInfamy | DrawToStash | PlaceSoldCopies
"""Steps of a "when sold" effect."""

Special = GainInfamy | RevealAndPlay | LookAtStashAndPlay | PlayFromDiscard | SwapItems
"""Steps of a special item."""

Always = (
    LoseInfamyIfReplaced | PairMakesSet | CannotBeReplaced | DiscardTopToBottom | ReturnIfReplaced | HalveGainedGold
)
"""What holds as long as an item's condition does."""

LAST = (Peek, LoseOrGiveInfamy, PlaceSoldCopies, RevealAndPlay, LookAtStashAndPlay, PlayFromDiscard, SwapItems)
"""Steps that may ask somebody, so that nothing of their effect can follow them."""


class Power(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do"):
    """A wizard's power."""


class SetAsideHidden(Power, frozen=True, tag="set_aside_hidden"):
    """Before revealing in an inspection, one own hidden item may be removed unseen."""


class SkipPlayedEffect(Power, frozen=True, tag="skip_played_effect"):
    """The "when played" effect of an item played may be left out, whole."""


class StashSize(Power, frozen=True, tag="stash_size"):
    """So many items are dealt as the stash in Stock."""

    items: Amount


class PayToLoseInfamy(Power, frozen=True, tag="pay_to_lose_infamy"):
    """When another player has sold a set, gold may be spent to lose infamy, once."""

    gold: Amount
    infamy: Amount


class GainGoldByInfamy(Power, frozen=True, tag="gain_gold_by_infamy"):
    """In an inspection, gold is gained by the infamy value of one item left, and lost by a negative one."""


class GainGoldOnSale(Power, frozen=True, tag="gain_gold_on_sale"):
    """Each own set sold brings additional gold."""

    amount: Amount


AnyPower = SetAsideHidden | SkipPlayedEffect | StashSize | PayToLoseInfamy | GainGoldByInfamy | GainGoldOnSale
