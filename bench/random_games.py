"""Random games of Arcane Alley, for the measures of the engine."""

from collections.abc import Iterator
from random import Random
from typing import Any

from guildhall.kernel.decide import Creation, Decided, create, created_event, decide
from guildhall.kernel.game import Game
from guildhall.kernel.ids import decision_id
from services.arcane_alley.rules import RULES

PLAYERS = (2, 3, 4, 5, 6)


def begin(random: Random, players: int) -> tuple[Game, Decided]:
    """A new game with default options and rulings."""
    subjects = [f"player-{seat}" for seat in range(players)]
    created = created_event(RULES, Creation(subjects), f"game-{random.getrandbits(64):x}", random.randbytes(32))
    return create(RULES, created, subject=subjects[0], command_id="create", payload_hash=bytes(32), at_ms=0)


def pick(game: Game, random: Random) -> tuple[int, str, Any]:
    """A seat that is asked, its decision, and one of its legal commands, Undo included."""
    decision = game.waiting()[0]
    commands, families = game.legal(decision.seat)
    if families:
        commands = commands + [member for family in families if (member := family.sample(random)) is not None]
    return decision.seat, decision_id(decision.version, decision.seat), random.choice(commands)


def step(game: Game, random: Random) -> Decided:
    """One random command."""
    seat, decision, command = pick(game, random)
    return decide(
        game, seat, decision, command, subject=f"player-{seat}", command_id=f"v{game.version}", at_ms=game.at_ms + 1
    )


def play(random: Random, players: int) -> Iterator[tuple[Game, Decided]]:
    """A whole game, version by version."""
    game, decided = begin(random, players)
    yield game, decided
    while game.ended is None:
        yield game, step(game, random)
