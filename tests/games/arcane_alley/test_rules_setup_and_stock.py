"""Rules of components, setup, scores and Stock."""

from collections import Counter

import pytest

from guildhall.arcane_alley.v1 import structs as wire
from guildhall.arcane_alley.v1.structs import Phase, Wizard
from guildhall.kernel.decide import Creation, created_event
from guildhall.kernel.refusal import Refusal
from services.arcane_alley.content import PACK_HASH, PACKS
from services.arcane_alley.rules import RULES
from tests.games.arcane_alley.notation import CODES
from tests.games.arcane_alley.script import (
    SEED,
    Script,
    bribe,
    inspect,
    new_game,
    seat,
    sell,
    spectator_sees,
    stock_all,
)
from tests.games.arcane_alley.subject import all_items

CONTENT = PACKS[PACK_HASH]


@pytest.mark.rule("AA-02")
def test_components() -> None:
    assert len(CONTENT.deck(6)) == 139
    assert len(Wizard) - 1 == len(CONTENT.wizard_names) - 1 == 6
    assert len(CODES) == len(CONTENT.names) - 1 == 20


@pytest.mark.rule("AA-05", "AA-06", "AA-07")
@pytest.mark.parametrize(("seats", "cards"), [(2, 104), (3, 104), (4, 104), (5, 139), (6, 139)])
def test_items_with_the_icon_are_for_five_and_six(seats: int, cards: int) -> None:
    t = new_game(seats)
    assert all_items(t.hall).total() == cards
    icons = Counter(CONTENT.deck(6)) - Counter(CONTENT.deck(2))
    assert icons == Counter({front: n for front, n in enumerate(CONTENT.five_six) if n})


@pytest.mark.rule("AA-23")
def test_copies_are_in_the_public_pack() -> None:
    assert sum(CONTENT.base) + sum(CONTENT.five_six) == 139
    assert min(CONTENT.base[1:]) >= 1


@pytest.mark.rule("AA-03", "AA-36", "AA-12")
def test_turn_order_begins_with_the_starting_token() -> None:
    t = new_game(4, first="c")
    assert [e.seat for e in t.events if isinstance(e, wire.StartingTokenGiven)] == [2]
    stock_all(t)
    order = []
    for _ in range(5):
        order.append(t.active)
        t.players["abcd".index(t.active)].passes()
    assert order == ["c", "d", "a", "b", "c"]


@pytest.mark.rule("AA-12", "RES-36")
def test_first_player_is_drawn_or_given() -> None:
    drawn = {new_game(3, rulings={"first_player": "random"}, seed=bytes([n]) * 32).hall.starting for n in range(20)}
    assert drawn == {0, 1, 2}
    given = {new_game(3, first="b", seed=bytes([n]) * 32).hall.starting for n in range(5)}
    assert given == {1}


@pytest.mark.rule("AA-08", "RES-36")
def test_wizards_are_picked_in_turn_order() -> None:
    t = new_game(3, powers=True, first="b")
    assert t.asked == {"b": "pick_wizard"} and len(t.b.may) == 6
    t.b.does("pick ninx")
    assert t.asked == {"c": "pick_wizard"} and len(t.c.may) == 5
    t.c.cannot("pick ninx", because="AA-08")
    t.c.does("pick glynna")
    t.a.does("pick byros")
    assert t.hall.wizards == [Wizard.BYROS, Wizard.NINX, Wizard.GLYNNA]
    stock_all(t)
    assert t.active == "b"


@pytest.mark.rule("AA-08", "RES-36")
def test_wizards_at_random() -> None:
    dealt = set()
    for n in range(12):
        t = new_game(3, powers=True, rulings={"wizard_assignment": "random"}, seed=bytes([n]) * 32)
        assert "pick_wizard" not in t.asked.values()
        assert len(set(t.hall.wizards)) == 3 and 0 not in t.hall.wizards
        dealt.add(tuple(t.hall.wizards))
    assert len(dealt) > 6


@pytest.mark.rule("RES-36")
def test_wizards_as_given() -> None:
    t = new_game(3, wizards="corvus,dafana,byros")
    assert t.hall.wizards == [Wizard.CORVUS, Wizard.DAFANA, Wizard.BYROS]


