"""Downtown: Dahlgaard's Residence, the Inn and the Bank (TR-057 to TR-072)."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final

from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    Cause,
    Character,
    CharacterHired,
    ChooseSymbol,
    ChooseTrickSlot,
    DieRerolled,
    DieSet,
    Hire,
    LearnTrick,
    Member,
    RerollDie,
    SetDie,
    TakeCoins,
    TrickTaken,
)
from services.trickerion import commands, hooks, money
from services.trickerion.asking import Ask, HallTable
from services.trickerion.content import ANY_CATEGORY, Action, Content
from services.trickerion.hall import (
    ABSENT,
    APPRENTICES,
    ENGINEERS_SLOT,
    Hall,
    X,
    apprentices,
    has,
)
from services.trickerion.packs import PACKS

COMMANDS = (LearnTrick, Hire, TakeCoins, RerollDie, SetDie)
NO_DIE = 2
"""In LearnTrick: both of Dahlgaard's dice are on X (TR-A9)."""
DAHLGAARD, INN, BANK = (0, 1), (2, 3), (4, 5)
SYMBOLS = (1, 2, 3, 4)


def options(hall: Hall, content: Content, seat: int, ap: int) -> list[Any]:
    """What a Character with so many action points can do."""
    costs = hooks.of(hall).action_costs(hall, content)
    listed: list[Any] = []
    if ap >= costs[Action.LEARN_TRICK]:
        listed += learnable(hall, content, seat)
    if ap >= costs[Action.HIRE]:
        listed += [commands.hire(die) for die in INN if can_hire(hall, content, seat, hall.dice[die])]
    if ap >= costs[Action.TAKE_COINS]:
        listed += [commands.take_coins(die) for die in BANK if hall.dice[die] != X]
    if ap >= costs[Action.REROLL_DIE]:
        listed += _REROLLS
    if ap >= costs[Action.SET_DIE]:
        listed += _set_dice(hall.pack, tuple(hall.dice))
    return listed


@lru_cache(maxsize=4096)
def _set_dice(pack: bytes, dice: tuple[int, ...]) -> list[SetDie]:
    """Every die with every face that it does not show (TR-072, TR-A38)."""
    results = [die.results for die in PACKS[pack].dice]
    return [commands.set_die(die, face) for die, shown in enumerate(dice) for face in results[die] if face != shown]


_REROLLS = tuple(commands.reroll_die(die) for die in range(6))


# --- Learn Trick


def favorite(hall: Hall, content: Content, seat: int) -> int:
    """The favorite category of a seat's magician."""
    return content.magicians[hall.magicians[seat]].category


def free_trick_slots(hall: Hall, seat: int) -> list[int]:
    """Where a learnt Trick may lie: the first free slot of the board, and the Engineer's (TR-057, TR-A43)."""
    tricks = hall.tricks[seat]
    normal = next((slot for slot in range(ENGINEERS_SLOT) if not tricks[slot]), None)
    engineers = not tricks[ENGINEERS_SLOT] and has(hall, seat, Member.ENGINEER)
    if normal is None:
        return [ENGINEERS_SLOT] if engineers else []
    if engineers and not hall.rulings.normal_slots_first:
        return [normal, ENGINEERS_SLOT]
    return [normal]


def learnable(hall: Hall, content: Content, seat: int, room: bool = False) -> list[LearnTrick]:
    """Every Trick that can be learnt, with every die (TR-058, TR-061 to TR-064); `room`: a slot will be free."""
    if not room and not free_trick_slots(hall, seat):
        return []
    most = hall.fame[seat] + hall.coins[seat]
    own = favorite(hall, content, seat)
    cards = content.tricks
    affordable = [trick for trick in hall.residence if cards[trick].threshold <= most]
    listed: list[LearnTrick] = []
    for die in DAHLGAARD:
        face = hall.dice[die]
        if face == ANY_CATEGORY:
            listed += [commands.learn_trick(trick, die) for trick in affordable]
        elif face != X:
            listed += [commands.learn_trick(trick, die) for trick in affordable if cards[trick].category in (face, own)]
    if hall.rulings.favorite_without_die and not listed and hall.dice[0] == hall.dice[1] == X:
        listed = [commands.learn_trick(trick, NO_DIE) for trick in affordable if cards[trick].category == own]
    return listed


