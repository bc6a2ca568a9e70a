"""What a deliberate fault is."""

from typing import NamedTuple


class Fault(NamedTuple):
    """In `file`, `old` (which stands there once) becomes `new`; the suites play `game`."""

    name: str
    file: str
    old: str
    new: str
    game: str = "arcane_alley"
