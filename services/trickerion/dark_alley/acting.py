"""What a Character that acts can do besides with the Dark Alley: the Location, bonuses of special cards, abilities."""

from collections.abc import Sequence
from typing import Any, Final

from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    AbilityUsed,
    Assignment,
    BonusArmed,
    BonusSpent,
    EndPlacement,
    Enhance,
    Location,
    Magician,
    Order,
    ReturnComponents,
    ReturnTrick,
    SetUpPile,
    SetUpTrick,
    TakeActionPoint,
    UseAbility,
    UseBonus,
)
from services.trickerion import commands as base_commands
from services.trickerion import hooks, market_row, money, theater
from services.trickerion.asking import HallTable
from services.trickerion.content import Action, Content
from services.trickerion.dark_alley import (
    commands,
    downtown_cards,
    location,
    market_cards,
    theater_cards,
    workshop_cards,
)
from services.trickerion.dark_alley.cards import Bonus, BonusDone
from services.trickerion.dark_alley.evolve import alley_of
from services.trickerion.dark_alley.market_cards import Merchants
from services.trickerion.hall import APPRENTICES, Hall, location_of

CASES: Final[dict[int, Bonus]] = theater_cards.CASES | workshop_cards.CASES | downtown_cards.CASES | market_cards.CASES
"""The special cards that do more on the next action than their words say."""
PLAIN: Final[dict[int, Bonus]] = downtown_cards.PLAIN | {
    Action.SET_UP: theater_cards.PLAIN,
    Action.PREPARE: workshop_cards.PLAIN,
    Action.BUY: market_cards.PLAIN,
}
"""By Action: what it is with the other ones."""
ABILITY_AP = 1
"""What Mechanical Enhancement gives."""


def here(hall: Hall) -> int:
    """The Location of the Character that acts."""
    return location_of(hall.posts[hall.active][hall.actor])


def bonus_of(content: Content, front: int) -> Bonus | None:
    """What a special card makes of the next action; None: it acts otherwise, or it is no special card."""
    card = content.assignments[front]
    return CASES.get(front) if card.case else PLAIN.get(card.action)


def with_bonus(hall: Hall, content: Content, seat: int) -> list[Any]:
    """What the Character can do with the bonus that it has."""
    bonus = bonus_of(content, alley_of(hall).bonus)
    return bonus.options(hall, content, seat) if bonus is not None else []


def may_use_ability(hall: Hall, seat: int, first: bool) -> bool:
    """Whether Mechanical Enhancement can be used now (TR-D27, TR-AD23)."""
    return (
        hall.magicians[seat] == Magician.MECHANIKER
        and hall.actor in APPRENTICES
        and not alley_of(hall).used[seat]
        and here(hall) != Location.THEATER
        and (first or not hall.rulings.enhance_on_placing)
    )


def waits(content: Content, front: int) -> bool:
    """Whether a special card can wait for its action; others are chosen on placing, whatever the ruling (TR-AD1)."""
    return bonus_of(content, front) is not None or content.assignments[front].enhance_ap > 0


def may_give_up(hall: Hall, content: Content) -> bool:
    """Whether the bonus can be given up now for an action point (ruling `special_choice` = `at_action`, TR-AD1)."""
    alley = alley_of(hall)
    if not hall.rulings.special_at_action or not alley.bonus or alley.armed:
        return False
    used = hall.enhanced and content.assignments[alley.bonus].enhance_ap > 0
    return waits(content, alley.bonus) and not used


def is_asked(hall: Hall, content: Content, seat: int, first: bool) -> bool:
    """Whether a Character without action points may still do something."""
    return may_give_up(hall, content) or may_use_ability(hall, seat, first) or bool(with_bonus(hall, content, seat))


def options(hall: Hall, content: Content, seat: int, listed: list[Any], first: bool) -> list[Any]:
    """What the Character can do; `listed` is the base game's."""
    alley = alley_of(hall)
    ability = [commands.USE_ABILITY] if may_use_ability(hall, seat, first) else []
    if alley.armed:
        kept = [command for command in listed if command is base_commands.ENHANCE]
        return with_bonus(hall, content, seat) + kept + ability
    place = here(hall)
    if place == Location.DARK_ALLEY and hall.ap:
        listed += location.options(hall, content, seat, hall.ap)
    elif place == Location.THEATER and hall.ap >= hooks.of(hall).action_costs(hall, content)[Action.SET_UP]:
        listed += theater_cards.piles(hall, content, seat)
    if alley.bonus and with_bonus(hall, content, seat):
        listed.append(commands.USE_BONUS)
    if may_give_up(hall, content):
        listed.append(commands.TAKE_ACTION_POINT)
    return listed + ability


