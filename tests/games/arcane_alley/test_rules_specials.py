"""Rules of special items."""

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from tests.games.arcane_alley.script import inspect, seat, sell


@pytest.mark.rule("AA-105", "AA-107", "AA-106")
def test_activation_is_one_choice_among_others() -> None:
    for words, infamy in (("play ML 0,0", 0), ("discard ML", 0), ("activate ML", 5)):
        t = sell(a=seat(stash="ML y"))
        t.a.cannot("activate ML", because="AA-37")
        t.a.does("draw deck")
        assert "activate ML" in t.a.may
        t.a.does(words)
        t.a.has(infamy=infamy)
    t = sell(a=seat("ML . . / . . . / . . .", stash="BC y"))
    t.a.does("draw deck")
    t.a.cannot("activate ML", because="AA-39")
    t.a.cannot("activate BC", because="AA-105")


@pytest.mark.rule("AA-108", "AA-109", "AA-111")
def test_it_is_set_aside_for_the_round() -> None:
    t = sell(a=seat(stash="PL y"), b=seat("* . . / . . . / . . ."))
    t.a.does("draw deck", "activate PL")
    t.has(set_aside="PL")
    t.a.has(infamy=5)
    kinds = [type(e) for e in t.events]
    assert kinds.index(wire.SpecialActivated) < kinds.index(wire.InfamyGained)
    t.a.does("swap 0,0 b 0,0")
    t.has(set_aside="PL", active="b")


@pytest.mark.rule("AA-110", "AA-115")
def test_a_special_plays_by_all_steps() -> None:
    """Effect, sale, and the item replaced: a Boomerang comes back."""
    t = sell(a=seat("TC TC ?MB / . . . / . . .", stash="WW y"), discard="u TC v")
    t.a.does("draw deck", "activate WW", "take 1 0,2")
    t.a.has(gold=25 + 2 + 2, infamy=5)
    assert t.asked == {"a": "boomerang"}
    t.a.does("boomerang 0,0")
    t.a.has(grid="MB . . / . . .")
    assert t.discard.split()[1:] == t.in_codes("u v").split()


@pytest.mark.rule("AA-171", "AA-172")
def test_lamp_is_information_first() -> None:
    t = sell(a=seat(stash="ML y"), deck="q BC DE BC ...")
    t.a.does("draw deck", "activate ML")
    plays = {words.split()[1] for words in t.a.may}
    assert plays == {"BC", "DE"} and len(t.a.may) == 18
    t.a.cannot("pass")
    t.a.cannot("activate ML")
    t.a.cannot("play HD 0,0", because="AA-171")
    t.a.does("play BC 2,2")
    t.has(set_aside="BC DE ML", active="b")


@pytest.mark.rule("RES-44", "AA-172")
def test_a_special_played_by_a_special_does_nothing() -> None:
    t = sell(a=seat(stash="ML y"), deck="q PL WW SC ...")
    t.a.does("draw deck", "activate ML", "play WW 0,0")
    t.a.has(grid="WW . . / . . . / . . .", infamy=5)
    t.has(active="b", set_aside="ML PL SC")


@pytest.mark.rule("RES-45")
def test_lamp_with_two_one_and_no_items() -> None:
    for deck, discard, count in (("q r s", "", 2), ("q r", "", 1), ("q", "", 0), ("q", "u v", 1)):
        t = sell(a=seat(stash="ML y"), deck=deck, discard=discard)
        t.a.does("draw deck", "activate ML")
        assert len(t.told(wire.ItemTurnedUp)) == count
        t.a.has(infamy=5)
        if count:
            assert t.asked == {"a": "lamp"}
            t.a.does(t.a.may[0])
        assert t.active == "b"


@pytest.mark.rule("RES-23", "AA-172")
def test_specials_without_a_legal_cell_do_nothing() -> None:
    for code in ("ML", "SC", "WW"):
        t = sell(a=seat("HD HD HD", stash=f"{code} y"), discard="u v w")
        t.a.does("draw deck", f"activate {code}")
        t.a.has(infamy=5)
        assert not t.told(wire.ItemTurnedUp, wire.StashLookedAt)
        assert t.active == "b"


@pytest.mark.rule("AA-195", "AA-196", "AA-197", "RES-22")
def test_watch() -> None:
    for discard, count in (("u", 1), ("u v w", 3), ("u v w k l m", 5)):
        t = sell(a=seat(stash="WW y"), discard=discard)
        t.a.does("draw deck", "activate WW")
        assert {words.split()[1] for words in t.a.may} == {str(n) for n in range(count)}
        t.a.cannot(f"take {count} 0,0", because="AA-195")
        t.a.cannot("pass")

    t = sell(a=seat(stash="WW y"), discard="")
    t.a.does("draw deck", "activate WW")
    t.a.has(infamy=5)
    assert t.active == "b"


