"""One game in a partition: one command in flight, those that wait behind it, and whoever looks at it."""

import asyncio
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from guildhall.host import clock, snapshots
from guildhall.host.clock import Deadline
from guildhall.host.failures import outcome_unknown, quarantined, refused
from guildhall.kernel.decide import Decided
from guildhall.kernel.fold import Unfoldable, follow
from guildhall.kernel.game import Game, Kept
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.rules import Rules
from guildhall.log.errors import LogError
from guildhall.log.port import Appended, Doubt, Entry, Position, TooLarge
from guildhall.log.writer import Outcome, RuledOut, Writer
from guildhall.rpc.errors import Failure
from guildhall.telemetry import logs, metrics

MAX_WAITING = 64
"""Requests that may wait for one game's turn."""

_log = logs.get("host")


class Standing(Enum):
    """How a game's newest version leaves it."""

    LIVE = "live"
    PAUSED = "paused"
    OVER = "over"
    ASKS_NOBODY = "asks nobody"


Attempt: TypeAlias = Callable[[Game | None], Decided | tuple[Game, Decided] | int]
"""Judges a request against the game (None: it does not exist yet).

Returns what was decided (with the new game, where it was created), or the version of its first answer. Raises Refusal
or Failure, with nothing changed.
"""


class Measures:
    """Of one kind of game, looked up once."""

    def __init__(self, game: str) -> None:
        self.decide_seconds = metrics.DECIDE_SECONDS.labels(game)
        self.append_seconds = metrics.APPEND_SECONDS.labels(game)
        self.folded = metrics.FOLDED.labels(game)


class Owner(Protocol):
    """What a game needs of its partition."""

    @property
    def rules(self) -> Rules: ...

    @property
    def measures(self) -> Measures: ...

    @property
    def schema(self) -> str: ...

    @property
    def writer(self) -> Writer: ...

    def changed(self, hosted: "HostedGame") -> None:
        """The game has a new acknowledged version."""
        ...

    def failed(self, error: LogError) -> Failure:
        """What the log's error means for a request."""
        ...


@dataclass(slots=True)
class _InFlight:
    decided: Decided
    kept: Kept | None
    began: float
    answer: "asyncio.Future[Outcome]"
    offset: int = -1
    """Where its record lies, once that has been told."""


