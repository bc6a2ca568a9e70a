"""What a hall lays down for the matchmaking of one game."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from guildhall.kernel.decide import Creation, created_event
from guildhall.kernel.ids import HALL
from guildhall.kernel.luck import SEED_BYTES
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.rules import Rules
from guildhall.matchmaking.v1.structs import GameTerms

SECOND = 1_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR

MATCHMAKER = HALL + "matchmaking"
"""The subject that creates the games."""

_BOT = "bot/"
_MOST_RESOLVED = 1_024
"""Terms that are remembered with what they resolve to."""


@dataclass(frozen=True)
class HouseRules:
    """The game, the bots that the hall has, and how long things last (milliseconds)."""

    rules: Rules
    bots: tuple[str, ...] = ()
    """Strengths."""
    offer_ms: int = 30 * SECOND
    """To confirm an offer."""
    wait_ms: int = HOUR // 2
    """A ticket waits so long unless it says otherwise."""
    longest_wait_ms: int = DAY
    idle_ms: int = DAY
    """A party or a table is gone when nothing was done with it for so long."""
    told_ms: int = HOUR // 6
    """Tickets that ended are told for at least so long, and hardly longer: they may be many."""
    missed_freely: int = 1
    """So many offers may a subject let lapse before it has to pause."""
    pause_ms: int = 30 * SECOND
    """The first pause; each further one is twice as long."""
    longest_pause_ms: int = HOUR
    missed_ms: int = 6 * HOUR
    """So long after its last pause a subject begins anew."""
    public: str = ""
    """Where players connect to play the game, `host:port`; "": where they asked for it."""
    pass_ms: int = SECOND
    """From the end of one pass of matching to the next, at most: as many times as long as it took as `matching.REST`
    says, so that a short pass comes again soon, and what it matches is not told all at once.
    """
    least_pass_ms: int = 100
    """And at least, where that is less."""
    games_at_once: int = 16
    """Unfinished games of a subject with which it may still look for another."""
    writes_per_second: float = 20.0
    """Of a subject, in the long run: each that is accepted stays in the log, and its id in memory for two days."""
    write_burst: float = 60.0
    """And so many at once."""
    _resolved: dict[tuple[GameTerms, int], GameTerms] = field(default_factory=dict, compare=False)

    def resolve(self, terms: GameTerms, seats: Sequence[int]) -> GameTerms:
        """The terms with all defaults, judged by the game's rules for each of these numbers of seats.

        Raises Refusal INVALID_SEATS, and what creating such a game would raise.
        """
        self.check_seats(seats)
        resolved = [self._resolve(terms, number) for number in seats]
        return resolved[0]

    def check_seats(self, seats: Sequence[int]) -> None:
        """Raises Refusal INVALID_SEATS for none, for one twice, and for what the game is not for."""
        if not seats or not set(seats) <= set(self.rules.seats):
            first, last = self.rules.seats[0], self.rules.seats[-1]
            raise Refusal("INVALID_SEATS", f"This game has from {first} to {last} seats.")
        if len(set(seats)) != len(seats):
            raise Refusal("INVALID_SEATS", "A number of seats is named once.")

    def _resolve(self, terms: GameTerms, seats: int) -> GameTerms:
        for named, declared, what in (
            (terms.options, self.rules.options, "option"),
            (terms.rulings, self.rules.rulings, "ruling"),
        ):
            if len(named) > len(declared):
                raise Refusal(f"UNKNOWN_{what.upper()}", f"This game has {len(declared)} {what}s, not {len(named)}.")
        key = (terms, seats)
        resolved = self._resolved.get(key)
        if resolved is None:
            resolved = self._judge(terms, seats)
            # Only now: what is refused can be made up without end.
            if len(self._resolved) >= _MOST_RESOLVED:
                self._resolved.clear()
            self._resolved[key] = resolved
        return resolved

    def _judge(self, terms: GameTerms, seats: int) -> GameTerms:
        creation = Creation(
            subjects=[f"seat {seat}" for seat in range(seats)],
            options=dict(terms.options),
            rulings=dict(terms.rulings),
            decision_ms=None if terms.clock is None else terms.clock.decision_ms,
            spectators=not terms.no_spectators,
        )
        created = created_event(self.rules, creation, "", bytes(SEED_BYTES))
        return GameTerms(
            tuple((setting.name, setting.value) for setting in created.options),
            tuple((setting.name, setting.value) for setting in created.rulings),
            created.clock,
            terms.no_spectators,
        )

    def check_bot(self, strength: str) -> None:
        """Raises Refusal UNKNOWN_BOT."""
        if strength not in self.bots:
            listed = ", ".join(self.bots) or "none"
            raise Refusal("UNKNOWN_BOT", f"This hall has no bot {strength!r}; it has: {listed}.")


def bot_subject(strength: str, number: int) -> str:
    """The subject of the `number`-th bot of a game, counted from 1."""
    return f"{_BOT}{strength}/{number}"


def is_bot(subject: str) -> bool:
    """Whether the subject is a bot of the hall."""
    return subject.startswith(_BOT)
