"""A game's host: the partitions that this instance holds, and its history. Finds games, and lets nobody see one who may
not.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from guildhall.host import packs
from guildhall.host.failures import not_found
from guildhall.host.history import History
from guildhall.host.hosted_game import HostedGame
from guildhall.host.membership import Membership
from guildhall.host.owners import Owners, place
from guildhall.host.partition import Partition, Upkeep
from guildhall.host.tenure import Tenure
from guildhall.kernel.game import Game
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import Owner
from guildhall.log import topics
from guildhall.log.errors import LogError
from guildhall.log.port import Claim, Log, partition_of
from guildhall.log.recovery import Store, open_store
from guildhall.rpc.forwarding import Elsewhere
from guildhall.rpc.identity import Caller
from guildhall.telemetry import logs, metrics

_LOOK_SECONDS = 0.01

_log = logs.get("host")


@dataclass(frozen=True, slots=True)
class Visible:
    """A game that the caller may see: from its seat, or as a spectator (None)."""

    hosted: HostedGame
    partition: Partition
    seat: int | None


class GameHost:
    """All games of one rules set that this instance is to serve, on this log."""

    def __init__(
        self,
        rules: Rules,
        log: Log,
        me: Claim,
        owners: Owners,
        upkeep: Upkeep,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_change` is called whenever `ready` may have changed."""
        self.rules = rules
        self._log = log
        self._me = me
        self._owners = owners
        self._upkeep = upkeep
        self._on_change = on_change
        self._tenures: dict[int, Tenure] = {}
        self._history: History | None = None
        self._store: Store | None = None
        self._membership: Membership | None = None
        self._joined = False
        self._loading: asyncio.Task[None] | None = None
        self._loading_now = asyncio.Lock()
        self._said_ready = False
        self._began = time.monotonic()

    @property
    def history(self) -> History:
        """Earlier versions, after `open`."""
        assert self._history is not None
        return self._history

    @property
    def store(self) -> Store:
        """The game's topics, after `open`."""
        assert self._store is not None
        return self._store

    @property
    def partitions(self) -> list[Partition]:
        """The partitions that are folded here, by number: those that this instance serves, or stands by for."""
        return [tenure.partition for _, tenure in sorted(self._tenures.items()) if tenure.partition is not None]

    @property
    def ready(self) -> bool:
        """Whether it is known what this instance is to own, and all of that is folded and claimed."""
        return self._joined and all(tenure.folded for tenure in self._tenures.values() if tenure.assigned)

    def owners(self) -> list[Owner]:
        """The newest claim of each partition, as far as this instance knows."""
        return self._owners.of(self.rules.game)

    # --- start and end

    async def open(self) -> None:
        """Open the game's topics. Raises `LogUnavailable`, `LogUnreadable`."""
        self._began = time.monotonic()
        self._store = await open_store(self._log, self.rules.game)
        self._packs = await self._log.compacted(topics.PACKS, 1)
        self._history = History(self.rules, self._store.events)
        name = self.rules.game
        metrics.GAMES.labels(name).set_function(lambda: sum(len(p.hosted) for p in self.partitions))
        metrics.QUARANTINED.labels(name).set_function(
            lambda: sum(1 for p in self.partitions for h in p.hosted.values() if h.quarantined)
        )
        metrics.PARTITIONS.labels(name).set_function(lambda: sum(p.serving for p in self.partitions))

    async def join(self, membership: Membership) -> None:
        """Be told from here on what to own: `membership` calls `assign` and `revoke`. Raises as it does."""
        self._membership = membership
        await membership.join()

    async def claimed(self) -> None:
        """Returns when all that is assigned now is folded and claimed. Raises what keeps it from that."""
        outcomes = await asyncio.gather(*(t.claimed() for t in self._tenures.values()), return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def hand_over(self, seconds: float) -> None:
        """Leave, and serve on until others have claimed what is served here, but no longer than that."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if self._membership is not None:
                    await self._membership.leave(seconds)
                while serving := [p for p in self.partitions if p.serving]:
                    # Asked for: a writer that is idle looks for others' claims less often.
                    await asyncio.gather(*(p.writer.confirm() for p in serving), return_exceptions=True)
                    await asyncio.sleep(_LOOK_SECONDS)

    async def stop(self, seconds: float, store_seconds: float) -> None:
        """Drain: take nothing more, let what is in flight become known, leave, and store states meanwhile, as many as
        there is time for: the next owner's fold is the shorter.
        """
        tenures = list(self._tenures.values())
        serving = [tenure.partition for tenure in tenures if tenure.partition is not None and tenure.serving]
        for number in list(self._tenures):
            self._owners.cede(self.rules.game, number)
        await asyncio.gather(*(tenure.finish(seconds) for tenure in tenures))
        leaving = [self._membership.leave(seconds)] if self._membership is not None else []
        await asyncio.gather(*leaving, *(partition.store_all(store_seconds) for partition in serving))

    # --- what to own

    def assign(self, numbers: Iterable[int]) -> None:
        """These partitions are to be owned here, beside those that are already."""
        for number in numbers:
            metrics.ASSIGNMENTS.labels(self.rules.game, "assigned").inc()
            tenure = self._tenures.get(number)
            if tenure is not None and not tenure.leaving:
                tenure.assign()
            else:
                self._tenures[number] = self._tenure(number, tenure)
        self._joined = True
        self._changed()

    def revoke(self, numbers: Iterable[int]) -> None:
        """These are to be owned elsewhere."""
        for number in numbers:
            tenure = self._tenures.get(number)
            if tenure is not None:
                metrics.ASSIGNMENTS.labels(self.rules.game, "revoked").inc()
                tenure.revoke()
        self._changed()

    def _tenure(self, number: int, before: Tenure | None) -> Tenure:
        async def make() -> Partition:
            # It is folded anew where it failed: it is not served here until it is claimed again.
            self._owners.cede(self.rules.game, number)
            partition = Partition(
                self.rules, self.store, number, self._me, self.history, self._upkeep, lambda *claim: claimed(*claim)
            )
            await partition.fold()
            return partition

        def claimed(offset: int, by: Claim | None) -> None:
            self._claimed(number, tenure, offset, by)

        def over(ended: Tenure) -> None:
            if self._tenures.get(number) is ended:
                del self._tenures[number]
                self._owners.cede(self.rules.game, number)
                self._changed()

        where: dict[str, object] = {"game": self.rules.game, "partition": number}
        tenure = Tenure(where, make, self._load_packs, over, before)
        return tenure

    async def _load_packs(self) -> None:
        """Another instance may have brought a newer pack, and made games with it, up to a claim of this one's. Whoever
        asks while a look is under way shares the next. Raises LogError, BadPack.
        """
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load_next())
        await asyncio.shield(self._loading)

    async def _load_next(self) -> None:
        async with self._loading_now:
            self._loading = None
            await packs.load(self._packs, [self.rules])

    def _claimed(self, number: int, tenure: Tenure, offset: int, by: Claim | None) -> None:
        game = self.rules.game
        mine = by is not None and by.instance == self._me.instance
        if mine:
            self._owners.serve(game, number, offset)
        elif by is not None:
            self._owners.learn(game, number, offset, by)
        # Not while an own claim is under way: that one is yet to be told.
        if not mine and self._owners.here(place(game, number)):
            address = by.address if by is not None else ""
            if tenure.assigned:
                metrics.STAND_DOWNS.labels(game).inc()
                _log.warning("stood down: another hall has claimed it", game=game, partition=number, address=address)
            else:
                _log.info("left to another hall", game=game, partition=number, address=address)
            self._owners.cede(game, number)
            if self._membership is not None:
                self._membership.stood_down(number, by)
        tenure.owner_changed(mine)
        self._changed()

    def _changed(self) -> None:
        ready = self.ready
        if ready and not self._said_ready:
            seconds = time.monotonic() - self._began
            metrics.READY_SECONDS.labels(self.rules.game).set(seconds)
            partitions = self.partitions
            games = sum(len(partition.hosted) for partition in partitions)
            _log.info("ready", game=self.rules.game, partitions=len(partitions), games=games, seconds=round(seconds, 3))
        if self._said_ready and not ready:
            self._began = time.monotonic()
        self._said_ready = ready
        self._on_change()

    # --- games

    def partition(self, game_id: str) -> Partition:
        """The partition that a game belongs to. Raises Elsewhere where another instance serves it."""
        number = partition_of(game_id, self.store.events.partitions)
        tenure = self._tenures.get(number)
        if tenure is None or tenure.partition is None or not tenure.serving:
            key = place(self.rules.game, number)
            raise Elsewhere(key, self._owners.newest(key))
        return tenure.partition

    async def visible(self, game_id: str, caller: Caller) -> Visible:
        """The game, if the caller may see it: as whoever holds a seat with the scope `play`, or as a spectator with
        the scope `spectate` where the game allows it.

        Raises Failure GAME_NOT_FOUND (also for a stranger), MISSING_SCOPE, GAME_QUARANTINED; Elsewhere.
        """
        partition = self.partition(game_id)
        hosted = await partition.find(game_id)
        if hosted is None or hosted.game is None:
            await self._confirm(partition)
            hosted = partition.hosted.get(game_id)
            if hosted is not None:
                hosted.check()
            if hosted is None or hosted.game is None:
                raise not_found()
        game = hosted.game
        assert game is not None
        seat = game.seat_of(caller.subject)
        if seat is not None:
            caller.require("play")
        elif not game.created.spectators or "spectate" not in caller.scopes:
            await self._confirm(partition)
            raise not_found()
        hosted.check()
        return Visible(hosted, partition, seat)

    async def _confirm(self, partition: Partition) -> None:
        try:
            await partition.writer.confirm()
        except LogError as error:
            raise partition.failed(error) from error


def acknowledged(hosted: HostedGame, game: Game | None) -> Game:
    """A game that was read. Raises Failure GAME_QUARANTINED, GAME_NOT_FOUND."""
    hosted.check()
    if game is None:
        raise not_found()
    return game
