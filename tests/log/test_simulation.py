"""Many schedules without a violation, and each mechanism of the protocol taken away in turn, caught (design section 3).

A failing seed is in the message, with the command that replays it.
"""

from collections import Counter

import pytest

from guildhall.log.fold import FoldState, Void, VoidReason, fold
from tests.campaign import SCHEDULES
from tests.log.simulation.mutants import MUTANTS, Mutate
from tests.log.simulation.world import Violation, World, simulate

CHUNKS = 50
MET_SCHEDULES = 200
MUTANT_SCHEDULES = 1000
"""Within so many schedules each mutant must be caught; most are in the first few."""


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_schedules_without_a_violation(chunk: int) -> None:
    for seed in range(chunk, SCHEDULES, CHUNKS):
        simulate(seed)


def test_schedules_meet_what_they_are_for() -> None:
    """Everything that the design names does occur, and often, in the first schedules."""
    met: Counter[str] = Counter()
    for seed in range(MET_SCHEDULES):
        world = simulate(seed)
        met += world.met + Counter(accepted=len(world.accepted), started=world.started, shown=len(world.answers))
        met += void_records(world)
    assert {what: met[what] for what in OFTEN if met[what] < 20} == {}
    assert met["accepted"] >= 15 * MET_SCHEDULES


OFTEN = (
    *("crash", "pause", "clock", "cut", "drain", "assign", "assign too", "started"),
    *("lost report", "never", "late", "second offset", "twice", "reordered", "too large"),
    *("claim lost report", "claim never", "claim late", "claim second offset", "claim twice"),
    *("request never", "request late", "request no answer"),
    *("checkpoint", "restored", "finished", "looked up in a marker"),
    *("refused", "refused for no state", "shown", "void by claim", "void by seq"),
)


def void_records(world: World) -> "Counter[str]":
    state, found = FoldState(), Counter[str]()
    for record in world.records():
        verdict = fold(state, record)
        if isinstance(verdict, Void):
            found[{VoidReason.CLAIM: "void by claim", VoidReason.SEQ: "void by seq"}[verdict.reason]] += 1
    return found


def test_equal_seeds_give_equal_schedules() -> None:
    told: list[list[tuple[float, str]]] = [[], []]
    worlds = [simulate(7, lambda now, what, heard=heard: heard.append((now, what))) for heard in told]
    assert told[0] == told[1] and len(told[0]) > 50
    assert worlds[0].records() == worlds[1].records()


@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)
def test_a_protocol_without_this_mechanism_is_caught(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    caught = 0
    for seed in range(MUTANT_SCHEDULES):
        try:
            simulate(seed)
        except Violation:
            caught += 1
            if caught == 3:
                return
    pytest.fail(f"caught in {caught} of {MUTANT_SCHEDULES} schedules")
