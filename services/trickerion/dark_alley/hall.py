"""What the Dark Alley adds to the hall: `Alley`, which everybody sees, and `AlleyCards` with what is hidden.

Lists without another remark are by seat; ordered places have their top last.
"""

from msgspec import Struct

from guildhall.kernel.cards import Cards, Open

NOBODY = -1
"""No seat."""
QUICK_ORDER = 4
"""The Quick Order slot, counted after the slots of the Buy area."""


class Alley(Struct, array_like=True):
    """The public part; of a game with the Dark Alley."""

    with_prophecies: bool
    active: Open
    """The prophecy that holds in this turn; empty: none."""
    pending: Open
    """Next, second, third."""
    discarded: Open
    """Prophecies that were active, in the order in which they went."""
    used: list[bool]
    """Whether the magician's ability was used in this turn, where it can be used once."""
    placed: list[int]
    """Characters placed in this turn, in order: see `whom`."""
    performing: list[int]
    """The special card whose bonus the Magician on a Performance slot has, or 0."""
    copied: int
    """The opponent's special card that the card of the acting Character works as, or 0."""
    bonus: int
    """The special card whose bonus the acting Character has and has not used up, or 0."""
    armed: bool
    """Whether the next action has that bonus."""
    drew: bool
    """Whether the acting Character has drawn cards in the Dark Alley."""
    told: bool
    """Whether it has told fortunes."""
    drawn_from: list[int]
    """The Location of the deck of each draw that is not decided."""
    to_put_under: list[int]
    """How many cards of each of those draws still go under the deck."""
    enhanced: list[int]
    """Tricks with a Shard on them; one with two stands there twice."""
    performed: list[list[int]]
    """Tricks that each seat has had performed in this game."""
    premiere: list[int]
    """Of the performance that is going on: the Trick and the Resource that it yields twice; empty: none."""
    stolen: list[int]
    """Of the performance that is going on: slot of the own and of the other marker, for each yield stolen."""
    chosen_orders: list[list[int]]
    """Of the performance that is going on: slot of a marker, then its modifiers' positions in the order chosen."""
    durable: list[list[int]]
    """Tricks of each seat one marker of which may return after the Performance phase."""
    shares: list[int]
    """Seats that receive what opponents pay at the Market Row, in the order of their placement."""
    in_stock: list[int]
    """Components that are in stock for this turn only (Logistics)."""
    claimant: int
    """To whom the Quick Order Component comes, or NOBODY."""
    talents: list[int]
    """The Member that may become a Specialist when the Characters return, or 0."""
    performed_card: int = 0
    """The Performance card that is being performed, or 0."""


class AlleyCards(Struct, array_like=True):
    """The hidden part."""

    decks: list[Cards]
    """Special decks by Location (0 is not used)."""
    drawn: list[Cards]
    """The draws that are not decided."""
    pile: Cards
    """Prophecies, facedown."""


def new_alley(seats: int, with_prophecies: bool) -> Alley:
    """The Dark Alley before the set-up."""
    return Alley(
        with_prophecies=with_prophecies,
        active=[],
        pending=[],
        discarded=[],
        used=[False] * seats,
        placed=[],
        performing=[0] * seats,
        copied=0,
        bonus=0,
        armed=False,
        drew=False,
        told=False,
        drawn_from=[],
        to_put_under=[],
        enhanced=[],
        performed=[[] for _ in range(seats)],
        premiere=[],
        stolen=[],
        chosen_orders=[],
        durable=[[] for _ in range(seats)],
        shares=[],
        in_stock=[],
        claimant=NOBODY,
        talents=[0] * seats,
    )


def new_alley_cards() -> AlleyCards:
    """Its cards before the set-up."""
    return AlleyCards(decks=[[] for _ in range(5)], drawn=[], pile=[])


def whom(seat: int, member: int) -> int:
    """A Character of a seat as one number."""
    return seat << 4 | member


def seat_and_member(who: int) -> tuple[int, int]:
    """The inverse of `whom`."""
    return who >> 4, who & 15
