"""The hall of Trickerion: everything that a player may see or a rule may ask.

Seats are numbers from 0, clockwise; lists without another remark are by seat. Ordered places have their top last.
Numbers of components are those of the contract (`component.proto`).
"""

from msgspec import Struct

from guildhall.kernel.cards import EVERYONE, FRONT, Cards, Hand, Open
from guildhall.kernel.v1.structs import GameCreated
from guildhall.trickerion.v1.structs import Character, Location, Member, Slot
from services.trickerion import options, rulings
from services.trickerion.content import Content
from services.trickerion.dark_alley.hall import Alley, AlleyCards, new_alley, new_alley_cards
from services.trickerion.rulings import Rulings

NOBODY = -1
"""No seat."""
NOTHING = 1 << 16
"""Among assigned cards: no card lies under this Character."""

HOME = 0
"""Post of a member that is at home, without a card."""
ABSENT = -1
"""Post where nobody is on the team."""
READY = -2
"""Post of a member with a card, to be placed."""
IDLE = -3
"""Post of a member whose card was turned down."""

MEMBERS = range(1, 9)
APPRENTICES = (Member.FIRST_APPRENTICE, Member.SECOND_APPRENTICE, Member.THIRD_APPRENTICE, Member.ASSISTANTS_APPRENTICE)
# What is asked most often; Python 3.11 takes ten times as long to look up a member of an Enum.
_APPRENTICE, _THEATER = int(Character.APPRENTICE), int(Location.THEATER)
CARD_SLOTS = 6
"""Slots of the largest Performance card; smaller ones leave the last of them free."""
ENGINEERS_SLOT = 3
"""The Trick slot of the Engineer's board extension."""
X = 0
"""The face of a die that offers nothing."""
THEATER_FLAG = 16
"""A card of the Performance deck carries its back, public, from this bit on."""


class Hall(Struct, array_like=True):
    """One table. See the module's docstring for the order of lists."""

    pack: bytes
    """SHA-256 of the content pack."""
    rulings: Rulings
    dark_alley: bool
    """Whether the Dark Alley is in the game."""
    beginners: bool
    """Whether the first-time set-up is used (TR-029)."""
    phase: int
    turn: int
    """The turn counter, from 1; 0 before the first turn."""
    first: int
    """The seat that chooses first in the set-up."""
    initiative: list[int]
    """Seats, the first first; empty before initiative is drawn."""
    dice: list[int]
    """The face of each die of Downtown."""
    buy_area: list[int]
    """Components in stock, by slot."""
    order_area: list[int]
    """Ordered Components, by slot; 0 where it is open."""
    quick_order: int
    """The Component on the Quick Order slot, or 0."""
    residence: list[int]
    """Tricks at Dahlgaard's Residence, sorted."""
    display: Open
    """Performance cards on display, from slot 1 on."""
    stage: list[list[int]]
    """The markers of each displayed card by slot, see `marker`; 0: nothing. Guests come after CARD_SLOTS of them."""
    performances: Cards
    """The Performance deck; each card shows its back (THEATER_FLAG)."""
    removed: Open
    """Performance cards that were removed."""
    weekday: int
    """The weekday whose performances are going on, or 0."""
    magicians: list[int]
    fame: list[int]
    coins: list[int]
    shards: list[int]
    advertised: list[bool]
    posts: list[list[int]]
    """By Member (0 is not used): the Slot where it was placed, or HOME, ABSENT, READY, IDLE."""
    inn: list[list[int]]
    """Characters hired in this turn."""
    hands: list[Hand]
    """Assignment cards in hand."""
    assigned: list[Cards]
    """By Member (0 is not used): the Assignment card under it, or NOTHING."""
    tricks: list[list[int]]
    """By Trick slot; 0 where it is empty, and ENGINEERS_SLOT without Engineer stays so."""
    symbols: list[list[int]]
    """The symbol of each of `tricks`, or 0."""
    prepared: list[list[int]]
    """Trick markers on each of `tricks`."""
    supply: list[list[int]]
    """Unused Trick markers by Symbol (0 is not used)."""
    piles: list[list[int]]
    """Component tokens by type (0 is not used)."""
    multi: list[list[int]]
    """The types on the Manager's two slots, or 0."""
    active: int
    """Who has placed a Character and acts, or NOBODY."""
    actor: int
    """The Member that acts, or 0."""
    ap: int
    """Its action points that are left."""
    enhanced: bool
    """Whether its Shard was spent."""
    alley: Alley | None
    """The Dark Alley, where it is in the game."""
    alley_cards: AlleyCards | None
    """Its hidden cards."""


