"""What cannot be done is refused with its rule, and changes nothing."""

from collections.abc import Callable

import pytest

from guildhall.kernel.decide import decide
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Assignment, Component, Member, PerformanceCard, Slot, Trick
from tests.games.trickerion.script import ALLEY, Script, assign, perform, place, seat


def refused(t: Script, command: object, rule: str) -> None:
    """A command of seat a that no words can say is refused by that rule and changes nothing."""
    before = t.game.snapshot()
    with pytest.raises(Refusal) as refusal:
        t.decide(0, command)
    assert refusal.value.rule == rule, refusal.value
    assert refusal.value.message
    assert t.game.snapshot() == before


@pytest.mark.rule("TR-043")
def test_assignments() -> None:
    t = assign(2, a=seat("magician engineer apprentice"))
    refused(t, wire.Assign((Assignment.DOWNTOWN,) * 3), "TR-043")
    refused(t, wire.Assign((Assignment.EMPOWER, 0, 0)), "TR-043")
    refused(t, wire.Assign((Assignment.DARK_ALLEY, 0, 0)), "TR-043")
    refused(t, wire.Assign((0, 0, 0, Assignment.THEATER)), "TR-043")
    refused(t, wire.Assign((Assignment.THEATER, 0)), "TR-043")
    refused(t, wire.Assign(()), "TR-043")
    refused(t, wire.Assign((4_000_000_000, 0, 0)), "TR-043")
    refused(t, wire.EndPlacement(), "TR-043")


TWO_AND_TWO = {"a": seat("magician engineer apprentice")}
PLACING = {
    "a": seat("magician:downtown engineer:theater manager:theater@friday_1 apprentice"),
    "b": seat("magician:workshop apprentice:downtown@downtown_1 engineer:theater@sunday_1"),
}
R01 = PerformanceCard.R01
SLOTS = {"theater": "friday"}


def placing() -> Script:
    return place(**PLACING)


def theater_of_b() -> Script:
    return place(a=seat("engineer:theater"), b=seat("engineer:theater@sunday_1"))


def at(location: str, rest: str = "", **has: int) -> Callable[[], Script]:
    """Seat a's Magician acts at a Location with what `has` says."""

    def begin() -> Script:
        t = place(a=seat(f"magician:{location}{rest}", **has), dice="any X / X X / X X")
        t.a.does(f"place magician {SLOTS.get(location, location)}_1")
        return t

    return begin


@pytest.mark.parametrize(
    ("begin", "command", "rule"),
    [
        pytest.param(
            lambda: assign(2, **TWO_AND_TWO),
            wire.Assign((Assignment.MARKET_ROW, Assignment.DOWNTOWN, Assignment.DOWNTOWN)),
            "",
            id="the hand has two of a card: it may be used twice",
        ),
        pytest.param(
            lambda: assign(2, **TWO_AND_TWO),
            wire.Assign((Assignment.DOWNTOWN,) * 3),
            "TR-043",
            id="a card used more often than it is there",
        ),
        pytest.param(
            lambda: assign(2, options=ALLEY, a=seat("magician engineer", hand="empower")),
            wire.Assign((Assignment.EMPOWER,) * 2),
            "TR-043",
            id="a special card used twice",
        ),
        pytest.param(
            lambda: assign(2, **TWO_AND_TWO),
            wire.Assign((0, 0, 0, Assignment.THEATER)),
            "TR-043",
            id="a Character not owned",
        ),
        pytest.param(
            lambda: assign(2, options=ALLEY, a=seat("magician engineer", hand="empower")),
            wire.Assign((Assignment.INTEREST, 0)),
            "TR-043",
            id="a card not in hand",
        ),
        pytest.param(placing, wire.Place(Member.MAGICIAN, Slot.DOWNTOWN_1), "TR-048", id="a taken slot"),
        pytest.param(placing, wire.Place(Member.ENGINEER, Slot.FRIDAY_BACKSTAGE_1), "TR-048", id="an own taken slot"),
        pytest.param(placing, wire.Place(Member.ENGINEER, Slot.SATURDAY_BACKSTAGE_1), "TR-102", id="a second weekday"),
        pytest.param(
            theater_of_b, wire.Place(Member.ENGINEER, Slot.SUNDAY_BACKSTAGE_2), "TR-103", id="an opponent's weekday"
        ),
        pytest.param(
            at("market_row", coins=2), wire.Buy(Component.METAL, 3, 0, False), "TR-074", id="coins that are not there"
        ),
        pytest.param(at("downtown", shards=0), wire.Enhance(), "TR-054", id="a Shard that is not there"),
        pytest.param(
            at("downtown", fame=1, coins=0),
            wire.LearnTrick(Trick.PAPER_SHRED, 0),
            "TR-061",
            id="Fame that is not there, nor coins for it",
        ),
        pytest.param(
            at("workshop", coins=9), wire.ReturnComponents(Component.WOOD, 1), "TR-079", id="Components not there"
        ),
        pytest.param(
            at("workshop", coins=9), wire.Prepare(Trick.LINKING_RINGS), "TR-091", id="a Trick that is not there"
        ),
        pytest.param(
            at("market_row", coins=9), wire.Buy(Component.METAL, 1, 5, False), "TR-073", id="AP that are not there"
        ),
        pytest.param(at("theater", " engineer"), wire.Reschedule(R01, 0), "TR-116", id="a marker that is not there"),
    ],
)
@pytest.mark.rule("TR-043", "TR-048", "TR-102", "TR-103", "TR-054", "TR-061", "TR-074")
def test_each_clause_of_what_was_promised(begin: Callable[[], Script], command: object, rule: str) -> None:
    """An assignment, a placement, a payment that cannot be is refused by its rule, and nothing is changed."""
    t = begin()
    if rule:
        refused(t, command, rule)
    else:
        t.decide(0, command)


