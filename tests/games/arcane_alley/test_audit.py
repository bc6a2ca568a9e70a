"""Corners of rules and rulings where several things meet."""

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from tests.games.arcane_alley.script import inspect, new_game, seat, sell

NONE = seat("")


@pytest.mark.rule("RES-20", "AA-94", "AA-151")
@pytest.mark.parametrize(
    ("ruling", "deck", "discard"), [("eager_on_empty_with_2plus_discard", "w", "x u"), ("lazy_on_draw", "", "x u w")]
)
def test_a_carpet_takes_the_last_item_of_the_deck(ruling: str, deck: str, discard: str) -> None:
    """The deck is rebuilt before the item that the play replaced comes on top of the discard."""
    t = sell(
        a=seat("FC FC ?x / . . . / . . .", stash="FC y"),
        deck="q v",
        discard="u w",
        rulings={"reshuffle_when": ruling},
    )
    t.a.does("draw deck", "play FC 0,2")
    t.has(deck=deck, discard=discard)
    t.a.has(stash="y q v")


@pytest.mark.rule("RES-20", "AA-171")
def test_a_lamp_takes_the_last_items_of_the_deck() -> None:
    t = sell(a=seat("o . . / . . . / . . .", stash="ML y"), deck="q r s v", discard="k l")
    t.a.does("draw deck", "activate ML")
    assert t.asked == {"a": "lamp"}
    t.has(deck="l", discard="k")


@pytest.mark.rule("RES-20", "RES-45")
def test_a_lamp_rebuilds_a_deck_that_is_rebuilt_lazily() -> None:
    t = sell(a=seat(stash="ML y"), deck="q r", discard="k l m", rulings={"reshuffle_when": "lazy_on_draw"})
    t.a.does("draw deck", "activate ML")
    assert len(t.told(wire.ItemTurnedUp)) == 3
    t.has(deck="", discard="k")


@pytest.mark.rule("RES-2", "RES-39", "AA-62")
def test_felines_of_several_storehouses_clockwise_from_the_active_seat() -> None:
    """Each owner chooses how the own storehouse slides, also on another's turn."""
    t = sell(
        5,
        d=seat("HD HD ?x / . . . / . . .", stash="HD y"),
        e=seat("FF . . / . HD . / . . ?BF"),
        a=seat("FF HD ?k / . . . / . . ."),
        active="d",
    )
    t.d.does("draw deck", "play HD 0,2", "doll a 0,2", "doll e 2,2", "doll b 0,0")
    assert t.asked == {"e": "slide"}
    t.a.has(gold=25)
    t.e.does("slide horizontal")
    assert [e.seat for e in t.story if isinstance(e, wire.SetSold)] == [3, 4, 0]
    t.a.has(gold=60)
    t.e.has(gold=60)
    assert t.active == "e"


@pytest.mark.rule("RES-2", "AA-146")
def test_a_lockbox_brings_a_feline_its_pair() -> None:
    """The Feline was there; the swap brings the second of the pair, so its set is sold at once."""
    t = sell(a=seat("OW FF ?x / . . . / . . .", stash="PL y"), b=seat("OW . . / . . . / . . ."))
    t.a.does("draw deck", "activate PL", "swap 0,2 b 0,0")
    t.a.has(gold=28, infamy=5, grid=". . . / . . .")
    assert t.active == "b"


@pytest.mark.rule("RES-27")
@pytest.mark.parametrize(("ruling", "asked"), [("true", True), ("false", False)])
def test_ninx_with_a_total_of_exactly_nothing(ruling: str, asked: bool) -> None:
    t = inspect(
        a=seat("CM BC TC", wizard="ninx"), b=NONE, c=NONE, trigger="b", round=3,
        rulings={"ninx_applies_when_total_not_positive": ruling},
    )  # fmt: skip
    assert (t.asked == {"a": "ninx"}) == asked
    assert (t.game.ended is None) == asked


@pytest.mark.rule("AA-120", "AA-65")
@pytest.mark.parametrize("code", ["BC", "DE", "FC", "HD", "HT", "SK"])
def test_no_sold_effect_in_an_inspection(code: str) -> None:
    """Nobody is asked, nobody gains, no Doll is placed, no stash grows; also for the seat whose turn was the last."""
    t = inspect(a=seat(f"{code} {code} ?{code}"), b=NONE, c=seat("IR DL IR"), trigger="c", round=3)
    assert t.game.ended is not None
    assert t.hall.infamy == [0, 0, 0] and t.hall.gold[1:] == [25, 25]
    assert not [e for e in t.story if isinstance(e, wire.DollPlaced | wire.ItemsAddedToStash)]


