"""Rules of the Workshop."""

import pytest

from tests.games.trickerion.script import REVISED, Script, place, seat


def workshop(
    tricks: str = "", components: str = "", *, who: str = "magician", more: str = "", **told: object
) -> Script:
    """Seat a has a Character in its Workshop; a Magician with 3 action points."""
    table = {name: told.pop(name) for name in ("stage", "rulings") if name in told}
    t = place(a=seat(f"{who}:workshop {more}", tricks, components, **told), **table)
    t.a.does(f"place {who} workshop_1")
    return t


@pytest.mark.rule("TR-090")
def test_everybody_has_a_workshop() -> None:
    t = place(2, a=seat("magician:workshop apprentice:workshop"), b=seat("magician:workshop apprentice:workshop"))
    t.a.does("place magician workshop_1", "end")
    assert t.b.may_begin("place magician") == ["place magician workshop_1", "place magician workshop_2"]
    t.b.does("place magician workshop_1", "end")
    assert t.a.may_begin("place") == ["place apprentice_1 workshop_2"]


@pytest.mark.rule("TR-091", "TR-092", "TR-095")
def test_preparing_several_tricks() -> None:
    t = workshop(
        "linking_rings:spades stocks_escape:clubs paper_shred:hearts", "wood*2 metal*2 mirror*1 saw*2 fabric*3"
    )
    t.a.does("prepare linking_rings", "prepare stocks_escape")
    t.a.has(
        tricks="linking_rings:spades*2 stocks_escape:clubs*2 paper_shred:hearts*0",
        supply="2 4 4 2",
        ap=1,
        components="wood*2 metal*2 fabric*3 saw*2 mirror*1",
    )
    t.a.cannot("prepare paper_shred", because="TR-091")
    t.a.does("enhance", "prepare paper_shred")
    assert t.a.markers("paper_shred") == 2


@pytest.mark.rule("TR-093")
def test_what_a_trick_needs() -> None:
    for components in ("", "metal*1 wood*2", "metal*2 wood*1", "metal*2"):
        workshop("stocks_escape", components).a.cannot("prepare stocks_escape", because="TR-093")
    workshop("stocks_escape", "metal*1! wood*1!", more="manager").a.does("prepare stocks_escape")
    workshop("stocks_escape", "metal*2 wood*2").a.cannot("prepare linking_rings")


@pytest.mark.rule("TR-094")
def test_markers_hinder_on_the_trick_only() -> None:
    t = workshop("linking_rings*1", "metal*2")
    t.a.cannot("prepare linking_rings", because="TR-094")
    t = workshop("linking_rings", "metal*2", stage="a/linking_rings@R01:0.0>down a/linking_rings@R10:0.0>right")
    t.a.does("prepare linking_rings")
    t.a.has(tricks="linking_rings:spades*2", supply="0 4 4 4")


@pytest.mark.rule("TR-096", "TR-A13")
def test_without_markers_nothing_is_prepared() -> None:
    t = workshop("mind_reading:spades", "glass*2", lost="spades*2")
    t.a.does("prepare mind_reading")
    assert t.a.markers("mind_reading") == 2
    t = workshop("mind_reading:spades", "glass*2", lost="spades*4")
    t.a.cannot("prepare mind_reading", because="TR-096")


@pytest.mark.rule("TR-A14")
def test_markers_stay_without_components() -> None:
    t = workshop("linking_rings", "metal*2")
    t.a.does("prepare linking_rings", "return metal 2")
    t.a.has(tricks="linking_rings:spades*2", components="")


@pytest.mark.rule("TR-098")
def test_moves_need_their_specialist() -> None:
    t = workshop("linking_rings", "wood*1", more="apprentice")
    assert not t.a.may_begin("move")
    for words in ("move_trick linking_rings", "move_components wood", "move_apprentice apprentice_1"):
        t.a.cannot(words, because="TR-098")
    t = workshop("linking_rings", who="apprentice", more="engineer", rulings=REVISED)
    t.a.does("move_trick linking_rings")
    t = workshop(
        "linking_rings", more="magician", who="engineer", hired="manager", components="wood*1", rulings=REVISED
    )
    t.a.cannot("move_components wood", because="TR-098")


