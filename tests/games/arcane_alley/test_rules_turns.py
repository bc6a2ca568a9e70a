"""Rules of the Sell phase's turn."""

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from tests.games.arcane_alley.script import seat, sell, spectator_sees


@pytest.mark.rule("AA-37", "AA-38")
def test_a_turn_is_draw_then_act() -> None:
    t = sell(a=seat(stash="DE y"), deck="q ...", discard="u")
    assert t.asked == {"a": "draw"} and t.a.may == ["draw deck", "draw discard"]
    t.a.cannot("play DE 0,0", because="AA-37")
    t.a.cannot("discard DE", because="AA-37")
    t.a.does("draw discard")
    t.a.has(stash="DE y u")
    t.has(discard="")
    assert t.asked == {"a": "act"}
    t.a.cannot("draw deck")
    t.a.cannot("draw discard")
    t.a.cannot("pass")


@pytest.mark.rule("AA-38")
def test_nothing_can_be_drawn_from_an_empty_discard() -> None:
    t = sell(a=seat(stash="DE y"), discard="")
    if "draw" in t.asked.values():
        t.a.cannot("draw discard", because="AA-38")
        t.a.does("draw deck")
    assert t.asked == {"a": "act"} and len(t.a.stash.split()) == 3


@pytest.mark.rule("AA-38", "AA-30")
def test_who_knows_a_drawn_item() -> None:
    t = sell(a=seat(stash="DE y"), deck="q ...", discard="u v")
    t.a.does("draw deck")
    assert t.b.sees(t.a).stash == spectator_sees(t, t.a).stash == "? ? ?"
    t.a.does("discard DE")
    t.b.does("draw discard")
    assert "DE" in t.c.sees(t.b).stash and "DE" in spectator_sees(t, t.b).stash


@pytest.mark.rule("AA-39", "RES-49")
def test_one_item_of_the_stash_is_used() -> None:
    for command in ("discard u", "play u 0,0"):
        t = sell(a=seat(stash="DE y"), discard="u v", deck="q ...")
        t.a.does("draw discard")
        discards = {words.split()[1] for words in t.a.may if words.startswith("discard")}
        assert discards == set(t.in_codes("DE y u").split())
        t.a.does(command)
        t.a.has(stash="DE y")
        assert t.active == "b"
    t.b.cannot("discard BF")


@pytest.mark.rule("AA-39", "AA-40", "AA-154")
def test_any_own_item_can_be_replaced_but_a_revealed_doll() -> None:
    t = sell(a=seat("HD ?HD * / . . . / . . .", stash="DE DE"), deck="DE ...")
    t.a.does("draw deck")
    plays = [words for words in t.a.may if words.startswith("play DE")]
    assert len(plays) == 8 and "play DE 0,0" not in plays


@pytest.mark.rule("AA-43", "AA-44", "AA-46", "AA-50", "AA-103")
def test_order_of_the_steps_of_playing() -> None:
    t = sell(a=seat("SK SK BF / . . . / . . .", stash="SK y", infamy=4))
    t.a.does("draw deck", "play SK 0,2")
    steps = [
        type(e)
        for e in t.events
        if isinstance(
            e,
            wire.ItemPlayed | wire.InfamyGained | wire.SetSold | wire.StorehouseSlid | wire.GoldGained
            | wire.ReplacedItemDiscarded | wire.InfamyLost | wire.TurnStarted,
        )
    ]  # fmt: skip
    assert steps == [
        wire.ItemPlayed,
        wire.InfamyGained,
        wire.SetSold,
        wire.StorehouseSlid,
        wire.GoldGained,
        wire.InfamyGained,
        wire.InfamyGained,
        wire.ReplacedItemDiscarded,
        wire.InfamyLost,
        wire.TurnStarted,
    ]
    assert t.active == "b"