@pytest.mark.rule("AA-137", "AA-138")
@pytest.mark.parametrize(
    ("grid", "cell", "after"),
    [
        ("k l m / n ?x o", "1,1", "k ?l m / ?n CM ?o"),
        ("k l ?x / n o p", "0,2", "k ?l CM / n o ?p"),
        ("k l / ?x n / o p", "1,0", "?k l / CM ?n / ?o p"),
        ("k l / m ?x / o p", "1,1", "k ?l / ?m CM / o ?p"),
        ("k ?x l", "0,1", "?k CM ?l"),
        ("?x k l", "0,0", "CM ?k l"),
        ("k / l / ?x", "2,0", "k / ?l / CM"),
    ],
)
def test_neighbours_of_a_mirror_in_every_shape(grid: str, cell: str, after: str) -> None:
    t = sell(a=seat(grid, stash="CM y"))
    t.a.does("draw deck", f"play CM {cell}")
    t.a.has(grid=after)


@pytest.mark.rule("AA-174", "AA-175", "RES-21")
def test_a_wand_takes_the_only_item_of_the_discard() -> None:
    t = sell(a=seat("k . . / . . . / . . .", stash="OW y"), discard="DL")
    t.a.does("draw deck", "play OW 0,0")
    assert t.deck.split()[0] == "DL"
    t.has(discard="k")


@pytest.mark.rule("RES-28", "RES-2")
def test_dafana_is_asked_before_a_feline_sells_the_next_set() -> None:
    t = sell(a=seat("TC OW FF / OW TC ?x / ?u ?v ?w", stash="TC y"), c=seat(infamy=9, wizard="dafana"))
    t.a.does("draw deck", "play TC 2,2", "slide vertical")
    assert t.asked == {"c": "dafana"}
    t.a.has(gold=29, grid="OW OW FF / ?u ?v ?x")
    t.c.does("pay")
    assert t.asked == {"c": "dafana"}
    t.a.has(gold=32, grid="?u ?v ?x")
    t.c.does("pay")
    t.c.has(gold=19, infamy=5)
    assert t.active == "b"


@pytest.mark.rule("RES-8", "RES-42")
@pytest.mark.parametrize(("ruling", "asked"), [("owner_choice", True), ("natural_first", False)])
def test_natural_or_feline_first_in_an_inspection(ruling: str, asked: bool) -> None:
    """The row and the column share the item that was revealed."""
    t = inspect(
        a=seat("DE DE ?DE / BC TC DE / OW IR FF"), b=NONE, c=NONE, trigger="b", round=3,
        rulings={"natural_or_feline_first": ruling},
    )  # fmt: skip
    assert (t.asked == {"a": "sale_order"}) == asked
    if asked:
        t.a.does("sell 0,2 2,2")
        t.a.has(gold=45, grid="DE DE / BC TC / OW IR")
    else:
        t.a.has(gold=45, grid="BC TC DE / OW IR FF")


@pytest.mark.rule("AA-03", "AA-28", "RES-37")
@pytest.mark.parametrize("ruling", ["both_at_once", "one_by_one"])
def test_items_of_stock_are_turned_up_in_turn_order(ruling: str) -> None:
    """In whatever order the answers come."""
    t = new_game(3, first="b", rulings={"stock_reveal": ruling})
    words = "reveal 0,0 0,1" if ruling == "both_at_once" else "turn 0,0"
    for player in (t.c, t.a, t.b):
        player.does(words)
    assert [e.seat for e in t.told(wire.ItemsRevealed)] == [1, 2, 0]


@pytest.mark.rule("AA-163", "RES-19")
def test_a_ring_sinks_where_another_lies_at_the_bottom() -> None:
    t = sell(a=seat(stash="IR y"), discard="DL TC IR")
    t.a.does("draw deck", "discard IR")
    t.has(discard="DL TC IR IR")


@pytest.mark.rule("AA-82", "AA-81", "AA-78")
def test_a_marker_of_the_count_and_one_of_the_penalty_are_fined_together() -> None:
    t = inspect(a=seat("SK SK DL / HD OW TC", infamy=20, gold=60), b=NONE, c=NONE, trigger="a", round=3)
    # 20 + 21 = 41: one marker and 16; the penalty makes 26: a second one and 1.
    assert [(e.seat, e.markers) for e in t.story if isinstance(e, wire.MarkersRemoved)] == [(0, 2)]
    t.a.has(gold=10, infamy=1)


@pytest.mark.rule("AA-220", "AA-217")
@pytest.mark.parametrize("turn", [15, 18, 19])
def test_the_inspection_does_not_come_by_itself_before_turn_20_ends(turn: int) -> None:
    t = sell(2, active="b", turn=turn)
    t.b.passes()
    t.has(turn=turn + 1, trigger="", active="a")
    assert t.asked == {"a": "draw"}
