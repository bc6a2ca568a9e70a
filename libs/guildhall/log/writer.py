"""The writer of one partition: claims it, appends in groups, and finds out of every append what became of it.

The rules are those of design section 3, "Claim", "Writer" and "Fresh answers". One task does all I/O of the partition,
round after round; so one produce is in flight, and a round's I/O begins after every request that the round answers.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from guildhall.log.errors import (
    Busy,
    Closed,
    InFlight,
    LogShorter,
    LogUnavailable,
    LogUnreadable,
    NotOwner,
    Quarantined,
    WrongSeq,
)
from guildhall.log.fold import ClaimSeen, Damaged, Effective, FoldState, Verdict, Void, advance, fold, is_of, judge
from guildhall.log.port import (
    CLAIM_KEY,
    NO_CLAIM,
    Appended,
    AppendOutcome,
    Claim,
    Doubt,
    Entry,
    EventsTopic,
    Position,
    ProducerRecord,
    Record,
    TooLarge,
)
from guildhall.log.reader import end_of, read_to
from guildhall.log.snapshots import Checkpoint
from guildhall.log.values import encode_claim, encode_entry
from guildhall.shared import shared
from guildhall.telemetry import logs, metrics

_log = logs.get("log")


class RuledOut(msgspec.Struct, frozen=True, gc=False):
    """The append isn't effective and never will be: a newer claim or another record of that seq was folded first.

    If the writer still serves (`Writer.serving`), decide again on the state as it is now.
    """


Outcome: TypeAlias = Appended | TooLarge | RuledOut | Doubt


class Limits(msgspec.Struct, frozen=True):
    """Bounds and rhythm of a writer.

    At most `max_in_flight` appends with `max_in_flight_bytes` of bodies may be without an outcome. An idle writer looks
    for others' records every `poll_seconds`. Pauses while the log can't be reached, or an append is in doubt, double
    from `first_pause` to `last_pause` seconds, jittered. A log that ends before what was folded is asked again for
    `shorter_seconds`; then its records count as lost. A deposed broker may answer an old end for as long as its
    session, which is 9 s unless its operator says otherwise.
    """

    max_in_flight: int = 4096
    max_in_flight_bytes: int = 64 << 20
    poll_seconds: float = 0.25
    first_pause: float = 0.02
    last_pause: float = 2.0
    shorter_seconds: float = 10.0


class _Pending(msgspec.Struct, eq=False):
    """An append without an outcome; `claim` is the one that it was sent under, `NO_CLAIM` while it is queued."""

    aggregate_id: str
    seq: int
    digest: bytes
    body: bytes
    future: "asyncio.Future[Outcome]"
    claim: int = NO_CLAIM
    settled: "asyncio.Future[None] | None" = None


class Writer:
    """Writes one partition for one instance.

        writer = Writer(topic, partition, Claim(instance, address), state, listener)
        await writer.claim()                                     # claim, fold up to the claim, serve
        outcome = await writer.append(game_id, seq, digest, body)
        position = await writer.confirm()
        await writer.close()

    `state` is where the fold stands (new, or from `guildhall.log.recovery`); it is the writer's from now on.
    `listener` is told the verdict of every record in log order, own appends included (before their outcome is), and
    must not raise: that ends the writer. An instance has one writer per partition.

    Where the log lost records that were folded, the writer ends with `LogUnreadable`, and acknowledges nothing that it
    appended since.
    """

    def __init__(
        self,
        topic: EventsTopic,
        partition: int,
        me: Claim,
        state: FoldState,
        listener: Callable[[Verdict], None],
        limits: Limits | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """`rng` jitters the pauses."""
        self._topic = topic
        self._partition = partition
        self._me = me
        self._state = state
        self._listener = listener
        self._limits = limits or Limits()
        self._rng = rng or random.Random()
        self._together = metrics.APPENDED_TOGETHER.labels(topic.name)
        self._in_flight: dict[str, _Pending] = {}
        self._bytes = 0
        self._queue: list[_Pending] = []
        self._sent = 0
        self._last: Verdict | None = None
        self._troubled = False
        self._short_since: float | None = None
        self._claiming: asyncio.Future[int] | None = None
        self._claim_sent = False
        self._confirming: asyncio.Future[Position] | None = None
        self._asked: asyncio.Future[Position] | None = None
        self._standing_down: asyncio.Future[None] | None = None
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._poll: asyncio.TimerHandle | None = None
        self._closed = False
        self._ended = asyncio.Event()
        self._failure: Exception | None = None

    @property
    def serving(self) -> bool:
        """Whether the newest claim folded is this instance's, and the writer is open."""
        return self._owns and not self._closed

    @property
    def _owns(self) -> bool:
        owner = self._state.owner
        return owner is not None and owner.instance == self._me.instance

    @property
    def position(self) -> Position:
        """Up to where the listener has been told."""
        return self._state.position

    @property
    def owner(self) -> Claim | None:
        """Who made the newest claim folded, if that is known."""
        return self._state.owner

    @property
    def failure(self) -> Exception | None:
        """What ended the writer, if something other than `close` did."""
        return self._failure

    def last_seq(self, aggregate_id: str) -> int:
        """The aggregate's last effective seq; 0 if it has none."""
        return self._state.seqs.get(aggregate_id, 0)

    def damaged(self) -> dict[str, int]:
        """Quarantined aggregates, each with the offset of its first damaged record."""
        return dict(self._state.damaged)

    def checkpoint(self, live: Iterable[str], begins: Mapping[str, Position] | None = None) -> Checkpoint:
        """The partition as it is folded now. Every aggregate that is not among the `live` ones is finished, its marker
        acknowledged; `begins` are the positions of the first records of those that no snapshot is stored of.

        Put it only after the snapshots that it needs are acknowledged. Takes time in proportion to the aggregates.
        """
        seqs = {aggregate_id: seq for aggregate_id in live if (seq := self.last_seq(aggregate_id))}
        finished = len(self._state.seqs) - len(seqs)
        return Checkpoint(self._state.position, seqs, self.damaged(), finished, dict(begins or {}))

    def start(self) -> None:
        """Reads on from where the state stands, and tells the listener, without claiming. `claim` starts it too.

        Raises `Closed`.
        """
        self._check_open()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"writer of {self._topic.name}/{self._partition}")
            self._schedule_poll()

    async def claim(self) -> int:
        """Claims the partition, folds up to the claim, serves; returns the claim's id (its offset).

        Also the way back after standing down; when is the matter of `guildhall.log.ownership`.
        Keeps trying while the log can't be reached. Raises `NotOwner` if a newer foreign claim came at once, `Closed`.
        """
        self.start()
        if self._claiming is None:
            self._claiming = asyncio.get_running_loop().create_future()
        self._wake.set()
        return await shared(self._claiming)

    def withdraw_claim(self) -> None:
        """Whoever waits for a claim that isn't on its way gets `NotOwner`: it is not to be made any more."""
        if self._claiming is not None and not self._claim_sent:
            claiming, self._claiming = self._claiming, None
            _fail(claiming, self._not_owner())

    def append(
        self, aggregate_id: str, seq: int, digest: bytes, body: bytes, *, repair: bool = False
    ) -> "asyncio.Future[Outcome]":
        """Queues the aggregate's next entry; the future tells what became of it.

        `Appended(offset)`: effective, and the listener has been told. `TooLarge`: final, nothing was written.
        `RuledOut`: final, not effective. `Doubt`: only if the writer ends first; outcome unknown, ask the next owner.
        The future waits for as long as the log can't be reached: bound that with a deadline of your own. Cancelling it
        gives up the answer, not the append: the aggregate stays in flight until the outcome is known (`settled`).

        `repair` lets an operator's entry follow a damaged record. Raises, with nothing queued: `NotOwner`, `Busy`,
        `InFlight`, `WrongSeq`, `Quarantined`, `Closed`; ValueError for an empty id or digest.
        """
        if not self.serving:
            self._check_open()
            raise self._not_owner()
        if not aggregate_id.encode() or not digest:
            raise ValueError("an entry needs an aggregate id in UTF-8 and a hash")
        if aggregate_id in self._in_flight:
            raise InFlight(aggregate_id)
        expected = self._state.seqs.get(aggregate_id, 0) + 1
        if seq != expected:
            raise WrongSeq(aggregate_id, expected, seq)
        if aggregate_id in self._state.damaged and not repair:
            raise Quarantined(aggregate_id, self._state.damaged[aggregate_id])
        limits = self._limits
        if len(self._in_flight) >= limits.max_in_flight or self._bytes + len(body) > limits.max_in_flight_bytes:
            raise Busy(f"{len(self._in_flight)} appends with {self._bytes} bytes are in flight")
        pending = _Pending(aggregate_id, seq, digest, body, asyncio.get_running_loop().create_future())
        self._in_flight[aggregate_id] = pending
        self._bytes += len(body)
        self._queue.append(pending)
        self._wake.set()
        return pending.future

    async def confirm(self) -> Position:
        """Returns once every record that was in the log when this was called is folded and the newest claim is still
        this instance's: what the listener was told by then is fresh. Waiting callers share one confirmation.

        Raises `NotOwner`, `LogUnavailable` (it can't be confirmed now), `Closed`.
        """
        if not self.serving:
            self._check_open()
            raise self._not_owner()
        if self._confirming is None:
            self._confirming = asyncio.get_running_loop().create_future()
            self._wake.set()
        return await shared(self._confirming)

    async def stood_down(self) -> None:
        """Returns as soon as this instance doesn't serve: another one's claim was folded, or the writer has ended."""
        if self.serving:
            if self._standing_down is None:
                self._standing_down = asyncio.get_running_loop().create_future()
            await shared(self._standing_down)

    async def ended(self) -> None:
        """Returns when the writer was closed or has failed (`failure` says of what)."""
        await self._ended.wait()

    async def settled(self, aggregate_id: str) -> None:
        """Returns when the outcome of the aggregate's append in flight, if there is one, is known."""
        pending = self._in_flight.get(aggregate_id)
        if pending is not None:
            if pending.settled is None:
                pending.settled = asyncio.get_running_loop().create_future()
            await shared(pending.settled)

    async def close(self) -> None:
        """Takes nothing more, waits until every append in flight has its outcome, ends.

        Bound it with a time-out of your own: appends without an outcome when it is cancelled are in `Doubt`.
        """
        self._closed = True
        self._tell_standing_down()
        try:
            for aggregate_id in list(self._in_flight):
                await self.settled(aggregate_id)
        finally:
            if self._task is not None:
                self._task.cancel()
            self._end(Closed("the writer was closed"))
        if self._task is not None:
            await asyncio.wait([self._task])

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("the writer has ended") from self._failure

    def _not_owner(self) -> NotOwner:
        return NotOwner(self._state.newest_claim, self._state.owner)

    def _schedule_poll(self) -> None:
        self._wake.set()
        self._poll = asyncio.get_running_loop().call_later(self._limits.poll_seconds, self._schedule_poll)

    async def _run(self) -> None:
        """Rounds, until cancelled or until something fails that trying again can't mend."""
        pause = self._limits.first_pause
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                try:
                    quiet = await self._round()
                except LogUnavailable:
                    quiet = False
                    self._troubled = True
                if self._queue or self._sent or self._claiming is not None:
                    self._wake.set()
                if quiet:
                    pause = self._limits.first_pause
                else:
                    await asyncio.sleep(pause * self._rng.uniform(0.5, 1.0))
                    pause = min(2 * pause, self._limits.last_pause)
        except Exception as error:
            self._failure = error
            self._end(error)

    async def _round(self) -> bool:
        """One round: settles old doubts, claims, sends what is queued, confirms. Returns whether all is well: no
        append is in doubt, and none was. Raises `LogUnavailable`; the next round goes on from there."""
        # Whoever asks from here on waits for the next round: its I/O has not begun.
        self._asked, self._confirming = self._confirming, None
        try:
            doubted = self._sent > 0
            self._troubled = self._troubled or doubted
            if self._troubled:
                await self._fold_to_end()
            if self._claiming is not None or self._sent:
                await self._claim_once()
            if not await self._send_queued() or self._sent:
                await self._fold_to_end()
        except LogUnavailable as error:
            self._answer(error)
            raise
        self._answer(None if self._owns else self._not_owner())
        return not doubted and not self._sent

    def _answer(self, error: Exception | None) -> None:
        asked, self._asked = self._asked, None
        if asked is not None:
            if error is None:
                asked.set_result(self._state.position)
            else:
                _fail(asked, error)

    async def _claim_once(self) -> None:
        """Appends a claim and folds up to it. Behind it, everything sent before is either effective or ruled out.
        Raises `LogUnavailable` if it isn't known to be in the log: it may come late, and counts then too."""
        before = self._state.newest_claim
        record = ProducerRecord(CLAIM_KEY, encode_claim(self._me))
        self._claim_sent = True
        try:
            [outcome] = await self._append([record])
            await self._fold_to_end()
            if isinstance(outcome, Appended):
                await self._fold_to(outcome.offset + 1)
        finally:
            self._claim_sent = False
        if not isinstance(outcome, Appended) and not (self._owns and self._state.newest_claim > before):
            raise LogUnavailable(f"claim of {self._topic.name}/{self._partition}: {outcome}")
        if self._claiming is not None:
            claiming, self._claiming = self._claiming, None
            if self._owns:
                claiming.set_result(self._state.newest_claim)
            else:
                _fail(claiming, self._not_owner())

    async def _send_queued(self) -> bool:
        """Sends everything queued in one produce. Returns whether that confirmed the claim and the state: something
        was acknowledged at the offset where the fold stood. What wasn't stays in doubt for the next fold."""
        batch = [p for p in self._queue if self._in_flight.get(p.aggregate_id) is p]
        self._queue.clear()
        if not batch:
            return False
        claim = self._state.newest_claim
        entries = [Entry(claim, p.digest, p.body, p.seq) for p in batch]
        records = [ProducerRecord(p.aggregate_id, encode_entry(e)) for p, e in zip(batch, entries, strict=True)]
        for pending in batch:
            pending.claim = claim
        self._sent += len(batch)
        self._together.observe(len(batch))
        outcomes = await self._append(records)
        confirmed = False
        for pending, entry, outcome in zip(batch, entries, outcomes, strict=True):
            if isinstance(outcome, TooLarge):
                self._settle(pending, outcome)
            elif isinstance(outcome, Appended) and is_next(self._state, outcome):
                verdict = judge(self._state, outcome.offset, pending.aggregate_id, entry)
                advance(self._state, verdict)
                self._told(verdict)
                confirmed = True
        return confirmed

    async def _append(self, records: Sequence[ProducerRecord]) -> Sequence[AppendOutcome]:
        """As `EventsTopic.append`. Raises `LogUnreadable` where that shows that records which were folded are lost."""
        outcomes = await self._topic.append(self._partition, records)
        for outcome in outcomes:
            if isinstance(outcome, Appended) and outcome.offset < self._state.next_offset:
                raise self._lost(f"a record was appended at {outcome.offset}, and {self._state.next_offset} was folded")
        return outcomes

    async def _fold_to_end(self) -> None:
        """Raises `LogUnavailable`; `LogUnreadable`, where records that were folded are lost."""
        try:
            end = await end_of(self._topic, self._partition, self._state.next_offset)
        except LogShorter as shorter:
            self._shorter(shorter)
            raise
        await self._fold_to(end)
        self._troubled = False
        self._short_since = None

    def _shorter(self, error: LogShorter) -> None:
        """Raises `LogUnreadable` where that is so for too long, or nobody could see that what was lost is back."""
        now = asyncio.get_running_loop().time()
        if self._short_since is None:
            self._short_since = now
            _log.error(
                "the log ends before what was folded",
                topic=self._topic.name,
                partition=self._partition,
                end=error.end,
                folded=error.folded,
            )
        if self._last is None or now - self._short_since >= self._limits.shorter_seconds:
            raise self._lost(str(error)) from error

    async def _fold_to(self, end: int) -> None:
        """Folds what lies before `end`. With it, and after trouble always, the record is read that was folded last:
        a log that was shorter for a while has another one there."""
        state, last = self._state, self._last

        def take(record: Record) -> None:
            if record.offset >= state.next_offset:
                self._told(fold(state, record))
            elif last is not None and not is_of(last, record):
                raise self._lost(f"offset {record.offset} holds another record than was folded")

        if end > state.next_offset or self._troubled:
            begin = state.next_offset if last is None else last.offset
            await read_to(self._topic, self._partition, begin, end, take)

    def _lost(self, why: str) -> LogUnreadable:
        return LogUnreadable(f"{self._topic.name}/{self._partition}", f"it has lost records: {why}")

    def _told(self, verdict: Verdict) -> None:
        """Takes in what the fold has just passed: tells the listener, then settles what it decides."""
        self._last = verdict
        self._listener(verdict)
        match verdict:
            case Effective():
                pending = self._in_flight.get(verdict.aggregate_id)
                entry = verdict.entry
                if pending is not None and pending.seq <= entry.seq:
                    same = pending.seq == entry.seq and pending.digest == entry.hash
                    self._settle(pending, Appended(verdict.offset) if same else RuledOut())
            case ClaimSeen():
                self._rule_out_older()
            case Damaged(key=key) if key == CLAIM_KEY:
                self._rule_out_older()
            case Void() | Damaged():
                pass

    def _rule_out_older(self) -> None:
        """After a claim: nothing sent under an older one can become effective; behind a stranger's, nothing can."""
        for pending in list(self._in_flight.values()):
            if not self._owns or NO_CLAIM < pending.claim < self._state.newest_claim:
                self._settle(pending, RuledOut())
        if not self._owns:
            self._tell_standing_down()

    def _tell_standing_down(self) -> None:
        if self._standing_down is not None:
            self._standing_down.set_result(None)
            self._standing_down = None

    def _settle(self, pending: _Pending, outcome: Outcome) -> None:
        del self._in_flight[pending.aggregate_id]
        self._bytes -= len(pending.body)
        if pending.claim != NO_CLAIM:
            self._sent -= 1
        if not pending.future.done():
            pending.future.set_result(outcome)
        if pending.settled is not None:
            pending.settled.set_result(None)

    def _end(self, error: Exception) -> None:
        """Nothing more will happen here: whoever waits is told so."""
        self._closed = True
        self._tell_standing_down()
        if self._poll is not None:
            self._poll.cancel()
        for pending in list(self._in_flight.values()):
            self._settle(pending, Doubt(str(error)))
        for waiting in (self._claiming, self._confirming, self._asked):
            if waiting is not None:
                _fail(waiting, error)
        self._claiming = self._confirming = self._asked = None
        self._ended.set()


def is_next(state: FoldState, appended: Appended) -> bool:
    """The offset check: everything before this record is folded, so it is what the fold would judge next."""
    return appended.offset == state.next_offset


def _fail(future: "asyncio.Future[int] | asyncio.Future[Position]", error: Exception) -> None:
    future.set_exception(error)
    future.exception()  # whoever asked may be gone; that is no news for the event loop's log
