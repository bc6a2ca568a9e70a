"""Pools and their players in one process, without gRPC, for `bench.matchmaking_pools`: `python -m
bench.matchmaking_players RATE SECONDS DATA POOL…` prints one line of JSON of what was measured.

The pools lie over a SQLite log; players are coroutines, told of their state and reading it as a session would. When all
have confirmed, a game is over at once.
"""

import asyncio
import json
import resource
import sys
import time
from pathlib import Path

import msgspec
import uvloop

from bench.matchmaking_hall import Pools
from guildhall.host.hall import Foundation, Hall, HallConfig
from guildhall.matchmaking.v1 import structs as wire
from guildhall.rpc.errors import Failure
from guildhall.telemetry import logs
from services.matchmaking.accepted import payload_hash
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.judging import Asked
from services.matchmaking.states import state_of

PLAYERS = 600
"""Of each pool: there must always be one who is free."""
WARM_UP_SECONDS = 5.0


class Measured(msgspec.Struct):
    """Of the tickets: seconds until each was accepted, and until its game was over."""

    created: list[float] = []
    over: list[float] = []
    seconds: float = 0.0
    """That they were asked for."""
    processor: float = 0.0
    """Seconds that it took, all threads."""
    entries: int = 0
    """Of the logs."""


class Player:
    """A subject with a ticket at a time; told by the pool as a stream would be, and reads its state as often."""

    def __init__(self, hosted: HostedPool, subject: str) -> None:
        self._hosted = hosted
        self._subject = subject
        self._number = 0
        self._changed = asyncio.Event()
        hosted.subscribe(subject, self)

    def hear(self) -> None:
        self._changed.set()

    def end(self, why: Failure) -> None:
        """The hall stops when all is measured."""

    async def once(self, measured: Measured) -> None:
        """From a ticket to the end of its game."""
        self._number += 1
        began = time.perf_counter()
        await self._act(wire.CreateTicketRequest(f"create {self._number}", self._hosted.game, seats=(2,)))
        measured.created.append(time.perf_counter() - began)
        while True:
            self._changed.clear()
            state = await self._hosted.at_rest(lambda: state_of(self._hosted.pool, self._subject))
            wire.encode_WatchStateResponse(wire.WatchStateResponse(state))
            if state.ticket is None:
                break
            if state.offer is not None and not state.offer.you_confirmed:
                offer_id = state.offer.offer_id
                await self._act(wire.ConfirmOfferRequest(f"confirm {offer_id}", self._hosted.game, offer_id))
                continue
            await self._changed.wait()
        measured.over.append(time.perf_counter() - began)

    async def _act(self, request: wire.CreateTicketRequest | wire.ConfirmOfferRequest) -> None:
        name = type(request).__name__
        payload = payload_hash(name, getattr(wire, f"encode_{name}")(request))
        await self._hosted.act(Asked(self._subject, request.command_id, payload, request))


class Crowd:
    """All players of all pools."""

    def __init__(self, pools: list[HostedPool]) -> None:
        self._idle: list[asyncio.Queue[Player]] = [asyncio.Queue() for _ in pools]
        for idle, pool in zip(self._idle, pools, strict=True):
            for number in range(PLAYERS):
                idle.put_nowait(Player(pool, f"player {number}"))
        self._tasks: set[asyncio.Task[None]] = set()

    async def at_rate(self, rate: float, seconds: float) -> Measured:
        """So many tickets a second; what is late is sent as soon as a player is free."""
        measured = Measured()
        begin = time.perf_counter()
        # Two for each pool in turn: nobody is left over who would wait for a partner in vain.
        count = int(rate * seconds)
        for number in range(count - count % (2 * len(self._idle))):
            await asyncio.sleep(max(0.0, begin + number / rate - time.perf_counter()))
            idle = self._idle[number // 2 % len(self._idle)]
            task = asyncio.create_task(self._one(idle, await idle.get(), measured))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return measured

    async def _one(self, idle: asyncio.Queue[Player], player: Player, measured: Measured) -> None:
        await player.once(measured)
        idle.put_nowait(player)

    async def rest(self) -> None:
        """Returns when every ticket is over."""
        while self._tasks:
            await asyncio.wait(self._tasks)


async def measure(rate: float, seconds: float, data: Path, names: list[str]) -> Measured:
    """So many tickets a second over all these pools."""
    made: list[Pools] = []

    def housed(foundation: Foundation) -> Pools:
        made.append(Pools(names, foundation))
        return made[0]

    hall = Hall(HallConfig(data=data, games=[], port=0, housed=housed))
    await hall.start()
    pools = [made[0].host.pool(name) for name in names]
    crowd = Crowd(pools)
    await crowd.at_rate(rate, WARM_UP_SECONDS)
    await crowd.rest()
    seqs, began, used = sum(pool.seq for pool in pools), time.perf_counter(), _used()
    measured = await crowd.at_rate(rate, seconds)
    measured.seconds = time.perf_counter() - began
    await crowd.rest()
    measured.processor, measured.entries = _used() - used, sum(pool.seq for pool in pools) - seqs
    await hall.stop()
    return measured


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    logs.configure("console")
    told = uvloop.run(measure(float(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]))
    print(json.dumps(msgspec.to_builtins(told)))
