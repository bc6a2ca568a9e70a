"""The pack, and what is wrong with one that is not."""

from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from guildhall.kernel.packs import BadPack
from guildhall.trickerion.v1.structs import (
    Assignment,
    Category,
    Character,
    Component,
    Location,
    Magician,
    PerformanceCard,
    Prophecy,
    Theater,
    Trick,
    Weekday,
)
from services.trickerion import content as content_module
from services.trickerion.content import FIRST, REVISED_2019, Action, Yield
from services.trickerion.dark_alley import acting
from services.trickerion.links import Circle
from services.trickerion.packs import PACK_HASH, PACKS, parse

DATA = (Path(content_module.__file__).parent / "pack.yaml").read_bytes()
CONTENT = PACKS[PACK_HASH]
RAW = yaml.safe_load(DATA)
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
PROPHECIES = [prophecy for prophecy in Prophecy if prophecy]


@pytest.mark.rule("TR-002", "TR-003")
def test_there_are_four_categories_with_four_tricks_of_each_level() -> None:
    assert Counter((t.category, t.level) for t in CONTENT.tricks[1:]) == {
        (category, level): 4 for category in Category if category for level in (1, 2, 3)
    }
    assert {t.level: t.threshold for t in CONTENT.tricks[1:]} == {1: 1, 2: 16, 3: 36}
    hornet = CONTENT.tricks[Trick.MECHANICAL_HORNET]
    assert hornet.name == "Mechanical Hornet"
    assert hornet.needs == ((Component.METAL, 3), (Component.PETROLEUM, 1), (Component.COG, 1))
    assert (hornet.ap, hornet.markers, hornet.yields) == (2, 2, Yield(4, 3, 0))
    assert all((t.bonus is not None) == (t.level == 3) for t in CONTENT.tricks[1:])


@pytest.mark.rule("TR-004")
def test_a_components_price_is_its_tier() -> None:
    assert [c.price for c in CONTENT.components] == [0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]
    assert all(c.price == c.tier for c in CONTENT.components)


@pytest.mark.rule("TR-006", "TR-052")
def test_each_player_has_eight_discs_with_points_of_their_own() -> None:
    assert sum(kind.discs for kind in CONTENT.characters) == 8
    assert [kind.ap for kind in CONTENT.characters[1:]] == [3, 2, 2, 2, 1]
    assert [kind.wage for kind in CONTENT.characters[1:]] == [0, 2, 2, 2, 1]


@pytest.mark.rule("TR-011")
def test_two_magicians_share_each_favourite_category() -> None:
    assert Counter(m.category for m in CONTENT.magicians[1:]) == {category: 2 for category in Category if category}
    assert CONTENT.magicians[Magician.ELECTRA].ability == "Supercharge"


@pytest.mark.rule("TR-007", "TR-008")
def test_boards_and_their_extensions() -> None:
    boards = (CONTENT.trick_board, CONTENT.component_board, CONTENT.apprentice_board)
    assert [(board.slots, board.extension) for board in boards] == [(3, 1), (6, 2), (3, 1)]


@pytest.mark.rule("TR-017", "TR-053", "TR-D09")
def test_slots_of_the_town() -> None:
    for location in (Location.DOWNTOWN, Location.MARKET_ROW, Location.DARK_ALLEY):
        place = CONTENT.places[location]
        assert [slot.ap for slot in place.slots] == [2, 1, 1, 0]
        assert [place.open_slots(players) for players in (2, 3, 4)] == [[1, 4], [1, 2, 4], [1, 2, 3, 4]]
    assert [slot.ap for slot in CONTENT.places[Location.WORKSHOP].slots] == [0, 0]
    assert [day.ap for day in CONTENT.days[1:]] == [1, 0, 0, -1]
    assert [(day.fame, day.coins) for day in CONTENT.days[1:]] == [(-1, -1), (0, 0), (0, 0), (1, 1)]
    assert [place.enhance for place in CONTENT.places[1:]] == [True, True, True, False, True]


@pytest.mark.rule("TR-021", "TR-D05")
def test_hands() -> None:
    base = Counter(CONTENT.hand(dark_alley=False))
    assert base == {Location.THEATER: 3, Location.DOWNTOWN: 2, Location.MARKET_ROW: 2, Location.WORKSHOP: 2}
    assert Counter(CONTENT.hand(dark_alley=True)) == {
        location: 2 if location == Location.THEATER else 1 for location in Location if location
    }


