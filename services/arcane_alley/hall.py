"""The hall of Arcane Alley: everything that a player may see or a rule may ask.

Seats are numbers from 0, clockwise; lists without another remark are by seat.
Ordered places have their top last. A cell is row * columns + column.
"""

from msgspec import Struct

from guildhall.kernel.cards import EVERYONE, FRONT, Cards, Hand, Open
from guildhall.kernel.v1.structs import GameCreated
from services.arcane_alley import options, rulings
from services.arcane_alley.geometry import FULL
from services.arcane_alley.rulings import Rulings

REVEALED = 1 << 16
"""Flag of a card in a storehouse: it lies faceup."""
EMPTY = 1 << 17
"""A cell in which nothing lies is this flag alone."""
REPLAYED = 1 << 18
"""Flag of a Magic Boomerang that was already played again in this turn (RES-15); the highest flag."""
FACEUP = EVERYONE | REVEALED
"""What a revealed card has beside its front, unless it is a Boomerang that was replayed."""
NOBODY = -1
"""No seat."""
START_GOLD = 25


class Hall(Struct, array_like=True):
    """One table. See the module's docstring for the order of lists."""

    pack: bytes
    """SHA-256 of the content pack."""
    rulings: Rulings
    powers: bool
    """Whether wizard powers are in the game."""
    given_wizards: list[int]
    """The wizards that the creator gave to the seats; empty: none given."""
    given_first: int
    """The first seat as the creator gave it, or NOBODY."""
    phase: int
    round: int
    """Where the round marker stands: 1 to 3; 0 before the first round."""
    starting: int
    """Who holds the starting player token."""
    active: int
    """Whose turn of the Sell phase it is, or was last in this round; or NOBODY."""
    trigger: int
    """Who triggered this round's inspection, or NOBODY."""
    turn: int
    """The turn tracker of a game of two, 1 to 20; else 0."""
    wizards: list[int]
    gold: list[int]
    infamy: list[int]
    markers: list[int]
    counted: list[int | None]
    """Infamy counted in this round's inspection, before floors and laps."""
    shapes: list[int]
    """Shape of each storehouse, an index of geometry.SHAPES."""
    storehouses: list[Cards]
    stashes: list[Hand]
    drawn: Cards
    """The item that the active seat has just drawn, or taken, and not yet put with its stash: at most one."""
    taken: Cards
    """The item taken out of the active seat's storehouse while the one played there is resolved: at most one."""
    turned_up: Open
    """Turned up by a Mystical Lamp whose owner has yet to choose."""
    deck: Cards
    discard: Open
    set_aside: Open
    removed: Cards
    """Set aside by Glynna, facedown."""


def new_hall(created: GameCreated) -> Hall:
    """The table before the first round, as the game's creation leaves it (AA-10, AA-11)."""
    seats = len(created.subjects)
    chosen = {setting.name: setting.value for setting in created.options}
    return Hall(
        pack=created.pack_hash,
        rulings=rulings.read({setting.name: setting.value for setting in created.rulings}),
        powers=options.powers(chosen),
        given_wizards=options.wizards(chosen),
        given_first=options.first_seat(chosen),
        phase=0,
        round=0,
        starting=0,
        active=NOBODY,
        trigger=NOBODY,
        turn=1 if seats == 2 else 0,
        wizards=[0] * seats,
        gold=[START_GOLD] * seats,
        infamy=[0] * seats,
        markers=[0] * seats,
        counted=[None] * seats,
        shapes=[FULL] * seats,
        storehouses=[[] for _ in range(seats)],
        stashes=[[] for _ in range(seats)],
        drawn=[],
        taken=[],
        turned_up=[],
        deck=[],
        discard=[],
        set_aside=[],
        removed=[],
    )


def turn_order(hall: Hall) -> list[int]:
    """All seats, from the holder of the starting player token clockwise (AA-03)."""
    seats = len(hall.gold)
    return [(hall.starting + i) % seats for i in range(seats)]


def clockwise_from(hall: Hall, seat: int) -> list[int]:
    """All seats, clockwise from this one, which comes first."""
    seats = len(hall.gold)
    return [(seat + i) % seats for i in range(seats)]


def hidden_cells(hall: Hall, seat: int) -> list[int]:
    """The cells of a storehouse whose items lie facedown; the same on every viewer's hall."""
    return [cell for cell, card in enumerate(hall.storehouses[seat]) if not card & (REVEALED | EMPTY)]


def stash_of(hall: Hall, seat: int) -> list[int]:
    """The fronts in a seat's stash, with the one just drawn, sorted and without doubles; 0 where some are unknown."""
    fronts = {card & FRONT for card in hall.stashes[seat]}
    if hall.drawn and seat == hall.active:
        fronts.add(hall.drawn[0] & FRONT)
    return sorted(fronts)
