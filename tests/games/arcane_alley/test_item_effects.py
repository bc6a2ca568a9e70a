"""Scenarios of what single items do."""

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from tests.games.arcane_alley.script import bribe, seat, sell, stock_all


@pytest.mark.rule("AA-113", "AA-137", "RES-6")
def test_scenario_18_mirror_hides_before_sets() -> None:
    t = sell(a=seat("CM ?x CM / . u . / . . .", stash="CM y"))
    t.a.does("draw deck", "play CM 0,1")
    t.a.has(grid="?CM CM ?CM / . ?u . / . . .", gold=25)
    assert not t.told(wire.SetSold)


@pytest.mark.rule("AA-138", "RES-6")
def test_scenario_19_mirrors_on_a_diagonal() -> None:
    t = sell(a=seat("CM . . / . CM u / . OW ?x", stash="CM y"))
    t.a.does("draw deck", "play CM 2,2")
    assert t.told(wire.ItemsHidden) == [wire.ItemsHidden(0, (5, 7))]
    assert t.asked == {"a": "slide"}
    t.a.does("slide vertical")
    t.a.has(gold=30, grid=". . . / . ?OW ?u")


@pytest.mark.rule("AA-202")
def test_scenario_20_meeblemore_leaves_the_mirror_out() -> None:
    t = sell(a=seat("CM ?x CM / . u . / . . .", stash="CM y", wizard="meeblemore"))
    t.a.does("draw deck", "play CM 0,1", "skip")
    t.a.has(gold=30, grid=". u . / . . .")


@pytest.mark.rule("AA-203", "AA-204")
def test_scenario_21_meeblemore_takes_all_or_nothing() -> None:
    t = sell(a=seat(stash="CB y", wizard="meeblemore"))
    t.a.does("draw deck", "play CB 0,0")
    assert t.asked == {"a": "use_effect"} and t.a.may == ["resolve", "skip"]
    t.a.has(infamy=0)
    t.a.does("resolve")
    t.a.has(infamy=1)
    assert t.asked == {"a": "peek"}
    t.a.cannot("skip")

    t = sell(a=seat(stash="CB y", wizard="meeblemore"))
    t.a.does("draw deck", "play CB 0,0", "skip")
    t.a.has(infamy=0)
    assert t.active == "b"


@pytest.mark.rule("AA-133")
def test_scenario_22_ball_without_hidden_items() -> None:
    t = sell(a=seat("?x * * / * * * / * * *", stash="CB y"))
    t.a.does("draw deck", "play CB 0,0")
    t.a.has(infamy=1)
    t.has(active="b", trigger="a")


@pytest.mark.rule("AA-146", "AA-149", "AA-130", "RES-5")
def test_scenario_23_feline_sells_the_pair() -> None:
    t = sell(a=seat("BC FF ?x / . . . / . . .", stash="BC y", gold=25, infamy=3))
    t.a.does("draw deck", "play BC 0,2")
    assert t.a.may == ["lose infamy", "choose a", "choose b", "choose c"]
    t.a.does("lose infamy")
    t.a.has(gold=40, infamy=0, grid=". . . / . . .")
    t.has(set_aside="BC BC FF")


@pytest.mark.rule("AA-147", "AA-148", "RES-3", "AA-214")
def test_scenario_24_two_and_three_felines() -> None:
    t = sell(a=seat("FF ?x TC / . . . / . . .", stash="FF y"))
    t.a.does("draw deck", "play FF 0,1")
    t.a.has(gold=25, grid="FF FF TC / . . . / . . .")
    assert not t.told(wire.SetSold)

    for wizard, gold in (("", 25), ("byros", 28)):
        t = sell(a=seat("FF FF ?x / . . . / . . .", stash="FF y", wizard=wizard))
        t.a.does("draw deck", "play FF 0,2")
        t.a.has(gold=gold, grid=". . . / . . .")
        t.has(set_aside="FF FF FF")


@pytest.mark.rule("AA-157", "RES-5")
def test_scenario_25_two_dolls_for_three_players() -> None:
    t = sell(4, a=seat("HD FF ?x / . . . / . . .", stash="HD y"))
    t.a.does("draw deck", "play HD 0,2")
    t.a.has(gold=60)
    assert t.asked == {"a": "doll"}
    t.a.does("doll b 1,1")
    t.a.cannot("doll b 0,0", because="AA-157")
    t.a.does("doll c 0,0")
    t.b.has(grid=". . . / . HD . / . . .")
    t.c.has(grid="HD . . / . . . / . . .")
    t.d.has(grid=". . . / . . . / . . .")
    t.has(set_aside="FF", active="b")


