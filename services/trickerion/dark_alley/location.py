"""The Dark Alley itself: special cards are drawn there, fortunes told, fates woven (TR-D16 to TR-D19, TR-D28)."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

from guildhall.kernel.cards import FRONT
from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    DrawCards,
    Location,
    Magician,
    PropheciesTurned,
    PutUnder,
    SpecialCardPutUnder,
    SpecialCardsDrawn,
    TellFortune,
    WeaveFate,
)
from services.trickerion import hooks, money
from services.trickerion.asking import Ask, HallTable, content_of
from services.trickerion.content import Action, Content
from services.trickerion.dark_alley import commands, prophecies
from services.trickerion.dark_alley.evolve import alley_of, cards_of
from services.trickerion.hall import Hall

COMMANDS = (DrawCards, TellFortune, WeaveFate)
DECKS = (Location.DOWNTOWN, Location.MARKET_ROW, Location.WORKSHOP, Location.THEATER)
AT_ONCE = 2
"""Cards of a draw."""


def options(hall: Hall, content: Content, seat: int, ap: int) -> list[Any]:
    """What a Character with so many action points can do in the Dark Alley."""
    alley = alley_of(hall)
    costs = hooks.of(hall).action_costs(hall, content)
    listed: list[Any] = draws(hall, content, ap)
    if not alley.with_prophecies:
        return listed
    if ap >= costs[Action.FORTUNE_TELLING] and (hall.rulings.fortune_unlimited or not alley.told):
        listed.append(commands.TELL_FORTUNE)
    if may_weave(hall, seat) and ap >= costs[Action.FATE_WEAVING]:
        listed += [commands.weave_fate(prophecy & FRONT) for prophecy in alley.pending]
    return listed


def draw_ap(hall: Hall, content: Content) -> int:
    """What the next draw of this placement costs: Draw First Card, then Draw Further Cards (TR-D16, TR-D17)."""
    action = Action.DRAW_FURTHER_CARDS if alley_of(hall).drew else Action.DRAW_FIRST_CARD
    return hooks.of(hall).action_costs(hall, content)[action]


def draws(hall: Hall, content: Content, ap: int) -> list[Any]:
    """The decks from which the Character that acts can draw (TR-AD3)."""
    if ap < draw_ap(hall, content):
        return []
    decks = cards_of(hall).decks
    return [commands.draw_cards(deck) for deck in DECKS if decks[deck]]


def may_weave(hall: Hall, seat: int) -> bool:
    """Whether a seat has Fate Weaving now (TR-D28, TR-AD7)."""
    return hall.magicians[seat] == Magician.PRIESTESS_OF_MYSTICISM and bool(
        alley_of(hall).active or hall.rulings.weave_without_active
    )


def act(table: HallTable, seat: int, command: Any) -> Sequence[Frame]:
    """Carry out a listed command."""
    hall, content = table.hall, table.content
    costs = hooks.of(hall).action_costs(hall, content)
    match command:
        case DrawCards(deck):
            return draw(table, seat, deck)
        case TellFortune():
            money.spend_ap(table, costs[Action.FORTUNE_TELLING])
            table.emit(PropheciesTurned(seat))
        case WeaveFate(prophecy):
            money.spend_ap(table, costs[Action.FATE_WEAVING])
            prophecies.weave(table, seat, prophecy)
    return ()


def draw(table: HallTable, seat: int, deck: int) -> Sequence[Frame]:
    """Draw two cards of a deck; which of them is kept is asked (TR-D16 to TR-D18)."""
    cards = cards_of(table.hall).decks[deck]
    drawn = tuple(card & FRONT for card in cards[: -AT_ONCE - 1 : -1])
    money.spend_ap(table, draw_ap(table.hall, table.content))
    table.emit(SpecialCardsDrawn(seat, deck, len(drawn), drawn))
    return (KeepCard(seat),)


class KeepCard(Ask, tag="keep_card"):
    """Which of the drawn cards go under their decks; before the first of them the seat may draw again (TR-AD4)."""

    begun: bool = False
    """Whether one has gone under."""

    ASKS: ClassVar[str] = "put a drawn card under its deck"
    RULE: ClassVar[str] = "TR-D16"
    EXPECTED: ClassVar[tuple[type, ...]] = (PutUnder, DrawCards)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if alley_of(hall).drawn_from else ()

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        listed: list[Any] = [
            commands.put_under(number, card & FRONT)
            for number, drawn in enumerate(cards_of(hall).drawn)
            for card in drawn
        ]
        return listed if self.begun else listed + draws(hall, content_of(hall), hall.ap)

    def default(self, hall: Hall, seat: int) -> PutUnder:
        """The first card drawn is kept."""
        return commands.put_under(0, cards_of(hall).drawn[0][-1] & FRONT)

    def why_not(self, hall: Hall, seat: int, command: PutUnder | DrawCards) -> Refusal:
        if isinstance(command, PutUnder):
            return Refusal("NOT_DRAWN", "You have not drawn that card in that draw.", "TR-D16")
        if self.begun:
            return Refusal("TOO_LATE", "You have begun to choose among the cards that you drew.", "TR-D18")
        return why_not_draw(hall, content_of(hall), hall.ap, command.deck)

    def choose(self, table: HallTable, seat: int, command: PutUnder | DrawCards) -> None:
        if isinstance(command, DrawCards):
            table.then(*draw(table, seat, command.deck))
        else:
            table.emit(SpecialCardPutUnder(seat, command.draw, command.card))
            table.then(KeepCard(seat, True))


_RULES: Final[dict[type[Any], tuple[Action, str]]] = {
    TellFortune: (Action.FORTUNE_TELLING, "TR-D19"),
    WeaveFate: (Action.FATE_WEAVING, "TR-D28"),
}


def why_not(hall: Hall, content: Content, seat: int, ap: int, command: Any) -> Refusal:
    """Why a command of the Dark Alley is not listed."""
    if isinstance(command, DrawCards):
        return why_not_draw(hall, content, ap, command.deck)
    action, rule = _RULES[type(command)]
    if not alley_of(hall).with_prophecies:
        return Refusal("NO_PROPHECIES", "This game is played without prophecies.", "TR-D08")
    if isinstance(command, WeaveFate) and not may_weave(hall, seat):
        if hall.magicians[seat] != Magician.PRIESTESS_OF_MYSTICISM:
            return Refusal("ANOTHER_MAGICIAN", "Only the Priestess of Mysticism weaves fates.", "TR-D28")
        return Refusal("NO_ACTIVE_PROPHECY", "No prophecy is active that could be discarded.", "TR-AD7")
    cost = hooks.of(hall).action_costs(hall, content)[action]
    if ap < cost:
        return Refusal("TOO_FEW_ACTION_POINTS", f"That costs {cost} action points; you have {ap}.", rule)
    if isinstance(command, WeaveFate):
        return Refusal("NOT_PENDING", "That prophecy is not pending.", rule)
    return Refusal("ONCE_A_PLACEMENT", "Fortunes are told once a placement.", "TR-AD5")


def why_not_draw(hall: Hall, content: Content, ap: int, deck: int) -> Refusal:
    """Why the Character cannot draw of that deck."""
    cost = draw_ap(hall, content)
    if ap < cost:
        rule = "TR-D17" if alley_of(hall).drew else "TR-D16"
        return Refusal("TOO_FEW_ACTION_POINTS", f"That costs {cost} action points; you have {ap}.", rule)
    if deck not in DECKS:
        return Refusal("NO_SUCH_DECK", "There is no deck of special cards for that Location.", "TR-D04")
    return Refusal("DECK_EMPTY", "That deck is empty.", "TR-AD3")
