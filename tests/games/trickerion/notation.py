"""How scenarios write commands and positions: the notation, both ways.

a b c d               the seats from 0
R01:0.1>down          a marker's place: card, slot (column.row), where the corner of its category points
bullet_catch          Tricks, Components, symbols, Characters, special cards, Locations: their names in lower case
apprentice_1          a Character by its home: magician engineer manager assistant, apprentice_1 to apprentice_3,
                      apprentice_4 (the Assistant's slot)
downtown_1            a Character slot; thursday_1, thursday_2 (backstage), thursday_stage (the Performance slot)
inn_a                 a die; a face is X, any, a category, a Character, or coins
p07                   a prophecy
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

from guildhall.kernel.v1.structs import Undo
from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import (
    Assignment,
    Category,
    Character,
    Component,
    Direction,
    Location,
    Magician,
    Member,
    PerformanceCard,
    Prophecy,
    Resource,
    Slot,
    Symbol,
    Trick,
)
from services.trickerion.content import Content
from services.trickerion.hall import CARD_SLOTS

SEATS: Final = "abcd"
DICE: Final = ("dahlgaard_a", "dahlgaard_b", "inn_a", "inn_b", "bank_a", "bank_b")
NO_DIE: Final = "no_die"
X: Final = 0
ANY: Final = 5
"""The question mark of Dahlgaard's dice."""


def seat_number(name: str) -> int:
    """The number of a seat."""
    return SEATS.index(name)


def word(value: IntEnum) -> str:
    """The name of a component as scripts write it."""
    return value.name.lower()


def _read(kind: type[IntEnum]) -> Callable[[str], int]:
    return lambda text: int(kind[text.upper()])


MEMBERS: Final = {
    Member.MAGICIAN: "magician",
    Member.ENGINEER: "engineer",
    Member.MANAGER: "manager",
    Member.ASSISTANT: "assistant",
    Member.FIRST_APPRENTICE: "apprentice_1",
    Member.SECOND_APPRENTICE: "apprentice_2",
    Member.THIRD_APPRENTICE: "apprentice_3",
    Member.ASSISTANTS_APPRENTICE: "apprentice_4",
}
MEMBER_OF: Final = {name: member for member, name in MEMBERS.items()} | {"apprentice": Member.FIRST_APPRENTICE}


def write_slot(slot: int) -> str:
    """A Character slot: downtown_1, thursday_2, thursday_stage."""
    return word(Slot(slot)).replace("_backstage", "").replace("_performance", "_stage")


SLOT_OF: Final = {write_slot(slot): slot for slot in Slot}


def read_face(die: int, text: str) -> int:
    """A face of that die."""
    if text == "X":
        return X
    if text == "any":
        return ANY
    return int(text) if text.isdigit() else int(Category[text.upper()] if die < 2 else Character[text.upper()])


def write_face(die: int, face: int) -> str:
    """The face of a die."""
    if face == X:
        return "X"
    if die < 2:
        return "any" if face == ANY else word(Category(face))
    return word(Character(face)) if die < 4 else str(face)


def read_place(content: Content, text: str) -> tuple[int, int, int]:
    """Card, slot and direction (0 without one) of "R01:0.1>down"; beside the slots, "R01:guest", the slot after all."""
    place, _, direction = text.partition(">")
    name, _, cell = place.partition(":")
    card = PerformanceCard[name]
    slots = content.performances[card].layout.slots
    slot = CARD_SLOTS if cell == "guest" else slots.index((int(cell[0]), int(cell[2])))
    return int(card), slot, int(Direction[direction.upper()]) if direction else 0


def write_place(content: Content, card: int, slot: int, direction: int = 0) -> str:
    """The inverse of `read_place`."""
    slots = content.performances[card].layout.slots
    cell = f"{slots[slot][0]}.{slots[slot][1]}" if slot < len(slots) else "guest"
    return f"{PerformanceCard(card).name}:{cell}" + (f">{word(Direction(direction))}" if direction else "")


