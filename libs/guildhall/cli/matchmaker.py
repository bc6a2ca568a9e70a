"""A client of a hall's matchmaking for one subject and one game."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any, TypeVar

import grpc

from guildhall.cli.client import PATIENCE_SECONDS, Client, HallError, NoHall, Tries
from guildhall.cli.problems import Problem
from guildhall.matchmaking.v1.structs import GameSeat, State, Table

T = TypeVar("T")
_SERVICE = "MatchmakingService"
LEAVING_SECONDS = 3.0
"""For how long whoever wants to go is kept, to leave nothing behind at a hall that does not answer."""


async def soon(work: Coroutine[Any, Any, T]) -> T:
    """What comes of it, for whoever wants to go. Raises TimeoutError, also in a task that is being cancelled: not so
    asyncio.timeout of Python 3.11.2.
    """
    return await asyncio.wait_for(work, LEAVING_SECONDS)


class NotStarted(Problem):
    """A table was to start, and did not."""


class Matchmaker(Client):
    """`ask` writes, `read` reads, `states` follows. Close it when done."""

    def __init__(
        self,
        game: str,
        server: str,
        token: str,
        patience: float = PATIENCE_SECONDS,
        tell: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """As `Client`; `game` is the one to look for."""
        super().__init__("matchmaking", server, token, patience, tell)
        self.about = game

    async def __aenter__(self) -> "Matchmaker":
        return self

    async def ask(self, method: str, **fields: Any) -> Any:
        """Have something done; the response. `command_id` is a new one, if it does not matter. Raises HallError."""
        fields.setdefault("command_id", secrets.token_hex(16))
        return await self.call(_SERVICE, method, game=self.about, **fields)

    async def read(self, method: str, **fields: Any) -> Any:
        """The response of a method that only reads. Raises HallError."""
        return await self.call(_SERVICE, method, game=self.about, **fields)

    async def state(self) -> State:
        """Everything that the subject has now. Raises HallError."""
        state: State = (await self.read("GetState")).state
        return state

    async def states(self) -> AsyncIterator[State]:
        """The same, now and whenever it changes, without end. Raises HallError."""
        request = self.wire.encode_WatchStateRequest(self.wire.WatchStateRequest(game=self.about))
        stub: grpc.aio.UnaryStreamMultiCallable[bytes, bytes]
        stub = self._channel.unary_stream(self._path(_SERVICE, "WatchState"))
        tries = Tries(self._patience)
        while True:
            try:
                async for answer in stub(request, metadata=self._metadata):
                    tries = Tries(self._patience)
                    self._answers()
                    yield self.wire.decode_WatchStateResponse(answer).state
            except grpc.aio.AioRpcError as error:
                await self._wait(tries, error)

    async def confirm(self, offer_id: str) -> None:
        """Confirm an offer; nothing where it is decided by now, which the next state tells. Raises HallError."""
        try:
            await self.ask("ConfirmOffer", offer_id=offer_id)
        except HallError as error:
            if error.reason not in ("OFFER_OVER", "GAME_STARTING"):
                raise

    async def open_table(self, bots: Sequence[str], **fields: Any) -> None:
        """A table with bots of these strengths; what is refused or interrupted leaves none. Raises HallError."""
        elsewhere, created = (await self.state()).table is not None, False
        try:
            await self.ask("CreateTable", **fields)
            created = True
            for strength in bots:
                await self.ask("AddBot", strength=strength)
        except BaseException as end:
            # Where it ended before its answer came, the table may be there all the same.
            if created or (not elsewhere and isinstance(end, asyncio.CancelledError | NoHall)):
                await self.get_up()
            raise

    async def get_up(self) -> bool:
        """Leave one's table, if the hall answers soon: whoever wants to go is not kept. Whether it is too late, since
        all have confirmed.
        """
        self.hush()
        try:
            await soon(self.ask("LeaveTable"))
        except HallError as error:
            return error.reason == "GAME_STARTING"
        except TimeoutError:
            pass
        return False

    def hush(self) -> None:
        """Tell no more whether the hall answers."""
        self._tell = lambda sentence: None

    async def new_game(
        self, known: Sequence[str], *, started: bool = False, seen: Callable[[Table], None] = lambda table: None
    ) -> GameSeat:
        """Waits for a game that is not among the known ones, confirming whatever is offered. `started`: at
        a table that was, so there is an offer until there is a game. `seen`: is given one's table, now and then.

        Raises NotStarted, Problem where no game can come of it any more, HallError.
        """
        offered = ""
        async for state in self.states():
            for game in state.games:
                if game.game_id not in known:
                    return game
            if state.table is None and state.ticket is None and state.offer is None:
                raise Problem("You have no seat any more: you were sent away, or did not confirm in time.")
            if state.table is not None:
                seen(state.table)
            if state.offer is None and started:
                raise NotStarted("The game does not start.")
            if offered and (state.offer is None or state.offer.offer_id != offered):
                self._tell("It did not start: not everybody confirmed, or the hall could not make it. You wait on.")
            offered = "" if state.offer is None else state.offer.offer_id
            if state.offer is not None and not state.offer.you_confirmed:
                await self.confirm(state.offer.offer_id)
        raise AssertionError("the stream of states ended")
