"""Random games in process, one step at a time; of Arcane Alley where nothing else is said."""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from guildhall.kernel.decide import Creation, Decided, create, created_event, decide
from guildhall.kernel.game import UNDO, Game, as_decision
from guildhall.kernel.rules import Rules
from services.arcane_alley.rules import RULES
from services.bots.random_choice import RandomChoice

PACK = RULES.packs.data(RULES.pack_hash)


def steps(
    players: int,
    number: int,
    options: Mapping[str, str] | None = None,
    *,
    undo: float = 0.05,
    rules: Rules = RULES,
    advice: Callable[[Any, str, list[Any]], Any] | None = None,
) -> Iterator[tuple[Game, Decided]]:
    """(the game, what was just decided) for each version, from its creation to its end.

    `undo`: how often a step is taken back where that is possible. `advice`, a player of the services/bots kind, is
    followed three times in four.
    """
    rng = random.Random(number)
    names = [f"player {seat}" for seat in range(players)]
    created = created_event(rules, Creation(names, options=options or {}), f"game {number}", rng.randbytes(32))
    game, decided = create(rules, created, subject=names[0], command_id="create", payload_hash=b"", at_ms=0)
    yield game, decided
    while game.ended is None:
        decision = rng.choice(game.waiting())
        commands: list[Any] = list(game.legal(decision.seat).commands)
        back = commands.pop() if commands and commands[-1] == UNDO else None
        options_here = [*commands, *game.legal(decision.seat).families]
        if back is not None and rng.random() < undo:
            command = back
        elif advice is not None and rng.random() < 0.75:
            command = advice(game.view(decision.seat), decision.kind, options_here)
        else:
            command = RandomChoice(rng)(None, decision.kind, options_here)
        asked = as_decision(decision).id
        decided = decide(
            game, decision.seat, asked, command, subject=names[decision.seat], command_id=f"{game.version}", at_ms=0
        )
        yield game, decided


def records(players: int, number: int) -> list[tuple[bytes, bytes]]:
    """The (body, hash) pairs of a finished random game."""
    return [(decided.body, decided.hash) for _, decided in steps(players, number)]
