"""Rules of the single items, and of effects in general."""

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from guildhall.arcane_alley.v1.structs import Item
from services.arcane_alley.content import PACK_HASH, PACKS
from services.arcane_alley.effect_steps import Step
from tests.games.arcane_alley.notation import CODES
from tests.games.arcane_alley.script import inspect, seat, sell, spectator_sees

CONTENT = PACKS[PACK_HASH]

VALUES = {
    "BF": (12, 3), "BC": (15, 4), "CB": (9, 3), "CM": (5, -5), "DL": (30, 0), "DE": (20, 4), "FF": (0, 8),
    "FC": (7, 2), "HD": (35, 7), "HT": (0, -2), "IR": (1, 0), "MB": (5, 2), "ML": (0, 10), "OW": (3, 1),
    "PL": (0, 10), "SC": (0, 10), "SK": (30, 6), "SS": (25, 5), "TC": (2, 1), "WW": (0, 10),
}  # fmt: skip
"""Set gold and infamy of each item, as the rulebook prints them."""


@pytest.mark.rule(
    "AA-22", "AA-125", "AA-129", "AA-132", "AA-136", "AA-140", "AA-142", "AA-145", "AA-150", "AA-153", "AA-160",
    "AA-162", "AA-165", "AA-170", "AA-173", "AA-176", "AA-180", "AA-183", "AA-186", "AA-190", "AA-194",
)  # fmt: skip
@pytest.mark.parametrize("code", sorted(CODES))
def test_values_of_an_item(code: str) -> None:
    gold, infamy = VALUES[code]
    # Five players, for whom there are three copies of each special.
    set_made = inspect(5, a=seat(f"{code} {code} ?{code}"), trigger="b", round=3)
    set_made.a.has(gold=25 + gold, infamy=0, grid="")
    left = inspect(a=seat(f"?{code} BC ?SK"), b=seat(""), c=seat(""), trigger="b", round=3)
    assert next(e.total for e in left.events if isinstance(e, wire.InfamyCounted)) == infamy + 4 + 6


@pytest.mark.rule("AA-101", "AA-104")
def test_icons() -> None:
    """Which timing each item has; some have two."""

    def having(by_front: tuple[tuple[Step, ...], ...]) -> set[str]:
        return {code for code, item in CODES.items() if by_front[item]}

    assert having(CONTENT.activated) == {"ML", "PL", "SC", "WW"}
    assert having(CONTENT.played) == {"CB", "CM", "DL", "OW", "SK", "TC"}
    assert having(CONTENT.sold) == {"BC", "DE", "FC", "HD", "HT", "SK"}
    assert CONTENT.pairing == {Item.FACSIMILOUS_FELINE} and CONTENT.returning == {Item.MAGIC_BOOMERANG}
    assert CONTENT.sinking == {Item.INVISIBLE_RING}
    assert {card & 0xFF for card in CONTENT.locked} == {Item.HAUNTED_DOLL}
    assert {card & 0xFF for card in CONTENT.halving} == {Item.SOVEREIGN_SWORD}
    assert CONTENT.lost_if_replaced[Item.BOTTLED_FAIRY] == 2 and sum(CONTENT.lost_if_replaced) == 2


# --- effects in general


@pytest.mark.rule("AA-102", "AA-113")
def test_played_before_sold() -> None:
    t = sell(a=seat("TC TC ?x / . . . / . . .", stash="TC y"))
    t.a.does("draw deck", "play TC 0,2")
    gains = [(e.amount, e.cause) for e in t.told(wire.GoldGained)]
    assert gains == [(2, wire.Cause.PLAYED), (2, wire.Cause.SET)]


@pytest.mark.rule("AA-103", "RES-50")
def test_effects_cannot_be_declined() -> None:
    t = sell(a=seat(stash="CB y"))
    t.a.does("draw deck", "play CB 0,0")
    for words in ("skip", "pass", "resolve"):
        t.a.cannot(words)
    assert len(t.a.may) == 8

    t = sell(2, a=seat("DE DE ?x / . . . / . . .", stash="DE y"), b=seat(gold=60), turn=2)
    t.a.does("draw deck", "play DE 0,2")
    t.b.has(gold=75, infamy=2)


@pytest.mark.rule("AA-131", "RES-50", "RES-33")
def test_cauldron_at_no_infamy_and_for_oneself() -> None:
    for words, own in (("lose infamy", 0), ("choose a", 3), ("choose c", 0)):
        t = sell(a=seat("BC BC ?x / . . . / . . .", stash="BC y"))
        t.a.does("draw deck", "play BC 0,2", words)
        t.a.has(infamy=own)
        t.c.has(infamy=3 if words == "choose c" else 0)


