"""Catanatron's random players: the yardstick of everything that is bound by one core."""

from statistics import median
from time import perf_counter

from catanatron import Color, RandomPlayer  # type: ignore[import-untyped]  # comes without types
from catanatron import Game as Catan

from bench.table import CATANATRON, Pace

GAMES = 6
TURNS = 1_000
"""Where catanatron itself breaks a game off."""
ROUNDS = 3


def speed(seed: int) -> float:
    """Actions per second over some games."""
    actions = 0
    start = perf_counter()
    for n in range(GAMES):
        game = Catan([RandomPlayer(color) for color in (Color.RED, Color.BLUE, Color.WHITE)], seed=seed * 100 + n + 1)
        while game.winning_color() is None and game.state.num_turns < TURNS:
            game.play_tick()
            actions += 1
    return actions / (perf_counter() - start)


class Beside:
    """The machine's pace around a measurement: `with Beside() as beside: …`, then `beside.pace`."""

    def __enter__(self) -> "Beside":
        self._speeds = [speed(seed) for seed in range(ROUNDS)]
        return self

    def __exit__(self, *_: object) -> None:
        self._speeds += [speed(seed) for seed in range(ROUNDS)]

    @property
    def pace(self) -> Pace:
        """Of before and after."""
        return Pace(CATANATRON, median(self._speeds))