def learn(table: HallTable, seat: int, trick: int, die: int, slot: int, symbol: int, ap: int) -> None:
    """Learn a Trick: pay action points, and coins for lacking Fame; the die goes to X (TR-059, TR-062)."""
    hall = table.hall
    money.spend_ap(table, ap)
    money.pay_coins(table, seat, max(0, table.content.tricks[trick].threshold - hall.fame[seat]), Cause.LEARN)
    if die != NO_DIE:
        table.emit(DieSet(seat, die, X))
    table.emit(TrickTaken(seat, trick, slot, symbol))


def ask_where(hall: Hall, seat: int, trick: int, die: int) -> Frame:
    """What is asked of a Trick that is being learnt: its slot, where there are two, then its symbol."""
    slots = free_trick_slots(hall, seat)
    return TrickSlot(seat, trick, die) if len(slots) > 1 else TrickSymbol(seat, trick, die, slots[0])


class TrickSlot(Ask, tag="trick_slot"):
    """Whether the learnt Trick lies on the board or on the Engineer's slot (TR-A43)."""

    trick: int
    die: int

    ASKS: ClassVar[str] = "choose a slot for the Trick"
    RULE: ClassVar[str] = "TR-A43"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseTrickSlot,)

    def options(self, hall: Hall, seat: int) -> Iterable[ChooseTrickSlot]:
        return [commands.choose_trick_slot(slot) for slot in free_trick_slots(hall, seat)]

    def why_not(self, hall: Hall, seat: int, command: ChooseTrickSlot) -> Refusal:
        return Refusal("NO_SLOT", "That is no free slot of yours, or not the first one on the board.", "TR-057")

    def choose(self, table: HallTable, seat: int, command: ChooseTrickSlot) -> None:
        table.then(TrickSymbol(seat, self.trick, self.die, command.slot))


class TrickSymbol(Ask, tag="symbol"):
    """The symbol that stands for the learnt Trick (TR-057, TR-A33)."""

    trick: int
    die: int
    slot: int

    ASKS: ClassVar[str] = "choose a symbol for the Trick"
    RULE: ClassVar[str] = "TR-057"
    EXPECTED: ClassVar[tuple[type, ...]] = (ChooseSymbol,)

    def options(self, hall: Hall, seat: int) -> Iterable[ChooseSymbol]:
        used = hall.symbols[seat]
        return [commands.choose_symbol(symbol) for symbol in SYMBOLS if symbol not in used]

    def default(self, hall: Hall, seat: int) -> ChooseSymbol:
        """The symbol with most markers in supply: those of a Trick given back may have left the game (TR-C6)."""
        return max(self.options(hall, seat), key=lambda command: hall.supply[seat][command.symbol])

    def why_not(self, hall: Hall, seat: int, command: ChooseSymbol) -> Refusal:
        if command.symbol not in SYMBOLS:
            return Refusal("NO_SUCH_SYMBOL", "Choose one of the four symbols.", "TR-009")
        return Refusal("SYMBOL_USED", "That symbol stands for another Trick of yours.", "TR-057")

    def choose(self, table: HallTable, seat: int, command: ChooseSymbol) -> None:
        ap = hooks.of(table.hall).action_costs(table.hall, table.content)[Action.LEARN_TRICK]
        learn(table, seat, self.trick, self.die, self.slot, command.symbol, ap)


# --- Hire, Take Coins, dice


def can_hire(hall: Hall, content: Content, seat: int, kind: int) -> bool:
    """Whether a seat may hire that kind of Character; X is none (TR-067, TR-069, TR-A22, TR-A40)."""
    if kind == X:
        return False
    inn = hall.inn[seat]
    if kind != Character.APPRENTICE:
        return hall.posts[seat][kind] == ABSENT and kind not in inn
    hired = inn.count(kind)
    discs = content.characters[kind].discs - apprentices(hall, seat) - hired
    return discs > 0 and apprentice_homes(hall, seat) > hired


def apprentice_homes(hall: Hall, seat: int) -> int:
    """Free Apprentice slots, with the Assistant's where that Assistant is on the team or on the Inn (TR-A22)."""
    posts = hall.posts[seat]
    homes = sum(posts[member] == ABSENT for member in APPRENTICES)
    if posts[Member.ASSISTANTS_APPRENTICE] == ABSENT and not _has_assistant(hall, seat):
        homes -= 1
    return homes


def _has_assistant(hall: Hall, seat: int) -> bool:
    return has(hall, seat, Member.ASSISTANT) or Character.ASSISTANT in hall.inn[seat]


def hire(table: HallTable, seat: int, die: int, kind: int, ap: int) -> None:
    """Put a disc on the Inn; the die goes to X (TR-067)."""
    money.spend_ap(table, ap)
    table.emit(CharacterHired(seat, kind))
    table.emit(DieSet(seat, die, X))


