"""Many schedules without a violation, and each mechanism of the protocol taken away in turn, caught (design section 3).

A failing seed is in the message; `simulate(seed)` replays it.
"""

import asyncio
from collections.abc import Callable

import pytest

import guildhall.log.fold
import guildhall.log.recovery
import guildhall.log.writer
from guildhall.log.errors import BadValue
from guildhall.log.fold import Effective, FoldState, Verdict, Void, VoidReason, advance, judge
from guildhall.log.port import NO_CLAIM, Appended, Claim, Entry, Position
from guildhall.log.snapshots import Checkpoint, Marker
from guildhall.log.writer import RuledOut, Writer
from tests.campaign import SCHEDULES
from tests.log.simulation import Violation, World, simulate

MUTANT_SCHEDULES = 150
"""Within so many schedules each mutant must be caught; most are in the first few."""


def test_schedules_without_a_violation() -> None:
    for seed in range(SCHEDULES):
        simulate(seed)


def test_schedules_meet_what_they_are_for() -> None:
    """Void records of both kinds, duplicates, refusals, crashes and take-overs do occur in the first schedules."""
    worlds = [simulate(seed) for seed in range(40)]
    void = {VoidReason.CLAIM: 0, VoidReason.SEQ: 0}
    for world in worlds:
        state = FoldState()
        for record in world.broker.events["guildhall.sim.events"][0]:
            verdict = guildhall.log.fold.fold(state, record)
            if isinstance(verdict, Void):
                void[verdict.reason] += 1
    assert min(void.values()) >= 20
    assert sum(len(world.accepted) for world in worlds) >= 1000
    assert sum(len(world.refused) for world in worlds) >= 40
    assert sum(world.started for world in worlds) >= 40 * 4
    assert sum(bool(world.broker.compacted["guildhall.sim.checkpoints"][0]) for world in worlds) >= 20


def test_equal_seeds_give_equal_logs() -> None:
    first, second = (simulate(7) for _ in range(2))
    assert first.broker.events == second.broker.events and first.accepted == second.accepted


# Mutants: what the protocol would be without one of its mechanisms.

Mutate = Callable[[pytest.MonkeyPatch], None]


def judge_instead(patch: pytest.MonkeyPatch, rule: Callable[[FoldState, int, str, Entry], Verdict]) -> None:
    def mutant(state: FoldState, offset: int, key: str, value: Claim | Entry | BadValue) -> Verdict:
        return rule(state, offset, key, value) if isinstance(value, Entry) else judge(state, offset, key, value)

    patch.setattr(guildhall.log.fold, "judge", mutant)
    patch.setattr(guildhall.log.writer, "judge", mutant)


def no_offset_check(patch: pytest.MonkeyPatch) -> None:
    """Whatever is reported as appended is taken for effective."""

    def skip_to(state: FoldState, verdict: Verdict) -> None:
        state.next_offset = verdict.offset
        advance(state, verdict)

    def anywhere(state: FoldState, appended: Appended) -> bool:
        return True

    patch.setattr(guildhall.log.writer, "is_next", anywhere)
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


def position_without_claim(patch: pytest.MonkeyPatch) -> None:
    """A reader starts from a checkpoint without knowing who had claimed."""
    state_at = guildhall.log.recovery._state_at

    def mutant(checkpoint: Checkpoint, markers: dict[str, Marker]) -> FoldState:
        state = state_at(checkpoint, markers)
        state.newest_claim = NO_CLAIM
        return state

    patch.setattr(guildhall.log.recovery, "_state_at", mutant)


def snapshot_trusted_blindly(patch: pytest.MonkeyPatch) -> None:
    """A snapshot older than the checkpoint is taken for the state at the checkpoint."""

    async def nothing(*args: object) -> None:
        pass

    patch.setattr(guildhall.log.recovery, "_catch_up", nothing)


def unconfirmed_reads(patch: pytest.MonkeyPatch) -> None:
    """Answers reflect what was folded some time ago."""

    async def confirm(self: Writer) -> Position:
        await asyncio.sleep(0)
        return self.position

    patch.setattr(Writer, "confirm", confirm)


def deciding_again_within_one_claim(patch: pytest.MonkeyPatch) -> None:
    """What isn't found by reading is taken for lost, without a new claim that would make it so."""
    claim_once = Writer._claim_once

    async def mutant(self: Writer) -> None:
        if self._claiming is not None:
            await claim_once(self)
        for pending in [p for p in self._in_flight.values() if p.claim != NO_CLAIM]:
            self._settle(pending, RuledOut())

    patch.setattr(Writer, "_claim_once", mutant)


def seeds_that_catch(simulate_one: Callable[[int], World]) -> list[int]:
    """The seeds whose schedule shows a violation, up to the third."""
    caught = []
    for seed in range(MUTANT_SCHEDULES):
        try:
            simulate_one(seed)
        except Violation:
            caught.append(seed)
            if len(caught) == 3:
                break
    return caught


@pytest.mark.parametrize(
    "mutate",
    [
        no_offset_check,
        no_claim_check,
        no_seq_check,
        position_without_claim,
        snapshot_trusted_blindly,
        unconfirmed_reads,
        deciding_again_within_one_claim,
    ],
    ids=lambda mutate: mutate.__name__,
)
def test_a_protocol_without_this_mechanism_is_caught(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    assert len(seeds_that_catch(simulate)) == 3


def test_a_host_that_knows_no_duplicates_is_caught() -> None:
    assert len(seeds_that_catch(lambda seed: simulate(seed, duplicates_are_known=False))) == 3
