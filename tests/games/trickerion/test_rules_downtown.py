"""Rules of Downtown."""

import pytest

from guildhall.trickerion.v1 import structs as wire
from tests.games.trickerion.script import REVISED, Script, place, seat

LEARN = "any mechanical / X X / X X"


def downtown(team: str = "magician:downtown", dice: str = LEARN, **told: object) -> Script:
    """Seat a's magician stands Downtown with 3 action points."""
    rulings = told.pop("rulings", None)
    players = told.pop("players", 3)
    t = place(players, a=seat(team, **told), dice=dice, rulings=rulings)
    t.a.does("place magician downtown_4")
    return t


@pytest.mark.rule("TR-057", "TR-A33")
def test_learning() -> None:
    t = downtown(tricks="linking_rings:hearts")
    t.a.does("learn mind_reading dahlgaard_a")
    assert t.asked == {"a": "symbol"}
    assert t.a.may == ["symbol spades", "symbol diamonds", "symbol clubs"]
    t.a.cannot("symbol hearts", because="TR-057")
    t.a.cannot("symbol unspecified", because="TR-009")
    t.a.does("symbol clubs")
    t.a.has(tricks="linking_rings:hearts*0 mind_reading:clubs*0", ap=0, coins=10)
    assert wire.Trick.MIND_READING not in t.hall.residence


@pytest.mark.rule("TR-057")
def test_learning_needs_a_free_slot_and_a_trick_that_is_there() -> None:
    t = downtown(tricks="linking_rings living_piano chinese_sticks")
    t.a.cannot("learn mind_reading dahlgaard_a", because="TR-057")
    t = downtown(tricks="linking_rings living_piano", team="magician:downtown engineer")
    t.a.cannot("learn linking_rings dahlgaard_a", because="TR-057")
    t.a.cannot("learn balsamos_skull dahlgaard_a", because="TR-057")


