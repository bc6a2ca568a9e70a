"""Owners that go away: killed, or drained, until their games accept commands again; and the fold that this takes.

Two processes share a log of live games of Arcane Alley on one broker; each owns about `GAMES` of them, with
`GAMES × VERSIONS` records. Nothing is stored beside the events yet, so whoever takes over folds all of them.

`PLAYED` games are played, and each is written down under many ids: playing all of them would take minutes.
"""

import asyncio
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace

from bench.catan import Beside
from bench.processes import once_available, rules_process
from bench.random_games import begin, step
from bench.table import Pace, Row
from guildhall.cli.client import Client
from guildhall.cli.tokens import dev_token
from guildhall.host import owners, packs
from guildhall.kernel import ids
from guildhall.kernel.fold import fold
from guildhall.kernel.game import Game
from guildhall.kernel.v1.structs import Record, encode_Record
from guildhall.log.fold import Effective, FoldState, Verdict
from guildhall.log.kafka import KafkaLog, open_kafka
from guildhall.log.port import DEFAULT_PARTITIONS, Appended, Claim, partition_of
from guildhall.log.reader import fold_to_end
from guildhall.log.recovery import Store, open_store
from guildhall.log.writer import Writer
from services.arcane_alley.rules import RULES
from tests.kafka_broker import Missing, bootstrap

GAMES = 1_000
VERSIONS = 100
PLAYED = 40
PLAYERS = 3
AT_ONCE = 250
PATIENCE = 60.0


@dataclass(frozen=True)
class Taken:
    """Owned before: live games and records. `seconds` until the last of its partitions accepted a command again."""

    games: int
    records: int
    seconds: float


def rows() -> Iterable[Row]:
    """Nothing where no broker can be had."""
    try:
        with bootstrap() as kafka:
            killed, drained, folded, pace = asyncio.run(measure(kafka))
    except Missing as missing:
        print(f"not measured: {missing}")
        return
    yield Row("kill -9 of an owner → its games accept", killed.seconds, "s", 10.0, True, of(killed))
    yield Row("drain of an owner → its games accept", drained.seconds, "s", 1.0, True, of(drained))
    events, records, seconds = folded
    beside = f"{events:,} events in {records:,} records, hashes checked"
    yield Row("fold from Kafka", events / seconds, "events/s", 50_000, beside=beside, pace=pace)


def of(taken: Taken) -> str:
    """What it owned."""
    return f"{taken.games:,} live games, {taken.records:,} records"


async def measure(kafka: str) -> tuple[Taken, Taken, tuple[int, int, float], Pace]:
    log = open_kafka(kafka, single_broker_not_durable=True)
    store = await once_available(lambda: open_store(log, RULES.game))
    await once_available(lambda: packs.sync(log, [RULES]))
    games = await fill(store)
    with Beside() as beside:
        folded = await fold_all(store)
    with tempfile.TemporaryDirectory(prefix="guildhall-bench-") as directory:
        data = Path(directory)
        async with AsyncExitStack() as stack:
            one, at_one = await stack.enter_async_context(rules_process(kafka, data))
            two, at_two = await stack.enter_async_context(rules_process(kafka, data))
            killed = await taken_over(log, data, games, at_one, at_two, one, signal.SIGKILL)
            _, at_three = await stack.enter_async_context(rules_process(kafka, data))
            drained = await taken_over(log, data, games, at_two, at_three, two, signal.SIGTERM)
    await log.close()
    return killed, drained, folded, beside.pace


async def fill(store: Store) -> list[str]:
    """Twice `GAMES` live games; their ids."""
    writers = []
    for partition in range(DEFAULT_PARTITIONS):
        writers.append(Writer(store.events, partition, Claim("filler", "nowhere"), FoldState(), lambda verdict: None))
        await writers[-1].claim()

    played = [play(number) for number in range(PLAYED)]

    async def write(number: int) -> str:
        game_id = ids.game_id("filler", str(number))
        writer = writers[partition_of(game_id, DEFAULT_PARTITIONS)]
        for seq, digest, body in renamed(played[number % PLAYED], game_id):
            appended = await writer.append(game_id, seq, digest, body)
            assert isinstance(appended, Appended)
        return game_id

    game_ids: list[str] = []
    for first in range(0, 2 * GAMES, AT_ONCE):
        game_ids += await asyncio.gather(*(write(number) for number in range(first, first + AT_ONCE)))
    for writer in writers:
        await writer.close()
    return game_ids


