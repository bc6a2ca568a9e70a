"""Requests that another instance has to answer (design section 3): passed on once, to the owner of the newest claim.

What is passed on carries the caller's own token, which the owner checks by itself, and a mark, so that it is never
passed on again. Whoever asks while a place changes hands waits for the new owner; a stream ends when that happens.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, Protocol

import grpc
from google.rpc import error_details_pb2, status_pb2

from guildhall.rpc.deadlines import Context, patience
from guildhall.rpc.errors import DETAILS_KEY, Failure, status_info
from guildhall.telemetry import metrics

FORWARDED = "guildhall-forwarded"
"""Metadata of a request that was passed on."""

LONGEST_WAIT_FOR_OWNER = 10.0
"""Seconds that a request waits for somebody to own the place; an owner that died is replaced by then."""

MAX_WAITING = 1_000
"""Requests that wait at once until somebody owns their place."""

_AGAIN_SECONDS = 0.02
_DENIED_AGAIN_SECONDS = 0.1

_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    # An owner that is back is to be found at once.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Retries are the caller's: it alone knows for how long.
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
]


class Peer(Protocol):
    """Another instance: the offset of its claim, and where to reach it."""

    @property
    def claim(self) -> int: ...
    @property
    def address(self) -> str: ...


class Directory(Protocol):
    """Who owns which place, as far as this instance knows."""

    def here(self, place: str) -> bool:
        """Whether this instance serves the place."""
        ...

    def newest(self, place: str) -> Peer | None:
        """Who made the newest claim of the place; None if nobody did, or this instance itself."""
        ...

    def addresses(self) -> set[str]:
        """Of all owners."""
        ...

    async def news(self) -> None:
        """Returns when any of this has changed."""
        ...

    def on_newer(self, place: str, claim: int, call: Callable[[], None]) -> Callable[[], None]:
        """Calls `call` once a newer claim of the place is known; returns how to end that."""
        ...


class Elsewhere(Failure):
    """This instance does not serve `place`. Nothing was done; `peer` is who does, as far as is known."""

    def __init__(self, place: str, peer: Peer | None) -> None:
        told = not_owner(peer)
        super().__init__(told.reason, told.message, told.metadata)
        self.place = place
        self.peer = peer

    def plain(self) -> Failure:
        """The same for a caller that cannot be passed on: it is in the middle of something."""
        return not_owner(self.peer)


def not_owner(peer: Peer | None) -> Failure:
    """What a non-owner answers, with what it knows; but not the claim, which would tell how much others play."""
    metadata = {"owner": peer.address} if peer is not None else {}
    return Failure("NOT_OWNER", "Another hall serves this game now; send the same again there.", metadata)


def unreachable(peer: Peer) -> Failure:
    """The owner did not answer, so what became of the request is not known."""
    return Failure(
        "OWNER_UNREACHABLE",
        "The hall that serves this game does not answer; send the same again.",
        {"owner": peer.address},
    )


def is_forwarded(context: Context) -> bool:
    """Whether another instance has passed this request on."""
    return any(key == FORWARDED for key, _ in context.invocation_metadata() or ())


class Requests:
    """A stream's messages; the last one can be put back, unless it is larger than a request may be: nobody would take
    it, and it would stay for as long as the stream.
    """

    def __init__(self, incoming: AsyncIterator[bytes], largest: int) -> None:
        self._incoming = aiter(incoming)
        self._largest = largest
        self._last = b""
        self._again = False

    def put_back(self) -> None:
        """The message that was read last comes again."""
        self._again = True

    def __aiter__(self) -> "Requests":
        return self

    async def __anext__(self) -> bytes:
        if self._again:
            self._again = False
            return self._last
        message = await anext(self._incoming)
        self._last = message if len(message) <= self._largest else b""
        return message


class _Call:
    """A call that is passed on, and why it was ended from here."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.why: Failure | None = None

    def end(self, why: Failure) -> None:
        if self.why is None:
            self.why = why
            self.call.cancel()

    def failure(self, peer: Peer, error: BaseException) -> BaseException:
        """What the error means for the caller."""
        if isinstance(error, grpc.aio.AioRpcError):
            return self.why or _told(error) or unreachable(peer)
        task = asyncio.current_task()
        if self.why is not None and (task is None or not task.cancelling()):
            return self.why
        return error


