"""Matching: which waiting tickets play together.

A pass looks at the tickets of the same terms, the oldest first. Each is an *anchor*: the first number of seats that it
accepts by now and that can be filled gets it a match, of those nearest to it in rating and, among equally near ones, of
the oldest. So of two tickets that differ in age only, the younger is never matched before the older. How far an anchor
looks widens while it waits (`widening`), without limit in the end: who waits longer than `ALL_OPEN_MS` is passed over
only for older tickets. What then still waits may be filled up with bots, where all in the match agree to the same ones.

A pass is planned as a generator and carried out in slices, so that no entry grows without bound and commands come in
between; what changed meanwhile is skipped, and looked at in the next pass. Its cost is near linear: each ticket stands
in one ordered place for each number of seats, and an anchor takes from the front of few of them.
"""

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from services.matchmaking import offers, ratings
from services.matchmaking.pool import Pool, Ticket
from services.matchmaking.step import Step
from services.matchmaking.widening import BUCKET, open_sizes, reach

MOST_OFFERS = 25
"""So many offers are made in one entry: a few milliseconds, in which nobody is answered (decision 32)."""
SLICE = 500
"""So many tickets are looked at in one slice, at most."""
REST = 9
"""Between passes nothing is matched for so many times as long as a pass took: a tenth of the time goes to matching."""


class Match(NamedTuple):
    """Tickets, the oldest first, and the strengths of the bots beside them."""

    tickets: list[Ticket]
    bots: list[str]


class Candidate:
    """A waiting ticket as one pass sees it."""

    __slots__ = ("age", "bucket", "party", "reach", "sizes", "taken", "ticket")

    def __init__(self, pool: Pool, ticket: Ticket, now_ms: int) -> None:
        waited_ms = now_ms - ticket.since_ms
        self.ticket = ticket
        self.age = ticket.age
        self.party = len(ticket.subjects)
        self.sizes = open_sizes(ticket.seats, waited_ms)
        self.bucket = rating_of(pool, ticket) // BUCKET
        self.reach = reach(waited_ms)
        self.taken = False


def rating_of(pool: Pool, ticket: Ticket) -> int:
    """What a ticket is matched by: the mean mu of its subjects, in millionths."""
    return sum(ratings.rating_of(pool, subject).mu for subject in ticket.subjects) // len(ticket.subjects)


class Line:
    """Candidates of one size of party that accept one number of seats, by rating and then by age."""

    def __init__(self) -> None:
        self.length = 0
        self._buckets: list[int] = []
        self._of_bucket: dict[int, OrderedDict[tuple[int, int], Candidate]] = {}

    def add(self, candidate: Candidate) -> None:
        """Candidates come in order of age."""
        found = self._of_bucket.get(candidate.bucket)
        if found is None:
            insort(self._buckets, candidate.bucket)
            found = self._of_bucket[candidate.bucket] = OrderedDict()
        found[candidate.age] = candidate
        self.length += 1

    def remove(self, candidate: Candidate) -> None:
        """Take a candidate out."""
        found = self._of_bucket[candidate.bucket]
        del found[candidate.age]
        self.length -= 1
        if not found:
            del self._of_bucket[candidate.bucket]
            del self._buckets[bisect_left(self._buckets, candidate.bucket)]

    def nearest(self, anchor: Candidate, most: int) -> list[Candidate]:
        """At most so many within the anchor's reach: the nearest, of equally near buckets those below, the oldest."""
        found: list[Candidate] = []
        buckets, here = self._buckets, anchor.bucket
        above = bisect_left(buckets, here)
        below = above - 1
        while len(found) < most:
            up = buckets[above] - here if above < len(buckets) else None
            down = here - buckets[below] if below >= 0 else None
            if down is not None and (up is None or down <= up):
                distance, bucket = down, buckets[below]
                below -= 1
            elif up is not None:
                distance, bucket = up, buckets[above]
                above += 1
            else:
                break
            if distance > anchor.reach:
                break
            # One more, as the anchor itself may be among them.
            others = [each for each in islice(self._of_bucket[bucket].values(), most + 1) if each is not anchor]
            found += others[: most - len(found)]
        return found


