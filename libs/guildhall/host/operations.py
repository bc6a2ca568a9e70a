"""OperationsService: what operators may do to games and processes, for the scope `operate` only.

What is done to a game is a record in the game's log, with who, when and why (docs/decisions, "What operators may do to
a game"); a drain is kept in `guildhall.operations`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from guildhall.host import clock
from guildhall.host.failures import log_failed, not_found, quarantined, refused, shutting_down
from guildhall.host.game_host import GameHost
from guildhall.host.hosted_game import HostedGame, Standing
from guildhall.host.messages import parse, required
from guildhall.host.partition import Partition
from guildhall.kernel import operate
from guildhall.kernel.decide import Decided
from guildhall.kernel.fold import Unfoldable
from guildhall.kernel.game import Game, as_decision, restore
from guildhall.kernel.operate import Order
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import EndReason, Owner, Restored, decode_Record
from guildhall.log import topics
from guildhall.log.errors import LogError, LogUnreadable
from guildhall.log.port import NO_CLAIM, Claim, Log
from guildhall.operations.v1 import operations_service_pb2
from guildhall.operations.v1 import structs as o
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from guildhall.rpc.server import Context
from guildhall.telemetry import logs, metrics

OPERATIONS_SERVICE = operations_service_pb2.DESCRIPTOR.services_by_name["OperationsService"]

MAX_LISTED = 1_000

_log = logs.get("operations")


class PoolOrder(NamedTuple):
    """Who wants a pool of matchmaking put back, under which command id, and why."""

    game: str
    subject: str
    command_id: str
    why: str
    validate_only: bool


class Pools(Protocol):
    """The pools of matchmaking that this process has."""

    def owners(self) -> Sequence[o.PartitionOwner]:
        """Their partitions that are served here, and those of which nobody has told who serves them."""
        ...

    def statuses(self) -> Sequence[o.PoolStatus]:
        """Those that are served here, by game."""
        ...

    async def repair(self, order: PoolOrder) -> tuple[int, int | None]:
        """Put a pool back to its newest whole state: the version that this made, and that of the state (None where it
        was done before). Raises Failure, Elsewhere.
        """
        ...


class OperationsService:
    """Methods take and give bytes, as `rpc.server.handlers` calls them."""

    def __init__(
        self,
        hosts: Mapping[str, GameHost],
        log: Log,
        me: Claim,
        stop: Callable[[], None],
        owners: Callable[[], Sequence[Owner]] = lambda: (),
    ) -> None:
        """`stop` begins to drain this process; `owners` tells who made the newest claims of all partitions of the hall,
        of games too that this process does not serve, as far as is known.
        """
        self._hosts = hosts
        self._log = log
        self._me = me
        self._stop = stop
        self._owners = owners
        self._closing = False
        self.pools: Pools | None = None
        """Of matchmaking, if this process has any."""

    def close(self) -> None:
        """Take no more requests."""
        self._closing = True

    # --- one game

    async def abort_game(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = self._admit(o.decode_AbortGameRequest, request, caller)
        host, partition, hosted = await self._find(asked)
        whole = await _whole(host, partition, hosted) if hosted.quarantined else None

        def act(game: Game, order: Order) -> Decided:
            return operate.abort(game, order, whole if game.lost else None)

        version = await self._operate("abort", asked, caller, hosted, act, repair=True)
        return o.encode_AbortGameResponse(o.AbortGameResponse(version))

    async def pause_game(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = self._admit(o.decode_PauseGameRequest, request, caller)
        _, _, hosted = await self._find(asked)
        version = await self._operate("pause", asked, caller, hosted, operate.pause)
        return o.encode_PauseGameResponse(o.PauseGameResponse(version))

    async def resume_game(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = self._admit(o.decode_ResumeGameRequest, request, caller)
        _, _, hosted = await self._find(asked)
        version = await self._operate("resume", asked, caller, hosted, operate.resume)
        return o.encode_ResumeGameResponse(o.ResumeGameResponse(version))

    async def repair_game(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = self._admit(o.decode_RepairGameRequest, request, caller)
        host, partition, hosted = await self._find(asked)
        whole = await _whole(host, partition, hosted, asked.to_version)
        # Its marker tells that a game has ended, so that its seed is known, where the record that ended it cannot.
        ended = hosted.quarantined and await partition.is_marked(asked.game_id)

        def act(game: Game, order: Order) -> Decided:
            if ended:
                raise Refusal("GAME_OVER", "The game is over.")
            if whole is None or (asked.to_version is None and not hosted.quarantined):
                raise Failure(
                    "GAME_NOT_QUARANTINED",
                    "All records of this game can be folded: say to which version it is to be put back.",
                    {"version": str(game.version)},
                    "to_version",
                )
            return operate.restore(game, order, whole, asked.to_version or 0, unread=bool(hosted.damaged))

        version = await self._operate("repair", asked, caller, hosted, act, repair=True)
        to_version = await _restored_to(host, partition, hosted, version) if not asked.validate_only else None
        if to_version is None:
            assert whole is not None
            to_version = whole.version
        return o.encode_RepairGameResponse(o.RepairGameResponse(version, to_version))

    async def get_game_status(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = self._admit(o.decode_GetGameStatusRequest, request, caller)
        _, partition, hosted = await self._find(asked)
        await hosted.read()
        return o.encode_GetGameStatusResponse(o.GetGameStatusResponse(game_status(partition, hosted)))

    # --- all of them

    async def list_troubled_games(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._admit(o.decode_ListTroubledGamesRequest, request, caller)
        found = [
            (partition, hosted)
            for host in self._hosts.values()
            for partition in host.partitions
            if partition.serving
            for hosted in partition.hosted.values()
            if hosted.quarantined or hosted.stuck or hosted.standing is Standing.PAUSED
        ]
        found.sort(key=lambda pair: (not pair[1].quarantined, not pair[1].stuck, pair[1].game_id))
        games = tuple(game_status(partition, hosted) for partition, hosted in found[:MAX_LISTED])
        left_out = max(0, len(found) - MAX_LISTED)
        return o.encode_ListTroubledGamesResponse(o.ListTroubledGamesResponse(games, left_out, self._me.instance))

    async def list_owners(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._admit(o.decode_ListOwnersRequest, request, caller)
        owners = {
            (owner.game, owner.partition): o.PartitionOwner(
                owner.game, owner.partition, owner.claim, owner.instance, owner.address
            )
            for owner in self._owners()
        }
        for game, host in self._hosts.items():
            folded = {partition.number: partition for partition in host.partitions}
            # Those too that nobody has claimed, or that cannot be folded.
            for number in range(host.store.events.partitions):
                partition = folded.get(number)
                if partition is not None and partition.serving:
                    owners[game, number] = _served(game, partition)
                elif (game, number) not in owners:
                    owners[game, number] = _unserved(game, number, partition)
        if self.pools is not None:
            owners |= {(owner.game, owner.partition): owner for owner in self.pools.owners()}
        told = tuple(owners[place] for place in sorted(owners))
        return o.encode_ListOwnersResponse(o.ListOwnersResponse(told, self._me.instance, self._me.address))

    # --- matchmaking's pools

    async def list_pools(self, request: bytes, caller: Caller, context: Context) -> bytes:
        self._admit(o.decode_ListPoolsRequest, request, caller)
        pools = self.pools.statuses() if self.pools is not None else ()
        return o.encode_ListPoolsResponse(o.ListPoolsResponse(tuple(pools), self._me.instance))

    async def repair_pool(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = self._admit(o.decode_RepairPoolRequest, request, caller)
        try:
            operate.check_order(asked.command_id, asked.why)
        except Refusal as refusal:
            raise refused(refusal) from None
        if self.pools is None:
            raise Failure("INVALID_GAME", "This process has no matchmaking: ask one that serves it.", field="game")
        order = PoolOrder(asked.game, caller.subject, asked.command_id, asked.why, asked.validate_only)
        version, to_version = await self.pools.repair(order)
        if not asked.validate_only:
            _log.warning("repair of a pool", game=asked.game, version=version, by=caller.subject, why=asked.why)
            metrics.OPERATIONS.labels("repair_pool").inc()
        return o.encode_RepairPoolResponse(o.RepairPoolResponse(version, to_version))

    # --- this process

    async def drain(self, request: bytes, caller: Caller, context: Context) -> bytes:
        asked = self._admit(o.decode_DrainRequest, request, caller)
        try:
            operate.check_order("drain", asked.why)
        except Refusal as refusal:
            raise refused(refusal) from None
        drained = o.Drained(self._me.instance, self._me.address, caller.subject, clock.now_ms(), asked.why)
        try:
            topic = await self._log.compacted(topics.OPERATIONS, 1)
            await topic.put(0, f"drain/{self._me.instance}", o.encode_Drained(drained))
        except LogError as error:
            raise log_failed(error) from error
        _log.warning("drain", by=caller.subject, why=asked.why)
        metrics.OPERATIONS.labels("drain").inc()
        self._stop()
        return o.encode_DrainResponse(o.DrainResponse(self._me.instance, self._me.address))

    # --- shared

    def _admit(self, decode: Callable[[bytes], Any], request: bytes, caller: Caller) -> Any:
        """The request's Struct. Raises Failure."""
        if self._closing:
            raise shutting_down()
        caller.require("operate")
        return parse(decode, request)

    async def _find(self, asked: Any) -> tuple[GameHost, Partition, HostedGame]:
        """The game with its place, everything in the log folded. Raises Failure."""
        host = self._hosts.get(asked.game)
        if host is None:
            served = ", ".join(sorted(self._hosts))
            raise Failure("INVALID_GAME", f"This hall serves {served}, not {asked.game!r}.", field="game")
        if not asked.game_id:
            raise required("game_id", "The game's id is missing.")
        partition = host.partition(asked.game_id)
        try:
            await partition.writer.confirm()
        except LogError as error:
            raise partition.failed(error) from error
        hosted = await partition.find(asked.game_id)
        if hosted is None or not hosted.exists:
            raise not_found()
        return host, partition, hosted

    async def _operate(
        self,
        what: str,
        asked: Any,
        caller: Caller,
        hosted: HostedGame,
        act: Callable[[Game, Order], Decided],
        *,
        repair: bool = False,
    ) -> int:
        """Carry the order out, or only check it; the version. Raises Failure."""
        payload = operate.payload(what, asked.why, getattr(asked, "to_version", None) or 0)

        def attempt(game: Game | None) -> Decided | int:
            if game is None:
                raise quarantined()
            operate.check_order(asked.command_id, asked.why)
            known = game.accepted_version(caller.subject, asked.command_id, payload)
            if known is not None:
                return known
            order = Order(caller.subject, asked.command_id, asked.why, max(clock.now_ms(), game.at_ms))
            if asked.validate_only:
                copy = restore(game.rules, game.snapshot())
                copy.lost = game.lost
                act(copy, order)
                return game.version
            return act(game, order)

        version = await hosted.act(attempt, repair=repair)
        if not asked.validate_only:
            _log.warning(
                what, game=asked.game, game_id=asked.game_id, version=version, by=caller.subject, why=asked.why
            )
            metrics.OPERATIONS.labels(what).inc()
        return version