class Forwarder:
    """Passes requests on."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._calls: set[_Call] = set()
        self._waiting = 0
        self._closed: Failure | None = None

    def end(self, why: Failure) -> None:
        """Pass nothing more on, and end what is under way."""
        self._closed = why
        for call in list(self._calls):
            call.end(why)

    async def close(self) -> None:
        """End the connections."""
        for channel in self._channels.values():
            await channel.close()
        self._channels.clear()

    async def unary(
        self, method: str, request: bytes, context: Context, elsewhere: Elsewhere, here: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        """The owner's answer to a request; `here()` answers it if the place comes to be served here.

        Raises Failure: the owner's, NOT_OWNER, OWNER_UNREACHABLE.
        """
        with self._route(method, elsewhere, context) as route:
            while True:
                peer = await self._next(route)
                try:
                    if peer is None:
                        return await here()
                    return await self._ask(peer, route.place, method, request, context)
                except Failure as failure:
                    route.failed(failure)
                    if peer is None:
                        await asyncio.sleep(_AGAIN_SECONDS)

    async def responses(
        self,
        method: str,
        request: bytes,
        context: Context,
        elsewhere: Elsewhere,
        here: Callable[[], AsyncGenerator[bytes, None]],
    ) -> AsyncGenerator[bytes, None]:
        """The owner's stream of responses; before its first one as `unary`. Ends as soon as another owner is known."""
        with self._route(method, elsewhere, context) as route:
            begun = False
            while True:
                peer = await self._next(route)
                source = here() if peer is None else self._stream(peer, route.place, method, request, context)
                try:
                    async with aclosing(source):
                        async for response in source:
                            begun = True
                            yield response
                    return
                except Failure as failure:
                    if begun:
                        raise
                    route.failed(failure)
                    if peer is None:
                        await asyncio.sleep(_AGAIN_SECONDS)

    async def conversation(
        self,
        method: str,
        requests: Requests,
        context: Context,
        elsewhere: Elsewhere,
        here: Callable[[], AsyncGenerator[bytes, None]],
    ) -> AsyncGenerator[bytes, None]:
        """The owner's side of a stream in both directions, from the request that was read last on."""
        with self._route(method, elsewhere, context) as route:
            peer = await self._next(route)
            requests.put_back()
            source = here() if peer is None else self._stream(peer, route.place, method, requests, context)
            async with aclosing(source):
                async for response in source:
                    yield response

    # --- finding the owner

    async def _next(self, route: "_Route") -> Peer | None:
        """The owner of the place that was not tried yet, once there is one; None when it is served here.

        Raises Failure why the last one failed, when the time is up.
        """
        while True:
            if self._closed is not None:
                raise self._closed
            if self._directory.here(route.place):
                return None
            peer = self._directory.newest(route.place)
            if peer is not None and peer.claim > route.tried:
                route.tried = peer.claim
                return peer
            await self._wait(route)

    async def _wait(self, route: "_Route") -> None:
        """Returns when there is news, or the owner can be asked again. Raises Failure why the last owner failed,
        HALL_BUSY if none was asked yet.
        """
        if self._waiting >= MAX_WAITING:
            if route.tried >= 0:
                raise route.why
            raise Failure("HALL_BUSY", "Too many requests wait for somebody to serve their game; nothing was done.")
        self._waiting += 1
        try:
            async with asyncio.timeout(route.pause()):
                await self._directory.news()
        except TimeoutError:
            if not route.may_ask_again():
                raise route.why from None
        finally:
            self._waiting -= 1

    @contextmanager
    def _route(self, method: str, elsewhere: Elsewhere, context: Context) -> "Iterator[_Route]":
        try:
            yield _Route(elsewhere, context)
        except Failure as failure:
            metrics.FORWARDED.labels(method, failure.reason).inc()
            raise
        else:
            metrics.FORWARDED.labels(method, "OK").inc()

    # --- asking it

    async def _ask(self, peer: Peer, place: str, method: str, request: bytes, context: Context) -> bytes:
        stub: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
        stub = self._channel(peer.address).unary_unary(f"/{method}")
        with self._live(peer, place, stub(request, metadata=_metadata(context), timeout=patience(context))) as live:
            try:
                answer: bytes = await live.call
                return answer
            except (grpc.aio.AioRpcError, asyncio.CancelledError) as error:
                raise live.failure(peer, error) from None

    async def _stream(
        self, peer: Peer, place: str, method: str, request: bytes | Requests, context: Context
    ) -> AsyncGenerator[bytes, None]:
        channel: Any = self._channel(peer.address)
        options: Any = {"metadata": _metadata(context), "timeout": context.time_remaining()}
        both = isinstance(request, Requests)
        stub = channel.stream_stream(f"/{method}") if both else channel.unary_stream(f"/{method}")
        call = stub(request, **options)
        with self._live(peer, place, call) as live:
            try:
                async for response in call:
                    yield response
            except (grpc.aio.AioRpcError, asyncio.CancelledError) as error:
                raise live.failure(peer, error) from None

    @contextmanager
    def _live(self, peer: Peer, place: str, call: Any) -> "Iterator[_Call]":
        live = _Call(call)
        self._calls.add(live)
        over = self._directory.on_newer(place, peer.claim, lambda: live.end(not_owner(self._directory.newest(place))))
        try:
            yield live
        finally:
            over()
            self._calls.discard(live)
            call.cancel()

    def _channel(self, address: str) -> grpc.aio.Channel:
        channel = self._channels.get(address)
        if channel is None:
            for gone in set(self._channels) - self._directory.addresses():
                closing = asyncio.get_running_loop().create_task(self._channels.pop(gone).close())
                closing.add_done_callback(lambda task: task.exception())
            channel = self._channels[address] = grpc.aio.insecure_channel(address, options=_OPTIONS)
        return channel


