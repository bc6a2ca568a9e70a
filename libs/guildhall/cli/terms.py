"""What players agree on before a game: as it is typed, and as it is told."""

from collections.abc import Sequence
from typing import Annotated

import typer

from guildhall.cli import faces
from guildhall.cli.options import pairs
from guildhall.kernel.rules import Choosable
from guildhall.kernel.v1.structs import Clock
from guildhall.matchmaking.v1.structs import GameTerms

MOST_CLOCK_SECONDS = 49 * 24 * 3600
"""The field that holds milliseconds has room for a little more."""
ClockSeconds = Annotated[
    int | None,
    typer.Option(
        "--clock",
        metavar="SECONDS",
        min=1,
        max=MOST_CLOCK_SECONDS,
        help="A decision that is open for so long is made by the game itself. Default: no clock.",
    ),
]


def game_terms(option: list[str] | None, ruling: list[str] | None, clock: int | None) -> GameTerms:
    """As it was typed. Raises typer.BadParameter."""
    return GameTerms(
        options=pairs(option, "--option"),
        rulings=pairs(ruling, "--ruling"),
        clock=None if clock is None else Clock(clock * 1000),
    )


def described(game: str, terms: GameTerms | None) -> list[str]:
    """In words, as far as it is not what everybody gets who says nothing."""
    rules, terms = faces.rules(game), terms or GameTerms()
    clock = [f"a clock of {terms.clock.decision_ms // 1000} seconds"] if terms.clock else []
    alone = ["nobody else may watch"] if terms.no_spectators else []
    return [*clock, *alone, *_chosen(terms.options, rules.options), *_chosen(terms.rulings, rules.rulings)]


def _chosen(settings: Sequence[tuple[str, str]], declared: Sequence[Choosable]) -> list[str]:
    usual = {(choosable.name, choosable.default) for choosable in declared}
    return [f"{name}={value}" for name, value in settings if (name, value) not in usual]
