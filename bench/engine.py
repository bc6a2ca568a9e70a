"""The engine alone: random play with enumeration, record, state bytes and undo, beside catanatron's random play."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from statistics import median
from time import perf_counter

from bench import catan
from bench.random_games import begin, rules_of, step, title
from bench.table import CATANATRON, Pace, Row

ROUNDS = 9
GAMES = 12


@dataclass(frozen=True)
class Course:
    """What is played, and how many commands per second it must reach."""

    game: str
    players: int
    must: float | None = None
    goal: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""


COURSES = (
    Course("arcane_alley", 3, 15_000, 25_000),
    Course("trickerion", 4, 12_000, 25_000),
    Course("trickerion", 4, options={"dark_alley": "true"}, extra=" with the Dark Alley"),
)


def rows() -> list[Row]:
    """Commands per second of all, in turns, so that they meet the same machine."""
    ours: list[list[float]] = [[] for _ in COURSES]
    theirs = []
    for number_ in range(ROUNDS):
        for rates, course in zip(ours, COURSES, strict=True):
            rates.append(speed(course, number_))
        theirs.append(catan.speed(number_))
    return [_row(course, rates, theirs) for course, rates in zip(COURSES, ours, strict=True)]


def _row(course: Course, rates: list[float], theirs: list[float]) -> Row:
    ratio = median(mine / other for mine, other in zip(rates, theirs, strict=True))
    beside = f"ratio {ratio:.2f}; median of {ROUNDS} turns each"
    what = f"engine, {title(rules_of(course.game))}{course.extra}, {course.players} players"
    pace = Pace(CATANATRON, median(theirs))
    return Row(what, median(rates), "commands/s", course.must, beside=beside, goal=course.goal, pace=pace)


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
