"""Decide: a command against a game gives a new version, or a refusal that changes nothing.

The game is changed in place; any failure puts the last state bytes back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from guildhall.kernel import ids
from guildhall.kernel.frames import Back, Choice, Frame, Together
from guildhall.kernel.game import MAX_COMMAND_ID, MAX_LISTED, UNDO, Game, Listing, UndoPoint, add_undo, collect
from guildhall.kernel.luck import SEED_BYTES, Luck, commitment
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.rules import Rules, resolve
from guildhall.kernel.table import Overrun, Table
from guildhall.kernel.v1.structs import (
    Answered,
    Clock,
    CommandRef,
    EndReason,
    GameCreated,
    GameEnded,
    OpenDecision,
    Record,
    Resigned,
    Setting,
    TimedOut,
    Undone,
    encode_Record,
)

MAX_FRAMES = 5_000
MAX_BYTES = 512 * 1024
MAX_UNDO = 32
"""Only so many of a seat's last commands can be taken back."""
MAX_REVISIONS = 256
"""So many versions after a decision opened, answers that are in stay as they are."""
ABANDONED_AFTER = 2
"""So many time-outs in a row of every seat end the game."""


class Decided(Struct, frozen=True):
    """A new version of a game: what the log keeps, and the events as rules emitted them."""

    record: Record
    body: bytes
    hash: bytes
    events: list[Any]


@dataclass(frozen=True)
class Creation:
    """What a creator chooses."""

    subjects: Sequence[str]
    options: Mapping[str, str] = field(default_factory=dict)
    rulings: Mapping[str, str] = field(default_factory=dict)
    decision_ms: int | None = None
    """Milliseconds that a decision may stay open; None: no clock."""
    spectators: bool = True
    seed: bytes | None = None
    """Only for reproducible test games: who knows the seed knows every card."""


def created_event(rules: Rules, creation: Creation, game_id: str, seed: bytes) -> GameCreated:
    """The first event of a game. Raises Refusal for anything that the game does not offer.

    `seed` is 32 fresh random bytes, used unless the creator brought a seed.
    """
    seed = seed if creation.seed is None else creation.seed
    subjects = tuple(creation.subjects)
    if len(subjects) not in rules.seats:
        raise Refusal(
            "WRONG_PLAYER_COUNT",
            f"This game is for {rules.seats[0]} to {rules.seats[-1]} players, not {len(subjects)}.",
        )
    if len(set(subjects)) != len(subjects):
        raise Refusal("DUPLICATE_SUBJECT", "A subject can hold one seat of a game.")
    for subject in subjects:
        if not subject.isprintable() or not 0 < len(subject) <= 128 or subject.startswith(ids.HALL):
            raise Refusal("INVALID_SUBJECT", f"{subject!r} cannot hold a seat.")
    if len(seed) != SEED_BYTES:
        raise Refusal("INVALID_SEED", f"A seed has {SEED_BYTES} bytes.")
    if creation.decision_ms is not None and not 1_000 <= creation.decision_ms <= 2**32 - 1:
        raise Refusal("INVALID_CLOCK", "A decision stays open for at least one second.")
    created = GameCreated(
        game_id=game_id,
        game=rules.game,
        subjects=subjects,
        options=_settings(resolve(creation.options, rules.options, "option")),
        rulings=_settings(resolve(creation.rulings, rules.rulings, "ruling")),
        pack_hash=rules.pack_hash,
        seed_hash=commitment(seed),
        seed=seed,
        clock=None if creation.decision_ms is None else Clock(creation.decision_ms),
        spectators=creation.spectators,
        seed_given=creation.seed is not None,
    )
    refusal = rules.check_setup(created)
    if refusal is not None:
        raise refusal
    return created


def _settings(values: Mapping[str, str]) -> tuple[Setting, ...]:
    return tuple(Setting(name, value) for name, value in values.items())


def create(
    rules: Rules,
    created: GameCreated,
    *,
    subject: str,
    command_id: str,
    payload_hash: bytes,
    at_ms: int,
) -> tuple[Game, Decided]:
    """A new game at version 1 and its first record."""
    game = Game(rules, created, rules.new_hall(created))
    game.set_agenda([], 0, b"")
    step = _Step(game, at_ms)
    step.table.events.append(created)
    step.agenda.append(rules.first())
    step.advance()
    return game, step.commit(None, CommandRef(subject, command_id, payload_hash))