@pytest.mark.rule("TR-099", "TR-C2", "TR-A44", "TR-A38")
@pytest.mark.parametrize(("rulings", "left"), [({}, 0), (REVISED, 2)])
def test_moving_tricks(rulings: dict[str, str], left: int) -> None:
    t = workshop("linking_rings:spades*1 living_piano:clubs", more="engineer", rulings=rulings)
    t.a.does("move_trick linking_rings")
    t.a.has(tricks="living_piano:clubs*0 linking_rings:spades*1!", ap=left)
    t = workshop("linking_rings:spades*1 living_piano:clubs!", more="engineer", rulings=rulings)
    t.a.cannot("move_trick living_piano", because="TR-099")
    t.a.does("move_trick linking_rings")
    t.a.has(tricks="living_piano:clubs*0 linking_rings:spades*1!", ap=left)


@pytest.mark.rule("TR-100", "TR-C2", "TR-A44", "TR-A38")
@pytest.mark.parametrize(("rulings", "left"), [({}, 0), (REVISED, 2)])
def test_moving_components(rulings: dict[str, str], left: int) -> None:
    t = workshop(components="wood*2 glass*1", more="manager", rulings=rulings)
    t.a.does("move_components wood")
    t.a.has(components="wood*2! glass*1", ap=left)
    t = workshop(components="wood*2! glass*1! metal*2 rope*3", more="manager", rulings=rulings)
    t.a.cannot("move_components metal")
    t.a.cannot("move_components wood for glass", because="TR-A38")
    t.a.cannot("move_components rope for wood", because="TR-A12")
    t.a.does("move_components metal for glass")
    t.a.has(components="wood*2! glass*1 metal*2! rope*3", ap=left)


@pytest.mark.rule("TR-A12")
def test_three_may_move_if_only_tokens_count() -> None:
    t = workshop(components="wood*3", more="manager", rulings={"manager_limit": "physical"})
    t.a.does("move_components wood")
    t.a.has(components="wood*3!")


@pytest.mark.rule("TR-101", "TR-C2")
@pytest.mark.parametrize(("rulings", "left"), [({}, 0), (REVISED, 2)])
def test_moving_apprentices(rulings: dict[str, str], left: int) -> None:
    t = workshop(more="assistant apprentice_2:theater", rulings=rulings)
    t.a.cannot("move_apprentice apprentice_1")
    t.a.does("move_apprentice apprentice_2")
    t.a.has(team="magician:workshop@workshop_1 assistant apprentice_4:theater", ap=left)
    t = workshop(more="assistant apprentice_2 apprentice_4", rulings=rulings)
    t.a.cannot("move_apprentice apprentice_2", because="TR-101")
    t.a.cannot("move_apprentice apprentice_4")


@pytest.mark.rule("TR-A17", "TR-136")
@pytest.mark.parametrize("ruling", ["any", "at_home"])
def test_moving_an_apprentice_that_works(ruling: str) -> None:
    t = place(
        2,
        a=seat("magician:workshop assistant apprentice_1:downtown@downtown_1"),
        b=seat("magician apprentice"),
        rulings=REVISED | {"move_apprentice_who": ruling},
    )
    t.a.does("place magician workshop_1")
    if ruling == "at_home":
        t.a.cannot("move_apprentice apprentice_1", because="TR-A17")
        return
    t.a.does("move_apprentice apprentice_1")
    t.a.has(team="magician:workshop@workshop_1 assistant apprentice_4:downtown@downtown_1")
    t.a.does("end")
    t.begins("advertise")
    t.a.has(coins=10)


@pytest.mark.rule("TR-097")
def test_the_engineers_slot() -> None:
    t = workshop("linking_rings!", "metal*2", more="engineer")
    t.a.does("prepare linking_rings")
    assert t.a.markers("linking_rings") == 3