def take_coins(table: HallTable, seat: int, die: int, coins: int, ap: int) -> None:
    """Take coins; the die goes to X (TR-070)."""
    money.spend_ap(table, ap)
    table.emit(DieSet(seat, die, X))
    money.gain_coins(table, seat, coins, Cause.TAKE_COINS)


def _rolled(table: HallTable, die: int) -> int:
    faces = table.content.dice[die].faces
    face: int = faces[table.rng.below(len(faces))]
    return face


def act(table: HallTable, seat: int, command: Any) -> Sequence[Frame]:
    """Carry out a listed command."""
    hall, content = table.hall, table.content
    hooking = hooks.of(hall)
    match command:
        case LearnTrick(trick, die):
            return (ask_where(hall, seat, trick, die),)
        case Hire(die):
            hire(table, seat, die, hall.dice[die], hooking.action_costs(hall, content)[Action.HIRE])
        case TakeCoins(die):
            coins = hooking.coins_of(hall, hall.dice[die])
            take_coins(table, seat, die, coins, hooking.action_costs(hall, content)[Action.TAKE_COINS])
        case RerollDie(die):
            money.spend_ap(table, hooking.action_costs(hall, content)[Action.REROLL_DIE])
            table.emit(DieRerolled(seat, die, _rolled(table, die)))
        case SetDie(die, face):
            money.spend_ap(table, hooking.action_costs(hall, content)[Action.SET_DIE])
            table.emit(DieSet(seat, die, face))
    return ()


_ACTIONS: Final[dict[type[Any], Action]] = {
    LearnTrick: Action.LEARN_TRICK,
    Hire: Action.HIRE,
    TakeCoins: Action.TAKE_COINS,
    RerollDie: Action.REROLL_DIE,
    SetDie: Action.SET_DIE,
}
_RULES: Final[dict[type[Any], str]] = {
    LearnTrick: "TR-057",
    Hire: "TR-067",
    TakeCoins: "TR-070",
    RerollDie: "TR-071",
    SetDie: "TR-072",
}


def why_not(hall: Hall, content: Content, seat: int, ap: int, command: Any) -> Refusal:
    """Why a command of Downtown is not listed."""
    kind = type(command)
    cost = hooks.of(hall).action_costs(hall, content)[_ACTIONS[kind]]
    if ap < cost:
        return Refusal("TOO_FEW_ACTION_POINTS", f"That costs {cost} action points; you have {ap}.", _RULES[kind])
    match command:
        case LearnTrick(trick, die):
            return _why_not_learn(hall, content, seat, trick, die)
        case Hire(die):
            if die not in INN or hall.dice[die] == X:
                return Refusal("NO_SUCH_DIE", "Name a die of the Inn that is not on X.", "TR-036")
            if hall.dice[die] == Character.APPRENTICE:
                return Refusal("NO_ROOM", "You have no Apprentice left in your supply, or no slot for one.", "TR-A22")
            return Refusal("ONE_OF_EACH", "You have hired that Specialist already.", "TR-069")
        case TakeCoins():
            return Refusal("NO_SUCH_DIE", "Name a die of the Bank that is not on X.", "TR-036")
        case RerollDie():
            return Refusal("NO_SUCH_DIE", "There is no such die.", "TR-071")
    if command.die in range(6) and hall.dice[command.die] == command.face:
        return Refusal("SAME_FACE", "The die shows that face.", "TR-A38")
    return Refusal("NO_SUCH_FACE", "There is no such die, or it has no such face.", "TR-072")


def _why_not_learn(hall: Hall, content: Content, seat: int, trick: int, die: int) -> Refusal:
    if trick not in hall.residence:
        return Refusal("NO_SUCH_TRICK", "That Trick is not at Dahlgaard's Residence.", "TR-057")
    if not free_trick_slots(hall, seat):
        return Refusal("NO_SLOT", "You have no empty Trick slot.", "TR-057")
    card = content.tricks[trick]
    if card.threshold > hall.fame[seat] + hall.coins[seat]:
        return Refusal("FAME_THRESHOLD", "You have too little Fame, and too few coins to make up for it.", "TR-061")
    if die not in DAHLGAARD:
        return Refusal("NO_SUCH_DIE", "Name one of Dahlgaard's dice.", "TR-A9" if die == NO_DIE else "TR-058")
    if hall.dice[die] == X:
        return Refusal("DIE_ON_X", "That die is on X.", "TR-036")
    return Refusal("ANOTHER_CATEGORY", "That die does not show the Trick's category.", "TR-058")