def decide(
    game: Game,
    seat: int,
    decision_id: str,
    command: Any,
    *,
    subject: str,
    command_id: str,
    at_ms: int,
) -> Decided:
    """Carry out a seat's command. Raises Refusal, and then nothing has changed."""
    decision = game.decision(decision_id)
    if decision.seat != seat:
        raise Refusal("NOT_YOUR_SEAT", "This decision is another seat's.")
    payload_hash = ids.payload_hash(decision_id, game.rules.wire.encode_command(command))
    ref = CommandRef(subject, command_id, payload_hash)
    if not game.legal(seat).holds(command):
        raise explain(game, seat, command)
    if command == UNDO:
        return _transact(game, at_ms, seat, ref, lambda step: step.undo(seat))
    return _transact(game, at_ms, seat, ref, lambda step: step.answer(seat, command))


def explain(game: Game, seat: int, command: Any) -> Refusal:
    """Why a command that is not listed is refused."""
    if command == UNDO:
        return Refusal(
            "UNDO_CLOSED",
            "Nothing can be taken back: luck was drawn, somebody learned a card, or somebody else was asked since.",
        )
    return game.top().why(game.rules.glance(game.hall, seat), seat, command)


def check_command_id(subject: str, command_id: str) -> None:
    """Raises Refusal INVALID_COMMAND_ID."""
    if not command_id or len(command_id.encode()) > MAX_COMMAND_ID:
        raise Refusal("INVALID_COMMAND_ID", f"A command_id has 1 to {MAX_COMMAND_ID} bytes.")


def time_out(game: Game, decision_id: str, *, at_ms: int) -> Decided:
    """Play the default of a decision whose deadline has passed: a command by the clock.

    Raises Refusal GAME_PAUSED, STALE_DECISION or GAME_OVER where it is no longer waited for.
    """
    decision = game.decision(decision_id)
    if decision not in game.waiting():
        raise Refusal("STALE_DECISION", f"Decision {decision_id!r} has its answer.")
    command_id = f"timeout:{decision_id}"
    ref = CommandRef(ids.CLOCK, command_id, ids.payload_hash(decision_id, b""))
    return _transact(game, at_ms, None, ref, lambda step: step.time_out(decision.seat, decision_id))


def resign(game: Game, seat: int, *, subject: str, command_id: str, at_ms: int) -> Decided:
    """Give a seat up. Raises Refusal GAME_PAUSED, GAME_OVER or ALREADY_RESIGNED."""
    game.check_running()
    if game.ended is not None:
        raise Refusal("GAME_OVER", "The game is over.")
    if game.resigned[seat]:
        raise Refusal("ALREADY_RESIGNED", "This seat has resigned.")
    ref = CommandRef(subject, command_id, resign_payload(seat))
    return _transact(game, at_ms, seat, ref, lambda step: step.resign(seat))


def resign_payload(seat: int) -> bytes:
    """The payload hash of a resignation."""
    return ids.payload_hash(f"resign:{seat}", b"")


def _transact(
    game: Game,
    at_ms: int,
    seat: int | None,
    ref: CommandRef,
    act: Callable[[_Step], None],
) -> Decided:
    kept = game.keep()
    try:
        step = _Step(game, at_ms)
        act(step)
        return step.commit(seat, ref)
    except BaseException:
        game.rollback(kept)
        raise