@pytest.mark.rule("TR-045", "TR-048", "TR-102", "TR-103", "TR-105")
def test_placements() -> None:
    t = place(
        a=seat("magician:downtown engineer:theater manager:theater@friday_1 apprentice"),
        b=seat("magician:workshop apprentice:downtown@downtown_1 engineer:theater@sunday_1"),
    )
    refused(t, wire.Place(Member.MAGICIAN, Slot.DOWNTOWN_1), "TR-048")
    refused(t, wire.Place(Member.MAGICIAN, Slot.DOWNTOWN_3), "TR-048")
    refused(t, wire.Place(Member.MAGICIAN, Slot.MARKET_ROW_1), "TR-048")
    refused(t, wire.Place(Member.MAGICIAN, Slot.UNSPECIFIED), "TR-048")
    refused(t, wire.Place(Member.ENGINEER, Slot.FRIDAY_BACKSTAGE_1), "TR-048")
    refused(t, wire.Place(Member.ENGINEER, Slot.FRIDAY_PERFORMANCE), "TR-105")
    refused(t, wire.Place(Member.ENGINEER, Slot.THURSDAY_BACKSTAGE_1), "TR-102")
    refused(t, wire.Place(Member.MANAGER, Slot.FRIDAY_BACKSTAGE_2), "TR-045")
    refused(t, wire.Place(Member.FIRST_APPRENTICE, Slot.DOWNTOWN_2), "TR-045")
    refused(t, wire.Place(Member.THIRD_APPRENTICE, Slot.DOWNTOWN_2), "TR-045")
    refused(t, wire.MakeIdle(0), "TR-045")
    refused(t, wire.EndPlacement(), "TR-047")
    t = place(a=seat("engineer:theater"), b=seat("magician:workshop engineer:theater@sunday_1"))
    refused(t, wire.Place(Member.ENGINEER, Slot.SUNDAY_BACKSTAGE_2), "TR-103")


@pytest.mark.rule("TR-036", "TR-057", "TR-061", "TR-069", "TR-071", "TR-072")
def test_downtown() -> None:
    t = place(a=seat("magician:downtown manager", fame=1, coins=0), dice="any X / manager X / X 4")
    t.a.does("place magician downtown_1")
    refused(t, wire.LearnTrick(Trick.PAPER_SHRED, 0), "TR-061")
    refused(t, wire.LearnTrick(Trick.AUTOMATON, 0), "TR-057")
    refused(t, wire.LearnTrick(0, 0), "TR-057")
    refused(t, wire.LearnTrick(Trick.MIND_READING, 1), "TR-036")
    refused(t, wire.LearnTrick(Trick.MIND_READING, 5), "TR-058")
    refused(t, wire.Hire(2), "TR-069")
    refused(t, wire.Hire(3), "TR-036")
    refused(t, wire.Hire(5), "TR-036")
    refused(t, wire.TakeCoins(4), "TR-036")
    refused(t, wire.TakeCoins(2), "TR-036")
    refused(t, wire.RerollDie(6), "TR-071")
    refused(t, wire.SetDie(0, 6), "TR-072")
    refused(t, wire.SetDie(9, 1), "TR-072")
    refused(t, wire.Buy(Component.WOOD, 1, 0, False), "TR-055")


