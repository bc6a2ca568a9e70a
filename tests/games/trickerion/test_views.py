"""What is public at the table is in every seat's view and in a spectator's, piece by piece."""

from copy import deepcopy
from typing import Any

import pytest

from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Assignment, Member, Prophecy
from services.trickerion.dark_alley import hall as alley_hall
from services.trickerion.dark_alley.evolve import alley_of
from services.trickerion.hall import Hall
from services.trickerion.rules import RULES
from services.trickerion.view import view
from tests.games.trickerion.script import ALLEY, Script, assign, final, place, seat, spectator

OTHERWISE: dict[str, Any] = {
    "active": [Prophecy.P02 | 0xFF00],
    "pending": [Prophecy.P03 | 0xFF00, Prophecy.P04 | 0xFF00, Prophecy.P05 | 0xFF00],
    "discarded": [Prophecy.P06 | 0xFF00],
    "used": [False, True],
    "placed": [alley_hall.whom(1, Member.MAGICIAN)],
    "performing": [0, Assignment.GRAND_PREMIERE],
    "copied": Assignment.TEST_RUN,
    "bonus": Assignment.TEST_RUN,
    "armed": True,
    "drew": True,
    "told": True,
    "drawn_from": [wire.Location.WORKSHOP],
    "to_put_under": [1],
    "enhanced": [wire.Trick.LINKING_RINGS],
    "performed": [[], [wire.Trick.LINKING_RINGS]],
    "premiere": [wire.Trick.LINKING_RINGS, wire.Resource.COINS],
    "stolen": [0, 2],
    "chosen_orders": [[2, 1, 0]],
    "durable": [[], [wire.Trick.LINKING_RINGS]],
    "shares": [1],
    "in_stock": [wire.Component.COG],
    "claimant": 1,
    "performed_card": wire.PerformanceCard.R01,
    "talents": [0, Member.FIRST_APPRENTICE],
}
"""Another value of each public field of the Dark Alley."""
NEEDED = {"drawn_from": ("to_put_under",), "to_put_under": ("drawn_from",)}
"""Fields that only make sense together, beside a draw."""


def test_every_public_field_of_the_dark_alley_is_named_here() -> None:
    """Whether there are prophecies is an option of the game, which its GameInfo tells."""
    assert {*OTHERWISE, "with_prophecies"} == set(alley_hall.Alley.__struct_fields__)


@pytest.mark.parametrize("field", OTHERWISE)
@pytest.mark.parametrize("viewer", [0, 1, None])
def test_what_is_public_in_the_dark_alley_shows_in_every_view(field: str, viewer: int | None) -> None:
    t = place(2, a=seat("magician:workshop"), b=seat(), options=ALLEY, prophecies="p01 / p11 p22 p14 / p10")
    before = shown(t.game.hall, viewer, field, False)
    after = shown(t.game.hall, viewer, field, True)
    assert before != after


def shown(hall: Hall, viewer: int | None, field: str, otherwise: bool) -> wire.View:
    """The view of a hall like this one, with the field's other value or without."""
    other = deepcopy(hall)
    for name in NEEDED.get(field, ()):
        setattr(alley_of(other), name, OTHERWISE[name])
    if field in NEEDED:
        assert other.alley_cards is not None
        other.alley_cards.drawn = [[Assignment.TEST_RUN, Assignment.INVENTION]]
        setattr(alley_of(other), field, [0])
    if otherwise:
        setattr(alley_of(other), field, OTHERWISE[field])
    return view(RULES.blind(other, viewer), viewer)


@pytest.mark.rule("TR-D25")
def test_what_final_scoring_would_add_counts_cards_that_only_their_owner_knows() -> None:
    a = seat(hand="empower interest headhunter", coins=0, shards=0)
    t = assign(2, a=a, b=seat(), options=ALLEY)
    assert [final_fame_of_a(view) for view in (t.a.sees(), t.b.sees(), spectator(t))] == [6, 6, 6]


