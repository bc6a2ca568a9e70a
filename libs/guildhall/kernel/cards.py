"""Cards: small ints in lists, each telling its front and who knows it.

A *place* (a deck, a hand, a grid) is a list of cards. There are no card ids, so
none can leak: a card is named by where it lies. Layout of a card:

    bits 0-7    front, 1 to 255; 0 only on a blind hall: unknown to that viewer
    bits 8-14   known by seat 0 to 6
    bit  15     known by everyone, spectators included; then bits 8-14 are set too
    bits 16-    flags of the game, for example "lies face up"; always public

Design section 2, "Hidden information is safe by construction".
"""

from bisect import insort
from collections.abc import Callable
from typing import Annotated, Final

Card = int
"""One card; see the module's docstring for its bits."""

Cards = Annotated[list[int], "cards"]
"""An ordered place: blinded card by card."""

Hand = Annotated[list[int], "hand"]
"""A place without order, kept sorted: blinded and sorted again."""

Open = Annotated[list[int], "open"]
"""An ordered place whose cards everybody knows by rule: never blinded."""

UNKNOWN = 0
FRONT = 0xFF
EVERYONE = 0xFF00
SPECTATOR = 0x8000
FLAGS_FROM = 16
FLAGS = ~0xFFFF
MAX_SEATS = 7

_VIEWER_BITS = tuple(1 << bit for bit in range(8, 16))


def new_card(front: int) -> Card:
    """A card with this front (1 to 255) that nobody knows."""
    return front


def front(card: Card) -> int:
    """The front, or 0 where it is unknown."""
    return card & FRONT


def knows(seat: int | None) -> int:
    """The bit of a viewer: a seat (0 to 6), or None for a spectator."""
    return SPECTATOR if seat is None else 0x100 << seat


def known_by(card: Card, seat: int | None) -> bool:
    """Whether that viewer knows the card's front."""
    return bool(card & knows(seat))


def told(card: Card, front: int, viewers: int) -> Card:
    """The card after `front` was told to `viewers` (a mask of `knows` bits, or EVERYONE).

    A front of 0 is a redacted one: this hall learns nothing and the card stays as it is.
    """
    if not front:
        return card
    return (card & ~FRONT) | front | viewers


def forget(card: Card) -> Card:
    """The card when nobody can tell any more which one it is: known to nobody, no flags."""
    return card & FRONT


def join_hand(hand: list[int], card: Card) -> None:
    """Put a card into a hand."""
    insort(hand, card)


def leave_hand(hand: list[int], front: int) -> Card:
    """Take one card with this front out of a hand, and return it as known to nobody.

    Copies with equal fronts are interchangeable: nobody can tell which of them
    leaves. So for each viewer the number of copies known in the hand falls by
    one, and what is left of the knowledge lies on the remaining copies in one
    canonical way. On a blind hall whose viewer knows no such copy, an unknown
    card leaves.
    """
    copies = [card for card in hand if card & FRONT == front]
    if not copies:
        hand.remove(min(hand, key=_unknown_first))
        return front
    if copies[0] == copies[-1]:  # All are equal, since the hand is sorted: so much is known of each, and stays so.
        hand.remove(copies[0])
        return front
    for card in copies:
        hand.remove(card)
    flags = sorted(card & FLAGS for card in copies)
    rest = [front | flag for flag in flags[1:]]
    for bit in _VIEWER_BITS:
        for copy in range(sum(1 for card in copies if card & bit) - 1):
            rest[copy] |= bit
    hand.extend(rest)
    hand.sort()
    return front


def _unknown_first(card: Card) -> int:
    return card & 0xFFFF


class _Seen(dict[Card, Card]):
    """Card -> the card as the viewer with one `knows` bit may know it; filled as cards are met.

    Such a viewer's hall keeps fronts and flags, and of who knows a card only the viewer
    and everyone: which other seats know it is not the viewer's to know.
    """

    def __init__(self, bit: int) -> None:
        super().__init__()
        self._bit = bit

    def __missing__(self, card: Card) -> Card:
        if card & SPECTATOR:
            seen = card
        elif card & self._bit:
            seen = card & (FLAGS | FRONT | self._bit)
        else:
            seen = card & FLAGS
        self[card] = seen
        return seen


# Measured: a look into a dict takes a third of the time of working a card out.
_SEEN: Final[dict[int, Callable[[Card], Card]]] = {bit: _Seen(bit).__getitem__ for bit in _VIEWER_BITS}


def blind_cards(cards: list[int], bit: int) -> list[int]:
    """An ordered place as the viewer with this `knows` bit may know it."""
    return list(map(_SEEN[bit], cards))


def blind_hand(cards: list[int], bit: int) -> list[int]:
    """A hand as that viewer may know it; the order tells nothing."""
    return sorted(map(_SEEN[bit], cards))


def blind_places(places: list[list[int]], bit: int) -> list[list[int]]:
    """Ordered places, each blinded."""
    seen = _SEEN[bit]
    return [list(map(seen, cards)) for cards in places]
