"""What the others cannot tell: cards that lie facedown, cards drawn and kept (TR-D16, TR-D110, TR-AD4, TR-AD19).

Two games go on alike but for a choice that is one seat's secret; everything that others are shown is compared.
"""

from collections.abc import Callable
from typing import Any

import pytest

from guildhall.kernel.redact import redact
from tests.games.trickerion.script import ALLEY, Script, assign, end_turn, place, seat

P20 = {"options": ALLEY, "prophecies": "p20 / p23 p17 p13 / p10"}


def shown(t: Script, viewer: int | None) -> Any:
    """All that a viewer was told and can ask for."""
    told = [redact(t.rules, event, viewer) for event in t.story]
    asked = [decision for decision in t.game.open if decision.seat == viewer]
    listed = [(decision, t.game.legal(decision.seat)) for decision in asked]
    return t.game.view(viewer), t.game.open, listed, [event for event in told if event is not None]


def alike(
    begin: Callable[[], Script], first: list[str], second: list[str], rest: list[str], secret_of: int = 0
) -> None:
    """Seat a does `first` in one game and `second` in the other, then all do `rest`: nobody else is shown a difference.

    A command of `rest` is "b place ...": the seat that gives it, then its words.
    """
    games = (begin(), begin())
    for t, commands in zip(games, (first, second), strict=True):
        t.a.does(*commands)
    others = [viewer for viewer in (*range(len(games[0].players)), None) if viewer != 0]
    for command in ["", *rest]:
        name, _, words = command.partition(" ")
        if name:
            for t in games:
                t.players["abcd".index(name)].does(words)
        for viewer in others:
            assert shown(games[0], viewer) == shown(games[1], viewer), f"viewer {viewer} can tell after {command!r}"
    assert shown(games[0], 0) != shown(games[1], 0)


def three() -> Script:
    """Assignment under prophecy 20; a holds two special cards."""
    a = seat("magician engineer", "linking_rings", "metal*2", hand="trick_tweaking test_run", shards=0)
    t = assign(a=a, b=seat("magician", magician="great_optico"), c=seat("magician"), **P20)
    t.b.does("assign magician:workshop")
    t.c.does("assign magician:market_row")
    return t


@pytest.mark.rule("TR-D110", "TR-AD19", "TR-043")
@pytest.mark.parametrize(
    "second",
    [
        "assign magician:test_run engineer:workshop",
        "assign magician:theater engineer:theater",
        "assign magician:dark_alley engineer:trick_tweaking",
    ],
)
def test_nobody_can_tell_what_lies_facedown(second: str) -> None:
    first = "assign magician:trick_tweaking engineer:workshop"
    alike(three, [first], [second], ["a idle magician", "b place magician workshop_1", "b end", "c idle magician"])


@pytest.mark.rule("TR-D110", "TR-AD19", "TR-D22")
def test_nobody_can_tell_what_was_turned_down_in_the_next_turn_either() -> None:
    firsts = [["assign magician:trick_tweaking"], ["assign magician:test_run"]]
    games = [three(), three()]
    for t, commands in zip(games, firsts, strict=True):
        t.a.does(*commands, "idle magician")
        t.b.does("idle magician")
        t.c.does("idle magician")
        t.begins("assignment")
        for viewer in (1, 2, None):
            hand = sorted(t.game.view(viewer).players[0].hand)
            assert hand == [0, 0, 1, 2, 3, 4, 4, 5]
    assert shown(games[0], 1) == shown(games[1], 1)
    assert shown(games[0], None) == shown(games[1], None)


def drawing() -> Script:
    """a has drawn two cards of the Theater deck, one of which everybody knows."""
    t = place(
        a=seat("magician:dark_alley", shards=0),
        b=seat("magician:workshop"),
        options=ALLEY,
        specials="new_twist test_run",
    )
    t.a.does("place magician dark_alley_4", "draw theater")
    return t


@pytest.mark.rule("TR-D16", "TR-AD4")
def test_nobody_can_tell_which_drawn_card_was_kept() -> None:
    may = drawing().a.may_begin("under")
    assert len(may) == 2
    alike(drawing, may[:1], may[1:], ["a end", "b idle magician"])


@pytest.mark.rule("TR-D16", "TR-AD58")
def test_nobody_can_tell_which_card_was_kept_although_everybody_knew_both() -> None:
    def begin() -> Script:
        """a has used two Workshop cards; eight other ones are in hands, so that both are drawn again."""
        others = "replaceable_parts invention ingenuity unstable_prototype enhance_trick on_stage_preparation"
        a = seat("magician:trick_tweaking@workshop_1 apprentice:test_run@workshop_2", shards=0, coins=20)
        b = seat("magician", hand=f"{others} hidden_talent freelancer")
        t = end_turn(2, a=a, b=b, options=ALLEY, prophecies="- / p23 p17 p13 / p10")
        assert t.special_deck("workshop") == "trick_tweaking test_run"
        t.begins("assignment")
        t.a.does("assign magician:dark_alley")
        t.b.does("assign magician:theater")
        t.turn_of("a").does("place magician dark_alley_4", "draw workshop")
        assert [draw.cards for draw in t.b.sees().dark_alley.drawn] == [
            draw.cards for draw in t.a.sees().dark_alley.drawn
        ]
        return t

    alike(begin, ["under 0 trick_tweaking"], ["under 0 test_run"], ["a end"])


@pytest.mark.rule("TR-D72", "TR-D110", "TR-AD46")
def test_nobody_can_tell_which_card_was_given_facedown() -> None:
    def begin() -> Script:
        told = seat("magician:hypnotic_motivation", hand="trick_tweaking", shards=0)
        t = place(a=told, b=seat("magician:workshop"), dice="X X / engineer X / X X", **P20)
        t.a.does("place magician downtown_4", "keep", "bonus", "hire inn_a")
        return t

    alike(begin, ["give trick_tweaking"], ["give theater"], ["b idle magician", "c idle magician", "a idle engineer"])
