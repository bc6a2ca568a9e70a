"""Random games of Arcane Alley in process, one step at a time."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

from guildhall.kernel.decide import Creation, Decided, create, created_event, decide
from guildhall.kernel.game import UNDO, Game, as_decision
from services.arcane_alley.rules import RULES

PACK = RULES.packs.data(RULES.pack_hash)


def steps(
    players: int, number: int, options: Mapping[str, str] | None = None, *, undo: float = 0.05
) -> Iterator[tuple[Game, Decided]]:
    """(the game, what was just decided) for each version, from its creation to its end.

    `undo`: how often a step is taken back where that is possible.
    """
    rng = random.Random(number)
    names = [f"player {seat}" for seat in range(players)]
    created = created_event(RULES, Creation(names, options=options or {}), f"game {number}", rng.randbytes(32))
    game, decided = create(RULES, created, subject=names[0], command_id="create", payload_hash=b"", at_ms=0)
    yield game, decided
    while game.ended is None:
        decision = rng.choice(game.waiting())
        commands: list[Any] = list(game.legal(decision.seat).commands)
        back = commands.pop() if commands[-1] == UNDO else None
        command = back if back is not None and rng.random() < undo else rng.choice(commands)
        asked = as_decision(decision).id
        decided = decide(
            game, decision.seat, asked, command, subject=names[decision.seat], command_id=f"{game.version}", at_ms=0
        )
        yield game, decided


def records(players: int, number: int) -> list[tuple[bytes, bytes]]:
    """The (body, hash) pairs of a finished random game."""
    return [(decided.body, decided.hash) for _, decided in steps(players, number)]