class HostedGame:
    """A game, its place in the log, and its queue.

    `game` is the acknowledged state whenever nothing is in flight. A command holds the turn from its decision to its
    acknowledgement, so nobody who waits for the turn ever sees a state that is not in the log.
    """

    __slots__ = (
        "_acting",
        "_deadline",
        "_game",
        "_in_flight",
        "_parked",
        "_turn",
        "_waiting",
        "began",
        "broken",
        "damaged",
        "failed_timeouts",
        "folds",
        "game_id",
        "kept_version",
        "offsets",
        "owner",
        "standing",
        "timer",
        "touched",
        "version_waits",
    )

    def __init__(self, owner: Owner, game_id: str) -> None:
        self.owner = owner
        self.game_id = game_id
        self.offsets: array[int] = array("q")
        """Offset of each version's record, from version 1; of one that could not be folded its complement, ~offset."""
        self.began: Position | None = None
        """The position of its first record, until a snapshot is stored."""
        self.version_waits: list[tuple[int, asyncio.Future[None]]] = []
        self.damaged = ""
        """Why the game's next record is not known; "" where nothing is damaged."""
        self.broken = ""
        """Why the game's records cannot be folded; "" where they can."""
        self.failed_timeouts = 0
        """Time-outs in a row, since the newest version, in which the rules failed."""
        self.standing = Standing.LIVE
        self.folds = 0
        """Records taken from the log that were not decided here."""
        self.kept_version = 0
        """The version of the newest stored snapshot."""
        self.touched = time.monotonic()
        self.timer: asyncio.TimerHandle | None = None
        self._game: Game | None = None
        self._parked: bytes | None = None
        self._deadline: Deadline | None = None
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._acting = 0
        self._in_flight: _InFlight | None = None

    # --- the game

    @property
    def game(self) -> Game | None:
        """The game; None before it is created. Brought back from its bytes where it was parked."""
        if self._parked is not None:
            self._game, _ = snapshots.unkeep(self.owner.rules, self.owner.schema, self._parked)
            self._parked = None
        return self._game

    @property
    def exists(self) -> bool:
        """Whether the game was created, or has broken records."""
        return self._game is not None or self._parked is not None or bool(self.broken or self.damaged)

    @property
    def parked(self) -> bool:
        """Whether the game is kept as bytes; its stored snapshot is then its newest version."""
        return self._parked is not None

    @property
    def deadline(self) -> Deadline | None:
        """The first of the decisions that the game waits for; None where none times out. A parked game stays parked."""
        if self._parked is not None:
            return self._deadline
        return clock.first_deadline(self._game) if self._game is not None else None

    @property
    def settled(self) -> bool:
        """Whether nothing is in flight, so that `game` is the acknowledged state."""
        return self._in_flight is None

    @property
    def at_rest(self) -> bool:
        """Whether nobody waits, acts, or has a command in flight."""
        return not (self._turn.locked() or self._waiting or self._acting or self.version_waits)

    def adopt(self, game: Game, offsets: "array[int]") -> None:
        """Take a game as a snapshot holds it."""
        self._game, self._parked, self.offsets = game, None, offsets
        self.kept_version = game.version
        self._stand(game)

    def mend(self, game: Game) -> None:
        """Take a quarantined game as its records alone tell it, so that it can be acted on; nothing where a newer
        version came meanwhile.
        """
        if self.settled and self._game is not None and self._game.hash == game.hash:
            self._game = game

    def _stand(self, game: Game) -> None:
        """Note how a new version leaves the game."""
        self.failed_timeouts = 0
        if game.ended is not None:
            self.standing = Standing.OVER
        elif game.paused:
            self.standing = Standing.PAUSED
        else:
            self.standing = Standing.LIVE if game.open else Standing.ASKS_NOBODY

    @property
    def quarantined(self) -> str:
        """Why the game's newest version is not known; "" where it is."""
        return self.broken or self.damaged

    @property
    def stuck(self) -> str:
        """Why nobody can bring the game forward, though it is neither over, nor paused, nor quarantined; "" where
        somebody can.
        """
        if self.quarantined:
            return ""
        if self.standing is Standing.ASKS_NOBODY:
            return "nobody is asked"
        if self.standing is Standing.LIVE and self.failed_timeouts:
            return f"the rules failed in {self.failed_timeouts} time-outs in a row"
        return ""

    def park(self) -> None:
        """Keep the game as bytes until somebody asks for it; only when settled and at rest."""
        if self._game is not None:
            self._deadline = clock.first_deadline(self._game)
            self._parked = snapshots.keep(self.owner.schema, self._game, array("q"))
            self._game = None

    def check(self) -> None:
        """Raises Failure GAME_QUARANTINED."""
        if self.quarantined:
            raise quarantined()

    # --- turns

    async def read(self) -> Game | None:
        """The acknowledged game, valid until the caller awaits again. Raises Failure GAME_BUSY."""
        if self._turn.locked():
            await self._enter()
            self._turn.release()
        self.touched = time.monotonic()
        return self.game

    async def act(self, attempt: Attempt, *, repair: bool = False) -> int:
        """Judge a request in its turn, append what was decided, and return its version once that is acknowledged.

        A refusal is told only when confirmed: it then reflects every record that was in the log when the request
        came. `repair` lets an operator act on a quarantined game. Raises Failure.
        """
        self._acting += 1
        try:
            return await self._act(attempt, repair)
        finally:
            self._acting -= 1

    async def _act(self, attempt: Attempt, repair: bool) -> int:
        while True:
            await self._enter()
            self.touched = time.monotonic()
            folds = self.folds
            try:
                result = self._judge(attempt, repair)
            except Failure as failure:
                self._turn.release()
                if failure.reason != "COMMAND_ID_REUSED":
                    await self.confirm()
                if folds == self.folds:
                    raise
                continue
            except BaseException:
                self._turn.release()
                raise
            if isinstance(result, int):
                self._turn.release()
                return result
            outcome = await result.answer
            if isinstance(outcome, Appended):
                return result.decided.record.seq
            if isinstance(outcome, TooLarge):
                raise Failure("RULES_FAILED", "The command's record is too large for the log; nothing was changed.")
            if isinstance(outcome, Doubt):
                raise outcome_unknown()
            # Ruled out: another record or claim came first. Judge again on what is there now.
            await self.confirm()

    async def confirm(self) -> None:
        """Returns when everything that was in the log before this call is folded. Raises Failure."""
        try:
            await self.owner.writer.confirm()
        except LogError as error:
            raise self.owner.failed(error) from error

    async def _enter(self) -> None:
        if self._waiting >= MAX_WAITING:
            raise Failure("GAME_BUSY", "Too many requests wait for this game; nothing was done.")
        self._waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= 1

    def _judge(self, attempt: Attempt, repair: bool) -> "int | _InFlight":
        if not repair:
            self.check()
        game = self.game
        kept = game.keep() if game is not None else None
        began = time.perf_counter()
        try:
            result = attempt(game)
        except Refusal as refusal:
            raise refused(refusal, **({} if game is None else {"version": str(game.version)})) from None
        except Failure:
            raise
        except Exception as error:
            name = self.owner.rules.game
            metrics.RULES_FAILURES.labels(name).inc()
            version = game.version if game is not None else 0
            _log.error("rules failed", game=name, game_id=self.game_id, version=version, exc_info=error)
            raise Failure(
                "RULES_FAILED", "The rules failed unexpectedly; nothing was changed. It has been reported."
            ) from error
        if isinstance(result, int):
            return result
        if not isinstance(result, Decided):
            self._game, result = result
        self.owner.measures.decide_seconds.observe(time.perf_counter() - began)
        return self._send(result, kept, repair)

    # --- the log

    def _send(self, decided: Decided, kept: Kept | None, repair: bool) -> _InFlight:
        """Append what was decided; from here on the turn is given back by `_settle`, whoever goes away."""
        in_flight = _InFlight(decided, kept, time.perf_counter(), asyncio.get_running_loop().create_future())
        self._in_flight = in_flight
        try:
            appended = self.owner.writer.append(
                self.game_id, decided.record.seq, decided.hash, decided.body, repair=repair
            )
        except LogError as error:
            self._roll_back()
            raise self.owner.failed(error) from error
        appended.add_done_callback(self._settle)
        return in_flight

    def told(self, offset: int, entry: Entry) -> None:
        """An effective record of this game, in log order."""
        if not self.offsets:
            self.began = Position(offset, entry.claim)
        in_flight = self._in_flight
        if in_flight is not None:
            if in_flight.decided.hash == entry.hash:
                in_flight.offset = offset
                self.offsets.append(offset)
                # It was decided on a whole game, or makes it whole.
                self.broken = self.damaged = ""
                return
            if in_flight.offset >= 0:
                # Another owner has gone on from it, and both were read at once.
                self._take_effect(in_flight)
            else:
                self._roll_back()
        self.folds += 1
        self.owner.measures.folded.inc()
        before = self.broken
        try:
            self._game, _ = follow(self.owner.rules, self.game, entry.seq, entry.body, entry.hash)
            self.broken = self._game.lost
        except Unfoldable as error:
            self.broken = self.broken or str(error)
        self.offsets.append(~offset if self.broken else offset)
        if self.broken:
            if not before:
                self._tell_quarantined(offset, self.broken)
            return
        assert self._game is not None
        self.damaged = ""
        self._stand(self._game)
        self._reached(self._game.version)
        self.owner.changed(self)

    def damage(self, offset: int, reason: str) -> None:
        """A record of this game cannot be read, so what comes next is not known."""
        self.damaged = reason
        self._tell_quarantined(offset, reason)

    def _tell_quarantined(self, offset: int, why: str) -> None:
        _log.error("game quarantined", game=self.owner.rules.game, game_id=self.game_id, offset=offset, why=why)
        self.owner.changed(self)

    def _settle(self, appended: "asyncio.Future[Outcome]") -> None:
        outcome = appended.result()
        in_flight = self._in_flight
        if in_flight is None:  # another record has been folded: behind it, or in its place
            self._turn.release()
            return
        if in_flight.offset >= 0:
            # Where it was ruled out here, the next owner was sent the same command and wrote the very same record.
            outcome = Appended(in_flight.offset)
        if not in_flight.answer.done():
            in_flight.answer.set_result(outcome)
        if isinstance(outcome, Appended):
            self.owner.measures.append_seconds.observe(time.perf_counter() - in_flight.began)
            # Next: whoever sent the command has its answer before the watchers are served.
            asyncio.get_running_loop().call_soon(self._acknowledged, in_flight)
        else:
            self._roll_back()
            self._turn.release()

    def _acknowledged(self, in_flight: _InFlight) -> None:
        try:
            if self._in_flight is in_flight:
                self._take_effect(in_flight)
        finally:
            self._turn.release()

    def _take_effect(self, in_flight: _InFlight) -> None:
        """What was in flight is in the log: the game is at its version."""
        self._in_flight = None
        if not in_flight.answer.done():
            in_flight.answer.set_result(Appended(in_flight.offset))
        game = self.game
        assert game is not None
        self._stand(game)
        self._reached(game.version)
        self.owner.changed(self)

    def _roll_back(self) -> None:
        """Be again as before the command in flight; its answer, if still awaited, is that it was ruled out."""
        in_flight, self._in_flight = self._in_flight, None
        assert in_flight is not None
        if in_flight.kept is None:
            self._game = None
        else:
            assert self._game is not None
            self._game.rollback(in_flight.kept)
        if not in_flight.answer.done():
            in_flight.answer.set_result(RuledOut())

    # --- whoever waits for a version

    def _reached(self, version: int) -> None:
        for wanted, future in self.version_waits:
            if wanted <= version and not future.done():
                future.set_result(None)

    async def reach(self, version: int, seconds: float) -> None:
        """Wait until the game has this version. Raises Failure VERSION_NOT_REACHED."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        wait = (version, future)
        self.version_waits.append(wait)
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            raise Failure("VERSION_NOT_REACHED", f"Version {version} was not reached in time.") from None
        finally:
            self.version_waits.remove(wait)
