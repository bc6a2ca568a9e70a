"""The engine alone: random play with enumeration, record, state bytes and undo, beside catanatron's random play."""

from random import Random
from statistics import median
from time import perf_counter

from catanatron import Color, RandomPlayer  # type: ignore[import-untyped]  # comes without types
from catanatron import Game as Catan

from bench.random_games import begin, step
from bench.table import Row, number

ROUNDS = 9
GAMES = 12
CATAN_GAMES = 6
CATAN_TURNS = 1_000
"""Where catanatron itself breaks a game off."""


def rows() -> list[Row]:
    """Commands per second of both, in turns, so that both meet the same machine."""
    ours, theirs = [], []
    for number_ in range(ROUNDS):
        ours.append(arcane_alley(number_))
        theirs.append(catan(number_))
    ratio = median(mine / other for mine, other in zip(ours, theirs, strict=True))
    beside = f"catanatron {number(median(theirs))}/s, ratio {ratio:.2f}; median of {ROUNDS} turns each"
    return [Row("engine, Arcane Alley, 3 players", median(ours), "commands/s", 15_000, beside=beside)]


def arcane_alley(seed: int) -> float:
    """Commands per second over some games, each played to its end."""
    random = Random(seed)
    commands = 0
    start = perf_counter()
    for _ in range(GAMES):
        game, _ = begin(random, 3)
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
