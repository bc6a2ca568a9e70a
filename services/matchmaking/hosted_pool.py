"""One game's pool in its partition: each group of commands that was judged (`judging`) is one entry of the log.

While an entry is in flight the pool is ahead of the log by that entry, and nobody sees it: reads, streams and the next
group wait until it is known what became of it.
"""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from guildhall.host import clock
from guildhall.host.failures import outcome_unknown, quarantined
from guildhall.host.operations import PoolOrder
from guildhall.kernel import ids
from guildhall.kernel.v1.structs import CommandRef, Record, decode_Record, encode_Record
from guildhall.log.errors import LogError
from guildhall.log.port import Appended, Doubt, Entry, TooLarge
from guildhall.log.topics import MATCHMAKING
from guildhall.log.writer import Outcome, Writer
from guildhall.matchmaking.v1.structs import decode_event
from guildhall.rpc.errors import Failure, internal
from guildhall.rpc.forwarding import Elsewhere
from guildhall.telemetry import logs, metrics
from services.matchmaking import measures, mending
from services.matchmaking.accepted import Accepted, payload_hash
from services.matchmaking.deciding import due
from services.matchmaking.evolve import evolve
from services.matchmaking.house import HouseRules
from services.matchmaking.judging import GROUP, LUCK_BYTES, Asked, Group, failed, judge_all, judge_time
from services.matchmaking.offers import AWAY_MS
from services.matchmaking.pool import Pool, State, copied, restore
from services.matchmaking.step import Step
from services.matchmaking.stored import KeptPool

MAX_WAITING = 4096
"""Requests that may wait for one pool's next entry."""

MAX_READING = 4096
"""Requests that may wait at once to read a pool."""

GATHER_SECONDS = 0.02
"""From one entry to the next, in which commands are gathered for it: an entry costs as much as a few of them (decision
32).
"""

RETRY_SECONDS = 1.0
"""Pause before the clock's work is tried again that failed."""

VERSION = "1"
"""Of the code that decides; written into each record."""

_log = logs.get("matchmaking")

# Looked up once: that takes longer than to count.
_FOLDED = metrics.FOLDED.labels(MATCHMAKING)
_APPEND_SECONDS = metrics.APPEND_SECONDS.labels(MATCHMAKING)

T = TypeVar("T")


class Owner(Protocol):
    """What a pool needs of its partition."""

    @property
    def writer(self) -> Writer: ...

    @property
    def serving(self) -> bool:
        """Whether this instance owns the partition and takes requests for it."""
        ...

    def failed(self, error: LogError) -> Failure:
        """What the log's error means for a request."""
        ...

    def left(self) -> Failure:
        """What a request is told that this instance does not serve (any more)."""
        ...


class Watcher(Protocol):
    """Whoever is told that something of a subject has changed."""

    def hear(self) -> None:
        """The pool stands at a new acknowledged state, which can be read; returns at once."""
        ...

    def end(self, why: Failure) -> None:
        """No more will come from here."""
        ...


