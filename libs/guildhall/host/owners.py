"""`guildhall.owners`: who made the newest claim of which partition, so that any instance can pass a request on.

The topic is a hint: claims in the events decide. Each owner writes its entry after its claim, and again when it reads a
lower one behind it, since the newest value of a key is all that compaction keeps.
"""

import asyncio
import contextlib
from collections.abc import Callable

from guildhall.kernel.v1.structs import Owner, decode_Owner, encode_Owner
from guildhall.kernel.wire import WireError
from guildhall.log import topics
from guildhall.log.errors import LogError
from guildhall.log.port import Claim, CompactedTopic, Log, Record
from guildhall.telemetry import logs

POLL_SECONDS = 0.25

_log = logs.get("host")


def place(game: str, partition: int) -> str:
    """A partition's key in the topic."""
    return f"{game}/{partition}"


async def read(log: Log) -> list[Owner]:
    """The owners as the topic has them now, by game and partition. Raises `LogUnavailable`, `LogUnreadable`."""
    topic = await log.compacted(topics.OWNERS, 1)
    found = [owner for record in await topic.scan(0) if (owner := _owner(record)) is not None]
    return sorted(found, key=lambda owner: (owner.game, owner.partition))


class Owners:
    """The owners as this instance knows them: what the topic tells, and what its own fold tells earlier."""

    def __init__(self, topic: CompactedTopic, me: Claim, poll_seconds: float = POLL_SECONDS) -> None:
        self._topic = topic
        self._me = me
        self._poll_seconds = poll_seconds
        self._next_offset = 0
        self._stored: dict[str, int] = {}
        """The claim in the newest entry of each place, in the topic's order."""
        self._newest: dict[str, Owner] = {}
        self._mine: dict[str, Owner] = {}
        self._watched: dict[str, list[tuple[int, Callable[[], None]]]] = {}
        self._news = asyncio.Event()
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read what is there, and go on reading. Raises `LogUnavailable`, `LogUnreadable`."""
        await self._read_on()
        self._task = asyncio.get_running_loop().create_task(self._tail())

    async def stop(self) -> None:
        """Read and write no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    # --- what is known

    def here(self, place: str) -> bool:
        """Whether this instance serves the place."""
        return place in self._mine

    def newest(self, place: str) -> Owner | None:
        """Who made the newest claim of the place; None if nobody did, or this instance itself."""
        owner = self._newest.get(place)
        return None if owner is None or owner.instance == self._me.instance else owner

    def of(self, game: str) -> list[Owner]:
        """The newest claims of a game's partitions, by partition; this instance's own too."""
        return sorted((o for o in self._newest.values() if o.game == game), key=lambda owner: owner.partition)

    def all(self) -> list[Owner]:
        """The newest claims of all partitions of all games, in no order; this instance's own too."""
        return list(self._newest.values())

    def addresses(self) -> set[str]:
        """Of all owners."""
        return {owner.address for owner in self._newest.values()}

    async def news(self) -> None:
        """Returns when any of this has changed."""
        await self._news.wait()

    def on_newer(self, place: str, claim: int, call: Callable[[], None]) -> Callable[[], None]:
        """Calls `call` once a newer claim of the place is known, by whomever; returns how to end that."""
        waiting = self._watched.setdefault(place, [])
        entry = (claim, call)
        waiting.append(entry)
        newest = self._newest.get(place)
        if newest is not None and newest.claim > claim:
            asyncio.get_running_loop().call_soon(call)

        def end() -> None:
            waiting.remove(entry)

        return end

    # --- what happens

    def serve(self, game: str, partition: int, claim: int) -> None:
        """This instance serves from here on, under its claim: others are told."""
        owner = Owner(game, partition, claim, self._me.instance, self._me.address)
        self._mine[place(game, partition)] = owner
        self._learn(owner)
        self._due.set()
        self._tell()

    def cede(self, game: str, partition: int) -> None:
        """This instance serves no longer."""
        if self._mine.pop(place(game, partition), None) is not None:
            self._tell()

    def learn(self, game: str, partition: int, claim: int, by: Claim) -> None:
        """Another instance's claim was folded."""
        self._learn(Owner(game, partition, claim, by.instance, by.address))

    def _learn(self, owner: Owner) -> None:
        key = place(owner.game, owner.partition)
        known = self._newest.get(key)
        if known is not None and known.claim >= owner.claim:
            return
        self._newest[key] = owner
        for claim, call in list(self._watched.get(key, ())):
            if claim < owner.claim:
                call()
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    # --- the topic

    async def _tail(self) -> None:
        reachable = True
        while True:
            self._due.clear()
            try:
                await self._read_on()
                await self._write_due()
                reachable = True
            except LogError as error:
                if reachable:
                    _log.warning("owners can't be read or written now", why=logs.said(error))
                reachable = False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._poll_seconds):
                    await self._due.wait()

    async def _read_on(self) -> None:
        for record in await self._topic.scan(0, self._next_offset):
            self._next_offset = record.offset + 1
            owner = _owner(record)
            if owner is not None:
                self._stored[record.key] = owner.claim
                self._learn(owner)

    async def _write_due(self) -> None:
        due = [(key, owner) for key, owner in self._mine.items() if self._stored.get(key, -1) < owner.claim]
        await asyncio.gather(*(self._topic.put(0, key, encode_Owner(owner)) for key, owner in due))


def _owner(record: Record) -> Owner | None:
    """The entry; None for bytes that are none of ours, which are told and passed over: the topic is only a hint."""
    try:
        owner = decode_Owner(record.value)
    except WireError as error:
        _log.warning("an entry of the owners can't be read", offset=record.offset, key=record.key, why=logs.said(error))
        return None
    if record.key != place(owner.game, owner.partition):
        _log.warning("an entry of the owners is under another's key", offset=record.offset, key=record.key)
        return None
    return owner
