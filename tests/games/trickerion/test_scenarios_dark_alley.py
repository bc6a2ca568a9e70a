"""Worked cases of the Dark Alley: one test each, told as a play script."""

import pytest

from guildhall.kernel.cards import EVERYONE, FRONT, known_by
from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Assignment, Cause
from tests.games.trickerion.script import ALLEY, end_turn, perform, place, seat, spectator

# --- special cards


@pytest.mark.rule("TR-D11", "TR-D12", "TR-D15", "TR-D61", "TR-AD1", "TR-AD58")
@pytest.mark.parametrize(("choice", "markers", "ap"), [("keep", 4, 1), ("point", 3, 2)])
def test_a_special_card_is_its_bonus_or_a_point(choice: str, markers: int, ap: int) -> None:
    told = seat("engineer:trick_tweaking", "living_piano:spades", "animal*1 glass*1 wood*1", shards=0)
    t = place(2, a=told, b=seat("magician:workshop"), options=ALLEY)
    t.a.does("place engineer workshop_1", choice)
    if choice == "keep":
        t.a.does("bonus")
    t.a.does("prepare living_piano")
    t.a.has(tricks=f"living_piano:spades*{markers}", ap=ap)
    t.a.does("end")
    t.b.does("idle magician")
    t.begins("advertise")
    assert t.special_deck("workshop").split()[-1] == "trick_tweaking"
    assert "trick_tweaking" not in t.a.hand
    assert t.hall.alley_cards is not None
    assert t.hall.alley_cards.decks[3][0] & EVERYONE == EVERYONE


@pytest.mark.rule("TR-D16", "TR-D17", "TR-D18", "TR-D95", "TR-D09")
def test_two_draws_in_one_placement() -> None:
    specials = "headliner_trick new_twist trick_tweaking test_run"
    t = place(a=seat("manager:dark_alley", shards=0), options=ALLEY, specials=specials)
    t.a.does("place manager dark_alley_2")
    t.a.has(ap=3)
    hand = t.a.hand.split()
    t.a.does("draw theater", "draw workshop")
    seen = t.b.sees()
    t.a.does("under 0 new_twist", "under 0 trick_tweaking")
    t.a.has(ap=0)
    assert sorted(t.a.hand.split()) == sorted([*hand, "headliner_trick", "test_run"])
    assert t.special_deck("theater").split()[-1] == "new_twist"
    assert t.special_deck("workshop").split()[-1] == "trick_tweaking"
    draws = [(e.seat, e.deck, e.count) for e in t.story if isinstance(e, wire.SpecialCardsDrawn)]
    assert draws == [(0, wire.Location.THEATER, 2), (0, wire.Location.WORKSHOP, 2)]
    assert [card for card in seen.players[0].hand if card] == [card for card in t.b.sees().players[0].hand if card]
    assert len(t.b.sees().players[0].hand) == len(hand) + 2
    assert list(spectator(t).players[0].hand).count(0) == 2


@pytest.mark.rule("TR-D17", "TR-D95")
def test_a_further_draw_for_one_point() -> None:
    for prophecies, may in (("- / p23 p17 p13 / p10", False), ("p05 / p23 p17 p13 / p10", True)):
        t = place(a=seat("manager:dark_alley", shards=0), options=ALLEY, prophecies=prophecies)
        t.a.does("place manager dark_alley_4", "draw theater")
        t.a.has(ap=1)
        if may:
            t.a.does("draw downtown")
            t.a.has(ap=0)
        else:
            t.a.cannot("draw downtown", because="TR-D17")


# --- prophecies


@pytest.mark.rule("TR-D109", "TR-D20")
def test_everybody_has_the_performers_weekday() -> None:
    for prophecies, gained in (("p19 / p23 p17 p13 / p10", (1, 2)), ("- / p23 p17 p13 / p10", (3, 4))):
        t = perform(
            a=seat("magician@thursday_stage"),
            b=seat("magician apprentice@sunday_1"),
            stage="a/linking_rings@R01:0.0>down b/levitation@R01:0.2>up",
            options=ALLEY,
            prophecies=prophecies,
        )
        t.a.does("perform R01")
        found = [sum(e.amount for e in t.told(kind) if e.seat == 1) for kind in (wire.FameGained, wire.CoinsGained)]
        assert tuple(found) == gained