@pytest.mark.rule("RES-36")
@pytest.mark.parametrize(
    "creation",
    [
        Creation(["x", "y"], {"wizards": "byros,byros"}, {"wizard_assignment": "given"}),
        Creation(["x", "y"], {"wizards": "byros"}, {"wizard_assignment": "given"}),
        Creation(["x", "y"], {"wizards": "byros,merlin"}, {"wizard_assignment": "given"}),
        Creation(["x", "y"], {}, {"wizard_assignment": "given"}),
        Creation(["x", "y"], {"wizards": "byros,ninx"}),
        Creation(["x", "y"], {"first_seat": "2"}, {"first_player": "given"}),
        Creation(["x", "y"], {"first_seat": "1"}),
        Creation(["x", "y"], {}, {"first_player": "given"}),
    ],
)
def test_options_that_make_no_sense_are_refused(creation: Creation) -> None:
    with pytest.raises(Refusal) as refused:
        created_event(RULES, creation, "game", SEED)
    assert (refused.value.reason, refused.value.rule) == ("INVALID_OPTION", "RES-36")


@pytest.mark.rule("AA-09", "AA-198")
def test_without_wizard_powers() -> None:
    t = new_game(3)
    assert t.hall.wizards == [0, 0, 0] and "pick_wizard" not in t.asked.values()
    plain = inspect(a=seat("HT HT ?HT"), b=seat(""), c=seat(""), trigger="b", round=3)
    plain.a.has(gold=25)
    byros = inspect(a=seat("HT HT ?HT", wizard="byros"), b=seat(""), c=seat(""), trigger="b", round=3)
    byros.a.has(gold=28)


@pytest.mark.rule("AA-11")
def test_turn_tracker_starts_at_one() -> None:
    new_game(2).has(turn=1)
    new_game(3).has(turn=0)


@pytest.mark.rule("AA-14", "RES-34")
def test_gold_above_a_hundred_and_two_hundred() -> None:
    for before in (95, 195, 995):
        t = sell(a=seat("DE DE ?x / . . . / . . .", stash="DE y", gold=before))
        t.a.does("draw deck", "play DE 0,2", "choose b")
        t.a.has(gold=before + 20)


@pytest.mark.rule("AA-15")
def test_gold_comes_from_sets_and_effects() -> None:
    t = sell(a=seat("TC TC ?x / . . . / . . .", stash="TC y"))
    t.a.does("draw deck", "play TC 0,2")
    assert [(e.amount, e.cause) for e in t.told(wire.GoldGained)] == [(2, wire.Cause.PLAYED), (2, wire.Cause.SET)]
    t = inspect(a=seat("FC FC ?FC"), b=seat(""), c=seat(""), trigger="b", round=3)
    assert [(e.amount, e.cause) for e in t.told(wire.GoldGained)] == [(7, wire.Cause.SET)]


@pytest.mark.rule("AA-16")
def test_gold_is_lost_by_fines_effects_and_payments() -> None:
    t = inspect(a=seat("", markers=1), b=seat(""), c=seat(""), trigger="b", round=3)
    assert [(e.amount, e.cause) for e in t.told(wire.GoldLost)] == [(25, wire.Cause.FINE)]
    t = sell(a=seat(stash="DL y"))
    t.a.does("draw deck", "play DL 0,0")
    assert [(e.amount, e.cause) for e in t.told(wire.GoldLost)] == [(5, wire.Cause.PLAYED)]
    t = bribe(a=seat("", infamy=4))
    t.a.does("bribe 6")
    assert [(e.amount, e.cause) for e in t.told(wire.GoldLost)][:1] == [(6, wire.Cause.BRIBE)]


@pytest.mark.rule("AA-20")
def test_infamy_comes_from_items_and_effects() -> None:
    t = inspect(a=seat("BC CB TC"), b=seat(""), c=seat(""), trigger="b", round=3)
    assert [(e.seat, e.amount, e.cause) for e in t.told(wire.InfamyGained)] == [(0, 8, wire.Cause.INSPECTION)]
    t = sell(a=seat(stash="SK y"))
    t.a.does("draw deck", "play SK 0,0")
    assert [(e.seat, e.amount, e.cause) for e in t.told(wire.InfamyGained)] == [(0, 3, wire.Cause.PLAYED)]


def next_round() -> Script:
    """The table after a round, up to the reveal of Stock, everything lying everywhere."""
    t = bribe(
        a=seat("SS BF ?HD / CM ?OW DL", stash="DE DE@ TC"),
        b=seat("?MB -- FF", stash="IR"),
        c=seat("", stash=""),
        deck="OW@ ...",
        discard="HT HT CB",
        round=1,
    )
    while "bribe" in t.asked.values():
        t.players["abc".index(next(iter(t.asked)))].does("pass")
    return t