class _Step:
    """One command's way from the decision it answers to the next open decisions."""

    __slots__ = (
        "agenda",
        "answered_alone",
        "at_ms",
        "before",
        "ended",
        "frames",
        "game",
        "listings",
        "open",
        "rules",
        "standing",
        "table",
        "undone",
    )

    def __init__(self, game: Game, at_ms: int) -> None:
        rules = game.rules
        self.game = game
        self.rules = rules
        self.at_ms = at_ms
        self.agenda = game.agenda
        self.table: Table[Any] = Table(
            game.hall,
            rules.packs[game.created.pack_hash],
            Luck(game.created.seed, game.next_draw),
            rules.evolve,
            rules.wire.FRONTS,
            game.given,
        )
        self.before = game.state
        self.standing: Frame | None = self.agenda[-1] if game.open else None
        """The frame that asked before this command, as long as it still stands on the agenda."""
        self.answered_alone: int | None = None
        """The seat that answered, if it alone was asked. Not the last one of several that are asked
        together: its answer opens theirs."""
        self.undone: UndoPoint | None = None
        self.frames = 0
        self.ended: GameEnded | None = None
        self.open: list[OpenDecision] = []
        self.listings: dict[int, Listing] = {}

    # --- what a command does

    def answer(self, seat: int, command: Any) -> None:
        """A seat's listed command."""
        game = self.game
        if game.timeouts[seat]:
            game.timeouts = _with(game.timeouts, seat, 0)
        if len(game.open) == 1 and not (isinstance(self.standing, Together) and self.standing.answers):
            self.answered_alone = seat
        self._answer(seat, command)
        self.advance()

    def undo(self, seat: int) -> None:
        """Back to the state before the seat's last command."""
        game = self.game
        self.undone = game.undo[-1]
        self.standing = None
        if game.timeouts[seat]:
            game.timeouts = _with(game.timeouts, seat, 0)
        game.restore_state(self.undone.state)
        self.agenda = game.agenda
        self.table.hall = game.hall
        self.table.given = game.given
        self.table.events.append(Undone(seat, self.undone.version, self.undone.state))
        self.advance()

    def time_out(self, seat: int, decision_id: str) -> None:
        """The clock plays the default of a seat."""
        game = self.game
        game.timeouts = _with(game.timeouts, seat, game.timeouts[seat] + 1)
        self.table.events.append(TimedOut(seat, decision_id))
        if all(gone or times >= ABANDONED_AFTER for gone, times in zip(game.resigned, game.timeouts, strict=True)):
            self.end(EndReason.ABANDONED)
            return
        self._answer(seat, self._default(game.top(), seat))
        self.advance()

    def resign(self, seat: int) -> None:
        """A seat gives up; what it is asked, now and later, gets the default."""
        game = self.game
        game.resigned = _with(game.resigned, seat, True)
        if game.timeouts[seat]:
            game.timeouts = _with(game.timeouts, seat, 0)
        self.table.events.append(Resigned(seat))
        if game.resigned.count(False) < 2:
            self.end(EndReason.RESIGNED)
            return
        self.advance()

    # --- flow

    def advance(self) -> None:
        """Run frames until somebody is asked or the game ends."""
        agenda = self.agenda
        table = self.table
        while not table.finished:
            self.frames += 1
            if self.frames > MAX_FRAMES:
                raise Overrun(f"more than {MAX_FRAMES} frames")
            frame = agenda[-1]
            if isinstance(frame, Choice):
                if self._ask_together(frame) if isinstance(frame, Together) else self._ask(frame):
                    return
            else:
                del agenda[-1]
                if isinstance(frame, Back):
                    value, table.given = table.given, 0
                    frame.got(table, value)
                else:
                    frame.run(table)
                self._queue()
        self.end(EndReason.FINISHED)

    def end(self, reason: EndReason) -> None:
        """The game is over."""
        ranks = _with_resigned_last(self.rules.ranks(self.table.hall), self.game.resigned)
        self.ended = GameEnded(reason, tuple(ranks))
        self.table.events.append(self.ended)
        self.agenda.clear()

    def _queue(self) -> None:
        queued = self.table.queued
        if queued:
            queued.reverse()
            self.agenda += queued
            queued.clear()

    def _answer(self, seat: int, command: Any) -> None:
        frame = self.agenda[-1]
        if isinstance(frame, Together):
            self._take_answer(frame, seat, command)
            return
        assert isinstance(frame, Choice)
        del self.agenda[-1]
        self.standing = None
        frame.choose(self.table, seat, command)
        self._queue()

    def _take_answer(self, frame: Together, seat: int, command: Any) -> None:
        answer = self.rules.wire.encode_command(command)
        frame.answers = {**frame.answers, seat: answer}
        self.table.events.append(Answered(seat, answer))

    def _default(self, frame: Choice, seat: int) -> Any:
        command = frame.default(self.rules.glance(self.table.hall, seat), seat)
        if not self._list(frame, seat).holds(command):
            raise AssertionError(f"the default of {type(frame).__name__} is not listed: {command}")
        return command

    def _list(self, frame: Choice, seat: int) -> Listing:
        listing = collect(frame.options(self.rules.glance(self.table.hall, seat), seat))
        if not listing.commands and all(family.is_empty() for family in listing.families):
            raise AssertionError(f"{type(frame).__name__} asks seat {seat} and lists nothing")
        if len(listing.commands) > MAX_LISTED:
            raise Overrun(f"{type(frame).__name__} lists more than {MAX_LISTED} commands")
        return listing

    def _ask(self, frame: Choice) -> bool:
        """Ask one seat; False where nobody has to be waited for."""
        public = self.rules.glance(self.table.hall, None)
        seats = frame.asked(public)
        if not seats:
            del self.agenda[-1]
            return False
        (seat,) = seats
        if self.game.resigned[seat]:
            self._answer(seat, self._default(frame, seat))
            return False
        if frame is self.standing:
            self._leave_open(seats)
            return True
        if frame.FORCED:
            listing = collect(frame.options(public, seat))
            if len(listing.commands) == 1 and not listing.families:
                # An option that everybody cannot see would be lost here, or told by asking.
                assert self._list(frame, seat) == listing, (
                    f"{type(frame).__name__} is forced, and seat {seat} has options that not everybody can see"
                )
                self._answer(seat, listing.commands[0])
                return False
        self.listings[seat] = self._list(frame, seat)
        self._open(seat, frame.kind(public))
        return True

    def _ask_together(self, frame: Together) -> bool:
        """Ask those who have not answered; False where all answers are in."""
        public = self.rules.glance(self.table.hall, None)
        seats = frame.asked(public)
        for seat in seats:
            if seat not in frame.answers and self.game.resigned[seat]:
                self._take_answer(frame, seat, self._default(frame, seat))
        waiting = [seat for seat in seats if seat not in frame.answers]
        if not waiting:
            del self.agenda[-1]
            self.standing = None
            decode = self.rules.wire.decode_command
            frame.all_in(self.table, {seat: decode(frame.answers[seat]) for seat in seats})
            self._queue()
            return False
        asked = seats if frame.REVISABLE else waiting
        if frame is self.standing:
            self._leave_open(asked)
            return True
        kind = frame.kind(public)
        for seat in asked:
            if not self.game.resigned[seat]:
                self.listings[seat] = self._list(frame, seat)
                self._open(seat, kind)
        return True

    def _leave_open(self, seats: Sequence[int]) -> None:
        """The decisions of these seats stay as they are, with their ids and deadlines."""
        game = self.game
        for decision in game.open:
            seat = decision.seat
            if seat in seats and not game.resigned[seat] and not self._answered_for_good(decision):
                self.open.append(decision)
                self.listings[seat] = game.legal(seat)

    def _answered_for_good(self, decision: OpenDecision) -> bool:
        """Whether a seat has its answer in and so many versions have passed that it can't be revised any more.

        Each revision is a version of the game: without an end one seat could fill the log.
        """
        frame = self.standing
        answered = isinstance(frame, Together) and decision.seat in frame.answers
        return answered and self.game.version + 1 - decision.version >= MAX_REVISIONS

    def _open(self, seat: int, kind: str) -> None:
        clock = self.game.created.clock
        deadline = self.undone.deadline_ms if self.undone else self.at_ms + clock.decision_ms if clock else 0
        self.open.append(OpenDecision(self.game.version + 1, seat, kind, deadline))

    # --- the new version

    def commit(self, seat: int | None, ref: CommandRef) -> Decided:
        """Make the game's new version and its record."""
        game, table, rules = self.game, self.table, self.rules
        version = game.version + 1
        digest = ids.command_digest(ref.subject, ref.command_id)
        if digest in game.accepted:
            raise game.reused(game.accepted[digest][0])
        agenda = rules.encode_agenda(self.agenda, table.given)
        undo = self._undo_after()
        if undo:
            add_undo(self.listings[self.open[0].seat])
        record = Record(
            game.created.game_id,
            version,
            (ref,),
            seat,
            self.at_ms,
            rules.version,
            tuple(map(rules.wire.encode_event, table.events)),
            agenda,
            tuple(self.open),
            tuple(table.rng.draws),
            game.hash,
            len(undo),
        )
        body = encode_Record(record)
        if len(body) > MAX_BYTES:
            raise Overrun(f"a record of {len(body)} bytes")
        game.hall = table.hall
        game.set_agenda(self.agenda, table.given, agenda)
        game.state = rules.join_state(table.hall, agenda)
        game.hash = ids.version_hash(game.hash, game.created.seed, version, body)
        game.version = version
        game.open = record.open_decisions
        game.listings = self.listings
        game.next_draw += len(record.draws)
        game.undo = undo
        game.ended = self.ended
        game.at_ms = self.at_ms
        game.accepted[digest] = (version, ref.payload_hash[:16])
        return Decided(record, body, game.hash, table.events)

    def _undo_after(self) -> tuple[UndoPoint, ...]:
        """The versions that can be gone back to, the last one last.

        Open while the same seat alone is asked, nothing was drawn, and no event told a front. `fold` finds the same.
        """
        game = self.game
        if self.undone:
            return game.undo[:-1]
        if self.standing is not None and self.open:
            return game.undo
        alone = len(self.open) == 1 and self.open[0].seat == self.answered_alone
        if not alone or self.table.learned or self.table.rng.draws:
            return ()
        return (*game.undo, UndoPoint(game.version, self.before, game.open[0].deadline_ms))[-MAX_UNDO:]


def _with(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    return (*values[:index], value, *values[index + 1 :])


def _with_resigned_last(ranks: list[int], resigned: Sequence[bool]) -> list[int]:
    """Ranks among those who stayed; whoever resigned shares the rank behind them."""
    stayed = [rank for rank, gone in zip(ranks, resigned, strict=True) if not gone]
    return [
        len(stayed) + 1 if gone else 1 + sum(1 for other in stayed if other < rank)
        for rank, gone in zip(ranks, resigned, strict=True)
    ]
