"""Rules of the wizards."""

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from tests.games.arcane_alley.script import inspect, new_game, seat, sell, stock_all

NONE = seat("")


@pytest.mark.rule("AA-198", "AA-09")
def test_a_power_is_its_owners() -> None:
    t = sell(a=seat("FC FC ?x / . . . / . . .", stash="FC y"), b=seat(wizard="byros"))
    t.a.does("draw deck", "play FC 0,2")
    t.a.has(gold=32)
    t.b.has(gold=25)


@pytest.mark.rule("AA-199", "AA-200", "AA-201", "RES-29")
def test_glynna() -> None:
    for words, total in (("pass", 6 + 7 + 4), ("remove 0,0", 7 + 4), ("remove 0,1", 6 + 4)):
        t = inspect(a=seat("?SK ?HD BC", wizard="glynna"), b=NONE, c=NONE, trigger="b", round=3)
        assert t.asked == {"a": "glynna"}
        t.a.cannot("remove 0,2", because="AA-199")
        t.a.does(words)
        t.a.has(infamy=total)
    t = inspect(a=seat("SK HD BC", wizard="glynna"), b=NONE, c=NONE, trigger="b", round=3)
    assert t.game.ended is not None


@pytest.mark.rule("AA-201", "RES-29")
def test_glynnas_hole_breaks_stacks_and_slides_along() -> None:
    t = inspect(a=seat("?DL DL DL / CB ?CB CB / . ?TC *", wizard="glynna"), b=NONE, c=NONE, trigger="b", round=3)
    t.a.does("remove 0,0")
    t.a.has(gold=34)
    t.a.has(grid="-- DL DL / * TC *")
    assert all(viewer.sees(t.a).grid.split()[0] == "--" for viewer in t.players)
    for viewer in (*range(3), None):
        assert 0 in t.game.view(viewer).set_aside, "the removed item is seen"


@pytest.mark.rule("RES-40")
@pytest.mark.parametrize(("ruling", "seen"), [("own_reveal", True), ("before_first_reveal", False)])
def test_when_glynna_decides(ruling: str, seen: bool) -> None:
    t = inspect(
        a=seat("?SK HD BC"), b=seat("?DE HD BC", wizard="glynna"), trigger="c", rulings={"glynna_timing": ruling}
    )
    assert t.asked == {"b": "glynna"}
    assert (t.b.sees(t.a).grid.split()[0] == "SK") == seen


@pytest.mark.rule("AA-202", "AA-203", "RES-43")
def test_meeblemore_is_asked_for_each_played_effect_only() -> None:
    for code in ("CB", "CM", "DL", "OW", "SK", "TC"):
        t = sell(a=seat(stash=f"{code} y", wizard="meeblemore"))
        t.a.does("draw deck", f"play {code} 0,0")
        assert t.asked == {"a": "use_effect"}
        t.a.does("skip")
        t.a.has(gold=25, infamy=0)
        assert [e.item for e in t.told(wire.EffectSkipped)] and t.active == "b"
    for code in ("BF", "BC", "HD", "IR", "MB", "FF", "SS", "ML"):
        t = sell(a=seat(stash=f"{code} y", wizard="meeblemore"))
        t.a.does("draw deck", f"play {code} 0,0")
        assert t.active == "b"
    t = sell(a=seat("?MB . . / . . . / . . .", stash="SK y", wizard="meeblemore"))
    t.a.does("draw deck", "play SK 0,0", "skip")
    assert t.asked == {"a": "boomerang"}


@pytest.mark.rule("AA-205", "AA-206")
def test_corvus_has_four_in_every_stock() -> None:
    t = new_game(3, wizards="corvus,byros,ninx")
    stock_all(t)
    assert [len(p.stash.split()) for p in t.players] == [4, 2, 2]


@pytest.mark.rule("AA-207", "AA-208")
@pytest.mark.parametrize(("gold", "infamy", "asked"), [(3, 5, True), (2, 5, False), (25, 1, True), (25, 0, True)])
def test_dafana(gold: int, infamy: int, asked: bool) -> None:
    t = sell(a=seat("FC FC ?x / . . . / . . .", stash="FC y"), b=seat(gold=gold, infamy=infamy, wizard="dafana"))
    t.a.does("draw deck", "play FC 0,2")
    assert (t.asked == {"b": "dafana"}) == asked
    if asked:
        assert t.b.may == ["pay", "pass"]
        t.b.does("pay")
        t.b.has(gold=gold - 3, infamy=max(0, infamy - 2))
    assert t.active == "b"


