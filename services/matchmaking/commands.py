"""Commands of the hall's own; those of players are the requests of the contract."""

from msgspec import Struct

from guildhall.kernel.v1.structs import EndReason


class GameMade(Struct, frozen=True):
    """The game of an accepted offer is in its log."""

    offer_id: str


class CreationRefused(Struct, frozen=True):
    """The game's rules do not take an accepted offer; they never will."""

    offer_id: str
    reason: str


class Result(Struct, frozen=True):
    """The end of a game."""

    game_id: str
    reason: EndReason
    ranks: tuple[int, ...]
    """By seat."""
    at_ms: int


class Resignation(Struct, frozen=True):
    """A seat of a game that goes on was given up."""

    game_id: str
    seat: int


class TakeResults(Struct, frozen=True):
    """The results, and the seats given up, of a stretch of one partition of the game's log.

    It begins where the pool stands (`from_offset`; 0 before the first) and ends at the position
    `(next_offset, newest_claim)`.
    """

    partition: int
    from_offset: int
    next_offset: int
    newest_claim: int
    results: tuple[Result, ...]
    resigned: tuple[Resignation, ...] = ()
    """Before the results."""