WORDS: Final[dict[str, type[Any]]] = {
    "choose": wire.ChooseMagician,
    "pick": wire.PickTrick,
    "components": wire.PickComponents,
    "specialist": wire.PickSpecialist,
    "place": wire.Place,
    "idle": wire.MakeIdle,
    "return": wire.ReturnComponents,
    "give_back": wire.ReturnTrick,
    "learn": wire.LearnTrick,
    "slot": wire.ChooseTrickSlot,
    "symbol": wire.ChooseSymbol,
    "hire": wire.Hire,
    "take": wire.TakeCoins,
    "reroll": wire.RerollDie,
    "set": wire.SetDie,
    "buy": wire.Buy,
    "order": wire.Order,
    "quick_order": wire.QuickOrder,
    "prepare": wire.Prepare,
    "move_trick": wire.MoveTrick,
    "move_components": wire.MoveComponents,
    "move_apprentice": wire.MoveApprentice,
    "set_up": wire.SetUpTrick,
    "reschedule": wire.Reschedule,
    "to": wire.MoveMarker,
    "perform": wire.Perform,
    "house": wire.HouseApprentice,
    "copy": wire.CopySpecial,
    "headhunt": wire.Headhunt,
    "draw": wire.DrawCards,
    "under": wire.PutUnder,
    "weave": wire.WeaveFate,
    "pile": wire.SetUpPile,
    "guest": wire.InviteGuest,
    "guest_pile": wire.InvitePile,
    "swap": wire.SwapCards,
    "street": wire.PerformInStreet,
    "trick": wire.ChooseTrick,
    "premiere": wire.ChoosePremiere,
    "steal": wire.StealYield,
    "possess": wire.Possess,
    "component": wire.ChooseComponent,
    "pay": wire.PayForSale,
    "give": wire.GiveCard,
    "stock": wire.OrderIntoStock,
    "modifiers": wire.OrderModifiers,
}
"""The first word of each command that has further ones."""

PLAIN: Final = {
    "advertise": wire.Advertise(),
    "decline": wire.Decline(),
    "enhance": wire.Enhance(),
    "end": wire.EndPlacement(),
    "fame": wire.TakeLinkBonus(Resource.FAME),
    "coins": wire.TakeLinkBonus(Resource.COINS),
    "keep": wire.KeepBonus(),
    "point": wire.TakeActionPoint(),
    "bonus": wire.UseBonus(),
    "ability": wire.UseAbility(),
    "second": wire.HireSecond(),
    "fortune": wire.TellFortune(),
    "undo": Undo(),
}
"""The commands that are always said in the same words."""

ASSIGNED: Final = (wire.PutUnder, wire.GiveCard)
"""Commands whose card is an Assignment card; in the others it is a Performance card."""

_PLAIN_WORDS: Final = {command: words for words, command in PLAIN.items()}
_WORD_OF: Final = {kind: word for word, kind in WORDS.items()}
_READ: Final[dict[str, Callable[[str], int]]] = {
    "magician": _read(Magician),
    "trick": _read(Trick),
    "symbol": _read(Symbol),
    "character": _read(Character),
    "component": _read(Component),
    "location": _read(Location),
    "deck": _read(Location),
    "first": _read(PerformanceCard),
    "second": _read(PerformanceCard),
    "prophecy": _read(Prophecy),
    "resource": _read(Resource),
    "member": MEMBER_OF.__getitem__,
    "die": lambda text: len(DICE) if text == NO_DIE else DICE.index(text),
    "target_seat": seat_number,
}
_WRITE: Final[dict[str, Callable[[int], str]]] = {
    "magician": lambda value: word(Magician(value)),
    "trick": lambda value: word(Trick(value)),
    "symbol": lambda value: word(Symbol(value)),
    "character": lambda value: word(Character(value)),
    "component": lambda value: word(Component(value)),
    "location": lambda value: word(Location(value)),
    "deck": lambda value: word(Location(value)),
    "first": lambda value: PerformanceCard(value).name,
    "second": lambda value: PerformanceCard(value).name,
    "prophecy": lambda value: word(Prophecy(value)),
    "resource": lambda value: word(Resource(value)),
    "member": lambda value: MEMBERS[Member(value)],
    "die": lambda value: DICE[value],
    "target_seat": lambda value: SEATS[value],
}


