"""Rules of the Dark Alley's frame: set-up, special cards, draws, prophecies, final scoring."""

from collections import Counter

import pytest

from guildhall.kernel.cards import EVERYONE, FRONT
from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Assignment, Cause, Location, Phase, Prophecy, Theater
from services.trickerion.hall import THEATER_FLAG
from services.trickerion.menus import Menus
from services.trickerion.words import SPECIALS
from tests.games.trickerion.script import (
    ALLEY,
    CONTENT,
    REVISED,
    Script,
    Table,
    assign,
    end_turn,
    final,
    new_game,
    place,
    seat,
    seat_number,
    set_up,
    spectator,
)

NO_PROPHECIES = ALLEY | {"prophecies": "false"}
EIGHT = "magician engineer manager assistant apprentice_1 apprentice_2 apprentice_3 apprentice_4"

# --- set-up


@pytest.mark.rule("TR-D01")
@pytest.mark.parametrize("options", [ALLEY, NO_PROPHECIES])
def test_seven_turns(options: dict[str, str]) -> None:
    t = set_up(new_game(2, options=options))
    t.goes_on(lambda t: t.game.ended is not None)
    turns = [e.turn for e in t.story if isinstance(e, wire.PhaseStarted) and e.phase == wire.Phase.ROLL_DICE]
    assert turns == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.rule("TR-D02", "TR-D03")
def test_tricks_and_performance_cards() -> None:
    t = new_game(3, options=ALLEY)
    assert Counter(CONTENT.tricks[trick].category for trick in t.hall.residence) == {1: 12, 2: 12, 3: 12, 4: 12}
    backs = [card >> THEATER_FLAG for card in reversed(t.hall.performances)]
    assert backs == [Theater.RIVERSIDE] * 2 + [Theater.GRAND_MAGORIAN] * 2 + [Theater.MAGNUS_PANTHEON] * 2


@pytest.mark.rule("TR-D04", "TR-C7")
def test_special_decks() -> None:
    orders = set()
    for number in range(3):
        t = new_game(2, options=ALLEY, seed=bytes([number]) * 32)
        assert t.hall.alley_cards is not None
        for location in ("downtown", "market_row", "workshop", "theater"):
            deck = t.special_deck(location).split()
            assert len(set(deck)) == 10
            cards = [CONTENT.assignments[Assignment[name.upper()]].location for name in deck]
            assert set(cards) == {Location[location.upper()]}
        assert not any(card & EVERYONE for deck in t.hall.alley_cards.decks for card in deck)
        orders.add(t.special_deck("theater"))
    assert len(orders) == 3


@pytest.mark.rule("TR-D05")
def test_the_hand() -> None:
    for player in set_up(new_game(2, options=ALLEY)).players:
        player.has(hand="downtown market_row workshop theater theater dark_alley")


@pytest.mark.rule("TR-D07", "TR-D20", "TR-A29")
def test_three_prophecies_are_pending_and_none_is_active() -> None:
    t = set_up(new_game(2, options=ALLEY))
    active, pending = t.prophecies.split(" / ")
    assert active == "-" and len(set(pending.split())) == 3
    assert t.hall.alley_cards is not None and len(t.hall.alley_cards.pile) == 24
    kinds = (wire.ProphecyDrawn, wire.CharacterJoined, wire.TrickTaken)
    told = [type(e) for e in t.story if isinstance(e, kinds)]
    assert told[-3:] == [wire.ProphecyDrawn] * 3 and wire.ProphecyDrawn not in told[:-3]


@pytest.mark.rule("TR-D08")
def test_without_prophecies_there_is_no_priestess() -> None:
    t = new_game(4, options=NO_PROPHECIES)
    player = t.players[seat_number(*t.asked)]
    assert len(player.may) == 7 and "choose priestess_of_mysticism" not in player.may
    player.cannot("choose priestess_of_mysticism", because="TR-D08")
    set_up(t)
    t.has(prophecies="- / -")
    assert len(new_game(4, options=ALLEY).players[seat_number(*new_game(4, options=ALLEY).asked)].may) == 8


