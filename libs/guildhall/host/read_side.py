"""The seam between views and whatever holds the states they are made from.

Here that is the hosts' own acknowledged states; a read side in Redis takes the same place.
"""

from collections.abc import AsyncIterator, Callable
from typing import Protocol

from guildhall.host.failures import log_failed, quarantined
from guildhall.host.game_host import GameHost, Visible, acknowledged
from guildhall.host.hosted_game import Watcher
from guildhall.kernel.fold import Unfoldable
from guildhall.kernel.game import Game
from guildhall.log.errors import BadValue, LogError, LogUnreadable
from guildhall.rpc.errors import Failure
from guildhall.rpc.identity import Caller
from guildhall.telemetry import logs

_log = logs.get("host")


class ReadSide(Protocol):
    """Acknowledged states and records of one game's games."""

    async def visible(self, game_id: str, caller: Caller) -> Visible:
        """The game, if the caller may see it. Raises Failure."""
        ...

    async def newest(self, visible: Visible, min_version: int, seconds: float) -> Game:
        """The newest state, at least `min_version` if that comes within `seconds`; not to be changed, and valid until
        the caller awaits. It reflects everything that was acknowledged before the call. Raises Failure.
        """
        ...

    async def at(self, visible: Visible, version: int) -> Game:
        """The state at a version that exists; the caller's own. Raises Failure."""
        ...

    async def records(self, visible: Visible, first: int, last: int) -> list[tuple[bytes, bytes]]:
        """(body, hash) of the versions `first` to `last`. Raises Failure."""
        ...

    def folds(self, visible: Visible, version: int) -> bool:
        """Whether the version's record could be folded. What another one tells must not be shown: who may see it is
        as doubtful as the rest.
        """
        ...

    def states(self, visible: Visible, game: Game | None, first: int, last: int) -> AsyncIterator[tuple[Game, bytes]]:
        """Each version of `first` to `last` with its record's body, folded on `game`, the state before `first`."""
        ...

    def subscribe(self, visible: Visible, watcher: Watcher) -> Callable[[], None]:
        """Tell `watcher` every version from now on, while the game stands at it. Returns how to end that.

        Raises Failure where no more versions will come from here.
        """
        ...


class HostReadSide:
    """Reads from the hosts in this process."""

    def __init__(self, host: GameHost) -> None:
        self._host = host

    async def visible(self, game_id: str, caller: Caller) -> Visible:
        return await self._host.visible(game_id, caller)

    async def newest(self, visible: Visible, min_version: int, seconds: float) -> Game:
        hosted = visible.hosted
        await hosted.confirm()
        game = acknowledged(hosted, await hosted.read())
        if game.version < min_version:
            if game.ended is not None:
                raise Failure("VERSION_OUT_OF_RANGE", f"The game ended at version {game.version}.")
            await hosted.reach(min_version, seconds)
            game = acknowledged(hosted, await hosted.read())
        return game

    async def at(self, visible: Visible, version: int) -> Game:
        hosted = visible.hosted
        try:
            return await self._host.history.at(visible.partition.number, hosted.game_id, hosted.offsets, version)
        except (BadValue, LogUnreadable, Unfoldable) as error:
            _log.error("earlier versions unreadable", game_id=hosted.game_id, exc_info=error)
            raise quarantined() from error
        except LogError as error:
            raise log_failed(error) from error

    async def records(self, visible: Visible, first: int, last: int) -> list[tuple[bytes, bytes]]:
        hosted = visible.hosted
        try:
            return await self._host.history.records(
                visible.partition.number, hosted.game_id, hosted.offsets[first - 1 : last]
            )
        except (BadValue, LogUnreadable, Unfoldable) as error:
            _log.error("earlier versions unreadable", game_id=hosted.game_id, exc_info=error)
            raise quarantined() from error
        except LogError as error:
            raise log_failed(error) from error

    def folds(self, visible: Visible, version: int) -> bool:
        return visible.hosted.offsets[version - 1] >= 0

    async def states(
        self, visible: Visible, game: Game | None, first: int, last: int
    ) -> AsyncIterator[tuple[Game, bytes]]:
        hosted = visible.hosted
        number = visible.partition.number
        try:
            async for pair in self._host.history.fold_on(number, hosted.game_id, hosted.offsets, game, first, last):
                yield pair
        except (BadValue, LogUnreadable, Unfoldable) as error:
            _log.error("earlier versions unreadable", game_id=hosted.game_id, exc_info=error)
            raise quarantined() from error
        except LogError as error:
            raise log_failed(error) from error

    def subscribe(self, visible: Visible, watcher: Watcher) -> Callable[[], None]:
        writer = visible.partition.writer
        if not writer.serving:  # whoever was told so is not told again
            raise visible.partition.elsewhere(writer.owner, writer.position.newest_claim)
        watchers = visible.hosted.watchers
        watchers.add(watcher)
        return lambda: watchers.discard(watcher)
