"""Rules of End Turn and of the end of the game."""

import pytest

from guildhall.trickerion.v1 import structs as wire
from tests.games.trickerion.script import end_turn, final, place, seat

LAST = {"turn": 5}


@pytest.mark.rule("TR-135")
def test_the_order_of_end_turn() -> None:
    t = end_turn(
        a=seat("magician engineer@workshop_1", hired="manager", coins=1),
        stage="a/linking_rings@R02:0.0>down",
        display="R01 R03 R04 R02",
        order="cog - - -",
        turn=3,
    )
    kinds = (
        wire.CoinsPaid | wire.FameLost | wire.CharactersReturned | wire.CharacterJoined | wire.OrdersArrived
        | wire.PerformanceCardRemoved | wire.PerformanceCardEntered | wire.TurnEnded
    )  # fmt: skip
    steps = [type(e).__name__ for e in t.events if isinstance(e, kinds)]
    assert steps == [
        "CoinsPaid",
        "FameLost",
        "CharactersReturned",
        "CharacterJoined",
        "OrdersArrived",
        "PerformanceCardRemoved",
        "PerformanceCardEntered",
        "TurnEnded",
    ]


@pytest.mark.rule("TR-136", "TR-137", "TR-A16")
@pytest.mark.parametrize(
    ("team", "wages"),
    [
        ("magician@downtown_1", 0),
        ("magician apprentice@downtown_1", 1),
        ("magician apprentice_1@downtown_1 apprentice_2@market_row_1 apprentice_3@workshop_1", 3),
        ("magician assistant apprentice_4@downtown_1", 0),
        ("magician engineer@downtown_1 manager@workshop_1 assistant@friday_1", 6),
        ("magician engineer:downtown~ apprentice_1:workshop~ apprentice_2@workshop_1", 1),
        ("magician engineer apprentice_1", 0),
    ],
)
def test_wages(team: str, wages: int) -> None:
    t = end_turn(a=seat(team))
    t.a.has(coins=10 - wages, fame=5)


@pytest.mark.rule("TR-138", "TR-A25", "TR-A45")
@pytest.mark.parametrize(
    ("coins", "fame", "left"), [(5, 20, (0, 20)), (4, 20, (0, 18)), (0, 20, (0, 10)), (0, 9, (0, 0)), (6, 20, (1, 20))]
)
def test_wages_that_cannot_be_paid(coins: int, fame: int, left: tuple[int, int]) -> None:
    team = "magician engineer@workshop_1 manager@workshop_2 apprentice@downtown_1"
    t = end_turn(a=seat(team, coins=coins, fame=fame))
    assert (t.a.coins, t.a.fame) == left


@pytest.mark.rule("TR-139", "TR-145", "TR-A15")
def test_all_go_home_with_their_cards() -> None:
    t = end_turn(
        a=seat(
            "magician:theater@friday_stage engineer:workshop~ apprentice:downtown@downtown_1", hired="manager assistant"
        )
    )
    t.a.has(
        team="magician engineer manager assistant apprentice_1",
        hand="downtown downtown market_row market_row workshop workshop theater theater theater",
        hired="",
        coins=9,
    )


@pytest.mark.rule("TR-139", "TR-A43", "TR-A50")
def test_where_a_hired_apprentice_lives() -> None:
    told = seat("magician assistant apprentice_1", hired="apprentice")
    t = end_turn(a=told, b=told, order_of="bac")
    assert t.asked == {"b": "house_apprentice"}
    assert len(t.b.may) == 2
    t.b.does("house apprentice_4")
    t.b.has(members="magician assistant apprentice_1 apprentice_4")
    assert t.asked == {"a": "house_apprentice"}
    t.a.cannot("house apprentice_1")
    t.a.cannot("house apprentice_3")
    t.a.does("house apprentice_2")
    t.a.has(members="magician assistant apprentice_1 apprentice_2")
    t = end_turn(a=told, rulings={"extension_slots": "normal_first"})
    t.a.has(members="magician assistant apprentice_1 apprentice_2")
    assert t.phase == "advertise"
    full = seat("magician assistant apprentice_1 apprentice_2 apprentice_3", hired="apprentice")
    end_turn(a=full).a.has(members="magician assistant apprentice_1 apprentice_2 apprentice_3 apprentice_4")


