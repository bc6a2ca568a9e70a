"""Noninterference: a viewer cannot tell two games apart that differ only in what it may not know.

At a version of a real game a twin is made: all fronts that the viewer does not know
are dealt anew, hidden answers are given anew. Then both play the same commands. Before each
step, views, decisions, listings and refusals of the viewer are equal; after it the events, as the
viewer may see them, are equal too, but for fronts that the step shows to this viewer (then the
twin is another possible world no longer, and is dropped). Design section 9.2.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from msgspec.structs import replace

from guildhall.kernel.blind import places
from guildhall.kernel.cards import FRONT, front, knows
from guildhall.kernel.decide import Decided
from guildhall.kernel.frames import Together
from guildhall.kernel.game import Game, restore
from guildhall.kernel.redact import redact
from tests.suites.conformance import refused, unlikely_commands
from tests.suites.subject import Move, Subject, begin, make, pick


@dataclass
class Seen:
    """How much was really compared."""

    twins: int = 0
    differing: int = 0
    steps: int = 0
    dropped: int = 0
    kinds: set[str] = field(default_factory=set)


def check_game(subject: Subject, random: Random, seen: Seen, share: float = 1.0, creation: Any = None) -> None:
    """Play one random game; at a share of its versions compare twins for every viewer."""
    game, _ = begin(subject, random, creation)
    while game.ended is None:
        if random.random() < share:
            for viewer in (*range(game.seats), None):
                compare_twins(subject, game, viewer, random, seen)
        make(game, pick(subject, game, random))


def compare_twins(subject: Subject, game: Game, viewer: int | None, random: Random, seen: Seen) -> None:
    """Make a twin for one viewer and play both on, a few steps."""
    real = restore(game.rules, game.snapshot())
    twin = restore(game.rules, game.snapshot())
    deal_anew(subject, twin, viewer, random)
    seen.twins += 1
    seen.differing += twin.state_bytes() != real.state_bytes()
    for _ in range(random.randrange(1, 5)):
        compare_now(subject, real, twin, viewer, random)
        if real.ended is not None:
            return
        move = pick(subject, real, random)
        seat = move.decision.seat
        if seat != viewer and not twin.legal(seat).holds(move.command):
            seen.dropped += 1
            return
        seen.kinds.add(move.decision.kind)
        together = isinstance(real.top(), Together)
        told_real, told_twin = make(real, move), make(twin, move)
        if together and answers_opened(real) and twin.state_bytes() != real.state_bytes():
            seen.dropped += 1
            return
        if not compare_told(subject, told_real, told_twin, viewer):
            seen.dropped += 1
            return
        seen.steps += 1


def answers_opened(game: Game) -> bool:
    """Whether the last answer of several is in: now all of them are shown to everybody."""
    return not game.agenda or not isinstance(game.agenda[-1], Together) or not game.agenda[-1].answers


def compare_now(subject: Subject, real: Game, twin: Game, viewer: int | None, random: Random) -> None:
    """Everything that the viewer can ask for is equal."""
    assert real.view(viewer) == twin.view(viewer)
    assert real.open == twin.open
    assert real.waiting() == twin.waiting()
    assert real.ended == twin.ended
    if viewer is None or all(decision.seat != viewer for decision in real.open):
        return
    assert real.legal(viewer) == twin.legal(viewer)
    assert real.top().default(real.blind(viewer), viewer) == twin.top().default(twin.blind(viewer), viewer)
    (decision,) = (d for d in real.open if d.seat == viewer)
    for command in unlikely_commands(subject, real, random, 10):
        if not real.legal(viewer).holds(command):
            id_ = Move(decision, command).id
            assert refused(real, viewer, id_, command) == refused(twin, viewer, id_, command)


def compare_told(subject: Subject, real: Decided, twin: Decided, viewer: int | None) -> bool:
    """Whether both steps told the viewer the same; False where they showed it different fronts.

    Different fronts are allowed only as such: up to and with the first event that
    shows different ones, everything else must be equal.
    """
    rules = subject.rules
    told = [[redact(rules, event, viewer) for event in decided.events] for decided in (real, twin)]
    for one, other in zip(*([event for event in events if event is not None] for events in told), strict=False):
        if one != other:
            kinds = {type(one), type(other)}
            if any(kinds <= group for group in subject.disclosures):
                return False
            assert len(kinds) == 1, f"viewer {viewer} is told {one} or {other}"
            assert without_fronts(rules, one) == without_fronts(rules, other), f"viewer {viewer}: {one} or {other}"
            return False
    assert len(told[0]) == len(told[1]), f"viewer {viewer} counts {len(told[0])} or {len(told[1])} events"
    return True


def without_fronts(rules: Any, event: Any) -> Any:
    """The event with its fronts cleared, keeping how many there are."""
    cleared = {}
    for name in rules.wire.FRONTS.get(type(event), ()):
        value = getattr(event, name)
        cleared[name] = (0,) * len(value) if isinstance(value, tuple) else 0
    return replace(event, **cleared)


def deal_anew(subject: Subject, game: Game, viewer: int | None, random: Random) -> None:
    """Change, at random, everything that the viewer cannot know."""
    hall, agenda, given = game.rules.decode_state(game.state_bytes())
    bit = knows(viewer)
    hidden = [
        (cards, i)
        for _, cards in places(hall, game.rules.hall)
        for i, card in enumerate(cards)
        if front(card) and not card & bit
    ]
    moved = random.sample(hidden, random.choice((len(hidden), len(hidden), max(1, len(hidden) // 4)))) if hidden else []
    for kind in {subject.alike(cards[i]) for cards, i in moved}:
        alike = [(cards, i) for cards, i in moved if subject.alike(cards[i]) == kind]
        fronts = [front(cards[i]) for cards, i in alike]
        random.shuffle(fronts)
        for (cards, i), dealt in zip(alike, fronts, strict=True):
            cards[i] = cards[i] & ~FRONT | dealt
    for sort, cards in places(hall, game.rules.hall):
        if sort == "hand":
            cards.sort()
    game.hall = hall
    game.set_agenda(agenda, given, game.rules.encode_agenda(agenda, given))
    game.state, game.listings = b"", {}
    if agenda and isinstance(agenda[-1], Together):
        answer_anew(game, viewer, random)
    game.set_agenda(agenda, given, game.rules.encode_agenda(agenda, given))
    game.state_bytes()


def answer_anew(game: Game, viewer: int | None, random: Random) -> None:
    """Give the hidden answers of other seats anew."""
    frame = game.top()
    assert isinstance(frame, Together)
    for seat in list(frame.answers):
        if seat != viewer:
            command = random.choice(answers_of(game, frame, seat, random))
            frame.answers = {**frame.answers, seat: game.rules.wire.encode_command(command)}


def answers_of(game: Game, frame: Together, seat: int, random: Random) -> list[Any]:
    """Answers that a seat could have given: every single one, and a few of each family."""
    listing = game.list_for(frame, seat)
    members = [member for family in listing.families for _ in range(5) if (member := family.sample(random)) is not None]
    return [*listing.commands, *members]
