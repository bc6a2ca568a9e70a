"""Schedules of the log's simulation, by hand:

python -m tests.log.simulation run [COUNT] [FIRST]     so many schedules; stops at the first violation
python -m tests.log.simulation replay SEED             one schedule, step by step
python -m tests.log.simulation mutants [COUNT]         in how many of so many schedules each mutant is caught
"""

import sys
import time
from collections import Counter
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.table import Table

from guildhall.log.fold import ClaimSeen, Effective, FoldState, Void, fold
from tests.log.simulation.mutants import MUTANTS
from tests.log.simulation.world import Violation, World, simulate


def run(count: int = 1000, first: int = 0) -> None:
    met: Counter[str] = Counter()
    began = time.perf_counter()
    for seed in range(first, first + count):
        met += simulate(seed).met
    seconds = time.perf_counter() - began
    print(f"{count} schedules without a violation, {1000 * seconds / count:.1f} ms each; they met:")
    for what, times in sorted(met.items()):
        print(f"{times:10,} {what}")


def replay(seed: int) -> None:
    def tell(now: float, what: str) -> None:
        print(f"{now:8.3f} {what}")

    try:
        world = simulate(seed, tell)
    except Violation as violation:
        print(violation)
        sys.exit(1)
    print("no violation")
    show_log(world)


def show_log(world: World) -> None:
    """What the fold says of each record."""
    state = FoldState()
    for record in world.records():
        match fold(state, record):
            case ClaimSeen(offset, claim):
                print(f"{offset:4} claim of {claim.instance}")
            case Effective(offset, name, entry):
                print(f"{offset:4} {name} {entry.seq} {world.speech.command_of(entry.body)} under {entry.claim}")
            case Void(offset, name, entry, reason):
                command = world.speech.command_of(entry.body)
                print(f"{offset:4} {name} {entry.seq} {command} under {entry.claim}: void, {reason.value}")


def mutants(count: int = 500) -> None:
    table = Table("mutant", f"caught in, of {count}", "first", "as", title="What the protocol would be without")
    for mutate in MUTANTS:
        caught: list[int] = []
        example = ""
        for seed in range(count):
            with pytest.MonkeyPatch.context() as patch:
                mutate(patch)
                try:
                    simulate(seed)
                except Violation as violation:
                    example = example or str(violation).partition("): ")[2]
                    caught.append(seed)
        print(f"{mutate.__name__}: {len(caught)}", file=sys.stderr)
        table.add_row(mutate.__name__, str(len(caught)), str(caught[0]) if caught else "", example[:90])
    Console(width=None if sys.stdout.isatty() else 160).print(table)


COMMANDS: dict[str, Callable[..., None]] = {"run": run, "replay": replay, "mutants": mutants}

if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    COMMANDS[sys.argv[1]](*(int(argument) for argument in sys.argv[2:]))