async def _whole(host: GameHost, partition: Partition, hosted: HostedGame, version: int | None = None) -> Game | None:
    """The game at that version; without one, of a quarantined game the newest that can be folded, of another None.

    A quarantined game is read again from its records, so that it can be acted on. Raises Failure.
    """
    number, game_id, offsets = partition.number, hosted.game_id, hosted.offsets[:]
    try:
        newest = len(offsets)
        if hosted.quarantined:
            read, newest = await host.history.reread(number, game_id, offsets)
            hosted.mend(read)
            version = newest if version is None else version
        if version is None:
            return None
        if not 1 <= version <= newest:
            told = f"It can be put back to the versions 1 to {newest}, not {version}."
            raise Failure("VERSION_OUT_OF_RANGE", told, {"version": str(newest)}, "to_version")
        return await host.history.at(number, game_id, offsets, version)
    except (LogUnreadable, Unfoldable) as error:
        told = "What the log holds of this game is not enough to go on from."
        raise Failure("GAME_BEYOND_REPAIR", told, {"why": str(error)}) from error
    except LogError as error:
        raise log_failed(error) from error


async def _restored_to(host: GameHost, partition: Partition, hosted: HostedGame, version: int) -> int | None:
    """To which version the record of that version put the game back; None where it cannot be read now."""
    try:
        [(body, _)] = await host.history.records(
            partition.number, hosted.game_id, hosted.offsets[version - 1 : version]
        )
    except LogError:
        return None
    event = host.rules.wire.decode_event(decode_Record(body).events[0])
    return event.to_version if type(event) is Restored else None