class HostedPool:
    """A pool, its place in the log, and whoever waits for it."""

    def __init__(self, owner: Owner, house: HouseRules) -> None:
        self.owner = owner
        self.house = house
        self.game = house.rules.game
        self._together = metrics.GROUP_COMMANDS.labels(self.game)
        self.seq = 0
        self.kept_seq = 0
        """The version of the newest stored snapshot."""
        self.readers: dict[int, bytes] = {}
        """How far the results in each partition of the game's log were read, as `results` encodes it."""
        self.damaged = ""
        """Why the pool's newest version is not known; "" where it is."""
        self.damaged_at = -1
        """Offset of the record of which that is so."""
        self.passed_over = 0
        """Records that count and were not folded, since it was damaged."""
        self.put_back = False
        """Whether it was put back behind what is folded here, and must be folded again."""
        self.restored: Callable[[], None] = lambda: None
        """Called when the pool goes on after it was put back."""
        self.news = asyncio.Event()
        """Set at the next acknowledged state; then another one takes its place."""
        self._pool = Pool(house)
        self._hash = b""
        self._accepted = Accepted()
        self._folds = 0
        self._reading = 0
        self._waiting: deque[Asked] = deque()
        self._reads: list[tuple[Callable[[], None], asyncio.Future[None]]] = []
        self._in_flight: Group | None = None
        self._watchers: dict[str, set[Watcher]] = {}
        self._going = False
        self._gathering: asyncio.TimerHandle | None = None
        self._sent_at = -GATHER_SECONDS
        self._repair: Group | None = None
        """What an operator's order was made into."""
        self._did_not_happen: list[range] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tick_after = 0.0
        self._ahead_ms = 0
        """How far the log's time is ahead of this machine's."""
        self._heard_ms = 0
        """Since when whoever asks has had an answer: since this instance serves, or the log was last away."""
        self._tasks: set[asyncio.Task[None]] = set()

    # --- reading

    @property
    def settled(self) -> bool:
        """Whether nothing is in flight, so that `pool` is the acknowledged state."""
        return self._in_flight is None

    @property
    def pool(self) -> Pool:
        """The acknowledged state, valid until the caller awaits; only while `settled`, as when watchers are told."""
        assert self._in_flight is None
        return self._pool

    async def read(self, what: Callable[[Pool], T]) -> T:
        """What there is to read; it reflects every record that was in the log when this was called. Raises Failure."""
        self.check()
        if self._reading >= MAX_READING:
            raise Failure("GAME_BUSY", "Too many requests wait for this game; ask again.")
        self._reading += 1
        try:
            await self.confirm()
            return await self.at_rest(lambda: what(self._pool))
        finally:
            self._reading -= 1

    def count(self, shelf: str) -> int:
        """How many there are, give or take what is in flight: for metrics."""
        return len(getattr(self._pool, shelf))

    def unmade_seconds(self) -> float:
        """Since all have confirmed the oldest offer whose game is not known to be made; 0: there is none. For metrics,
        which are asked for in a thread of their own.
        """
        offers = [self._pool.offers.get(offer_id) for offer_id in list(self._pool.starting.values())]
        now_ms = clock.now_ms() + self._ahead_ms
        return max((now_ms - offer.accepted_ms for offer in offers if offer is not None), default=0) / 1000

    async def at_rest(self, what: Callable[[], T]) -> T:
        """What this gives as soon as nothing is in flight."""
        if self._in_flight is None:
            return what()
        # Read by whoever settles it: when this task comes to run, the next entry may be in flight.
        read: list[T] = []
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reads.append((lambda: read.append(what()), settled))
        await settled
        return read[0]

    def check(self) -> None:
        """Raises Failure where this instance does not serve, or the pool is damaged."""
        if not self.owner.serving:
            raise self.owner.left()
        if self.damaged:
            raise quarantined()

    @property
    def accepted(self) -> Any:
        """The commands that it has accepted, for comparing."""
        return self._accepted.kept()

    async def confirm(self) -> None:
        """Returns when everything that was in the log before this call is folded. Raises Failure."""
        try:
            await self.owner.writer.confirm()
        except LogError as error:
            self._heard_ms = self._now_ms()
            raise self.owner.failed(error) from error

    # --- commands

    async def act(self, asked: Asked) -> None:
        """Returns when the command is in the log, or was before. Raises Failure: a refusal that reflects every record
        that was in the log when this was called, or that the outcome is not known.
        """
        self.check()
        if len(self._waiting) >= MAX_WAITING:
            raise Failure("GAME_BUSY", "Too many requests wait for this game; nothing was done.")
        self._waiting.append(asked)
        self._gather()
        await asked.answer

    def _gather(self) -> None:
        """Judge what waits together with what comes soon after the last entry; at once what fills an entry."""
        loop = asyncio.get_running_loop()
        pause = self._sent_at + GATHER_SECONDS - loop.time()
        if pause <= 0 or len(self._waiting) >= GROUP:
            self.go()
        elif self._gathering is None:
            self._gathering = loop.call_later(pause, self.go)

    def go(self) -> None:
        """Judge what waits, once the loop has taken in what else has come."""
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        if not self._going and self._in_flight is None:
            self._going = True
            asyncio.get_running_loop().call_soon(self._go)

    def _go(self) -> None:
        self._going = False
        if self._in_flight is not None:
            return
        try:
            self.check()
        except Failure as failure:
            self._give_up(failure)
            return
        group = self._judge_group()
        if group.commands or group.events:
            self._send(group)
            return
        self._pool.settle()
        if group.answers:
            self._spawn(self._answer_unchanged(group))
        if self._waiting:
            self.go()
        else:
            self._arm()

    def _now_ms(self) -> int:
        """The pool's time: this machine's, or, where the log is ahead of it since an owner's clock was, so much later.
        So time goes on in any case, and a clock that was wrong keeps nobody waiting.
        """
        now_ms = clock.now_ms()
        if now_ms + self._ahead_ms < self._pool.at_ms:
            self._ahead_ms = self._pool.at_ms - now_ms
        return now_ms + self._ahead_ms

    def _judge_group(self) -> Group:
        """Judge as many commands as belong in an entry, then what is due by the clock."""
        group = Group(self._pool.mark(), self._now_ms(), self._folds)
        judge_all(self._pool, self._accepted, self._waiting, group)
        if time.monotonic() >= self._tick_after:
            try:
                judge_time(self._pool, group, self._heard_ms)
            except Exception as error:
                self._tick_after = time.monotonic() + RETRY_SECONDS
                failed(self._pool, error, command="the clock's")
        return group

    async def _answer_unchanged(self, group: Group) -> None:
        """Answer a group that changed nothing: refusals only once they are known to be fresh."""
        try:
            if any(failure is not None for _, failure in group.answers):
                await self.confirm()
        except Failure as failure:
            for asked in group.asked():
                asked.refused(failure)
            return
        if self._folds != group.folds:
            self._again(group)
        else:
            group.answer()

    def _again(self, group: Group) -> None:
        """Another record or claim came first: judge again on what is there now."""
        self._waiting.extendleft(reversed(group.asked()))
        self.go()

    # --- the log

    def _send(self, group: Group) -> None:
        record = Record(
            aggregate_id=self.game,
            seq=self.seq + 1,
            commands=tuple(group.commands),
            at_ms=group.at_ms,
            rules=VERSION,
            events=tuple(group.events),
            prev_hash=self._hash,
        )
        body = encode_Record(record)
        group.hash = ids.version_hash(self._hash, b"", record.seq, body)
        group.began = time.perf_counter()
        self._in_flight = group
        self._sent_at = asyncio.get_running_loop().time()
        try:
            appended = self.owner.writer.append(self.game, record.seq, group.hash, body, repair=group is self._repair)
        except LogError as error:
            self._roll_back()
            self._refuse(group, self.owner.failed(error))
            return
        appended.add_done_callback(lambda done: self._settle(group, done.result()))

    def told(self, offset: int, entry: Entry) -> None:
        """An effective record of this pool, in log order."""
        group = self._in_flight
        if group is not None:
            if group.hash == entry.hash:
                group.offset = offset
                return
            if group.offset >= 0:
                # Another owner has gone on from it, and both were read at once.
                self._take_effect(group)
            else:
                self._roll_back()
                self._again(group)
        self._folds += 1
        _FOLDED.inc()
        if any(entry.seq in versions for versions in self._did_not_happen):
            self._pass_over(entry)
            return
        try:
            self._fold(entry)
        except Exception as error:
            self._pass_over(entry)
            self.damage(offset, logs.said(error))

    def _fold(self, entry: Entry) -> None:
        """Raises ValueError and whatever events of an unknown kind make `evolve` raise."""
        record = decode_Record(entry.body)
        if record.prev_hash != self._hash or record.seq != entry.seq or record.aggregate_id != self.game:
            raise ValueError("the record does not follow the one before")
        if ids.version_hash(self._hash, b"", entry.seq, entry.body) != entry.hash:
            raise ValueError("the record's hash is not that of its body")
        events = [decode_event(event) for event in record.events]
        restored = mending.first_restored(events)
        if restored is not None:
            self.put_back = self.put_back or restored.to_version < self.whole
            if restored.to_version != self.whole:
                raise ValueError(f"it was put back to version {restored.to_version}, not to {self.whole}")
        elif self.passed_over:
            raise ValueError("the record follows one that cannot be folded")
        mark = self._pool.mark()
        try:
            for event in events:
                evolve(self._pool, record.at_ms, event)
        except Exception:
            self._pool.rollback(mark)
            raise
        if restored is not None:
            self._go_on()
        self._stand(entry.seq, entry.hash, record.commands, record.at_ms)

    def damage(self, offset: int, reason: str) -> None:
        """A record of this pool cannot be read or folded, so what comes next is not known."""
        if not self.damaged:
            self.damaged, self.damaged_at = reason, offset
            _log.error("pool quarantined", game=self.game, offset=offset, why=reason)

    # --- mending

    @property
    def whole(self) -> int:
        """The version whose state the pool has."""
        return self.seq - self.passed_over

    def _pass_over(self, entry: Entry) -> None:
        """Take a record for what it still tells: its place in the chain, and the commands that it accepted."""
        self.seq, self._hash = entry.seq, entry.hash
        self.passed_over += 1
        try:
            record = decode_Record(entry.body)
        except ValueError:
            return
        self._accepted.take(record.commands, record.at_ms)

    async def repair(self, order: PoolOrder) -> tuple[int, int | None]:
        """Put the pool back to its newest whole state; the version that this made, and that of the state, or, where it
        was done before, the newest one and None.

        Raises Failure POOL_NOT_QUARANTINED, COMMAND_ID_REUSED, GAME_BUSY, or that it is not known whether it is done.
        """
        if not self.owner.serving:
            raise self.owner.left()
        await self.confirm()
        await self.at_rest(lambda: None)
        at_ms = self._now_ms()
        payload = payload_hash("RepairPool", order.why.encode())
        if self._accepted.holds(order.subject, order.command_id, payload, at_ms):
            return self.seq, None
        if not self.damaged:
            raise Failure("POOL_NOT_QUARANTINED", "All records of this pool can be folded.")
        if self._in_flight is not None:
            raise Failure("GAME_BUSY", "The pool is being put back.")
        to_version, version = self.whole, self.seq + 1
        if order.validate_only:
            return self.seq, to_version
        asked = Asked(order.subject, order.command_id, payload, mending.RestorePool(order.why))
        group = self._repair = Group(self._pool.mark(), at_ms, self._folds, [(asked, None)])
        group.commands.append(CommandRef(order.subject, order.command_id, payload))
        step = Step(self._pool, at_ms, secrets.token_bytes(LUCK_BYTES))
        mending.restore(step, order.why, to_version)
        group.add(step.events)
        self._send(group)
        await asked.answer
        return version, to_version

    def _go_on(self) -> None:
        """The pool was put back to the state that it has: what else was read on behind that state is read again."""
        self.passed_over = 0
        self.readers = {}
        self.restored()

    def begin_again(self, did_not_happen: list[range]) -> None:
        """Be empty, to be told of every record from the first one; these versions will be passed over."""
        self._pool, self._accepted = Pool(self.house), Accepted()
        self.seq, self._hash, self.kept_seq, self.readers = 0, b"", 0, {}
        self.damaged, self.damaged_at, self.passed_over, self.put_back = "", -1, 0, False
        self._did_not_happen = did_not_happen

    # --- what became of it

    def _settle(self, group: Group, outcome: Outcome) -> None:
        if self._in_flight is not group:  # another record has been folded: behind it, or in its place
            self.go()
            return
        if group.offset >= 0:
            # Where it was ruled out here, the next owner has written the very same record.
            outcome = Appended(group.offset)
        if isinstance(outcome, Appended):
            _APPEND_SECONDS.observe(time.perf_counter() - group.began)
            self._together.observe(len(group.commands))
            self._take_effect(group)
            return
        self._roll_back()
        if isinstance(outcome, TooLarge):
            failure = Failure("RULES_FAILED", "The entry is too large for the log; nothing was changed.")
        elif isinstance(outcome, Doubt):
            failure = outcome_unknown()
        else:
            self._again(group)
            return
        self._refuse(group, failure)

    def _refuse(self, group: Group, why: Failure) -> None:
        """The group is not in the log, or nobody knows; whoever waits comes next, without the work of the clock."""
        for asked in group.asked():
            asked.refused(why)
        self._tick_after = time.monotonic() + RETRY_SECONDS
        self._arm()
        if self._waiting:
            self.go()

    def _take_effect(self, group: Group) -> None:
        """What was in flight is in the log."""
        if group is self._repair:
            self._go_on()
        self._in_flight = None
        self._note_absence(group)
        measures.count(self._pool, group.facts)
        self._stand(self.seq + 1, group.hash, group.commands, group.at_ms)
        group.answer()

    def _stand(self, seq: int, digest: bytes, commands: Sequence[CommandRef], at_ms: int) -> None:
        """The pool is at a new version of the log: whoever waits for that is told."""
        self.damaged, self.damaged_at = "", -1
        self.seq, self._hash = seq, digest
        self._accepted.take(commands, at_ms)
        subjects = self._pool.settle()
        self._read()
        news, self.news = self.news, asyncio.Event()
        news.set()
        if self._watchers:
            for subject in subjects:
                for watcher in tuple(self._watchers.get(subject, ())):
                    self._tell(watcher)
        if self.owner.serving:
            self._arm()
            if self._waiting:
                self._gather()

    def _tell(self, watcher: Watcher) -> None:
        try:
            watcher.hear()
        except Exception as error:
            _log.error("watcher failed", game=self.game, exc_info=error)
            watcher.end(internal())

    def _roll_back(self) -> None:
        """Be again as before the entry in flight."""
        group, self._in_flight = self._in_flight, None
        assert group is not None
        self._note_absence(group)
        self._pool.rollback(group.mark)
        self._pool.settle()
        self._read()

    def _note_absence(self, group: Group) -> None:
        """It is known what became of the group: the log was away if that took long."""
        now_ms = self._now_ms()
        if now_ms - group.at_ms > AWAY_MS:
            self._heard_ms = now_ms

    def _read(self) -> None:
        """Let those read who wait until nothing is in flight."""
        reads, self._reads = self._reads, []
        for read, settled in reads:
            if not settled.done():
                try:
                    read()
                except Exception as error:
                    settled.set_exception(error)
                else:
                    settled.set_result(None)

    # --- being served here

    def serve(self) -> None:
        """This instance serves the pool from here on."""
        self._ahead_ms = 0
        self._heard_ms = self._now_ms()
        self._arm()

    def leave(self, why: Failure) -> None:
        """It does not any more: whoever waits asks elsewhere, and streams, which nobody can go on with, end."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        told = why.plain() if isinstance(why, Elsewhere) else why
        for watchers in list(self._watchers.values()):
            for watcher in tuple(watchers):
                watcher.end(told)
        self._give_up(why)

    def _give_up(self, why: Failure) -> None:
        waiting, self._waiting = self._waiting, deque()
        for asked in waiting:
            asked.refused(why)

    def _arm(self, pause: float = 0.0) -> None:
        """Wake when something is due by the clock."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.damaged or self._in_flight is not None or not self.owner.serving:
            return
        when = due(self._pool)
        if when is not None:
            pause = max(pause, (when - self._now_ms()) / 1000, self._tick_after - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(pause, self.go)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- streams

    def subscribe(self, subject: str, watcher: Watcher) -> Callable[[], None]:
        """Have the watcher told of the subject; returns how to end that."""
        self._watchers.setdefault(subject, set()).add(watcher)

        def end() -> None:
            watchers = self._watchers.get(subject)
            if watchers is not None:
                watchers.discard(watcher)
                if not watchers:
                    del self._watchers[subject]

        return end

    # --- stored states

    def keep(self) -> tuple[State, KeptPool]:
        """The acknowledged state, to be encoded (`stored`), and what is stored beside it; only while `settled`."""
        return copied(self.pool), KeptPool(b"", self._hash, self._accepted.kept(), dict(self.readers))

    def adopt(self, seq: int, kept: KeptPool) -> None:
        """Take a state as `keep` gave it. Raises what `restore` raises."""
        self._pool = restore(self.house, kept.pool)
        self.seq = self.kept_seq = seq
        self._hash = kept.hash
        self._accepted = Accepted(kept.accepted)
        self.readers = dict(kept.readers)
