"""Random games over all player counts, options and rulings conform (design section 9.1)."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from guildhall.kernel.frames import Choice
from services.trickerion.rules import RULES
from tests.campaign import GAMES
from tests.games.trickerion.subject import BASE, CARD_PLAYERS, PERFORMERS, TRICKERION
from tests.games.trickerion.tables import OPEN
from tests.suites import conformance
from tests.suites.subject import begin, play

PARTS = 20
ASKING = [frame for frame in RULES.frames if issubclass(frame, Choice)]
BASE_DECISIONS = {frame.__struct_config__.tag for frame in ASKING if ".dark_alley" not in frame.__module__}
PLAYERS = (TRICKERION, TRICKERION, BASE, PERFORMERS, CARD_PLAYERS)
"""They take turns."""
THOROUGHNESS = 0.004
"""Share of versions that are checked in full."""


@pytest.mark.parametrize("part", range(PARTS))
def test_random_play_conforms(part: int) -> None:
    for seed in range(part, GAMES, PARTS):
        players = PLAYERS[seed // PARTS % len(PLAYERS)]
        conformance.play_and_check(players, Random(seed), THOROUGHNESS)


def test_every_player_count_and_every_value_of_every_ruling_occurs_often() -> None:
    seats: Counter[int] = Counter()
    values: Counter[tuple[str, str]] = Counter()
    for seed in range(GAMES):
        chosen = PLAYERS[seed // PARTS % len(PLAYERS)].creation(Random(seed))
        seats[len(chosen.subjects)] += 1
        values.update(chosen.rulings.items())
        values.update(chosen.options.items())
    assert min(seats[count] for count in RULES.seats) >= 20
    for ruling in RULES.rulings:
        assert ruling.values and min(values[ruling.name, value] for value in ruling.values) >= 20
    chosen_options = (("set_up", "free"), ("set_up", "beginners"), ("dark_alley", "true"), ("prophecies", "false"))
    assert min(values[option] for option in chosen_options) >= 20


def test_every_decision_of_the_base_game_occurs() -> None:
    kinds: set[str] = set()
    for subject, games in ((BASE, 60), (PERFORMERS, 20)):
        for seed in range(games):
            random = Random(seed)
            game, _ = begin(subject, random)
            for move, _ in play(subject, game, random):
                kinds.add(move.decision.kind)
    assert kinds >= BASE_DECISIONS


@pytest.mark.parametrize("kind", OPEN)
def test_with_each_decision_open(kind: str) -> None:
    """Some are rare in random play: checked in full, each with a table of its own, and played on to the end."""
    t = OPEN[kind]()
    assert kind in t.asked.values()
    subject = replace(TRICKERION, rules=t.rules)
    random = Random(kind)
    for decision in t.game.waiting():
        conformance.check_listed_accepted(t.game, decision.seat, random)
        conformance.check_default_listed(subject, t.game, decision.seat)
        conformance.check_unlisted_refused(subject, t.game, decision.seat, random)
    conformance.check_strangers_refused(t.game)
    for _ in play(subject, t.game, random):
        conformance.check_open(subject, t.game, random)