@pytest.mark.rule("TR-D09", "TR-017")
@pytest.mark.parametrize(
    ("players", "slots"), [(2, {1: 5, 4: 3}), (3, {1: 5, 2: 4, 4: 3}), (4, {1: 5, 2: 4, 3: 4, 4: 3})]
)
def test_slots_of_the_dark_alley(players: int, slots: dict[int, int]) -> None:
    told = seat("magician:dark_alley apprentice:workshop")
    t = place(players, a=told, options=ALLEY)
    assert t.a.may_begin("place magician") == [f"place magician dark_alley_{number}" for number in slots]
    for number, ap in slots.items():
        t = place(players, a=told, options=ALLEY)
        t.a.does(f"place magician dark_alley_{number}")
        t.a.has(ap=ap)
        t.a.does("enhance")
        t.a.has(ap=ap + 1, shards=0)


# --- special cards


@pytest.mark.rule("TR-D10", "TR-043")
def test_special_cards_are_assigned_like_others() -> None:
    t = assign(2, a=seat("magician engineer", hand="trick_tweaking"), options=ALLEY)
    t.a.cannot("assign magician:trick_tweaking engineer:trick_tweaking", because="TR-043")
    t.a.cannot("assign magician:empower", because="TR-043")
    t.b.cannot("assign magician:trick_tweaking", because="TR-043")
    t.a.does("assign magician:trick_tweaking engineer:dark_alley")
    t.b.does("assign magician:theater")
    t.a.has(team="magician:trick_tweaking engineer:dark_alley", hand="downtown market_row workshop theater theater")
    assert t.a.may_begin("place magician") == ["place magician workshop_1", "place magician workshop_2"]
    t.a.cannot("place magician downtown_1", because="TR-048")


@pytest.mark.rule("TR-043", "TR-D10")
def test_assigned_special_cards_are_secret_until_all_are_in() -> None:
    t = assign(2, a=seat("magician engineer", hand="trick_tweaking empower"), options=ALLEY)
    before = [t.game.view(viewer).players for viewer in (1, None)]
    t.a.does("assign magician:trick_tweaking engineer:empower")
    assert [t.game.view(viewer).players for viewer in (1, None)] == before
    t.b.does("assign")
    cards = {member.card for member in t.b.sees().players[0].team}
    assert cards == {Assignment.TRICK_TWEAKING, Assignment.EMPOWER}


WORKSHOP = "wood*3 metal*2 glass*2"


@pytest.mark.rule("TR-D12", "TR-D14", "TR-AD2")
def test_a_bonus_serves_one_action() -> None:
    told = seat(
        "magician:trick_tweaking", "linking_rings:spades barricaded_barrels:hearts mind_reading:clubs", WORKSHOP
    )
    t = place(a=told, options=ALLEY)
    t.a.does("place magician workshop_1", "keep", "prepare linking_rings", "bonus", "prepare barricaded_barrels")
    assert t.a.markers("linking_rings") == 2 and t.a.markers("barricaded_barrels") == 3
    assert "bonus" not in t.a.may
    t.a.does("prepare mind_reading")
    assert t.a.markers("mind_reading") == 3


@pytest.mark.rule("TR-D14", "TR-AD2")
def test_an_unused_bonus_is_lost() -> None:
    t = place(
        2, a=seat("magician:trick_tweaking engineer", "linking_rings", WORKSHOP), b=seat("magician"), options=ALLEY
    )
    t.a.does("place magician workshop_1", "keep", "end")
    assert t.phase == "advertise"
    assert t.special_deck("workshop").split()[-1] == "trick_tweaking"


@pytest.mark.rule("TR-D13", "TR-AD2")
def test_a_card_for_any_action_works_when_it_is_kept() -> None:
    t = place(a=seat("magician:empower"), options=ALLEY)
    t.a.does("place magician downtown_4", "keep", "enhance")
    t.a.has(ap=6, shards=0)


