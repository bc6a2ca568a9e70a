"""Matching: no compatible set waits for ever, and by how much a ticket may be passed over."""

from collections.abc import Iterator
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guildhall.matchmaking.v1 import structs as asked
from services.matchmaking import matching
from services.matchmaking.pool import Rating, Ticket, restore, snapshot
from services.matchmaking.widening import ALL_OPEN_MS, BUCKET, open_sizes, reach
from tests.matchmaking.pools import GAME, HOUSE, START_MS, Hall, groups

BOUND_MS = ALL_OPEN_MS + 2 * HOUSE.pass_ms
"""No set of tickets that could play together waits longer: the minute until everything is accepted, one second to which
that is rounded up, and one pass.
"""

KINDS = st.tuples(
    st.integers(1, 4),
    st.lists(st.integers(2, 6), min_size=1, max_size=3, unique=True),
    st.integers(0, 50),
    st.integers(0, 90_000),
)
"""Size of the party, seats, rating in openskill's units, when it comes."""


def enter(hall: Hall, number: int, party: int, seats: list[int], rating: int) -> None:
    """A ticket of new subjects with that rating."""
    subjects = [f"t{number}.{member}" for member in range(party)]
    for subject in subjects:
        hall.pool.ratings.put(subject, Rating(subject, rating * 1_000_000, 2_000_000))
    if party > 1:
        hall.party(*subjects)
    hall.queue(subjects[0], *seats)


def compatible_sets(tickets: list[Ticket]) -> Iterator[tuple[Ticket, ...]]:
    """Every set that could play together, whatever the ratings."""
    for count in range(1, 7):
        for chosen in combinations(tickets, count):
            people = sum(len(ticket.subjects) for ticket in chosen)
            if all(people in ticket.seats for ticket in chosen):
                yield chosen


@given(st.lists(KINDS, max_size=10))
def test_no_compatible_set_waits_longer_than_the_bound(kinds: list[tuple[int, list[int], int, int]]) -> None:
    hall = Hall()
    for number, (party, seats, rating, at_ms) in enumerate(sorted(kinds, key=lambda kind: kind[3])):
        if party <= max(seats):
            hall.wait(max(0, at_ms + START_MS - hall.now_ms))
            enter(hall, number, party, seats, rating)
    hall.wait(BOUND_MS)
    left = [ticket for ticket in hall.pool.tickets.values() if not ticket.offer_id]
    old = [ticket for ticket in left if hall.now_ms - ticket.since_ms >= BOUND_MS]
    assert old == left
    assert list(compatible_sets(left)) == []


