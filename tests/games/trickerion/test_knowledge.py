"""The law of views and the audience of every event, for every seat and a spectator (design section 9.2)."""

from random import Random

import pytest

from tests.campaign import LONG
from tests.games.trickerion.subject import CARD_PLAYERS, PERFORMERS, TRICKERION
from tests.suites import knowledge

PLAYERS = (TRICKERION, PERFORMERS, CARD_PLAYERS, CARD_PLAYERS)

GAMES = 2_000 if LONG else 20


@pytest.mark.parametrize("part", range(8))
def test_law_of_views_and_audience(part: int) -> None:
    for seed in range(part, GAMES, 8):
        knowledge.check_game(PLAYERS[part % len(PLAYERS)], Random(seed))