class Crowd:
    """The candidates of one pass that are not taken, in lines by (number of seats, size of party)."""

    def __init__(self) -> None:
        self._lines: dict[tuple[int, int], Line] = {}

    def add(self, candidate: Candidate) -> None:
        """Candidates come in order of age."""
        for seats in candidate.sizes:
            self._lines.setdefault((seats, candidate.party), Line()).add(candidate)

    def remove(self, candidate: Candidate) -> None:
        """Take a candidate out."""
        for seats in candidate.sizes:
            self._lines[seats, candidate.party].remove(candidate)

    def full_match(self, anchor: Candidate) -> list[Candidate] | None:
        """The anchor with others that fill a game exactly; None: there are none."""
        for seats in anchor.sizes:
            best: tuple[int, list[Candidate]] | None = None
            for parts in partitions(seats - anchor.party):
                others = self._others(anchor, seats, parts)
                if others is not None:
                    distance = max((abs(each.bucket - anchor.bucket) for each in others), default=0)
                    if best is None or distance < best[0]:
                        best = distance, others
            if best is not None:
                return [anchor, *best[1]]
        return None

    def _others(self, anchor: Candidate, seats: int, parts: tuple[tuple[int, int], ...]) -> list[Candidate] | None:
        for party, wanted in parts:
            line = self._lines.get((seats, party))
            if line is None or line.length < wanted + (party == anchor.party):
                return None
        others: list[Candidate] = []
        for party, wanted in parts:
            found = self._lines[seats, party].nearest(anchor, wanted)
            if len(found) < wanted:
                return None
            others += found
        return others

    def most_of_a_match(self, anchor: Candidate) -> tuple[list[Candidate], int]:
        """The anchor with as many others as there are for the number of seats it likes best, large parties first; and
        how many seats stay empty.
        """
        seats = anchor.sizes[0]
        group, room = [anchor], seats - anchor.party
        for party in range(room, 0, -1):
            line = self._lines.get((seats, party))
            if line is not None and room >= party:
                found = line.nearest(anchor, room // party)
                group += found
                room -= party * len(found)
        return group, room


@lru_cache(maxsize=64)
def partitions(total: int, largest: int | None = None) -> tuple[tuple[tuple[int, int], ...], ...]:
    """All ways to sum up to `total`, each as (part, how often), large parts first: 2 is `((2, 1),)` or `((1, 2),)`."""
    if total == 0:
        return ((),)
    ways = []
    for part in range(min(total, largest or total), 0, -1):
        for often in range(total // part, 0, -1):
            rest = total - part * often
            if rest and part == 1:
                continue
            ways += [((part, often), *others) for others in (partitions(rest, part - 1) if rest else ((),))]
    return tuple(ways)


# --- a pass


def plan(pool: Pool, terms_ids: list[str], now_ms: int) -> Iterator[Match | None]:
    """The matches of one pass over the tickets of these terms; None: a slice is over, without a match."""
    full = _Slices().full
    for terms_id in terms_ids:
        yield from _plan_terms(pool, terms_id, now_ms, full)


class _Slices:
    """Counts the tickets that a pass looks at, whatever their terms."""

    def __init__(self) -> None:
        self._looked_at = 0

    def full(self) -> bool:
        """One more ticket: whether a slice is over."""
        self._looked_at += 1
        return self._looked_at % SLICE == 0


def _plan_terms(pool: Pool, terms_id: str, now_ms: int, full: Callable[[], bool]) -> Iterator[Match | None]:
    crowd, everybody = Crowd(), []
    tickets = [pool.tickets[ticket_id] for ticket_id in pool.waiting.get(terms_id, ())]
    tickets.sort(key=attrgetter("since_ms", "number"))
    for ticket in tickets:
        candidate = Candidate(pool, ticket, now_ms)
        crowd.add(candidate)
        everybody.append(candidate)
        if full():
            yield None
    for anchor in everybody:
        if not anchor.taken and _waits(pool, anchor):
            group = crowd.full_match(anchor)
            if group is not None and _take(pool, crowd, group):
                yield Match([each.ticket for each in group], [])
        if full():
            yield None
    yield from _plan_bots(pool, everybody, now_ms, full)


def _plan_bots(pool: Pool, everybody: list[Candidate], now_ms: int, full: Callable[[], bool]) -> Iterator[Match | None]:
    """Whoever still waits and may have bots by now: they play together, bots on the seats that stay empty."""
    crowds: dict[str, Crowd] = {}
    patient = []
    for candidate in everybody:
        bots = candidate.ticket.bots
        if bots is not None and not candidate.taken and candidate.ticket.since_ms + bots.after_ms <= now_ms:
            crowds.setdefault(bots.strength, Crowd()).add(candidate)
            patient.append((bots.strength, candidate))
    for strength, anchor in patient:
        if not anchor.taken and _waits(pool, anchor):
            group, empty = crowds[strength].most_of_a_match(anchor)
            if _take(pool, crowds[strength], group):
                yield Match([each.ticket for each in group], [strength] * empty)
        if full():
            yield None


def _take(pool: Pool, crowd: Crowd, group: list[Candidate]) -> bool:
    """Whether all of the group still wait; they are then taken. Those who don't are out of the crowd."""
    gone = [each for each in group if not _waits(pool, each)]
    for each in gone or group:
        each.taken = True
        crowd.remove(each)
    if gone:
        # Whoever is left of the group gets another chance in the next pass.
        pool.stale.add(group[0].ticket.terms_id)
    return not gone


def _waits(pool: Pool, candidate: Candidate) -> bool:
    ticket = pool.tickets.get(candidate.ticket.ticket_id)
    return ticket is not None and not ticket.offer_id


def match(step: Step) -> None:
    """Go on with the pass that is under way, or begin one if it is time, and make the offers of one slice."""
    pool = step.pool
    if pool.plan is None:
        if not pool.stale or pool.next_pass_ms > step.now_ms:
            return
        terms_ids = sorted(pool.stale)
        pool.stale.clear()
        pool.pass_began_ms = step.now_ms
        pool.plan = plan(pool, terms_ids, step.now_ms)
    for made, found in enumerate(pool.plan, 1):
        if found is None:
            return
        offers.of_tickets(step, found.tickets, found.bots)
        if made == MOST_OFFERS:
            return
    pool.plan = None
    pause_ms = max(pool.house.least_pass_ms, REST * (step.now_ms - pool.pass_began_ms))
    pool.next_pass_ms = step.now_ms + min(pause_ms, pool.house.pass_ms)


def due(pool: Pool) -> int | None:
    """When the next slice, or the next pass, is due; None: nothing has changed since the last."""
    if pool.plan is not None:
        return pool.at_ms
    return pool.next_pass_ms if pool.stale else None
