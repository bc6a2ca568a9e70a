"""A game as the suites of every game see it, and random play of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from guildhall.kernel.decide import Creation, Decided, create, created_event, decide
from guildhall.kernel.families import Family
from guildhall.kernel.game import Game
from guildhall.kernel.ids import decision_id
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import OpenDecision


@dataclass(frozen=True)
class Subject:
    """What a game brings to the suites."""

    rules: Rules
    creation: Callable[[Random], Creation]
    """Random players, options and rulings."""
    conserved: Callable[[Any], Any]
    """What of a hall never changes from version 1 on: cards, coins, pieces."""
    max_commands: int
    """No random game is longer."""
    disclosures: tuple[frozenset[type], ...] = ()
    """Groups of event types: which of a group happens may tell what was secret, since the rules say so
    (see Disclosures in the game's RULES.md)."""
    weigh: Callable[[Any], float] = lambda command: 1.0
    """How readily random play picks a command."""
    alike: Callable[[int], Any] = lambda card: None
    """What everybody can tell of an unknown card: cards that differ in it are never taken for each other."""
    advice: Callable[[Game, OpenDecision], Any] | None = None
    """A player that knows the game. Random play then follows it most of the time, and reaches what chance does not."""


FOLLOWED = 0.8
"""Share of moves in which random play follows advice, where it has any."""


class Move(NamedTuple):
    """One decision and the command that answers it."""

    decision: OpenDecision
    command: Any

    @property
    def id(self) -> str:
        return decision_id(self.decision.version, self.decision.seat)


def begin(subject: Subject, random: Random, creation: Creation | None = None) -> tuple[Game, Decided]:
    """A new game with a seed of `random`."""
    creation = creation or subject.creation(random)
    created = created_event(subject.rules, creation, f"game-{random.getrandbits(40):x}", random.randbytes(32))
    return create(
        subject.rules, created, subject=creation.subjects[0], command_id="create", payload_hash=bytes(32), at_ms=1_000
    )


def pick(subject: Subject, game: Game, random: Random) -> Move:
    """A random legal move of a seat that the game waits for."""
    decision = random.choice(game.waiting())
    if subject.advice is not None and random.random() < FOLLOWED:
        return Move(decision, subject.advice(game, decision))
    listing = game.legal(decision.seat)
    commands: list[Any] = list(listing.commands)
    for family in listing.families:
        member = family.sample(random)
        if member is not None:
            commands.append(member)
    (command,) = random.choices(commands, [subject.weigh(command) for command in commands])
    return Move(decision, command)


def make(game: Game, move: Move, at_ms: int | None = None) -> Decided:
    """Carry a move out; its command id is derived from the version."""
    seat = move.decision.seat
    return decide(
        game,
        seat,
        move.id,
        move.command,
        subject=game.created.subjects[seat],
        command_id=f"v{game.version}",
        at_ms=game.at_ms + 1_000 if at_ms is None else at_ms,
    )


def play(subject: Subject, game: Game, random: Random) -> Iterator[tuple[Move, Decided]]:
    """Play a game at random to its end."""
    for _ in range(subject.max_commands):
        if game.ended is not None:
            return
        move = pick(subject, game, random)
        yield move, make(game, move)
    assert game.ended is not None, f"no end after {subject.max_commands} commands"


def everything_listed(game: Game, seat: int, random: Random) -> list[Any]:
    """All listed commands of a seat, with a few members of each family."""
    listing = game.legal(seat)
    families: list[Family] = listing.families
    members = [member for family in families for _ in range(5) if (member := family.sample(random)) is not None]
    return [*listing.commands, *members]
