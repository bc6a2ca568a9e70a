"""The Performance phase: from Thursday to Sunday, whoever's Magician stands on a Performance slot performs a card."""

from collections.abc import Iterable, Sequence
from typing import Any

from guildhall.kernel.frames import Frame
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1.structs import (
    CardPerformed,
    Cause,
    Decline,
    Declined,
    MarkersReturned,
    Member,
    Perform,
    Phase,
    PhaseStarted,
    Weekday,
    WeekdayStarted,
)
from services.trickerion import hooks, money
from services.trickerion.asking import Ask, HallTable
from services.trickerion.content import Yield
from services.trickerion.hall import NOBODY, Hall, display_of, in_theater, is_performance_slot, seat_of, weekday_of
from services.trickerion.yields import bonuses, yields

DAYS = (Weekday.THURSDAY, Weekday.FRIDAY, Weekday.SATURDAY, Weekday.SUNDAY)


class Performance(Frame, tag="performance"):
    """The phase: day by day, not by initiative (TR-120)."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        hook = hooks.of(hall)
        table.emit(PhaseStarted(Phase.PERFORMANCE, hall.turn))
        days = [PerformanceDay(day) for day in DAYS]
        table.then(*hook.before_performances(hall), *days, *hook.after_performances(hall))


class PerformanceDay(Frame, tag="performance_day"):
    """One weekday (TR-120)."""

    day: int

    def run(self, table: HallTable) -> None:
        hall = table.hall
        performer = performer_on(hall, self.day)
        if performer != NOBODY:
            table.emit(WeekdayStarted(self.day))
            table.then(*(hooks.of(hall).instead_of_choosing(hall, performer) or (ChooseCard(performer),)))


def performer_on(hall: Hall, day: int) -> int:
    """The seat whose Magician stands on that day's Performance slot, or NOBODY (TR-118)."""
    for seat, posts in enumerate(hall.posts):
        post = posts[Member.MAGICIAN]
        if in_theater(post) and is_performance_slot(post) and weekday_of(post) == day:
            return seat
    return NOBODY


def own_markers(hall: Hall, seat: int) -> list[tuple[int, int]]:
    """(card, own markers) of each card on display with a marker of that seat, from slot 1 on."""
    found = []
    for card, markers in zip(display_of(hall), hall.stage, strict=True):
        own = sum(1 for marker in markers if marker and seat_of(marker) == seat)
        if own:
            found.append((card, own))
    return found


class ChooseCard(Ask, tag="perform"):
    """Which card a performer performs, if any (TR-121, TR-A4); without an own marker on display nothing is asked."""

    seat: int

    ASKS = "choose the Performance card that you perform"
    RULE = "TR-121"
    EXPECTED = (Perform, Decline)

    def asked(self, hall: Hall) -> Sequence[int]:
        return (self.seat,) if own_markers(hall, self.seat) else ()

    def options(self, hall: Hall, seat: int) -> Iterable[Any]:
        yield from (Perform(card) for card, _ in own_markers(hall, seat))
        if not hall.rulings.must_perform:
            yield Decline()

    def default(self, hall: Hall, seat: int) -> Perform:
        """The card with most own markers; of equals the newest."""
        return Perform(max(own_markers(hall, seat), key=lambda found: found[1])[0])

    def choose(self, table: HallTable, seat: int, command: Perform | Decline) -> None:
        if isinstance(command, Decline):
            table.emit(Declined(seat))
        else:
            perform(table, seat, command.card)

    def why_not(self, hall: Hall, seat: int, command: Perform | Decline) -> Refusal:
        if isinstance(command, Decline):
            return Refusal("MUST_PERFORM", "In this game a performer has to perform.", "TR-A4")
        if command.card not in display_of(hall):
            return Refusal("NOT_ON_DISPLAY", "That Performance card is not on display.", "TR-121")
        return Refusal("NO_OWN_MARKER", "You perform a card with at least one marker of your own.", "TR-121")


def perform(table: HallTable, seat: int, card: int) -> None:
    """A seat performs a card: what is asked of it first, then the payment."""
    table.emit(CardPerformed(seat, card))
    table.then(*hooks.of(table.hall).before_yields(table.hall, seat, card), PayYields(seat, card))


class PayYields(Frame, tag="pay_yields"):
    """Yields to every owner, bonuses to the performer, markers back to the supplies (TR-122 to TR-133)."""

    seat: int
    card: int

    def run(self, table: HallTable) -> None:
        hall, content = table.hall, table.content
        paid = yields(hall, content, self.seat, self.card)
        extra = bonuses(hall, content, self.seat, self.card)
        for seat in (self.seat, *(other for other in hall.initiative if other != self.seat)):
            _pay(table, seat, [each.amount for each in paid if each.seat == seat], Cause.YIELD)
        _pay(table, self.seat, extra, Cause.PERFORMER)
        hooks.of(hall).card_performed(table, self.seat, self.card)
        table.emit(MarkersReturned(self.card))


def _pay(table: HallTable, seat: int, amounts: Sequence[Yield], cause: Cause) -> None:
    """Pay all of these at once; with ruling `shard_event` = `source` the Shards of each apart (TR-AD11)."""
    money.gain_fame(table, seat, sum(amount.fame for amount in amounts), cause)
    money.gain_coins(table, seat, sum(amount.coins for amount in amounts), cause)
    shards = [amount.shards for amount in amounts]
    for receipt in shards if table.hall.rulings.shard_sources else [sum(shards)]:
        money.gain_shards(table, seat, receipt, cause)