@pytest.mark.rule("AA-112", "AA-115")
def test_played_effect_of_a_boomerangs_victim_and_of_a_special() -> None:
    t = sell(a=seat(stash="WW y"), discard="SK u")
    t.a.does("draw deck", "activate WW", "take 0 0,0")
    t.a.has(infamy=8)
    t = sell(a=seat(stash="SK y"))
    t.a.does("draw deck", "play SK 0,0")
    t.a.has(infamy=3)
    assert t.active == "b"


@pytest.mark.rule("AA-114", "AA-75", "AA-120")
@pytest.mark.parametrize("code", ["CB", "CM", "DL", "OW", "SK", "TC"])
def test_no_played_effect_when_revealed(code: str) -> None:
    t = inspect(a=seat(f"BC ?{code} DE"), b=seat(""), c=seat(""), trigger="b", round=3)
    t.a.has(gold=25, infamy=max(0, 4 + 4 + VALUES[code][1]), grid=f"BC {code} DE")


@pytest.mark.rule("AA-119", "AA-185", "RES-51")
def test_skeletomicons_hit_all_others_once_in_turn_order() -> None:
    t = sell(4, a=seat(), b=seat(), c=seat("SK SK ?x / . . . / . . .", stash="SK y"), active="c", first="b")
    t.c.does("draw deck", "play SK 0,2")
    assert [(e.seat, e.amount) for e in t.told(wire.InfamyGained)] == [(2, 3), (1, 5), (3, 5), (0, 5)]
    t.c.has(gold=55)


@pytest.mark.rule("AA-121", "AA-123", "AA-124", "AA-122")
def test_always_active_while_revealed_in_the_storehouse() -> None:
    """A Sword halves while revealed; not while hidden, in a stash, or in another's storehouse."""
    for grid, stash, gold in (("SS", "y", 28), ("?SS", "y", 32), (".", "SS", 32)):
        t = sell(
            a=seat(f"FC FC ?x / {grid} . . / . . .", stash=f"FC {stash}"),
            b=seat("SS . . / . . . / . . ."),
            deck="q ...",
        )
        t.a.does("draw deck", "play FC 0,2")
        t.a.has(gold=gold)


@pytest.mark.rule("AA-122", "AA-154", "AA-155")
def test_hidden_always_items_do_nothing() -> None:
    t = sell(a=seat("DE DE ?x / ?HD ?SS . / . . ?FF", stash="FF HD"), deck="q ...")
    t.a.does("draw deck")
    assert "play FF 1,0" in t.a.may
    t.a.does("play FF 0,2", "choose b")
    t.a.has(gold=45)

    t = sell(a=seat("DE ?FF ?x / . . . / . . .", stash="DE y"))
    t.a.does("draw deck", "play DE 0,2")
    t.a.has(gold=25)


# --- single items


@pytest.mark.rule("AA-126", "AA-127", "AA-128")
@pytest.mark.parametrize(("grid", "lost"), [("BF", 2), ("?BF", 0), ("?BF@", 0), ("?BF@a", 0)])
def test_fairy(grid: str, lost: int) -> None:
    t = sell(a=seat(f"{grid} . . / . . . / . . .", stash="BC BF", infamy=9))
    t.a.does("draw deck", "play BC 0,0")
    t.a.has(infamy=9 - lost)
    assert t.active == "b" and t.discard.split()[0] == "BF"


@pytest.mark.rule("AA-126", "AA-17")
def test_fairy_with_one_infamy() -> None:
    t = sell(a=seat("BF . . / . . . / . . .", stash="BC y", infamy=1))
    t.a.does("draw deck", "play BC 0,0")
    t.a.has(infamy=0)


@pytest.mark.rule("AA-133", "AA-134", "AA-135", "RES-46")
def test_ball() -> None:
    t = sell(a=seat("* ?HD ?IR / . . . / . . .", stash="CB y"))
    t.a.does("draw deck", "play CB 1,1")
    t.a.has(infamy=1)
    assert t.asked == {"a": "peek"} and "peek 0,0" not in t.a.may and "peek 1,1" not in t.a.may
    t.a.cannot("peek 0,0", because="AA-133")
    t.a.does("peek 0,1")
    assert t.a.sees(t.a).grid.split()[1:3] == ["?HD", "?"]
    assert t.b.sees(t.a).grid.split()[1:3] == ["?", "?"] == spectator_sees(t, t.a).grid.split()[1:3]
    assert [e.cell for e in t.told(wire.ItemPeeked)] == [1]
    for player in (t.b, t.c, t.a):
        player.passes()
    assert t.a.sees(t.a).grid.split()[1] == "?HD"