def play(number: int) -> list[Record]:
    """The records of a game that is not over."""
    random = Random(number)
    game, decided = begin(RULES, random, PLAYERS)
    records = [decided.record]
    while game.version < VERSIONS:
        records.append(step(game, random).record)
        assert game.ended is None, "these games are longer"
    return records


def renamed(records: Sequence[Record], game_id: str) -> Iterator[tuple[int, bytes, bytes]]:
    """Seq, hash and body of each record, as they would be were this the game's id."""
    created = RULES.wire.decode_event(records[0].events[0])
    first = RULES.wire.encode_event(replace(created, game_id=game_id))
    before = records[0].prev_hash
    for record in records:
        events = (first, *record.events[1:]) if record is records[0] else record.events
        body = encode_Record(replace(record, aggregate_id=game_id, events=events, prev_hash=before))
        before = ids.version_hash(before, created.seed, record.seq, body)
        yield record.seq, before, body


async def fold_all(store: Store) -> tuple[int, int, float]:
    """Events, records and seconds of folding every partition from its beginning, the rules' hashes checked."""
    games: dict[str, Game | None] = {}
    events = 0
    records = 0

    def told(verdict: Verdict) -> None:
        nonlocal events, records
        if isinstance(verdict, Effective):
            name, entry = verdict.aggregate_id, verdict.entry
            games[name], happened = fold(RULES, games.get(name), entry.body, entry.hash)
            events += len(happened)
            records += 1

    start = time.perf_counter()
    for partition in range(DEFAULT_PARTITIONS):
        await fold_to_end(store.events, partition, FoldState(), told)
    return events, records, time.perf_counter() - start


async def taken_over(
    log: KafkaLog,
    data: Path,
    games: Sequence[str],
    owner: str,
    other: str,
    process: asyncio.subprocess.Process,
    how: signal.Signals,
) -> Taken:
    """Ends the owner at `owner`, and when it has ended (an owner that drains may accept until then) asks `other` for a
    command in one game of each partition that it owned. Both count."""
    await balanced(log, owner, other)
    owned = {o.partition for o in await owners.read(log) if o.game == RULES.game and o.address == owner}
    lost = [game for game in games if partition_of(game, DEFAULT_PARTITIONS) in owned]
    samples = {partition_of(game, DEFAULT_PARTITIONS): game for game in lost}
    players = [f"player-{seat}" for seat in range(PLAYERS)]
    clients = [Client(RULES.game, other, dev_token(data, player, ("play",)), PATIENCE) for player in players]
    moves = [await next_move(clients, game) for game in samples.values()]
    start = time.perf_counter()
    process.send_signal(how)
    await process.wait()
    versions = await asyncio.gather(*(client.submit(*move) for client, *move in moves))
    seconds = time.perf_counter() - start
    assert all(version > VERSIONS for version in versions), versions
    for client in clients:
        await client.close()
    return Taken(len(lost), len(lost) * VERSIONS, seconds)


async def balanced(log: KafkaLog, *addresses: str) -> None:
    """Returns when each of them owns its share."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = [o.address for o in await owners.read(log) if o.game == RULES.game]
            if sorted(found.count(address) for address in addresses) == [DEFAULT_PARTITIONS // 2] * 2:
                return
            await asyncio.sleep(0.2)


async def next_move(clients: Sequence[Client], game_id: str) -> tuple[Client, str, str, Any]:
    """Who may do what in the game."""
    for client in clients:
        for legal in (await client.call("RulesService", "ListLegalCommands", game_id=game_id)).decisions:
            if legal.commands:
                return client, game_id, legal.decision.id, legal.commands[0]
    raise AssertionError(f"nobody can do anything in {game_id}")
