"""What the client of the command line makes of a connection that goes away."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from guildhall.cli.client import HallError
from guildhall.cli.matchmaker import Matchmaker
from guildhall.matchmaking.v1 import structs as wire
from guildhall.rpc.errors import Failure, abort

SERVICE = "guildhall.matchmaking.v1.MatchmakingService"


@asynccontextmanager
async def answering(seen: list[bytes], times: int, failure: Failure | None) -> AsyncIterator[Matchmaker]:
    """A client of a service whose first `times` answers are a bare CANCELLED, or that failure."""

    async def create_ticket(request: bytes, context: Any) -> bytes:
        seen.append(request)
        if len(seen) <= times:
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