@pytest.mark.rule("TR-D15", "TR-AD1")
def test_a_point_instead_of_the_bonus() -> None:
    t = place(a=seat("magician:empower"), options=ALLEY)
    t.a.does("place magician downtown_4")
    assert set(t.a.may_begin("keep", "point")) == {"keep", "point"}
    t.a.does("point", "enhance")
    t.a.has(ap=5)
    t = place(a=seat("engineer:headliner_trick", "linking_rings*1"), options=ALLEY)
    t.a.does("place engineer friday_1", "point")
    t.a.has(ap=3)


@pytest.mark.rule("TR-D15")
def test_who_chooses_is_told_what_the_card_says() -> None:
    t = place(a=seat("magician:empower"), options=ALLEY)
    t.a.does("place magician downtown_4")
    (told,) = Menus(t.a.sees(), str, CONTENT).path("special_use", wire.KeepBonus())
    assert SPECIALS[Assignment.EMPOWER] in told


@pytest.mark.rule("TR-AD1")
def test_the_choice_may_come_with_the_action() -> None:
    rulings = {"special_choice": "at_action"}
    told = seat("engineer:trick_tweaking", "linking_rings:spades", WORKSHOP, shards=0)
    t = place(a=told, options=ALLEY, rulings=rulings)
    t.a.does("place engineer workshop_1")
    assert t.asked == {"a": "act"} and {"bonus", "point"} <= set(t.a.may)
    t.a.does("bonus", "prepare linking_rings")
    assert t.a.markers("linking_rings") == 3
    assert not {"bonus", "point"} & set(t.a.may)
    t = place(a=told, options=ALLEY, rulings=rulings)
    t.a.does("place engineer workshop_1", "prepare linking_rings", "point")
    t.a.has(ap=2)
    assert t.a.markers("linking_rings") == 2
    assert not {"bonus", "point"} & set(t.a.may)


@pytest.mark.rule("TR-D11", "TR-AD58")
def test_where_used_cards_go() -> None:
    t = end_turn(
        a=seat("magician:trick_tweaking@workshop_1 engineer:test_run@workshop_2 apprentice:headliner_trick~"),
        b=seat("magician:invention@workshop_1"),
        options=ALLEY,
        order_of="bac",
    )
    assert t.special_deck("workshop").split()[-3:] == ["invention", "trick_tweaking", "test_run"]
    assert "headliner_trick" in t.a.hand
    assert t.hall.alley_cards is not None
    assert all(card & EVERYONE == EVERYONE for card in t.hall.alley_cards.decks[Location.WORKSHOP][:3])
    t.a.has(members="magician engineer apprentice_1")


# --- the Dark Alley


@pytest.mark.rule("TR-D16", "TR-D17")
def test_the_first_draw_is_cheaper_once() -> None:
    t = place(
        a=seat("magician:dark_alley", shards=0), options=ALLEY, specials="headliner_trick new_twist empower interest"
    )
    t.a.does("place magician dark_alley_1", "draw theater")
    t.a.has(ap=4)
    t.a.cannot("under 0 empower")
    t.a.does("under 0 headliner_trick")
    assert "new_twist" in t.a.hand and "headliner_trick" not in t.a.hand
    t.a.does("draw downtown")
    t.a.has(ap=2)
    t.a.does("under 0 interest", "draw downtown")
    t.a.has(ap=0)


@pytest.mark.rule("TR-D16", "TR-D04")
def test_what_others_learn_of_a_draw() -> None:
    t = place(a=seat("magician:dark_alley"), options=ALLEY, specials="headliner_trick new_twist")
    t.a.does("place magician dark_alley_4", "draw theater")
    drawn = t.told(wire.SpecialCardsDrawn)
    assert [(e.deck, e.count) for e in drawn] == [(Location.THEATER, 2)]
    for viewer in (1, None):
        shown = t.game.view(viewer)
        assert not {Assignment.HEADLINER_TRICK, Assignment.NEW_TWIST} & {card for p in shown.players for card in p.hand}
    t.a.does("under 0 new_twist")
    assert t.hall.alley_cards is not None
    under = t.hall.alley_cards.decks[Location.THEATER][0]
    assert under & FRONT == Assignment.NEW_TWIST and under & EVERYONE == 0x100, "only the drawer knows it"


