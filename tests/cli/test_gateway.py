"""Operators at a gateway: each of their calls may be answered by another process of the hall."""

import asyncio
import itertools
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from guildhall.host.hall import LOG_FILE, Hall
from guildhall.host.owners import place
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import Owner, encode_Owner
from guildhall.log import topics
from guildhall.log.port import DEFAULT_PARTITIONS
from guildhall.log.sqlite import open_sqlite
from services.arcane_alley.rules import RULES as ARCANE_ALLEY
from tests.cli.hall import guildhall
from tests.kernel.tiny.game import RULES as TINY
from tests.services.hall import SEATS, Client, hall
from tests.services.operator import operator

WHY = "the cat is on the table"
NOWHERE = "127.0.0.1:1"


@asynccontextmanager
async def gateway(*ports: int) -> AsyncIterator[str]:
    """An address whose connections lead to these ports in turn."""
    turns = itertools.cycle(ports)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", next(turns))
        await asyncio.gather(pass_on(reader, there_writer), pass_on(there_reader, writer))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def two_processes(data: Path, advertise: str | None = None) -> AsyncIterator[tuple[Hall, Hall]]:
    """Of one hall, each with a game of its own, that know of each other; `advertise`: where the first says it is."""
    async with (
        hall(data, beside=None, games=[TINY], advertise=advertise) as one,
        hall(data, beside=None, games=[ARCANE_ALLEY]) as other,
    ):
        for running in (one, other):
            async with operator(running) as olga:
                known = 0
                while known < 2 * DEFAULT_PARTITIONS:
                    owners = (await olga.call("ListOwners")).owners
                    known = sum(owner.claim >= 0 and owner.game != topics.MATCHMAKING for owner in owners)
                    await asyncio.sleep(0.02)
        yield one, other


async def paused(running: Hall, rules: Rules) -> str:
    """A game that an operator has paused."""
    seats = SEATS[: min(rules.seats)]
    async with Client(running.port, running.config.data, seats[0], rules=rules) as player, operator(running) as olga:
        game_id = await player.create(SEATS if rules is TINY else seats)
        await olga.order("Pause", game_id, game=rules.game)
    return game_id


async def ran(data: Path, server: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return await asyncio.to_thread(guildhall, *words, "--server", server, "--data", str(data), "--name", "olga")


async def test_all_processes_are_looked_into(tmp_path: Path) -> None:
    async with two_processes(tmp_path) as (one, other), gateway(one.port, other.port) as server:
        games = [await paused(one, TINY), await paused(other, ARCANE_ALLEY)]
        for _ in range(2):  # whichever answers first
            listed = await ran(tmp_path, server, "game", "list")
            assert (listed.returncode, listed.stderr) == (0, ""), listed
            assert all(game in listed.stdout for game in games), listed
        told = await ran(tmp_path, server, "owners")
        served = f"{2 * DEFAULT_PARTITIONS} of {2 * DEFAULT_PARTITIONS} partitions are served, by 2 processes; 2 paused"
        assert told.returncode == 0 and served in told.stdout, told
        drained = await ran(tmp_path, server, "drain", "--why", WHY)
        [ends] = [running for running in (one, other) if running.draining.is_set()]
        assert f"at 127.0.0.1:{ends.port} drains" in drained.stdout, drained


async def test_a_process_that_only_the_gateway_reaches_is_named(tmp_path: Path) -> None:
    """Another one answers in its place, whose answer is none of its own."""
    log = open_sqlite(tmp_path / LOG_FILE)
    topic = await log.compacted(topics.OWNERS, 1)
    pool = Owner(topics.MATCHMAKING, 0, 5, "them", NOWHERE)
    await topic.put(0, place(pool.game, pool.partition), encode_Owner(pool))
    await log.close()
    async with two_processes(tmp_path, advertise=NOWHERE) as (one, other), gateway(one.port, other.port) as server:
        await paused(one, TINY)
        game = await paused(other, ARCANE_ALLEY)
        listed = await ran(tmp_path, server, "game", "list")
        assert listed.returncode == 1 and game in listed.stdout and "No game is" not in listed.stdout, listed
        assert "Not looked into: tiny/0, " in listed.stderr
        assert f": another process answers at {server}" in listed.stderr and "arcane-alley" not in listed.stderr
        pools = await ran(tmp_path, server, "pool", "list")
        assert pools.returncode == 1 and f"Not looked into: matchmaking/0: {NOWHERE} does not answer" in pools.stderr
