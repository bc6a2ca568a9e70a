"""Takes the results of games out of their logs, exactly once, into the pool that made them.

A reader folds each partition of the game's log by the one rule, but only the games that the pool waits for; of all
others it only passes the claims. A result is taken in by an entry of the pool together with the position up to which
the log was read.
"""

import asyncio
import random
from collections.abc import Sequence

import msgspec

from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import EndReason, GameEnded, Resigned, decode_Record
from guildhall.log.errors import LogError, LogUnavailable
from guildhall.log.fold import Effective, FoldState, fold
from guildhall.log.port import CLAIM_KEY, Log, Record, Tail
from guildhall.log.recovery import Store, checkpointed, open_store
from guildhall.rpc.errors import Failure
from guildhall.telemetry import logs
from services.matchmaking.commands import Resignation, Result, TakeResults
from services.matchmaking.creating import tell
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.pool import Pool

READ_LIMIT = 1000

_ENDING = (bytes([5 << 3 | 2]), bytes([6 << 3 | 2]))
"""The first byte of an encoded Resigned or GameEnded: their numbers in every game's Event are the kernel's."""

MOST_RESULTS = 50
"""Of one command (a record or two more), so that its entry is far from too large for the log."""

RETRY_SECONDS = 1.0

_log = logs.get("matchmaking")


class Reader(msgspec.Struct, frozen=True, array_like=True):
    """How far a partition of a game's log was read, with the versions of the games that the pool waited for then."""

    next_offset: int
    newest_claim: int
    seqs: dict[str, int]


class Results:
    """Reads the logs of whatever pools are served here."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def attend(self, hosted: HostedPool) -> None:
        """Take in results until cancelled."""
        store = await self._store(hosted.game)
        tail = store.events.tail()
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(store.events.partitions):
                    group.create_task(self._read(hosted, store, tail, number))
        finally:
            await tail.close()

    async def _store(self, game: str) -> Store:
        while True:
            try:
                return await open_store(self._log, game)
            except LogError as error:
                _log.warning("a game's log cannot be opened now", game=game, why=logs.said(error))
                await asyncio.sleep(RETRY_SECONDS * random.uniform(0.5, 1.0))

    async def _read(self, hosted: HostedPool, store: Store, tail: Tail, number: int) -> None:
        while True:
            try:
                state = await _begin(hosted, store, number)
                while True:
                    await _wanted(hosted)
                    records = await tail.read(number, state.next_offset, READ_LIMIT)
                    # What these are records of must be known: a game is agreed on before it is made, but maybe by an
                    # owner of which this one has not heard yet.
                    await hosted.confirm()
                    await _take(hosted, number, state, records)
            except Failure as failure:
                # Not the owner any more, or not known whether it is: nothing was passed over.
                _log.info("results are not read now", game=hosted.game, partition=number, why=logs.said(failure))
            except LogUnavailable as error:
                _log.warning("results cannot be read now", game=hosted.game, partition=number, why=logs.said(error))
            except Exception as error:
                _log.error("results cannot be read", game=hosted.game, partition=number, exc_info=error)
            await asyncio.sleep(RETRY_SECONDS * random.uniform(0.5, 1.0))


async def _begin(hosted: HostedPool, store: Store, number: int) -> FoldState:
    """Where to read on. Raises `LogError`, Failure."""
    kept = hosted.readers.get(number)
    if kept is not None:
        reader = msgspec.msgpack.decode(kept, type=Reader)
        return FoldState(next_offset=reader.next_offset, newest_claim=reader.newest_claim, seqs=dict(reader.seqs))
    there = await checkpointed(store, number)
    await hosted.confirm()
    if await hosted.at_rest(lambda: waits(hosted.pool)):
        return FoldState()
    # Whatever it will wait for begins after this.
    return FoldState(next_offset=there.next_offset, newest_claim=there.newest_claim)


def waits(pool: Pool) -> bool:
    """Whether the pool waits for any result."""
    return bool(pool.games or pool.starting)


async def _wanted(hosted: HostedPool) -> None:
    """Returns as soon as the pool waits for any result."""
    while True:
        news = hosted.news
        if await hosted.at_rest(lambda: waits(hosted.pool)):
            return
        await news.wait()


async def _take(hosted: HostedPool, number: int, state: FoldState, records: Sequence[Record]) -> None:
    """Fold these records, and have the results among them taken in.

    The pool must stand where the log stood when they were read: what it does not wait for is passed over for good.
    """
    wanted = await hosted.at_rest(lambda: {*hosted.pool.games, *hosted.pool.starting})
    found: list[Result | Resignation] = []
    for record in records:
        if record.key == CLAIM_KEY or record.key in wanted:
            verdict = fold(state, record)
            if isinstance(verdict, Effective):
                found += _readable(hosted, verdict)
                wanted -= {each.game_id for each in found if isinstance(each, Result)}
        else:
            state.next_offset = record.offset + 1
        if len(found) >= MOST_RESULTS:
            await _tell(hosted, number, state, found)
            found = []
    if found:
        await _tell(hosted, number, state, found)
    state.seqs = {game_id: seq for game_id, seq in state.seqs.items() if game_id in wanted}
    hosted.readers[number] = msgspec.msgpack.encode(Reader(state.next_offset, state.newest_claim, state.seqs))


async def _tell(hosted: HostedPool, number: int, state: FoldState, found: Sequence[Result | Resignation]) -> None:
    """Have these taken in, up to where the fold stands. Raises `LogUnavailable` where they were not."""
    begin = await hosted.at_rest(lambda: hosted.pool.positions.get(number, (0, -1))[0])
    results = tuple(each for each in found if isinstance(each, Result))
    resigned = tuple(each for each in found if isinstance(each, Resignation))
    command = TakeResults(number, begin, state.next_offset, state.newest_claim, results, resigned)
    if not await tell(hosted, f"results:{number}:{state.next_offset}", command):
        raise LogUnavailable("the results were not taken in")


def _readable(hosted: HostedPool, verdict: Effective) -> list[Result | Resignation]:
    """What the record holds. One that cannot be read is told of and passed over: others' are behind it."""
    try:
        return read(hosted.house.rules, verdict.aggregate_id, verdict.entry.body)
    except Exception as error:
        _log.error("a game's record cannot be read", game=hosted.game, id=verdict.aggregate_id, exc_info=error)
        return []


def read(rules: Rules, game_id: str, body: bytes) -> list[Result | Resignation]:
    """The seats that a record of a game tells to be given up, and its result; nothing where the game just goes on."""
    record = decode_Record(body)
    found: list[Result | Resignation] = []
    for encoded in record.events:
        if encoded[:1] in _ENDING:
            event = rules.wire.decode_event(encoded)
            if isinstance(event, Resigned):
                found.append(Resignation(game_id, event.seat))
            elif isinstance(event, GameEnded) and encoded is record.events[-1]:
                found.append(Result(game_id, EndReason(event.reason), event.ranks, record.at_ms))
    return found
