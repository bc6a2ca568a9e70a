"""What the clock plays, what can be taken back, and what becomes of a seat that is given up."""

from copy import deepcopy

import pytest

from guildhall.kernel.v1.structs import EndReason, TimedOut
from services.trickerion.rules import RULES
from tests.games.trickerion.script import assign, final, new_game, perform, place, seat, set_up
from tests.games.trickerion.tables import OPEN, STAGE

DEFAULTS = {
    "choose_magician": "choose master_of_chains",
    "starting_components": "components wood wood",
    "starting_trick": "pick linking_rings spades",
    "specialist": "specialist engineer",
    "manager_components": "components metal metal",
    "engineer_trick": "pick mind_reading spades",
    "advertise": "decline",
    "assign": "assign",
    "place": "idle magician",
    "act": "end",
    "trick_slot": "slot 0",
    "symbol": "symbol spades",
    "reschedule": "to R01:0.1>up",
    "link_bonus": "fame",
    "perform": "perform R01",
    "house_apprentice": "house apprentice_2",
    "special_use": "point",
    "keep_card": "under 0 new_twist",
    "house_now": "house apprentice_2",
    "overhaul_slot": "slot 0",
    "spare_parts": "trick linking_rings",
    "sale": "pay 0",
    "restock": "component wood",
    "modifier_order": "modifiers 0 1",
}
"""The forced default of each decision, at its table of OPEN; the others' is to decline."""
FIRST = ("starting_trick", "engineer_trick", "overhaul")
"""Here the default is the first that is listed; which it is depends on the magician, or on the Tricks that are left."""


@pytest.mark.parametrize("kind", OPEN)
def test_the_clock_plays_the_default(kind: str) -> None:
    t, other = OPEN[kind](), OPEN[kind]()
    assert t.asked["a"] == kind
    words = t.a.may[0] if kind in FIRST else DEFAULTS.get(kind, "decline")
    t.a.waits_too_long()
    assert [e.seat for e in t.events if isinstance(e, TimedOut)] == [0]
    other.a.does(words)
    assert t.game.state_bytes() == other.game.state_bytes() and t.asked == other.asked


def test_each_decision_has_a_table() -> None:
    kinds = {frame.__struct_config__.tag for frame in RULES.frames if hasattr(frame, "options")}
    assert {kind for kind in kinds if kind not in OPEN} == set()


@pytest.mark.rule("TR-A4")
def test_the_clock_performs_the_card_with_most_own_markers() -> None:
    for stage, card in (
        ("a/linking_rings@R01:0.0>down a/mind_reading@R10:0.0>right a/walled@R10:1.0>down", "R10"),
        ("a/linking_rings@R01:0.0>down a/mind_reading@R10:0.0>right", "R01"),
        ("a/linking_rings@R10:1.0>down b/mind_reading@R01:0.0>down", "R10"),
    ):
        t = perform(2, a=seat("magician@friday_stage"), stage=stage)
        t.a.waits_too_long()
        assert f"@{card}" not in t.stage


@pytest.mark.rule("TR-A36", "TR-056")
def test_what_can_be_taken_back() -> None:
    """A choice among public things, as long as nobody else is asked; nothing that was drawn or revealed."""
    t = place(a=seat("magician:market_row"))
    assert not t.a.may_undo()
    before = deepcopy(t.hall)
    t.a.does("place magician market_row_1", "buy wood 2")
    assert t.a.may_undo()
    t.a.does("undo")
    t.a.has(components="", coins=10, ap=5)
    t.a.does("undo")
    assert t.hall == before
    assert not t.a.may_undo()
    t.a.does("place magician market_row_1", "end")
    assert t.asked == {"b": "place"} and not t.b.may_undo()


@pytest.mark.rule("TR-071")
def test_a_roll_cannot_be_taken_back() -> None:
    t = place(a=seat("magician:downtown"), dice="X X / X X / 4 X")
    t.a.does("place magician downtown_1", "reroll bank_a")
    assert not t.a.may_undo()
    t.a.does("set bank_b 6")
    assert t.a.may_undo()


@pytest.mark.rule("TR-043", "TR-044")
def test_a_seat_that_assigns_nothing_in_time_has_nothing_assigned() -> None:
    t = assign(2, a=seat("magician apprentice"))
    t.a.does("assign magician:theater")
    t.b.waits_too_long()
    t.a.has(team="magician:theater apprentice_1")
    t.b.has(team="magician apprentice_1")


@pytest.mark.rule("TR-152")
def test_who_resigns_ranks_last_and_plays_defaults() -> None:
    t = place(3, a=seat("magician:workshop", fame=60), b=seat("magician:workshop"), c=seat("magician", fame=40), turn=5)
    t.a.resigns()
    assert t.asked == {"b": "place"}
    t.b.does("idle magician")
    assert t.game.ended is not None and t.game.ended.reason == EndReason.FINISHED
    assert t.ranks == [3, 2, 1]


def test_a_resigned_performer_still_performs() -> None:
    players = {"a": seat("magician@friday_stage"), "c": seat("magician@saturday_stage")}
    t = perform(3, stage=STAGE + " c/walled@R10:0.0>right", **players)
    t.c.resigns()
    t.a.does("decline")
    t.has(stage="a/linking_rings@R01:0.0>down")


@pytest.mark.rule("TR-001")
def test_a_game_in_which_one_seat_never_answers_ends() -> None:
    t = set_up(new_game(2))
    for _ in range(600):
        if t.game.ended is not None:
            break
        decision = t.game.waiting()[0]
        player = t.players[decision.seat]
        if decision.seat == 0:
            player.waits_too_long()
        elif decision.kind == "assign":
            player.does("assign magician:downtown apprentice_1:workshop")
        else:
            player.does(player.may[-1])
    assert t.game.ended is not None and t.game.ended.reason == EndReason.FINISHED


def test_two_that_never_answer_abandon_the_game() -> None:
    t = set_up(new_game(2))
    while t.game.ended is None:
        t.players[t.game.waiting()[0].seat].waits_too_long()
    assert t.game.ended.reason == EndReason.ABANDONED


@pytest.mark.rule("TR-152")
def test_equal_fame_is_settled_by_the_order() -> None:
    equal = seat("magician", fame=20, coins=0, shards=0)
    t = final(3, a=equal, b=equal, c=equal, order_of="bca", turn=5)
    assert t.ranks == [3, 1, 2]
