"""Ratings: what a finished game tells of how well its players play (openskill's Plackett-Luce model).

A game counts if it was made here, was not declared unrated, may be watched, had at least two seats and no bot, and
ended by its rules or because fewer than two seats had not resigned; who resigned ranks last there. An abandoned or
aborted game changes nothing: nobody won it. Games with bots do not count, since who plays whom against a bot is
anybody's choice.
"""

from collections.abc import Sequence

from openskill.models import PlackettLuce

from guildhall.kernel.v1.structs import EndReason
from guildhall.matchmaking.v1.structs import Rated, RatingChange
from services.matchmaking.commands import Result
from services.matchmaking.house import is_bot
from services.matchmaking.pool import Game, Pool, Rating

MICROS = 1_000_000

_MODEL = PlackettLuce()
_COUNTS = (EndReason.FINISHED, EndReason.RESIGNED)
START_MU = round(_MODEL.mu * MICROS)
START_SIGMA = round(_MODEL.sigma * MICROS)


def new_rating(subject: str) -> Rating:
    """The rating of a subject before its first rated game."""
    return Rating(subject, START_MU, START_SIGMA)


def rating_of(pool: Pool, subject: str) -> Rating:
    """The subject's rating."""
    return pool.ratings.get(subject) or new_rating(subject)


def counts(game: Game, result: Result) -> bool:
    """Whether the game changes ratings."""
    return (
        result.reason in _COUNTS
        and not game.unrated
        and not game.no_spectators  # everybody reads ratings; of such a game nobody but its seats may know
        and len(game.subjects) >= 2
        and len(result.ranks) == len(game.subjects)
        and not any(map(is_bot, game.subjects))
    )


def rate(pool: Pool, game: Game, result: Result) -> list[Rated]:
    """What a game that counts does to the ratings of its players. Only deciding computes with floats; the log has the
    outcome in whole millionths.
    """
    before = [rating_of(pool, subject) for subject in game.subjects]
    mu_sigma = _rate([(rating.mu, rating.sigma) for rating in before], result.ranks)
    return [
        Rated(subject, RatingChange(game.game_id, result.at_ms, rank, len(game.subjects), mu, sigma))
        for subject, rank, (mu, sigma) in zip(game.subjects, result.ranks, mu_sigma, strict=True)
    ]


def _rate(before: Sequence[tuple[int, int]], ranks: Sequence[int]) -> list[tuple[int, int]]:
    """(mu, sigma) of each player after a game; equal ranks are draws, 1 is best."""
    teams = [[_MODEL.rating(mu=mu / MICROS, sigma=sigma / MICROS)] for mu, sigma in before]
    rated = _MODEL.rate(teams, ranks=[float(rank) for rank in ranks])
    return [(round(team[0].mu * MICROS), round(team[0].sigma * MICROS)) for team in rated]


def after(rating: Rating | None, subject: str, change: RatingChange) -> Rating:
    """The rating with one more game."""
    rating = rating or new_rating(subject)
    return Rating(
        subject=subject,
        mu=change.mu_micros,
        sigma=change.sigma_micros,
        games=rating.games + 1,
        wins=rating.wins + (change.rank == 1),
    )