@pytest.mark.rule("TR-058", "TR-059")
def test_the_die_names_the_category() -> None:
    t = downtown(dice="spiritual mechanical / X X / X X")
    t.a.cannot("learn enchanted_butterflies dahlgaard_a", because="TR-058")
    t.a.cannot("learn linking_rings dahlgaard_a", because="TR-058")
    t.a.does("learn linking_rings dahlgaard_b", "symbol spades")
    t.has(dice="spiritual X / X X / X X")
    t = downtown()
    categories = {(w.split()[2], (int(wire.Trick[w.split()[1].upper()]) - 1) // 12 + 1) for w in t.a.may_begin("learn")}
    assert categories == {("dahlgaard_a", n) for n in (1, 2, 3, 4)} | {("dahlgaard_b", n) for n in (2, 4)}


@pytest.mark.rule("TR-061", "TR-062")
def test_the_threshold() -> None:
    t = downtown(fame=16, coins=0)
    t.a.does("learn mechanical_hornet dahlgaard_b", "symbol spades")
    t.a.has(fame=16, coins=0)
    t = downtown(fame=15, coins=1)
    t.a.does("learn mechanical_hornet dahlgaard_b", "symbol spades")
    t.a.has(fame=15, coins=0)
    t = downtown(fame=0, coins=0)
    t.a.cannot("learn linking_rings dahlgaard_b", because="TR-061")


@pytest.mark.rule("TR-A9", "TR-063")
def test_a_favorite_without_a_die_if_it_is_allowed() -> None:
    t = downtown(dice="X X / X X / X X", rulings={"favorite_without_die": "allow"})
    assert {words.split()[2] for words in t.a.may_begin("learn")} == {"no_die"}
    t.a.cannot("learn linking_rings no_die")
    t.a.does("learn burning_mummy no_die", "symbol spades")
    t.a.has(tricks="burning_mummy:spades*0")
    t.has(dice="X X / X X / X X")
    t = downtown(dice="X mechanical / X X / X X", rulings={"favorite_without_die": "allow"})
    t.a.cannot("learn burning_mummy no_die")
    t.a.does("learn burning_mummy dahlgaard_b")


@pytest.mark.rule("TR-A43")
@pytest.mark.parametrize(("ruling", "asked"), [("free_choice", True), ("normal_first", False)])
def test_where_a_new_trick_lies(ruling: str, asked: bool) -> None:
    t = downtown(team="magician:downtown engineer", rulings={"extension_slots": ruling})
    t.a.does("learn linking_rings dahlgaard_a")
    if asked:
        assert t.asked == {"a": "trick_slot"} and len(t.a.may) == 2
        t.a.cannot("slot 1")
        t.a.does("slot 3")
    t.a.does("symbol hearts")
    t.a.has(tricks="linking_rings:hearts*0" + ("!" if asked else ""))
    full = "linking_rings living_piano chinese_sticks"
    t = downtown(team="magician:downtown engineer", tricks=full, rulings={"extension_slots": ruling})
    t.a.does("learn mind_reading dahlgaard_a")
    t.a.does(t.a.may[0])
    assert t.a.tricks.endswith("mind_reading:clubs*0!")


@pytest.mark.rule("TR-065", "TR-066")
def test_a_returned_trick_can_be_learnt_again() -> None:
    t = downtown(tricks="linking_rings:spades*2")
    t.a.does("give_back linking_rings", "learn linking_rings dahlgaard_a", "symbol spades")
    t.a.has(tricks="linking_rings:spades*0", supply="2 4 4 4")


@pytest.mark.rule("TR-066", "TR-C6", "TR-A33")
def test_the_clock_takes_the_symbol_with_most_markers() -> None:
    """Those of a Trick given back have left the game: under its symbol the new Trick could not be prepared."""
    t = downtown(tricks="linking_rings:spades*4 living_piano:diamonds*0")
    t.a.does("give_back linking_rings", "learn mind_reading dahlgaard_a")
    assert t.a.may == ["symbol spades", "symbol hearts", "symbol clubs"]
    t.a.waits_too_long()
    t.a.has(tricks="mind_reading:hearts*0 living_piano:diamonds*0", supply="0 4 4 4")
    t = downtown(tricks="linking_rings:spades*4", rulings=REVISED)
    t.a.does("give_back linking_rings", "learn mind_reading dahlgaard_a")
    t.a.waits_too_long()
    t.a.has(tricks="mind_reading:spades*0", supply="4 4 4 4")


@pytest.mark.rule("TR-A19")
def test_a_returned_trick_leaves_cards_but_not_what_it_paid() -> None:
    t = place(
        a=seat("engineer:theater magician:downtown", "living_piano*1", shards=0),
        b=seat("magician:theater apprentice:workshop"),
        stage="b/linking_rings@R01:0.0>down",
        rulings=REVISED,
    )
    t.a.does("place engineer friday_1", "set_up living_piano R01:0.1>up", "coins", "end")
    t.a.has(coins=11, shards=1)
    t.b.does("place magician saturday_stage")
    t.turn_of("a").does("give_back living_piano")
    t.has(stage="b/linking_rings@R01:0.0>down")
    t.a.has(coins=11, shards=1, supply="4 4 4 4")
    t.a.does("idle magician")
    t.begins("performance")
    t.b.does("perform R01")
    assert not [e for e in t.told(wire.FameGained) if e.seat == 1]


@pytest.mark.rule("TR-067", "TR-069", "TR-A40")
def test_hiring() -> None:
    t = downtown(dice="X X / assistant apprentice / X X")
    t.a.does("hire inn_b")
    t.a.has(hired="apprentice", members="magician", ap=0)
    t.has(dice="X X / assistant X / X X")
    t = downtown(dice="X X / assistant X / X X", hired="assistant")
    t.a.cannot("hire inn_a", because="TR-069")


@pytest.mark.rule("TR-A22")
def test_an_apprentice_needs_a_slot() -> None:
    three = "magician:downtown apprentice_1 apprentice_2 apprentice_3"
    dice = "X X / X apprentice / X X"
    downtown(three, dice).a.cannot("hire inn_b", because="TR-A22")
    downtown(three + " assistant", dice).a.does("hire inn_b")
    downtown(three, dice, hired="assistant").a.does("hire inn_b")
    downtown(three + " assistant", dice, hired="apprentice").a.cannot("hire inn_b", because="TR-A22")
    two = "magician:downtown apprentice_1 apprentice_2"
    downtown(two, dice, hired="apprentice").a.cannot("hire inn_b", because="TR-A22")
    all_four = three + " assistant apprentice_4"
    downtown(all_four, dice).a.cannot("hire inn_b")


@pytest.mark.rule("TR-071", "TR-C1", "TR-A38")
@pytest.mark.parametrize(("rulings", "left"), [({}, 1), (REVISED, 2)])
def test_rerolling(rulings: dict[str, str], left: int) -> None:
    t = downtown(dice="X X / X apprentice / 3 X", rulings=rulings)
    assert len(t.a.may_begin("reroll")) == 6
    t.a.does("reroll inn_b")
    t.a.has(ap=left)
    (rolled,) = t.told(wire.DieRerolled)
    assert rolled.die == 3 and t.hall.dice[3] == rolled.face
    assert not t.a.may_undo()


@pytest.mark.rule("TR-072", "TR-A21", "TR-A38")
def test_setting_a_die() -> None:
    t = downtown(dice="X optical / manager apprentice / 3 X")
    faces = {
        die: {words.split()[2] for words in t.a.may_begin(f"set {die} ")}
        for die in ("dahlgaard_a", "dahlgaard_b", "inn_a", "inn_b", "bank_a", "bank_b")
    }
    assert faces == {
        "dahlgaard_a": {"spiritual", "mechanical", "optical", "escape", "any"},
        "dahlgaard_b": {"spiritual", "mechanical", "escape", "any", "X"},
        "inn_a": {"engineer", "assistant", "X"},
        "inn_b": {"X"},
        "bank_a": {"4", "5", "6", "X"},
        "bank_b": {"3", "4", "5", "6"},
    }
    t.a.cannot("set bank_a 3", because="TR-A38")
    t.a.does("set inn_a X")
    t.a.has(ap=1)
    t.has(dice="X optical / X apprentice / 3 X")