@pytest.mark.rule("AA-207")
def test_dafana_may_decline() -> None:
    t = sell(a=seat("FC FC ?x / . . . / . . .", stash="FC y"), b=seat(infamy=5, wizard="dafana"))
    t.a.does("draw deck", "play FC 0,2")
    t.b.does("pass")
    t.b.has(gold=25, infamy=5)
    assert t.active == "b" and t.asked == {"b": "draw"}


@pytest.mark.rule("AA-208", "AA-209")
def test_dafana_once_per_set_also_in_inspection_never_for_her_own() -> None:
    t = inspect(
        a=seat("?OW OW OW / OW OW ?OW"), b=seat("FC FC ?FC", infamy=9, wizard="dafana"), c=NONE, trigger="c", round=3
    )
    t.a.does("sell 0,0 0,2")
    t.b.does("pay")
    assert t.asked == {"b": "dafana"}
    t.b.does("pay")
    t.b.has(gold=25 - 6 + 7, infamy=5)
    assert t.game.ended is not None


@pytest.mark.rule("RES-28")
@pytest.mark.parametrize(("ruling", "infamy"), [("after_sold_effect", 3), ("before_sold_effect", 5)])
def test_when_dafana_is_asked(ruling: str, infamy: int) -> None:
    """A Toad's 5 infamy come before or after her offer; she has none to lose before."""
    t = sell(
        a=seat("HT HT ?x / . . . / . . .", stash="HT y"),
        b=seat(wizard="dafana"),
        rulings={"dafana_window": ruling},
    )
    t.a.does("draw deck", "play HT 0,2")
    if ruling == "after_sold_effect":
        t.a.does("choose b")
        t.b.does("pay")
    else:
        t.b.does("pay")
        t.a.does("choose b")
    t.b.has(infamy=infamy, gold=22)
    assert t.active == "b"


@pytest.mark.rule("AA-210", "AA-211", "AA-212", "RES-50")
def test_ninx() -> None:
    t = inspect(a=seat("HD BC HT", wizard="ninx"), b=NONE, c=NONE, trigger="b", round=3)
    assert t.asked == {"a": "ninx"} and t.a.may == ["count HD", "count BC", "count HT"]
    t.a.cannot("pass")
    t.a.cannot("count SK", because="AA-210")
    t.a.does("count HD")
    t.a.has(gold=32, infamy=9)
    t = inspect(a=seat("HD BC HT", wizard="ninx", gold=1), b=NONE, c=NONE, trigger="b", round=3)
    t.a.does("count HT")
    t.a.has(gold=0)
    t = inspect(a=seat("", wizard="ninx"), b=NONE, c=NONE, trigger="b", round=3)
    assert t.game.ended is not None
    t.a.has(gold=25)


@pytest.mark.rule("RES-27")
@pytest.mark.parametrize(("ruling", "gold"), [("true", 31), ("false", 25)])
def test_ninx_with_a_total_of_nothing(ruling: str, gold: int) -> None:
    t = inspect(
        a=seat("SK CM DL", wizard="ninx"),
        b=NONE,
        c=NONE,
        trigger="b",
        round=3,
        rulings={"ninx_applies_when_total_not_positive": ruling},
    )
    # 6 - 5 = 1 is positive: asked either way. With a Mirror more it is not.
    t.a.does("count SK")
    t = inspect(
        a=seat("SK CM HT", wizard="ninx"),
        b=NONE,
        c=NONE,
        trigger="b",
        round=3,
        rulings={"ninx_applies_when_total_not_positive": ruling},
    )
    if ruling == "true":
        t.a.does("count SK")
    t.a.has(gold=gold)
    assert t.game.ended is not None


@pytest.mark.rule("RES-41")
def test_ninx_once_per_inspection() -> None:
    t = inspect(a=seat("HD BC TC", wizard="ninx"), b=NONE, c=NONE, trigger="a", round=3)
    t.a.does("count HD")
    t.a.has(gold=32, infamy=22)
    assert len([e for e in t.story if isinstance(e, wire.GoldGained)]) == 1


@pytest.mark.rule("AA-213", "AA-214", "AA-216")
def test_byros() -> None:
    for code, gold in (("FC", 10), ("HT", 3)):
        t = sell(a=seat(f"{code} {code} ?x / . . . / . . .", stash=f"{code} y", wizard="byros"))
        t.a.does("draw deck", f"play {code} 0,2")
        t.a.has(gold=25 + gold)


@pytest.mark.rule("AA-213", "RES-4")
def test_byros_on_anothers_turn() -> None:
    t = sell(a=seat("HD HD ?x / . . . / . . .", stash="HD y"), b=seat("FF HD . / . . . / . . .", wizard="byros"))
    t.a.does("draw deck", "play HD 0,2", "doll b 0,2", "doll c 0,0")
    t.b.has(gold=25 + 35 + 3)
