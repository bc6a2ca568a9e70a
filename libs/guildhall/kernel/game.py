"""A game: its hall and agenda, and what stands beside them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from guildhall.kernel.families import Family
from guildhall.kernel.frames import Choice, Frame, Together
from guildhall.kernel.ids import command_digest, decision_id
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import (
    Decision,
    GameCreated,
    GameEnded,
    GameInfo,
    OpenDecision,
    SeatInfo,
    Undo,
    decode_GameCreated,
    encode_GameCreated,
)

UNDO = Undo()
MAX_LISTED = 1_000
MAX_COMMAND_ID = 64


class Listing(msgspec.Struct, frozen=True):
    """Everything a seat may do: single commands, and families of them."""

    commands: list[Any]
    families: list[Family]

    def holds(self, command: Any) -> bool:
        """Whether the command is legal."""
        return command in self.commands or any(family.holds(command) for family in self.families)


NOTHING = Listing([], [])


class UndoPoint(msgspec.Struct, frozen=True, array_like=True):
    """A version that can be gone back to."""

    version: int
    state: bytes
    """State bytes of that version."""
    deadline_ms: int
    """Deadline of the decision that was open then: taking back gives no more time."""


class Snapshot(msgspec.Struct, array_like=True):
    """Everything of a game as plain data; `SCHEMA` names its shape."""

    created: bytes
    state: bytes
    version: int
    open: list[tuple[int, int, str, int]]
    next_draw: int
    accepted: dict[bytes, tuple[int, bytes]]
    hash: bytes
    undo: list[UndoPoint]
    timeouts: list[int]
    resigned: list[bool]
    ended: tuple[int, list[int], str] | None
    at_ms: int
    paused: str
    paused_ms: int


_SNAPSHOT = msgspec.msgpack.Decoder(Snapshot)
_ENCODER = msgspec.msgpack.Encoder()


class Kept(msgspec.Struct, frozen=True):
    """What `rollback` puts back: everything beside hall and agenda, and their bytes."""

    state: bytes
    version: int
    open: tuple[OpenDecision, ...]
    next_draw: int
    hash: bytes
    undo: tuple[UndoPoint, ...]
    timeouts: tuple[int, ...]
    resigned: tuple[bool, ...]
    ended: GameEnded | None
    at_ms: int
    paused: str
    paused_ms: int
    lost: str


class Game:
    """One game in memory. Changed only by the functions of `decide` and `operate`, `fold` and `rollback`."""

    def __init__(self, rules: Rules, created: GameCreated, hall: Any) -> None:
        self.rules = rules
        self.created = created
        self.hall = hall
        self.given = 0
        self.version = 0
        self.open: tuple[OpenDecision, ...] = ()
        self.next_draw = 0
        self.accepted: dict[bytes, tuple[int, bytes]] = {}
        self.hash = b""
        self.undo: tuple[UndoPoint, ...] = ()
        self.timeouts: tuple[int, ...] = (0,) * len(created.subjects)
        self.resigned: tuple[bool, ...] = (False,) * len(created.subjects)
        self.ended: GameEnded | None = None
        self.at_ms = 0
        self.paused = ""
        """Why an operator has paused the game; "" where it goes on."""
        self.paused_ms = 0
        """Since when (Unix ms) the clocks stand still."""
        self.lost = ""
        """Why hall and agenda are not known: a record could not be folded. "" where they are."""
        self.listings: dict[int, Listing] = {}
        self.agenda_bytes = b""
        self._agenda: list[Frame] | None = None
        self.created_bytes = b""
        """What `created` encodes to, which takes long; empty until a snapshot needs it."""
        self.state = b""
        """State bytes of this version; empty after a fold until `state_bytes` is asked for."""

    # --- identity

    @property
    def game_id(self) -> str:
        return self.created.game_id

    @property
    def seats(self) -> int:
        """Number of seats."""
        return len(self.created.subjects)

    def seat_of(self, subject: str) -> int | None:
        """The seat that a subject holds."""
        subjects = self.created.subjects
        return subjects.index(subject) if subject in subjects else None

    # --- state

    @property
    def agenda(self) -> list[Frame]:
        """The stack of frames, the next one last."""
        if self._agenda is None:
            self._agenda, self.given = self.rules.decode_agenda(self.agenda_bytes)
        return self._agenda

    def set_agenda(self, agenda: list[Frame], given: int, data: bytes) -> None:
        """Take an agenda with its bytes."""
        self._agenda, self.given, self.agenda_bytes = agenda, given, data

    def set_agenda_bytes(self, data: bytes) -> None:
        """Take an agenda as a record carries it; it is decoded when somebody asks."""
        self._agenda, self.agenda_bytes = None, data

    def state_bytes(self) -> bytes:
        """Hall and agenda of this version."""
        if not self.state:
            self.state = self.rules.join_state(self.hall, self.agenda_bytes)
        return self.state

    def restore_state(self, state: bytes) -> None:
        """Put hall and agenda back to these state bytes."""
        self.hall, agenda, given = self.rules.decode_state(state)
        self.set_agenda(agenda, given, self.rules.encode_agenda(agenda, given))
        self.state = state

    def keep(self) -> Kept:
        """What `rollback` needs to come back here."""
        return Kept(
            self.state_bytes(),
            self.version,
            self.open,
            self.next_draw,
            self.hash,
            self.undo,
            self.timeouts,
            self.resigned,
            self.ended,
            self.at_ms,
            self.paused,
            self.paused_ms,
            self.lost,
        )

    def rollback(self, kept: Kept) -> None:
        """Be again as at `keep`; ids accepted since are forgotten."""
        self.restore_state(kept.state)
        (
            self.state,
            self.version,
            self.open,
            self.next_draw,
            self.hash,
            self.undo,
            self.timeouts,
            self.resigned,
            self.ended,
            self.at_ms,
            self.paused,
            self.paused_ms,
            self.lost,
        ) = astuple(kept)
        self.accepted = {k: v for k, v in self.accepted.items() if v[0] <= self.version}
        self.listings = {}

    # --- decisions

    def top(self) -> Choice:
        """The frame that asks, where decisions are open."""
        frame = self.agenda[-1]
        assert isinstance(frame, Choice)
        return frame

    def waiting(self) -> list[OpenDecision]:
        """The open decisions that the game waits for: those without an answer yet."""
        if not self.open:
            return []
        frame = self.top()
        if isinstance(frame, Together):
            return [d for d in self.open if d.seat not in frame.answers]
        return list(self.open)

    def decision(self, decision_id_: str) -> OpenDecision:
        """The open decision with that id. Raises Refusal GAME_PAUSED, GAME_OVER or STALE_DECISION."""
        self.check_running()
        for decision in self.open:
            if decision_id(decision.version, decision.seat) == decision_id_:
                return decision
        if self.ended is not None:
            raise Refusal("GAME_OVER", "The game is over.")
        raise Refusal("STALE_DECISION", f"Decision {decision_id_!r} is not open.")

    def check_running(self) -> None:
        """Raises Refusal GAME_PAUSED."""
        if self.paused:
            raise Refusal("GAME_PAUSED", f"An operator has paused this game: {self.paused}")

    def legal(self, seat: int) -> Listing:
        """Everything that seat may do now."""
        if self.paused:
            return NOTHING
        listing = self.listings.get(seat)
        if listing is None:
            if all(decision.seat != seat for decision in self.open):
                return NOTHING
            listing = self.list_for(self.top(), seat)
            self.listings[seat] = listing
        return listing

    def list_for(self, frame: Choice, seat: int) -> Listing:
        """The listing of a frame for a seat, with Undo where it is open."""
        listing = collect(frame.options(self.rules.glance(self.hall, seat), seat))
        if self.undo:
            add_undo(listing)
        return listing

    # --- accepted commands

    def accepted_version(self, subject: str, command_id: str, payload: bytes) -> int | None:
        """The version that an accepted command made; None where the id is new.

        `payload` is the SHA-256 of decision id and command. Raises Refusal COMMAND_ID_REUSED.
        """
        known = self.accepted.get(command_digest(subject, command_id))
        if known is None:
            return None
        version, digest = known
        if digest != payload[:16]:
            raise self.reused(version)
        return version

    def reused(self, version: int) -> Refusal:
        """The refusal of a command id that made that version with another command."""
        return Refusal(
            "COMMAND_ID_REUSED",
            "This command_id was accepted before with another command.",
            details={"version": str(version)},
        )

    # --- what viewers see

    def blind(self, viewer: int | None) -> Any:
        """The hall as that viewer may know it; shares public parts with the truth."""
        return self.rules.blind(self.hall, viewer)

    def info(self, viewer: int | None) -> GameInfo:
        """What everybody may know of this game, whatever its rules."""
        created = self.created
        return GameInfo(
            game_id=created.game_id,
            game=created.game,
            version=self.version,
            seats=tuple(SeatInfo(seat, subject, self.resigned[seat]) for seat, subject in enumerate(created.subjects)),
            options=created.options,
            rulings=created.rulings,
            pack_hash=created.pack_hash,
            seed_hash=created.seed_hash,
            seed_given=created.seed_given,
            clock=created.clock,
            spectators=created.spectators,
            waiting_for=tuple(as_decision(decision) for decision in self.waiting()),
            ended=self.ended,
            viewer_seat=viewer,
            paused=self.paused,
        )

    def view(self, viewer: int | None) -> Any:
        """The game's View for a seat, or for a spectator (None)."""
        return replace(self.rules.view(self.blind(viewer), viewer), game=self.info(viewer))

    # --- snapshots

    def snapshot(self) -> bytes:
        """Everything of this game, for `restore`."""
        ended = self.ended
        self.created_bytes = self.created_bytes or encode_GameCreated(self.created)
        return _ENCODER.encode(
            Snapshot(
                created=self.created_bytes,
                state=self.state_bytes(),
                version=self.version,
                open=[(d.version, d.seat, d.kind, d.deadline_ms) for d in self.open],
                next_draw=self.next_draw,
                accepted=self.accepted,
                hash=self.hash,
                undo=list(self.undo),
                timeouts=list(self.timeouts),
                resigned=list(self.resigned),
                ended=None if ended is None else (ended.reason, list(ended.ranks), ended.why),
                at_ms=self.at_ms,
                paused=self.paused,
                paused_ms=self.paused_ms,
            )
        )


