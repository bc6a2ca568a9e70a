"""What an owner keeps beside the events: what a start needs is there at every moment, the rest goes."""

import asyncio
import math
from dataclasses import replace
from typing import cast

import pytest

from guildhall.host.partition import Partition
from guildhall.kernel.game import Game
from guildhall.log.errors import LogUnavailable
from guildhall.log.memory import Faults, MemoryBroker
from guildhall.log.port import EventsTopic
from guildhall.log.snapshots import snapshot_key
from tests.log.counted import Counted
from tests.services.owners import abort, creating, folded, owner, tiny_store

ENDS, GOES_ON = "ends", "goes-on"


class Weather(Faults):
    """Requests of the topics whose names end with `refused` fail, and of those with `held` wait."""

    def __init__(self) -> None:
        self.refused = self.held = self.refused_after_checkpoint = "-"
        self.asked = asyncio.Event()

    async def request(self, topic: str, partition: int) -> None:
        if topic.endswith(self.held):
            self.asked.set()
            await asyncio.Event().wait()
        if topic.endswith(self.refused):
            raise LogUnavailable("told to be")
        if topic.endswith("checkpoints"):
            self.refused = self.refused_after_checkpoint


def stored_keys(broker: MemoryBroker) -> set[str]:
    return set(broker.compacted["guildhall.tiny.snapshots"][0])


async def lowest_offset_read(broker: MemoryBroker) -> float:
    """By a start from what is stored now; infinite where it reads no event."""
    store = await tiny_store(broker)
    events = Counted(store.events)
    partition = await folded(replace(store, events=cast(EventsTopic, events)), "start")
    await partition.finish(0.0)
    return min(events.read_from, default=math.inf)


async def with_two_games(broker: MemoryBroker, faults: Faults | None = None, schema: str = "") -> Partition:
    partition = await owner(broker, "first", faults)
    partition.schema = schema or partition.schema
    for game_id in (GOES_ON, ENDS):
        assert await partition.slot(game_id).act(creating(game_id)) == 1
    await partition.store_states(all_of_them=True)
    return partition


@pytest.mark.parametrize("how", ["refused", "cancelled"])
async def test_a_snapshot_is_there_until_a_checkpoint_does_without_it(how: str) -> None:
    """Else a start that finds the checkpoint before reads the whole partition for the one game."""
    broker, weather = MemoryBroker(), Weather()
    first = await with_two_games(broker, weather)
    position = first.writer.position.next_offset
    assert await first.slot(ENDS).act(abort) == 2
    if how == "refused":
        weather.refused = "checkpoints"
        with pytest.raises(LogUnavailable):
            await first.store_states(all_of_them=True)
    else:
        weather.held = "checkpoints"
        storing = asyncio.create_task(first.store_all(600.0))
        await weather.asked.wait()
        storing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await storing
    assert ENDS not in first.hosted, "its marker is stored"
    assert await lowest_offset_read(broker) >= position

    weather.refused = weather.held = "-"
    await first.store_states(all_of_them=True)
    assert stored_keys(broker) == {snapshot_key(GOES_ON, first.schema)}
    assert await lowest_offset_read(broker) >= position
    await first.finish(1.0)


async def test_a_finished_game_leaves_no_snapshot_of_any_schema() -> None:
    """Of a live one, those of another schema stay: an older process may have to start from them."""
    broker = MemoryBroker()
    first = await with_two_games(broker, schema="older")
    await first.finish(1.0)
    second = await owner(broker, "second")
    await second.store_states(all_of_them=True)
    of_one_that_goes_on = {snapshot_key(GOES_ON, "older"), snapshot_key(GOES_ON, second.schema)}
    of_one_that_ends = {snapshot_key(ENDS, "older"), snapshot_key(ENDS, second.schema)}
    assert stored_keys(broker) == of_one_that_goes_on | of_one_that_ends
    assert await second.slot(ENDS).act(abort) == 2
    await second.store_states(all_of_them=True)
    assert stored_keys(broker) == of_one_that_goes_on
    await second.finish(1.0)


@pytest.mark.parametrize("by", ["the same", "the next"])
async def test_a_snapshot_that_could_not_be_deleted_is_deleted_later(by: str) -> None:
    broker, weather = MemoryBroker(), Weather()
    partition = await with_two_games(broker, weather)
    assert await partition.slot(ENDS).act(abort) == 2
    weather.refused_after_checkpoint = "snapshots"
    with pytest.raises(LogUnavailable):
        await partition.store_states(all_of_them=True)
    assert snapshot_key(ENDS, partition.schema) in stored_keys(broker)
    weather.refused = weather.refused_after_checkpoint = "-"
    if by == "the next":
        await partition.finish(1.0)
        partition = await owner(broker, "next")
    await partition.store_states(all_of_them=True)
    assert stored_keys(broker) == {snapshot_key(GOES_ON, partition.schema)}
    await partition.finish(1.0)


async def test_a_parked_game_stays_parked_while_its_partition_is_claimed_again() -> None:
    partition = await owner(MemoryBroker(), "first")
    with_clock, without = partition.slot("with-clock"), partition.slot("without")
    assert await with_clock.act(creating("with-clock", decision_ms=60_000)) == 1
    assert await without.act(creating("without")) == 1
    await partition.store_states(all_of_them=True)
    for hosted in (with_clock, without):
        await hosted.read()
        hosted.park()
    partition.claimed_ms = 0
    await partition.writer.claim()
    assert partition.claimed_ms
    assert with_clock.parked and without.parked
    assert with_clock.timer is not None and without.timer is None

    partition.claimed_ms = 0  # so its deadline passed long ago
    partition.changed(with_clock)
    assert with_clock.parked
    await with_clock.reach(2, 60.0)
    game: Game | None = await with_clock.read()
    assert game is not None and game.version >= 2 and without.parked
    await partition.finish(1.0)