@pytest.mark.rule("AA-25", "AA-92", "AA-27")
def test_everything_is_shuffled_together() -> None:
    t = next_round()
    (shuffled,) = t.told(wire.ItemsShuffled)
    assert shuffled.count == 104 and Counter(shuffled.items) == Counter(CONTENT.deck(3))
    assert list(shuffled.items) != sorted(shuffled.items)
    t.has(set_aside="", round=2)
    for player in t.players:
        player.has(grid=". . . / . . . / . . .")
        for viewer in t.players:
            assert viewer.sees(player).grid == "? ? ? / ? ? ? / ? ? ?"
            assert "?" not in viewer.sees_deck.replace("?", "") and set(viewer.sees_deck.split()) == {"?"}


@pytest.mark.rule("AA-92", "AA-231")
def test_starting_token_passes_left() -> None:
    t = next_round()
    assert t.hall.starting == 1
    stock_all(t)
    assert t.asked == {"b": "draw"}


@pytest.mark.rule("AA-28", "RES-37")
def test_two_items_are_revealed_all_at_once() -> None:
    t = new_game(3)
    assert t.asked == {"a": "reveal_items", "b": "reveal_items", "c": "reveal_items"}
    assert len(t.b.may) == 36
    t.b.cannot("reveal 0,0 0,0", because="AA-28")
    t.b.cannot("reveal 0,1 0,0", because="AA-28")
    t.b.does("reveal 0,0 2,2")
    t.c.does("reveal 0,1 0,2")
    for viewer in t.players:
        assert viewer.sees(t.b).grid == "? ? ? / ? ? ? / ? ? ?"
    t.a.does("reveal 1,1 1,2")
    t.b.has(grid="* . . / . . . / . . *")
    t.c.has(grid=". * * / . . . / . . .")
    t.a.has(grid=". . . / . * * / . . .")


@pytest.mark.rule("AA-28", "RES-37")
def test_two_items_are_revealed_one_by_one() -> None:
    t = new_game(3, rulings={"stock_reveal": "one_by_one"})
    assert set(t.asked.values()) == {"reveal_item"}
    (first, *_) = t.asked
    player = t.players["abc".index(first)]
    assert len(player.may) == 9
    player.does("turn 1,1")
    while "draw" not in t.asked.values():
        name = next(iter(t.asked))
        assert len(t.players["abc".index(name)].may) in (8, 9)
        t.players["abc".index(name)].does(t.players["abc".index(name)].may[0])
    for each in t.players:
        assert each.grid.count("?") == 7


@pytest.mark.rule("AA-30")
def test_a_stash_is_its_owners_secret() -> None:
    t = new_game(3)
    stock_all(t)
    assert t.a.sees(t.a).stash == t.a.stash
    assert t.b.sees(t.a).stash == spectator_sees(t, t.a).stash == "? ?"


@pytest.mark.rule("AA-26", "AA-33", "AA-35")
def test_hidden_items_are_unknown_to_their_owner() -> None:
    t = new_game(3)
    stock_all(t)
    words = t.a.sees(t.a).grid.replace("/", "").split()
    assert words.count("?") == 7 and len(words) == 9
    assert all(len(word) == 2 for word in words if word != "?")


@pytest.mark.rule("AA-31", "AA-32")
def test_the_discard_is_turned_up_and_sell_begins() -> None:
    t = new_game(3)
    stock_all(t)
    (started,) = t.told(wire.DiscardStarted)
    assert started.item and t.hall.discard[0] & 0xFF == started.item
    t.has(phase=Phase.SELL)
    assert t.asked == {"a": "draw"}


@pytest.mark.rule("AA-55")
def test_no_sets_in_stock() -> None:
    """Whatever is revealed in Stock, nothing is sold before somebody plays."""
    for n in range(6):
        t = new_game(6, seed=bytes([n]) * 32)
        stock_all(t)
        assert not [e for e in t.story if isinstance(e, wire.SetSold)]
    t = sell(a=seat("FC FC FC / . . . / . . .", stash="OW y"))
    t.a.does("draw deck", "discard OW")
    assert not [e for e in t.story if isinstance(e, wire.SetSold)]


@pytest.mark.rule("AA-02")
@pytest.mark.parametrize("seats", [1, 7])
def test_two_to_six_players(seats: int) -> None:
    with pytest.raises(Refusal) as refused:
        created_event(RULES, Creation([f"player-{n}" for n in range(seats)]), "game", SEED)
    assert refused.value.reason == "WRONG_PLAYER_COUNT"
