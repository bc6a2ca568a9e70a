"""The engine alone: random play with enumeration, record, state bytes and undo, beside catanatron's random play."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from statistics import median
from time import perf_counter

from catanatron import Color, RandomPlayer  # type: ignore[import-untyped]  # comes without types
from catanatron import Game as Catan

from bench.random_games import begin, rules_of, step, title
from bench.table import Row, number

ROUNDS = 9
GAMES = 12
CATAN_GAMES = 6
CATAN_TURNS = 1_000
"""Where catanatron itself breaks a game off."""


@dataclass(frozen=True)
class Course:
    """What is played, and how many commands per second it must reach."""

    game: str
    players: int
    must: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""


COURSES = (
    Course("arcane_alley", 3, 15_000),
    Course("trickerion", 4, 12_000),
    Course("trickerion", 4, options={"dark_alley": "true"}, extra=" with the Dark Alley"),
)


def rows() -> list[Row]:
    """Commands per second of all, in turns, so that they meet the same machine."""
    ours: list[list[float]] = [[] for _ in COURSES]
    theirs = []
    for number_ in range(ROUNDS):
        for rates, course in zip(ours, COURSES, strict=True):
            rates.append(speed(course, number_))
        theirs.append(catan(number_))
    return [_row(course, rates, theirs) for course, rates in zip(COURSES, ours, strict=True)]


def _row(course: Course, rates: list[float], theirs: list[float]) -> Row:
    ratio = median(mine / other for mine, other in zip(rates, theirs, strict=True))
    beside = f"catanatron {number(median(theirs))}/s, ratio {ratio:.2f}; median of {ROUNDS} turns each"
    what = f"engine, {title(rules_of(course.game))}{course.extra}, {course.players} players"
    return Row(what, median(rates), "commands/s", course.must, beside=beside)


def speed(course: Course, seed: int) -> float:
    """Commands per second over some games, each played to its end."""
    rules, random = rules_of(course.game), Random(seed)
    commands = 0
    start = perf_counter()
    for _ in range(GAMES):
        game, _ = begin(rules, random, course.players, course.options)
        while game.ended is None:
            step(game, random)
        commands += game.version
    return commands / (perf_counter() - start)


def catan(seed: int) -> float:
    """Actions per second of catanatron's random players over some games."""
    actions = 0
    start = perf_counter()
    for n in range(CATAN_GAMES):
        game = Catan([RandomPlayer(color) for color in (Color.RED, Color.BLUE, Color.WHITE)], seed=seed * 100 + n + 1)
        while game.winning_color() is None and game.state.num_turns < CATAN_TURNS:
            game.play_tick()
            actions += 1
    return actions / (perf_counter() - start)