@pytest.mark.rule("AA-181", "AA-182", "RES-48")
def test_chalice() -> None:
    t = sell(a=seat(stash="SC y"), b=seat(stash=""), c=seat(stash="DE"))
    t.a.does("draw deck", "activate SC")
    if t.asked == {"a": "chalice_player"}:
        t.a.cannot("choose b", because="RES-48")
        t.a.does("choose c")
    assert t.asked == {"a": "chalice"} and len(t.a.may) == 9
    t.a.cannot("pass")
    t.a.does("play DE 0,0")
    t.c.has(stash="")

    t = sell(a=seat(stash="SC y"), b=seat(stash=""), c=seat(stash=""))
    t.a.does("draw deck", "activate SC")
    t.a.has(infamy=5)
    assert t.active == "b"


@pytest.mark.rule("AA-181", "RES-46")
def test_what_the_chalice_showed_stays_known() -> None:
    t = sell(a=seat(stash="SC y"), b=seat(stash="DE IR HD"))
    t.a.does("draw deck", "activate SC", "choose b")
    assert t.a.sees(t.b).stash == "DE HD IR" and t.c.sees(t.b).stash == "? ? ?"
    t.a.does("play IR 0,0")
    t.b.does("draw deck")
    assert sorted(t.a.sees(t.b).stash.split()) == ["?", "DE", "HD"]
    t.b.does("discard DE")
    assert sorted(t.a.sees(t.b).stash.split()) == ["?", "HD"]


@pytest.mark.rule("AA-177", "RES-14", "AA-116", "AA-179")
@pytest.mark.parametrize("code", ["HD", "MB", "BF", "CM", "SK", "DL"])
def test_lockbox_swaps_anything(code: str) -> None:
    t = sell(a=seat("* ?IR * / . . . / . . .", stash="PL y"), b=seat(f"{code} . . / . . . / . . .", infamy=4))
    t.a.does("draw deck", "activate PL", "swap 0,1 b 0,0")
    t.a.has(grid=f"* {code} * / . . . / . . .", infamy=5, gold=25)
    t.b.has(grid="?IR . . / . . . / . . .", infamy=4)
    assert t.active == "b"


@pytest.mark.rule("AA-177")
def test_lockbox_wants_hidden_against_revealed() -> None:
    t = sell(a=seat("* . . / . . . / . . .", stash="PL y"), b=seat("* . . / . . . / . . ."), c=seat(""))
    t.a.does("draw deck", "activate PL")
    assert len(t.a.may) == 8
    for words in ("swap 0,0 b 0,0", "swap 0,1 b 0,1", "swap 0,1 a 0,0"):
        t.a.cannot(words, because="AA-177")


@pytest.mark.rule("AA-178")
def test_lockbox_without_a_revealed_item_elsewhere() -> None:
    t = sell(a=seat(stash="PL y"))
    t.a.does("draw deck", "activate PL")
    t.a.has(infamy=5)
    t.has(active="b", set_aside="PL", trigger="")


@pytest.mark.rule("RES-14", "RES-46")
def test_knowledge_goes_with_a_swapped_item() -> None:
    t = sell(a=seat("* ?IR@a ?HD@ / . . . / . . .", stash="PL PL"), b=seat("* * . / . . . / . . ."))
    t.a.does("draw deck", "activate PL", "swap 0,1 b 0,0")
    assert t.a.sees(t.b).grid.split()[0] == "?IR" and t.b.sees(t.b).grid.split()[0] == "?"
    for player in (t.b, t.c):
        player.passes()
    t.a.does("draw deck", "activate PL", "swap 0,2 b 0,1")
    assert t.c.sees(t.b).grid.split()[1] == "?HD"


@pytest.mark.rule("AA-111", "AA-95")
def test_a_used_special_counts_no_infamy() -> None:
    t = inspect(a=seat("HT IR DL", stash="ML ML"), trigger="b", round=3)
    t.a.has(infamy=0)


@pytest.mark.rule("AA-181", "RES-48")
def test_whose_stash_the_chalice_cannot_look_at() -> None:
    t = sell(4, a=seat(stash="SC y"), b=seat(stash=""))
    t.a.does("draw deck", "activate SC")
    assert t.a.may == ["choose c", "choose d"]
    assert t.a.cannot("choose a", because="AA-181").reason == "NOT_YOURSELF"
    assert t.a.cannot("choose b", because="RES-48").reason == "EMPTY_STASH"
    assert t.a.cannot("choose e", because="AA-103").reason == "NO_SUCH_SEAT"
