"""Rules of the parts and of the set-up."""

from collections import Counter
from itertools import combinations_with_replacement

import pytest

from guildhall.kernel.cards import EVERYONE, FRONT
from guildhall.kernel.refusal import Refusal
from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import Category, Component, Location, PerformanceCard, Theater, Trick
from services.trickerion.hall import THEATER_FLAG
from tests.games.trickerion.script import CONTENT, SEATS, Script, new_game, seat_number, set_up, spectator

BEGINNERS = {"set_up": "beginners"}


def until(t: Script, kind: str) -> str:
    """Everybody chooses the first that is listed until somebody is asked that."""
    while kind not in t.asked.values():
        ((name, _),) = t.asked.items()
        player = t.players[seat_number(name)]
        player.does(player.may[0])
    return next(name for name, asked in t.asked.items() if asked == kind)


# --- parts


@pytest.mark.rule("TR-001", "TR-034", "TR-146", "TR-152")
def test_a_game_has_five_turns() -> None:
    t = set_up(new_game(3))
    t.goes_on(lambda t: t.game.ended is not None, prefer=["advertise"])
    turns = [e.turn for e in t.story if isinstance(e, wire.PhaseStarted) and e.phase == wire.Phase.ROLL_DICE]
    assert turns == [1, 2, 3, 4, 5]
    by_fame = sorted(range(3), key=lambda n: (-t.hall.fame[n], t.hall.initiative.index(n)))
    assert [t.ranks[n] for n in by_fame] == [1, 2, 3]


@pytest.mark.rule("TR-002", "TR-003", "TR-012")
def test_tricks() -> None:
    t = new_game(4)
    assert Counter((CONTENT.tricks[n].category, CONTENT.tricks[n].level) for n in t.hall.residence) == {
        (category, level): 4 for category in Category if category for level in (1, 2)
    }
    assert {(card.level, card.threshold) for card in CONTENT.tricks[1:]} == {(1, 1), (2, 16), (3, 36)}
    for card in CONTENT.tricks[1:]:
        assert card.needs and 1 <= card.ap <= 3 and 1 <= card.markers <= 3
        assert (card.bonus is not None) == (card.level == 3)
    mummy = CONTENT.tricks[Trick.BURNING_MUMMY]
    assert mummy.needs == ((Component.FABRIC, 3), (Component.PETROLEUM, 1))
    assert (mummy.yields.fame, mummy.yields.coins, mummy.yields.shards) == (2, 2, 0)
    assert tuple(spectator(t).residence) == tuple(t.hall.residence)


@pytest.mark.rule("TR-004")
def test_components() -> None:
    kinds = CONTENT.components[1:]
    assert Counter((kind.tier, kind.price) for kind in kinds) == {(1, 1): 4, (2, 2): 4, (3, 3): 4}


@pytest.mark.rule("TR-005", "TR-021", "TR-016", "TR-027", "TR-033")
def test_what_each_begins_with() -> None:
    t = set_up(new_game(3))
    for player in t.players:
        player.has(
            hand="downtown downtown market_row market_row workshop workshop theater theater theater",
            fame=5,
            shards=1,
            advertised=False,
        )
    t.has(turn=1)


@pytest.mark.rule("TR-006", "TR-022")
def test_characters() -> None:
    discs = {wire.Character(n).name: kind.discs for n, kind in enumerate(CONTENT.characters) if n}
    assert discs == {"MAGICIAN": 1, "ENGINEER": 1, "MANAGER": 1, "ASSISTANT": 1, "APPRENTICE": 4}
    t = new_game(2)
    t.a.has(members="magician apprentice_1")


@pytest.mark.rule("TR-007", "TR-008")
def test_boards() -> None:
    tricks, components, apprentices = CONTENT.trick_board, CONTENT.component_board, CONTENT.apprentice_board
    assert (tricks.slots, tricks.extension) == (3, 1)
    assert (components.slots, components.extension) == (6, 2)
    assert (apprentices.slots, apprentices.extension) == (3, 1)
    assert len(CONTENT.places[Location.WORKSHOP].slots) == 2


@pytest.mark.rule("TR-009")
def test_four_markers_of_each_symbol() -> None:
    for player in new_game(2).players:
        player.has(supply="4 4 4 4")


@pytest.mark.rule("TR-011", "TR-018", "TR-A27")
def test_magicians_have_different_favorites() -> None:
    t = new_game(4)
    assert len(t.players[seat_number(*t.asked)].may) == 8
    first = t.players[seat_number(*t.asked)]
    first.does("choose great_optico")
    until(t, "choose_magician")
    second = t.players[seat_number(*t.asked)]
    assert second is not first and len(second.may) == 6
    second.cannot("choose gentleman", because="TR-018")
    second.cannot("choose great_optico", because="TR-018")


