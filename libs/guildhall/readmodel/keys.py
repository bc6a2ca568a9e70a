"""The names of everything in Redis: `gh:{<game>.<partition>}:<generation>:<kind>[:<id>]` (design, section 6).

The part in braces is the same for all keys of a partition, so they lie in one slot of a cluster and one script may
change them together. A generation is one whole set of models; `rebuild` makes the next beside the live one.
"""

from dataclasses import dataclass
from functools import cached_property

FIRST_GENERATION = "1"

NO_DEADLINE = 2**53 - 1
"""Where a decision without a deadline stands among those with one; Redis keeps scores as doubles."""


def place(game: str, partition: int) -> str:
    """What all keys of a partition begin with."""
    return f"gh:{{{game}.{partition}}}"


def live(game: str, partition: int) -> str:
    """Holds the name of the generation that is read; absent: `FIRST_GENERATION`."""
    return f"{place(game, partition)}:live"


@dataclass(frozen=True)
class Keys:
    """The keys of one generation of one partition."""

    game: str
    partition: int
    generation: str = FIRST_GENERATION

    @cached_property
    def base(self) -> str:
        """What all keys of this generation begin with."""
        return f"{place(self.game, self.partition)}:{self.generation}"

    @property
    def position(self) -> str:
        """String: how far the models have come (`records.Progress`); written last."""
        return f"{self.base}:position"

    @property
    def news(self) -> str:
        """Stream: the newest records of the partition, ids `<offset + 1>-0`, for whoever watches."""
        return f"{self.base}:news"

    @property
    def stopped(self) -> str:
        """Hash: games whose records could not be folded (`records.Stopped`)."""
        return f"{self.base}:stopped"

    @property
    def doubted(self) -> str:
        """Set: games of which a reader has found something that it could not read (of matchmaking, `<pool>:<subject>`);
        the projection sets them right.
        """
        return f"{self.base}:doubted"

    @property
    def standings(self) -> str:
        """Hash: subject -> finished games and wins, of games that anybody may watch (`records.Standing`)."""
        return f"{self.base}:standings"

    @property
    def deadlines(self) -> str:
        """Sorted set: games with an open deadline, by the earliest in ms."""
        return f"{self.base}:deadlines"

    @property
    def kept(self) -> str:
        """Sorted set: games that are over and of which there is more than `offsets` and `summary`, by time of their end
        in ms.
        """
        return f"{self.base}:kept"

    def state(self, game_id: str) -> str:
        """String: the newest state (`records.State`)."""
        return f"{self.base}:state:{game_id}"

    def states(self, game_id: str) -> str:
        """Hash: version -> snapshot, every `records.STATE_EVERY` versions."""
        return f"{self.base}:states:{game_id}"

    def feed(self, game_id: str) -> str:
        """Hash: version -> hash (32 bytes) and body of its record, the last ones (`records.FEED_VERSIONS`)."""
        return f"{self.base}:feed:{game_id}"

    def offsets(self, game_id: str) -> str:
        """String: where in the log each version is, 8 bytes big-endian a version from 1; `~offset` of one that could
        not be folded.
        """
        return f"{self.base}:offsets:{game_id}"

    def summary(self, game_id: str) -> str:
        """String: what lists show of a game (`records.Summary`)."""
        return f"{self.base}:summary:{game_id}"

    # Of each of the next three there is one for everybody, with the games that anybody may watch, and one for each
    # subject, with those in which it has a seat: so whoever reads a list never comes across a game it may not see.

    def games(self, subject: str | None) -> str:
        """Sorted set: games, by time of creation in ms."""
        return self._listing("games", subject)

    def open(self, subject: str | None) -> str:
        """Sorted set: games that are not over, by time of creation in ms."""
        return self._listing("open", subject)

    def results(self, subject: str | None) -> str:
        """Sorted set: games that are over, by time of their end in ms."""
        return self._listing("results", subject)

    def decisions(self, subject: str) -> str:
        """Sorted set: the games that wait for a subject, by its deadline in ms (`NO_DEADLINE`: none)."""
        return self._listing("decisions", subject)

    def _listing(self, kind: str, subject: str | None) -> str:
        return f"{self.base}:{kind}" if subject is None else f"{self.base}:{kind}:{subject}"