@pytest.mark.rule("AA-51", "AA-53", "AA-124")
@pytest.mark.parametrize("code", ["MB", "BF", "SK", "SS", "FF", "HD", "CM", "ML", "PL"])
def test_discarding(code: str) -> None:
    t = sell(a=seat("BC BC . / . . . / . . .", stash=f"{code} y", infamy=4), discard="u")
    t.a.does("draw deck", f"discard {code}")
    t.has(discard=f"{code} u", active="b")
    t.a.has(infamy=4, gold=25, grid="BC BC . / . . . / . . .")


@pytest.mark.rule("AA-47", "AA-48", "AA-70", "AA-71")
def test_each_other_player_takes_one_more_turn() -> None:
    t = sell(4, a=seat("HD DL IR"), b=seat("BC TC IR"), active="a")
    t.a.passes()
    t.has(trigger="a")
    t.b.passes()
    t.has(trigger="a", active="c")
    t.c.passes()
    assert not [e for e in t.story if isinstance(e, wire.InspectionStarted)]
    t.d.passes()
    assert [e.seat for e in t.story if isinstance(e, wire.TurnStarted)] == [0, 1, 2, 3]
    assert [e for e in t.story if isinstance(e, wire.InspectionStarted)]


@pytest.mark.rule("AA-47", "AA-36")
def test_no_trigger_with_hidden_items() -> None:
    t = sell(a=seat("HD DL ?IR"))
    for player in (t.a, t.b, t.c, t.a):
        player.passes()
    t.has(trigger="", active="b")


@pytest.mark.rule("RES-25", "AA-70")
def test_stripped_by_a_doll_triggers_at_the_own_turns_end() -> None:
    t = sell(a=seat("HD HD ?x / . . . / . . .", stash="HD y"), b=seat("* ?u *"), c=seat(". . ."))
    t.a.does("draw deck", "play HD 0,2", "doll b 0,1", "doll c 0,0")
    t.has(trigger="", active="b")
    t.b.passes()
    t.has(trigger="b", active="c")


@pytest.mark.rule("RES-35", "AA-36")
def test_no_turn_limit_for_three() -> None:
    t = sell(a=seat())
    for turn in range(120):
        t.players[turn % 3].passes()
    t.has(trigger="")


@pytest.mark.rule("AA-93")
def test_nothing_can_be_traded() -> None:
    """No command moves an item to another player, but for the effects that say so."""
    t = sell(a=seat("BC . . / . . . / . . .", stash="DE y"), b=seat("* . . / . . . / . . ."))
    t.a.does("draw deck")
    kinds = {words.split()[0] for words in t.a.may}
    assert kinds == {"play", "discard"}
    t.a.cannot("swap 0,1 b 0,0")
    t.a.cannot("doll b 0,1")


@pytest.mark.rule("AA-95", "AA-96", "AA-60")
def test_set_aside_items_are_out() -> None:
    t = sell(a=seat("TC TC ?x / . . . / . . .", stash="TC TC"), b=seat(stash="WW y"), deck="q v", discard="u w")
    t.a.does("draw deck", "play TC 0,2")
    t.has(set_aside="TC TC TC")
    t.b.does("draw deck", "activate WW")
    assert not [words for words in t.b.may if "TC" in words]
    rebuilt = [e for e in t.story if isinstance(e, wire.DeckRebuilt)]
    assert rebuilt and all(wire.Item.THREE_HEADED_COIN not in e.items for e in rebuilt)


@pytest.mark.rule("AA-97")
def test_everybody_sees_the_whole_discard() -> None:
    t = sell(a=seat(), discard="DL TC BF HD CM")
    for viewer in (0, 1, 2, None):
        items = [wire.Item(item) for item in reversed(t.game.view(viewer).discard)]
        assert [item.name for item in items] == [
            "DARK_LOTUS", "THREE_HEADED_COIN", "BOTTLED_FAIRY", "HAUNTED_DOLL", "CURSED_MIRROR",
        ]  # fmt: skip
    t.has(discard="DL TC BF HD CM")