@pytest.mark.rule("AA-133")
def test_ball_does_not_look_at_the_item_taken_out() -> None:
    t = sell(a=seat("?HD * * / * * ?IR / * * *", stash="CB y"))
    t.a.does("draw deck", "play CB 0,0")
    assert [e.cell for e in t.told(wire.ItemPeeked)] == [5]


@pytest.mark.rule("AA-137", "AA-138")
def test_mirror_hides_neighbours_only() -> None:
    t = sell(a=seat("k l m / n ?x o / p q r", stash="CM y"))
    t.a.does("draw deck", "play CM 1,1")
    t.a.has(grid="k ?l m / ?n CM ?o / p ?q r")
    t = sell(a=seat("HD SS FF", stash="CM y"))
    t.a.does("draw deck", "play CM 0,1")
    t.a.has(grid="?HD CM ?FF")


@pytest.mark.rule("AA-139")
def test_mirrors_lower_the_total() -> None:
    t = inspect(a=seat("CM CM HD", infamy=10), b=seat(""), c=seat(""), trigger="b", round=3)
    t.a.has(infamy=7)


@pytest.mark.rule("AA-141", "AA-63")
@pytest.mark.parametrize(("gold", "left"), [(25, 20), (5, 0), (2, 0), (0, 0)])
def test_lotus(gold: int, left: int) -> None:
    t = sell(a=seat(stash="DL y", gold=gold))
    t.a.does("draw deck", "play DL 0,0")
    t.a.has(gold=left)


@pytest.mark.rule("AA-143", "AA-144")
def test_egg_for_any_other() -> None:
    t = sell(4, b=seat("DE DE ?x / . . . / . . .", stash="DE y"), active="b")
    t.b.does("draw deck", "play DE 0,2")
    assert t.b.may == ["choose a", "choose c", "choose d"]
    t.b.cannot("choose b", because="AA-144")
    t.b.does("choose d")
    t.d.has(gold=40, infamy=2)


@pytest.mark.rule("AA-146", "AA-149")
@pytest.mark.parametrize("grid", ["FF DE ?x", "DE FF ?x"])
def test_feline_in_any_place(grid: str) -> None:
    t = sell(a=seat(f"{grid} / . . . / . . .", stash="DE y"))
    t.a.does("draw deck", "play DE 0,2", "choose b")
    t.a.has(gold=45)
    t.has(set_aside="DE DE FF")


@pytest.mark.rule("AA-146", "AA-149")
def test_feline_played_as_the_third() -> None:
    t = sell(a=seat("DE DE ?x / . . . / . . .", stash="FF y"))
    t.a.does("draw deck", "play FF 0,2", "choose b")
    t.a.has(gold=45)


@pytest.mark.rule("AA-151", "AA-152", "RES-20")
def test_carpets_item_is_the_owners_secret() -> None:
    t = sell(a=seat("FC FC ?x / . . . / . . .", stash="FC y"), deck="q HD ...")
    t.a.does("draw deck", "play FC 0,2")
    t.a.has(stash="y q HD", gold=32)
    assert t.b.sees(t.a).stash == "? ? ?" and "HD" in t.a.sees(t.a).stash

    t = sell(a=seat("FC FC ?x / . . . / . . .", stash="FC y"), deck="q", discard="")
    t.a.does("draw deck", "play FC 0,2")
    t.a.has(stash="y q", gold=32)


@pytest.mark.rule("AA-156", "AA-158", "RES-39")
def test_dolls_one_by_one() -> None:
    t = sell(
        a=seat("HD HD ?x / . . . / . . .", stash="HD y"),
        b=seat("* ?IR . / . . . / . . ."),
        c=seat("* ?BC . / . . . / . . ."),
        discard="u",
    )
    t.a.does("draw deck", "play HD 0,2")
    t.a.cannot("doll b 0,0", because="AA-156")
    t.a.cannot("doll a 1,0")
    t.a.does("doll c 0,1")
    t.c.has(grid="* HD . / . . . / . . .")
    t.has(discard="BC u")
    assert t.asked == {"a": "doll"} and {words.split()[1] for words in t.a.may} == {"b"}
    t.a.does("doll b 0,1")
    # The Ring sinks at once; then the item that the play replaced comes.
    t.has(discard="x BC u IR", set_aside="HD", active="b")