def new_hall(created: GameCreated) -> Hall:
    """The table before anything is chosen, as the game's creation leaves it (TR-016, TR-022)."""
    seats = len(created.subjects)
    chosen = {setting.name: setting.value for setting in created.options}
    team = [ABSENT] * len(Member)
    team[Member.MAGICIAN] = team[Member.FIRST_APPRENTICE] = HOME
    return Hall(
        pack=created.pack_hash,
        rulings=rulings.read({setting.name: setting.value for setting in created.rulings}),
        dark_alley=options.dark_alley(chosen),
        beginners=options.beginners(chosen),
        phase=0,
        turn=0,
        first=NOBODY,
        initiative=[],
        dice=[X] * 6,
        buy_area=[0] * 4,
        order_area=[0] * 4,
        quick_order=0,
        residence=[],
        display=[],
        stage=[],
        performances=[],
        removed=[],
        weekday=0,
        magicians=[0] * seats,
        fame=[0] * seats,
        coins=[0] * seats,
        shards=[0] * seats,
        advertised=[False] * seats,
        posts=[list(team) for _ in range(seats)],
        inn=[[] for _ in range(seats)],
        hands=[[] for _ in range(seats)],
        assigned=[[NOTHING] * len(Member) for _ in range(seats)],
        tricks=[[0] * 4 for _ in range(seats)],
        symbols=[[0] * 4 for _ in range(seats)],
        prepared=[[0] * 4 for _ in range(seats)],
        supply=[[0] * 5 for _ in range(seats)],
        piles=[[0] * 13 for _ in range(seats)],
        multi=[[0, 0] for _ in range(seats)],
        active=NOBODY,
        actor=0,
        ap=0,
        enhanced=False,
        alley=new_alley(seats, options.prophecies(chosen)) if options.dark_alley(chosen) else None,
        alley_cards=new_alley_cards() if options.dark_alley(chosen) else None,
    )


# --- Trick markers on Performance cards

_SEAT, _SYMBOL, _DIRECTION, _PILE = 6, 9, 12, 15


def marker(trick: int, seat: int, symbol: int, direction: int, pile: bool = False) -> int:
    """A Trick marker on a Performance card; never 0. Direction 0: a guest beside the slots. A pile is two as one."""
    return trick | seat << _SEAT | symbol << _SYMBOL | direction << _DIRECTION | pile << _PILE


def trick_of(marker: int) -> int:
    """The Trick that a marker stands for."""
    return marker & 63


def seat_of(marker: int) -> int:
    """Whose marker it is."""
    return marker >> _SEAT & 7


def symbol_of(marker: int) -> int:
    """Its Symbol."""
    return marker >> _SYMBOL & 7


def direction_of(marker: int) -> int:
    """Where the corner of its Trick's category points; 0 for a guest beside the slots."""
    return marker >> _DIRECTION & 7


def is_pile(marker: int) -> bool:
    """Whether it is two markers as one."""
    return bool(marker >> _PILE)


# --- what rules of several phases ask


def kind_of(member: int) -> int:
    """The Character that a member is."""
    return member if member < _APPRENTICE else _APPRENTICE


def location_of(slot: int) -> int:
    """The Location of a Character slot."""
    return slot >> 4


def weekday_of(slot: int) -> int:
    """The weekday of a Character slot of the Theater."""
    return (slot - 65) // 3 + 1


def is_performance_slot(slot: int) -> bool:
    """Whether the Character slot, of the Theater, is a Performance slot."""
    return slot % 3 == 1


def in_theater(post: int) -> bool:
    """Whether a post is a Character slot of the Theater."""
    return post >> 4 == _THEATER


def theater_day(hall: Hall, seat: int) -> int:
    """The weekday on which a seat's Characters stand in the Theater; 0 where none does (TR-102)."""
    slot = next(filter(_THEATER_SLOTS.__contains__, hall.posts[seat]), None)
    return 0 if slot is None else weekday_of(slot)


_THEATER_SLOTS = frozenset(slot for slot in Slot if slot >> 4 == Location.THEATER)


def specialist_at(hall: Hall, seat: int, member: int) -> bool:
    """Whether a seat's Specialist stands in the Theater this turn (TR-130)."""
    return in_theater(hall.posts[seat][member])


def has(hall: Hall, seat: int, member: int) -> bool:
    """Whether that Character is on the seat's team."""
    return hall.posts[seat][member] != ABSENT


def apprentices(hall: Hall, seat: int) -> int:
    """How many Apprentices are on a seat's team."""
    posts = hall.posts[seat]
    return sum(posts[member] != ABSENT for member in APPRENTICES)


def slot_with(hall: Hall, seat: int, trick: int) -> int:
    """The Trick slot on which an own Trick lies. Raises ValueError where the seat has no such Trick."""
    return hall.tricks[seat].index(trick)


def initiative_slot(hall: Hall, content: Content, seat: int) -> int:
    """The printed number of a seat's initiative slot; two players stand on 1 and 3 (TR-031, TR-A3)."""
    return content.initiative_slots[len(hall.initiative)][hall.initiative.index(seat)]


def displayed(hall: Hall, card: int) -> int:
    """Where a Performance card lies on display, from 0. Raises ValueError where it does not."""
    return hall.display.index(card | EVERYONE)


def display_of(hall: Hall) -> list[int]:
    """The Performance cards on display, from slot 1 on."""
    return [card & FRONT for card in hall.display]
