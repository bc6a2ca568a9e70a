"""Decide: what a command, or the time, does to a pool. Nothing here reads a clock or draws luck: both are given.

The pool is changed at once, in place; `pool.mark` and `pool.rollback` take back what the log did not take.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from guildhall.matchmaking.v1 import structs as asked
from guildhall.matchmaking.v1.structs import EndedForgotten, encode_event
from services.matchmaking import commands, matching, mending, offers, parties, playing, tables, tickets
from services.matchmaking.evolve import forgettable, missed_long_ago
from services.matchmaking.pool import Pool
from services.matchmaking.step import Step

MOST_TIMERS = 500
"""So much that is due is dealt with in one tick."""

MOST_BYTES = 256 * 1024
"""Of the events of what is due, when they have so many nothing more is dealt with in the same tick. A record may have
four times as much: commands may come before in it, and offers after.
"""


def decide(pool: Pool, now_ms: int, subject: str, command: Any, luck: bytes) -> list[Any]:
    """The events of a player's request (of the contract) or of a command of the hall's own (`commands`), applied.

    `now_ms`: Unix ms. `luck`: 32 fresh random bytes. With `validate_only` nothing is applied. Raises Refusal, and then
    nothing has changed.
    """
    mark = pool.mark()
    step = Step(pool, now_ms, luck)
    try:
        if type(command) in _HALL:
            _HALL[type(command)](step, command)
        else:
            _PLAYERS[type(command)](step, subject, command)
    except BaseException:
        pool.rollback(mark)
        raise
    if getattr(command, "validate_only", False):
        pool.rollback(mark)
        return []
    return step.events


def tick(pool: Pool, now_ms: int, luck: bytes, heard_ms: int = 0) -> list[Any]:
    """The events of the time, applied: what is over, and new offers. Not all at once where it is much; see `due`.

    `heard_ms`: since when (Unix ms) whoever asks something of the pool has had an answer.
    """
    step = Step(pool, now_ms, luck, heard_ms)
    size = 0
    for _ in range(MOST_TIMERS):
        timer = pool.next_timer()
        if timer is None or timer.at_ms > step.now_ms or size >= MOST_BYTES:
            break
        before = len(step.events)
        pool.drop_timer()
        if timer.kind == "ripe":
            ticket = pool.tickets[timer.key]
            pool.stale.add(ticket.terms_id)
            pool.ripen(ticket, step.now_ms)
        else:
            _EXPIRE[timer.kind](step, timer.key)
        size += sum(len(encode_event(event)) for event in step.events[before:])
    timer = pool.next_timer()
    if timer is None or timer.at_ms > step.now_ms:
        # Else there may still be tickets that are over.
        matching.match(step)
    return step.events


def due(pool: Pool) -> int | None:
    """When (Unix ms) `tick` has something to do; in the past: now. None: nothing is to come."""
    timer = pool.next_timer()
    times = [matching.due(pool), None if timer is None else timer.at_ms]
    return min((at_ms for at_ms in times if at_ms is not None), default=None)


def _forget(step: Step, key: str) -> None:
    """Tickets that ended and offers that were missed long ago, and terms that nothing names."""
    pool = step.pool
    before_ms = step.now_ms - pool.house.told_ms
    pool.forgetting_ms = None
    if any(forgettable(pool, before_ms)) or missed_long_ago(pool, step.now_ms):
        step.emit(EndedForgotten(before_ms))
    pool.set_forgetting(step.now_ms)


_PLAYERS: Final[Mapping[type, Callable[[Step, str, Any], None]]] = {
    asked.CreateTicketRequest: tickets.create,
    asked.CancelTicketRequest: tickets.cancel,
    asked.CreatePartyRequest: parties.create,
    asked.JoinPartyRequest: parties.join,
    asked.LeavePartyRequest: parties.leave,
    asked.KickFromPartyRequest: parties.kick,
    asked.CreateTableRequest: tables.create,
    asked.SitDownRequest: tables.sit_down,
    asked.LeaveTableRequest: tables.leave,
    asked.KickFromTableRequest: tables.kick,
    asked.AddBotRequest: tables.add_bot,
    asked.RemoveBotRequest: tables.remove_bot,
    asked.StartTableRequest: tables.start,
    asked.ConfirmOfferRequest: offers.confirm,
    asked.DeclineOfferRequest: offers.decline,
}

_HALL: Final[Mapping[type, Callable[[Step, Any], None]]] = {
    commands.GameMade: offers.made,
    commands.CreationRefused: offers.refused,
    commands.TakeResults: playing.take,
    mending.RestorePool: mending.not_quarantined,
}

_EXPIRE: Final[Mapping[str, Callable[[Step, str], None]]] = {
    "offer": offers.expire,
    "ticket": tickets.expire,
    "party": parties.expire,
    "table": tables.expire,
    "forget": _forget,
}
