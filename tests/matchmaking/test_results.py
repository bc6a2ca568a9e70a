"""How results come out of a game's log into the pool, over a memory log."""

import asyncio
from collections.abc import Sequence

from guildhall.kernel import ids
from guildhall.kernel.v1.structs import EndReason, GameEnded, Record, Resigned, encode_Record
from guildhall.log.fold import FoldState
from guildhall.log.memory import Faults, MemoryBroker
from guildhall.log.port import Claim, Position
from guildhall.log.recovery import open_store
from guildhall.log.snapshots import Checkpoint, checkpoint_key, encode
from guildhall.log.writer import Writer
from guildhall.matchmaking.v1 import structs as wire
from guildhall.matchmaking.v1.structs import GameOver, decode_event
from services.matchmaking.accepted import payload_hash
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.judging import Asked
from services.matchmaking.pool import Game
from services.matchmaking.results import MOST_RESULTS, Results, _begin
from tests.matchmaking.hall import GAME, HOUSE
from tests.matchmaking.test_service_owners import entries, owner

ENDED = HOUSE.rules.wire.encode_event(GameEnded(EndReason.FINISHED, (1, 2)))


def wait_for(hosted: HostedPool, games: Sequence[str]) -> None:
    """The pool has made these games, which nobody rates."""
    for number, game_id in enumerate(games):
        subjects = (f"one {number}", f"two {number}")
        hosted.pool.games.put(game_id, Game(game_id, subjects, b"", unrated=True, started_ms=1))
    hosted.pool.settle()


async def end(broker: MemoryBroker, games: Sequence[str], event: bytes = ENDED) -> None:
    """The log of the game has one record of each of these, whose last event is that."""
    store = await open_store(broker.log(), GAME, 1)
    writer = Writer(store.events, 0, Claim("rules", "rules:1"), FoldState(), lambda _: None)
    await writer.claim()
    for game_id in games:
        body = encode_Record(Record(aggregate_id=game_id, seq=1, at_ms=5, rules="1", events=(event,)))
        await writer.append(game_id, 1, ids.version_hash(b"", b"", 1, body), body)
    await writer.close()


async def taken(broker: MemoryBroker, hosted: HostedPool, left: int) -> None:
    """Results are read until the pool waits for that many."""
    reading = asyncio.create_task(Results(broker.log()).attend(hosted))
    async with asyncio.timeout(30.0):
        while len(hosted.pool.games) > left:
            await hosted.news.wait()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


async def test_many_results_come_in_entries_of_bounded_size() -> None:
    broker = MemoryBroker()
    partition = await owner(broker, "first")
    games = [f"game {number}" for number in range(2 * MOST_RESULTS + 5)]
    wait_for(partition.pools[GAME], games)
    await end(broker, games)
    await taken(broker, partition.pools[GAME], left=0)
    events = [[decode_event(event) for event in entry.events] for entry in entries(broker)]
    over = [[event.game_id for event in entry if isinstance(event, GameOver)] for entry in events]
    assert sorted(game_id for each in over for game_id in each) == sorted(games)
    assert max(map(len, over)) <= MOST_RESULTS
    await partition.finish(1.0)


async def test_a_record_that_cannot_be_read_keeps_nobody_elses_result_back() -> None:
    broker = MemoryBroker()
    partition = await owner(broker, "first")
    hosted = partition.pools[GAME]
    wait_for(hosted, ["spoilt", "sound"])
    await end(broker, ["spoilt"], b"\xff nonsense")
    await end(broker, ["sound"])
    await taken(broker, hosted, left=1)
    assert list(hosted.pool.games) == ["spoilt"]
    await partition.finish(1.0)


class MeanwhileWaits(Faults):
    """While the checkpoint is asked for, the pool comes to wait for a game."""

    hosted: HostedPool

    async def request(self, topic: str, partition: int) -> None:
        if "checkpoints" in topic:
            wait_for(self.hosted, ["made meanwhile"])


