"""What an extension may change: named points in the base game's flow, each with what the base game does there.

`of(hall)` answers with the hooks of a hall's game. `extend` is called once, by `rules.py`; nothing here knows the
extension.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import CardsAssigned, DarkAlleyView
from services.trickerion.content import Content, Yield
from services.trickerion.hall import Hall, trick_of

if TYPE_CHECKING:
    from services.trickerion.asking import HallTable


class Change(NamedTuple):
    """What changes the yield of a Trick: Fame and coins that are added, then by what the sum is multiplied."""

    fame: int
    coins: int
    fame_times: int = 1
    coins_times: int = 1
    source: int = 0
    """What makes it: a ModifierSource."""


class Hooks:
    """The base game's answers."""

    # --- set-up

    def magicians(self, hall: Hall, content: Content) -> list[int]:
        """The magicians that are in the game."""
        return list(range(1, len(content.magicians)))

    def table_laid(self, table: "HallTable") -> None:
        """The table was laid; nobody has chosen yet."""

    def set_up_done(self, table: "HallTable") -> None:
        """Everybody has chosen, initiative and coins are there."""

    # --- Assignment and Place Characters

    def cards_assigned(self, table: "HallTable", seat: int, members: tuple[int, ...], cards: tuple[int, ...]) -> None:
        """A seat has put these cards under these members, and all have done so: the cards are turned up (TR-046)."""
        table.emit(CardsAssigned(seat, members, cards))

    def base_ap(self, hall: Hall, seat: int, member: int, ap: int) -> int:
        """Base action points of a Character; `ap` is printed (TR-052)."""
        return ap

    def place_slots(self, hall: Hall, seat: int, member: int, slots: list[int]) -> list[int]:
        """The slots where a member may be placed; `slots` are those of its Location that are free and allowed."""
        return slots

    def why_not_slot(self, hall: Hall, seat: int, slot: int) -> Refusal | None:
        """Why a free slot cannot be taken; None: nothing beside the base game's rules forbids it."""
        return None

    def before_placing(self, table: "HallTable", seat: int, member: int, slot: int) -> None:
        """A Character is about to be placed."""

    def placed(self, table: "HallTable", seat: int, member: int) -> Sequence[Frame]:
        """A Character was placed; what is asked before it acts."""
        return ()

    def locations(self, hall: Hall, seat: int, member: int, location: int) -> Sequence[int]:
        """The Locations where a member may be placed; `location` is its card's (TR-048)."""
        return (location,)

    def after_placement(self, seat: int, placed: int) -> Sequence[Frame]:
        """What follows when a seat has placed so many Characters in its turn (TR-047)."""
        return ()

    def turn_goes_on(self, hall: Hall, placed: int) -> bool:
        """Whether a seat that has placed so many Characters may place or idle another one in the same turn."""
        return False

    # --- actions

    def action_costs(self, hall: Hall, content: Content) -> Sequence[int]:
        """What each action costs: action points by Action."""
        return content.action_ap[hall.rulings.revised]

    def may_enhance(self, hall: Hall, content: Content, location: int) -> bool:
        """Whether Characters can be enhanced at a Location (TR-054)."""
        return content.places[location].enhance

    def enhance_ap(self, hall: Hall, content: Content) -> int:
        """What Enhance brings."""
        return content.enhance_ap

    def act_asked(self, hall: Hall, seat: int, first: bool) -> bool:
        """Whether a Character without action points may still do something free."""
        return False

    def act_options(self, hall: Hall, content: Content, seat: int, options: list[Any], first: bool) -> list[Any]:
        """What a Character that acts may do; `options` is the base game's listing, `first`: it has done nothing yet."""
        return options

    def is_no_action(self, command: Any) -> bool:
        """Whether a command of the extension leaves a Character before its first action (TR-A36)."""
        return False

    def act(self, table: "HallTable", seat: int, command: Any) -> Sequence[Frame] | None:
        """Carry out a command of a Character that acts; None: the base game does it."""
        return None

    def why_not_act(self, hall: Hall, content: Content, seat: int, command: Any) -> Refusal | None:
        """Why a command is not listed for a Character that acts; None: the base game says it."""
        return None

    # --- Downtown

    def coins_of(self, hall: Hall, coins: int) -> int:
        """What Take Coins brings; `coins` is the face (TR-070)."""
        return coins

    # --- Market Row

    def stock(self, hall: Hall) -> Sequence[int]:
        """Components that can be bought beside the Buy area and the Quick Order slot."""
        return ()

    def price(self, hall: Hall, content: Content, component: int) -> int:
        """The price of one Component."""
        return content.components[component].price

    def quick_price(self, hall: Hall, content: Content, price: int) -> int:
        """The price of one Component from the Quick Order slot; `price` is what it costs from the Buy area (TR-088)."""
        return price + content.quick_order_price

    def market_paid(self, table: "HallTable", seat: int, coins: int) -> None:
        """A seat paid coins at the Market Row."""

    # --- Shards

    def shards_gained(self, table: "HallTable", seat: int) -> None:
        """A seat has received Shards."""

    # --- Theater

    def trick_set_up(self, table: "HallTable", seat: int, trick: int) -> None:
        """A seat has set up a Trick; its links are not made yet."""

    def link_bonuses(
        self, hall: Hall, content: Content, card: int, slot: int, linked: Sequence[int], bonuses: Sequence[int]
    ) -> Sequence[int]:
        """What the marker just set up in a slot is paid for: an amount each; `bonuses` is what each link brings.

        `linked` are the slots of the markers with which it is linked.
        """
        return bonuses

    def link_shards(self, hall: Hall, content: Content) -> int:
        """How many Shards a link in a Shard circle brings the seat that made it (TR-113)."""
        return 1

    # --- Performance

    def before_performances(self, hall: Hall) -> Sequence[Frame]:
        """What comes before Thursday."""
        return ()

    def instead_of_choosing(self, hall: Hall, performer: int) -> Sequence[Frame]:
        """What comes in place of a performer's choice of a card; nothing: it is asked (TR-121)."""
        return ()

    def before_yields(self, hall: Hall, performer: int, card: int) -> Sequence[Frame]:
        """What is asked after a performer's card is known, before yields are paid."""
        return ()

    def trick_yield(self, hall: Hall, content: Content, markers: Sequence[int], slot: int) -> Yield:
        """The own yield of the Trick in a slot of the performed card, before modifiers."""
        return content.tricks[trick_of(markers[slot])].yields

    def yield_day(self, hall: Hall, owner: int, performer: int, day: int) -> int:
        """The weekday whose modifier an owner's Tricks have; `day` is by the rules (TR-124 to TR-127)."""
        return day

    def day_modifier(self, hall: Hall, content: Content, day: int) -> tuple[int, int]:
        """(Fame, coins) by which a weekday changes each Trick's yield."""
        return content.days[day].fame, content.days[day].coins

    def modifiers(
        self, hall: Hall, content: Content, performer: int, markers: Sequence[int], slot: int, day: Change
    ) -> Iterable[Sequence[Change]]:
        """The orders in which all that changes the yield of the Trick in a slot may act; `day` is the weekday's.

        That one counts which gives most, for Fame and coins by themselves.
        """
        return ((day,),)

    def final_yield(
        self, hall: Hall, content: Content, markers: Sequence[int], slot: int, performer: int, modified: Yield
    ) -> Yield:
        """What the owner receives of the Trick in a slot."""
        return modified

    def performer_bonus(self, hall: Hall, content: Content, bonus: Yield) -> Yield:
        """What a performer receives of one bonus."""
        return bonus

    def card_performed(self, table: "HallTable", performer: int, card: int) -> None:
        """Yields and bonuses of a card are paid; its markers still lie on it."""

    def after_performances(self, hall: Hall) -> Sequence[Frame]:
        """What comes after Sunday."""
        return ()

    # --- End Turn

    def characters_returned(self, hall: Hall) -> Sequence[Frame]:
        """What comes when the Characters are home, before the hired ones join (TR-139)."""
        return ()

    def before_orders(self, table: "HallTable") -> None:
        """Ordered Components are about to arrive (TR-140)."""

    def turn_ended(self, table: "HallTable") -> None:
        """Posters are back and the turn counter has advanced; what else ends with the turn."""

    # --- the view

    def view(self, hall: Hall) -> DarkAlleyView | None:
        """The extension's part of a view of a blind hall."""
        return None

    # --- final scoring

    def final_fame(
        self, hall: Hall, content: Content, seat: int, lines: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """(Cause, Fame) of each line of a seat's final scoring; `lines` are the pack's, each within the limit."""
        return lines


_ALL = [Hooks(), Hooks()]


def extend(hooks: Hooks) -> None:
    """Let these hooks hold for games with the Dark Alley."""
    _ALL[True] = hooks


def of(hall: Hall) -> Hooks:
    """The hooks of this hall's game."""
    return _ALL[hall.dark_alley]
