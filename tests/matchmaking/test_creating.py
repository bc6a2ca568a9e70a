"""From an accepted offer to its game, at a rules service that answers as it is told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from guildhall.host.owners import Owners
from guildhall.log.memory import MemoryBroker
from guildhall.log.port import Claim
from guildhall.matchmaking.v1.structs import GameTerms
from guildhall.rpc.errors import Failure, abort
from guildhall.telemetry import metrics
from services.matchmaking import creating
from services.matchmaking.creating import AT_ONCE, Creator
from services.matchmaking.hall_token import HallToken
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.pool import Offer
from tests.matchmaking.hall import GAME, HOUSE
from tests.matchmaking.test_service_owners import owner

WIRE = HOUSE.rules.wire
Answer = Callable[[str, int], Failure | None]
"""What becomes of a command, by its id and how often it has come before; None: the game is made."""


@asynccontextmanager
async def creator(answer: Answer) -> AsyncIterator[Creator]:
    """It asks a service that answers so."""
    tries: dict[str, int] = {}

    async def create_game(request: bytes, context: Any) -> bytes:
        offer_id = WIRE.decode_CreateGameRequest(request).command_id
        tries[offer_id] = tries.get(offer_id, -1) + 1
        failure = answer(offer_id, tries[offer_id])
        if failure is not None:
            await abort(context, failure)
        encoded: bytes = WIRE.encode_CreateGameResponse(WIRE.CreateGameResponse(game_id=f"game of {offer_id}"))
        return encoded

    method = grpc.unary_unary_rpc_method_handler(create_game)
    service = grpc.method_handlers_generic_handler(f"guildhall.{GAME}.v1.RulesService", {"CreateGame": method})
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((service,))
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    owners = Owners(await MemoryBroker().log().compacted("owners", 1), Claim("me", "me:1"))
    owners.learn(GAME, 0, 1, Claim("rules", address))
    made = Creator(owners, HallToken(Ed25519PrivateKey.generate()))
    try:
        yield made
    finally:
        await made.close()
        await server.stop(None)


def accept(hosted: HostedPool, *offer_ids: str) -> None:
    """The pool has accepted these offers, and waits for their games."""
    hosted.pool.terms.put("terms", GameTerms())
    for name in offer_ids:
        subjects = (f"one of {name}", f"two of {name}")
        offer = Offer(
            name, (), "", subjects, "terms", 1, b"", unrated=True, confirmed=subjects, game_id=f"game of {name}"
        )
        hosted.pool.offers.put(name, offer)
    hosted.pool.settle()


async def attended(hosted: HostedPool, answer: Answer, over: Callable[[], bool]) -> None:
    """Games are created until that holds."""
    async with creator(answer) as made:
        attending = asyncio.create_task(made.attend(hosted))
        async with asyncio.timeout(30.0):
            while not over():
                await hosted.news.wait()
        attending.cancel()
        await asyncio.gather(attending, return_exceptions=True)


async def test_games_that_cannot_be_made_now_keep_no_other_back() -> None:
    partition = await owner(MemoryBroker(), "first")
    hosted = partition.pools[GAME]
    accept(hosted, *(f"dead {number}" for number in range(AT_ONCE + 8)), "live")
    busy = Failure("LOG_UNAVAILABLE", "Not now.")
    await attended(hosted, lambda name, _: None if name == "live" else busy, lambda: "live" not in hosted.pool.offers)
    assert list(hosted.pool.games) == ["game of live"]
    await partition.finish(1.0)


async def test_a_game_without_an_answer_counts_as_in_doubt_until_one_comes() -> None:
    partition = await owner(MemoryBroker(), "first")
    hosted = partition.pools[GAME]
    accept(hosted, "offer")
    doubt: list[float] = []

    def answer(_: str, before: int) -> Failure | None:
        doubt.append(metrics.CREATIONS_IN_DOUBT.labels(GAME)._value.get())
        return Failure("OUTCOME_UNKNOWN", "Not known.") if before == 0 else None

    await attended(hosted, answer, lambda: "offer" not in hosted.pool.offers)
    assert doubt == [0.0, 1.0]
    assert metrics.CREATIONS_IN_DOUBT.labels(GAME)._value.get() == 0.0
    await partition.finish(1.0)


@pytest.mark.parametrize(
    ("answers", "made"),
    [
        (["COMMAND_ID_REUSED"], True),
        (["INTERNAL"] * (creating.MOST_FAULTS + 1), True),
        (["OUTCOME_UNKNOWN"] * (creating.MOST_FAULTS + 1), True),
        (["RULES_FAILED"] * creating.MOST_FAULTS, False),
        (["UNKNOWN_OPTION"], False),
    ],
)
async def test_only_a_final_refusal_gives_a_game_up(
    answers: list[str], made: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody knows what came of a try there is another one; an id that is known has its game."""
    monkeypatch.setattr(creating, "LAST_PAUSE", 0.01)
    monkeypatch.setattr(creating, "FIRST_PAUSE", 0.01)
    partition = await owner(MemoryBroker(), "first")
    hosted = partition.pools[GAME]
    accept(hosted, "offer")

    def answer(_: str, before: int) -> Failure | None:
        return Failure(answers[before], "As told.") if before < len(answers) else None

    await attended(hosted, answer, lambda: "offer" not in hosted.pool.offers)
    assert list(hosted.pool.games) == (["game of offer"] if made else [])
    await partition.finish(1.0)