@pytest.mark.rule("AA-117", "AA-207", "AA-209", "RES-4", "RES-13")
@pytest.mark.parametrize(
    ("dafana", "offers"), [("c", ["c", "c"]), ("a", ["a"]), ("b", ["b"]), ("", [])], ids=["c", "a", "b", "nobody"]
)
def test_scenario_26_doll_beside_a_feline(dafana: str, offers: list[str]) -> None:
    wizards = {name: "dafana" if name == dafana else "" for name in "abc"}
    t = sell(
        a=seat("HD HD ?x / . . . / . . .", stash="HD y", wizard=wizards["a"]),
        b=seat("FF HD ?BF / . . . / . . .", gold=10, infamy=3, wizard=wizards["b"]),
        c=seat(wizard=wizards["c"]),
    )
    t.a.does("draw deck", "play HD 0,2", "doll b 0,2", "doll c 0,0")
    asked = []
    while "dafana" in t.asked.values():
        (name,) = t.asked
        asked.append(name)
        t.players["abc".index(name)].does("pass")
    assert asked == offers
    t.b.has(gold=45, infamy=3, grid=". . . / . . .")
    t.has(active="b")
    assert "BF" in t.discard.split()
    sales = [event for event in t.story if isinstance(event, wire.SetSold)]
    assert [(sale.seat, sale.with_feline) for sale in sales] == [(0, False), (1, True)]


@pytest.mark.rule("AA-154", "RES-1", "RES-39")
def test_scenario_29_placed_doll_makes_no_natural_set() -> None:
    t = sell(a=seat("HD FF ?x / . . . / . . .", stash="HD y"), b=seat("HD ?z HD / . . . / . . .", stash="TC u"))
    t.a.does("draw deck", "play HD 0,2", "doll b 0,1", "doll c 0,0")
    t.b.has(grid="HD HD HD / . . . / . . .", gold=25)
    t.b.does("draw deck")
    for cell in ("0,0", "0,1", "0,2"):
        t.b.cannot(f"play TC {cell}", because="AA-154")


@pytest.mark.rule("AA-169")
def test_scenario_31_boomerang_without_storehouse() -> None:
    t = sell(a=seat("DE DE ?MB", stash="DE y"))
    t.a.does("draw deck", "play DE 0,2", "choose c")
    t.a.has(gold=45, grid="")
    assert t.discard.split()[0] == "MB"
    t.has(trigger="a")


@pytest.mark.rule("AA-166", "AA-167", "AA-168")
def test_scenario_33_boomerang_makes_a_set() -> None:
    t = sell(a=seat("?MB . . / . . . / MB MB ?x", stash="TC y"))
    t.a.does("draw deck", "play TC 0,0")
    assert t.asked == {"a": "boomerang"} and len(t.a.may) == 9
    t.a.does("boomerang 2,2")
    t.a.has(gold=30, grid="TC . . / . . .")
    assert t.discard.split()[0] == t.in_codes("x")
    assert t.active == "b"


@pytest.mark.rule("AA-174", "AA-175")
def test_scenario_35_wand() -> None:
    t = sell(a=seat("BC . . / . . . / . . .", stash="OW y"), discard="DL TC")
    t.a.does("draw deck", "play OW 0,0")
    assert t.deck.split()[0] == "DL"
    assert t.c.sees_deck.split()[:2] == ["DL", "?"]
    t.has(discard="BC TC")


@pytest.mark.rule("AA-163", "AA-164", "AA-52")
def test_scenario_36_ring_sinks() -> None:
    t = sell(a=seat(stash="IR y"), discard="DL TC")
    t.a.does("draw deck", "discard IR")
    t.has(discard="DL TC IR")

    t = sell(a=seat("?IR . . / . . . / . . .", stash="BC y"), discard="DL TC")
    t.a.does("draw deck", "play BC 0,0")
    t.has(discard="DL TC IR")


@pytest.mark.rule("AA-187", "AA-216", "RES-12")
def test_scenario_38_sword_halves() -> None:
    for wizard, gold in (("", 29), ("byros", 30)):
        t = sell(a=seat("CB CB ?x / SS . . / . . .", stash="CB y", wizard=wizard))
        t.a.does("draw deck", "play CB 0,2", "peek 1,1")
        t.a.has(gold=gold, infamy=1)

    t = sell(a=seat("DL DL ?x / SS . . / . . SS", stash="DL y"))
    t.a.does("draw deck", "play DL 0,2")
    t.a.has(gold=25 - 5 + 7)


@pytest.mark.rule("AA-188")
def test_scenario_39_set_of_swords() -> None:
    t = sell(a=seat("SS SS ?x / . . . / . . .", stash="SS y"))
    t.a.does("draw deck", "play SS 0,2")
    t.a.has(gold=50)

    t = sell(a=seat("SS SS ?x / . SS . / . . .", stash="SS y"))
    t.a.does("draw deck", "play SS 0,2")
    t.a.has(gold=37)


@pytest.mark.rule("AA-188", "RES-12")
def test_scenario_40_replaced_sword_no_longer_halves() -> None:
    t = sell(a=seat("DE DE SS / . . . / . . .", stash="DE y"))
    t.a.does("draw deck", "play DE 0,2", "choose b")
    t.a.has(gold=45)


