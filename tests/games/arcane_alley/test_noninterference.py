"""Nobody can tell two games apart that differ in what it may not know (design section 9.2).

Whole random games, and besides, tables set up so that each decision of the game is open: some are rare at random.
"""

from dataclasses import replace
from random import Random

import pytest

from guildhall.kernel.frames import Choice
from services.arcane_alley.rules import RULES
from tests.campaign import LONG
from tests.games.arcane_alley.subject import ARCANE_ALLEY, BOTH
from tests.games.arcane_alley.tables import OPEN
from tests.suites import noninterference

AT_EVERY_VERSION = range(400) if LONG else (0, 1, 2, 5, 7)
"""Seeds; these few have every player count, and both kinds of players."""
GAMES_AT_SOME_VERSIONS = 2_000 if LONG else 50
SOME = 0.04
TWINS_OF_A_SCRIPT = 12
"""Twins of each scripted table for each viewer."""


def check(seeds: range, share: float) -> noninterference.Seen:
    seen = noninterference.Seen()
    for seed in seeds:
        noninterference.check_game(BOTH[seed % 2], Random(seed), seen, share)
    assert seen.differing > seen.twins / 2
    assert seen.steps > seen.dropped
    return seen


@pytest.mark.parametrize("seed", AT_EVERY_VERSION)
def test_every_seat_and_a_spectator_at_every_version(seed: int) -> None:
    check(range(seed, seed + 1), 1.0)


def test_every_player_count_is_among_them() -> None:
    creations = [BOTH[seed % 2].creation(Random(seed)) for seed in AT_EVERY_VERSION]
    assert {len(creation.subjects) for creation in creations} == set(RULES.seats)
    assert {seed % 2 for seed in AT_EVERY_VERSION} == {0, 1}


@pytest.mark.parametrize("part", range(5))
def test_many_games_at_some_versions(part: int) -> None:
    check(range(100 + part, 100 + GAMES_AT_SOME_VERSIONS, 5), SOME)


@pytest.mark.parametrize("kind", OPEN)
def test_with_each_decision_open(kind: str) -> None:
    t = OPEN[kind]()
    assert kind in t.asked.values()
    subject = replace(ARCANE_ALLEY, rules=t.rules)
    seen = noninterference.Seen()
    random = Random(kind)
    for viewer in (*range(len(t.players)), None):
        for _ in range(TWINS_OF_A_SCRIPT):
            noninterference.compare_twins(subject, t.game, viewer, random, seen)
    assert seen.differing > seen.twins / 2 or kind == "pick_wizard"
    assert kind in seen.kinds


def test_there_is_a_table_for_each_decision() -> None:
    assert set(OPEN) == {frame.__struct_config__.tag for frame in RULES.frames if issubclass(frame, Choice)}
