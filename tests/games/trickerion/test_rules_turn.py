"""Rules of the turn's frame: dice, initiative, Advertise, Assignment, Place Characters, action points."""

import pytest

from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1 import structs as wire
from tests.games.trickerion.script import REVISED, advertise, assign, initiative, new_game, place, seat, set_up


@pytest.mark.rule("TR-034")
def test_phases_in_their_order() -> None:
    t = set_up(new_game(3))
    t.goes_on(lambda t: t.hall.turn == 3)
    phases = [wire.Phase(e.phase).name for e in t.story if isinstance(e, wire.PhaseStarted) and e.turn == 2]
    assert phases == [
        "ROLL_DICE",
        "SET_INITIATIVE",
        "ADVERTISE",
        "ASSIGNMENT",
        "PLACE_CHARACTERS",
        "PERFORMANCE",
        "END_TURN",
    ]


@pytest.mark.rule("TR-035")
def test_all_dice_are_rolled_each_turn() -> None:
    t = set_up(new_game(2))
    t.goes_on(lambda t: t.hall.turn == 5)
    rolls = [e.faces for e in t.story if isinstance(e, wire.DiceRolled)]
    assert len(rolls) == 5 and len(set(rolls)) > 1 and all(len(faces) == 6 for faces in rolls)


@pytest.mark.rule("TR-036")
def test_a_die_on_x_offers_nothing() -> None:
    t = place(a=seat("magician:downtown"))
    t.a.does("place magician downtown_1")
    assert not t.a.may_begin("learn", "hire", "take")
    for words in ("hire inn_a", "take bank_b", "learn linking_rings dahlgaard_a"):
        t.a.cannot(words, because="TR-036")


@pytest.mark.rule("TR-037", "TR-038")
@pytest.mark.parametrize(
    ("fame", "order", "expected"),
    [((9, 3, 6, 1), "abcd", "dbca"), ((5, 5, 5, 5), "cabd", "dbac"), ((7, 2, 7, 2), "bdca", "dbac")],
)
def test_order_by_fame(fame: tuple[int, ...], order: str, expected: str) -> None:
    fames = {name: seat("magician", fame=n) for name, n in zip("abcd", fame, strict=True)}
    t = initiative(4, turn=2, order_of=order, **fames)
    t.has(initiative=expected)


@pytest.mark.rule("TR-040", "TR-A34")
def test_each_is_offered_to_advertise_once_in_order() -> None:
    t = advertise(3, order_of="cab")
    asked = []
    while t.phase == "advertise":
        ((name, kind),) = t.asked.items()
        asked.append((name, kind))
        t.players["abc".index(name)].does("decline" if name == "a" else "advertise")
    assert asked == [("c", "advertise"), ("a", "advertise"), ("b", "advertise")]
    t.c.has(coins=9, fame=7)
    t.a.has(coins=10, fame=5)
    t.b.has(coins=7, fame=7)


@pytest.mark.rule("TR-A20")
def test_fame_has_no_end() -> None:
    t = advertise(a=seat(fame=99))
    t.a.does("advertise")
    t.a.has(fame=101)


# --- Assignment


@pytest.mark.rule("TR-043", "TR-045")
def test_what_cannot_be_assigned() -> None:
    t = assign(2, a=seat("magician apprentice"))
    family = t.game.legal(0).families[0]
    assert [slot.name for slot in family.slots] == ["magician", "first_apprentice"]
    theater, alley, special = wire.Assignment.THEATER, wire.Assignment.DARK_ALLEY, wire.Assignment.EMPOWER
    for cards in ((alley, 0), (special, 0), (99, 0), (theater,), (theater, 0, theater)):
        before = t.game.snapshot()
        with pytest.raises(Refusal) as refused:
            t.decide(0, wire.Assign(tuple(int(card) for card in cards)))
        assert refused.value.rule == "TR-043"
        assert t.game.snapshot() == before


