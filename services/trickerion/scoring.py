"""Final scoring, and who has won (TR-146 to TR-152)."""

from collections.abc import Callable
from typing import Final

from guildhall.kernel.cards import FRONT, UNKNOWN
from guildhall.kernel.frames import Frame
from guildhall.trickerion.v1.structs import Cause, Member, Phase, PhaseStarted
from services.trickerion import hooks, money
from services.trickerion.asking import HallTable, content_of
from services.trickerion.content import FIRST_SPECIAL, Content
from services.trickerion.hall import NOTHING, Hall, apprentices, has


def specialists(hall: Hall, seat: int) -> int:
    """How many Specialists are on a seat's team."""
    return sum(has(hall, seat, member) for member in (Member.ENGINEER, Member.MANAGER, Member.ASSISTANT))


def specials_in_hand(hall: Hall, seat: int) -> int:
    """How many special Assignment cards a seat holds; where its viewer cannot tell (prophecy 20), the fewest."""
    hand = [card & FRONT for card in hall.hands[seat]]
    specials = sum(front >= FIRST_SPECIAL for front in hand)
    unknown = hand.count(UNKNOWN)
    if not unknown:
        return specials
    under = [card & FRONT for card in hall.assigned[seat] if card != NOTHING]
    seen = sum(UNKNOWN < front < FIRST_SPECIAL for front in (*hand, *under))
    permanent = len(content_of(hall).hand(hall.dark_alley))
    return specials + max(0, unknown - (permanent - seen))


LINES: Final[dict[str, tuple[Cause, Callable[[Hall, int], int]]]] = {
    "shards": (Cause.FINAL_SHARDS, lambda hall, seat: hall.shards[seat]),
    "coins": (Cause.FINAL_COINS, lambda hall, seat: hall.coins[seat]),
    "apprentices": (Cause.FINAL_APPRENTICES, apprentices),
    "specialists": (Cause.FINAL_SPECIALISTS, specialists),
    "special_assignments_in_hand": (Cause.FINAL_ASSIGNMENTS, specials_in_hand),
}
"""What each line of the pack counts, and why its Fame is gained."""


def final_fame(hall: Hall, content: Content, seat: int) -> list[tuple[int, int]]:
    """(Cause, Fame) of each line of a seat's final scoring, each within its limit (TR-147 to TR-151)."""
    lines = []
    for line in content.scoring:
        if line.editions[hall.dark_alley]:
            cause, count = LINES[line.line]
            lines.append((int(cause), min(count(hall, seat) // line.per * line.fame, content.scoring_cap)))
    return hooks.of(hall).final_fame(hall, content, seat, lines)


class FinalScoring(Frame, tag="final_scoring"):
    """After the last turn (TR-146). All lines are counted before any is paid."""

    def run(self, table: HallTable) -> None:
        hall = table.hall
        table.emit(PhaseStarted(Phase.GAME_END, hall.turn))
        for seat in hall.initiative:
            for cause, fame in final_fame(hall, table.content, seat):
                money.gain_fame(table, seat, fame, cause)
        table.end()


def ranks(hall: Hall) -> list[int]:
    """Most Fame first; of equals who is ahead by initiative (TR-152). Before there is an order, equals share."""
    place = {seat: number for number, seat in enumerate(hall.initiative)}
    scores = [(-fame, place.get(seat, 0)) for seat, fame in enumerate(hall.fame)]
    return [1 + sum(other < score for other in scores) for score in scores]
