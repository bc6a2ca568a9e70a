"""A placement's actions: action points, Enhance, its end (TR-051 to TR-056). What can be done is the Locations'."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar, Final

from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    Cause,
    CharacterEnhanced,
    EndPlacement,
    Enhance,
    Location,
    PlacementEnded,
    ReturnComponents,
    ReturnTrick,
)
from services.trickerion import commands, downtown, hooks, market_row, money, returns, theater, workshop
from services.trickerion.asking import Ask, HallTable, content_of
from services.trickerion.content import Content
from services.trickerion.hall import NOBODY, Hall, location_of

LOCATIONS: Final[dict[int, ModuleType]] = {
    Location.DOWNTOWN: downtown,
    Location.MARKET_ROW: market_row,
    Location.WORKSHOP: workshop,
    Location.THEATER: theater,
}
"""Where the base game has actions; each module has COMMANDS, options, why_not and act."""
_LOCATION_OF: Final = {kind: location for location, module in LOCATIONS.items() for kind in module.COMMANDS}


def here(hall: Hall) -> int:
    """The Location of the Character that acts."""
    return location_of(hall.posts[hall.active][hall.actor])


def can_enhance(hall: Hall, content: Content, first: bool) -> bool:
    """Whether the Character that acts may be enhanced now; `first`: it has not acted yet (TR-054, TR-A36)."""
    return (
        not hall.enhanced
        and hall.shards[hall.active] >= content.enhance_shards
        and (first or not hall.rulings.enhance_on_placing)
        and hooks.of(hall).may_enhance(hall, content, here(hall))
    )


class Act(Ask, tag="act"):
    """What the Character just placed does; asked again after each action, until nothing is left to do (TR-A41)."""

    first: bool = False
    """Whether nothing was done yet."""

    ASKS: ClassVar[str] = "use the Character that you placed, or end its placement"
    RULE: ClassVar[str] = "TR-055"
    EXPECTED: ClassVar[tuple[type, ...]] = (Enhance, EndPlacement, ReturnComponents, ReturnTrick, *_LOCATION_OF)

    def asked(self, hall: Hall) -> Sequence[int]:
        if (
            hall.ap
            or can_enhance(hall, content_of(hall), self.first)
            or hooks.of(hall).act_asked(hall, self.seat, self.first)
        ):
            return (self.seat,)
        return ()

    def options(self, hall: Hall, seat: int) -> list[Any]:
        content = content_of(hall)
        module = LOCATIONS.get(here(hall))
        listed: list[Any] = module.options(hall, content, seat, hall.ap) if module is not None and hall.ap else []
        if can_enhance(hall, content, self.first):
            listed.append(commands.ENHANCE)
        listed = hooks.of(hall).act_options(hall, content, seat, listed, self.first)
        listed += returns.options(hall, seat)
        listed.append(commands.END_PLACEMENT)
        return listed

    def default(self, hall: Hall, seat: int) -> Any:
        return commands.END_PLACEMENT

    def why(self, hall: Hall, seat: int, command: Any) -> Refusal:
        content = content_of(hall)
        refusal = hooks.of(hall).why_not_act(hall, content, seat, command)
        return refusal or super().why(hall, seat, command)

    def why_not(self, hall: Hall, seat: int, command: Any) -> Refusal:
        content = content_of(hall)
        if isinstance(command, Enhance):
            return self._why_not_enhance(hall, content)
        if isinstance(command, ReturnComponents | ReturnTrick):
            return returns.why_not(hall, seat, command)
        location = _LOCATION_OF[type(command)]
        if location != here(hall):
            name = content.places[location].name
            return Refusal("ANOTHER_LOCATION", f"That is done at this Location: {name}.", "TR-055")
        refusal: Refusal = LOCATIONS[location].why_not(hall, content, seat, hall.ap, command)
        return refusal

    def _why_not_enhance(self, hall: Hall, content: Content) -> Refusal:
        if not hooks.of(hall).may_enhance(hall, content, here(hall)):
            return Refusal("NO_ENHANCE_HERE", "Characters cannot be enhanced in the Theater.", "TR-104")
        if hall.enhanced:
            return Refusal("ALREADY_ENHANCED", "A Character is enhanced once a placement.", "TR-054")
        if hall.shards[hall.active] < content.enhance_shards:
            return Refusal("NO_SHARDS", "You have no Shard.", "TR-054")
        return Refusal("TOO_LATE", "Characters are enhanced before their first action.", "TR-A36")

    def choose(self, table: HallTable, seat: int, command: Any) -> None:
        if isinstance(command, EndPlacement):
            return
        if isinstance(command, Enhance):
            enhance(table, seat)
            table.then(Act(seat, self.first))
        elif isinstance(command, ReturnComponents | ReturnTrick):
            returns.act(table, seat, command)
            table.then(Act(seat, self.first))
        else:
            hooking = hooks.of(table.hall)
            frames = hooking.act(table, seat, command)
            if frames is None:
                frames = LOCATIONS[_LOCATION_OF[type(command)]].act(table, seat, command)
            table.then(*frames, Act(seat, self.first and hooking.is_no_action(command)))


def enhance(table: HallTable, seat: int) -> None:
    """A Shard for more action points."""
    hall, content = table.hall, table.content
    more = hooks.of(hall).enhance_ap(hall, content)
    money.spend_shards(table, seat, content.enhance_shards, Cause.ENHANCE)
    table.emit(CharacterEnhanced(seat))
    money.gain_ap(table, more)


class PlacementOver(Frame, tag="placement_over"):
    """The placement ends; action points that are left are lost (TR-055)."""

    def run(self, table: HallTable) -> None:
        if table.hall.active != NOBODY:
            table.emit(PlacementEnded(table.hall.active))