@pytest.mark.rule("TR-018", "TR-A29")
def test_the_set_up_goes_clockwise_and_is_open() -> None:
    starts = set()
    for number in range(12):
        t = new_game(4, seed=bytes([number]) * 32)
        order = []
        while "choose_magician" in t.asked.values():
            name = until(t, "choose_magician")
            order.append(seat_number(name))
            t.players[order[-1]].does(t.players[order[-1]].may[0])
            while t.phase == "set_up" and set(t.asked) == {name}:
                t.players[order[-1]].does(t.players[order[-1]].may[0])
            if t.phase != "set_up":
                break
        assert order[:4] == [(order[0] + n) % 4 for n in range(4)]
        starts.add(order[0])
        assert [player.magician for player in spectator(t).players] == t.hall.magicians
    assert len(starts) > 1


# --- the table


@pytest.mark.rule("TR-013")
def test_the_market_row() -> None:
    t = new_game(2)
    t.has(buy="wood metal glass fabric", order="- - - -", quick="-")


@pytest.mark.rule("TR-014", "TR-015")
@pytest.mark.parametrize("players", [2, 3, 4])
def test_performance_cards(players: int) -> None:
    seen = set()
    for number in range(8):
        t = new_game(players, seed=bytes([number]) * 32)
        backs = [card >> THEATER_FLAG for card in t.hall.performances]
        assert backs == [Theater.GRAND_MAGORIAN] * 2 + [Theater.RIVERSIDE] * 2
        deck = [PerformanceCard(card & FRONT) for card in t.hall.performances]
        display = t.display.split()
        assert len(display) == players - 1 and all(name.startswith("R") for name in display)
        assert len({*display, *(card.name for card in deck)}) == len(display) + 4
        assert [CONTENT.performances[card].theater for card in deck] == backs
        assert not any(card & EVERYONE for card in t.hall.performances)
        assert [card.card for card in spectator(t).deck] == [0] * 4
        seen |= set(display)
    assert len(seen) > players


@pytest.mark.rule("TR-C3")
def test_the_retail_box() -> None:
    theaters = Counter(card.theater for card in CONTENT.performances.values())
    assert theaters == {Theater.RIVERSIDE: 12, Theater.GRAND_MAGORIAN: 8, Theater.MAGNUS_PANTHEON: 8}
    assert len(CONTENT.assignments) - 1 == 5 + 40


# --- the player set-up


@pytest.mark.rule("TR-019", "TR-A30")
def test_components_worth_two() -> None:
    t = new_game(2)
    player = t.players[seat_number(until(t, "starting_components"))]
    basic = ("wood", "glass", "metal", "fabric")
    pairs = {f"components {one} {other}" for one, other in combinations_with_replacement(basic, 2)}
    advanced = {f"components {name}" for name in ("rope", "petroleum", "saw", "animal")}
    assert set(player.may) == pairs | advanced
    player.cannot("components mirror", because="TR-A30")
    player.cannot("components wood", because="TR-A30")
    player.cannot("components wood rope", because="TR-A30")
    player.does("components glass glass")
    player.has(components="glass*2")


@pytest.mark.rule("TR-020", "TR-A33")
def test_the_starting_trick() -> None:
    t = new_game(2)
    player = t.players[seat_number(*t.asked)]
    player.does("choose mechaniker")
    until(t, "starting_trick")
    tricks = ("linking_rings", "living_piano", "chinese_sticks", "levitation")
    symbols = ("spades", "hearts", "diamonds", "clubs")
    assert set(player.may) == {f"pick {trick} {symbol}" for trick in tricks for symbol in symbols}
    player.cannot("pick mechanical_hornet spades", because="TR-020")
    player.cannot("pick mind_reading spades", because="TR-020")
    player.does("pick living_piano clubs")
    assert player.tricks.startswith("living_piano:clubs*")
    assert Trick.LIVING_PIANO not in t.hall.residence


@pytest.mark.rule("TR-023", "TR-026", "TR-022")
@pytest.mark.parametrize(
    ("specialist", "members"),
    [
        ("engineer", "magician engineer apprentice_1"),
        ("manager", "magician manager apprentice_1"),
        ("assistant", "magician assistant apprentice_1 apprentice_4"),
    ],
)
def test_the_specialist(specialist: str, members: str) -> None:
    t = new_game(2)
    player = t.players[seat_number(until(t, "specialist"))]
    assert set(player.may) == {"specialist engineer", "specialist manager", "specialist assistant"}
    player.does(f"specialist {specialist}")
    set_up(t)
    player.has(members=members)


@pytest.mark.rule("TR-024", "TR-A31")
def test_the_managers_components() -> None:
    t = new_game(2)
    name = until(t, "choose_magician")
    player = t.players[seat_number(name)]
    chosen = {"starting_components": "components wood metal", "specialist": "specialist manager"}
    while t.asked != {name: "manager_components"}:
        player.does(chosen.get(t.asked[name]) or player.may[0])
    assert set(player.may) == {
        "components glass glass",
        "components glass fabric",
        "components fabric fabric",
        *(f"components {kind}" for kind in ("rope", "petroleum", "saw", "animal")),
    }
    player.cannot("components wood glass", because="TR-A31")
    player.does("components glass fabric")
    player.has(components="wood*1 glass*1! metal*1 fabric*1!")