def restore(rules: Rules, data: bytes) -> Game:
    """The game of a snapshot. Raises ValueError for bytes of another shape (msgspec.DecodeError or WireError)."""
    snapshot = _SNAPSHOT.decode(data)
    created = decode_GameCreated(snapshot.created)
    game = Game(rules, created, None)
    game.created_bytes = snapshot.created
    game.restore_state(snapshot.state)
    game.version = snapshot.version
    game.open = tuple(OpenDecision(*decision) for decision in snapshot.open)
    game.next_draw = snapshot.next_draw
    game.accepted = snapshot.accepted
    game.hash = snapshot.hash
    game.undo = tuple(snapshot.undo)
    game.timeouts = tuple(snapshot.timeouts)
    game.resigned = tuple(snapshot.resigned)
    if snapshot.ended is not None:
        reason, ranks, why = snapshot.ended
        game.ended = GameEnded(reason, tuple(ranks), why)
    game.at_ms = snapshot.at_ms
    game.paused = snapshot.paused
    game.paused_ms = snapshot.paused_ms
    return game


def collect(options: Iterable[Any]) -> Listing:
    """Sort a frame's options into commands and families."""
    listed = list(options)
    if Family not in map(type, listed):
        return Listing(listed, [])
    return Listing(
        [option for option in listed if type(option) is not Family],
        [option for option in listed if type(option) is Family],
    )


def add_undo(listing: Listing) -> None:
    """Undo is the last of the commands, once."""
    commands = listing.commands
    if not commands or commands[-1] != UNDO:
        commands.append(UNDO)


def as_decision(decision: OpenDecision) -> Decision:
    """An open decision as clients see it."""
    return Decision(
        decision_id(decision.version, decision.seat),
        decision.seat,
        decision.kind,
        decision.deadline_ms,
    )
