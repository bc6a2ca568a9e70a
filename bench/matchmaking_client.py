"""Players of `bench.matchmaking_service`, in a process of their own: `python -m bench.matchmaking_client`.

The first line of its input says where the halls are; each further line asks for a rate and a time, and is answered by
one line of what was measured. All lines are JSON.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import grpc
import msgspec
import uvloop

from guildhall.matchmaking.v1 import structs as wire
from guildhall.rpc.errors import error_info
from guildhall.rpc.identity import existing_key, mint

SERVICE = "/guildhall.matchmaking.v1.MatchmakingService"
WARM_UP_SECONDS = 4.0
SUBJECTS_EACH = 4
"""Players for each ticket per second: a ticket takes a second or two, and there must always be one who is free."""
CHANNELS = 8
CALL_SECONDS = 10.0
TICKET_SECONDS = 30.0
"""After which a ticket counts as lost, and its player begins anew."""
TRIES = 4


class Place(msgspec.Struct, frozen=True):
    """A hall: where it listens, its data directory, its pools."""

    address: str
    data: str
    pools: tuple[str, ...]


class Begin(msgspec.Struct, frozen=True):
    """The first line. `name` sets this process's players apart from others'."""

    name: str
    places: tuple[Place, ...]


class Ask(msgspec.Struct, frozen=True):
    """Tickets per second, for so many seconds after a warm-up."""

    rate: float
    seconds: float


class Measured(msgspec.Struct):
    """Seconds of each call, tickets that came to their game, and those that did not."""

    created: list[float] = []
    confirmed: list[float] = []
    whole: list[float] = []
    late: int = 0
    """Sent more than a second after their time, since no player was free or this process was behind."""
    lost: int = 0
    again: int = 0
    """Calls that were sent again, with the same command_id, since they or their answer were lost on the way."""
    seconds: float = 0.0


class Player:
    """One subject with an open stream."""

    def __init__(self, channel: grpc.aio.Channel, token: str, pool: str) -> None:
        self._channel = channel
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._pool = pool
        self._number = 0
        self._state = wire.State()
        self._changed = asyncio.Event()
        self.told = asyncio.Event()
        """Set at the first state."""

    async def watch(self) -> None:
        """Follow the own state, through any number of streams."""
        request = wire.encode_WatchStateRequest(wire.WatchStateRequest(self._pool))
        while True:
            try:
                stream: Any = self._channel.unary_stream(f"{SERVICE}/WatchState")
                async for answer in stream(request, metadata=self._metadata):
                    self._state = wire.decode_WatchStateResponse(answer).state
                    self.told.set()
                    self._changed.set()
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.2)

    async def once(self, measured: Measured) -> None:
        """From a ticket to its game, or until it is lost."""
        try:
            async with asyncio.timeout(TICKET_SECONDS):
                await self._once(measured)
        except (TimeoutError, grpc.aio.AioRpcError):
            measured.lost += 1

    async def _once(self, measured: Measured) -> None:
        self._number += 1
        began = time.perf_counter()
        request = wire.CreateTicketRequest(f"{os.getpid()} create {self._number}", self._pool, seats=(2,))
        answer = await self._ask("CreateTicket", wire.encode_CreateTicketRequest(request), measured)
        ticket_id = wire.decode_CreateTicketResponse(answer).ticket_id
        measured.created.append(time.perf_counter() - began)
        offer_id = ""
        while not any(ended.ticket_id == ticket_id for ended in self._state.ended):
            offer = self._state.offer
            if offer is not None and not offer.you_confirmed and offer.offer_id != offer_id:
                offer_id = offer.offer_id
                at = time.perf_counter()
                confirm = wire.ConfirmOfferRequest(f"confirm {offer_id}", self._pool, offer_id)
                await self._ask("ConfirmOffer", wire.encode_ConfirmOfferRequest(confirm), measured)
                measured.confirmed.append(time.perf_counter() - at)
                continue
            self._changed.clear()
            await self._changed.wait()
        measured.whole.append(time.perf_counter() - began)

    async def _ask(self, method: str, request: bytes, measured: Measured) -> bytes:
        """The answer; what did not reach the hall, or whose answer did not come, is sent again."""
        call: Any = self._channel.unary_unary(f"{SERVICE}/{method}")
        for tries in range(TRIES):
            try:
                answer: bytes = await call(request, metadata=self._metadata, timeout=CALL_SECONDS)
                return answer
            except grpc.aio.AioRpcError as error:
                bare = error.code() is grpc.StatusCode.CANCELLED and error_info(error) is None
                if tries == TRIES - 1 or not (bare or error.code() is grpc.StatusCode.UNAVAILABLE):
                    raise
                measured.again += 1
        raise AssertionError("no try is left")


class Crowd:
    """All players of this process."""

    def __init__(self, begin: Begin) -> None:
        self._name = begin.name
        self._idle: asyncio.Queue[Player] = asyncio.Queue()
        self._count = 0
        self._streams: list[asyncio.Task[None]] = []
        # Pools of different halls take turns, so that every hall has as much to do.
        rows = [[(place, pool) for pool in place.pools] for place in begin.places]
        self._pools = [row[n] for n in range(max(map(len, rows))) for row in rows if n < len(row)]
        self._keys = {place.data: existing_key(Path(place.data)) for place in begin.places}
        options = [("grpc.use_local_subchannel_pool", 1)]
        self._channels = {
            place.address: [grpc.aio.insecure_channel(place.address, options) for _ in range(CHANNELS)]
            for place in begin.places
        }

    async def have(self, count: int) -> None:
        """So many players with open streams."""
        new = []
        while self._count < count:
            place, pool = self._pools[self._count // 2 % len(self._pools)]
            token = mint(self._keys[place.data], f"{self._name} {self._count}", ["play"], 7200.0)
            channels = self._channels[place.address]
            player = Player(channels[self._count % len(channels)], token, pool)
            self._streams.append(asyncio.create_task(player.watch()))
            self._count += 1
            new.append(player)
            if len(new) % 50 == 0:
                await player.told.wait()
        for player in new:
            await player.told.wait()
            self._idle.put_nowait(player)

    async def measure(self, ask: Ask) -> Measured:
        """Tickets at that rate."""
        await self.have(max(20, int(SUBJECTS_EACH * ask.rate)))
        measured = Measured()
        running: set[asyncio.Task[None]] = set()

        async def one(player: Player, measured: Measured) -> None:
            await player.once(measured)
            self._idle.put_nowait(player)

        began = time.perf_counter()
        warm = int(ask.rate * WARM_UP_SECONDS)
        warming = Measured()
        for number in range(warm + int(ask.rate * ask.seconds)):
            wait = began + number / ask.rate - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            now = warming if number < warm else measured
            player = await self._idle.get()
            now.late += began + number / ask.rate - time.perf_counter() < -1.0
            task = asyncio.create_task(one(player, now))
            running.add(task)
            task.add_done_callback(running.discard)
        measured.seconds = time.perf_counter() - began - warm / ask.rate
        if running:
            await asyncio.wait(running)
        return measured

    async def close(self) -> None:
        """End all streams."""
        for stream in self._streams:
            stream.cancel()
        for channel in (channel for channels in self._channels.values() for channel in channels):
            await channel.close()


async def _line() -> bytes:
    return await asyncio.to_thread(sys.stdin.buffer.readline)


async def main() -> None:
    crowd = Crowd(msgspec.json.decode(await _line(), type=Begin))
    while line := await _line():
        measured = await crowd.measure(msgspec.json.decode(line, type=Ask))
        print(json.dumps(msgspec.to_builtins(measured)), flush=True)
    await crowd.close()


if __name__ == "__main__":
    uvloop.run(main())