@pytest.mark.rule("TR-028")
def test_the_managers_components_count_for_the_starting_trick() -> None:
    t = new_game(2)
    chosen = {
        "choose_magician": "choose master_of_chains",
        "starting_trick": "pick stocks_escape spades",
        "starting_components": "components wood wood",
        "specialist": "specialist manager",
        "manager_components": "components metal metal",
    }
    set_up(t, a=chosen, b={"choose_magician": "choose great_optico"})
    t.a.has(tricks="stocks_escape:spades*2")


@pytest.mark.rule("TR-025")
def test_engineers_choose_after_all_starting_tricks() -> None:
    t = set_up_to_engineers()
    assert all(any(tricks) for tricks in t.hall.tricks)
    first = t.players[seat_number(*t.asked)]
    tricks = {words.split()[1] for words in first.may}
    taken = {Trick(n).name.lower() for slots in t.hall.tricks for n in slots if n}
    level_1 = {Trick(n).name.lower() for n in range(1, 49) if CONTENT.tricks[n].level == 1}
    assert tricks == level_1 - taken
    symbol = first.tricks.split(":")[1].split("*")[0]
    assert symbol not in {words.split()[2] for words in first.may}
    words = first.may[0]
    first.cannot(words.rsplit(" ", 1)[0] + f" {symbol}", because="TR-025")
    first.cannot(words.rsplit(" ", 1)[0] + " unspecified", because="TR-009")
    first.does(words)
    assert first.tricks.endswith("!")
    ((name, kind),) = t.asked.items()
    assert kind == "engineer_trick" and t.players[seat_number(name)] is not first
    t.players[seat_number(name)].cannot(words, because="TR-025")


def set_up_to_engineers() -> Script:
    t = new_game(3)
    while "engineer_trick" not in t.asked.values():
        ((name, kind),) = t.asked.items()
        player = t.players[seat_number(name)]
        player.does("specialist engineer" if kind == "specialist" else player.may[0])
    return t


@pytest.mark.rule("TR-029")
def test_the_set_up_for_beginners() -> None:
    t = new_game(4, options=BEGINNERS)
    sets = {}
    for magician in ("great_optico", "mechaniker", "master_of_chains", "yoruba_spiritmaster"):
        player = t.players[seat_number(*t.asked)]
        player.does(f"choose {magician}")
        sets[magician] = player
    assert t.phase == "advertise"
    told = {name: (p.members, p.components, p.tricks.replace(":", " ").split()[0]) for name, p in sets.items()}
    assert told == {
        "great_optico": ("magician manager apprentice_1", "fabric*2 animal*1!", "enchanted_butterflies"),
        "mechaniker": ("magician assistant apprentice_1 apprentice_4", "metal*2", "linking_rings"),
        "master_of_chains": ("magician engineer apprentice_1", "wood*2", "barricaded_barrels"),
        "yoruba_spiritmaster": ("magician manager apprentice_1", "glass*2 rope*1!", "mind_reading"),
    }
    assert "stocks_escape" in sets["master_of_chains"].tricks and sets["master_of_chains"].tricks.endswith("*0!")
    for name, markers in zip(sets, (2, 2, 2, 3), strict=True):
        assert f"*{markers}" in sets[name].tricks.split()[0]


@pytest.mark.rule("TR-030", "TR-032")
@pytest.mark.parametrize(("players", "coins"), [(3, [10, 12, 14]), (4, [10, 12, 14, 16])])
def test_starting_initiative(players: int, coins: list[int]) -> None:
    orders = set()
    for number in range(6):
        t = set_up(new_game(players, seed=bytes([number]) * 32))
        assert sorted(t.initiative) == list(SEATS[:players])
        assert [t.hall.coins[seat] for seat in t.hall.initiative] == coins
        orders.add(t.initiative)
        phases = [type(e) for e in t.story if isinstance(e, wire.InitiativeSet | wire.TrickTaken)]
        assert phases[-1] is wire.InitiativeSet
    assert len(orders) > 1


@pytest.mark.rule("TR-C1")
def test_unknown_and_contradicting_settings_are_refused() -> None:
    for rulings, options in (
        ({"edition": "second"}, {}),
        ({"no_such_ruling": "true"}, {}),
        ({}, {"dark_alley": "perhaps"}),
        ({}, {"no_such_option": "true"}),
        ({}, {"prophecies": "false"}),
    ):
        with pytest.raises(Refusal):
            new_game(2, rulings=rulings, options=options)
    for players in (1, 5):
        with pytest.raises((Refusal, IndexError)):
            new_game(players)
