"""Pools alone: tickets accepted, offered, confirmed and over through the log, without gRPC.

Five pools over one SQLite log in this process, and players who are coroutines in it: what is left of the cost of a
ticket when nobody calls from outside. GUILDHALL_BENCH_PROFILE=FILE writes a profile.
"""

import asyncio
import cProfile
import os
import resource
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import uvloop

from bench.matchmaking_hall import POOLS, Pools
from bench.table import Row
from guildhall.host.hall import Foundation, Hall, HallConfig
from guildhall.matchmaking.v1 import structs as wire
from guildhall.rpc.errors import Failure
from services.matchmaking.accepted import payload_hash
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.judging import Asked
from services.matchmaking.states import state_of

PLAYERS = 400
"""Of each pool; all of them always want to play."""
TICKETS = 5_000
"""That are measured, after every player has had one or so."""
MUST = 1000.0


class Player:
    """A subject that queues again and again; told by the pool as a stream would be, and reads its state as often."""

    def __init__(self, hosted: HostedPool, subject: str, over: list[float]) -> None:
        self._hosted = hosted
        self._subject = subject
        self._over = over
        self._changed = asyncio.Event()

    def hear(self) -> None:
        self._changed.set()

    def end(self, why: Failure) -> None:
        """The hall stops when all is measured."""

    async def play(self) -> None:
        """Without end."""
        self._hosted.subscribe(self._subject, self)
        number = 0
        while True:
            number += 1
            began = time.perf_counter()
            await self._act(wire.CreateTicketRequest(f"create {number}", self._hosted.game, seats=(2,)))
            begun = False
            while True:
                state = await self._hosted.at_rest(lambda: state_of(self._hosted.pool, self._subject))
                wire.encode_WatchStateResponse(wire.WatchStateResponse(state))
                if state.ticket is None and begun:
                    break
                begun = True
                if state.offer is not None and not state.offer.you_confirmed:
                    offer_id = state.offer.offer_id
                    await self._act(wire.ConfirmOfferRequest(f"confirm {offer_id}", self._hosted.game, offer_id))
                    continue
                self._changed.clear()
                await self._changed.wait()
            self._over.append(time.perf_counter() - began)

    async def _act(self, request: wire.CreateTicketRequest | wire.ConfirmOfferRequest) -> None:
        name = type(request).__name__
        payload = payload_hash(name, getattr(wire, f"encode_{name}")(request))
        await self._hosted.act(Asked(self._subject, request.command_id, payload, request))


async def _measured() -> tuple[float, float, float]:
    """(tickets per second, seconds of processor a ticket, entries of the log a ticket)."""
    made: list[Pools] = []

    def housed(foundation: Foundation) -> Pools:
        made.append(Pools(POOLS, foundation))
        return made[0]

    with tempfile.TemporaryDirectory(prefix="guildhall-bench-") as directory:
        hall = Hall(HallConfig(data=Path(directory), games=[], port=0, housed=housed))
        await hall.start()
        over: list[float] = []
        pools = [made[0].host.pool(name) for name in POOLS]
        players = [Player(pool, f"player {number}", over) for pool in pools for number in range(PLAYERS)]
        tasks = [asyncio.create_task(player.play()) for player in players]
        while len(over) < len(players):
            await asyncio.sleep(0.05)
        over.clear()
        seqs, began, used = sum(pool.seq for pool in pools), time.perf_counter(), _used()
        while len(over) < TICKETS:
            await asyncio.sleep(0.05)
        took, used = time.perf_counter() - began, _used() - used
        entries = sum(pool.seq for pool in pools) - seqs
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await hall.stop()
    return len(over) / took, used / len(over), entries / len(over)


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def rows() -> Iterable[Row]:
    """Tickets per second of one process."""
    to = os.environ.get("GUILDHALL_BENCH_PROFILE")
    profile = cProfile.Profile()
    if to:
        profile.enable()
    rate, each, entries = uvloop.run(_measured())
    if to:
        profile.disable()
        profile.dump_stats(to)
    beside = f"five pools, one process, {entries:.2f} entries of the log for each"
    yield Row("pools alone: tickets through the log, no gRPC", rate, "/s", MUST, beside=beside)
    yield Row("… processor of each, all threads", 1e3 * each, "ms")
