"""Random-play conformance: what must hold of every game, at every version (design section 9.1)."""

from random import Random
from typing import Any

import msgspec

from guildhall.kernel.decide import Decided, decide, time_out
from guildhall.kernel.fold import fold
from guildhall.kernel.game import MAX_LISTED, Game, restore
from guildhall.kernel.ids import decision_id
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import decode_Record, encode_Record
from guildhall.kernel.verify import verify
from guildhall.kernel.wire import WireError
from tests.suites.subject import Move, Subject, begin, everything_listed, make, pick

VERIFIED = 0.2
"""Share of games whose luck is checked at the end, which folds them once more."""


def play_and_check(subject: Subject, random: Random, thoroughness: float = 0.05, creation: Any = None) -> Game:
    """Play one random game; check each version lightly, and a share of `thoroughness` of them in full."""
    rules = subject.rules
    game, decided = begin(subject, random, creation)
    shadow: Game | None = None
    records: list[tuple[bytes, bytes]] = []
    conserved = subject.conserved(game.hall)
    while True:
        records.append((decided.body, decided.hash))
        shadow, events = fold(rules, shadow, decided.body, decided.hash)
        assert events == decided.events
        assert subject.conserved(game.hall) == conserved
        check_open(subject, game, random)
        if game.ended is not None:
            break
        assert game.version <= subject.max_commands, f"no end after {game.version} versions"
        if random.random() < thoroughness:
            check_in_full(subject, game, shadow, decided, random)
        decided = make(game, pick(subject, game, random))
    assert shadow.state_bytes() == game.state_bytes()
    assert shadow.snapshot() == game.snapshot()
    assert sorted(game.ended.ranks)[0] == 1
    if random.random() < VERIFIED:
        assert verify(rules, records).game.hash == game.hash
    for seat in range(game.seats):
        assert game.legal(seat).commands == []
    return game


def check_open(subject: Subject, game: Game, random: Random) -> None:
    """Somebody can act or the game is over; what is listed is well formed."""
    if game.ended is not None:
        assert game.open == ()
        return
    assert game.waiting(), "nobody can act and the game is not over"
    for decision in game.open:
        listing = game.legal(decision.seat)
        assert listing.commands or listing.families
        assert len(listing.commands) <= MAX_LISTED
        assert decision.version <= game.version


def check_in_full(subject: Subject, game: Game, shadow: Game, decided: Decided, random: Random) -> None:
    """Everything that is checked of one version."""
    check_bytes(subject, game, shadow, decided)
    for decision in game.waiting():
        check_listed_accepted(game, decision.seat, random)
        check_default_listed(subject, game, decision.seat)
        check_unlisted_refused(subject, game, decision.seat, random)
    check_strangers_refused(game)


def check_bytes(subject: Subject, game: Game, shadow: Game, decided: Decided) -> None:
    """fold(events) = state; every codec gives back what it took."""
    rules = subject.rules
    assert shadow.state_bytes() == game.state_bytes()
    assert shadow.snapshot() == game.snapshot()
    hall, agenda, given = rules.decode_state(game.state_bytes())
    assert hall == game.hall and agenda == game.agenda and given == game.given
    assert restore(rules, game.snapshot()).snapshot() == game.snapshot()
    assert encode_Record(decode_Record(decided.body)) == decided.body
    for event in decided.events:
        assert rules.wire.decode_event(rules.wire.encode_event(event)) == event
    for seat in range(game.seats):
        assert shadow.legal(seat) == game.legal(seat), "a folded game lists something else"
        for command in game.legal(seat).commands:
            assert rules.wire.decode_command(rules.wire.encode_command(command)) == command
    for viewer in (*range(game.seats), None):
        view = game.view(viewer)
        assert rules.wire.decode_View(rules.wire.encode_View(view)) == view
        assert shadow.view(viewer) == view
        blind, glance = game.blind(viewer), rules.glance(game.hall, viewer)
        assert all(getattr(blind, name) == getattr(glance, name) for name in blind.__struct_fields__)