# --- how things stand


def game_status(partition: Partition, hosted: HostedGame) -> o.GameStatus:
    """A game as an operator sees it; whom it waits for is not told while a command is in flight, whose version is
    not acknowledged.
    """
    game = hosted.game if hosted.settled else None
    state, why = _state(hosted)
    if game is not None and state is o.GameState.PAUSED:
        why = game.paused
    if game is not None and game.ended is not None and game.ended.reason == EndReason.ABORTED:
        why = f"aborted: {game.ended.why}"
    known = game is not None and state is not o.GameState.QUARANTINED
    return o.GameStatus(
        game=partition.rules.game,
        game_id=hosted.game_id,
        partition=partition.number,
        state=state,
        why=why,
        version=len(hosted.offsets),
        offset=max(hosted.offsets[-1], ~hosted.offsets[-1]) if hosted.offsets else -1,
        at_ms=game.at_ms if game is not None and known else 0,
        waiting_for=tuple(map(as_decision, game.waiting())) if game is not None and known else (),
    )


def _state(hosted: HostedGame) -> tuple[o.GameState, str]:
    if hosted.quarantined:
        return o.GameState.QUARANTINED, hosted.quarantined
    if hosted.stuck:
        return o.GameState.STUCK, hosted.stuck
    if hosted.standing is Standing.PAUSED:
        return o.GameState.PAUSED, ""
    return (o.GameState.OVER if hosted.standing is Standing.OVER else o.GameState.LIVE), ""


