"""Sessions: what one subject has in a pool, and its writes, on one stream.

A write is answered as soon as it is in the log, with the state that it made. Between answers the state is told where it
has changed, of changes close together the last.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from guildhall.kernel.wire import varint
from guildhall.matchmaking.v1 import matchmaking_service_pb2
from guildhall.matchmaking.v1.structs import State, encode_State
from guildhall.rpc.conversation import ENDS_STREAM, Conversation
from guildhall.rpc.errors import Failure, status
from guildhall.rpc.identity import Caller
from services.matchmaking import states
from services.matchmaking.hosted_pool import HostedPool
from services.matchmaking.pool import Pool
from services.matchmaking.watching import TOGETHER_SECONDS

MOST_ANSWERS = 16
"""So many may wait to be taken; no further write is carried out before that."""
LONGEST_PAUSE_SECONDS = 1.0
"""Before the next write is read, where one came too soon."""

_STATE = bytes([4 << 3 | 2])
"""The key of `SessionResponse.state` on the wire."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a write: the id of what it made, or why it was refused."""

    command_id: str
    created_id: str = ""
    refused: Failure | None = None


class Session:
    """One subject's session with one pool."""

    def __init__(self, hosted: HostedPool, caller: Caller, conversation: Conversation) -> None:
        self._hosted = hosted
        self._caller = caller
        self._conversation = conversation
        self._answers: deque[Answer] = deque()
        self._taken = asyncio.Event()
        self._state: State | None = None
        """The newest that is not told yet."""
        self._alone = False
        """Whether it is time to tell it without an answer."""
        self._telling: asyncio.Handle | None = None
        """Until then."""
        self._told_at = -TOGETHER_SECONDS
        self._wake = asyncio.Event()
        self._unsubscribe: Callable[[], None] = lambda: None

    def hear(self) -> None:
        """Something of the subject may have changed; the pool is settled."""
        self._state = states.state_of(self._hosted.pool, self._caller.subject)
        if self._telling is None or self._alone:
            # Also where it was about to be told: an answer may belong to what has come now.
            self._alone = False
            self._tell_in_time()

    def _tell_in_time(self) -> None:
        loop = asyncio.get_running_loop()
        pause = self._told_at + TOGETHER_SECONDS - loop.time()
        # The answer to the write that made it is there before what is called soon has woken anybody.
        self._telling = loop.call_later(pause, self._tell_alone) if pause > 0 else loop.call_soon(self._tell_alone)

    def _tell_alone(self) -> None:
        self._alone = True
        self._wake.set()

    def end(self, why: Failure) -> None:
        """End the session as soon as what there is to tell is told."""
        self._conversation.end(why)

    async def messages(
        self, writes: AsyncIterator[bytes], carried_out: Callable[[bytes], Awaitable[Answer]]
    ) -> AsyncGenerator[bytes, None]:
        """Encoded SessionResponses; each of the writes, of the session's conversation, is carried out in its turn.

        Raises Failure: what the conversation and `carried_out` raise, TOKEN_EXPIRED, and one that ends streams.
        """
        reading: asyncio.Task[None] | None = None
        told: State | None = None
        try:
            await self._hosted.read(self._begin)
            self._tell_alone()
            reading = asyncio.create_task(self._read(writes, carried_out))
            reading.add_done_callback(lambda _: self._wake.set())
            while True:
                await self._wake.wait()
                self._wake.clear()
                over = reading.done()
                answers = [self._answers.popleft() for _ in range(len(self._answers))]
                self._taken.set()
                state = self._take_state() if answers or over or self._alone else None
                if state == told:
                    state = None
                if not answers:
                    self._caller.check_expiry()
                for answer in answers[:-1]:
                    yield _encoded(answer, None)
                if answers or state is not None:
                    told = state or told
                    yield _encoded(answers[-1] if answers else None, state)
                    self._told_at = asyncio.get_running_loop().time()
                    if (newer := self._take_state()) is not None:
                        self._state = newer
                        self._tell_in_time()
                        if over:
                            self._wake.set()
                            continue
                if over:
                    reading.result()
                    return
        finally:
            self._unsubscribe()
            self._unsubscribe = lambda: None  # it holds this session
            self._take_state()
            if reading is not None:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)

    def _take_state(self) -> State | None:
        """The newest state, if it is not told yet."""
        if self._telling is not None:
            self._telling.cancel()
        state, self._state, self._telling, self._alone = self._state, None, None, False
        return state

    def _begin(self, pool: Pool) -> None:
        # Whoever was asked may have left meanwhile, and nobody would end a stream that begins after that.
        self._hosted.check()
        self._unsubscribe = self._hosted.subscribe(self._caller.subject, self)
        self._state = states.state_of(pool, self._caller.subject)

    async def _read(self, writes: AsyncIterator[bytes], carried_out: Callable[[bytes], Awaitable[Answer]]) -> None:
        async for write in writes:
            answer = await carried_out(write)
            if answer.refused is not None and answer.refused.reason in ENDS_STREAM:
                raise answer.refused
            self._answers.append(answer)
            self._wake.set()
            while len(self._answers) >= MOST_ANSWERS:
                self._taken.clear()
                await self._taken.wait()
            if answer.refused is not None and answer.refused.reason == "RATE_LIMITED":
                await asyncio.sleep(min(float(answer.refused.metadata["retry_after_seconds"]), LONGEST_PAUSE_SECONDS))


def _encoded(answer: Answer | None, state: State | None) -> bytes:
    message = b""
    if answer is not None:
        error = None if answer.refused is None else status(answer.refused)
        told = matchmaking_service_pb2.SessionResponse(
            command_id=answer.command_id, created_id=answer.created_id, error=error
        )
        message = told.SerializeToString()
    if state is not None:
        body = encode_State(state)
        message += _STATE + varint(len(body)) + body
    return message
