"""Matching: how long a pass takes as the queue grows, what a command costs, how good the matches are.

`python -m bench.matching` prints the quality of matches against waiting as a plot, and keeps it beside this file.
"""

import gc
import zlib
from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from random import Random
from statistics import mean
from time import perf_counter

from bench.table import Row, number
from guildhall.matchmaking.v1 import structs as asked
from guildhall.matchmaking.v1.structs import OfferMade
from services.arcane_alley.rules import RULES
from services.matchmaking import deciding
from services.matchmaking.house import HouseRules, is_bot
from services.matchmaking.pool import Pool, Rating, copied, encoded, restore

GAME = "arcane_alley"
HOUSE = HouseRules(RULES, offer_ms=10**9)
COUNTS = (100, 1_000, 10_000, 100_000)
SEATS = ((4, 3), (4,), (3, 4), (2,), (5, 4, 3), (6, 5, 4))
PARTIES = (1, 1, 1, 1, 1, 1, 1, 2, 2, 3)
START_MS = 10**12
HOUR = 3_600
PLOT = Path(__file__).with_name("matching_quality.txt")


class Queue:
    """A pool with its time and luck."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.pool = Pool(HOUSE)
        self.now_ms = START_MS
        self.lucks = 0
        self.entered = 0

    def luck(self) -> bytes:
        self.lucks += 1
        return sha256(b"%d" % self.lucks).digest()

    def do(self, subject: str, command: object) -> list[object]:
        events = deciding.decide(self.pool, self.now_ms, subject, command, self.luck())
        self.pool.settle()
        return events

    def enter(self) -> None:
        """One more ticket: a new player or party with ratings of their own."""
        self.entered += 1
        party = self.random.choice(PARTIES)
        subjects = [f"{self.entered}.{member}" for member in range(party)]
        for subject in subjects:
            mu = round(self.random.gauss(25, 6) * 1_000_000)
            self.pool.ratings.put(subject, Rating(subject, mu, 3_000_000))
        if party > 1:
            self.do(subjects[0], asked.CreatePartyRequest(f"p{self.entered}", GAME))
            code = self.pool.parties[self.pool.party_of[subjects[0]]].code
            for subject in subjects[1:]:
                self.do(subject, asked.JoinPartyRequest(f"j{self.entered}", GAME, code))
        seats = tuple(size for size in self.random.choice(SEATS) if size >= party) or (4,)
        self.do(subjects[0], asked.CreateTicketRequest(f"t{self.entered}", GAME, seats=seats))

    def tick(self) -> list[OfferMade]:
        """Everything that is due."""
        offers: list[OfferMade] = []
        while (due := deciding.due(self.pool)) is not None and due <= self.now_ms:
            events = deciding.tick(self.pool, self.now_ms, self.luck())
            self.pool.settle()
            offers += [event for event in events if isinstance(event, OfferMade)]
        return offers


def rows() -> list[Row]:
    """The curve, and what commands cost."""
    measured = []
    for count in COUNTS:
        must = 2.0 if count == 10_000 else None
        seconds, slowest, entering, matched = _pass(count)
        each = f"{number(seconds / count * 1e6)} µs a ticket"
        beside = f"{each}, {matched / count:.0%} matched, slice ≤ {slowest * 1e3:.0f} ms"
        measured.append(Row(f"matching, {count:,} waiting", seconds, "s", must, at_most=True, beside=beside))
    measured.append(Row("matchmaking, entering the queue", entering, "commands/s", beside="decided, 100,000 waiting"))
    return [*measured, *_resting()]


def _pass(count: int) -> tuple[float, float, float, float]:
    """Seconds of all that is due when so many tickets wait, with their offers; of its slowest slice; commands/s before;
    tickets matched.
    """
    gc.collect()
    queue = Queue(count)
    began = perf_counter()
    for _ in range(count):
        queue.enter()
    commands = queue.lucks / (perf_counter() - began)
    gc.collect()
    seconds, slowest, matched = 0.0, 0.0, 0
    while (due := deciding.due(queue.pool)) is not None and due <= queue.now_ms:
        began = perf_counter()
        events = deciding.tick(queue.pool, queue.now_ms, queue.luck())
        took = perf_counter() - began
        queue.pool.settle()
        seconds, slowest = seconds + took, max(slowest, took)
        matched += sum(len(event.ticket_ids) for event in events if isinstance(event, OfferMade))
    return seconds, slowest, commands, matched


def _resting() -> list[Row]:
    """What a new owner pays, and what storing keeps others from."""
    rows = []
    for count in (10_000, 100_000):
        queue = Queue(1)
        for _ in range(count):
            queue.enter()
        gc.collect()
        began = perf_counter()
        state = copied(queue.pool)
        copying = perf_counter() - began
        pieces, slowest, at = [], 0.0, perf_counter()
        for piece in encoded(state):
            pieces.append(piece)
            slowest, at = max(slowest, perf_counter() - at), perf_counter()
        data = b"".join(pieces)
        packed = zlib.compress(data, 1)
        began = perf_counter()
        restore(HOUSE, data)
        took = perf_counter() - began
        size = f"{len(data) / 1e6:.0f} MB, {len(packed) / 1e6:.1f} compressed"
        pauses = f"copied in {copying * 1e3:.0f} ms, slowest piece {slowest * 1e3:.1f} ms"
        rows.append(Row(f"pool restored, {count:,} waiting", took, "s", beside=f"{size}; {pauses}"))
    return rows


# --- quality


def quality(per_second: float = 0.5, hours: int = 2) -> dict[int, list[float]]:
    """Spread of ratings (openskill's units) of each match, by how many seconds its oldest ticket had waited."""
    queue = Queue(2)
    spreads: dict[int, list[float]] = defaultdict(list)
    arrival = 0.0
    for second in range(hours * HOUR):
        queue.now_ms = START_MS + second * 1_000
        while arrival <= second:
            queue.enter()
            arrival += queue.random.expovariate(per_second)
        for made in queue.tick():
            people = [queue.pool.ratings[subject].mu for subject in made.subjects if not is_bot(subject)]
            waited = max(queue.now_ms - queue.pool.tickets[ticket].since_ms for ticket in made.ticket_ids)
            spreads[waited // 1_000].append((max(people) - min(people)) / 1e6)
    return spreads


def plot(spreads: dict[int, list[float]], step: int = 5) -> str:
    """Mean spread against waiting, in bars."""
    lines = ["mean spread of ratings in a match (openskill's units) against the waiting of its oldest ticket", ""]
    for begin in range(0, max(spreads) + 1, step):
        found = [spread for second in range(begin, begin + step) for spread in spreads.get(second, ())]
        if found:
            bar = "█" * round(mean(found) * 2)
            lines.append(f"{begin:>4}–{begin + step - 1:<4} s  {bar} {mean(found):.1f}  ({len(found):,} matches)")
    every = [spread for found in spreads.values() for spread in found]
    waits = sorted(second for second, found in spreads.items() for _ in found)
    lines += ["", f"{len(every):,} matches, mean spread {mean(every):.1f}; half waited ≤ {waits[len(waits) // 2]} s"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    drawn = plot(quality())
    PLOT.write_text(drawn, encoding="utf-8")
    print(drawn)