def _served(game: str, partition: Partition) -> o.PartitionOwner:
    writer = partition.writer
    owner = writer.owner
    assert owner is not None, "whoever serves has claimed"
    hosted = list(partition.hosted.values())
    return o.PartitionOwner(
        game=game,
        partition=partition.number,
        claim=writer.position.newest_claim,
        instance=owner.instance,
        address=owner.address,
        here=True,
        next_offset=writer.position.next_offset,
        games=len(hosted),
        quarantined=sum(1 for each in hosted if each.quarantined),
        stuck=sum(1 for each in hosted if each.stuck),
        paused=sum(1 for each in hosted if each.standing is Standing.PAUSED),
    )


def _unserved(game: str, number: int, partition: Partition | None) -> o.PartitionOwner:
    """`partition`, if it is folded here."""
    owner = partition.writer.owner if partition is not None else None
    return o.PartitionOwner(
        game=game,
        partition=number,
        claim=partition.writer.position.newest_claim if partition is not None else NO_CLAIM,
        instance=owner.instance if owner else "",
        address=owner.address if owner else "",
    )


def measure(host: GameHost) -> None:
    """Let the metrics of troubled games count this host's."""

    def hosted() -> Iterator[HostedGame]:
        return (each for partition in host.partitions for each in partition.hosted.values())

    game = host.rules.game
    metrics.QUARANTINED.labels(game).set_function(lambda: sum(1 for each in hosted() if each.quarantined))
    metrics.STUCK.labels(game).set_function(lambda: sum(1 for each in hosted() if each.stuck))
    metrics.PAUSED.labels(game).set_function(lambda: sum(1 for each in hosted() if each.standing is Standing.PAUSED))
