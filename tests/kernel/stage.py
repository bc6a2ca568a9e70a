"""A stage for tests of the kernel: the tiny game's hall and events, any frames, and a log that can be folded."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from msgspec import UNSET

from guildhall.kernel.decide import Creation, Decided, create, created_event, decide, resign, time_out
from guildhall.kernel.fold import fold_all
from guildhall.kernel.frames import Choice, Frame
from guildhall.kernel.game import Game, restore
from guildhall.kernel.ids import decision_id
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.rules import Rules
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import RULES

SEED = bytes(range(32))
START_MS = 1_000_000


class Ask(Choice, tag="ask"):
    """Asks one seat for a number below `below`; the number is added to its points."""

    seat: int
    below: int = 3

    def asked(self, hall: Any) -> list[int]:
        return [self.seat]

    def options(self, hall: Any, seat: int) -> list[Any]:
        return [t.Bid(n) for n in range(self.below)]

    def default(self, hall: Any, seat: int) -> Any:
        return t.Bid(0)

    def choose(self, table: Any, seat: int, command: Any) -> None:
        score(table, seat, command.coins)


class Finish(Frame, tag="finish"):
    """The game is over."""

    def run(self, table: Any) -> None:
        table.end()


def score(table: Any, seat: int, points: int) -> None:
    """A seat gains points: a public event without a front."""
    table.emit(t.Rolled(seat, 0, table.hall.seats[seat].points + points))


def staged(*agenda: Frame, frames: tuple[type[Frame], ...] = (), **changes: Any) -> Rules:
    """Rules whose games play these frames in this order, then end; `frames` are others that may follow."""

    class Script(Frame, tag="script"):
        def run(self, table: Any) -> None:
            table.then(*agenda, Finish())

    used: dict[type[Frame], None] = dict.fromkeys((Script, Finish, Ask, *(type(frame) for frame in agenda), *frames))
    return replace(RULES, frames=tuple(used), first=Script, **changes)


class Play:
    """One game with its records."""

    def __init__(
        self,
        rules: Rules = RULES,
        seats: int = 2,
        *,
        decision_ms: int | None = None,
        rulings: Mapping[str, str] | None = None,
    ) -> None:
        self.rules = rules
        subjects = [f"player-{seat}" for seat in range(seats)]
        created = created_event(rules, Creation(subjects, {}, rulings or {}, decision_ms), "game", SEED)
        self.game, first = create(
            rules, created, subject="player-0", command_id="create", payload_hash=bytes(32), at_ms=START_MS
        )
        self.steps: list[Decided] = [first]
        self.now = START_MS

    def id(self, seat: int) -> str:
        """The id of the seat's open decision."""
        (found,) = (decision_id(d.version, d.seat) for d in self.game.open if d.seat == seat)
        return found

    def open_ids(self) -> list[str]:
        """The ids of all open decisions."""
        return [decision_id(d.version, d.seat) for d in self.game.open]

    def do(self, seat: int, command: Any, *, of: str | None = None, command_id: str | None = None) -> Decided:
        """A seat's command to its open decision, or to the decision `of`."""
        self.now += 1_000
        decided = decide(
            self.game,
            seat,
            self.id(seat) if of is None else of,
            command,
            subject=f"player-{seat}",
            command_id=command_id or f"v{self.game.version}",
            at_ms=self.now,
        )
        self.steps.append(decided)
        return decided

    def time_out(self, seat: int) -> Decided:
        """The clock plays the seat's default."""
        self.now += 1_000
        self.steps.append(time_out(self.game, self.id(seat), at_ms=self.now))
        return self.steps[-1]

    def resign(self, seat: int) -> Decided:
        """The seat gives up."""
        self.now += 1_000
        self.steps.append(
            resign(self.game, seat, subject=f"player-{seat}", command_id=f"resign-{seat}", at_ms=self.now)
        )
        return self.steps[-1]

    def refused(self, seat: int, command: Any, *, of: str | None = None, command_id: str | None = None) -> Refusal:
        """The refusal of a command, which has changed nothing."""
        before = self.game.snapshot()
        result: Any = UNSET
        try:
            result = self.do(seat, command, of=of, command_id=command_id)
        except Refusal as refusal:
            assert self.game.snapshot() == before
            return refusal
        raise AssertionError(f"accepted: {result}")

    def records(self) -> list[tuple[bytes, bytes]]:
        """Bodies and hashes, from version 1."""
        return [(step.body, step.hash) for step in self.steps]

    def folded(self) -> Game:
        """The game as its records tell it."""
        return fold_all(self.rules, self.records())

    def restored(self) -> Game:
        """The game from its snapshot."""
        return restore(self.rules, self.game.snapshot())

    def check_stored(self) -> None:
        """The log and the snapshot both tell this game."""
        assert self.folded().snapshot() == self.game.snapshot()
        assert self.restored().snapshot() == self.game.snapshot()
        for seat in range(self.game.seats):
            assert self.folded().legal(seat) == self.game.legal(seat)
            assert self.restored().legal(seat) == self.game.legal(seat)


def points(game: Game) -> list[int]:
    """Points of all seats."""
    return [place.points for place in game.hall.seats]