@pytest.mark.rule("TR-073", "TR-074", "TR-075", "TR-077", "TR-078", "TR-083", "TR-084")
def test_the_market_row() -> None:
    t = place(a=seat("magician:market_row", components="wood*3", coins=2), order="cog - - -")
    t.a.does("place magician market_row_1")
    refused(t, wire.Buy(Component.METAL, 3, 0, False), "TR-074")
    refused(t, wire.Buy(Component.METAL, 0, 0, False), "TR-073")
    refused(t, wire.Buy(Component.METAL, 4, 0, False), "TR-073")
    refused(t, wire.Buy(Component.METAL, 2, 2, False), "TR-083")
    refused(t, wire.Buy(Component.METAL, 2, 4_000_000_000, False), "TR-073")
    refused(t, wire.Buy(Component.WOOD, 1, 0, False), "TR-078")
    refused(t, wire.Buy(Component.COG, 1, 0, False), "TR-075")
    refused(t, wire.Buy(0, 1, 0, False), "TR-073")
    refused(t, wire.Order(Component.COG, 1), "TR-084")
    refused(t, wire.Order(Component.ROPE, 0), "TR-084")
    refused(t, wire.Order(Component.ROPE, 4), "TR-084")
    refused(t, wire.Order(0, 1), "TR-084")
    refused(t, wire.QuickOrder(0), "TR-086")
    refused(t, wire.ReturnComponents(Component.WOOD, 4), "TR-079")
    refused(t, wire.ReturnComponents(Component.WOOD, 0), "TR-079")
    refused(t, wire.ReturnTrick(Trick.MIND_READING), "TR-065")


@pytest.mark.rule("TR-091", "TR-093", "TR-098", "TR-100", "TR-101")
def test_the_workshop() -> None:
    t = place(a=seat("magician:workshop manager", "linking_rings", "wood*1"))
    t.a.does("place magician workshop_1")
    refused(t, wire.Prepare(Trick.LINKING_RINGS), "TR-093")
    refused(t, wire.Prepare(Trick.LIVING_PIANO), "TR-091")
    refused(t, wire.Prepare(0), "TR-091")
    refused(t, wire.MoveTrick(Trick.LINKING_RINGS), "TR-098")
    refused(t, wire.MoveApprentice(Member.FIRST_APPRENTICE), "TR-098")
    refused(t, wire.MoveComponents(Component.METAL, 0), "TR-100")
    refused(t, wire.MoveComponents(Component.WOOD, Component.METAL), "TR-100")
    t = place(a=seat("magician:workshop assistant apprentice"))
    t.a.does("place magician workshop_1")
    refused(t, wire.MoveApprentice(Member.SECOND_APPRENTICE), "TR-101")


@pytest.mark.rule("TR-106", "TR-108", "TR-109", "TR-116", "TR-054", "TR-104")
def test_the_theater() -> None:
    t = place(a=seat("engineer:theater", "linking_rings*1 living_piano"), stage="b/walled@R01:0.0>down")
    t.a.does("place engineer friday_1")
    r01 = PerformanceCard.R01
    refused(t, wire.SetUpTrick(Trick.LIVING_PIANO, r01, 1, 1), "TR-106")
    refused(t, wire.SetUpTrick(Trick.WALLED, r01, 1, 1), "TR-106")
    refused(t, wire.SetUpTrick(0, r01, 1, 1), "TR-106")
    refused(t, wire.SetUpTrick(Trick.LINKING_RINGS, r01, 0, 3), "TR-106")
    refused(t, wire.SetUpTrick(Trick.LINKING_RINGS, r01, 3, 1), "TR-106")
    refused(t, wire.SetUpTrick(Trick.LINKING_RINGS, r01, 1, 2), "TR-108")
    refused(t, wire.SetUpTrick(Trick.LINKING_RINGS, r01, 1, 0), "TR-108")
    refused(t, wire.SetUpTrick(Trick.LINKING_RINGS, PerformanceCard.G01, 0, 1), "TR-106")
    refused(t, wire.SetUpTrick(Trick.LINKING_RINGS, 0, 0, 1), "TR-106")
    refused(t, wire.Reschedule(r01, 0), "TR-116")
    refused(t, wire.Reschedule(r01, 1), "TR-116")
    refused(t, wire.Reschedule(r01, 99), "TR-116")
    refused(t, wire.Reschedule(0, 0), "TR-116")
    refused(t, wire.Enhance(), "TR-104")
    t = place(a=seat("engineer:downtown", shards=0))
    t.a.does("place engineer downtown_1")
    refused(t, wire.Enhance(), "TR-054")


