"""What the protocol would be without one of its mechanisms. Each must be caught (design section 3)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import guildhall.log.fold
import guildhall.log.ownership
import guildhall.log.recovery
import guildhall.log.writer
import tests.log.simulation.owners
from guildhall.host.hosted_game import HostedGame
from guildhall.host.partition import Partition
from guildhall.kernel.game import Game as KernelGame
from guildhall.log.errors import BadValue
from guildhall.log.fold import Effective, FoldState, Verdict, Void, VoidReason, advance, judge
from guildhall.log.ownership import Ownership
from guildhall.log.port import NO_CLAIM, Appended, Claim, Entry, Position
from guildhall.log.snapshots import Checkpoint, Marker
from guildhall.log.writer import RuledOut, Writer
from tests.log.simulation.games import Game
from tests.log.simulation.owners import OwnGames

Mutate = Callable[[pytest.MonkeyPatch], None]


def no_offset_check(patch: pytest.MonkeyPatch) -> None:
    """Whatever is reported as appended is taken for effective."""

    def skip_to(state: FoldState, verdict: Verdict) -> None:
        state.next_offset = verdict.offset
        advance(state, verdict)

    patch.setattr(guildhall.log.writer, "is_next", lambda state, appended: isinstance(appended, Appended))
    patch.setattr(guildhall.log.writer, "advance", skip_to)


def no_claim_check(patch: pytest.MonkeyPatch) -> None:
    """A record counts under any claim."""

    def rule(state: FoldState, offset: int, key: str, entry: Entry) -> Verdict:
        if entry.seq != state.seqs.get(key, 0) + 1:
            return Void(offset, key, entry, VoidReason.SEQ)
        return Effective(offset, key, entry)

    judge_instead(patch, rule)


def no_seq_check(patch: pytest.MonkeyPatch) -> None:
    """A record counts whatever its seq."""

    def rule(state: FoldState, offset: int, key: str, entry: Entry) -> Verdict:
        if entry.claim != state.newest_claim:
            return Void(offset, key, entry, VoidReason.CLAIM)
        return Effective(offset, key, entry)

    judge_instead(patch, rule)


def judge_instead(patch: pytest.MonkeyPatch, rule: Callable[[FoldState, int, str, Entry], Verdict]) -> None:
    def mutant(state: FoldState, offset: int, key: str, value: Claim | Entry | BadValue) -> Verdict:
        return rule(state, offset, key, value) if isinstance(value, Entry) else judge(state, offset, key, value)

    patch.setattr(guildhall.log.fold, "judge", mutant)
    patch.setattr(guildhall.log.writer, "judge", mutant)


def no_duplicate_check(patch: pytest.MonkeyPatch) -> None:
    """A host that doesn't look up what it has accepted."""

    def unknown(game: Game, command: str) -> None:
        return None

    patch.setattr(tests.log.simulation.owners, "known", unknown)


def position_without_claim(patch: pytest.MonkeyPatch) -> None:
    """A start from a checkpoint doesn't know who had claimed."""
    state_at = guildhall.log.recovery._state_at

    def mutant(checkpoint: Checkpoint, finished: dict[str, int]) -> FoldState:
        state = state_at(checkpoint, finished)
        state.newest_claim = NO_CLAIM
        return state

    patch.setattr(guildhall.log.recovery, "_state_at", mutant)


def unconfirmed_answers(patch: pytest.MonkeyPatch) -> None:
    """Reads and refusals reflect what was folded some time ago."""

    async def confirm(self: Writer) -> Position:
        await asyncio.sleep(0)
        return self.position

    patch.setattr(Writer, "confirm", confirm)


def snapshot_trusted_blindly(patch: pytest.MonkeyPatch) -> None:
    """A snapshot older than the checkpoint is taken for the state at the checkpoint."""

    async def nothing(*args: object) -> None:
        pass

    patch.setattr(guildhall.log.recovery, "_catch_up", nothing)


def deciding_again_within_one_claim(patch: pytest.MonkeyPatch) -> None:
    """What isn't found by reading is taken for lost, without a new claim that would make it so."""
    claim_once = Writer._claim_once

    async def mutant(self: Writer) -> None:
        if self._claiming is not None:
            await claim_once(self)
        for pending in [p for p in self._in_flight.values() if p.claim != NO_CLAIM]:
            self._settle(pending, RuledOut())

    patch.setattr(Writer, "_claim_once", mutant)


def turn_given_back_in_doubt(patch: pytest.MonkeyPatch) -> None:
    """The next request for a game is judged while an append of it is still in doubt."""

    async def nothing(self: Writer, aggregate_id: str) -> None:
        pass

    patch.setattr(Writer, "settled", nothing)
    send = HostedGame._send

    def given_back(self: HostedGame, *args: Any) -> Any:
        in_flight = send(self, *args)
        self._turn = Turn()
        return in_flight

    patch.setattr(HostedGame, "_send", given_back)


class Turn(asyncio.Lock):
    """May be given back twice."""

    def release(self) -> None:
        if self.locked():
            super().release()


def finished_without_a_marker(patch: pytest.MonkeyPatch) -> None:
    """A finished game leaves memory and checkpoint before its marker is acknowledged."""

    async def nothing(self: OwnGames, name: str, marker: Marker) -> None:
        pass

    async def forget(self: Partition, hosted: HostedGame, game: KernelGame) -> None:
        self.hosted.pop(hosted.game_id, None)

    patch.setattr(OwnGames, "put_marker", nothing)
    patch.setattr(Partition, "_mark", forget)


def never_standing_down(patch: pytest.MonkeyPatch) -> None:
    """Who has claimed once takes itself for the owner from then on."""

    def owns(self: Writer) -> bool:
        return self._state.newest_claim != NO_CLAIM and self._state.owner is not None

    patch.setattr(Writer, "_owns", property(owns))


def no_back_off(patch: pytest.MonkeyPatch) -> None:
    """Who stood down and is still assigned claims again at once."""
    due = Ownership._due

    async def mutant(self: Ownership) -> None:
        self._newer = self._newer or self.assigned
        await due(self)

    patch.setattr(Ownership, "_due", mutant)


def state_of_what_was_ruled_out(patch: pytest.MonkeyPatch) -> None:
    """A game stays as it was decided, whatever came of that."""

    def mutant(self: HostedGame) -> None:
        in_flight, self._in_flight = self._in_flight, None
        if in_flight is not None and not in_flight.answer.done():
            in_flight.answer.set_result(RuledOut())

    patch.setattr(HostedGame, "_roll_back", mutant)


MUTANTS: tuple[Mutate, ...] = (
    no_offset_check,
    no_claim_check,
    no_seq_check,
    no_duplicate_check,
    position_without_claim,
    unconfirmed_answers,
    snapshot_trusted_blindly,
    deciding_again_within_one_claim,
    turn_given_back_in_doubt,
    finished_without_a_marker,
    never_standing_down,
    no_back_off,
    state_of_what_was_ruled_out,
)
