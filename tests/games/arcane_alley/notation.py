"""How scenarios write items, storehouses, commands: the notation, both ways.

storehouse  rows top to bottom, parted by "/"; cells left to right
BC          a revealed Bubbling Cauldron        ?BC     a hidden one that nobody knows
?BC@        a hidden one that everybody knows   ?BC@a   a hidden one that seat a alone knows
x  ?x       a filler with a name: some item that plays no part, the same wherever `x` stands
*  .        any revealed, any hidden filler     --      an empty cell
stash       BC: known to its owner              BC@     known to everybody
2,0         the cell in row 2, column 0, from 0
a b c ...   the seats from 0
"""

from typing import Any, Final, NamedTuple

from guildhall.arcane_alley.v1 import structs as wire
from guildhall.arcane_alley.v1.structs import Direction, Item, Wizard
from guildhall.kernel.cards import EVERYONE, FRONT, known_by, knows
from guildhall.kernel.v1.structs import Undo
from services.arcane_alley.hall import EMPTY, REVEALED

CODES: Final = {
    "BF": Item.BOTTLED_FAIRY,
    "BC": Item.BUBBLING_CAULDRON,
    "CB": Item.CRYSTAL_BALL,
    "CM": Item.CURSED_MIRROR,
    "DL": Item.DARK_LOTUS,
    "DE": Item.DRAGONS_EGG,
    "FF": Item.FACSIMILOUS_FELINE,
    "FC": Item.FLOATING_CARPET,
    "HD": Item.HAUNTED_DOLL,
    "HT": Item.HYPNOTIC_TOAD,
    "IR": Item.INVISIBLE_RING,
    "MB": Item.MAGIC_BOOMERANG,
    "ML": Item.MYSTICAL_LAMP,
    "OW": Item.OLDER_WAND,
    "PL": Item.PANDORAS_LOCKBOX,
    "SC": Item.SACRED_CHALICE,
    "SK": Item.SKELETOMICON,
    "SS": Item.SOVEREIGN_SWORD,
    "TC": Item.THREE_HEADED_COIN,
    "WW": Item.WIZARDS_WATCH,
}
CODE_OF: Final = {int(item): code for code, item in CODES.items()}
SEATS: Final = "abcdef"


def seat_number(name: str) -> int:
    """The number of a seat; "" is nobody, -1."""
    return SEATS.index(name) if name else -1


class Token(NamedTuple):
    """One item as it is written."""

    name: str
    """Code, name of a filler, "." or "*"; "--" for an empty cell."""
    revealed: bool
    known: int
    """Mask of those who know it; of a revealed one everyone."""


def parse_token(text: str) -> Token:
    """An item as it is written in a storehouse, a stash, the deck or the discard."""
    name, at, seats = text.removeprefix("?").partition("@")
    known = (sum(knows(seat_number(s)) for s in seats) or EVERYONE) if at else 0
    revealed = not text.startswith("?") and name not in (".", "--")
    return Token(name, revealed, known)


def parse_rows(text: str) -> list[list[Token]]:
    """A storehouse as it is written; "" is an empty one."""
    return [[parse_token(word) for word in row.split()] for row in text.split("/")] if text.strip() else []


def write_card(card: int) -> str:
    """A card of a storehouse, its front told even if it is hidden; "?" where it is unknown."""
    if card & EMPTY:
        return "--"
    return ("" if card & REVEALED else "?") + CODE_OF.get(card & FRONT, "")


def write_rows(cards: list[int], columns: int) -> str:
    """A storehouse, rows parted by " / "."""
    words = [write_card(card) for card in cards]
    return " / ".join(" ".join(words[start : start + columns]) for start in range(0, len(words), columns or 1))


def write_items(fronts: list[int]) -> str:
    """Items by their codes; "?" for an unknown one."""
    return " ".join(CODE_OF.get(front & FRONT, "?") for front in fronts)


def write_known(card: int, seat: int | None) -> str:
    """The item as that viewer knows it."""
    return CODE_OF[card & FRONT] if known_by(card, seat) else "?"


WORDS: Final[dict[str, type[Any]]] = {
    "pick": wire.PickWizard,
    "reveal": wire.RevealItems,
    "turn": wire.RevealItem,
    "play": wire.Play,
    "discard": wire.Discard,
    "activate": wire.Activate,
    "peek": wire.Peek,
    "sell": wire.SellSet,
    "choose": wire.ChoosePlayer,
    "doll": wire.PlaceDoll,
    "boomerang": wire.PlayBoomerang,
    "take": wire.PlayFromDiscard,
    "swap": wire.Swap,
    "remove": wire.SetAside,
    "count": wire.ChooseItem,
    "bribe": wire.Bribe,
}
"""The first word of each command that has further ones."""

PLAIN: Final = {
    "draw deck": wire.DrawDeck(),
    "draw discard": wire.DrawDiscard(),
    "resolve": wire.ResolveEffect(),
    "skip": wire.SkipEffect(),
    "slide vertical": wire.Slide(Direction.VERTICAL),
    "slide horizontal": wire.Slide(Direction.HORIZONTAL),
    "lose infamy": wire.LoseInfamy(),
    "pay": wire.UsePower(),
    "pass": wire.Decline(),
    "undo": Undo(),
}
"""The commands that are always said in the same words."""

_PLAIN_WORDS: Final = {command: words for words, command in PLAIN.items()}
_WORD_OF: Final = {kind: word for word, kind in WORDS.items()}


def say(command: Any, seat: int, columns: list[int]) -> str:
    """A command in words: "play BC 0,2", "choose b", "doll b 0,1", "swap 0,0 b 2,1", "take 0 1,1".

    `columns` are the storehouses' widths by seat.
    """
    if command in _PLAIN_WORDS:
        return _PLAIN_WORDS[command]
    words = [_WORD_OF[type(command)]]
    owner = seat
    for field in command.__struct_fields__:
        value = getattr(command, field)
        if field.endswith("cell"):
            words.append("{},{}".format(*divmod(value, columns[owner])) if columns[owner] else str(value))
        elif field == "item":
            words.append(CODE_OF.get(value, str(value)))
        elif field == "wizard":
            words.append(Wizard(value).name.lower())
        elif field == "target_seat":
            owner = value
            words.append(SEATS[value])
        else:
            words.append(str(value))
    return " ".join(words)


def hear(text: str, seat: int, columns: list[int]) -> Any:
    """The command that these words say: the inverse of `say`."""
    if text in PLAIN:
        return PLAIN[text]
    word, *rest = text.split()
    kind = WORDS[word]
    owner = seat
    values: list[int] = []
    for field, said in zip(kind.__struct_fields__, rest, strict=True):
        if field.endswith("cell"):
            row, column = said.split(",")
            values.append(int(row) * columns[owner] + int(column))
        elif field == "item":
            values.append(CODES[said])
        elif field == "wizard":
            values.append(Wizard[said.upper()])
        elif field == "target_seat":
            owner = seat_number(said)
            values.append(owner)
        else:
            values.append(int(said))
    return kind(*values)
