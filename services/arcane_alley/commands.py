"""All commands, made once: enumeration only picks from these tables."""

from guildhall.arcane_alley.v1.structs import (
    Activate,
    Bribe,
    ChooseItem,
    ChoosePlayer,
    Decline,
    Direction,
    Discard,
    DrawDeck,
    DrawDiscard,
    Item,
    LoseInfamy,
    Peek,
    PickWizard,
    PlaceDoll,
    Play,
    PlayBoomerang,
    PlayFromDiscard,
    ResolveEffect,
    RevealItem,
    RevealItems,
    SellSet,
    SetAside,
    SkipEffect,
    Slide,
    UsePower,
    Wizard,
)
from services.arcane_alley.geometry import LINES

_FRONTS = range(len(Item))
_CELLS = range(9)
_SEATS = range(6)

DRAW_DECK = DrawDeck()
DRAW_DISCARD = DrawDiscard()
RESOLVE_EFFECT = ResolveEffect()
SKIP_EFFECT = SkipEffect()
LOSE_INFAMY = LoseInfamy()
USE_POWER = UsePower()
DECLINE = Decline()

PLAYS = tuple(tuple(Play(front, cell) for cell in _CELLS) for front in _FRONTS)
"""By item and cell."""
DISCARDS = tuple(Discard(front) for front in _FRONTS)
ACTIVATES = tuple(Activate(front) for front in _FRONTS)
CHOOSE_ITEMS = tuple(ChooseItem(front) for front in _FRONTS)
PICK_WIZARDS = tuple(PickWizard(wizard) for wizard in range(len(Wizard)))
REVEAL_PAIRS = tuple(RevealItems(first, second) for first in _CELLS for second in range(first + 1, 9))
"""In the order of the first cell, then of the second."""
REVEALS = tuple(RevealItem(cell) for cell in _CELLS)
PEEKS = tuple(Peek(cell) for cell in _CELLS)
BOOMERANGS = tuple(PlayBoomerang(cell) for cell in _CELLS)
SET_ASIDES = tuple(SetAside(cell) for cell in _CELLS)
FROM_DISCARD = tuple(tuple(PlayFromDiscard(position, cell) for cell in _CELLS) for position in range(100))
"""By position from the top, and cell."""
PLAYERS = tuple(ChoosePlayer(seat) for seat in _SEATS)
DOLLS = tuple(tuple(PlaceDoll(seat, cell) for cell in _CELLS) for seat in _SEATS)
"""By seat and cell."""
SELL_SETS = tuple(tuple(SellSet(line[0], line[2]) for line in lines) for lines in LINES)
"""By shape and line."""
SLIDES = tuple(Slide(direction) for direction in (Direction.VERTICAL, Direction.HORIZONTAL))
BRIBES = tuple(Bribe(2 * points) for points in range(25))
"""By points of infamy."""
