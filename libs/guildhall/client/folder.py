"""A client's own copy of a game, folded from a stream of events (docs/clients.md, "Keeping your own view").

    folder = Folder(RULES, seat)                       # RULES of services.<game>.rules; seat None: you only watch
    async for message in watch(mode=EVENTS, after_version=folder.version):
        folder.take(message)
        show(folder.view())

`RULES.packs` has to know the game's content pack: `GetPack` gives it where it is not the newest one.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import (
    Decision,
    GameCreated,
    GameEnded,
    GameInfo,
    Paused,
    Resigned,
    Resumed,
    SeatInfo,
)


class CannotFold(ValueError):
    """The message does not continue what this folder has; it is as it was."""


class Folder:
    """The game as its viewer may know it, from version 1 on; messages of `WatchView` in their order, none left out."""

    def __init__(self, rules: Rules, seat: int | None) -> None:
        self.version = 0
        """Of the last message: resume after it."""
        self.rules = rules
        self.seat = seat
        self._hall: Any = None
        self._info: GameInfo | None = None
        self._halls: list[bytes] = []
        """Each hall that there was, the newest last: a step that is taken back leads to one of them."""

    def take(self, message: Any) -> None:
        """A WatchViewResponse. Raises CannotFold: begin again after version 0, or watch whole views."""
        if message.heartbeat is not None:
            if message.waiting_for:
                self._wait_for(message.waiting_for)
            return
        # Versions that nobody could read are left out, where an operator has put the game back behind them.
        follows = message.version > self.version if message.view is not None else message.version == self.version + 1
        if not follows:
            raise CannotFold(f"version {message.version} does not follow version {self.version}")
        if message.events is not None:
            self._fold(message.events)
        else:
            self._go_back(message.view)
        self.version = message.version
        self._wait_for(message.waiting_for)

    def view(self) -> Any:
        """The whole view of the last version, as `GetView` gives it; whom the game waits for only at the newest."""
        view = self.rules.view(self.rules.blind(self._hall, self.seat), self.seat)
        assert self._info is not None
        return replace(view, game=replace(self._info, version=self.version))

    def _fold(self, batch: Any) -> None:
        for event in batch.events:
            match event:
                case GameCreated():
                    self._hall = self.rules.new_hall(event)
                    self._info = self._begin(event)
                case Resigned() | GameEnded() | Paused() | Resumed():
                    self._note(event)
                case _ if type(event) in self.rules.evolve:
                    self.rules.evolve[type(event)](self._hall, event)
        self._keep()

    def _go_back(self, view: Any) -> None:
        """The whole view in place of events: the newest hall that looks so."""
        shown = replace(view, game=None)
        for encoded in reversed(self._halls):
            hall = msgspec.msgpack.decode(encoded, type=self.rules.hall)
            if self.rules.view(self.rules.blind(hall, self.seat), self.seat) == shown:
                self._hall, self._info = hall, view.game
                self._keep()
                return
        raise CannotFold("this view was never there before")

    def _keep(self) -> None:
        encoded = msgspec.msgpack.encode(self._hall)
        if not self._halls or self._halls[-1] != encoded:
            self._halls.append(encoded)

    # --- the part of a view that is the same for all games

    def _begin(self, created: GameCreated) -> GameInfo:
        return GameInfo(
            game_id=created.game_id,
            game=created.game,
            seats=tuple(SeatInfo(seat, subject) for seat, subject in enumerate(created.subjects)),
            options=created.options,
            rulings=created.rulings,
            pack_hash=created.pack_hash,
            seed_hash=created.seed_hash,
            seed_given=created.seed_given,
            clock=created.clock,
            spectators=created.spectators,
            viewer_seat=self.seat,
        )

    def _note(self, event: Any) -> None:
        info = self._info
        assert info is not None
        match event:
            case Resigned():
                seats = [replace(seat, resigned=True) if seat.seat == event.seat else seat for seat in info.seats]
                self._info = replace(info, seats=tuple(seats))
            case GameEnded():
                self._info = replace(info, ended=event, paused="")
            case Paused():
                self._info = replace(info, paused=event.why)
            case Resumed():
                self._info = replace(info, paused="")

    def _wait_for(self, decisions: tuple[Decision, ...]) -> None:
        if self._info is not None:
            self._info = replace(self._info, waiting_for=decisions)