@pytest.mark.rule("TR-C1", "TR-C2")
def test_what_the_editions_differ_in() -> None:
    first, revised = CONTENT.action_ap[FIRST], CONTENT.action_ap[REVISED_2019]
    differing = {Action(i).name: (a, b) for i, (a, b) in enumerate(zip(first, revised, strict=True)) if a != b}
    assert differing == {
        "REROLL_DIE": (2, 1),
        "MOVE_TRICKS": (3, 1),
        "MOVE_COMPONENTS": (3, 1),
        "MOVE_APPRENTICES": (3, 1),
    }


@pytest.mark.rule("TR-035", "TR-036")
def test_dice() -> None:
    assert [die.group for die in CONTENT.dice] == ["dahlgaard"] * 2 + ["inn"] * 2 + ["bank"] * 2
    assert CONTENT.dice[0].results == (0, 1, 2, 3, 4, 5)
    assert Counter(CONTENT.dice[2].faces) == {
        0: 3,
        Character.ENGINEER: 1,
        Character.MANAGER: 1,
        Character.ASSISTANT: 1,
    }
    assert Counter(CONTENT.dice[3].faces) == {0: 1, Character.APPRENTICE: 5}
    assert CONTENT.dice[5].faces == (3, 4, 4, 5, 6, 0)


@pytest.mark.rule("TR-014", "TR-D03")
def test_performance_cards() -> None:
    assert [len(CONTENT.cards_of(theater)) for theater in Theater if theater] == [12, 8, 8]
    assert CONTENT.decks[False] == ((Theater.RIVERSIDE, 2), (Theater.GRAND_MAGORIAN, 2))
    assert CONTENT.decks[True] == (*CONTENT.decks[False], (Theater.MAGNUS_PANTHEON, 2))
    card = CONTENT.performances[PerformanceCard.R08]
    assert card.layout.slots == ((0, 0), (0, 1), (0, 2), (1, 1))
    assert card.layout.circles == (Circle(0, 1, False), Circle(1, 2, False), Circle(1, 3, True))
    assert card.bonus == Yield(1, 1, 0)
    for performance in CONTENT.performances.values():
        assert sum(circle.shard for circle in performance.layout.circles) == 1
        assert len(performance.layout.circles) >= len(performance.layout.slots) - 1


@pytest.mark.rule("TR-D04")
def test_special_decks() -> None:
    decks = {location: CONTENT.special_deck(location) for location in Location if location}
    assert {location: len(deck) for location, deck in decks.items()} == {
        Location.DOWNTOWN: 10,
        Location.MARKET_ROW: 10,
        Location.WORKSHOP: 10,
        Location.THEATER: 10,
        Location.DARK_ALLEY: 0,
    }
    headhunter = CONTENT.assignments[Assignment.HEADHUNTER]
    assert (headhunter.action, headhunter.any_face, headhunter.save_ap, headhunter.case) == (Action.HIRE, True, 1, "")
    assert CONTENT.assignments[Assignment.FREELANCER].case == "freelancer"


def test_prophecies_say_what_they_change() -> None:
    cards = {front: CONTENT.prophecies[front] for front in PROPHECIES}
    neutral = CONTENT.prophecies[0]
    assert len(cards) == 27
    assert all(card != neutral for card in cards.values())
    assert CONTENT.prophecies[Prophecy.P16].days == {Weekday.THURSDAY: (0, 0), Weekday.SUNDAY: (0, 0)}
    assert CONTENT.prophecies[Prophecy.P10].set_up_fame[Category.ESCAPE] == 2


def test_every_entry_tells_its_provenance() -> None:
    for name in ("tricks", "performance_cards", "special_cards", "prophecies", "magicians"):
        assert {entry["provenance"] for entry in RAW[name]} == {"public"}, name
    assert {entry["provenance"] for entry in RAW["numbers"].values()} == {"public", "seed"}


