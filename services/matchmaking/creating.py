"""From a match to its game: asks the rules service for it, as often as it takes.

The game's id and command id follow from the offer's, so whoever asks, and however often, there is one game.
"""

import asyncio
import random
from functools import partial
from typing import Any

import grpc

from guildhall.host.owners import Owners
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import Owner
from guildhall.log.port import partition_of
from guildhall.matchmaking.v1.structs import GameTerms
from guildhall.rpc.errors import Failure, error_info
from guildhall.rpc.forwarding import Elsewhere
from guildhall.telemetry import logs, metrics
from services.matchmaking.accepted import payload_hash
from services.matchmaking.commands import CreationRefused, GameMade
from services.matchmaking.hall_token import HallToken
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.house import MATCHMAKER
from services.matchmaking.judging import Asked
from services.matchmaking.pool import Offer

AT_ONCE = 32
"""Games of one pool that are asked for at the same time; those whose next try is later do not count."""

CALL_SECONDS = 10.0
FIRST_PAUSE = 0.05
LAST_PAUSE = 2.0

MOST_FAULTS = 5
"""So often the rules may fail, each time with nothing done, before the game is given up. Nothing else that may have
made the game counts.
"""

_REFUSED = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.OUT_OF_RANGE,
}

_log = logs.get("matchmaking")


class Creator:
    """Creates the games of whatever pools are served here."""

    def __init__(self, owners: Owners, token: HallToken) -> None:
        self._owners = owners
        self._token = token
        self._channels: dict[str, grpc.aio.Channel] = {}

    async def close(self) -> None:
        """End the connections."""
        for channel in self._channels.values():
            await channel.close()

    async def attend(self, hosted: HostedPool) -> None:
        """Create every game that the pool waits for, until cancelled."""
        asked: set[str] = set()
        some = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            while True:
                news = hosted.news
                for offer, terms in await hosted.at_rest(lambda: _to_make(hosted)):
                    if offer.offer_id not in asked:
                        asked.add(offer.offer_id)
                        task = group.create_task(self._make(hosted, offer, terms, some))
                        task.add_done_callback(partial(_forget, asked, offer.offer_id))
                await news.wait()

    async def _make(self, hosted: HostedPool, offer: Offer, terms: GameTerms, some: asyncio.Semaphore) -> None:
        refused = await self._create(hosted.house.rules, offer, terms, some)
        command = GameMade(offer.offer_id) if refused is None else CreationRefused(offer.offer_id, refused)
        metrics.GAMES_MADE.labels(hosted.game, refused or "made").inc()
        await tell(hosted, f"game:{offer.offer_id}", command)

    async def _create(self, rules: Rules, offer: Offer, terms: GameTerms, some: asyncio.Semaphore) -> str | None:
        """Returns when the game is in its log; otherwise the reason why it never will be."""
        wire = rules.wire
        request = wire.encode_CreateGameRequest(
            wire.CreateGameRequest(
                command_id=offer.offer_id,
                subjects=offer.subjects,
                options=terms.options,
                rulings=terms.rulings,
                clock=terms.clock,
                no_spectators=terms.no_spectators,
            )
        )
        with Doubt(rules.game) as doubt:
            return await self._created(rules, offer, request, some, doubt)

    async def _created(
        self, rules: Rules, offer: Offer, request: bytes, some: asyncio.Semaphore, doubt: "Doubt"
    ) -> str | None:
        """As `_create`."""
        pause, faults = FIRST_PAUSE, 0
        while True:
            address = self._address(rules.game, offer.game_id)
            if address is not None:
                try:
                    async with some:
                        created = await self._ask(address, rules.game, request)
                    answer = rules.wire.decode_CreateGameResponse(created)
                except grpc.aio.AioRpcError as error:
                    info = error_info(error)
                    reason = info.reason if info is not None else error.code().name
                    if error.code() is grpc.StatusCode.ALREADY_EXISTS:
                        # Nothing but this offer has this command id, so its game was made, of a request that differed.
                        return None
                    if error.code() in _REFUSED:
                        _log.warning("a game was refused", game=rules.game, offer=offer.offer_id, why=reason)
                        return reason
                    doubt.begin()
                    faults += reason == "RULES_FAILED"
                    if faults >= MOST_FAULTS:
                        return reason
                    if error.code() is not grpc.StatusCode.UNAVAILABLE:
                        _log.error("a game cannot be created now", game=rules.game, offer=offer.offer_id, why=reason)
                else:
                    if answer.game_id != offer.game_id:
                        raise AssertionError(f"{offer.offer_id} became {answer.game_id}, not {offer.game_id}")
                    return None
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, LAST_PAUSE)

    async def _ask(self, address: str, game: str, request: bytes) -> bytes:
        channel = self._channels.get(address)
        if channel is None:
            gone = [self._channels.pop(name) for name in set(self._channels) - self._owners.addresses()]
            channel = self._channels[address] = grpc.aio.insecure_channel(address, options=_OPTIONS)
            await asyncio.gather(*(old.close() for old in gone))
        create: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
        create = channel.unary_unary(f"/guildhall.{game}.v1.RulesService/CreateGame")
        answer: bytes = await create(request, metadata=self._token.metadata(), timeout=CALL_SECONDS)
        return answer

    def _address(self, game: str, game_id: str) -> str | None:
        """Of the game's owner, or of whoever can pass it on; None where nobody is known to serve the game."""
        owners: list[Owner] = self._owners.of(game)
        if not owners:
            return None
        number = partition_of(game_id, max(owner.partition for owner in owners) + 1)
        best = [owner for owner in owners if owner.partition == number]
        # Now and then another one: the owner that is known may be gone.
        return random.choice(best if best and random.random() < 0.75 else owners).address


class Doubt:
    """Whether a game was asked for without an answer: counted until one comes, or the asking ends."""

    def __init__(self, game: str) -> None:
        self._count = metrics.CREATIONS_IN_DOUBT.labels(game)
        self._in_doubt = False

    def begin(self) -> None:
        """It may have been made, or not."""
        if not self._in_doubt:
            self._in_doubt = True
            self._count.inc()

    def __enter__(self) -> "Doubt":
        return self

    def __exit__(self, *_: object) -> None:
        if self._in_doubt:
            self._count.dec()


_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.enable_retries", 0),
]


def _forget(asked: set[str], offer_id: str, task: asyncio.Task[None]) -> None:
    asked.discard(offer_id)


def _to_make(hosted: HostedPool) -> list[tuple[Offer, GameTerms]]:
    pool = hosted.pool
    offers = [pool.offers[offer_id] for offer_id in pool.starting.values()]
    return [(offer, pool.terms[offer.terms_id]) for offer in offers]


async def tell(hosted: HostedPool, command_id: str, command: Any) -> bool:
    """Have a command of the hall's own accepted. Whether it was: not where another instance serves the pool by now, or
    the command is refused.
    """
    payload = payload_hash(type(command).__name__, repr(command).encode())
    pause = FIRST_PAUSE
    while True:
        try:
            await hosted.act(Asked(MATCHMAKER, command_id, payload, command))
        except Elsewhere:
            return False
        except Failure as failure:
            if failure.code is not grpc.StatusCode.UNAVAILABLE and failure.reason not in ("GAME_BUSY", "LOG_BUSY"):
                _log.warning(
                    "a command of the hall was refused", game=hosted.game, command=command_id, why=logs.said(failure)
                )
                return False
        else:
            return True
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(2 * pause, LAST_PAUSE)
