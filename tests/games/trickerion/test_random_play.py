"""Random games over all player counts, options and rulings conform (design section 9.1)."""

from collections import Counter
from random import Random

import pytest

from guildhall.kernel.frames import Choice
from services.trickerion.rules import RULES
from tests.campaign import GAMES
from tests.games.trickerion.subject import BASE, PERFORMERS, creation
from tests.suites import conformance
from tests.suites.subject import begin, play

PARTS = 20
BASE_DECISIONS = {
    frame.__struct_config__.tag
    for frame in RULES.frames
    if issubclass(frame, Choice) and ".dark_alley" not in frame.__module__
}
THOROUGHNESS = 0.004
"""Share of versions that are checked in full."""
PERFORMERS_PLAY = 7
"""One game of so many is played by performers, who think longer."""


@pytest.mark.parametrize("part", range(PARTS))
def test_random_play_conforms(part: int) -> None:
    for seed in range(part, GAMES, PARTS):
        players = PERFORMERS if seed % PERFORMERS_PLAY == 0 else BASE
        conformance.play_and_check(players, Random(seed), THOROUGHNESS, creation(Random(seed)))


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


def test_every_decision_of_the_base_game_occurs() -> None:
    kinds: set[str] = set()
    for seed in range(80):
        random = Random(seed)
        players = PERFORMERS if seed % 4 == 0 else BASE
        game, _ = begin(players, random)
        for move, _ in play(players, game, random):
            kinds.add(move.decision.kind)
    assert kinds == BASE_DECISIONS
