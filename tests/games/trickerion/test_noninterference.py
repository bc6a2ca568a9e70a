"""Nobody can tell two games apart that differ in what it may not know (design section 9.2)."""

from dataclasses import replace
from random import Random

import pytest

from guildhall.kernel.cards import FRONT, front
from guildhall.kernel.frames import Choice
from guildhall.kernel.game import restore
from services.trickerion.asking import content_of
from services.trickerion.rules import RULES
from tests.campaign import LONG
from tests.games.trickerion.subject import BASE, CARD_PLAYERS, PERFORMERS, TRICKERION
from tests.games.trickerion.tables import OPEN
from tests.suites import noninterference
from tests.suites.subject import begin, make, pick, play

PLAYERS = (BASE, TRICKERION, PERFORMERS, CARD_PLAYERS)
AT_EVERY_VERSION = range(400) if LONG else (0, 1, 5, 6, 7)
"""Seeds; these few have every player count, and all kinds of players."""
GAMES_AT_SOME_VERSIONS = 2_000 if LONG else 25
SOME = 0.05
TWINS_OF_A_TABLE = 6
"""Twins of each table that is set up, for each viewer."""
TWINS_OF_ASSIGNMENT = 4
"""Twins for each viewer, at each version at which answers of an Assignment are in."""


def check(seeds: range, share: float) -> noninterference.Seen:
    seen = noninterference.Seen()
    for seed in seeds:
        noninterference.check_game(PLAYERS[seed % len(PLAYERS)], Random(seed), seen, share)
    # What is hidden between Assignments is the order of the Performance deck, two cards of each theater.
    assert seen.differing > seen.twins / 8
    assert seen.steps > seen.dropped
    return seen


@pytest.mark.parametrize("seed", AT_EVERY_VERSION)
def test_every_seat_and_a_spectator_at_every_version(seed: int) -> None:
    check(range(seed, seed + 1), 1.0)


def test_every_player_count_is_among_them() -> None:
    creations = [PLAYERS[seed % len(PLAYERS)].creation(Random(seed)) for seed in AT_EVERY_VERSION]
    assert {len(creation.subjects) for creation in creations} == set(RULES.seats)
    assert {seed % len(PLAYERS) for seed in AT_EVERY_VERSION} == set(range(len(PLAYERS)))


@pytest.mark.parametrize("part", range(5))
def test_many_games_at_some_versions(part: int) -> None:
    check(range(100 + part, 100 + GAMES_AT_SOME_VERSIONS, 5), SOME)


@pytest.mark.rule("TR-043")
@pytest.mark.parametrize("seed", range(6))
def test_assigned_cards_are_secret_until_all_are_done(seed: int) -> None:
    random = Random(seed)
    seen = noninterference.Seen()
    game, _ = begin(BASE, random)
    while game.ended is None:
        waiting = game.waiting()
        if waiting[0].kind == "assign" and len(waiting) < game.seats:
            for viewer in (*range(game.seats), None):
                for _ in range(TWINS_OF_ASSIGNMENT):
                    noninterference.compare_twins(BASE, game, viewer, random, seen)
        make(game, pick(BASE, game, random))
    assert "assign" in seen.kinds
    assert seen.differing > seen.twins / 2


@pytest.mark.rule("TR-014")
@pytest.mark.parametrize("seed", range(3))
def test_any_card_of_its_theater_could_lie_in_the_performance_deck(seed: int) -> None:
    """Cards that are not in the game are not in the hall, so the suite does not deal them."""
    random = Random(seed)
    game, _ = begin(BASE, random)
    for _ in play(BASE, game, random):
        twin = restore(game.rules, game.snapshot())
        deck, content = twin.hall.performances, content_of(twin.hall)
        in_play = {front(card) for place in (deck, twin.hall.display, twin.hall.removed) for card in place}
        unused = [card for card in content.performances if card not in in_play]
        for index, card in enumerate(deck):
            others = [other for other in unused if content.performances[other].theater == card >> 16]
            deck[index] = card & ~FRONT | random.choice(others)
        for viewer in (*range(game.seats), None):
            noninterference.compare_now(BASE, game, twin, viewer, random)


@pytest.mark.parametrize("kind", OPEN)
def test_with_each_decision_open(kind: str) -> None:
    t = OPEN[kind]()
    assert kind in t.asked.values()
    subject = replace(BASE, rules=t.rules)
    seen = noninterference.Seen()
    random = Random(kind)
    for viewer in (*range(len(t.players)), None):
        for _ in range(TWINS_OF_A_TABLE):
            noninterference.compare_twins(subject, t.game, viewer, random, seen)
    assert kind in seen.kinds


def test_there_is_a_table_for_each_decision() -> None:
    assert set(OPEN) == {frame.__struct_config__.tag for frame in RULES.frames if issubclass(frame, Choice)}
