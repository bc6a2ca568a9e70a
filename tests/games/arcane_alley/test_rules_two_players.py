"""Rules of a game of two."""

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from tests.games.arcane_alley.script import bribe, seat, sell


@pytest.mark.rule("AA-217", "AA-11")
def test_the_tracker_moves_after_the_second_players_turns() -> None:
    t = sell(2, turn=1)
    seen = []
    for player in (t.a, t.b, t.a, t.b):
        player.passes()
        seen.append(t.hall.turn)
    assert seen == [1, 2, 2, 3]


@pytest.mark.rule("AA-217", "RES-31")
@pytest.mark.parametrize(("ruling", "seen"), [("true", [6, 6]), ("false", [5, 6])])
def test_player_two(ruling: str, seen: list[int]) -> None:
    """In round 2 seat b begins: the second is a; the second of round 1 was b."""
    t = sell(2, first="b", active="a", round=2, turn=5, rulings={"player_two_is_second_in_current_turn_order": ruling})
    turns = []
    for player in (t.a, t.b):
        player.passes()
        turns.append(t.hall.turn)
    assert turns == seen


@pytest.mark.rule("RES-31")
def test_player_two_of_round_one_in_round_one_and_three() -> None:
    """Where the round's second player is that of round 1, both readings are the same."""
    for number in (1, 3):
        for ruling in ("true", "false"):
            rulings = {"player_two_is_second_in_current_turn_order": ruling}
            t = sell(2, first="b", active="b", round=number, turn=5, rulings=rulings)
            t.b.passes()
            t.has(turn=5)
            t.a.passes()
            t.has(turn=6)


@pytest.mark.rule("AA-218", "AA-219", "RES-47", "AA-72")
@pytest.mark.parametrize(("turn", "trigger"), [(1, ""), (13, ""), (14, ""), (15, "b"), (19, "b"), (20, "b")])
def test_triggers_from_turn_15_on(turn: int, trigger: str) -> None:
    t = sell(2, a=seat("?HD . ."), b=seat("BC CB TC"), active="b", turn=turn)
    t.b.passes()
    t.has(trigger=trigger, active="a")


@pytest.mark.rule("AA-219", "RES-52", "RES-23")
def test_sell_goes_on_with_nothing_hidden() -> None:
    t = sell(2, a=seat(""), b=seat("BC CB TC"), turn=13)
    for player in (t.a, t.b, t.a, t.b):
        player.passes()
    t.has(trigger="", turn=15, active="a")
    t.a.passes()
    t.has(trigger="a", active="b")
    t.b.passes()
    assert [e for e in t.story if isinstance(e, wire.InspectionStarted)]


@pytest.mark.rule("AA-220", "AA-221", "AA-72")
@pytest.mark.parametrize("first", ["a", "b"])
def test_no_inspection_before_the_end_of_turn_20(first: str) -> None:
    t = sell(2, first=first, active=first, turn=20)
    one, other = (t.a, t.b) if first == "a" else (t.b, t.a)
    one.passes()
    assert not [e for e in t.story if isinstance(e, wire.InspectionStarted)]
    other.passes()
    assert [e for e in t.story if isinstance(e, wire.InspectionStarted)]
    t.has(trigger="")
    assert not [e for e in t.story if isinstance(e, wire.InfamyGained) and e.cause == wire.Cause.TRIGGER]


@pytest.mark.rule("AA-222")
def test_the_tracker_is_reset_after_bribes() -> None:
    t = bribe(2, a=seat("", infamy=3), b=seat("", infamy=3), turn=17)
    t.a.does("pass")
    t.has(turn=17)
    t.b.does("pass")
    t.has(turn=1)


@pytest.mark.rule("AA-224", "AA-225", "AA-49")
def test_the_taken_item_is_the_owners_secret() -> None:
    t = sell(2, a=seat("?HD . . / . . . / . . .", stash="BC y"), deck="q ...", discard="u")
    t.a.does("draw deck", "play BC 0,0")
    (taken,) = t.told(wire.ReplacedItemTaken)
    assert taken.item == wire.Item.HAUNTED_DOLL
    assert "HD" in t.a.sees(t.a).stash and t.b.sees(t.a).stash == "? ? ?"
    t.a.cannot("pass")
    t.a.cannot("play HD 0,1")
    t.a.does("discard y")
    t.a.has(stash="q HD")
    t.has(active="b")
    assert t.b.sees(t.a).stash == "? ?"


@pytest.mark.rule("AA-224", "AA-225")
def test_waiting_too_long_discards_the_taken_item() -> None:
    t = sell(2, a=seat("?HD . . / . . . / . . .", stash="BC y"), discard="u")
    t.a.does("draw deck", "play BC 0,0")
    t.a.waits_too_long()
    assert t.discard.split()[0] == "HD"


@pytest.mark.rule("AA-226")
def test_revealed_items_go_to_the_discard() -> None:
    t = sell(2, a=seat("HT . . / . . . / . . .", stash="BC y"), discard="u")
    t.a.does("draw deck", "play BC 0,0")
    t.has(discard="HT u", active="b")


@pytest.mark.rule("AA-227", "AA-228")
def test_a_hidden_boomerang_is_played_and_its_victim_taken() -> None:
    t = sell(2, a=seat("?MB ?HD . / . . . / . . .", stash="BC y"), deck="q ...", discard="u")
    t.a.does("draw deck", "play BC 0,0")
    assert t.asked == {"a": "boomerang"}
    assert [e.item for e in t.told(wire.BoomerangReturned)] == [wire.Item.MAGIC_BOOMERANG]
    t.a.does("boomerang 0,1")
    t.a.has(stash="y q HD", grid="BC MB . / . . . / . . .")
    assert t.asked == {"a": "discard"}
    t.a.does("discard HD")
    t.has(discard="HD u", active="b")


@pytest.mark.rule("RES-17")
def test_a_hidden_boomerang_without_place_goes_to_the_stash() -> None:
    t = sell(2, a=seat("DE DE ?MB", stash="DE y"), deck="q ...", turn=3)
    t.a.does("draw deck", "play DE 0,2")
    t.a.has(stash="y q MB", grid="", gold=45)
    assert t.asked == {"a": "discard"} and t.b.sees(t.a).stash == "? ? ?"
    t.a.does("discard MB")
    t.has(active="b")


@pytest.mark.rule("RES-18")
def test_a_dolls_victim_is_discarded_faceup() -> None:
    t = sell(2, a=seat("HD HD * / . . . / . . .", stash="HD y"), b=seat("?SK . . / . . . / . . ."), discard="u", turn=3)
    t.a.does("draw deck", "play HD 0,2", "doll b 0,0")
    assert t.discard.split()[1:] == ["SK", t.in_codes("u")]
    t.b.has(stash=t.b.stash)
    assert len(t.b.stash.split()) == 2


@pytest.mark.rule("AA-223")
def test_three_players_discard_hidden_items_at_once() -> None:
    t = sell(a=seat("?HT . . / . . . / . . .", stash="BC y"), discard="u")
    t.a.does("draw deck", "play BC 0,0")
    t.has(discard="HT u", active="b")