@pytest.mark.rule("TR-AD3")
def test_short_decks() -> None:
    told = {"a": seat("magician:dark_alley"), "b": seat("magician:workshop"), "c": seat()}
    for size in (1, 0):
        table = Table(3, options=ALLEY, **told)
        assert table.hall.alley_cards is not None
        deck = table.hall.alley_cards.decks[Location.THEATER]
        del deck[size:]
        t = table.begin(Phase.PLACE_CHARACTERS)
        t.a.does("place magician dark_alley_4")
        if size:
            hand = len(t.a.hand.split())
            t.a.does("draw theater")
            assert t.asked == {"a": "act"} and len(t.a.hand.split()) == hand + 1
        t.a.cannot("draw theater", because="TR-AD3")


@pytest.mark.rule("TR-D18", "TR-AD4")
@pytest.mark.parametrize("ruling", ["one_per_pair", "half_per_deck"])
def test_several_draws_before_choosing(ruling: str) -> None:
    t = place(
        a=seat("magician:dark_alley"),
        options=ALLEY,
        specials="headliner_trick new_twist buying_time guest_performer",
        rulings={"draw_keep": ruling},
    )
    t.a.does("place magician dark_alley_4", "draw theater", "draw theater")
    t.a.has(ap=0)
    t.a.does("under 0 new_twist")
    if ruling == "one_per_pair":
        t.a.cannot("under 0 headliner_trick", because="TR-D16")
        t.a.does("under 0 buying_time")
        assert {"headliner_trick", "guest_performer"} <= set(t.a.hand.split())
        assert t.special_deck("theater").split()[-2:] == ["new_twist", "buying_time"]
    else:
        words = next(w for w in t.a.may if w.endswith("headliner_trick"))
        t.a.does(words)
        assert {"buying_time", "guest_performer"} <= set(t.a.hand.split())
        assert t.special_deck("theater").split()[-2:] == ["new_twist", "headliner_trick"]


@pytest.mark.rule("TR-D17", "TR-AD4")
def test_draw_further_needs_no_draw_first() -> None:
    t = place(a=seat("apprentice:dark_alley", shards=0), options=ALLEY)
    t.a.does("place apprentice dark_alley_1", "draw theater")
    t.a.has(ap=2)


@pytest.mark.rule("TR-D19", "TR-AD5")
@pytest.mark.parametrize("ruling", ["once_per_placement", "unlimited"])
def test_fortune_telling(ruling: str) -> None:
    t = place(
        a=seat("magician:dark_alley"),
        options=ALLEY,
        prophecies="p01 / p11 p22 p14 / p05",
        rulings={"fortune_telling_limit": ruling},
    )
    t.a.does("place magician dark_alley_1", "fortune")
    t.has(prophecies="p01 / p22 p14 p11")
    if ruling == "unlimited":
        t.a.does("fortune")
        t.has(prophecies="p01 / p14 p11 p22")
    else:
        t.a.cannot("fortune", because="TR-AD5")


@pytest.mark.rule("TR-D19")
def test_fortunes_without_prophecies() -> None:
    t = place(a=seat("magician:dark_alley"), options=NO_PROPHECIES)
    t.a.does("place magician dark_alley_1")
    t.a.cannot("fortune")


# --- prophecies


@pytest.mark.rule("TR-D20", "TR-D91")
def test_the_active_prophecy_binds_everybody() -> None:
    told = seat("magician:downtown apprentice:workshop", shards=0)
    t = place(2, a=told, b=told, options=ALLEY, prophecies="p01 / p11 p22 p14 / p05")
    t.a.does("place magician downtown_4")
    t.a.has(ap=1)
    t.a.does("end")
    t.b.does("place magician downtown_1")
    t.b.has(ap=3)


@pytest.mark.rule("TR-D21", "TR-AD6")
def test_prophecies_move() -> None:
    t = end_turn(options=ALLEY, prophecies="p01 / p11 p22 p14 / p05")
    t.has(prophecies="p11 / p22 p14 p05")
    t = end_turn(options=ALLEY, prophecies="- / p11 p22 p14 / p05")
    t.has(prophecies="p11 / p22 p14 p05")