@pytest.mark.rule("TR-D19", "TR-D21", "TR-AD5")
def test_fortune_telling_then_the_shift() -> None:
    t = place(
        2,
        a=seat("apprentice:dark_alley", shards=0),
        b=seat("magician"),
        options=ALLEY,
        prophecies="p01 / p11 p22 p14 / p05",
    )
    t.a.does("place apprentice dark_alley_4", "fortune")
    turned = [e for e in t.story if isinstance(e, wire.PropheciesTurned)]
    assert len(turned) == 1
    t.begins("advertise")
    t.has(prophecies="p22 / p14 p11 p05")
    assert t.hall.alley is not None
    assert [card & FRONT for card in t.hall.alley.discarded] == [wire.Prophecy.P01]


# --- the end


@pytest.mark.rule("TR-D25", "TR-D22", "TR-D39", "TR-AD58", "TR-AD59")
@pytest.mark.parametrize(
    ("tricks", "components", "fame"), [("", "", 4), ("hellhound", "padlock*2 animal*2 petroleum*1 fabric*3", 8)]
)
def test_special_cards_at_the_end(tricks: str, components: str, fame: int) -> None:
    team = "magician engineer:trick_tweaking@workshop_1 manager:invention~"
    t = end_turn(a=seat(team, tricks, components, coins=2, shards=0, fame=10, hand="empower"), turn=7, options=ALLEY)
    assert t.game.ended is not None
    assert t.special_deck("workshop").split()[-1] == "trick_tweaking"
    assert {"empower", "invention"} <= set(t.a.hand.split())
    t.a.has(fame=10 + fame, coins=0)


# --- magicians


@pytest.mark.rule("TR-D31", "TR-AD26")
def test_a_stolen_yield() -> None:
    told = {
        "a": seat("magician@friday_stage", magician="red_lotus"),
        "b": seat("magician apprentice@saturday_1"),
        "display": "R08 R10",
        "options": ALLEY,
    }
    t = perform(stage="a/barricaded_barrels@R08:0.0>down b/levitation@R08:0.2>up", **told)
    t.a.does("perform R08")
    assert t.asked == {"a": "steal"}
    t.a.does("steal 0 2")
    gained = {
        number: tuple(
            sum(e.amount for e in t.told(kind) if e.seat == number and e.cause == Cause.YIELD)
            for kind in (wire.FameGained, wire.CoinsGained)
        )
        for number in (0, 1)
    }
    assert gained == {0: (2, 3), 1: (1, 3)}
    t = perform(stage="a/barricaded_barrels@R08:0.0>down b/bullet_catch@R08:0.2>up", **told)
    t.a.does("perform R08")
    if t.asked == {"a": "steal"}:
        assert t.a.may == ["decline"]


@pytest.mark.rule("TR-D33", "TR-AD28")
def test_a_pile_of_two_markers() -> None:
    told = {"b": seat("magician apprentice"), "options": ALLEY}
    t = place(2, a=seat("apprentice:theater", "linking_rings:spades*2", magician="electra"), **told)
    t.a.does("place apprentice friday_1", "pile linking_rings R01:0.0>down")
    assert [type(e) for e in t.story if isinstance(e, wire.PileSetUp)] == [wire.PileSetUp]
    t.a.has(tricks="linking_rings:spades*0", supply="2 4 4 4")
    t.has(stage="a/linking_rings@R01:0.0>down+")

    stage = "a/linking_rings@R01:0.0>down+"
    t = place(a=seat("apprentice:theater", "linking_rings:spades*1", magician="electra"), stage=stage, options=ALLEY)
    t.a.does("place apprentice friday_1")
    t.a.cannot("set_up linking_rings R01:0.1>down", because="TR-109")
    assert not t.a.may_begin("pile")

    hold = {"c": seat("magician@saturday_stage"), "options": ALLEY}
    t = perform(a=seat("magician@friday_stage", magician="electra"), stage=stage + " c/walled@R10:0.0>right", **hold)
    t.a.does("perform R01")
    t.a.has(fame=5 + 1, coins=10 + 3, supply="4 4 4 4")


def test_unknown_cards_stay_unknown() -> None:
    """What a seat holds of special cards is its own, in views and in the hall."""
    t = place(a=seat("magician:workshop", hand="empower freelancer"), options=ALLEY)
    own = [card for card in t.hall.hands[0] if card & FRONT >= Assignment.GUEST_PERFORMER]
    assert all(known_by(card, 0) and not known_by(card, 1) for card in own)
    assert set(t.a.sees().players[0].hand) >= {Assignment.EMPOWER, Assignment.FREELANCER}
    assert not set(t.b.sees().players[0].hand) & {Assignment.EMPOWER, Assignment.FREELANCER}
