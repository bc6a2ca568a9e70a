"""One partition of a game: its writer, its games, and what is stored beside the events so that starts are quick."""

import asyncio
import contextlib
import random
import time
import zlib
from array import array
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from guildhall.host import clock, snapshots
from guildhall.host.failures import log_failed, quarantined
from guildhall.host.history import History
from guildhall.host.hosted_game import HostedGame, Measures
from guildhall.host.owners import place
from guildhall.kernel.decide import Decided
from guildhall.kernel.fold import Unfoldable
from guildhall.kernel.game import Game
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import Owner
from guildhall.log.errors import BadValue, Closed, LogError, LogUnreadable, NotOwner, OutOfOrder
from guildhall.log.fold import ClaimSeen, Damaged, Effective, FoldState, Verdict, Void
from guildhall.log.port import CLAIM_KEY, NO_CLAIM, Claim
from guildhall.log.reader import fold_to
from guildhall.log.recovery import Store, recover, unreadable
from guildhall.log.snapshots import Checkpoint, Marker, Snapshot, checkpoint_key, decode_marker, encode, snapshot_key
from guildhall.log.writer import Limits, Writer
from guildhall.rpc.errors import Failure
from guildhall.rpc.forwarding import Elsewhere
from guildhall.telemetry import logs, metrics

LONG_FOLD = 1_000
"""Records; whoever has folded as many stores the states that came of it as soon as it serves."""

STORED_AT_ONCE = 8
"""Snapshots in one group commit; making one takes about a millisecond, in which nobody is answered."""

_log = logs.get("host")

T = TypeVar("T")


@dataclass(frozen=True)
class Upkeep:
    """When what is not needed now leaves memory, and how often the stored states are renewed."""

    every_seconds: float = 20.0
    park_after_seconds: float = 60.0
    finished_in_memory: int = 64


class Stream(Protocol):
    """A stream of requests for a game of this partition."""

    def end(self, why: Failure) -> None:
        """End it, as soon as what is under way is answered."""
        ...