def check_listed_accepted(game: Game, seat: int, random: Random) -> None:
    """Every listed command is accepted, and leads to a version where somebody can act."""
    snapshot = game.snapshot()
    commands = everything_listed(game, seat, random)
    assert all(commands.count(command) == 1 for command in game.legal(seat).commands), "listed twice"
    for command in random.sample(commands, min(len(commands), 12)):
        copy = restore(game.rules, snapshot)
        (decision,) = (d for d in copy.open if d.seat == seat)
        make(copy, Move(decision, command))
        assert copy.version == game.version + 1
        assert copy.ended is not None or copy.waiting()


def check_default_listed(subject: Subject, game: Game, seat: int) -> None:
    """The default is one of the options, and the clock can play it."""
    default = game.top().default(game.blind(seat), seat)
    assert game.legal(seat).holds(default), f"default {default} is not listed"
    copy = restore(game.rules, game.snapshot())
    (decision,) = (d for d in copy.open if d.seat == seat)
    time_out(copy, decision_id(decision.version, seat), at_ms=copy.at_ms + 1)
    assert copy.version == game.version + 1


def check_unlisted_refused(subject: Subject, game: Game, seat: int, random: Random) -> None:
    """Whatever is not listed is refused with a reason, and changes nothing."""
    before = game.snapshot()
    listing = game.legal(seat)
    (decision,) = (d for d in game.open if d.seat == seat)
    for command in unlikely_commands(subject, game, random):
        # Not listing.holds: that is what the kernel accepts by.
        if command in listing.commands or any(family.holds(command) for family in listing.families):
            continue
        refusal = refused(game, seat, Move(decision, command).id, command)
        assert refusal.reason and refusal.message, f"{command} is refused without a reason"
        assert refusal.rule or refusal.reason in ("UNDO_CLOSED",), f"{command} is refused without a rule: {refusal}"
        assert game.snapshot() == before


def check_strangers_refused(game: Game) -> None:
    """Another seat's decision, a closed and an unknown one are refused and change nothing."""
    before = game.snapshot()
    decision = game.waiting()[0]
    (command, *_) = [
        *game.legal(decision.seat).commands,
        *(f.sample(Random(0)) for f in game.legal(decision.seat).families),
    ]
    other = (decision.seat + 1) % game.seats
    id_ = decision_id(decision.version, decision.seat)
    assert refused(game, other, id_, command).reason == "NOT_YOUR_SEAT"
    for stale in (f"{decision.version + 1}.{decision.seat}", f"{decision.version}.{game.seats}", "", "x"):
        assert refused(game, decision.seat, stale, command).reason == "STALE_DECISION"
    assert game.snapshot() == before


def refused(game: Game, seat: int, decision_id_: str, command: Any) -> Refusal:
    """The refusal of a command that must be refused."""
    try:
        decide(game, seat, decision_id_, command, subject="anybody", command_id="refused", at_ms=game.at_ms)
    except Refusal as refusal:
        return refusal
    raise AssertionError(f"accepted, though not listed: {command}")


def unlikely_commands(subject: Subject, game: Game, random: Random, count: int = 40) -> list[Any]:
    """Commands of every type with random small values, near to and far from legal ones."""
    types = list(subject.rules.wire.COMMAND_TYPES.values())
    commands = [random_command(random.choice(types), random) for _ in range(count)]
    return [command for command in commands if can_be_sent(subject, command)]


def can_be_sent(subject: Subject, command: Any) -> bool:
    """Whether the wire has room for the command; no client can send another (enums have few values)."""
    try:
        subject.rules.wire.encode_command(command)
    except WireError:
        return False
    return True


def random_command(kind: type[Any], random: Random) -> Any:
    """A command of that type with random values in range of its field types."""
    values: list[Any] = []
    for field in msgspec.structs.fields(kind):
        if field.type is int:
            values.append(random.choice((*range(12), 20, 21, 255, 2**31 - 1)))
        elif field.type is bool:
            values.append(random.random() < 0.5)
        else:
            values.append(tuple(random.randrange(5) for _ in range(random.randrange(8))))
    return kind(*values)