@pytest.mark.rule("TR-121", "TR-112")
def test_performances_and_links() -> None:
    t = perform(a=seat("magician@friday_stage"), stage="a/linking_rings@R01:0.0>down b/walled@R10:0.0>right")
    refused(t, wire.Perform(PerformanceCard.R10), "TR-121")
    refused(t, wire.Perform(PerformanceCard.G01), "TR-121")
    refused(t, wire.Perform(0), "TR-121")
    refused(t, wire.TakeLinkBonus(1), "TR-121")
    t = place(a=seat("engineer:theater", "linking_rings*1"), stage="b/living_piano@R01:0.0>down")
    t.a.does("place engineer friday_1", "set_up linking_rings R01:0.1>up")
    refused(t, wire.TakeLinkBonus(3), "TR-112")
    refused(t, wire.TakeLinkBonus(0), "TR-112")
    refused(t, wire.EndPlacement(), "TR-112")


@pytest.mark.rule("TR-D12", "TR-D15", "TR-D16", "TR-D19", "TR-D28", "TR-D33")
def test_the_dark_alley() -> None:
    t = place(a=seat("magician:dark_alley engineer:empower"), options=ALLEY, specials="headliner_trick new_twist")
    refused(t, wire.Place(Member.MAGICIAN, Slot.DARK_ALLEY_3), "TR-048")
    refused(t, wire.KeepBonus(), "TR-047")
    t.a.does("place magician dark_alley_1")
    refused(t, wire.DrawCards(wire.Location.DARK_ALLEY), "TR-D04")
    refused(t, wire.DrawCards(0), "TR-D04")
    refused(t, wire.WeaveFate(wire.Prophecy.P23), "TR-D28")
    refused(t, wire.WeaveFate(0), "TR-D28")
    refused(t, wire.UseBonus(), "TR-D12")
    refused(t, wire.TakeActionPoint(), "TR-AD1")
    refused(t, wire.UseAbility(), "TR-D27")
    refused(t, wire.SetUpPile(Trick.LINKING_RINGS, PerformanceCard.R01, 0, 3), "TR-D33")
    t.a.does("draw theater")
    refused(t, wire.PutUnder(0, Assignment.EMPOWER), "TR-D16")
    refused(t, wire.PutUnder(1, Assignment.NEW_TWIST), "TR-D16")
    refused(t, wire.PutUnder(0, 0), "TR-D16")
    refused(t, wire.EndPlacement(), "TR-D16")
    t.a.does("under 0 new_twist", "fortune")
    refused(t, wire.TellFortune(), "TR-AD5")
    t.a.does("end")
    t.turn_of("a").does("place engineer downtown_1")
    refused(t, wire.UseBonus(), "TR-D15")
    refused(t, wire.TakeCoins(4), "TR-D15")


@pytest.mark.rule("TR-D12", "TR-D14")
def test_with_a_bonus() -> None:
    t = place(a=seat("magician:trick_tweaking", "linking_rings", "metal*2"), options=ALLEY)
    t.a.does("place magician workshop_1", "keep", "bonus")
    refused(t, wire.UseBonus(), "TR-D12")
    refused(t, wire.MoveTrick(Trick.LINKING_RINGS), "TR-D12")
    refused(t, wire.Prepare(Trick.LIVING_PIANO), "TR-D12")
    t.a.does("prepare linking_rings")
    refused(t, wire.UseBonus(), "TR-D12")
    t = place(a=seat("magician:trick_tweaking"), options=ALLEY)
    t.a.does("place magician workshop_1", "keep")
    refused(t, wire.UseBonus(), "TR-D14")


@pytest.mark.rule("TR-055", "TR-D09")
def test_there_is_no_dark_alley_in_the_base_game() -> None:
    t = place(a=seat("magician:downtown"))
    t.a.does("place magician downtown_1")
    for command in (wire.DrawCards(1), wire.TellFortune(), wire.UseBonus(), wire.UseAbility(), wire.TakeActionPoint()):
        refused(t, command, "TR-055")


def test_who_is_not_asked_and_closed_decisions() -> None:
    t = place(a=seat("magician:downtown"))
    before = t.game.snapshot()
    for seat_, id_ in ((1, "1.1"), (1, "1.0"), (0, "0.0"), (2, "1.2"), (0, "9.0")):
        with pytest.raises(Refusal):
            decide(
                t.game,
                seat_,
                id_,
                wire.MakeIdle(Member.MAGICIAN),
                subject=f"player-{'abc'[seat_]}",
                command_id="x",
                at_ms=t.game.at_ms,
            )
        assert t.game.snapshot() == before
