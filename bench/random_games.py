"""Random games in process, for the measures of the engine. Every game of services/ is measured."""

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import services
from guildhall.kernel.decide import Creation, Decided, create, created_event, decide
from guildhall.kernel.game import Game
from guildhall.kernel.ids import decision_id
from guildhall.kernel.rules import Rules


def rules_of(name: str) -> Rules:
    """The rules of the game in that folder of services/."""
    rules: Rules = importlib.import_module(f"services.{name}.rules").RULES
    return rules


NAMES = sorted({path.parent.name for root in services.__path__ for path in Path(root).glob("*/rules.py")})
"""The games, by their folders."""


def title(rules: Rules) -> str:
    """A game's name as people write it."""
    return rules.game.replace("_", " ").title()


def begin(rules: Rules, random: Random, players: int, options: Mapping[str, str] | None = None) -> tuple[Game, Decided]:
    """A new game with default rulings, and with default options but those given."""
    subjects = [f"player-{seat}" for seat in range(players)]
    game_id, seed = f"game-{random.getrandbits(64):x}", random.randbytes(32)
    created = created_event(rules, Creation(subjects, options or {}), game_id, seed)
    return create(rules, created, subject=subjects[0], command_id="create", payload_hash=bytes(32), at_ms=0)


def pick(game: Game, random: Random) -> tuple[int, str, Any]:
    """A seat that is asked, its decision, and one of its legal commands, Undo included."""
    decision = game.waiting()[0]
    listing = game.legal(decision.seat)
    commands = listing.commands
    if listing.families:
        families = listing.families
        commands = commands + [member for family in families if (member := family.sample(random)) is not None]
    return decision.seat, decision_id(decision.version, decision.seat), random.choice(commands)


def step(game: Game, random: Random) -> Decided:
    """One random command."""
    seat, decision, command = pick(game, random)
    return decide(
        game, seat, decision, command, subject=f"player-{seat}", command_id=f"v{game.version}", at_ms=game.at_ms + 1
    )


def play(
    rules: Rules, random: Random, players: int, options: Mapping[str, str] | None = None
) -> Iterator[tuple[Game, Decided]]:
    """A whole game, version by version."""
    game, decided = begin(rules, random, players, options)
    yield game, decided
    while game.ended is None:
        yield game, step(game, random)