def test_a_stranger_in_rating_is_not_passed_over_after_a_minute() -> None:
    hall = Hall()
    enter(hall, 0, 1, [2], 60)
    for second in range(ALL_OPEN_MS // 1_000 + 2):
        enter(hall, 2 * second + 1, 1, [2], 25)
        enter(hall, 2 * second + 2, 1, [2], 25)
        hall.wait(1_000)
    assert hall.has_offer("t0.0")


def test_of_equally_near_ones_the_oldest_is_taken() -> None:
    hall = Hall()
    for number in range(6):
        enter(hall, number, 1, [4], 25)
        hall.now_ms += 1
    assert groups(hall.tick()) == [["t0.0", "t1.0", "t2.0", "t3.0"]]


def test_the_nearest_are_taken_before_older_ones() -> None:
    hall = Hall()
    for number, rating in enumerate((25, 26, 25)):
        enter(hall, number, 1, [2], rating)
        hall.now_ms += 1
    assert groups(hall.tick()) == [["t0.0", "t2.0"]]


def test_parties_fill_a_game_exactly() -> None:
    hall = Hall()
    for number, party in enumerate((3, 3, 2, 2)):
        enter(hall, number, party, [5], 25)
    assert [len(group) for group in groups(hall.tick())] == [5, 5]


def test_partitions() -> None:
    assert matching.partitions(0) == ((),)
    assert matching.partitions(3) == (((3, 1),), ((2, 1), (1, 1)), ((1, 3),))
    for total in range(1, 8):
        ways = matching.partitions(total)
        assert len(set(ways)) == len(ways) == [1, 2, 3, 5, 7, 11, 15][total - 1]
        assert all(sum(part * often for part, often in way) == total for way in ways)


@pytest.mark.parametrize(("waited_ms", "units"), [(-5, 2), (0, 2), (4_999, 2), (5_000, 3), (59_999, 20)])
def test_the_reach_widens(waited_ms: int, units: int) -> None:
    assert reach(waited_ms) * BUCKET == units * 1_000_000


def test_in_the_end_everything_is_open() -> None:
    assert reach(ALL_OPEN_MS) > 10**5
    assert open_sizes((6, 5, 4, 3, 2), 0) == (6,)
    assert open_sizes((6, 5, 4, 3, 2), 10_000) == (6, 5)
    assert open_sizes((6, 5, 4, 3, 2), ALL_OPEN_MS) == (6, 5, 4, 3, 2)


def test_a_pass_in_slices_minds_what_changes_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_OFFERS", 1)
    hall = Hall()
    for number in range(9):
        enter(hall, number, 1, [2], 25)
    seen = groups(hall.tick_once())
    assert seen == [["t0.0", "t1.0"]]
    hall.cancel("t2.0")
    seen += groups(hall.wait(3_000))
    assert sorted(seen) == [["t0.0", "t1.0"], ["t3.0", "t4.0"], ["t5.0", "t6.0"], ["t7.0", "t8.0"]]


def test_a_pass_rests_as_long_as_it_took_nine_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within bounds: a short one comes again soon, one over many tickets keeps nobody waiting for long."""
    monkeypatch.setattr(matching, "MOST_OFFERS", 1)
    for slice_ms, rest_ms in ((0, HOUSE.least_pass_ms), (20, 9 * 2 * 20), (100, HOUSE.pass_ms)):
        hall = Hall()
        for number in range(4):
            enter(hall, number, 1, [2], 25)
        assert len(groups(hall.tick_once())) == 1
        hall.now_ms += slice_ms
        assert len(groups(hall.tick_once())) == 1
        hall.now_ms += slice_ms
        hall.tick_once()
        over_ms = hall.now_ms
        for number in (4, 5):
            enter(hall, number, 1, [2], 25)
        assert groups(hall.wait(rest_ms - 1)) == []
        assert groups(hall.wait(1)) == [["t4.0", "t5.0"]]
        assert hall.now_ms == over_ms + rest_ms


def test_a_slice_counts_the_tickets_of_all_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise many terms of few tickets each would be one long slice, and a pass that seems to take no time."""
    monkeypatch.setattr(matching, "SLICE", 10)
    hall = Hall()
    for number in range(18):
        hall.queue(f"t{number}", 4, terms=asked.GameTerms(options=(("wizard_powers", ("true", "false")[number % 2]),)))
    slices = list(matching.plan(hall.pool, sorted(hall.pool.waiting), hall.now_ms))
    matches = [found for found in slices if found is not None]
    assert len(hall.pool.waiting) == 2 and len(matches) == 4 and len(slices) - len(matches) >= 3


def test_the_same_pool_makes_the_same_matches() -> None:
    """Nothing depends on the order in which a pool came to its state."""
    random = Random(7)
    hall = Hall()
    for number in range(200):
        seats = random.choice([[4, 3], [3], [4], [4, 5]])
        enter(hall, number, random.choice([1, 1, 1, 2, 3]), seats, random.randint(15, 35))
        hall.now_ms += 50
    other = Hall()
    other.pool, other.reader = (restore(HOUSE, snapshot(hall.pool)) for _ in range(2))
    other.now_ms, other.lucks = hall.now_ms, hall.lucks
    assert hall.tick() == other.tick() != []


def test_whoever_left_midway_does_not_play() -> None:
    hall = Hall()
    enter(hall, 0, 1, [2], 25)
    enter(hall, 1, 1, [2], 25)
    hall.do("t1.0", asked.CancelTicketRequest("x", GAME, hall.pool.ticket_of["t1.0"]))
    assert groups(hall.wait(BOUND_MS)) == []