@pytest.mark.rule("RES-23")
def test_without_a_place_to_play() -> None:
    t = sell(2, a=seat("", stash="DE ML"), b=seat(". . ."), turn=3)
    t.a.does("draw deck")
    assert {words.split()[0] for words in t.a.may} == {"discard", "activate"}
    t.a.cannot("play DE 0,0")
    t.a.does("activate ML")
    t.a.has(infamy=5)
    assert not t.told(wire.ItemTurnedUp)
    assert t.active == "b"

    t = sell(a=seat("HD HD HD", stash="DE y"))
    t.a.does("draw deck")
    assert {words.split()[0] for words in t.a.may} == {"discard"}


@pytest.mark.rule("AA-94", "RES-20")
def test_a_rebuilt_deck_is_forgotten_and_shuffled() -> None:
    t = sell(a=seat(stash="u v"), deck="q", discard="a b c d e f g h i j")
    t.a.does("draw deck")
    assert set(t.b.sees_deck.split()) == {"?"}
    (rebuilt,) = t.told(wire.DeckRebuilt)
    assert rebuilt.count == 9
    t.has(discard="a")


@pytest.mark.rule("RES-20")
def test_a_deck_is_rebuilt_lazily() -> None:
    lazy = {"reshuffle_when": "lazy_on_draw"}
    t = sell(a=seat(stash="u v"), deck="q", discard="a b c", rulings=lazy)
    t.a.does("draw deck")
    t.has(deck="", discard="a b c")
    t.a.does("discard u")
    t.has(deck="", discard="u a b c")
    t.b.does("draw deck")
    t.has(discard="u")
    assert len(t.deck.split()) == 2 and len(t.b.stash.split()) == 3


@pytest.mark.rule("RES-20", "RES-19")
def test_a_deck_is_rebuilt_after_a_discard_and_after_a_ring_sank() -> None:
    t = sell(a=seat(stash="IR v"), deck="q", discard="DL")
    t.a.does("draw deck")
    t.has(deck="", discard="DL")
    t.a.does("discard IR")
    t.has(deck="IR", discard="DL")


@pytest.mark.rule("RES-20", "AA-38")
def test_neither_deck_nor_discard() -> None:
    t = sell(a=seat(stash="DE v"), deck="", discard="")
    assert t.asked == {"a": "act"}
    t.a.does("discard DE")
    t.has(discard="DE")
    assert t.asked in ({"b": "draw"}, {"b": "act"})

    t = sell(2, a=seat(stash=""), b=seat(". . .", stash="DE"), deck="", discard="")
    assert t.asked == {"b": "act"}


@pytest.mark.rule("RES-20")
def test_two_items_of_the_discard_are_enough() -> None:
    for ruling in ("eager_on_empty_with_2plus_discard", "lazy_on_draw"):
        t = sell(a=seat(stash="u v"), deck="q", discard="k", rulings={"reshuffle_when": ruling})
        t.a.does("draw deck")
        t.has(deck="", discard="k")
        t.a.does("discard u")
        t.has(deck="k" if ruling.startswith("eager") else "", discard="u" if ruling.startswith("eager") else "u k")
        t.b.does("draw deck")
        assert t.in_codes("k") in t.b.stash.split()


@pytest.mark.rule("AA-40")
@pytest.mark.parametrize("cell", ["2,0", "1,3", "5,0"])
def test_there_is_no_such_cell(cell: str) -> None:
    t = sell(a=seat(". . . / . . .", stash="BC y"))
    t.a.does("draw deck")
    t.a.cannot(f"play BC {cell}", because="AA-40")


@pytest.mark.rule("RES-20", "AA-94")
def test_one_item_of_the_discard_rebuilds_nothing() -> None:
    t = sell(a=seat(stash="u v"), deck="q", discard="k")
    t.a.does("draw deck")
    assert not t.told(wire.DeckRebuilt)
    t.has(deck="", discard="k")
