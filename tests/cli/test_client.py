"""What the client of the command line makes of a connection that goes away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from guildhall.cli import client
from guildhall.cli.client import HallError, NoHall
from guildhall.cli.matchmaker import Matchmaker
from guildhall.matchmaking.v1 import structs as wire
from guildhall.rpc.errors import Failure, abort

SERVICE = "guildhall.matchmaking.v1.MatchmakingService"


@asynccontextmanager
async def answering(
    seen: list[bytes], times: int, failure: Failure | None, *, lost: bool = False
) -> AsyncIterator[Matchmaker]:
    """A client of a service whose first `times` answers are a bare CANCELLED, or that failure, or never come."""

    async def create_ticket(request: bytes, context: Any) -> bytes:
        seen.append(request)
        if len(seen) <= times:
            if lost:
                await asyncio.Event().wait()
            if failure is not None:
                await abort(context, failure)
            await context.abort(grpc.StatusCode.CANCELLED, "CANCELLED")
        return wire.encode_CreateTicketResponse(wire.CreateTicketResponse("ticket"))

    method = grpc.unary_unary_rpc_method_handler(create_ticket)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"CreateTicket": method}),))
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        async with Matchmaker("tiny", address, "", patience=30.0) as matchmaker:
            yield matchmaker
    finally:
        await server.stop(None)


async def test_what_was_cancelled_on_the_way_is_sent_again_with_the_same_id() -> None:
    seen: list[bytes] = []
    async with answering(seen, 2, None) as matchmaker:
        assert (await matchmaker.ask("CreateTicket", seats=(2,))).ticket_id == "ticket"
    assert len(seen) == 3 and len(set(seen)) == 1


async def test_what_the_hall_refuses_is_not() -> None:
    seen: list[bytes] = []
    async with answering(seen, 2, Failure("OFFERS_MISSED", "Wait.")) as matchmaker:
        with pytest.raises(HallError, match="Wait"):
            await matchmaker.ask("CreateTicket", seats=(2,))
    assert len(seen) == 1


async def test_what_nothing_comes_back_of_is_sent_again_with_the_same_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CALL_SECONDS", 0.3)
    seen: list[bytes] = []
    async with answering(seen, 1, None, lost=True) as matchmaker:
        assert (await matchmaker.ask("CreateTicket", seats=(2,))).ticket_id == "ticket"
    assert len(seen) == 2 and len(set(seen)) == 1


async def test_where_nothing_ever_comes_back_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CALL_SECONDS", 0.1)
    async with answering([], 1_000, None, lost=True) as matchmaker:
        matchmaker._patience = 0.5
        with pytest.raises(NoHall):
            await matchmaker.ask("CreateTicket", seats=(2,))