@pytest.mark.rule("TR-043", "TR-044", "TR-046")
def test_assignments_are_secret_and_can_be_changed_until_all_have_answered() -> None:
    t = assign(3, a=seat("magician apprentice"))
    t.a.does("assign magician:theater")
    views = [t.game.view(viewer).players for viewer in (1, 2, None)]
    t.a.does("assign magician:downtown apprentice_1:workshop")
    assert [t.game.view(viewer).players for viewer in (1, 2, None)] == views
    t.b.does("assign")
    t.c.does("assign magician:workshop")
    t.a.has(team="magician:downtown apprentice_1:workshop")
    t.b.has(team="magician apprentice_1")
    assert t.phase == "place_characters"
    shown = {(e.seat, e.members, e.cards) for e in t.events if isinstance(e, wire.CardsAssigned)}
    assert (0, (1, 5), (wire.Assignment.DOWNTOWN, wire.Assignment.WORKSHOP)) in shown
    assert "assign" not in t.asked.values()


# --- Place Characters


@pytest.mark.rule("TR-047", "TR-045")
def test_one_character_each_in_order_round_after_round() -> None:
    t = place(
        3,
        a=seat("magician:downtown engineer:workshop apprentice:market_row"),
        b=seat("magician:downtown apprentice"),
        c=seat("magician:market_row engineer:theater apprentice"),
        order_of="bca",
    )
    asked = []
    while t.phase == "place_characters":
        ((name, kind),) = t.asked.items()
        if kind == "place":
            asked.append(name)
        player = t.players["abc".index(name)]
        player.does("end" if kind == "act" else player.may_begin("place")[0])
    assert "".join(asked) == "bcacaa"


@pytest.mark.rule("TR-048", "TR-045")
def test_where_a_character_goes() -> None:
    t = place(a=seat("magician:downtown engineer apprentice:market_row"))
    assert {words.split()[1] for words in t.a.may_begin("place")} == {"magician", "apprentice_1"}
    t.a.cannot("place magician market_row_1", because="TR-048")
    t.a.cannot("place engineer downtown_1", because="TR-045")
    t.a.cannot("place apprentice_2 downtown_1")
    t.a.cannot("idle engineer", because="TR-045")
    t.a.does("place apprentice market_row_4")
    t.a.has(team="magician:downtown engineer apprentice_1:market_row@market_row_4")


@pytest.mark.rule("TR-049", "TR-050", "TR-A16")
def test_idling_is_the_whole_turn_and_costs_no_wage() -> None:
    t = place(2, a=seat("magician engineer:downtown apprentice:workshop"), b=seat("magician:workshop"))
    t.a.does("idle engineer")
    assert t.asked == {"b": "place"}
    t.a.has(team="magician engineer:downtown~ apprentice_1:workshop")
    t.b.does("idle magician")
    assert t.a.may_begin("place", "idle") == [
        "place apprentice_1 workshop_1",
        "place apprentice_1 workshop_2",
        "idle apprentice_1",
    ]
    t.a.does("idle apprentice")
    assert t.phase == "advertise"
    t.a.has(coins=10)


@pytest.mark.rule("TR-A18")
def test_who_cannot_be_placed_must_be_idled() -> None:
    t = place(2, a=seat("magician:workshop@workshop_1 engineer:workshop@workshop_2 apprentice:workshop"))
    assert t.a.may_begin("place", "idle") == ["idle apprentice_1"]


@pytest.mark.rule("TR-051", "TR-052", "TR-053")
@pytest.mark.parametrize(
    ("who", "slot", "ap"),
    [
        ("magician", "downtown_1", 5),
        ("engineer", "downtown_1", 4),
        ("apprentice_1", "downtown_1", 3),
        ("manager", "downtown_2", 3),
        ("assistant", "market_row_3", 3),
        ("magician", "market_row_4", 3),
        ("engineer", "workshop_2", 2),
        ("magician", "thursday_1", 4),
        ("manager", "friday_2", 2),
        ("assistant", "saturday_1", 2),
        ("magician", "sunday_2", 2),
        ("magician", "friday_stage", 0),
    ],
)
def test_action_points(who: str, slot: str, ap: int) -> None:
    card = "theater" if "day" in slot else slot.rsplit("_", 1)[0]
    t = place(4, a=seat(f"{who}:{card}", "linking_rings*1", shards=0))
    t.a.does(f"place {who} {slot}")
    assert [e.action_points for e in t.events if isinstance(e, wire.CharacterPlaced)] == [ap]


