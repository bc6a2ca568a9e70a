"""The Workshop: Prepare, and the moves that Specialists open (TR-090 to TR-101)."""

from collections.abc import Sequence
from typing import Any, Final

from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    ApprenticeMoved,
    ComponentsMoved,
    MarkersPrepared,
    Member,
    MoveApprentice,
    MoveComponents,
    MoveTrick,
    Prepare,
    TrickMoved,
)
from services.trickerion import commands, hooks, money
from services.trickerion.asking import HallTable
from services.trickerion.components import meets, most_tokens
from services.trickerion.content import Action, Content
from services.trickerion.hall import ABSENT, APPRENTICES, ENGINEERS_SLOT, HOME, READY, Hall, has

COMMANDS = (Prepare, MoveTrick, MoveComponents, MoveApprentice)


def options(hall: Hall, content: Content, seat: int, ap: int) -> list[Any]:
    """What a Character with so many action points can do."""
    costs = hooks.of(hall).action_costs(hall, content)
    listed: list[Any] = [
        commands.prepare(trick)
        for slot, trick in enumerate(hall.tricks[seat])
        if trick and content.tricks[trick].ap <= ap and can_prepare(hall, content, seat, slot)
    ]
    if ap >= costs[Action.MOVE_TRICKS]:
        listed += [commands.move_trick(trick) for trick in movable_tricks(hall, seat)]
    if ap >= costs[Action.MOVE_COMPONENTS]:
        listed += component_moves(hall, content, seat)
    if ap >= costs[Action.MOVE_APPRENTICES]:
        listed += [commands.move_apprentice(member) for member in movable_apprentices(hall, seat)]
    return listed


# --- Prepare


def can_prepare(hall: Hall, content: Content, seat: int, slot: int) -> bool:
    """Whether the Trick on a slot may be prepared, action points aside (TR-093, TR-094, TR-A13)."""
    return (
        not hall.prepared[seat][slot]
        and hall.supply[seat][hall.symbols[seat][slot]] > 0
        and meets(hall, content, seat, hall.tricks[seat][slot])
    )


def markers_for(hall: Hall, content: Content, seat: int, slot: int, more: int = 0) -> int:
    """How many markers Prepare puts on the Trick on a slot (TR-092, TR-096, TR-097, TR-A13)."""
    printed = content.tricks[hall.tricks[seat][slot]].markers + more
    if slot == ENGINEERS_SLOT:
        printed += content.engineer_markers
    return max(0, min(printed, hall.supply[seat][hall.symbols[seat][slot]]))


def prepare(table: HallTable, seat: int, slot: int, markers: int) -> None:
    """Put markers of its symbol on the Trick on a slot; Components stay (TR-095)."""
    if markers:
        table.emit(MarkersPrepared(seat, table.hall.tricks[seat][slot], markers))


# --- moves


def movable_tricks(hall: Hall, seat: int) -> list[int]:
    """Tricks that can move onto the Engineer's slot (TR-098, TR-099)."""
    return [trick for trick in hall.tricks[seat][:ENGINEERS_SLOT] if trick] if has(hall, seat, Member.ENGINEER) else []


def component_moves(hall: Hall, content: Content, seat: int) -> list[MoveComponents]:
    """Piles that can move onto a slot of the Manager's, with what they are exchanged for (TR-098, TR-100, TR-A44)."""
    if not has(hall, seat, Member.MANAGER):
        return []
    multi = hall.multi[seat]
    most = most_tokens(hall, content, True)
    return [
        commands.move_components(component, there)
        for component, tokens in enumerate(hall.piles[seat])
        if 0 < tokens <= most and component not in multi
        for there in sorted(set(multi))
    ]


def movable_apprentices(hall: Hall, seat: int) -> list[int]:
    """Apprentices that can move onto the Assistant's slot (TR-098, TR-101, TR-A17)."""
    posts = hall.posts[seat]
    if not has(hall, seat, Member.ASSISTANT) or posts[Member.ASSISTANTS_APPRENTICE] != ABSENT:
        return []
    members: list[int] = [member for member in APPRENTICES[:3] if posts[member] != ABSENT]
    if hall.rulings.apprentice_at_home:
        return [member for member in members if posts[member] <= HOME]
    return members


