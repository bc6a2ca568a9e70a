"""One partition of matchmaking's log: its writer, its pools, and what is stored beside the events so that starts are
quick.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from guildhall.host.failures import log_failed
from guildhall.host.holdings import Claimed
from guildhall.host.owners import place
from guildhall.kernel.v1.structs import Owner
from guildhall.log.errors import BadValue, Closed, LogError, LogUnreadable, NotOwner, OutOfOrder
from guildhall.log.fold import ClaimSeen, Damaged, Effective, Verdict, Void
from guildhall.log.port import CLAIM_KEY, NO_CLAIM, Claim, Record
from guildhall.log.recovery import Store, recover
from guildhall.log.snapshots import Checkpoint, Snapshot, checkpoint_key, encode, snapshot_key
from guildhall.log.topics import MATCHMAKING
from guildhall.log.writer import Writer
from guildhall.rpc.errors import Failure
from guildhall.rpc.forwarding import Elsewhere
from guildhall.telemetry import logs, metrics
from services.matchmaking import stored
from services.matchmaking.folding_again import PutBack, fold_again
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.house import HouseRules
from services.matchmaking.pool import SCHEMA

STORE_EVERY_SECONDS = 20.0

STORING_SHARE = 0.02
"""Of the time goes into storing states, at most: a large pool is stored less often."""

WORK_AGAIN_SECONDS = 1.0

_log = logs.get("matchmaking")

Attend = Callable[[HostedPool], Coroutine[Any, Any, None]]
"""Work to do for a pool for as long as it is served here; cancelled when it is not any more."""


class PoolPartition:
    """The pools of one partition, served by this instance for as long as its claim is the newest."""

    def __init__(
        self,
        games: Sequence[HouseRules],
        store: Store,
        number: int,
        me: Claim,
        claimed: Claimed,
        attend: Sequence[Attend],
    ) -> None:
        """`games` are those whose pool lies in this partition."""
        self.number = number
        self.pools = {house.rules.game: HostedPool(self, house) for house in games}
        for pool in self.pools.values():
            pool.restored = self._attend_anew
        self._schema = f"{SCHEMA}-{stored.FORMAT}"
        self._store = store
        self._me = me
        self._claimed = claimed
        self._attend = attend
        self._writer: Writer | None = None
        self._stored: Checkpoint | None = None
        self._parts: dict[str, bytes] = {}
        """Of stored states, while they are read."""
        self._turns: dict[str, int] = {}
        """Where the parts of each pool's newest stored state are (`stored`), as far as it is known."""
        self._attending: list[asyncio.Task[None]] = []
        self._upkeep: asyncio.Task[None] | None = None
        self._failure: Failure | None = None

    @property
    def writer(self) -> Writer:
        """The partition's writer, after `fold`."""
        assert self._writer is not None
        return self._writer

    @property
    def schema(self) -> str:
        """Of the states that are stored."""
        return self._schema

    @property
    def serving(self) -> bool:
        """Whether this instance owns the partition and takes requests for it."""
        return self._writer is not None and self._writer.serving

    # --- start and end

    async def fold(self) -> None:
        """Fold what is there; then the writer may claim. Raises `LogUnavailable`, `LogUnreadable`."""
        try:
            state = await recover(self._store, self.number, self._schema, self._restore, self._told, self._keep_part)
        except OutOfOrder as error:
            raise LogUnreadable(f"{MATCHMAKING}, partition {self.number}", f"records are missing: {error}") from error
        self._parts = {}
        for pool in self.pools.values():
            if pool.put_back:
                await fold_again(self._store.events, self.number, pool, state.next_offset)
        self._writer = Writer(self._store.events, self.number, self._me, state, self._told)
        for game, offset in self._writer.damaged().items():
            if game in self.pools and not self.pools[game].damaged:
                self.pools[game].damage(offset, "the record cannot be read")
        self._upkeep = asyncio.get_running_loop().create_task(self._keep_up())

    async def finish(self, seconds: float) -> None:
        """Take nothing more, and wait until it is known what became of what is in flight, but no longer than that."""
        self._stop_attending()
        if self._upkeep is not None:
            self._upkeep.cancel()
        if self._writer is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._writer.close()
        for pool in self.pools.values():
            pool.leave(self.left())

    async def store_all(self, seconds: float) -> None:
        """Store every changed state, for as long as that; tells no error, since starts do without."""
        try:
            async with asyncio.timeout(seconds):
                await self.store_states()
        except LogError as error:
            self._tell_unstored(self.pools, logs.said(error))
        except TimeoutError:
            self._tell_unstored(self.pools, f"it took longer than {seconds:g} s")

    def end_streams(self, why: Failure) -> None:
        """Nothing more will come from here."""
        for pool in self.pools.values():
            pool.leave(why)

    def _start_attending(self) -> None:
        if not self._attending:
            loop = asyncio.get_running_loop()
            self._attending = [
                loop.create_task(_again(work, pool)) for pool in self.pools.values() for work in self._attend
            ]

    def _attend_anew(self) -> None:
        if self._attending:
            self._stop_attending()
            self._start_attending()

    def _stop_attending(self) -> None:
        for task in self._attending:
            task.cancel()
        self._attending = []

    # --- the log

    def _keep_part(self, record: Record) -> None:
        if stored.is_part(record.key, self._schema):
            self._parts[record.key] = record.value

    def _restore(self, game: str, snapshot: Snapshot) -> None:
        """Begin with a stored state. Raises `BadValue` where it cannot be read."""
        if game not in self.pools:
            return
        try:
            kept, self._turns[game] = stored.opened(snapshot.state, game, self._schema, self._parts)
            self.pools[game].adopt(snapshot.seq, kept)
        except ValueError as error:
            raise BadValue(str(error)) from error

    def _told(self, verdict: Verdict) -> None:
        match verdict:
            case Effective(offset=offset, aggregate_id=game, entry=entry):
                if game in self.pools:
                    self.pools[game].told(offset, entry)
                    if self.pools[game].put_back and self._writer is not None:
                        raise PutBack(f"the pool of {game}")  # ends the writer, and the partition is folded again
            case Void(reason=reason):
                metrics.VOID_RECORDS.labels(MATCHMAKING, reason.value).inc()
            case ClaimSeen(offset=offset, claim=claim):
                own = claim.instance == self._me.instance
                metrics.CLAIMS.labels(MATCHMAKING, "own" if own else "foreign").inc()
                if self._writer is not None:
                    self._owner_changed(offset, claim)
            case Damaged(offset=offset, key=key, reason=reason):
                metrics.DAMAGED_RECORDS.labels(MATCHMAKING, "claim" if key == CLAIM_KEY else "game").inc()
                if key == CLAIM_KEY:
                    _log.error("claim unreadable", partition=self.number, offset=offset, why=reason)
                    if self._writer is not None:
                        self._owner_changed(offset, None)
                elif key in self.pools:
                    self.pools[key].damage(offset, reason)

    def _owner_changed(self, offset: int, claim: Claim | None) -> None:
        """After a claim, by whomever: serve under an own one, stand down behind any other."""
        self._claimed(offset, claim)
        if claim is not None and claim.instance == self._me.instance:
            for pool in self.pools.values():
                pool.serve()
            self._start_attending()
            return
        self._stop_attending()
        # Nobody may take what this instance still has for the newest.
        self.end_streams(self._elsewhere(claim, offset))

    def _elsewhere(self, claim: Claim | None, offset: int) -> Elsewhere:
        owner = None
        if claim is not None and claim.instance != self._me.instance:
            owner = Owner(MATCHMAKING, self.number, offset, claim.instance, claim.address)
        return Elsewhere(place(MATCHMAKING, self.number), owner)

    def left(self) -> Failure:
        """What a request is told that this instance does not serve (any more)."""
        return self._elsewhere(self.writer.owner, self.writer.position.newest_claim)

    def failed(self, error: LogError) -> Failure:
        """What the log's error means for a request."""
        match error:
            case NotOwner(claim=offset, owner=claim):
                return self._elsewhere(claim, offset)
            case Closed() if error.__cause__ is None:  # given up, and nobody is known to have taken it yet
                return self._elsewhere(None, NO_CLAIM)
        return log_failed(error)

    # --- upkeep

    async def _keep_up(self) -> None:
        pause = STORE_EVERY_SECONDS * random.random()
        while True:
            await asyncio.sleep(pause)
            began = time.monotonic()
            try:
                if self.serving:
                    await self.store_states()
            except LogError as error:
                self._tell_unstored(self.pools, logs.said(error))
            pause = max(STORE_EVERY_SECONDS, (time.monotonic() - began) / STORING_SHARE)

    async def store_states(self) -> None:
        """Store the changed pools' states, then a checkpoint. Raises `LogError`.

        A state that cannot be stored is told of: a start folds that pool from the one before, or from its events, and
        the others' from the checkpoint on.
        """
        for pool in self.pools.values():
            try:
                await self._store_pool(pool)
            except LogError as error:
                self._tell_unstored([pool.game], logs.said(error))
        seqs = {game: seq for game in self.pools if (seq := self.writer.last_seq(game))}
        checkpoint = Checkpoint(self.writer.position, seqs, self.writer.damaged())
        if checkpoint != self._stored:
            await self._store.checkpoints.put(self.number, checkpoint_key(self.number), encode(checkpoint))
            self._stored = checkpoint

    def _tell_unstored(self, games: Iterable[str], why: str) -> None:
        for game in games:
            _log.warning("a pool's state is not stored", game=game, partition=self.number, why=why)

    async def _store_pool(self, pool: HostedPool) -> None:
        if pool.damaged or pool.seq == pool.kept_seq:
            return
        stood = await pool.at_rest(lambda: self._stood(pool))
        if stood is None:
            return
        store, number, game = self._store, self.number, pool.game
        if game not in self._turns:
            self._turns[game] = await stored.turn_of(store, number, game, self._schema)
        turn = 1 - self._turns[game]
        record = await stored.put_parts(store, number, game, self._schema, stood, turn)
        # Until it is acknowledged, nobody knows which parts the stored state names: none of them may be written over.
        del self._turns[game]
        await store.snapshots.put(number, snapshot_key(game, self._schema), record)
        self._turns[game] = turn
        pool.kept_seq = stood.seq

    def _stood(self, pool: HostedPool) -> stored.Stood | None:
        """The pool and where the fold stands with it; None where the fold is just about to tell it of a record."""
        if self.writer.last_seq(pool.game) != pool.seq:
            return None
        return stored.Stood(pool.seq, self.writer.position, *pool.keep())


async def _again(work: Attend, pool: HostedPool) -> None:
    """Do the work, and begin it again where it fails of a fault of ours: that must be told, and must not end it."""
    while True:
        try:
            await work(pool)
        except Exception as error:
            _log.error("work for a pool failed; it begins again", game=pool.game, exc_info=error)
        await asyncio.sleep(WORK_AGAIN_SECONDS)