@pytest.mark.rule("AA-159")
def test_dolls_need_hidden_items() -> None:
    t = sell(a=seat("HD HD ?x / . . . / . . .", stash="HD y"), b=seat("* * *"), c=seat(""))
    t.a.does("draw deck", "play HD 0,2")
    assert t.active == "b"
    t.has(set_aside="HD HD HD")

    t = sell(a=seat("HD HD ?x / . . . / . . .", stash="HD y"), b=seat("* * *"))
    t.a.does("draw deck", "play HD 0,2")
    t.a.cannot("doll b 0,0")
    assert {words.split()[1] for words in t.a.may} == {"c"}


@pytest.mark.rule("RES-13", "AA-166")
def test_doll_on_a_boomerang_or_a_fairy() -> None:
    t = sell(
        a=seat("HD HD ?x / . . . / . . .", stash="HD y"),
        b=seat("?MB . . / . . . / . . ."),
        c=seat("?BF . . / . . . / . . .", infamy=6),
        discard="u",
    )
    t.a.does("draw deck", "play HD 0,2", "doll b 0,0", "doll c 0,0")
    t.has(discard="x BF MB u", active="b")
    t.c.has(infamy=6)


@pytest.mark.rule("AA-161")
@pytest.mark.parametrize("who", ["a", "b", "c"])
def test_toad(who: str) -> None:
    t = sell(a=seat("HT HT ?x / . . . / . . .", stash="HT y"))
    t.a.does("draw deck", "play HT 0,2", f"choose {who}")
    assert t.hall.infamy == [5 * (who == name) for name in "abc"]


@pytest.mark.rule("AA-163", "RES-19")
def test_rings_only() -> None:
    t = sell(a=seat(stash="IR y"), discard="IR")
    t.a.does("draw deck", "discard IR")
    t.has(discard="IR IR")
    t.b.does("draw deck", "discard " + t.b.stash.split()[0])
    assert t.discard.endswith("IR IR")


@pytest.mark.rule("AA-164")
def test_revealed_ring_is_replaced() -> None:
    t = sell(a=seat("IR . . / . . . / . . .", stash="BC y"), discard="DL TC")
    t.a.does("draw deck", "play BC 0,0")
    t.has(discard="DL TC IR")


@pytest.mark.rule("AA-166", "AA-168")
@pytest.mark.parametrize("grid", ["MB", "?MB"])
def test_boomerang_is_played_again(grid: str) -> None:
    t = sell(a=seat(f"{grid} BF HD / . . . / . . .", stash="BC y", infamy=5))
    t.a.does("draw deck", "play BC 0,0")
    assert t.asked == {"a": "boomerang"}
    assert t.b.sees(t.a).grid.split()[0] == "BC"
    t.a.cannot("boomerang 0,2", because="AA-154")
    t.a.cannot("discard MB", because="AA-168")
    t.a.cannot("pass")
    t.a.does("boomerang 0,1")
    t.a.has(grid="BC MB HD / . . . / . . .", infamy=3)
    assert t.discard.split()[0] == "BF" and t.active == "b"


@pytest.mark.rule("RES-15a", "AA-166")
def test_boomerang_returns_to_its_place() -> None:
    t = sell(a=seat("MB * * / . . . / . . .", stash="BF y", infamy=5))
    t.a.does("draw deck", "play BF 0,0", "boomerang 0,0")
    t.a.has(grid="MB * * / . . . / . . .", infamy=3)
    assert t.discard.split()[0] == "BF"

    t = sell(a=seat("MB * * / . . . / . . .", stash="HD y"))
    t.a.does("draw deck", "play HD 0,0")
    t.a.cannot("boomerang 0,0", because="AA-154")


@pytest.mark.rule("AA-167")
def test_boomerang_comes_after_effect_and_sale() -> None:
    t = sell(a=seat("CB CB ?MB / . . . / . . .", stash="CB y"))
    t.a.does("draw deck", "play CB 0,2")
    assert t.asked == {"a": "peek"}
    t.a.does("peek 1,1")
    t.a.has(gold=34, grid=". . . / . . .")
    assert t.asked == {"a": "boomerang"}
    t.a.does("boomerang 0,0")
    t.a.has(grid="MB . . / . . .")