async def test_a_reader_begins_before_a_game_that_was_made_while_it_looked() -> None:
    """Also where the checkpoint is already behind that game."""
    broker, faults = MemoryBroker(), MeanwhileWaits()
    partition = await owner(broker, "first")
    store = await open_store(broker.log(), GAME, 1)
    await store.checkpoints.put(0, checkpoint_key(0), encode(Checkpoint(Position(7, 3), {})))
    assert (await _begin(partition.pools[GAME], store, 0)).next_offset == 7
    faults.hosted = partition.pools[GAME]
    slow = await open_store(broker.log(faults), GAME, 1)
    assert (await _begin(partition.pools[GAME], slow, 0)).next_offset == 0
    await partition.finish(1.0)


async def test_an_owner_that_has_not_heard_of_the_next_one_passes_over_no_game_of_its() -> None:
    """An idle owner looks for claims now and then; until it does, it must not read on in the games' logs."""
    broker = MemoryBroker()
    first = await owner(broker, "first")
    wait_for(first.pools[GAME], ["of the first"])
    reading = asyncio.create_task(Results(broker.log()).attend(first.pools[GAME]))
    store = await open_store(broker.log(), GAME, 1)
    rules = Writer(store.events, 0, Claim("rules", "rules:1"), FoldState(), lambda _: None)
    await rules.claim()

    async def record(game_id: str, seq: int, *events: bytes) -> None:
        body = encode_Record(Record(aggregate_id=game_id, seq=seq, at_ms=5, rules="1", events=events))
        await rules.append(game_id, seq, ids.version_hash(b"", b"", seq, body), body)

    second = await owner(broker, "second")
    game_id = await agreed(second.pools[GAME], "bob")
    await record(game_id, 1)
    await asyncio.sleep(0.05)  # the first reader, if it may, reads that
    await first.writer.stood_down()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await second.finish(1.0)
    await first.writer.claim()
    await record(game_id, 2, ENDED)
    reading = asyncio.create_task(Results(broker.log()).attend(first.pools[GAME]))
    pool = first.pools[GAME].pool
    async with asyncio.timeout(20.0):
        while game_id in pool.starting or game_id in pool.games:
            await first.pools[GAME].news.wait()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await first.finish(1.0)


async def agreed(hosted: HostedPool, subject: str) -> str:
    """The id of a game with a bot that the subject has agreed to."""
    for name, fields in (("CreateTable", {"seats": 2}), ("AddBot", {"strength": HOUSE.bots[0]}), ("StartTable", {})):
        request = getattr(wire, f"{name}Request")(command_id=name, game=GAME, **fields)
        await hosted.act(Asked(subject, name, payload_hash(name, name.encode()), request))
    [game_id] = await hosted.at_rest(lambda: list(hosted.pool.starting))
    return game_id


async def test_a_seat_that_was_given_up_is_known_while_the_game_goes_on() -> None:
    broker = MemoryBroker()
    partition = await owner(broker, "first")
    hosted = partition.pools[GAME]
    wait_for(hosted, ["goes on"])
    await end(broker, ["goes on"], HOUSE.rules.wire.encode_event(Resigned(1)))
    reading = asyncio.create_task(Results(broker.log()).attend(hosted))
    async with asyncio.timeout(20.0):
        while not hosted.pool.games["goes on"].resigned:
            await hosted.news.wait()
    assert hosted.pool.games["goes on"].resigned == (1,)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    records, offset = len(entries(broker)), hosted.pool.positions[0]
    hosted.readers.clear()  # as after a start: it is read again, and the stretch begins where all is taken in
    reading = asyncio.create_task(Results(broker.log()).attend(hosted))
    async with asyncio.timeout(5.0):
        while 0 not in hosted.readers:
            await asyncio.sleep(0.01)
    assert len(entries(broker)) == records and hosted.pool.positions[0] == offset
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await partition.finish(1.0)
