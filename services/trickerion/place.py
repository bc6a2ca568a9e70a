"""Place Characters: in initiative order one Character each, round after round (TR-046 to TR-050)."""

from collections.abc import Sequence
from typing import Any, ClassVar

from guildhall.kernel.cards import FRONT
from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    CharacterIdled,
    CharacterPlaced,
    Decline,
    Declined,
    MakeIdle,
    Member,
    Phase,
    PhaseStarted,
    Place,
    PlacementEnded,
    ReturnComponents,
    ReturnTrick,
)
from services.trickerion import commands, hooks, returns, town
from services.trickerion.actions import Act, PlacementOver
from services.trickerion.asking import Ask, HallTable, content_of
from services.trickerion.hall import MEMBERS, READY, Hall, in_theater, is_performance_slot, location_of, weekday_of

_MAGICIAN = int(Member.MAGICIAN)


class PlaceCharacters(Frame, tag="place_characters"):
    """The phase begins; all cards are turned up."""

    def run(self, table: HallTable) -> None:
        table.emit(PhaseStarted(Phase.PLACE_CHARACTERS, table.hall.turn))
        table.then(PlaceRound())


class PlaceRound(Frame, tag="place_round"):
    """One Character of each seat, and the next round; over when none is left to place (TR-047)."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        if any(READY in posts for posts in hall.posts):
            table.then(*(PlaceTurn(seat) for seat in hall.initiative if READY in hall.posts[seat]), PlaceRound())


class PlaceTurn(Ask, tag="place"):
    """A seat places a Character, or makes one idle."""

    placed: int = 0
    """Characters that it has placed in this turn of the round."""

    ASKS: ClassVar[str] = "place a Character, or make one idle"
    RULE: ClassVar[str] = "TR-047"
    EXPECTED: ClassVar[tuple[type, ...]] = (Place, MakeIdle, Decline, ReturnComponents, ReturnTrick)

    def asked(self, hall: Hall) -> Sequence[int]:
        if READY not in hall.posts[self.seat]:
            return ()
        if self.placed and not hooks.of(hall).turn_goes_on(hall, self.placed):
            return ()
        return (self.seat,)

    def options(self, hall: Hall, seat: int) -> list[Any]:
        assignments = content_of(hall).assignments
        hooking = hooks.of(hall)
        posts, assigned = hall.posts[seat], hall.assigned[seat]
        listed: list[Any] = [commands.DECLINE] if self.placed else []
        free: dict[tuple[int, bool], list[int]] = {}
        for member in MEMBERS:
            if posts[member] == READY:
                location = assignments[assigned[member] & FRONT].location
                for at in hooking.locations(hall, seat, member, location):
                    key = (at, member == _MAGICIAN)
                    slots = free.get(key)
                    if slots is None:
                        slots = free[key] = town.unoccupied(hall, seat, *key)
                    slots = hooking.place_slots(hall, seat, member, slots)
                    listed += [commands.place(member, slot) for slot in slots]
                listed.append(commands.make_idle(member))
        listed += returns.options(hall, seat)
        return listed

    def default(self, hall: Hall, seat: int) -> Any:
        return commands.DECLINE if self.placed else commands.make_idle(hall.posts[seat].index(READY))

    def why_not(self, hall: Hall, seat: int, command: Any) -> Refusal:
        if isinstance(command, ReturnComponents | ReturnTrick):
            return returns.why_not(hall, seat, command)
        if isinstance(command, Decline):
            return Refusal("PLACE_OR_IDLE", "Place a Character, or make one idle; there is no passing.", "TR-047")
        posts = hall.posts[seat]
        if command.member not in MEMBERS or posts[command.member] != READY:
            return Refusal("NOT_ASSIGNED", "No card lies under that Character, or it was used already.", "TR-045")
        card = content_of(hall).assignments[hall.assigned[seat][command.member] & FRONT]
        if location_of(command.slot) not in hooks.of(hall).locations(hall, seat, command.member, card.location):
            return Refusal("ANOTHER_LOCATION", f"Its card is for another Location: {card.name}.", "TR-048")
        return _why_not_slot(hall, seat, command.member, command.slot)

    def choose(self, table: HallTable, seat: int, command: Any) -> None:
        if isinstance(command, MakeIdle):
            table.emit(CharacterIdled(seat, command.member))
        elif isinstance(command, Place):
            self._place(table, seat, command.member, command.slot)
        elif isinstance(command, Decline):
            table.emit(Declined(seat))
        else:
            returns.act(table, seat, command)
            table.then(PlaceTurn(seat, self.placed))

    def _place(self, table: HallTable, seat: int, member: int, slot: int) -> None:
        frames = place(table, seat, member, slot)
        table.then(*frames, *hooks.of(table.hall).after_placement(seat, self.placed + 1))


def place(table: HallTable, seat: int, member: int, slot: int) -> Sequence[Frame]:
    """Place a Character on a slot; the frames of what it does there."""
    hooking = hooks.of(table.hall)
    hooking.before_placing(table, seat, member, slot)
    table.emit(CharacterPlaced(seat, member, slot, town.action_points(table.hall, seat, member, slot)))
    frames = hooking.placed(table, seat, member)
    if in_theater(slot) and is_performance_slot(slot):
        if frames:
            return (*frames, PlacementOver())
        table.emit(PlacementEnded(seat))
        return ()
    return (*frames, Act(seat, True), PlacementOver())


def _why_not_slot(hall: Hall, seat: int, member: int, slot: int) -> Refusal:
    """Why a slot of the right Location is not open."""
    if slot in town.unoccupied(hall, seat, location_of(slot), member == _MAGICIAN):
        forbidden = hooks.of(hall).why_not_slot(hall, seat, slot)
        if forbidden is not None:
            return forbidden
    if in_theater(slot):
        return _why_not_day(hall, seat, member, slot)
    return Refusal("SLOT_TAKEN", "That slot is taken, or closed.", "TR-048")


def _why_not_day(hall: Hall, seat: int, member: int, slot: int) -> Refusal:
    """Why a slot of the Theater is not open."""
    if weekday_of(slot) not in town.open_days(hall, seat):
        if any(in_theater(post) for post in hall.posts[seat]):
            return Refusal("ANOTHER_WEEKDAY", "Your Characters stand on another weekday.", "TR-102")
        return Refusal("WEEKDAY_OCCUPIED", "An opponent occupies that weekday.", "TR-103")
    if is_performance_slot(slot) and member != Member.MAGICIAN:
        return Refusal("MAGICIANS_ONLY", "Only Magicians stand on a Performance slot.", "TR-105")
    return Refusal("SLOT_TAKEN", "That slot is taken.", "TR-048")
