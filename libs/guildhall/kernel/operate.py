"""Operators' commands: what may be done to a game from outside its rules, each a record with who, when and why.

None of them runs rules, so they work where the rules fail, and on a game whose records cannot all be folded
(docs/decisions, "What operators may do to a game"). What an operator writes is read by everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from guildhall.kernel import ids
from guildhall.kernel.decide import Decided, check_command_id
from guildhall.kernel.fold import fold, later
from guildhall.kernel.game import Game
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import (
    CommandRef,
    EndReason,
    GameEnded,
    OpenDecision,
    Paused,
    Record,
    Restored,
    Resumed,
    encode_Record,
)

MAX_WHY = 500

UNREAD_DRAWS = 1 << 40
"""More than all records of a game that nobody can read have drawn."""


class Order(NamedTuple):
    """Who wants something done, under which command id, and why."""

    subject: str
    command_id: str
    why: str
    at_ms: int


def payload(what: str, why: str, to_version: int = 0) -> bytes:
    """The payload hash of an operator's command; `what` is `abort`, `pause`, `resume` or `repair`."""
    return ids.payload_hash(f"operate:{what}:{to_version}", why.encode())


def check_order(command_id: str, why: str) -> None:
    """Raises Refusal INVALID_COMMAND_ID, INVALID_WHY."""
    check_command_id("", command_id)
    if not why.strip() or not why.isprintable() or len(why) > MAX_WHY:
        raise Refusal("INVALID_WHY", f"Say why, in 1 to {MAX_WHY} printable characters: everybody reads it.")


def pause(game: Game, order: Order) -> Decided:
    """Stop the game for a while. Raises Refusal GAME_OVER, GAME_PAUSED."""
    _check_live(game)
    game.check_running()
    return _commit(game, order, payload("pause", order.why), [Paused(order.why)], game.open)


def resume(game: Game, order: Order) -> Decided:
    """Let it go on; every deadline is later by as long as the clocks stood still. Raises Refusal GAME_OVER,
    GAME_NOT_PAUSED.
    """
    _check_live(game)
    if not game.paused:
        raise Refusal("GAME_NOT_PAUSED", "The game is not paused.")
    resumed = Resumed(order.why, max(0, order.at_ms - game.paused_ms))
    moved = [OpenDecision(d.version, d.seat, d.kind, later(d.deadline_ms, resumed)) for d in game.open]
    return _commit(game, order, payload("resume", order.why), [resumed], moved)


def abort(game: Game, order: Order, whole: Game | None = None) -> Decided:
    """End the game without ranks. Raises Refusal GAME_OVER.

    `whole`: the game at the last version that can be folded, where `game` was passed over some: it ends in that state.
    """
    _check_live(game)
    events: list[Any] = [GameEnded(EndReason.ABORTED, (), order.why)]
    if whole is not None:
        events.insert(0, _restored(game, order, whole))
    return _commit(game, order, payload("abort", order.why), events, (), agenda=game.rules.encode_agenda([], 0))


def restore(game: Game, order: Order, whole: Game, asked_version: int = 0, *, unread: bool = False) -> Decided:
    """Put the game back to the state of `whole`, an earlier version of it or its newest, and pause it.

    Whoever was asked then is asked again, in new decisions. Versions, draws and accepted ids do not go back.
    `asked_version` is what the operator named, 0 for none. `unread`: behind `game` lie records that count for nothing,
    because one of them cannot be read; luck that was told from them is not drawn again.

    Raises Refusal GAME_OVER: when a game has ended, its seed is known.
    """
    _check_live(game)
    if whole.ended is not None:
        raise Refusal("GAME_OVER", f"At version {whole.version} the game is over.")
    clock = game.created.clock
    deadline = order.at_ms + clock.decision_ms if clock else 0
    asked = [OpenDecision(game.version + 1, d.seat, d.kind, deadline) for d in whole.open]
    return _commit(
        game,
        order,
        payload("repair", order.why, asked_version),
        [_restored(game, order, whole, UNREAD_DRAWS if unread else 0)],
        asked,
        agenda=whole.agenda_bytes,
    )


def _restored(game: Game, order: Order, whole: Game, unread_draws: int = 0) -> Restored:
    resigned = tuple(seat for seat, gone in enumerate(whole.resigned) if gone)
    next_draw = max(game.next_draw, whole.next_draw) + unread_draws
    return Restored(order.why, whole.version, whole.state_bytes(), next_draw, resigned)


def _check_live(game: Game) -> None:
    if game.ended is not None:
        raise Refusal("GAME_OVER", "The game is over.")


def _commit(
    game: Game,
    order: Order,
    payload_hash: bytes,
    events: list[Any],
    asked: Sequence[OpenDecision],
    agenda: bytes | None = None,
) -> Decided:
    """Make the game's new version as every reader will: by folding its record. `agenda` None: it stays, and so does
    what can be taken back.
    """
    check_order(order.command_id, order.why)
    digest = ids.command_digest(order.subject, order.command_id)
    if digest in game.accepted:
        raise game.reused(game.accepted[digest][0])
    record = Record(
        game.game_id,
        game.version + 1,
        (CommandRef(order.subject, order.command_id, payload_hash),),
        None,
        order.at_ms,
        game.rules.version,
        tuple(game.rules.wire.encode_event(event) for event in events),
        game.agenda_bytes if agenda is None else agenda,
        tuple(asked),
        (),
        game.hash,
        len(game.undo) if agenda is None else 0,
    )
    body = encode_Record(record)
    new_hash = ids.version_hash(game.hash, game.created.seed, record.seq, body)
    kept = game.keep()
    try:
        fold(game.rules, game, body, new_hash)
    except BaseException:
        game.rollback(kept)
        raise
    return Decided(record, body, new_hash, events)
