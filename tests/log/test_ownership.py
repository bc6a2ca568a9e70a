"""Claims at once on a newer assignment, again after a back-off only while still assigned (design section 3)."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

import pytest

from guildhall.log.errors import Closed, LogUnavailable, LogUnreadable
from guildhall.log.fold import FoldState, Verdict
from guildhall.log.memory import Faults, MemoryBroker
from guildhall.log.ownership import BackOff, Ownership
from guildhall.log.port import CLAIM_KEY, AppendOutcome, Claim, Doubt, ProducerRecord
from guildhall.log.writer import Limits, Writer
from tests.log.virtual_time import run

BACK_OFF = BackOff(first_seconds=1.0, last_seconds=8.0)


class Replica:
    """A writer and its ownership; `claims` are the times at which the partition's claims were made."""

    def __init__(self, broker: MemoryBroker, name: str, faults: Faults | None = None) -> None:
        self.broker, self.name = broker, name
        self.faults = faults

    async def start(self) -> "Replica":
        self.told: list[Verdict] = []
        events = await self.broker.log(self.faults).events("events", 1)
        limits = Limits(poll_seconds=0.1)
        self.writer = Writer(events, 0, Claim(self.name, ""), FoldState(), self.told.append, limits, random.Random(1))
        self.ownership = Ownership(self.writer, BACK_OFF, random.Random(self.name))
        self.running = asyncio.create_task(self.ownership.run())
        return self


def claims(broker: MemoryBroker) -> int:
    return sum(record.key == CLAIM_KEY for record in broker.events["events"][0])


def pair(scenario: Callable[[MemoryBroker, Replica, Replica], Awaitable[None]]) -> None:
    """Runs the scenario with two replicas of one partition, in virtual time."""

    async def whole() -> None:
        broker = MemoryBroker()
        one, two = [await Replica(broker, name).start() for name in ("one", "two")]
        await scenario(broker, one, two)
        for replica in (one, two):
            await replica.writer.close()
            await replica.running

    run(whole())


def test_nobody_claims_unassigned_and_everybody_knows_the_owner() -> None:
    async def scenario(broker: MemoryBroker, one: Replica, two: Replica) -> None:
        await asyncio.sleep(100)
        assert claims(broker) == 0 and one.writer.owner is None
        one.ownership.assign()
        await asyncio.sleep(0.2)
        assert one.writer.serving and not two.writer.serving
        assert two.writer.owner == Claim("one", "")

    pair(scenario)


def test_a_newer_assignment_claims_at_once_and_the_one_revoked_serves_until_then() -> None:
    async def scenario(broker: MemoryBroker, one: Replica, two: Replica) -> None:
        one.ownership.assign()
        await asyncio.sleep(0.2)
        one.ownership.revoke()
        await asyncio.sleep(100)
        assert one.writer.serving and claims(broker) == 1
        two.ownership.assign()
        await asyncio.sleep(0.2)
        assert two.writer.serving and not one.writer.serving
        await asyncio.sleep(100)
        assert claims(broker) == 2
        one.ownership.assign()
        await asyncio.sleep(0.2)
        assert one.writer.serving and claims(broker) == 3

    pair(scenario)


def test_who_stood_down_while_assigned_claims_again_after_the_back_off() -> None:
    async def scenario(broker: MemoryBroker, one: Replica, two: Replica) -> None:
        one.ownership.assign()
        await asyncio.sleep(0.2)
        await two.writer.claim()
        await asyncio.sleep(0.4)
        assert not one.writer.serving, "not before half of the first pause"
        await asyncio.sleep(0.8)
        assert one.writer.serving and claims(broker) == 3

    pair(scenario)


def test_a_revocation_ends_the_back_off() -> None:
    async def scenario(broker: MemoryBroker, one: Replica, two: Replica) -> None:
        one.ownership.assign()
        await asyncio.sleep(0.2)
        await two.writer.claim()
        await asyncio.sleep(0.2)
        one.ownership.revoke()
        await asyncio.sleep(100)
        assert two.writer.serving and claims(broker) == 2

    pair(scenario)


def test_two_that_both_stay_assigned_do_not_take_it_from_each_other_all_the_time() -> None:
    async def scenario(broker: MemoryBroker, one: Replica, two: Replica) -> None:
        one.ownership.assign()
        two.ownership.assign()
        await asyncio.sleep(1000)
        # Of two, the one with the longest pause lets the other serve for at least half of it.
        assert 100 <= claims(broker) <= 2 * 1000 / (BACK_OFF.last_seconds / 2)
        assert one.writer.serving != two.writer.serving

    pair(scenario)


async def test_a_writer_that_fails_ends_it() -> None:
    class Unreadable(Faults):
        async def request(self, topic: str, partition: int) -> None:
            raise LogUnreadable("the file", "is damaged")

    replica = await Replica(MemoryBroker(), "one", Unreadable()).start()
    await replica.running
    assert isinstance(replica.writer.failure, LogUnreadable)
    with pytest.raises(Closed):
        replica.writer.start()
    await replica.writer.close()


class Away(Faults):
    """While `away`, nothing gets through."""

    away = True

    async def append(
        self,
        topic: str,
        partition: int,
        records: Sequence[ProducerRecord],
        write: Callable[[ProducerRecord], AppendOutcome],
    ) -> Sequence[AppendOutcome]:
        return [Doubt("away")] if self.away else [write(record) for record in records]

    async def request(self, topic: str, partition: int) -> None:
        if self.away:
            raise LogUnavailable("away")


def test_a_claim_that_could_not_be_sent_is_not_made_after_a_revocation() -> None:
    async def whole() -> None:
        broker, faults = MemoryBroker(), Away()
        replica = await Replica(broker, "one", faults).start()
        replica.ownership.assign()
        await asyncio.sleep(10)
        replica.ownership.revoke()
        faults.away = False
        await asyncio.sleep(100)
        assert claims(broker) == 0
        replica.ownership.assign()
        await asyncio.sleep(0.5)
        assert replica.writer.serving and claims(broker) == 1
        await replica.writer.close()
        await replica.running

    run(whole())


def test_what_has_to_be_done_before_a_claim_is_done_before_each() -> None:
    async def whole() -> None:
        broker = MemoryBroker()
        one, two = [await Replica(broker, name).start() for name in ("one", "two")]
        claimed_before: list[int] = []

        async def prepare() -> None:
            await asyncio.sleep(0)
            claimed_before.append(claims(broker))
            if len(claimed_before) == 3:
                raise ValueError("it cannot be done")

        owning = Ownership(one.writer, BACK_OFF, random.Random(1), prepare)
        running = asyncio.create_task(owning.run())
        owning.assign()
        for _ in range(2):
            await asyncio.sleep(20)
            assert one.writer.serving
            await two.writer.claim()
        with pytest.raises(ValueError, match="cannot"):
            await running
        assert claimed_before == [0, 2, 4] and not one.writer.serving
        for replica in (one, two):
            await replica.writer.close()
            await replica.running

    run(whole())