@pytest.mark.rule("TR-D25", "TR-AD19")
def test_of_cards_that_lie_facedown_it_counts_as_many_as_there_have_to_be() -> None:
    a = seat("magician engineer", hand="empower interest headhunter", coins=0, shards=0)
    t = assign(2, a=a, b=seat(), options=ALLEY, prophecies="p20 / p11 p22 p14 / p10")
    t.b.does("assign magician:workshop")
    t.a.does("assign magician:empower engineer:theater")
    assert [final_fame_of_a(view) for view in (t.a.sees(), t.b.sees(), spectator(t))] == [4, 2, 2]


@pytest.mark.rule("TR-146")
def test_after_final_scoring_nothing_more_would_be_added() -> None:
    t = final(2, a=seat(coins=9, shards=3))
    assert t.game.ended is not None
    assert {final_fame_of_a(view) for view in (t.a.sees(), t.b.sees(), spectator(t))} == {0}


def final_fame_of_a(seen: wire.View) -> int:
    """What seat a would gain by final scoring."""
    assert seen.derived is not None
    return seen.derived.players[0].final_fame


def everybody(t: Script) -> list[wire.DarkAlleyView]:
    """The Dark Alley as each seat and a spectator see it."""
    seen = [player.sees().dark_alley for player in t.players] + [spectator(t).dark_alley]
    return [alley for alley in seen if alley is not None]


@pytest.mark.rule("TR-D88", "TR-AD55")
def test_who_claims_the_quick_order() -> None:
    t = place(a=seat("magician:dubious_sources"), b=seat("magician:workshop"), options=ALLEY)
    assert {alley.quick_order_claimant for alley in everybody(t)} == {None}
    t.a.does("place magician market_row_1", "keep", "bonus", "quick_order rope")
    assert {alley.quick_order_claimant for alley in everybody(t)} == {0}


@pytest.mark.rule("TR-D17", "TR-AD5")
def test_whether_the_acting_character_has_drawn_and_told_fortunes() -> None:
    t = place(a=seat("magician:dark_alley"), options=ALLEY, prophecies="p01 / p11 p22 p14 / p10")
    t.a.does("place magician dark_alley_1")
    assert {(alley.drew, alley.told) for alley in everybody(t)} == {(False, False)}
    t.a.does("fortune", "draw theater")
    assert {(alley.drew, alley.told) for alley in everybody(t)} == {(True, True)}


@pytest.mark.rule("TR-D30", "TR-AD25")
def test_which_card_great_optico_copies() -> None:
    a = seat("magician:workshop", "linking_rings", "metal*2", magician="great_optico")
    t = place(a=a, b=seat("apprentice:trick_tweaking"), options=ALLEY)
    t.a.does("place magician workshop_1", "copy b apprentice_1", "keep")
    assert {alley.copied for alley in everybody(t)} == {Assignment.TRICK_TWEAKING}
    assert {tuple((p.seat, p.member) for p in alley.placed) for alley in everybody(t)} == {((0, Member.MAGICIAN),)}


@pytest.mark.rule("TR-D22", "TR-D110", "TR-AD19")
def test_which_cards_everybody_has_seen() -> None:
    a = seat("magician engineer", hand="test_run invention")
    t = assign(2, a=a, b=seat("magician"), options=ALLEY, prophecies="p20 / p11 p22 p14 / p10")
    t.b.does("assign magician:workshop")
    t.a.does("assign magician:test_run engineer:workshop")
    assert {alley.players[0].unseen for alley in everybody(t)} == {(Member.MAGICIAN, Member.ENGINEER)}
    t.turn_of("a").does("place magician workshop_1", "point", "end")
    assert {alley.players[0].unseen for alley in everybody(t)} == {(Member.ENGINEER,)}
    t = place(a=seat("magician:test_run", hand="invention"), options=ALLEY)
    t.a.does("idle magician")
    t.begins("assignment")
    assert {alley.players[0].shown for alley in everybody(t)} == {(Assignment.TEST_RUN,)}
