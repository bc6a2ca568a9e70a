"""A gRPC server whose services come from descriptors: identity, limits and typed errors around every method."""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection

from guildhall.rpc import deadlines
from guildhall.rpc.errors import Failure, abort, internal, kept
from guildhall.rpc.forwarding import Elsewhere, Forwarder, Requests, is_forwarded
from guildhall.rpc.identity import Authenticator, Caller
from guildhall.rpc.limits import Meter
from guildhall.rpc.stalls import Stalls
from guildhall.telemetry import logs, metrics

Context: TypeAlias = deadlines.Context

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
"""Larger messages are refused by gRPC itself, before anything of ours reads them."""

RETRY_POLICY = {
    "maxAttempts": 5,
    "initialBackoff": "0.05s",
    "maxBackoff": "2s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"],
}
"""Safe for every method: a write is known by its command_id."""

_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", 4 * MAX_MESSAGE_BYTES),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.max_ping_strikes", 5),
]

_log = logs.get("rpc")


class PortTaken(OSError):
    """Another program listens there already, or the address is not this machine's."""


@dataclass(frozen=True)
class Gate:
    """What every request passes before a method sees it."""

    authenticator: Authenticator
    meter: Meter
    calls_bounded: bool = False
    """Whether one subject may have only so many unary calls in flight (`Limits.calls`)."""

    async def admit(self, context: Context) -> Caller:
        """The caller. Raises Failure."""
        caller = await self.authenticator.caller(context.invocation_metadata())
        self.meter.take(caller.subject)
        return caller

    def calling(self, caller: Caller) -> AbstractContextManager[None]:
        """Around a unary call. Raises Failure RATE_LIMITED."""
        # A bot of the hall may play any number of games.
        return self.meter.call(caller.subject) if self.calls_bounded and not caller.own else nullcontext()


def service_config(services: Sequence[ServiceDescriptor]) -> str:
    """The gRPC service config (JSON) that clients should use: retries of what is safe to retry."""
    names = [{"service": service.full_name} for service in services]
    return json.dumps({"methodConfig": [{"name": names, "retryPolicy": RETRY_POLICY}]})


def handlers(
    service: ServiceDescriptor, servicer: object, gate: Gate, forwarder: Forwarder | None = None
) -> grpc.GenericRpcHandler:
    """The service's methods, each answered by the servicer's method of the same name in snake_case.

    Requests and responses are bytes. Unary: `async (request, caller, context) -> bytes`; a stream of responses:
    `(request, caller, context) -> async generator`, where both stream `request` is an async iterator too. What ends
    with `Elsewhere` is asked of the owner by the forwarder; a stream of responses only before its first one.
    """
    table: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
    for method in service.methods:
        behaviour = getattr(servicer, re.sub(r"(?<!^)(?=[A-Z])", "_", method.name).lower())
        name = f"{service.full_name}/{method.name}"
        metrics.begin_method(name)
        if method.client_streaming:
            answer = _conversation(behaviour, name, forwarder)
            table[method.name] = grpc.stream_stream_rpc_method_handler(_stream(answer, name, gate, both=True))
        elif method.server_streaming:
            answer = _responses(behaviour, name, forwarder)
            table[method.name] = grpc.unary_stream_rpc_method_handler(_stream(answer, name, gate, both=False))
        else:
            table[method.name] = grpc.unary_unary_rpc_method_handler(_unary(behaviour, name, gate, forwarder))
    return grpc.method_handlers_generic_handler(service.full_name, table)


Unary: TypeAlias = Callable[[bytes, Caller, Context], Awaitable[bytes]]
Stream: TypeAlias = Callable[[Any, Caller, Context], AsyncGenerator[bytes, None]]


def _unary(
    behaviour: Unary, name: str, gate: Gate, forwarder: Forwarder | None
) -> Callable[[bytes, Context], Awaitable[bytes]]:
    answered = metrics.REQUESTS.labels(name, "OK")
    seconds = metrics.REQUEST_SECONDS.labels(name)

    async def answer(request: bytes, caller: Caller, context: Context) -> bytes:
        try:
            return await behaviour(request, caller, context)
        except Elsewhere as elsewhere:
            if forwarder is None or is_forwarded(context):
                raise
            away = elsewhere
        return await forwarder.unary(name, request, context, away, lambda: behaviour(request, caller, context))

    async def call(request: bytes, context: Context) -> bytes:
        began = time.perf_counter()
        try:
            caller = await gate.admit(context)
            gate.meter.check_size(request)
            with gate.calling(caller):
                response = await _in_time(answer(request, caller, context), context)
        except Exception as error:
            failure = _failure(name, error)
        else:
            answered.inc()
            seconds.observe(time.perf_counter() - began)
            return response
        await abort(context, failure)

    return call


async def _in_time(answer: Awaitable[bytes], context: Context) -> bytes:
    """The answer. Raises Failure OUTCOME_UNKNOWN before the caller's own deadline."""
    timeout = asyncio.timeout(deadlines.limit(context))
    try:
        async with timeout:
            return await answer
    except TimeoutError:
        if not timeout.expired():
            raise
        raise Failure("OUTCOME_UNKNOWN", "The outcome is not known; send the same again.") from None


