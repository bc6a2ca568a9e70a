"""Judging: commands that wait become a group, which is one entry of the pool's log.

The pool is changed in place, each command on what the one before has left; what a command that fails has done is taken
back. Whether any of it is true is for the log to say (`hosted_pool`).
"""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from guildhall.host.failures import refused
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import CommandRef
from guildhall.log.topics import MATCHMAKING
from guildhall.matchmaking.v1.structs import encode_event
from guildhall.rpc.errors import Failure
from guildhall.telemetry import logs, metrics
from services.matchmaking.accepted import Accepted, reused
from services.matchmaking.deciding import MOST_BYTES, decide, due, tick
from services.matchmaking.house import MATCHMAKER
from services.matchmaking.pool import Mark, Pool

GROUP = 32
"""Commands of one entry: so many are judged in a few milliseconds, in which nobody else is answered (decision 32)."""

GROUP_BYTES = MOST_BYTES
"""No further command joins an entry of that size."""

LUCK_BYTES = 32

_DECIDE_SECONDS = metrics.DECIDE_SECONDS.labels(MATCHMAKING)

_log = logs.get("matchmaking")


@dataclass(slots=True, eq=False)
class Asked:
    """A command that waits for its answer. `payload` is its `accepted.payload_hash`."""

    subject: str
    command_id: str
    payload: bytes
    command: Any
    validate_only: bool = False
    answer: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def accepted(self) -> None:
        """It is in the log."""
        if not self.answer.done():
            self.answer.set_result(None)

    def refused(self, why: Failure) -> None:
        """It is not, or nobody knows."""
        if not self.answer.done():
            self.answer.set_exception(why)


@dataclass(slots=True)
class Group:
    """What was judged together: its answers, and the entry that makes them true."""

    mark: Mark
    at_ms: int
    folds: int
    answers: list[tuple[Asked, Failure | None]] = field(default_factory=list)
    commands: list[CommandRef] = field(default_factory=list)
    facts: list[Any] = field(default_factory=list)
    """The events, and below as they are written."""
    events: list[bytes] = field(default_factory=list)
    size: int = 0
    hash: bytes = b""
    began: float = 0.0
    offset: int = -1
    """Where its record lies, once that has been told."""

    def add(self, events: Iterable[Any]) -> None:
        """These came of the command that was judged last, or of the clock."""
        for event in events:
            encoded = encode_event(event)
            self.facts.append(event)
            self.events.append(encoded)
            self.size += len(encoded)

    def asked(self) -> list[Asked]:
        """The commands that were judged."""
        return [asked for asked, _ in self.answers]

    def answer(self) -> None:
        """Tell everybody what was judged."""
        for asked, failure in self.answers:
            if failure is None:
                asked.accepted()
            else:
                asked.refused(failure)


def judge_all(pool: Pool, accepted: Accepted, waiting: deque[Asked], group: Group) -> None:
    """Judge as many of the commands that wait as belong in the group; they are taken from `waiting`."""
    fresh: dict[tuple[str, str], bytes] = {}
    while waiting and len(group.answers) < GROUP and group.size < GROUP_BYTES:
        asked = waiting.popleft()
        if asked.answer.done():  # whoever asked has gone away, and nothing was done yet
            continue
        failure: Failure | None = None
        try:
            _judge(pool, accepted, asked, group, fresh)
        except Refusal as refusal:
            failure = refused(refusal)
        except Failure as known:
            failure = known
        except Exception as error:
            failure = failed(pool, error, command=type(asked.command).__name__)
        group.answers.append((asked, failure))


def _judge(pool: Pool, accepted: Accepted, asked: Asked, group: Group, fresh: dict[tuple[str, str], bytes]) -> None:
    """Raises Refusal, Failure. `fresh`: the payloads of what this group has accepted so far."""
    if asked.subject != MATCHMAKER and _accepted_before(accepted, asked, group, fresh):
        return
    began = time.perf_counter()
    mark = pool.mark()
    try:
        events = decide(pool, group.at_ms, asked.subject, asked.command, secrets.token_bytes(LUCK_BYTES))
    except Refusal:
        raise
    except Exception:
        pool.rollback(mark)
        raise
    if asked.validate_only:
        pool.rollback(mark)
        return
    _DECIDE_SECONDS.observe(time.perf_counter() - began)
    if asked.subject == MATCHMAKER and not events:
        return
    fresh[asked.subject, asked.command_id] = asked.payload
    group.commands.append(CommandRef(asked.subject, asked.command_id, asked.payload))
    group.add(events)


def _accepted_before(accepted: Accepted, asked: Asked, group: Group, fresh: dict[tuple[str, str], bytes]) -> bool:
    """Whether the command is a retry. Raises Failure.

    Not asked of the hall's own commands: the pool itself shows what they have done to it. Where it was put back, that
    did not happen and must be told again, though the id is known; and after a start results are read again, in
    stretches that end where they ended but begin elsewhere.
    """
    before = fresh.get((asked.subject, asked.command_id))
    if before is None:
        return accepted.holds(asked.subject, asked.command_id, asked.payload, group.at_ms)
    if before != asked.payload:
        raise reused()
    return True


def judge_time(pool: Pool, group: Group, heard_ms: int) -> None:
    """Add what is due by the clock. Raises whatever is wrong with it, and then nothing of it is done. `heard_ms` as
    `deciding.tick` has it.
    """
    when = due(pool)
    if when is None or when > group.at_ms:
        return
    mark = pool.mark()
    try:
        events = tick(pool, group.at_ms, secrets.token_bytes(LUCK_BYTES), heard_ms)
    except Exception:
        pool.rollback(mark)
        raise
    group.add(events)


def failed(pool: Pool, error: Exception, command: str) -> Failure:
    """Report that our own code has failed; what whoever asked is told."""
    metrics.RULES_FAILURES.labels(MATCHMAKING).inc()
    _log.error("a command failed", game=pool.house.rules.game, command=command, exc_info=error)
    return Failure("RULES_FAILED", "Matchmaking failed unexpectedly; nothing was changed. It has been reported.")
