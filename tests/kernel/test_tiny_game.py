"""The suites of every game, on the tiny game that uses each mechanism of the kernel once."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from guildhall.kernel.blind import places
from guildhall.kernel.cards import front
from guildhall.kernel.decide import Creation
from tests.kernel.tiny.game import RULES, Hall
from tests.suites import conformance, knowledge, noninterference
from tests.suites.subject import Subject


def creation(random: Random) -> Creation:
    seats = random.choice(RULES.seats)
    return Creation([f"player-{n}" for n in range(seats)], rulings={"steal": random.choice(("2", "3"))})


def conserved(hall: Any) -> Counter[int]:
    return Counter(front(card) for _, cards in places(hall, Hall) for card in cards)


TINY = Subject(RULES, creation, conserved, max_commands=400)


@pytest.mark.parametrize("seed", range(60))
def test_random_play_conforms(seed: int) -> None:
    conformance.play_and_check(TINY, Random(seed), thoroughness=0.3)


@pytest.mark.parametrize("seed", range(60))
def test_law_of_views(seed: int) -> None:
    knowledge.check_game(TINY, Random(seed))


def test_noninterference() -> None:
    seen = noninterference.Seen()
    for seed in range(40):
        noninterference.check_game(TINY, Random(seed), seen)
    assert seen.differing > seen.twins / 2 and seen.steps > seen.dropped
    assert seen.kinds >= {"bid", "turn", "target", "may_block"}
