"""How what a ticket accepts widens while it waits.

After a minute it takes any rating and every number of seats that it named: this is the bound on waiting. A ticket older
than `ALL_OPEN_MS` is left waiting by a pass only if no set of compatible tickets around it is there, or older tickets
took them.
"""

SECOND = 1_000
BUCKET = 500_000
"""Ratings (millionths of openskill's units) are compared in steps of this width; within one, age decides alone."""

_REACH = (
    (0, 2),
    (5 * SECOND, 3),
    (10 * SECOND, 4),
    (15 * SECOND, 6),
    (20 * SECOND, 8),
    (30 * SECOND, 12),
    (45 * SECOND, 20),
    (60 * SECOND, 1_000_000),
)
"""From which waiting time on how many units of rating the oldest ticket of a match looks up and down."""

REACH_STEPS_MS = tuple(at_ms for at_ms, _ in _REACH[1:])
SIZE_STEP_MS = 10 * SECOND
"""Each further number of seats is accepted after so much more waiting."""
ALL_OPEN_MS = 60 * SECOND
"""After this a ticket accepts everything that it ever will (but bots, of which it says itself when)."""


def reach(waited_ms: int) -> int:
    """How many buckets away a ticket may look that has waited so long."""
    units = max(units for at_ms, units in _REACH if at_ms <= max(waited_ms, 0))
    return units * 1_000_000 // BUCKET


def later_sizes_ms(sizes: int) -> tuple[int, ...]:
    """When the second, third … of so many liked numbers of seats are accepted; all by `ALL_OPEN_MS`."""
    return tuple(min(place * SIZE_STEP_MS, ALL_OPEN_MS) for place in range(1, sizes))


def open_sizes(seats: tuple[int, ...], waited_ms: int) -> tuple[int, ...]:
    """The numbers of seats that a ticket accepts after so much waiting, the best liked first."""
    return seats[: 1 + sum(at_ms <= waited_ms for at_ms in later_sizes_ms(len(seats)))]