@pytest.mark.rule("TR-AD6")
def test_an_empty_pile() -> None:
    for discarded in ((Prophecy.P02,), (Prophecy.P02, Prophecy.P03)):
        table = Table(2, options=ALLEY, prophecies="- / p11 p22 p14 / p05", a=seat(), b=seat())
        alley, cards = table.hall.alley, table.hall.alley_cards
        assert alley is not None and cards is not None
        cards.pile = []
        alley.discarded = [card | EVERYONE for card in discarded]
        t = table.begin(Phase.END_TURN)
        active, pending = t.prophecies.split(" / ")
        assert active == "p11"
        assert pending.split()[:2] == ["p22", "p14"] and pending.split()[2] in ("p02", "p03")
        left = t.hall.alley_cards
        assert left is not None and len(left.pile) == len(discarded) - 1
        assert not any(card & EVERYONE for card in left.pile)


@pytest.mark.rule("TR-D07")
def test_no_prophecy_is_active_in_the_first_turn_and_one_is_in_the_second() -> None:
    t = set_up(new_game(2, options=ALLEY))
    following = t.prophecies.split(" / ")[1].split()[0]
    t.goes_on(lambda t: t.hall.turn == 2)
    assert t.prophecies.startswith(f"{following} / ")


# --- several modifiers


def with_fiasco(ruling: str) -> Script:
    """The Magician was placed with the card's bonus."""
    t = place(
        2,
        a=seat("magician:arranged_fiasco"),
        b=seat("magician apprentice"),
        stage="a/mind_reading@R01:0.0>down b/walled@R01:0.2>up",
        options=ALLEY,
        rulings={"yield_modifier_order": ruling},
    )
    t.a.does("place magician thursday_stage", "keep")
    assert t.asked == {"a": "perform"}
    t.a.does("perform R01")
    return t


def fame_of(t: Script, number: int) -> int:
    """Fame of yields that a seat has received."""
    return sum(
        e.amount for e in t.story if isinstance(e, wire.FameGained) and e.seat == number and e.cause == Cause.YIELD
    )


@pytest.mark.rule("TR-D23", "TR-AD10", "TR-D57")
def test_the_best_order_of_modifiers() -> None:
    """First 1 less, which cannot go below 0, then 1 more."""
    t = with_fiasco("best")
    assert fame_of(t, 0) == 1
    assert fame_of(t, 1) == 3 - 1 - 1


@pytest.mark.rule("TR-D23", "TR-AD10")
def test_the_owner_may_choose_the_order_of_modifiers() -> None:
    for order, fame in (("modifiers 0 1", 1), ("modifiers 1 0", 0)):
        t = with_fiasco("ask")
        assert t.asked == {"a": "modifier_order"}
        assert sorted(t.a.may) == ["modifiers 0 1", "modifiers 1 0"]
        t.a.cannot("modifiers 0 0", because="TR-AD10")
        t.a.does(order)
        assert fame_of(t, 0) == fame
        assert fame_of(t, 1) == 1, "its order makes no difference, so nothing is asked"


# --- final scoring


@pytest.mark.rule("TR-D24", "TR-147", "TR-148")
def test_characters_score_nothing() -> None:
    t = final(a=seat(EIGHT, fame=10, coins=7, shards=3), turn=7, options=ALLEY)
    t.a.has(fame=10 + 2 + 3)


@pytest.mark.rule("TR-D25", "TR-151")
def test_special_cards_in_hand_score() -> None:
    specials = [Assignment(number).name.lower() for number in range(Assignment.GUEST_PERFORMER, 46)]
    for count, fame in ((0, 0), (3, 6), (10, 20), (12, 20)):
        t = final(a=seat("magician", fame=0, coins=0, shards=0, hand=" ".join(specials[:count])), turn=7, options=ALLEY)
        t.a.has(fame=fame)


def needs(trick: str) -> str:
    """The Components of a Trick, as a seat writes them."""
    card = CONTENT.tricks[wire.Trick[trick.upper()]]
    return " ".join(f"{wire.Component(kind).name.lower()}*{count}" for kind, count in card.needs)