class _Route:
    """A request's way to an owner: which claims were tried, until when, and why the last one failed."""

    def __init__(self, elsewhere: Elsewhere, context: Context) -> None:
        self.place = elsewhere.place
        self.tried = -1
        self.until = time.monotonic() + min(patience(context), LONGEST_WAIT_FOR_OWNER)
        self.why: Failure = elsewhere

    def pause(self) -> float:
        """Seconds to wait for news. An owner that said that it is none may not have heard yet that it is."""
        left = self.until - time.monotonic()
        return min(left, _DENIED_AGAIN_SECONDS) if self._denied() else left

    def may_ask_again(self) -> bool:
        """Whether the same owner is asked once more."""
        again = self._denied() and time.monotonic() < self.until
        if again:
            self.tried = -1
        return again

    def _denied(self) -> bool:
        return self.tried >= 0 and self.why.reason == "NOT_OWNER"

    def failed(self, why: Failure) -> None:
        """Raises what is an answer; the rest says that somebody else is to be asked."""
        if why.reason not in _MOVED:
            raise why
        self.why = why


_MOVED = {"NOT_OWNER", "OWNER_UNREACHABLE", "SHUTTING_DOWN"}


def _metadata(context: Context) -> tuple[tuple[str, str], ...]:
    token = next((value for key, value in context.invocation_metadata() or () if key == "authorization"), "")
    return (("authorization", str(token)), (FORWARDED, "1"))


def _told(error: grpc.aio.AioRpcError) -> Failure | None:
    """The owner's failure, as it told it; None where the call failed on the way."""
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY:
            answer = status_pb2.Status.FromString(value if isinstance(value, bytes) else value.encode())
            info = status_info(answer)
            if info is not None:
                return Failure(info.reason, answer.message, info.metadata, _field(answer))
    return None


def _field(answer: status_pb2.Status) -> str | None:
    request = error_details_pb2.BadRequest()
    for detail in answer.details:
        if detail.Unpack(request) and request.field_violations:
            field: str = request.field_violations[0].field
            return field
    return None
