"""Players of `bench.matchmaking_service`, in a process of their own: `python -m bench.matchmaking_client`.

The first line of its input says where the halls are; each further line asks for a rate and a time, and is answered by
one line of what was measured. All lines are JSON.
"""

import asyncio
import contextlib
import gc
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
from guildhall.matchmaking.v1.matchmaking_service_pb2 import SessionResponse
from guildhall.rpc.identity import existing_key, mint

SERVICE = "/guildhall.matchmaking.v1.MatchmakingService"
WARM_UP_SECONDS = 4.0
SUBJECTS_EACH = 4
"""Players for each ticket per second: a ticket may take a second or two, and there must always be one who is free."""
CHANNELS = 8
TICKET_SECONDS = 30.0
"""After which a ticket counts as lost, and its player begins anew."""


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
    """Writes that were sent again, with the same command_id, since they or their answer were lost on the way."""
    seconds: float = 0.0


class Player:
    """One subject with an open session."""

    def __init__(self, channel: grpc.aio.Channel, token: str, pool: str) -> None:
        self._stub: Any = channel.stream_stream(f"{SERVICE}/Session")
        self._metadata = (("authorization", f"Bearer {token}"),)
        self._pool = pool
        self._number = 0
        self._call: Any = None
        self._state = SessionResponse().state
        self._asked: dict[str, tuple[bytes, asyncio.Future[str]]] = {}
        """Writes that are not answered, by their command_id, with whoever waits for what they make."""
        self._changed = asyncio.Event()
        self.told = asyncio.Event()
        """Set at the first state."""
        self.again = 0
        """Writes that were sent again, with the same command_id, since they or their answer were lost on the way."""

    async def attend(self) -> None:
        """Go on through any number of streams."""
        hello = wire.encode_SessionRequest(wire.SessionRequest(self._pool))
        while True:
            self._call = self._stub(metadata=self._metadata)
            try:
                await self._call.write(hello)
                for write, _ in list(self._asked.values()):
                    self.again += 1
                    await self._call.write(write)
                while (answer := await self._call.read()) is not grpc.aio.EOF:
                    self._take(SessionResponse.FromString(answer))
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                pass
            await asyncio.sleep(0.2)

    def _take(self, answer: SessionResponse) -> None:
        if answer.HasField("state"):
            self._state = answer.state
            self.told.set()
            self._changed.set()
        if answer.command_id:
            _, asked = self._asked.pop(answer.command_id, (b"", None))
            if asked is not None and not asked.done():
                if answer.HasField("error"):
                    asked.set_exception(RuntimeError(answer.error.message))
                else:
                    asked.set_result(answer.created_id)

    async def once(self, measured: Measured) -> None:
        """From a ticket to its game, or until it is lost."""
        again = self.again
        try:
            async with asyncio.timeout(TICKET_SECONDS):
                await self._once(measured)
        except (TimeoutError, RuntimeError):
            self._asked.clear()
            measured.lost += 1
        measured.again += self.again - again

    async def _once(self, measured: Measured) -> None:
        self._number += 1
        began = time.perf_counter()
        create = wire.CreateTicketRequest(f"{os.getpid()} create {self._number}", seats=(2,))
        ticket_id = await self._ask(create.command_id, wire.SessionWrite(create_ticket=create))
        measured.created.append(time.perf_counter() - began)
        offer_id = ""
        while not any(ended.ticket_id == ticket_id for ended in reversed(self._state.ended)):
            offer = self._state.offer
            if offer.offer_id and not offer.you_confirmed and offer.offer_id != offer_id:
                offer_id = offer.offer_id
                at = time.perf_counter()
                confirm = wire.ConfirmOfferRequest(f"confirm {offer_id}", offer_id=offer_id)
                await self._ask(confirm.command_id, wire.SessionWrite(confirm_offer=confirm))
                measured.confirmed.append(time.perf_counter() - at)
                continue
            self._changed.clear()
            await self._changed.wait()
        measured.whole.append(time.perf_counter() - began)

    async def _ask(self, command_id: str, write: wire.SessionWrite) -> str:
        """The id of what it makes. Raises RuntimeError where it is refused."""
        request = wire.encode_SessionRequest(wire.SessionRequest(write=write))
        asked: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._asked[command_id] = request, asked
        # A stream that is over is found out by whoever reads it, who sends this again.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await self._call.write(request)
        return await asked


class Crowd:
    """All players of this process."""

    def __init__(self, begin: Begin) -> None:
        self._name = begin.name
        self._count = 0
        self._streams: list[asyncio.Task[None]] = []
        # Pools of different halls take turns, so that every hall has as much to do.
        rows = [[(place, pool) for pool in place.pools] for place in begin.places]
        self._pools = [row[n] for n in range(max(map(len, rows))) for row in rows if n < len(row)]
        self._idle: list[asyncio.Queue[Player]] = [asyncio.Queue() for _ in self._pools]
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
            turn = self._count % len(self._pools)
            place, pool = self._pools[turn]
            token = mint(self._keys[place.data], f"{self._name} {self._count}", ["play"], 7200.0)
            channels = self._channels[place.address]
            player = Player(channels[self._count % len(channels)], token, pool)
            self._streams.append(asyncio.create_task(player.attend()))
            self._count += 1
            new.append((turn, player))
            if len(new) % 50 == 0:
                await player.told.wait()
        for turn, player in new:
            await player.told.wait()
            self._idle[turn].put_nowait(player)

    async def measure(self, ask: Ask) -> Measured:
        """Tickets at that rate."""
        await self.have(max(20, int(SUBJECTS_EACH * ask.rate)))
        measured = Measured()
        running: set[asyncio.Task[None]] = set()

        async def one(idle: asyncio.Queue[Player], player: Player, measured: Measured) -> None:
            await player.once(measured)
            idle.put_nowait(player)

        began = time.perf_counter()
        warm = int(ask.rate * WARM_UP_SECONDS)
        warming = Measured()
        # Two for each pool in turn: nobody is left over who would wait for a partner in vain.
        count = warm + int(ask.rate * ask.seconds)
        for number in range(count - count % (2 * len(self._pools))):
            wait = began + number / ask.rate - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            now = warming if number < warm else measured
            idle = self._idle[number // 2 % len(self._pools)]
            player = await idle.get()
            now.late += began + number / ask.rate - time.perf_counter() < -1.0
            task = asyncio.create_task(one(idle, player, now))
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
    # What looks for garbage among thousands of players would hold them all up, and say that the hall was slow.
    gc.disable()
    crowd = Crowd(msgspec.json.decode(await _line(), type=Begin))
    while line := await _line():
        measured = await crowd.measure(msgspec.json.decode(line, type=Ask))
        print(json.dumps(msgspec.to_builtins(measured)), flush=True)
    await crowd.close()


if __name__ == "__main__":
    uvloop.run(main())