@pytest.mark.rule("TR-139", "TR-A43", "TR-A22")
def test_an_apprentice_hired_with_the_assistant() -> None:
    told = seat("magician apprentice_1 apprentice_2 apprentice_3", hired="apprentice assistant")
    end_turn(a=told).a.has(members="magician assistant apprentice_1 apprentice_2 apprentice_3 apprentice_4")


@pytest.mark.rule("TR-140", "TR-089")
def test_orders_arrive() -> None:
    t = end_turn(order="cog - wood rope", quick="saw")
    t.has(buy="cog metal wood rope", order="- - - -", quick="-")


@pytest.mark.rule("TR-141", "TR-143", "TR-015")
@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_display_through_the_game(players: int) -> None:
    display = ["R01", "R02", "R03"][: players - 1]
    deck = ["R11", "R12", "G01", "G02"]
    for turn in range(1, 6):
        t = end_turn(players, turn=turn, display=" ".join(display), deck=" ".join(deck) or "")
        if turn >= 3:
            display.pop()
        display = deck[:1] + display
        deck = deck[1:]
        t.has(display=" ".join(display))
        assert len(display) == (players if turn in (1, 5) else players + 1)


@pytest.mark.rule("TR-A24", "TR-A49")
def test_the_last_turn_moves_cards() -> None:
    t = end_turn(turn=5, display="G02 G01 R12 R11", deck="", stage="a/linking_rings@R11:0.0>down")
    t.has(display="G02 G01 R12", stage="")
    assert t.game.ended is not None
    t = end_turn(turn=5, display="G02 G01 R12 R11", deck="G03")
    t.has(display="G03 G02 G01 R12")


@pytest.mark.rule("TR-144", "TR-016", "TR-035")
def test_posters_and_counter() -> None:
    t = end_turn(a=seat(advertised=True), turn=2)
    t.a.has(advertised=False)
    t.has(turn=3, phase="advertise")


@pytest.mark.rule("TR-145", "TR-049")
def test_cards_of_idle_characters_are_in_hand_again() -> None:
    t = place(2, a=seat("magician:downtown"), b=seat("magician:theater"))
    t.a.does("idle magician")
    t.b.does("idle magician")
    for player in (t.a, t.b):
        player.has(hand="downtown downtown market_row market_row workshop workshop theater theater theater", coins=10)


# --- the end of the game


@pytest.mark.rule("TR-147", "TR-148", "TR-149", "TR-150", "TR-151", "TR-A28")
@pytest.mark.parametrize(
    ("team", "shards", "coins", "fame"),
    [
        ("magician", 0, 0, 0),
        ("magician", 7, 0, 7),
        ("magician", 0, 2, 0),
        ("magician", 0, 3, 1),
        ("magician", 0, 59, 19),
        ("magician", 0, 90, 20),
        ("magician", 25, 0, 20),
        ("magician apprentice_1 apprentice_2", 0, 0, 4),
        ("magician assistant apprentice_1 apprentice_2 apprentice_3 apprentice_4", 0, 0, 11),
        ("magician engineer manager assistant", 0, 0, 9),
    ],
)
def test_what_scores(team: str, shards: int, coins: int, fame: int) -> None:
    t = final(a=seat(team, fame=10, shards=shards, coins=coins), **LAST)
    t.a.has(fame=10 + fame)
    t.a.has(shards=shards, coins=coins)


@pytest.mark.rule("TR-152", "TR-001")
def test_who_wins() -> None:
    none = {"shards": 0, "coins": 0}
    t = final(
        4,
        a=seat("magician", fame=10, **none),
        b=seat("magician", fame=12, **none),
        c=seat("magician", fame=10, **none),
        d=seat("magician", fame=30, **none),
        order_of="cabd",
        **LAST,
    )
    assert t.ranks == [4, 2, 3, 1]


@pytest.mark.rule("TR-146", "TR-001")
def test_final_scoring_comes_after_the_fifth_turn_only() -> None:
    for turn in range(1, 6):
        t = end_turn(turn=turn)
        assert (t.game.ended is not None) == (turn == 5)
        assert t.a.fame == (5 if turn < 5 else 5 + 1 + 3 + 2)