@pytest.mark.rule("TR-D26")
def test_a_level_3_trick_needs_its_components_to_score() -> None:
    told = {"turn": 7, "options": ALLEY}
    team = "magician engineer"
    t = final(a=seat(team, "buried_alive", needs("buried_alive"), fame=0, coins=0, shards=0), **told)
    t.a.has(fame=7)
    t = final(a=seat(team, "buried_alive", "padlock*2 wood*3", fame=0, coins=0, shards=0), **told)
    t.a.has(fame=0)
    t = final(a=seat(team + " manager", "buried_alive", "padlock*2! wood*3", fame=0, coins=0, shards=0), **told)
    t.a.has(fame=7)
    t = final(a=seat(team, "horror_saws", needs("horror_saws"), fame=0, coins=0, shards=30), **told)
    t.a.has(fame=20 + 20)


BONUSES = (
    ("TR-D35", "iron_maiden", "", {"tricks": "linking_rings mind_reading"}, 8),
    ("TR-D36", "automaton", "engineer", {"tricks": "walled wolf_cage linking_rings!"}, 8),
    ("TR-D37", "transported_man", "", {"tricks": "seance"}, 8),
    ("TR-D38", "beast_within", "engineer", {"tricks": "walled wolf_cage linking_rings!"}, 10),
    ("TR-D38", "beast_within", "engineer", {"tricks": "walled wolf_cage"}, 0),
    ("TR-D39", "hellhound", "", {"hand": "empower interest"}, 4 + 4),
    ("TR-D40", "horror_saws", "", {"shards": 5}, 5 + 5),
    ("TR-D41", "metamorphosis", "", {"coins": 8}, 2 + 2),
    ("TR-D42", "aztec_lady", "", {"tricks": "walled*2 wolf_cage*1"}, 6),
    ("TR-D43", "skeleton_dance", "manager", {"components": "wood*2!"}, 3 + 3),
    ("TR-D44", "stairs_of_water", "manager", {"components": "saw*1! rope*1"}, 2 * (2 + 2 + 1)),
    ("TR-D45", "balsamos_skull", "manager", {"components": "cog*1! mirror*1"}, 3 * (1 + 2 + 1)),
    ("TR-D46", "mutilation", "engineer manager assistant", {}, 12),
    ("TR-D46", "mutilation", "engineer manager", {}, 0),
    ("TR-D47", "seance", "apprentice_1 apprentice_2", {}, 6),
    ("TR-D48", "buried_alive", "engineer", {}, 7),
    ("TR-D48", "buried_alive", "manager assistant", {}, 0),
    ("TR-D49", "assistants_revenge", "assistant", {}, 7),
    ("TR-D49", "assistants_revenge", "engineer manager", {}, 0),
    ("TR-D50", "vanishing_elephant", "manager", {}, 7),
    ("TR-D50", "vanishing_elephant", "engineer assistant", {}, 0),
)


@pytest.mark.parametrize(
    ("trick", "team", "more", "fame"), [pytest.param(*case, marks=pytest.mark.rule(rule)) for rule, *case in BONUSES]
)
def test_bonuses_of_level_3_tricks(trick: str, team: str, more: dict[str, object], fame: int) -> None:
    told: dict[str, object] = {"fame": 0, "coins": 0, "shards": 0} | more
    tricks = f"{trick} {told.pop('tricks', '')}"
    components = f"{needs(trick)} {told.pop('components', '')}"
    t = final(a=seat(f"magician {team}", tricks, components, **told), turn=7, options=ALLEY)
    t.a.has(fame=fame)


@pytest.mark.rule("TR-D42")
def test_markers_in_the_theater_do_not_count() -> None:
    told = seat("magician", "aztec_lady*2", needs("aztec_lady"), fame=0, coins=0, shards=0)
    t = final(a=told, stage="a/aztec_lady@R01:0.0>down", turn=7, options=ALLEY)
    t.a.has(fame=4)


@pytest.mark.rule("TR-C1", "TR-C2")
def test_editions_hold_with_the_dark_alley_too() -> None:
    t = place(a=seat("magician:downtown"), options=ALLEY, rulings=REVISED)
    t.a.does("place magician downtown_4", "reroll bank_a")
    t.a.has(ap=2)
    assert spectator(t).turn == 1
