"""The table: what rules act through."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from guildhall.kernel.frames import Back, Frame
from guildhall.kernel.luck import Luck

H = TypeVar("H")

MAX_EVENTS = 2_000


class Overrun(RuntimeError):
    """A command that would not end: more frames, events or bytes than the bounds allow."""


class Table(Generic[H]):
    """One command's work on one game. Rules read `hall` and `content`; they change the hall
    only by `emit`, and the flow only by `then`, `call` and `give`.
    """

    __slots__ = (
        "_evolve",
        "_fronts",
        "content",
        "events",
        "finished",
        "given",
        "hall",
        "learned",
        "queued",
        "rng",
    )

    def __init__(
        self,
        hall: H,
        content: Any,
        rng: Luck,
        evolve: Mapping[type, Callable[[Any, Any], None]],
        fronts: Mapping[type, tuple[str, ...]],
        given: int,
    ) -> None:
        self.hall = hall
        self.content = content
        self.rng = rng
        self.events: list[Any] = []
        self.queued: list[Frame] = []
        self.given = given
        self.finished = False
        self.learned = False
        self._evolve = evolve
        self._fronts = fronts

    def emit(self, event: Any) -> None:
        """Let a fact take effect in the hall, and record it."""
        assert not self.queued, "no event may follow what was queued in the same step"
        kind = type(event)
        self._evolve[kind](self.hall, event)
        self.events.append(event)
        if len(self.events) > MAX_EVENTS:
            raise Overrun(f"more than {MAX_EVENTS} events")
        fronts = self._fronts.get(kind)
        if fronts and not self.learned:
            self.learned = any(getattr(event, name) for name in fronts)

    def then(self, *frames: Frame) -> None:
        """Queue what comes next, in this order, before everything already on the agenda."""
        self.queued.extend(frames)

    def call(self, child: Frame, back: Back) -> None:
        """Run `child`, then go on in `back.got` with the value it gives."""
        self.given = 0
        self.queued.append(child)
        self.queued.append(back)

    def give(self, value: int) -> None:
        """Hand a value to the frame that called."""
        self.given = value

    def end(self) -> None:
        """The rules end the game here."""
        self.finished = True
