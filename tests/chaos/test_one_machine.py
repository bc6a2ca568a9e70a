"""The same players and the same checker, for a hall on one machine that is killed again and again."""

import asyncio
import sqlite3
from pathlib import Path
from random import Random

from guildhall.arcane_alley.v1 import event_pb2
from guildhall.rpc.identity import existing_key
from tests.chaos.checker import counts, judge
from tests.chaos.client import Client, Doors
from tests.chaos.players import Players
from tests.chaos.processes import Service
from tests.chaos.witness import Raw, fold_topic
from tests.kafka_jars import free_ports

KILLS = 4


async def test_acknowledged_is_durable_on_one_machine(tmp_path: Path) -> None:
    [port] = free_ports(1)
    hall = Service("hall", port, ["serve", "all", "--data", str(tmp_path)], tmp_path / "output")
    doors = Doors({"one": port, "another": port})
    doors.open |= {"one", "another"}
    random = Random(4)
    await hall.start()
    try:
        assert await hall.ready(60), hall.output()
        client = Client(doors, existing_key(tmp_path))
        players = Players(client, seed=4, tables=4, think=0.02)
        playing = asyncio.create_task(players.play())
        for _ in range(KILLS):
            accepted = counts(client.calls)["write accepted"]
            while counts(client.calls)["write accepted"] < accepted + 100 and not playing.done():
                await asyncio.sleep(0.1)
            await hall.kill()
            await asyncio.sleep(random.uniform(0.0, 0.5))
            await hall.start()
        players.stop()
        await playing
        assert await players.settle() == []
        assert await hall.drain() == "", hall.output()
    finally:
        await hall.kill()
        await doors.close()
    told = fold_topic(read(tmp_path / "log.sqlite"), event_pb2.Event)
    assert judge(client.calls, told) == []
    assert told.claims == 12 * (KILLS + 1)
    found = counts(client.calls)
    assert found["write accepted"] > KILLS * 100 and found["write refused STALE_DECISION"] and found["read read"]


def read(path: Path) -> list[list[Raw]]:
    """The records of the game's events topic, by partition."""
    with sqlite3.connect(path) as log:
        rows = log.execute(
            'SELECT partition, "offset", key, value FROM records WHERE topic = ? ORDER BY partition, "offset"',
            ("guildhall.arcane_alley.events",),
        ).fetchall()
    log.close()
    found: list[list[Raw]] = [[] for _ in range(12)]
    for partition, offset, key, value in rows:
        found[partition].append(Raw(offset, key.encode(), value))
    return found