def act(table: HallTable, seat: int, command: Any) -> Sequence[Frame] | None:
    """Carry out a listed command; None: it is the base game's."""
    alley = alley_of(table.hall)
    if isinstance(command, UseAbility):
        table.emit(AbilityUsed(seat))
        money.gain_ap(table, ABILITY_AP)
        return ()
    if alley.armed:
        bonus = bonus_of(table.content, alley.bonus)
        assert bonus is not None
        return (*bonus.act(table, seat, command), BonusDone(seat))
    match command:
        case UseBonus():
            table.emit(BonusArmed(seat))
        case TakeActionPoint():
            table.emit(BonusSpent(seat))
            money.gain_ap(table, 1)
        case SetUpPile():
            return theater_cards.set_up_pile(table, seat, command)
        case Order() if alley.bonus == Assignment.TRAVELING_MERCHANTS:
            return (*market_row.act(table, seat, command), Merchants(seat, command.component))
        case _ if isinstance(command, location.COMMANDS):
            return location.act(table, seat, command)
        case _:
            return None
    return ()


FREE = (UseBonus, TakeActionPoint, UseAbility)
"""Commands that are no actions."""
_NEVER_THE_BONUS = (Enhance, EndPlacement, ReturnComponents, ReturnTrick)


def why_not(hall: Hall, content: Content, seat: int, command: Any) -> Refusal | None:
    """Why a command is not listed for a Character that acts; None: the base game says it."""
    alley = alley_of(hall)
    if isinstance(command, location.COMMANDS) and here(hall) != Location.DARK_ALLEY:
        name = content.places[Location.DARK_ALLEY].name
        return Refusal("ANOTHER_LOCATION", f"That is done at this Location: {name}.", "TR-055")
    if isinstance(command, UseBonus):
        return _why_not_bonus(hall, content)
    if isinstance(command, TakeActionPoint):
        return Refusal("NOTHING_TO_GIVE_UP", "There is no bonus that you could give up now.", "TR-AD1")
    if isinstance(command, UseAbility):
        return _why_not_ability(hall, seat)
    if alley.armed and not isinstance(command, _NEVER_THE_BONUS):
        name = content.assignments[alley.bonus].name
        return Refusal("NOT_WITH_BONUS", f"With the bonus of {name} that is not possible.", "TR-D12")
    if isinstance(command, location.COMMANDS):
        return location.why_not(hall, content, seat, hall.ap, command)
    if isinstance(command, SetUpPile):
        return _why_not_pile(hall, content, seat, command)
    return None


def _why_not_bonus(hall: Hall, content: Content) -> Refusal:
    alley = alley_of(hall)
    if not alley.bonus:
        return Refusal("NO_BONUS", "This Character has no bonus of a special card.", "TR-D12")
    name = content.assignments[alley.bonus].name
    if alley.armed:
        return Refusal("NO_BONUS", f"The next action has the bonus of {name} already.", "TR-D12")
    return Refusal("BONUS_OF_NO_USE", f"The bonus of {name} can do nothing now.", "TR-D14")


def _why_not_pile(hall: Hall, content: Content, seat: int, command: SetUpPile) -> Refusal:
    if command.trick not in theater_cards.pile_tricks(hall, seat):
        return Refusal("NO_PILE", "Only Electra, with two markers on a Trick, sets up a pile.", "TR-D33")
    if here(hall) != Location.THEATER:
        name = content.places[Location.THEATER].name
        return Refusal("ANOTHER_LOCATION", f"That is done at this Location: {name}.", "TR-055")
    one = SetUpTrick(command.trick, command.card, command.slot, command.direction)
    return theater.why_not(hall, content, seat, hall.ap, one)


def _why_not_ability(hall: Hall, seat: int) -> Refusal:
    if hall.magicians[seat] != Magician.MECHANIKER:
        return Refusal("ANOTHER_MAGICIAN", "Only the Mechaniker does that.", "TR-D27")
    if alley_of(hall).used[seat]:
        return Refusal("ONCE_A_TURN", "You have done that in this turn.", "TR-D27")
    if hall.actor in APPRENTICES and here(hall) != Location.THEATER:
        return Refusal("TOO_LATE", "An Apprentice is enhanced before its first action.", "TR-AD23")
    return Refusal("NOT_THIS_CHARACTER", "It is for an Apprentice that is not in the Theater.", "TR-D27")
