"""The law of views and the audience of every event, for every seat and a spectator (design section 9.2)."""

from random import Random

import pytest

from tests.campaign import LONG
from tests.games.arcane_alley.subject import BOTH
from tests.suites import knowledge

GAMES = 2_000 if LONG else 40


@pytest.mark.parametrize("part", range(8))
def test_law_of_views_and_audience(part: int) -> None:
    for seed in range(part, GAMES, 8):
        knowledge.check_game(BOTH[part % 2], Random(seed))