@pytest.mark.rule("TR-054", "TR-104")
def test_enhance() -> None:
    t = place(a=seat("engineer:downtown", shards=2))
    t.a.does("place engineer downtown_4", "enhance")
    t.a.has(ap=3, shards=1)
    t.a.cannot("enhance", because="TR-054")
    t = place(a=seat("engineer:downtown", shards=0))
    t.a.does("place engineer downtown_4")
    t.a.cannot("enhance", because="TR-054")
    t = place(a=seat("engineer:theater", "linking_rings*1", shards=2))
    t.a.does("place engineer friday_1")
    t.a.cannot("enhance", because="TR-104")


@pytest.mark.rule("TR-A36", "TR-A41")
def test_when_a_character_can_be_enhanced() -> None:
    told = {"a": seat("engineer:downtown", shards=1), "dice": "X X / X X / 4 X"}
    t = place(**told)
    t.a.does("place engineer downtown_4", "set bank_b 6")
    t.a.has(ap=0)
    assert t.asked == {"a": "act"}
    t.a.does("enhance")
    t.a.has(ap=1)
    t = place(**told, rulings={"enhance_timing": "on_placing", "edition": "revised_2019"})
    t.a.does("place engineer downtown_4", "reroll bank_b")
    t.a.has(ap=1)
    t.a.cannot("enhance", because="TR-A36")
    t = place(**told, rulings={"enhance_timing": "on_placing"})
    t.a.does("place engineer downtown_4", "enhance", "take bank_a")
    assert t.asked == {"b": "place"}


@pytest.mark.rule("TR-055", "TR-A41")
def test_several_actions_of_one_location() -> None:
    t = place(a=seat("magician:downtown", shards=0), dice="X X / X X / 4 X", rulings=REVISED)
    t.a.does("place magician downtown_1", "reroll bank_b", "reroll bank_b", "take bank_a")
    t.a.has(coins=14)
    assert t.asked == {"b": "place"}, "without action points it ends by itself"
    t = place(a=seat("magician:downtown"), dice="X X / X X / 4 X")
    t.a.does("place magician downtown_4")
    t.a.cannot("buy wood 1", because="TR-055")
    t.a.does("take bank_a")
    t.a.cannot("take bank_b")


@pytest.mark.rule("TR-056", "TR-055")
def test_a_placement_ends_when_its_player_says_so() -> None:
    t = place(a=seat("magician:downtown"))
    t.a.does("place magician downtown_1", "end")
    assert t.asked == {"b": "place"}
    t.a.has(ap=0)


@pytest.mark.rule("TR-055")
def test_more_action_points_than_there_are() -> None:
    t = place(a=seat("apprentice:downtown"), dice="X X / X X / 4 X")
    t.a.does("place apprentice downtown_4")
    t.a.cannot("take bank_a", because="TR-070")
    t.a.cannot("set bank_b 6", because="TR-072")


@pytest.mark.rule("TR-065", "TR-079", "TR-A37")
def test_things_go_back_at_own_decisions_only() -> None:
    told = seat("magician:downtown engineer:workshop", "linking_rings stocks_escape!", "wood*2 cog*1")
    t = place(a=told, b=seat("magician:workshop apprentice:workshop", components="glass*1"), dice="any X / X X / X X")
    returns = ["return wood 1", "return wood 2", "return cog 1", "give_back linking_rings", "give_back stocks_escape"]
    assert set(t.a.may_begin("return", "give_back")) == set(returns)
    t.a.does("return wood 1", "place magician downtown_4")
    t.a.has(components="wood*1 cog*1")
    t.a.does("return cog 1", "give_back stocks_escape")
    t.a.has(components="wood*1", tricks="linking_rings:spades*0")
    t.a.cannot("return wood 2", because="TR-079")
    t.a.cannot("return glass 1", because="TR-079")
    t.a.cannot("give_back stocks_escape", because="TR-065")
    t.a.does("learn stocks_escape dahlgaard_a")
    while t.asked.get("a") in ("trick_slot", "symbol"):
        assert not t.a.may_begin("return", "give_back")
        t.a.does(t.a.may[0])
    t.turn_of("b").does("return glass 1")
