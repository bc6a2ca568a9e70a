"""Fold: a game from its records, without running rules.

A record carries its events, and the agenda and open decisions after them, so
old games replay whatever the rules code says today. Design section 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from guildhall.kernel import ids
from guildhall.kernel.game import Game
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import (
    Answered,
    GameCreated,
    GameEnded,
    Record,
    Resigned,
    TimedOut,
    Undone,
    decode_Record,
)


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
    game = _begin(rules, game, record, events)
    if record.seq != game.version + 1:
        raise Unfoldable(f"version {record.seq} follows version {game.version}")
    if record.prev_hash != game.hash:
        raise Unfoldable(f"version {record.seq} does not follow the hash of the version before")
    if ids.version_hash(game.hash, game.created.seed, record.seq, body) != digest:
        raise Unfoldable(f"hash of version {record.seq} is wrong")
    if record.undo_depth > len(game.undo):
        game.undo = (*game.undo, (game.version, game.state_bytes()))
    try:
        for event in events:
            _evolve(game, event)
    except Exception as error:
        raise Unfoldable(f"version {record.seq} cannot be applied: {error!r}") from error
    _take(game, record, digest)
    return game, events


def fold_all(rules: Rules, records: Iterable[tuple[bytes, bytes]]) -> Game:
    """The game of its (body, hash) pairs from version 1. Raises Unfoldable."""
    game: Game | None = None
    for body, digest in records:
        game, _ = fold(rules, game, body, digest)
    if game is None:
        raise Unfoldable("no records")
    return game


def _begin(rules: Rules, game: Game | None, record: Record, events: list[Any]) -> Game:
    if game is not None:
        return game
    if not events or type(events[0]) is not GameCreated:
        raise Unfoldable(f"version {record.seq} begins no game")
    return Game(rules, events[0], rules.new_hall(events[0]))


def _evolve(game: Game, event: Any) -> None:
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
    elif kind is not Answered and kind is not GameCreated:
        raise Unfoldable(f"no way to apply {kind.__name__}")


def _take(game: Game, record: Record, digest: bytes) -> None:
    """What a record says of the game beside its events."""
    game.set_agenda_bytes(record.agenda)
    game.state = b""
    game.hash = digest
    game.version = record.seq
    game.open = record.open_decisions
    game.listings = {}
    game.next_draw += len(record.draws)
    game.undo = game.undo[: record.undo_depth]
    game.at_ms = record.at_ms
    if record.seat is not None and game.timeouts[record.seat]:
        game.timeouts = _replaced(game.timeouts, record.seat, 0)
    for ref in record.commands:
        key = ids.command_digest(ref.subject, ref.command_id)
        game.accepted[key] = (record.seq, ref.payload_hash[:16])


def _replaced(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    return (*values[:index], value, *values[index + 1 :])