def act(table: HallTable, seat: int, command: Any) -> Sequence[Frame]:
    """Carry out a listed command."""
    hall, content = table.hall, table.content
    costs = hooks.of(hall).action_costs(hall, content)
    match command:
        case Prepare(trick):
            slot = hall.tricks[seat].index(trick)
            money.spend_ap(table, content.tricks[trick].ap)
            prepare(table, seat, slot, markers_for(hall, content, seat, slot))
        case MoveTrick(trick):
            money.spend_ap(table, costs[Action.MOVE_TRICKS])
            table.emit(TrickMoved(seat, trick))
        case MoveComponents(component, exchanged):
            money.spend_ap(table, costs[Action.MOVE_COMPONENTS])
            table.emit(ComponentsMoved(seat, component, exchanged))
        case MoveApprentice(member):
            money.spend_ap(table, costs[Action.MOVE_APPRENTICES])
            table.emit(ApprenticeMoved(seat, member))
    return ()


_MOVES: Final[dict[type[Any], tuple[int, int, str]]] = {
    MoveTrick: (Action.MOVE_TRICKS, Member.ENGINEER, "TR-099"),
    MoveComponents: (Action.MOVE_COMPONENTS, Member.MANAGER, "TR-100"),
    MoveApprentice: (Action.MOVE_APPRENTICES, Member.ASSISTANT, "TR-101"),
}


def why_not(hall: Hall, content: Content, seat: int, ap: int, command: Any) -> Refusal:
    """Why a command of the Workshop is not listed."""
    if isinstance(command, Prepare):
        return _why_not_prepare(hall, content, seat, ap, command.trick)
    action, specialist, rule = _MOVES[type(command)]
    cost = hooks.of(hall).action_costs(hall, content)[action]
    if not has(hall, seat, specialist):
        name = content.characters[specialist].name
        return Refusal("NO_SPECIALIST", f"For that you need this Specialist on your team: {name}.", "TR-098")
    if ap < cost:
        return Refusal("TOO_FEW_ACTION_POINTS", f"That costs {cost} action points; you have {ap}.", rule)
    if isinstance(command, MoveTrick):
        return Refusal("NO_SUCH_TRICK", "You have no such Trick on your board's own slots.", rule)
    if isinstance(command, MoveComponents):
        return _why_not_components(hall, seat, command)
    if hall.posts[seat][Member.ASSISTANTS_APPRENTICE] != ABSENT:
        return Refusal("SLOT_TAKEN", "An Apprentice is on the Assistant's slot.", rule)
    if command.member in APPRENTICES[:3] and hall.posts[seat][command.member] not in (ABSENT, HOME, READY):
        return Refusal("NOT_AT_HOME", "That Apprentice was placed.", "TR-A17")
    return Refusal("NO_SUCH_APPRENTICE", "You have no such Apprentice.", rule)


def _why_not_prepare(hall: Hall, content: Content, seat: int, ap: int, trick: int) -> Refusal:
    if not trick or trick not in hall.tricks[seat]:
        return Refusal("NOT_YOUR_TRICK", "You have no such Trick.", "TR-091")
    slot = hall.tricks[seat].index(trick)
    cost = content.tricks[trick].ap
    if ap < cost:
        return Refusal("TOO_FEW_ACTION_POINTS", f"That costs {cost} action points; you have {ap}.", "TR-091")
    if hall.prepared[seat][slot]:
        return Refusal("PREPARED_ALREADY", "Markers lie on that Trick.", "TR-094")
    if not meets(hall, content, seat, trick):
        return Refusal("COMPONENTS_MISSING", "You do not have the Components that the Trick needs.", "TR-093")
    return Refusal("NO_MARKERS", "You have no marker of its symbol left.", "TR-096")


def _why_not_components(hall: Hall, seat: int, command: MoveComponents) -> Refusal:
    piles, multi = hall.piles[seat], hall.multi[seat]
    if not 0 < command.component < len(piles) or not piles[command.component]:
        return Refusal("NO_SUCH_PILE", "You have no such Component.", "TR-100")
    if command.component in multi:
        return Refusal("THERE_ALREADY", "That pile lies on a slot of the Manager's.", "TR-A38")
    if command.exchanged not in multi:
        if command.exchanged:
            return Refusal("NOT_THERE", "That pile does not lie on a slot of the Manager's.", "TR-100")
        return Refusal("SLOT_TAKEN", "Piles lie on both slots of the Manager's.", "TR-100")
    return Refusal("AT_MOST_THREE", "That pile would count too many there; put one back first.", "TR-A12")