class Partition:
    """The games of one partition, served by this instance for as long as its claim is the newest."""

    def __init__(
        self,
        rules: Rules,
        store: Store,
        number: int,
        me: Claim,
        history: History,
        upkeep: Upkeep,
        claimed: "Callable[[int, Claim | None], None]",
        limits: Limits | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """`claimed` is told each claim that comes after the fold: its offset, and who made it (None: nobody knows);
        `limits` and `rng` are the writer's.
        """
        self._limits, self._rng = limits, rng
        self._claimed = claimed
        self.rules = rules
        self.measures = Measures(rules.game)
        self.schema = snapshots.schema_of(rules)
        self.number = number
        self.store = store
        self.history = history
        self.hosted: dict[str, HostedGame] = {}
        self.claimed_ms = 0
        self._me = me
        self._upkeep = upkeep
        self._writer: Writer | None = None
        self._finished: OrderedDict[str, HostedGame] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._streams: set[Stream] = set()
        self._stored: Checkpoint | None = None
        self._snapshots: dict[str, str] = {}
        """The game of every key under which a snapshot may be stored, also one of another schema."""
        self._claimed_first = asyncio.Event()
        self._folded = 0

    @property
    def writer(self) -> Writer:
        """The partition's writer, after `fold`."""
        assert self._writer is not None
        return self._writer

    @property
    def serving(self) -> bool:
        """Whether this instance owns the partition and takes requests for it."""
        return self._writer is not None and self._writer.serving

    # --- start and end

    async def fold(self) -> None:
        """Fold what is there; then the writer may claim. Raises `LogUnavailable`, `LogUnreadable`."""
        try:
            state = await recover(
                self.store, self.number, self.schema, self._restore, self._told, stored=self._found_snapshot
            )
        except OutOfOrder as error:
            raise LogUnreadable(
                f"{self.rules.game}, partition {self.number}", f"records are missing: {error}"
            ) from error
        self._writer = Writer(self.store.events, self.number, self._me, state, self._told, self._limits, self._rng)
        for game_id, offset in self._writer.damaged().items():
            if not self.slot(game_id).damaged:
                self.slot(game_id).damage(offset, "the record cannot be read")
        self._spawn(self._keep_up())

    async def finish(self, seconds: float) -> None:
        """Take nothing more, and wait until it is known what became of what is in flight, but no longer than that."""
        self._stop_clocks()
        for task in list(self._tasks):
            task.cancel()
        if self._writer is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._writer.close()

    async def store_all(self, seconds: float) -> None:
        """Store every changed state, for as long as that; tells no error, since starts do without."""
        try:
            async with asyncio.timeout(seconds):
                await self.store_states(all_of_them=True)
        except LogError as error:
            _log.warning("states not stored", game=self.rules.game, partition=self.number, why=logs.said(error))
        except TimeoutError:
            why = f"it took longer than {seconds:g} s"
            _log.warning("states not stored", game=self.rules.game, partition=self.number, why=why)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- games

    def slot(self, game_id: str) -> HostedGame:
        """The game's place, made where there is none: a game begins there."""
        hosted = self.hosted.get(game_id)
        if hosted is None:
            hosted = self.hosted[game_id] = HostedGame(self, game_id)
        return hosted

    def drop_empty(self, hosted: HostedGame) -> None:
        """Forget a place where no game came to be."""
        # It may have been forgotten before, and another place made, in which the game has begun.
        if self.hosted.get(hosted.game_id) is hosted and not hosted.exists and hosted.settled and hosted.at_rest:
            del self.hosted[hosted.game_id]

    async def find(self, game_id: str) -> HostedGame | None:
        """The game in memory, or a finished one from its marker; None where neither is known. Raises Failure."""
        hosted = self.hosted.get(game_id)
        if hosted is not None:
            return hosted
        finished = self._finished.get(game_id)
        if finished is None:
            finished = await self._load_finished(game_id)
            if finished is None:
                return self.hosted.get(game_id)
            self._finished[game_id] = finished
            if len(self._finished) > self._upkeep.finished_in_memory:
                self._finished.popitem(last=False)
        else:
            self._finished.move_to_end(game_id)
        return finished

    async def is_marked(self, game_id: str) -> bool:
        """Whether the game has a marker: it is finished. Raises Failure."""
        try:
            return await self.store.markers.get(self.number, game_id) is not None
        except LogError as error:
            raise self.failed(error) from error

    async def _load_finished(self, game_id: str) -> HostedGame | None:
        try:
            value = await self.store.markers.get(self.number, game_id)
            if value is None:
                return None
            marker = decode_marker(value)
            try:
                game, offsets = snapshots.unkeep(self.rules, self.schema, marker.kept)
            except (msgspec.MsgspecError, zlib.error, ValueError) as error:
                unreadable(self.store.markers, self.number, game_id, BadValue(str(error)))
                game, offsets = None, await self._offsets(game_id, marker.offset)
            if game is None:
                game = await self.history.at(self.number, game_id, offsets, len(offsets))
        except LogError as error:
            raise self.failed(error) from error
        except Unfoldable as error:
            _log.error("game unreadable", game=self.rules.game, game_id=game_id, why=logs.said(error))
            await self.confirm()
            raise quarantined() from error
        hosted = HostedGame(self, game_id)
        hosted.adopt(game, offsets)
        return hosted

    async def _offsets(self, game_id: str, last: int) -> "array[int]":
        """Where the records of a finished game lie, from the log itself. Raises `LogError`."""
        offsets = array("q")

        def told(verdict: Verdict) -> None:
            if isinstance(verdict, Effective) and verdict.aggregate_id == game_id:
                offsets.append(verdict.offset)

        await fold_to(self.store.events, self.number, FoldState(), last + 1, told)
        return offsets

    # --- the log

    async def confirm(self) -> None:
        """Returns when everything that was in the log before this call is folded. Raises Failure."""
        try:
            await self.writer.confirm()
        except LogError as error:
            raise self.failed(error) from error

    def _found_snapshot(self, game_id: str, key: str) -> None:
        self._snapshots[key] = game_id

    def _restore(self, game_id: str, snapshot: Snapshot) -> None:
        """Begin with a stored state. Raises `BadValue` where it cannot be read."""
        try:
            game, offsets = snapshots.unkeep(self.rules, self.schema, snapshot.state)
        except (msgspec.MsgspecError, zlib.error, ValueError) as error:
            raise BadValue(str(error)) from error
        if game is None or game.version != snapshot.seq or len(offsets) != snapshot.seq:
            raise BadValue("it is not what it says that it is")
        hosted = HostedGame(self, game_id)
        hosted.adopt(game, offsets)
        self.hosted[game_id] = hosted

    def _told(self, verdict: Verdict) -> None:
        match verdict:
            case Effective(offset=offset, aggregate_id=game_id, entry=entry):
                self._folded += 1
                self.slot(game_id).told(offset, entry)
            case Void(reason=reason):
                metrics.VOID_RECORDS.labels(self.rules.game, reason.value).inc()
            case ClaimSeen(offset=offset, claim=claim):
                own = claim.instance == self._me.instance
                metrics.CLAIMS.labels(self.rules.game, "own" if own else "foreign").inc()
                if self._writer is not None:
                    self._owner_changed(offset, claim)
            case Damaged(offset=offset, key=key, reason=reason):
                of = "claim" if key == CLAIM_KEY else "game"
                metrics.DAMAGED_RECORDS.labels(self.rules.game, of).inc()
                if key == CLAIM_KEY:
                    _log.error(
                        "claim unreadable", game=self.rules.game, partition=self.number, offset=offset, why=reason
                    )
                    if self._writer is not None:
                        self._owner_changed(offset, None)
                else:
                    self.slot(key).damage(offset, reason)

    def _owner_changed(self, offset: int, claim: Claim | None) -> None:
        """After a claim, by whomever: serve under an own one, stand down behind any other."""
        self._claimed(offset, claim)
        if claim is not None and claim.instance == self._me.instance:
            self.claimed_ms = clock.now_ms()
            self._claimed_first.set()
            for hosted in self.hosted.values():
                self._arm(hosted)
            return
        self._stop_clocks()
        # Nobody may take what this instance still has for the newest.
        self.end_streams(self.elsewhere(claim, offset).plain())

    def elsewhere(self, claim: Claim | None, offset: int) -> Elsewhere:
        """What a request is told whose game another instance serves."""
        owner = None
        if claim is not None and claim.instance != self._me.instance:
            owner = Owner(self.rules.game, self.number, offset, claim.instance, claim.address)
        return Elsewhere(place(self.rules.game, self.number), owner)

    def failed(self, error: LogError) -> Failure:
        """What the log's error means for a request."""
        match error:
            case NotOwner(claim=offset, owner=claim):
                return self.elsewhere(claim, offset)
            case Closed() if error.__cause__ is None:  # given up, and nobody is known to have taken it yet
                return self.elsewhere(None, NO_CLAIM)
        return log_failed(error)

    @contextlib.contextmanager
    def streaming(self, stream: "Stream") -> "Iterator[None]":
        """While a stream depends on this instance's serving."""
        self._streams.add(stream)
        try:
            yield
        finally:
            self._streams.discard(stream)

    def end_streams(self, why: Failure) -> None:
        """Nothing more will come from here."""
        for stream in list(self._streams):
            stream.end(why)

    # --- the clock

    def changed(self, hosted: HostedGame) -> None:
        """A game has a new acknowledged version: its next deadline counts."""
        if self._writer is not None:
            self._arm(hosted)

    def _stop_clocks(self) -> None:
        for hosted in self.hosted.values():
            if hosted.timer is not None:
                hosted.timer.cancel()
                hosted.timer = None

    def _arm(self, hosted: HostedGame, pause: float = 0.0) -> None:
        if hosted.timer is not None:
            hosted.timer.cancel()
            hosted.timer = None
        if hosted.broken or hosted.damaged or not self.writer.serving:
            return
        deadline = hosted.deadline
        if deadline is not None:
            seconds = max(pause, (clock.due_ms(deadline, self.claimed_ms) - clock.now_ms()) / 1000)
            loop = asyncio.get_running_loop()
            hosted.timer = loop.call_later(seconds, self._ring, hosted, deadline.decision)

    def _ring(self, hosted: HostedGame, decision: str) -> None:
        hosted.timer = None
        self._spawn(self._time_out(hosted, decision))

    async def _time_out(self, hosted: HostedGame, decision: str) -> None:
        def attempt(game: Game | None) -> Decided:
            assert game is not None
            deadline = clock.first_deadline(game)
            # A newer claim, or a pause, came first.
            if deadline is not None and clock.due_ms(deadline, self.claimed_ms) > clock.now_ms():
                raise Refusal("STALE_DECISION", "Its deadline is later now.")
            return clock.play_default(game, decision)

        try:
            await hosted.act(attempt)
            metrics.TIMEOUTS.labels(self.rules.game).inc()
        except Failure as failure:
            if failure.reason == "STALE_DECISION":
                self._arm(hosted)
                return
            if failure.reason in ("GAME_OVER", "GAME_PAUSED", "GAME_QUARANTINED"):
                return
            pause = clock.LOG_RETRY_SECONDS
            if failure.reason == "RULES_FAILED":
                hosted.failed_timeouts += 1
                pause = clock.retry_seconds(hosted.failed_timeouts)
            _log.warning(
                "time-out failed",
                game=self.rules.game,
                game_id=hosted.game_id,
                why=failure.reason,
                again_in_seconds=round(pause, 1),
            )
            self._arm(hosted, pause)

    # --- upkeep

    async def _keep_up(self) -> None:
        await self._claimed_first.wait()
        # After a long fold at once, so that it need not be done again; else not all partitions at the same time.
        pause = 0.0 if self._folded >= LONG_FOLD else self._upkeep.every_seconds * random.random()
        while True:
            await asyncio.sleep(pause)
            pause = self._upkeep.every_seconds
            try:
                if self.writer.serving:
                    await self.store_states(all_of_them=False)
            except LogError as error:
                _log.warning("states not stored", game=self.rules.game, partition=self.number, why=logs.said(error))
            except Exception as error:  # a fault of ours: it must be told, and must not end the upkeep
                _log.error("states not stored", game=self.rules.game, partition=self.number, exc_info=error)

    async def store_states(self, *, all_of_them: bool) -> None:
        """Store the changed games' states, then a checkpoint; finished games leave memory for their markers, and idle
        ones become bytes. Raises `LogError`.
        """
        for some in batched(list(self.hosted.values()), STORED_AT_ONCE):
            await asyncio.gather(*(self._store(hosted) for hosted in some))
            for hosted in some:
                await self._rest(hosted, all_of_them)
        begins = {name: hosted.began for name, hosted in self.hosted.items() if hosted.began is not None}
        checkpoint = self.writer.checkpoint(self.hosted, begins)
        # A game may leave memory for its marker without a new record: then too the next start need not load it.
        if checkpoint != self._stored:
            await self.store.checkpoints.put(self.number, checkpoint_key(self.number), encode(checkpoint))
            self._stored = checkpoint
        await self._drop_snapshots(checkpoint)

    async def _drop_snapshots(self, stored: Checkpoint) -> None:
        """Delete every snapshot, of whatever schema, of the games that are finished by the stored checkpoint: a start
        from one that lists a game would, without its snapshot, read the partition from its beginning.

        Live games keep theirs of other schemas: an older process may have to start from them yet.
        """
        needless = [
            key
            for key, game_id in self._snapshots.items()
            if game_id not in stored.seqs and self.writer.last_seq(game_id)
        ]
        for some in batched(needless, STORED_AT_ONCE):
            await asyncio.gather(*(self._drop_snapshot(key) for key in some))

    async def _drop_snapshot(self, key: str) -> None:
        await self.store.snapshots.put(self.number, key, None)
        self._snapshots.pop(key, None)

    def _storable(self, hosted: HostedGame) -> Game | None:
        """The game, if it stands at an acknowledged state; a game whose turn is taken is stored next time, and the
        fold from its last stored state is short.
        """
        if hosted.broken or hosted.damaged or hosted.parked or not hosted.settled:
            return None
        return hosted.game

    async def _store(self, hosted: HostedGame) -> None:
        game = self._storable(hosted)
        if game is None or game.version <= hosted.kept_version:
            return
        version = game.version
        state = snapshots.keep(self.schema, game, hosted.offsets)
        value = encode(Snapshot(version, self.writer.position, state))
        key = snapshot_key(hosted.game_id, self.schema)
        self._snapshots[key] = hosted.game_id  # also where it is never known whether it was stored
        await self.store.snapshots.put(self.number, key, value)
        hosted.kept_version = version
        hosted.began = None

    async def _rest(self, hosted: HostedGame, all_of_them: bool) -> None:
        """Let a game that nobody needs now leave memory, or lie there as bytes."""
        game = self._storable(hosted)
        if game is None or not hosted.at_rest or game.version > hosted.kept_version:
            return
        idle = time.monotonic() - hosted.touched >= self._upkeep.park_after_seconds
        if game.ended is not None and (idle or all_of_them):
            await self._mark(hosted, game)
        elif idle:
            hosted.park()

    async def _mark(self, hosted: HostedGame, game: Game) -> None:
        """Write the marker of a finished game once, then forget the game."""
        if await self.store.markers.get(self.number, hosted.game_id) is None:
            kept = snapshots.keep(self.schema, game, hosted.offsets)
            marker = Marker(game.version, hosted.offsets[-1], kept)
            await self.store.markers.put(self.number, hosted.game_id, encode(marker))
        if hosted.at_rest:
            self.hosted.pop(hosted.game_id, None)


def batched(things: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The things, so many at a time."""
    return (things[first : first + size] for first in range(0, len(things), size))
