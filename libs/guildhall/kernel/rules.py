"""What the kernel needs to know of a game."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from textwrap import shorten
from typing import Any

import msgspec

from guildhall.kernel.blind import blinder, glancer
from guildhall.kernel.cards import MAX_SEATS
from guildhall.kernel.frames import Frame
from guildhall.kernel.packs import Packs
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import GameCreated

MOST_TOLD = 1_000
"""Characters of a list in a refusal. An error's trailers carry the message three times, and hold 8 KB."""
THERE_ARE = " There are: "
"""Before such a list."""
MOST_ECHOED = 40
"""Characters of somebody's own text that a refusal repeats."""


@dataclass(frozen=True)
class Choosable:
    """An option or a ruling that can be chosen when a game is created."""

    name: str
    default: str
    values: tuple[str, ...] | None
    """The allowed values; None: free text that `Rules.check_setup` judges."""
    text: str
    ref: str = ""
    """The rule or ruling it settles."""

    def __str__(self) -> str:
        """As it can be chosen, the default first: "length=short|long"; free text is "first=TEXT"."""
        if self.values is None:
            return f"{self.name}=TEXT"
        return f"{self.name}={'|'.join(sorted(self.values, key=lambda value: value != self.default))}"


@dataclass(frozen=True)
class Rules:
    """One game: its rules, its data and its wire code."""

    game: str
    """Name, for example `arcane_alley`; the package is `guildhall.<game>.v1`."""
    version: str
    """Version of the rules code; written into each record."""
    seats: range
    options: tuple[Choosable, ...]
    rulings: tuple[Choosable, ...]
    frames: tuple[type[Frame], ...]
    hall: type[msgspec.Struct]
    wire: Any
    """The generated module `guildhall.<game>.v1.structs`."""
    packs: Packs[Any]
    pack_hash: bytes
    """The pack that new games use."""
    new_hall: Callable[[GameCreated], Any]
    """The hall of a game as its first event leaves it; reads no content."""
    first: Callable[[], Frame]
    evolve: Mapping[type, Callable[[Any, Any], None]]
    view: Callable[[Any, int | None], Any]
    """The game's View of a blind hall, its field `game` left empty."""
    ranks: Callable[[Any], list[int]]
    """Rank of each seat by the rules, 1 = best."""
    check_setup: Callable[[GameCreated], Refusal | None] = lambda created: None
    """Judges what single options cannot tell, for example options that contradict."""

    def __post_init__(self) -> None:
        """Raises ValueError for more seats than a card can tell apart."""
        if not 1 <= min(self.seats) <= max(self.seats) <= MAX_SEATS:
            raise ValueError(f"{self.game}: a game has 1 to {MAX_SEATS} seats")

    @cached_property
    def blind(self) -> Callable[[Any, int | None], Any]:
        """`blind(hall, viewer)`: the hall as a seat, or a spectator (None), may know it."""
        return blinder(self.hall)

    @cached_property
    def glance(self) -> Callable[[Any, int | None], Any]:
        """`glance(hall, viewer)`: the same for a question that looks at few places; valid until the hall changes."""
        return glancer(self.hall)

    @cached_property
    def _coder(self) -> "StateCoder":
        return StateCoder(self)

    def join_state(self, hall: Any, agenda: bytes) -> bytes:
        """State bytes: the msgpack array (hall, agenda, given), of a hall and an encoded agenda.

        The encoded agenda is itself the array (agenda, given): its head, one byte, is replaced.
        """
        return b"\x93" + self._coder.encoder.encode(hall) + agenda[1:]

    def decode_state(self, state: bytes) -> tuple[Any, list[Frame], int]:
        """The inverse of `join_state`."""
        hall, agenda, given = self._coder.state.decode(state)
        return hall, agenda, given

    def encode_agenda(self, agenda: list[Frame], given: int) -> bytes:
        """The agenda as a record carries it."""
        return self._coder.encoder.encode((agenda, given))

    def decode_agenda(self, data: bytes) -> tuple[list[Frame], int]:
        """The inverse of `encode_agenda`."""
        agenda, given = self._coder.agenda.decode(data)
        return agenda, given


class StateCoder:
    """msgpack coders for the state of one game."""

    def __init__(self, rules: Rules) -> None:
        frames: Any = rules.frames[0]
        for frame in rules.frames[1:]:
            frames = frames | frame
        self.encoder = msgspec.msgpack.Encoder()
        self.state: Any = msgspec.msgpack.Decoder(tuple[rules.hall, list[frames], int])  # type: ignore[name-defined]  # built at run time
        self.agenda: Any = msgspec.msgpack.Decoder(tuple[list[frames], int])


def resolve(chosen: Mapping[str, str], declared: tuple[Choosable, ...], what: str) -> dict[str, str]:
    """All declared options or rulings with their chosen or default values, sorted by name.

    Raises Refusal UNKNOWN_OPTION, UNKNOWN_RULING, INVALID_OPTION or INVALID_RULING;
    `what` is "option" or "ruling".
    """
    known = {choosable.name: choosable for choosable in declared}
    for name, value in chosen.items():
        if name not in known:
            there = shorten(", ".join(map(str, declared)), MOST_TOLD, placeholder=" …") or "none"
            raise Refusal(f"UNKNOWN_{what.upper()}", f"There is no {what} {_echoed(name)}.{THERE_ARE}{there}.")
        values = known[name].values
        if values is not None and value not in values:
            raise Refusal(
                f"INVALID_{what.upper()}",
                f"{what.capitalize()} {name!r} is one of {', '.join(values)}, not {_echoed(value)}.",
                known[name].ref,
            )
    return {name: chosen.get(name, known[name].default) for name in sorted(known)}


def _echoed(text: str) -> str:
    return repr(text if len(text) <= MOST_ECHOED else f"{text[:MOST_ECHOED]}…")