@pytest.mark.rule("RES-15")
def test_a_chain_of_boomerangs_ends() -> None:
    t = sell(a=seat("MB MB k / . . . / . . .", stash="BC y"))
    t.a.does("draw deck", "play BC 0,0", "boomerang 0,1")
    t.a.cannot("boomerang 0,1", because="RES-15")
    t.a.does("boomerang 0,2")
    t.a.has(grid="BC MB MB / . . . / . . .")
    assert t.discard.split()[0] == t.in_codes("k")
    # In the next turn they may be replaced again.
    for player in (t.b, t.c):
        player.passes()
    t.a.does("draw deck", f"play {t.a.stash.split()[0]} 0,1", "boomerang 0,2", "boomerang 1,0")
    assert t.active == "b"


@pytest.mark.rule("RES-16", "AA-169")
def test_boomerang_among_dolls() -> None:
    t = sell(a=seat("HD MB HD", stash="HD y"))
    t.a.does("draw deck", "play HD 0,1", *["doll b 0,0", "doll c 0,0"])
    t.a.has(grid="")
    assert t.discard.split()[0] == "MB"

    # Five players, so that there are enough Dolls; these two stand beside another item.
    t = sell(5, a=seat("HD / HD / ?MB", stash="HD y"))
    t.a.does("draw deck", "play HD 2,0")
    t.a.has(gold=60)


@pytest.mark.rule("AA-174", "AA-175", "RES-21")
def test_wand() -> None:
    t = sell(a=seat(stash="OW y"), discard="")
    t.a.does("draw deck", "play OW 0,0")
    assert not t.told(wire.ItemPutOnDeck)
    assert len(t.discard.split()) == 1

    t = sell(a=seat("k . . / . . . / . . .", stash="OW y"), discard="HD u")
    t.a.does("draw deck", "play OW 0,0")
    assert [p.sees_deck.split()[0] for p in t.players] == ["HD"] * 3
    t.b.does("draw deck")
    assert "HD" in t.c.sees(t.b).stash


@pytest.mark.rule("AA-184", "AA-185", "AA-104")
def test_skeletomicon_has_two_effects() -> None:
    t = sell(a=seat("SK SK ?x / . . . / . . .", stash="SK y", infamy=1))
    t.a.does("draw deck", "play SK 0,2")
    assert t.hall.infamy == [4, 5, 5]


@pytest.mark.rule("AA-187", "AA-189", "RES-12")
def test_sword_halves_gains_of_any_source_but_no_losses() -> None:
    t = sell(a=seat("TC SS TC / . TC . / . . .", stash="TC DL"))
    t.a.does("draw deck", "play TC 1,0")
    t.a.has(gold=26)
    for player in (t.b, t.c):
        player.passes()
    t.a.does("draw deck", "play DL 2,2")
    t.a.has(gold=21)


@pytest.mark.rule("RES-12")
@pytest.mark.parametrize(("stacks", "gold"), [("true", 7), ("false", 15)])
def test_two_swords(stacks: str, gold: int) -> None:
    t = sell(a=seat("DL DL ?x / SS . SS / . . .", stash="DL y"), rulings={"sword_stacks": stacks})
    t.a.does("draw deck", "play DL 0,2")
    t.a.has(gold=20 + gold)


@pytest.mark.rule("RES-12", "AA-216")
@pytest.mark.parametrize(("separately", "gold"), [("true", 1 + 1), ("false", 3)])
def test_byros_and_a_sword(separately: str, gold: int) -> None:
    t = sell(
        a=seat("OW OW ?x / SS . . / . . .", stash="OW y", wizard="byros"),
        rulings={"byros_halved_separately": separately},
    )
    t.a.does("draw deck", "play OW 0,2")
    t.a.has(gold=25 + gold)


@pytest.mark.rule("AA-191", "AA-192", "AA-193")
def test_hidden_and_discarded_coins_do_not_count() -> None:
    t = sell(a=seat("?TC . . / . . . / . . .", stash="TC TC"), b=seat(". ?TC@ . / . . . / . . ."), discard="TC")
    t.a.does("draw deck", "play TC 0,0")
    t.a.has(gold=25)


@pytest.mark.rule("AA-40", "AA-133", "AA-166")
def test_cells_beyond_the_storehouse_are_refused() -> None:
    t = sell(a=seat("?MB . . / . . .", stash="CB y"))
    t.a.does("draw deck", "play CB 0,0")
    assert t.asked == {"a": "peek"}
    for cell in ("2,0", "2,1"):
        assert t.a.cannot(f"peek {cell}", because="AA-40").reason == "NO_SUCH_CELL"
    t.a.does("peek 0,1")
    for cell in ("2,0", "2,1"):
        assert t.a.cannot(f"boomerang {cell}", because="AA-40").reason == "NO_SUCH_CELL"