def _conversation(behaviour: Stream, name: str, forwarder: Forwarder | None) -> Stream:
    """A stream in both directions, of which the owner gets the request that was read last, and all that follow."""

    async def answer(requests: Any, caller: Caller, context: Context) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(behaviour(requests, caller, context)) as responses:
                async for response in responses:
                    yield response
            return
        except Elsewhere as elsewhere:
            if forwarder is None or is_forwarded(context):
                raise
            away = elsewhere
        again = forwarder.conversation(name, requests, context, away, lambda: behaviour(requests, caller, context))
        async with aclosing(again) as responses:
            async for response in responses:
                yield response

    return answer


def _responses(behaviour: Stream, name: str, forwarder: Forwarder | None) -> Stream:
    """A stream of responses to one request, all of them the owner's."""
    if forwarder is None:
        # One generator less for each open stream.
        return behaviour

    async def answer(request: Any, caller: Caller, context: Context) -> AsyncGenerator[bytes, None]:
        begun = False
        try:
            async with aclosing(behaviour(request, caller, context)) as responses:
                async for response in responses:
                    begun = True
                    yield response
            return
        except Elsewhere as elsewhere:
            if begun or is_forwarded(context):
                raise
            away = elsewhere
        again = forwarder.responses(name, request, context, away, lambda: behaviour(request, caller, context))
        async with aclosing(again) as responses:
            async for response in responses:
                yield response

    return answer


def _stream(
    answer: Stream, name: str, gate: Gate, *, both: bool
) -> Callable[[Any, Context], AsyncGenerator[bytes, None]]:
    """`both`: requests are a stream too."""
    streams = metrics.STREAMS.labels(name)
    stalls = Stalls(name)

    async def call(request: Any, context: Context) -> AsyncGenerator[bytes, None]:
        loop = asyncio.get_running_loop()
        try:
            caller = await gate.admit(context)
            if both:
                request = Requests(request, gate.meter.limits.request_bytes)
            else:
                gate.meter.check_size(request)
            # A bot of the hall may play any number of games.
            gate.meter.open_stream(caller.subject, capped=not caller.own)
            streams.inc()
            taking = stalls.begin(caller, context)
            responses = answer(request, caller, context)
            try:
                async for response in responses:
                    taking.since = loop.time()
                    yield response
                    taking.since = 0.0
            finally:
                stalls.end(taking)
                streams.dec()
                gate.meter.close_stream(caller.subject)
                await responses.aclose()
        except Exception as error:
            failure = _failure(name, error)
        else:
            metrics.REQUESTS.labels(name, "OK").inc()
            return
        await abort(context, failure)

    return call


def _failure(name: str, error: Exception) -> Failure:
    if not isinstance(error, Failure):
        _log.error("request failed", method=name, exc_info=error)
        error = internal()
    metrics.REQUESTS.labels(name, error.reason).inc()
    return kept(error)


class Server:
    """A server of services with health and reflection."""

    def __init__(self) -> None:
        self._server = grpc.aio.server(options=_OPTIONS)
        self._health = HealthServicer()
        self._names: list[str] = [health_pb2.DESCRIPTOR.services_by_name["Health"].full_name]
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)

    def add(self, service: ServiceDescriptor, servicer: object, gate: Gate, forwarder: Forwarder | None = None) -> None:
        """Serve one more service; before `start`."""
        self._server.add_generic_rpc_handlers((handlers(service, servicer, gate, forwarder),))
        self._names.append(service.full_name)

    def bind(self, address: str, port: int) -> int:
        """Take the port (0: any free one) and return it; whoever connects waits until `start`. Raises PortTaken."""
        try:
            bound = self._server.add_insecure_port(f"{address}:{port}")
        except RuntimeError as error:
            raise PortTaken(f"cannot listen on {address}:{port}: is another program there?") from error
        if bound == 0:
            raise PortTaken(f"cannot listen on {address}:{port}: is another program there?")
        return bound

    async def start(self, not_ready: Iterable[str] = ()) -> None:
        """Answer on what `bind` took. Health says SERVING, but of what is `not_ready` ("": the whole server)."""
        reflection.enable_server_reflection([*self._names, reflection.SERVICE_NAME], self._server)
        for name in ("", *self._names):
            await self.set_serving(name, name not in not_ready)
        await self._server.start()

    async def set_serving(self, service: str, serving: bool) -> None:
        """What the health of one service says."""
        status = health_pb2.HealthCheckResponse
        await self._health.set(service, status.SERVING if serving else status.NOT_SERVING)

    async def refuse(self) -> None:
        """Health says NOT_SERVING from here on, so that nobody new is sent here."""
        await self._health.enter_graceful_shutdown()

    async def stop(self, grace: float) -> None:
        """Take no new requests; those that are open have `grace` seconds."""
        await self._server.stop(grace)
