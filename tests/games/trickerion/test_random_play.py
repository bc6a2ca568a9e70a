"""Random games over all player counts, options and rulings conform (design section 9.1)."""

from collections import Counter
from random import Random

import pytest

from services.trickerion.rules import RULES
from tests.campaign import GAMES
from tests.games.trickerion.subject import BASE, creation
from tests.suites import conformance

PARTS = 20
THOROUGHNESS = 0.004
"""Share of versions that are checked in full."""


@pytest.mark.parametrize("part", range(PARTS))
def test_random_play_conforms(part: int) -> None:
    for seed in range(part, GAMES, PARTS):
        conformance.play_and_check(BASE, Random(seed), THOROUGHNESS, creation(Random(seed)))


def test_every_player_count_and_every_value_of_every_ruling_occurs_often() -> None:
    seats: Counter[int] = Counter()
    values: Counter[tuple[str, str]] = Counter()
    for seed in range(GAMES):
        chosen = creation(Random(seed))
        seats[len(chosen.subjects)] += 1
        values.update(chosen.rulings.items())
        values.update(chosen.options.items())
    assert min(seats[count] for count in RULES.seats) >= 20
    for ruling in RULES.rulings:
        assert ruling.values and min(values[ruling.name, value] for value in ruling.values) >= 20
    assert min(values["set_up", value] for value in ("free", "beginners")) >= 20
