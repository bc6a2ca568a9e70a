"""A client that keeps its own view: folds the events that it may see, as design section 2 promises it can."""

from typing import Any

from msgspec.structs import replace

from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import GameCreated


class Viewer:
    """The blind hall of a seat (None: a spectator), from nothing but its own events, from version 1 on."""

    def __init__(self, rules: Rules, seat: int | None) -> None:
        self.rules = rules
        self.seat = seat
        self.hall: Any = None
        self.version = 0

    def take(self, batch: Any) -> None:
        """Fold the next version's batch."""
        assert batch.version == self.version + 1
        self.version = batch.version
        for event in batch.events:
            if type(event) is GameCreated:
                self.hall = self.rules.new_hall(event)
            else:
                change = self.rules.evolve.get(type(event))
                if change is not None:
                    change(self.hall, event)

    def view(self) -> Any:
        """The view that the fold gives, without the part that is the same for all games."""
        return self.rules.view(self.hall, self.seat)


def unshared(view: Any) -> Any:
    """A view without the part that is the same for all games."""
    return replace(view, game=None)