def say(content: Content, command: Any) -> str:
    """A command in words: "learn bullet_catch inn_a", "buy wood 2 bargain 1", "set_up linking_rings R01:0.1>down"."""
    if command in _PLAIN_WORDS:
        return _PLAIN_WORDS[command]
    if isinstance(command, wire.Assign):
        return "assign " + " ".join(word(Assignment(card)) if card else "-" for card in command.cards)
    words = [_WORD_OF[type(command)]]
    for field in command.__struct_fields__:
        value = getattr(command, field)
        if field == "card" and isinstance(command, ASSIGNED):
            words.append(word(Assignment(value)))
        elif field == "card":
            slot = getattr(command, "slot", None)
            direction = getattr(command, "direction", 0)
            words.append(PerformanceCard(value).name if slot is None else write_place(content, value, slot, direction))
        elif field == "slot" and isinstance(command, wire.Place):
            words.append(write_slot(value))
        elif field == "direction" or (field == "slot" and hasattr(command, "card")):
            continue
        elif field == "face":
            words.append(write_face(command.die, value))
        elif field == "die" and isinstance(command, wire.LearnTrick):
            words.append(NO_DIE if value == 2 else DICE[value])
        elif field == "bargain" and isinstance(command, wire.Buy):
            words += ["bargain", str(value)] if value else []
        elif field == "manager_slot":
            words += ["manager"] if value else []
        elif field == "exchanged":
            words += ["for", word(Component(value))] if value else []
        elif field == "components":
            words += [word(Component(component)) for component in value]
        elif field == "order":
            words += map(str, value)
        else:
            words.append(_WRITE[field](value) if field in _WRITE else str(value))
    return " ".join(words)


def hear(content: Content, text: str) -> Any:
    """The command that these words say: the inverse of `say` (but for `assign`)."""
    if text in PLAIN:
        return PLAIN[text]
    first, *rest = text.split()
    kind = WORDS[first]
    if kind is wire.PickComponents:
        return kind(tuple(int(Component[name.upper()]) for name in rest))
    if kind is wire.OrderModifiers:
        return kind(tuple(map(int, rest)))
    if kind is wire.ChooseComponent:
        return kind(int(Component[rest[0].upper()]), "manager" in rest)
    if kind is wire.Buy:
        bargain = int(rest[rest.index("bargain") + 1]) if "bargain" in rest else 0
        return kind(int(Component[rest[0].upper()]), int(rest[1]), bargain, "manager" in rest)
    if kind is wire.MoveComponents:
        return kind(int(Component[rest[0].upper()]), int(Component[rest[2].upper()]) if "for" in rest else 0)
    values: list[int] = []
    fields = kind.__struct_fields__
    said = iter(rest)
    for field in fields:
        if field == "card" and kind in ASSIGNED:
            values.append(int(Assignment[next(said).upper()]))
        elif field == "card":
            name = next(said)
            values += read_place(content, name)[: len(fields) - len(values)] if ":" in name else [PerformanceCard[name]]
        elif len(values) > fields.index(field):
            continue
        elif field == "slot" and kind is wire.Place:
            values.append(SLOT_OF[next(said)])
        elif field == "face":
            values.append(read_face(values[0], next(said)))
        elif field == "die" and kind is wire.LearnTrick:
            name = next(said)
            values.append(2 if name == NO_DIE else DICE.index(name))
        elif field in _READ:
            values.append(_READ[field](next(said)))
        else:
            values.append(int(next(said)))
    assert not list(said), f"{text!r} says too much"
    return kind(*values)