# Where to go in the pack, what to put there (None: take it out), and what the refusal names.
FAULTS: list[tuple[list[str | int], Any, str]] = [
    (["format"], 2, "the pack"),
    (["numbers", "advertise_fame"], None, "advertise_fame"),
    (["numbers", "initiative_slots", "by_players", 2], [3, 1], "initiative_slots of 2 players"),
    (["components", 0, "tier"], 4, "component wood"),
    (["components", 3], None, "component fabric: it has no entry"),
    (["components", 3, "component"], "wood", "component wood: it has two entries"),
    (["components", 3, "component"], "Wood", "component Wood: there is no component"),
    (["components", 3, "colour"], "red", "component fabric"),
    (["characters", 1, "unlocks"], "move_house", "character engineer: there is no action 'move_house'"),
    (["locations", 3, "days", 0, "day"], "monday", "there is no weekday 'monday'"),
    (["locations", 3, "days", 0, "day"], "friday", "location theater: it has each weekday once"),
    (["locations", 0, "slots"], [], "location downtown"),
    (["actions", 3, "provenance", "first"], "hearsay", "action reroll_die"),
    (["dice", 2, "faces", 0], "butler", "die inn_a: there is no character 'butler'"),
    (["dice", 4, "faces", 0], "four", "die bank_a: 'four' are no coins"),
    (["dice", 0, "group"], "bank", "die dahlgaard_a: it is of another group"),
    (["dice", 5], None, "dice: there are six"),
    (["market", "buy_area", 0], "gold", "market: there is no component 'gold'"),
    (["performance_deck", "base", 0, "cards"], 10, "performance_deck: there are too few cards"),
    (["first_game", 0], None, "first_game: each category has one"),
    (["final_scoring", 1, "line"], "shards", "final_scoring: a line stands there twice"),
    (["tricks", 0, "components", "straw"], 1, "trick mind_reading: there is no component 'straw'"),
    (["tricks", 0, "level"], 3, "trick mind_reading: Tricks of level 3"),
    (["tricks", 0, "level"], 2, "tricks: there are four of level 1 of spiritual"),
    (["tricks", 8, "end_bonus", "tricks"], 4, "trick balsamos_skull: its end bonus"),
    (["tricks", 0, "components"], {}, "trick mind_reading: it needs no Components"),
    (["performance_cards", 0, "circles", 0, 0], "1.1", "card r01: a circle of 1.1 and 0.1"),
    (["performance_cards", 0, "circles", 0], ["0.0", "0.2"], "card r01"),
    (["performance_cards", 0, "shards", 0], ["0.1", "0.0"], "card r01: a Shard lies in no circle"),
    (["special_cards", 0, "special"], "downtown", "special downtown: that is a Permanent card"),
    (["special_cards", 1], None, "special orchestral_interlude: it has no entry"),
    (["special_cards", 0, "applies_to"], "buy", "special guest_performer: its action is of another Location"),
    (["special_cards", 0, "location"], "market_row", "special_cards: a deck has ten cards"),
    (["special_cards", 0, "effect", 0, "do"], "dance", "special guest_performer"),
    (["special_cards", 0, "effect"], [], "special guest_performer: it has no effect"),
    (["prophecies", 0, "effect", 0, "ap"], 0, "prophecy p01"),
    (["prophecies", 9, "effect", 0, "category"], "comedy", "prophecy p10: there is no category 'comedy'"),
    (["prophecies", 26], None, "prophecy p27: it has no entry"),
]


@pytest.mark.parametrize(("path", "value", "named"), FAULTS)
def test_a_bad_pack_is_refused_by_name(path: list[str | int], value: Any, named: str) -> None:
    raw: Any = deepcopy(RAW)
    target = raw
    for step in path[:-1]:
        target = target[step]
    if value is None:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    with pytest.raises(BadPack) as refused:
        parse(yaml.dump(raw, Dumper=DUMPER).encode())
    assert named in str(refused.value)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"[", b"game", b""])
def test_what_is_no_pack_is_refused(data: bytes) -> None:
    with pytest.raises(BadPack):
        parse(data)


def test_every_special_card_with_a_case_has_its_function_and_no_other_one_has() -> None:
    elsewhere = {
        Assignment.DURABLE_COMPONENTS,
        Assignment.ARRANGED_FIASCO,
        Assignment.GRAND_PREMIERE,
        Assignment.FREELANCER,
        Assignment.TRAVELING_MERCHANTS,
        Assignment.BUSINESS_SHARE,
    }
    cases = {front for front, card in enumerate(CONTENT.assignments) if card.case}
    assert set(acting.CASES) | elsewhere == cases
    assert not set(acting.CASES) & elsewhere
    plain = {card.action for card in CONTENT.assignments[content_module.FIRST_SPECIAL :] if not card.case}
    assert plain - {content_module.ANY_ACTION} <= set(acting.PLAIN)