@pytest.mark.rule("AA-191", "AA-192", "AA-193")
@pytest.mark.parametrize(("extra", "cell", "gold"), [(".", "0,0", 28), ("SS", "0,0", 26), (".", "0,1", 27)])
def test_scenario_41_coins(extra: str, cell: str, gold: int) -> None:
    t = sell(
        a=seat(f"?x TC . / . . . / . . {extra}", stash="TC y"),
        b=seat("TC . ?TC / . . . / . . TC"),
    )
    t.a.does("draw deck", f"play TC {cell}")
    t.a.has(gold=gold)


@pytest.mark.rule("AA-13", "AA-141", "AA-140")
def test_scenario_42_lotus_of_a_poor_player() -> None:
    t = sell(a=seat("DL . . / . . . / . . .", stash="DL DL", gold=3))
    t.a.does("draw deck", "play DL 0,1")
    t.a.has(gold=0)
    for other in (t.b, t.c):
        other.passes()
    t.a.does("draw deck", "play DL 0,2")
    t.a.has(gold=30)


@pytest.mark.rule("AA-126", "AA-18", "AA-21", "AA-42", "AA-45", "RES-11")
@pytest.mark.parametrize(("before", "after", "markers"), [(0, 1, 0), (23, 0, 1)])
def test_scenario_43_skeletomicon_over_a_fairy(before: int, after: int, markers: int) -> None:
    t = sell(a=seat("BF . . / . . . / . . .", stash="SK y", infamy=before))
    t.a.does("draw deck", "play SK 0,0")
    t.a.has(infamy=after, markers=markers)
    (gained,) = t.told(wire.InfamyGained)
    assert gained.infamy == (3 if before == 0 else 1)


@pytest.mark.rule("AA-98", "AA-99", "AA-151", "AA-152")
def test_scenario_44_carpets_enlarge_the_stash() -> None:
    t = sell(a=seat("FC FC ?x / FC FC ?w / . . .", stash="FC FC"))
    t.a.does("draw deck", "play FC 0,2")
    t.a.has(gold=32)
    assert len(t.a.stash.split()) == 3
    (added,) = t.told(wire.ItemsAddedToStash)
    assert added.count == 1 and t.b.sees(t.a).stash.split().count("?") == 3
    for other in (t.b, t.c):
        other.passes()
    assert len(t.a.stash.split()) == 3
    t.a.does("draw deck")
    assert len(t.a.stash.split()) == 4
    t.a.does("play FC 0,2")
    assert len(t.a.stash.split()) == 4

    t = bribe(a=seat("", stash="FC OW TC DL"), b=seat("", stash="x"))
    stock_all(t)
    assert [len(player.stash.split()) for player in t.players] == [2, 2, 2]


@pytest.mark.rule("AA-168", "RES-15")
def test_scenario_71_boomerangs_in_a_ring_end() -> None:
    t = sell(a=seat("HD HD MB", stash="MB y"))
    t.a.does("draw deck", "play MB 0,2")
    if "boomerang" in t.asked.values():
        assert t.a.may == ["boomerang 0,2"]
        t.a.does("boomerang 0,2")
    t.a.has(grid="HD HD MB")
    assert t.discard.split()[0] == "MB"
    t.has(trigger="a", active="b")


@pytest.mark.rule("AA-122", "AA-127", "AA-155", "RES-46")
def test_scenario_72_items_turned_down_by_a_mirror() -> None:
    for cell, top in (("0,2", "HD"), ("0,0", "BF")):
        t = sell(a=seat("BF ?x HD / . . . / . . .", stash="CM TC", infamy=5))
        t.a.does("draw deck", "play CM 0,1")
        t.a.has(grid="?BF CM ?HD / . . . / . . .")
        assert t.b.sees(t.a).grid.startswith("?BF CM ?HD")
        for other in (t.b, t.c):
            other.passes()
        t.a.does("draw deck", f"play TC {cell}")
        assert t.discard.split()[0] == top
        t.a.has(infamy=5)


@pytest.mark.rule("AA-146", "RES-2")
@pytest.mark.parametrize(
    ("direction", "gold", "grid"), [("vertical", 49, "?u ?v ?x"), ("horizontal", 29, "DE FF / DE ?x / ?u ?v")]
)
def test_scenario_73_feline_after_a_slide(direction: str, gold: int, grid: str) -> None:
    t = sell(a=seat("TC DE FF / DE TC ?x / ?u ?v ?w", stash="TC y"))
    t.a.does("draw deck", "play TC 2,2", f"slide {direction}")
    if direction == "vertical":
        t.a.does("choose b")
        t.b.has(gold=40, infamy=2)
    else:
        assert t.active == "b"
    t.a.has(gold=gold, grid=grid)
