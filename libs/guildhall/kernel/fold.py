"""Fold: a game from its records, without running rules.

A record carries its events, and the agenda and open decisions after them, so
old games replay whatever the rules code says today. Design section 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from guildhall.kernel import ids
from guildhall.kernel.game import Game, UndoPoint
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import (
    Answered,
    GameCreated,
    GameEnded,
    Paused,
    Record,
    Resigned,
    Restored,
    Resumed,
    TimedOut,
    Undone,
    decode_Record,
)

MOST_DRAWS = 1 << 20
"""More than any record has room for."""


class Unfoldable(ValueError):
    """A record that does not continue its game; the message says why."""


def fold(rules: Rules, game: Game | None, body: bytes, digest: bytes) -> tuple[Game, list[Any]]:
    """Apply one record; `game` is None before its first. Returns the game and the events.

    The game is changed in place. Raises Unfoldable; a game may then be half
    changed and must not be used.
    """
    try:
        record = decode_Record(body)
        events = [rules.wire.decode_event(event) for event in record.events]
    except ValueError as error:
        raise Unfoldable(f"record cannot be read: {error}") from error
    game = _begin(rules, record, events) if game is None else game
    if record.aggregate_id != game.game_id:
        raise Unfoldable(f"version {record.seq} is of game {record.aggregate_id!r}, not of {game.game_id!r}")
    if record.seq != game.version + 1:
        raise Unfoldable(f"version {record.seq} follows version {game.version}")
    if record.prev_hash != game.hash:
        raise Unfoldable(f"version {record.seq} does not follow the hash of the version before")
    if ids.version_hash(game.hash, game.created.seed, record.seq, body) != digest:
        raise Unfoldable(f"hash of version {record.seq} is wrong")
    if game.ended is not None:
        raise Unfoldable(f"version {record.seq} follows the end of the game")
    try:
        _move_undo(game, record, events)
        for event in events:
            _evolve(game, record, event)
        _take(game, record, digest)
    except Unfoldable:
        raise
    except Exception as error:
        raise Unfoldable(f"version {record.seq} cannot be applied: {error!r}") from error
    return game, events


def follow(rules: Rules, game: Game | None, seq: int, body: bytes, digest: bytes) -> tuple[Game, list[Any]]:
    """`fold` for a reader that goes on behind a record that cannot be folded, or leaves an agenda that cannot be read:
    `game.lost` then says why, and hall and agenda are not to be used until an operator's record restores them.

    `seq` is the log's. Raises Unfoldable only where no game has begun.
    """
    if game is None or not game.lost or restores(rules, body):
        try:
            game, events = fold(rules, game, body, digest)
            check_agenda(game)
            return game, events
        except Unfoldable as error:
            if game is None:
                raise
            game.lost = game.lost or str(error)
    _pass_over(rules, game, seq, body, digest)
    return game, []


def check_agenda(game: Game) -> None:
    """For whoever goes on with a game that `fold` gave: that leaves the agenda encoded.

    Raises Unfoldable where this program does not know one of its frames; the game is then lost.
    """
    try:
        _ = game.agenda, game.waiting()
    except Exception as error:
        game.lost = f"agenda of version {game.version} cannot be read: {error!r}"
        raise Unfoldable(game.lost) from error


def _pass_over(rules: Rules, game: Game, seq: int, body: bytes, digest: bytes) -> None:
    """Take a record for what it still tells: its place in the chain, the ids that it accepted, that luck was drawn,
    that the game ended. What its hash does not vouch for may have drawn anything.
    """
    vouched = ids.version_hash(game.hash, game.created.seed, seq, body) == digest
    try:
        record = decode_Record(body)
    except ValueError:
        game.next_draw += MOST_DRAWS
    else:
        drawn = [draw.n + 1 for draw in record.draws] if vouched else [game.next_draw + MOST_DRAWS]
        game.next_draw = max([game.next_draw, *drawn])
        _accept(game, record)
        for encoded in record.events:
            event = _readable(rules, encoded)
            if type(event) is GameEnded:
                game.ended = event
    game.version = seq
    game.hash = digest


def restores(rules: Rules, body: bytes) -> bool:
    """Whether the record puts its game to a whole state, whatever came before it."""
    try:
        record = decode_Record(body)
    except ValueError:
        return False
    return bool(record.events) and type(_readable(rules, record.events[0])) is Restored


def _readable(rules: Rules, event: bytes) -> Any:
    """The event; None where it cannot be read."""
    try:
        return rules.wire.decode_event(event)
    except ValueError:
        return None


def fold_all(rules: Rules, records: Iterable[tuple[bytes, bytes]]) -> Game:
    """The game of its (body, hash) pairs from version 1. Raises Unfoldable."""
    game: Game | None = None
    for body, digest in records:
        game, _ = fold(rules, game, body, digest)
    if game is None:
        raise Unfoldable("no records")
    return game


def _begin(rules: Rules, record: Record, events: list[Any]) -> Game:
    created = events[0] if events else None
    if type(created) is not GameCreated:
        raise Unfoldable(f"version {record.seq} begins no game")
    if created.game != rules.game:
        raise Unfoldable(f"a game of {created.game!r}, not of {rules.game!r}")
    try:
        return Game(rules, created, rules.new_hall(created))
    except Exception as error:
        raise Unfoldable(f"version {record.seq} begins no game: {error!r}") from error


def _move_undo(game: Game, record: Record, events: list[Any]) -> None:
    """What the record makes of the versions that can be gone back to; the record keeps the newest of them.

    Before the events are applied: the version that an answer can be taken back to is the one it was given at.
    """
    first = events[0] if events else None
    if type(first) is Undone:
        if not game.undo or (game.undo[-1].version, game.undo[-1].state) != (first.to_version, first.state):
            raise Unfoldable(f"version {record.seq} goes back to a state that was never there")
        game.undo = game.undo[:-1]
    elif record.undo_depth and type(first) not in (Resigned, Paused, Resumed):
        game.undo = (*game.undo, UndoPoint(game.version, game.state_bytes(), game.open[0].deadline_ms))
    game.undo = game.undo[-record.undo_depth :] if record.undo_depth else ()
    if len(game.undo) != record.undo_depth:
        raise Unfoldable(f"version {record.seq} can go back further than the game has gone")


def _evolve(game: Game, record: Record, event: Any) -> None:
    kind = type(event)
    change = game.rules.evolve.get(kind)
    if change is not None:
        change(game.hall, event)
    elif kind is TimedOut:
        game.timeouts = _replaced(game.timeouts, event.seat, game.timeouts[event.seat] + 1)
    elif kind is Undone:
        game.restore_state(event.state)
    elif kind is Resigned:
        game.resigned = _replaced(game.resigned, event.seat, True)
    elif kind is GameEnded:
        game.ended = event
        game.paused, game.paused_ms = "", 0
    elif kind is Paused:
        game.paused, game.paused_ms = event.why, record.at_ms
    elif kind is Resumed:
        game.paused, game.paused_ms = "", 0
        game.undo = tuple(replace(point, deadline_ms=later(point.deadline_ms, event)) for point in game.undo)
    elif kind is Restored:
        game.restore_state(event.state)
        game.lost = ""
        game.next_draw = event.next_draw
        game.timeouts = (0,) * game.seats
        game.resigned = tuple(seat in event.resigned for seat in range(game.seats))
        game.paused, game.paused_ms = event.why, record.at_ms
    elif kind is not Answered and not (kind is GameCreated and game.version == 0):
        raise Unfoldable(f"no way to apply {kind.__name__}")


def later(deadline_ms: int, resumed: Resumed) -> int:
    """A deadline after the clocks stood still; 0 stays none."""
    return deadline_ms + resumed.stood_still_ms if deadline_ms else 0


def _take(game: Game, record: Record, digest: bytes) -> None:
    """What a record says of the game beside its events."""
    game.set_agenda_bytes(record.agenda)
    game.state = b""
    game.hash = digest
    game.version = record.seq
    game.open = record.open_decisions
    game.listings = {}
    game.next_draw += len(record.draws)
    game.at_ms = record.at_ms
    if record.seat is not None and game.timeouts[record.seat]:
        game.timeouts = _replaced(game.timeouts, record.seat, 0)
    _accept(game, record)


def _accept(game: Game, record: Record) -> None:
    for ref in record.commands:
        key = ids.command_digest(ref.subject, ref.command_id)
        game.accepted[key] = (record.seq, ref.payload_hash[:16])


def _replaced(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    return (*values[:index], value, *values[index + 1 :])
