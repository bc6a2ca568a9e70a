"""Redaction: each event and field reaches exactly its declared audience."""

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Struct

from guildhall.kernel.cards import knows
from guildhall.kernel.redact import audience_mask, redact
from guildhall.kernel.v1.structs import Answered, Audience, GameCreated, TimedOut, Undone
from guildhall.kernel.wire import EventAudience, FieldAudience
from tests.kernel.stage import Play
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import RULES

SEATS = 4
VIEWERS: tuple[int | None, ...] = (*range(SEATS), None)


class Told(Struct, frozen=True):
    """An event of seat 2, witnessed by seats 1 and 3."""

    seat: int = 2
    witnesses: int = 0b1010
    secret: int = 7


REACHED: dict[Audience, list[int | None]] = {
    Audience.UNSPECIFIED: [0, 1, 2, 3, None],
    Audience.EVERYONE: [0, 1, 2, 3, None],
    Audience.SEAT: [2],
    Audience.WITNESSES: [1, 3],
    Audience.NOBODY: [],
}


def declared(event: Audience, field: Audience) -> Any:
    """Rules whose event `Told` and its field `secret` have these audiences."""
    audience = EventAudience(event, (FieldAudience("secret", field, 0),))
    return SimpleNamespace(wire=SimpleNamespace(AUDIENCE={Told: audience}))


@pytest.mark.parametrize("field", Audience)
@pytest.mark.parametrize("event", Audience)
def test_events_and_fields_reach_their_audience_and_nobody_else(event: Audience, field: Audience) -> None:
    rules = declared(event, field)
    for viewer in VIEWERS:
        told = redact(rules, Told(), viewer)
        if viewer not in REACHED[event]:
            assert told is None
        else:
            assert told == (Told() if viewer in REACHED[field] else Told(secret=0))
    both = [viewer for viewer in VIEWERS if viewer in REACHED[event] and viewer in REACHED[field]]
    assert audience_mask(rules, Told(), "secret", SEATS) == both
    assert audience_mask(rules, Told(), "seat", SEATS) == [v for v in VIEWERS if v in REACHED[event]]


def test_the_event_itself_is_never_changed() -> None:
    event = t.Dealt(1, 5)
    assert redact(RULES, event, 0) == t.Dealt(1, 0)
    assert event == t.Dealt(1, 5)


@pytest.mark.parametrize(
    ("event", "seen"),
    [
        (t.Shuffled((1, 2), 2), {v: t.Shuffled((), 2) for v in VIEWERS}),
        (t.Dealt(1, 5), {v: t.Dealt(1, 5 if v == 1 else 0) for v in VIEWERS}),
        (t.CardShown(0, 0b101, 4), {v: t.CardShown(0, 0b101, 4 if v in (0, 2) else 0) for v in VIEWERS}),
        (t.Whispered(3), {v: t.Whispered(3) if v == 3 else None for v in VIEWERS}),
        (t.CardPlayed(1, 5, 9), {v: t.CardPlayed(1, 5, 9) for v in VIEWERS}),
        (Answered(1, b"secret"), {v: Answered(1, b"secret" if v == 1 else b"") for v in VIEWERS}),
        (Undone(1, 4, b"state"), {v: Undone(1, 4, b"") for v in VIEWERS}),
        (TimedOut(1, "3.1"), {v: TimedOut(1, "3.1") for v in VIEWERS}),
    ],
)
def test_real_events(event: Any, seen: dict[int | None, Any]) -> None:
    assert {viewer: redact(RULES, event, viewer) for viewer in VIEWERS} == seen


def test_the_seed_is_for_nobodys_eyes_its_commitment_for_everybodys() -> None:
    created = Play(seats=3).game.created
    for viewer in VIEWERS:
        told: GameCreated | None = redact(RULES, created, viewer)
        assert told is not None and told.seed == b"" and told.seed_hash == created.seed_hash


def test_no_view_holds_the_seed_or_a_card_that_is_not_known() -> None:
    play = Play(seats=3)
    for viewer in (0, 1, 2, None):
        view = play.game.view(viewer)
        assert play.game.created.seed not in play.rules.wire.encode_View(view)
        mine = () if viewer is None else play.game.hall.seats[viewer].hand
        assert view.hand == tuple(sorted(card & 0xFF for card in mine))
        assert view.game.viewer_seat == viewer


def test_a_peek_is_a_version_of_its_own_before_what_follows_is_asked() -> None:
    """An information point: what a command reveals to its chooser is in the log before the next choice."""
    play = Play()
    play.do(0, t.Bid(1))
    play.do(1, t.Bid(0))
    top = play.game.hall.deck[-1] & 0xFF
    peeked = play.do(0, t.Peek())
    assert peeked.events == [t.Peeked(0, top), t.Whispered(0)]
    assert play.open_ids() == [f"{play.game.version}.0"]
    assert play.folded().hall.deck[-1] & knows(0)
    assert [redact(RULES, event, 1) for event in peeked.events] == [t.Peeked(0, 0), None]
