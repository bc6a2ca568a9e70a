"""Trickerion at the terminal: sentences, table and menus, and that none of them tells what a viewer cannot know."""

import io
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from guildhall.kernel.decide import Decided
from guildhall.kernel.families import Family, Limit, Slot
from guildhall.kernel.game import Game
from guildhall.kernel.redact import redact
from guildhall.kernel.v1.structs import Undo
from guildhall.trickerion.v1 import structs as tr
from services.trickerion import hooks, words
from services.trickerion.appraisal import cost_now, enhance_now
from services.trickerion.content import Action
from services.trickerion.greedy import Greedy
from services.trickerion.hall import CARD_SLOTS, marker
from services.trickerion.menus import AGAIN, AssignMenu, Menus
from services.trickerion.rules import RULES
from services.trickerion.sentences import Teller
from services.trickerion.terminal import Terminal
from tests.cli.random_games import steps
from tests.games.trickerion.script import Script, advertise, perform, place, seat
from tests.games.trickerion.tables import OPEN, with_bonus

PACK = RULES.packs.data(RULES.pack_hash)
TERMINAL = Terminal(PACK)
GREEDY = Greedy(PACK)
SIZES = (80, 120)
DARK_ALLEY = {"dark_alley": "true"}
TABLES = [(2, {}), (3, {}), (4, {}), (2, DARK_ALLEY), (4, DARK_ALLEY)]


def played(players: int, number: int, options: dict[str, str], undo: float = 0.05) -> Iterator[tuple[Game, Decided]]:
    """A game among players that mostly do what the greedy one would: so Tricks are set up and performed."""
    return steps(players, number, options, undo=undo, rules=RULES, advice=GREEDY)


def drawn(view: tr.View, width: int = 80, name: str = "") -> str:
    """The table; with that name for everybody."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    console.print(TERMINAL.draw(view, lambda subject: name or subject, width))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@pytest.mark.parametrize("name", ["[/x]", "[red]boss"])
def test_a_name_is_no_markup(name: str) -> None:
    *_, (game, _) = played(2, 1, {})
    plain = name.replace("[", "(").replace("]", ")")
    as_named, as_plain = (drawn(game.view(0), 120, n) for n in (name, plain))
    assert as_named.replace(name, plain) == as_plain and as_named != as_plain


def specials_named(text: str) -> set[int]:
    """The special cards that a text names."""
    flat = re.sub(r"\s+", " ", text)
    return {card for card in words.SPECIALS if words.ASSIGNMENTS[card] in flat}


def cards_in(value: Any) -> set[int]:
    """The Assignment cards that stand anywhere in a view or an event."""
    if isinstance(value, tuple):
        return set().union(*(cards_in(inner) for inner in value)) if value else set()
    found: set[int] = set()
    for name in getattr(value, "__struct_fields__", ()):
        inner = getattr(value, name)
        if isinstance(inner, int) and not isinstance(inner, bool):
            found |= {int(inner)} if name in CARD_FIELDS else set()
        elif name in CARD_FIELDS and isinstance(inner, tuple) and all(isinstance(card, int) for card in inner):
            found |= {int(card) for card in inner}
        else:
            found |= cards_in(inner)
    return found & set(words.SPECIALS)


CARD_FIELDS = {"card", "cards", "hand", "bonus", "performing", "copied", "shown"}


def leaves(menu: Any) -> list[Any]:
    """All commands of a menu; what begins it again is left out."""
    found = []
    for entry in menu.entries:
        if not hasattr(entry.then, "entries"):
            found.append(entry.then)
        elif entry.text != AGAIN:
            found += leaves(entry.then)
    return found


def chosen(menu: Any, *beginnings: str) -> Any:
    """The command, or the menu, to which the entries lead that begin so."""
    for beginning in beginnings:
        (menu,) = [entry.then for entry in menu.entries if entry.text.startswith(beginning)]
    return menu


def test_there_is_a_clause_for_every_event() -> None:
    assert set(Teller.CLAUSES) == set(tr.EVENT_TYPES.values())


@pytest.mark.parametrize(
    ("named", "kind"),
    [
        (words.TRICKS, tr.Trick),
        (words.ASSIGNMENTS, tr.Assignment),
        (words.MAGICIANS, tr.Magician),
        (words.ABILITIES, tr.Magician),
        (words.COMPONENTS, tr.Component),
        (words.MEMBERS, tr.Member),
        (words.LOCATIONS, tr.Location),
        (words.SYMBOLS, tr.Symbol),
        (words.CATEGORIES, tr.Category),
        (words.DIRECTIONS, tr.Direction),
        (words.WEEKDAYS, tr.Weekday),
    ],
)
def test_everything_has_its_words(named: dict[int, str], kind: Any) -> None:
    assert set(named) == {member for member in kind if member}
    assert all(named.values()) and len(set(named.values())) == len(named)


def test_words_agree_with_the_pack() -> None:
    content = TERMINAL._content
    for trick, name in words.TRICKS.items():
        card = content.tricks[trick]
        assert (card.name, card.category, card.level) == (name, words.category_of(trick), words.level_of(trick))
        assert (trick in words.END_BONUSES) == (card.level == 3)
    for front, name in words.ASSIGNMENTS.items():
        assert content.assignments[front].location == words.location_of(front)
        assert content.assignments[front].name == name or front < min(words.SPECIALS)
    for component, name in words.COMPONENTS.items():
        assert content.components[component].name == name
    assert len(words.PROPHECIES) == len(content.prophecies)


@pytest.mark.parametrize(("players", "options"), TABLES)
def test_sentences_tell_what_the_viewer_was_told_and_no_more(players: int, options: dict[str, str]) -> None:
    viewers = [*range(players), None]
    tellers = {viewer: Teller(viewer) for viewer in viewers}
    said = 0
    for game, decided in played(players, players, options):
        for viewer in viewers:
            events = [told for event in decided.events if (told := redact(RULES, event, viewer)) is not None]
            sentences = tellers[viewer].tell(game.version, events)
            text = " ".join(sentences)
            said += len(sentences)
            assert specials_named(text) <= set().union(*(cards_in(event) for event in events)) if events else not text
            assert not re.search(r"None|_|  |\b0 (?:Fame|coins|Shards|markers)\b", text), text
            assert all(sentence[0].isupper() and sentence[-1] in ".!" for sentence in sentences)
    assert said > 100


@pytest.mark.parametrize(("players", "options"), TABLES)
def test_the_table_shows_what_the_viewer_knows_and_no_more(players: int, options: dict[str, str]) -> None:
    for game, _ in played(players, 10 + players, options):
        if game.version % 41:
            continue
        for viewer in (0, players - 1, None):
            view = game.view(viewer)
            for width in SIZES:
                text = drawn(view, width)
                assert max(len(line) for line in text.splitlines()) <= width
                assert specials_named(text) <= cards_in(view)
                assert all(f"{player.fame} Fame" in text for player in view.players)
            assert ("Your hand" in text) == (viewer is not None)


def test_a_performance_card_is_drawn_with_slots_circles_and_corners() -> None:
    """R08, with Linking Rings pointing down (Mechanical) above Chinese Sticks pointing up: a link."""
    game, _ = next(step for step in steps(2, 1, rules=RULES) if step[0].view(0).turn == 1)
    hall = game.hall
    hall.display = [tr.PerformanceCard.R08 | 0xFF00]
    hall.stage = [[0] * 6]
    hall.stage[0][0] = marker(tr.Trick.LINKING_RINGS, 0, tr.Symbol.SPADES, tr.Direction.DOWN)
    hall.stage[0][1] = marker(tr.Trick.CHINESE_STICKS, 1, tr.Symbol.HEARTS, tr.Direction.UP)
    view = replace(RULES.view(RULES.blind(hall, 0), 0), game=game.view(0).game)
    text = drawn(view)
    lines = text.splitlines()
    top = next(number for number, line in enumerate(lines) if "R08" in line and "╭" in line)
    card = "\n".join(line[:15].rstrip() for line in lines[top : top + 13])
    assert card == CARD, card


CARD = """\
╭─── 1 R08 ───╮
│┌─e─┐        │
│o♠P s        │
│└─M─┘        │
│  ●          │
│┌─M─┐   ┌───┐│
│s♥L o ◇ │ 4 ││
│└─e─┘   └───┘│
│  ○          │
│┌───┐        │
││ 3 │        │
│└───┘        │
╰─── 1F 1c ───╯"""


@pytest.mark.parametrize(("players", "options"), TABLES)
def test_every_legal_command_is_in_the_menu_once(players: int, options: dict[str, str]) -> None:
    kinds = set()
    for game, _ in played(players, 20 + players, options):
        for decision in game.waiting():
            listing = game.legal(decision.seat)
            if listing.families:
                continue
            menu = TERMINAL.menu(game.view(decision.seat), decision.kind, listing.commands, str)
            wanted = [command for command in listing.commands if type(command) is not Undo]
            found = leaves(menu)
            kinds.add(decision.kind)
            assert len(found) == len(wanted) and set(found) == set(wanted)
            _check_words(menu)
    assert {"place", "act", "starting_trick", "perform"} <= kinds


def test_a_symbol_is_offered_with_the_markers_that_are_left() -> None:
    """Those of a Trick given back have left the game."""
    t = place(a=seat("magician:downtown", "linking_rings:spades*3"), dice="any X / X X / X X")
    t.a.does("place magician downtown_4", "give_back linking_rings", "learn mind_reading dahlgaard_a")
    menu = TERMINAL.menu(t.game.view(0), "symbol", t.game.legal(0).commands, str)
    assert [entry.text for entry in menu.entries] == [
        "♠, 1 marker left",
        "♥, 4 markers left",
        "♦, 4 markers left",
        "♣, 4 markers left",
    ]


@pytest.mark.parametrize(("on_stage", "markers"), [("", "4 markers"), ("R01:0.0>down R10:0.0>right", "2 markers")])
def test_prepare_is_offered_with_the_markers_that_it_brings(on_stage: str, markers: str) -> None:
    """One more on the Engineer's slot, no more than there are in supply."""
    team, piles = "magician:workshop engineer", "animal*1 glass*1 wood*1"
    stage = " ".join(f"a/living_piano@{place}" for place in on_stage.split())
    t = place(a=seat(team, "living_piano:hearts!", piles), display="R01 R10", stage=stage)
    t.a.does("place magician workshop_1")
    menu = TERMINAL.menu(t.game.view(0), "act", t.game.legal(0).commands, str)
    (text,) = [entry.text for entry in menu.entries if entry.text.startswith("prepare")]
    assert text.startswith("prepare: Living Piano: ") and text.endswith(f" AP, {markers}")
    t.a.does("prepare living_piano")
    assert t.a.tricks == f"living_piano:hearts*{markers[0]}!"


def _check_words(menu: Any) -> None:
    assert menu.question and len({entry.key for entry in menu.entries}) == len(menu.entries)
    for entry in menu.entries:
        assert entry.text and "(" not in entry.text[:1] and "_" not in entry.text and "None" not in entry.text
        if hasattr(entry.then, "entries"):
            _check_words(entry.then)


def test_cards_are_assigned_step_by_step_and_only_what_is_legal() -> None:
    game, _ = next(step for step in steps(3, 5, rules=RULES) if any(d.kind == "assign" for d in step[0].waiting()))
    seat = game.waiting()[0].seat
    (family,) = game.legal(seat).families
    menu = TERMINAL.menu(game.view(seat), "assign", [family], str)
    found = leaves(menu)
    assert set(found) == set(family.commands())
    assert "Magician" in menu.question and {"Theater (3 left)", "Theater"} & {entry.text for entry in menu.entries}


def test_a_kind_of_card_is_offered_as_often_as_it_is_in_hand() -> None:
    slots = tuple(Slot(name, (0, 1, 4)) for name in ("magician", "engineer", "first_apprentice"))
    family = Family(tr.Assign, "cards", slots, 0, 3, (Limit(frozenset({1}), 1),))
    rng = random.Random(1)
    for _ in range(50):
        menu: Any = AssignMenu(family, ())
        while hasattr(menu, "entries"):
            menu = rng.choice(menu.entries).then
        assert family.holds(menu)
    first = AssignMenu(family, ())
    second = next(entry.then for entry in first.entries if entry.text == "Downtown (1 left)")
    assert all("Downtown" not in entry.text for entry in second.entries)
    assert "Magician: Downtown" in second.question


def test_who_stays_idle_is_asked_once() -> None:
    t = OPEN["assign"]()
    (family,) = t.game.legal(0).families
    menu = TERMINAL.menu(t.a.sees(), "assign", [family], str)
    sent = chosen(menu, "Downtown", "Workshop", "Theater")
    assert family.holds(sent) and all(sent.cards)
    for way in (["Downtown", "none", "none"], ["Downtown", "that is all"]):
        sure = chosen(menu, *way)
        assert sure.question == "Without a card, so idle in this turn: Engineer and Apprentice. Assign so?"
        assert chosen(sure, "yes") == tr.Assign((tr.Assignment.DOWNTOWN, 0, 0))
        assert chosen(sure, "no").question == menu.question


def test_guests_move_up_when_one_before_them_is_given_back() -> None:
    teller = Teller(None)
    teller.names = ["Ann", "Bob"]
    teller.put(tr.PerformanceCard.R01, 0, 0, tr.Trick.LEVITATION)
    teller.put_beside(tr.PerformanceCard.R01, 0, tr.Trick.LEVITATION)
    teller.put_beside(tr.PerformanceCard.R01, 1, tr.Trick.LINKING_RINGS)
    teller.tell(2, [tr.TrickReturned(0, tr.Trick.LEVITATION)])
    assert teller.now.markers == {(tr.PerformanceCard.R01, CARD_SLOTS): (1, tr.Trick.LINKING_RINGS)}


def test_a_step_taken_back_before_there_are_prophecies() -> None:
    teller = Teller(None)
    teller.names = ["Ann", "Bob"]
    view = place(2, a=seat(), options=DARK_ALLEY).game.view(None)
    assert view.dark_alley is not None
    teller.look(3, replace(view, dark_alley=replace(view.dark_alley, pending=())))
    teller.tell(4, [tr.ProphecyDrawn(tr.Prophecy.P05, 2)])
    assert teller.now.pending == [0, 0, tr.Prophecy.P05]


def test_verbs_agree_with_whoever_does_it() -> None:
    teller = Teller(1)
    assert [teller.verb(seat, "copy") for seat in (0, 1)] == ["copies", "copy"]
    assert [teller.verb(0, verb) for verb in ("buy", "pay", "reschedule", "pass on", "perform")] == [
        "buys",
        "pays",
        "reschedules",
        "passes on",
        "performs",
    ]


def flat(view: tr.View) -> str:
    """The table as one line of words."""
    return re.sub(r"\s+", " ", drawn(view, 120))


def path(view: tr.View, command: Any) -> str:
    """A command as seat a's menu says it."""
    return ": ".join(Menus(view, str, TERMINAL._content).path("act", command))


def under(prophecy: str, a: Any, **more: Any) -> Script:
    """A placement of seat a's under this prophecy."""
    return place(2, a=a, options=DARK_ALLEY, prophecies=f"{prophecy} / p17 p13 p23 / p10", **more)


def test_menus_and_table_tell_what_things_cost_and_yield_now() -> None:
    t = under("p21", seat("magician:market_row", coins=9), buy="wood mirror glass fabric", quick="cog")
    t.a.does("place magician market_row_1")
    view = t.a.sees()
    assert path(view, tr.Buy(tr.Component.MIRROR, 1, 0, False)) == "buy (1 AP): Mirror at 2: 1"
    assert path(view, tr.Buy(tr.Component.COG, 1, 0, False)) == "buy (1 AP): Cog at 3: 1"
    assert path(view, tr.QuickOrder(tr.Component.COG)) == "order quickly (2 AP): Cog at 3"
    assert "Mirror (2)" in flat(view) and "Quick Order: Cog (3)" in flat(view)
    t = under("p04", seat("magician:market_row"), order="rope - - -", quick="rope")
    price = TERMINAL._content.components[tr.Component.ROPE].price
    assert path(t.a.sees(), tr.Buy(tr.Component.ROPE, 1, 0, False)) == f"buy (1 AP): Rope at {price}: 1"
    t = under("p07", seat("magician:downtown"), dice="X X / X X / 4 X")
    assert path(t.a.sees(), tr.TakeCoins(4)).startswith("take 8 coins of")
    t = under("p22", seat("magician:downtown"))
    assert "Saturday +0, yield +1" in drawn(t.a.sees(), 120)
    t = under("p16", seat("magician:downtown"))
    assert "yield" not in drawn(t.a.sees(), 120).partition("Thursday +1")[2].partition("stage")[0]


def at(slot: str, card: str, stage: str = "") -> Script:
    """Seat a's Magician on a slot, with much that can be done there; `card` is used for the next action if special."""
    a = seat(
        f"magician:{card} engineer manager assistant apprentice_1",
        "linking_rings:spades*2 mind_reading:hearts",
        "metal*2 glass*2 wood*1 animal*1",
        coins=9,
        magician="priestess_of_mysticism" if slot.startswith("dark_alley") else "electra",
    )
    dice, prophecies = "any X / engineer apprentice / 4 X", "p06 / p23 p17 p13 / p10"
    t = place(2, a=a, dice=dice, stage=stage, options=DARK_ALLEY, prophecies=prophecies)
    t.a.does(f"place magician {slot}")
    if tr.Assignment[card.upper()] in words.SPECIALS:
        t.a.does("keep", "bonus")
    return t


STAGE = "a/levitation@R01:0.0>down b/walled@R01:0.2>up"
FULL = f"{STAGE} b/living_piano@R01:0.1>left"
ACTING: dict[str, Callable[[], Script]] = {
    "Downtown": lambda: at("downtown_1", "downtown"),
    "Market Row": lambda: at("market_row_1", "market_row"),
    "Workshop": lambda: at("workshop_1", "workshop"),
    "Theater": lambda: at("friday_1", "theater", STAGE),
    "Dark Alley": lambda: at("dark_alley_1", "dark_alley"),
    "further cards": OPEN["keep_card"],
    "guest_performer": lambda: at("friday_1", "guest_performer", FULL),
    "street_performance": lambda: at("friday_1", "street_performance", STAGE),
    "directors_favor": lambda: at("friday_1", "directors_favor", STAGE),
    **{card: partial(with_bonus, "theater", card) for card in ("new_twist", "buying_time")},
    **{card: partial(with_bonus, "workshop", card) for card in ("test_run", "unstable_prototype")},
    **{
        card: partial(with_bonus, "downtown", card)
        for card in ("mass_recruitment", "headhunter", "trick_overhaul", "thirst_for_knowledge", "interest")
    },
    **{
        card: partial(with_bonus, "market_row", card)
        for card in ("component_sale", "smuggled_goods", "barter_with_power", "logistics", "dubious_sources")
    },
}
"""Tables at which seat a's Character acts."""
SAID_AP = re.compile(r"(\d+) AP(?:\)|,| of bargaining)")


def said_and_spent(make: Callable[[], Script]) -> Iterator[tuple[str, int, int]]:
    """The words of one command of each kind that seat a has, the action points that they say, and those it spends."""
    kinds = {type(command): command for command in make().game.legal(0).commands if type(command) is not Undo}
    for command in kinds.values():
        t = make()
        said = ": ".join(Menus(t.a.sees(), str, TERMINAL._content).path(next(iter(t.asked.values())), command))
        spent = 0
        t.decide(0, command)
        while True:
            spent += sum(event.amount for event in t.events if isinstance(event, tr.ActionPointsSpent))
            if t.asked.get("a") not in PAID_LAST:
                break
            t.decide(0, t.game.legal(0).commands[0])
        yield said, sum(map(int, SAID_AP.findall(said))), spent


PAID_LAST = ("trick_slot", "symbol", "overhaul", "overhaul_slot")
"""Learning a Trick asks these before it is paid."""


@pytest.mark.parametrize("table", ACTING)
def test_a_menu_says_the_action_points_that_a_command_costs(table: str) -> None:
    found = list(said_and_spent(ACTING[table]))
    assert all(said == spent for _, said, spent in found), found
    assert any(spent for _, _, spent in found)


@pytest.mark.parametrize(("players", "options"), TABLES)
def test_costs_are_those_of_the_rules(players: int, options: dict[str, str]) -> None:
    content = TERMINAL._content
    for game, _ in played(players, 30 + players, options):
        hall, view = game.hall, game.view(None)
        assert [cost_now(view, content, action) for action in (0, *Action)] == list(
            hooks.of(hall).action_costs(hall, content)
        )
        assert enhance_now(view, content) == hooks.of(hall).enhance_ap(hall, content)


def test_menus_say_what_an_action_costs_by_edition_and_special_card() -> None:
    def rolling(**rulings: str) -> str:
        return path(place(2, a=seat("magician:downtown"), rulings=rulings).a.sees(), tr.RerollDie(2))

    assert rolling().startswith("roll a die again (2 AP): ")
    assert rolling(edition="revised_2019").startswith("roll a die again (1 AP): ")
    t = place(2, a=seat("magician:thirst_for_knowledge"), dice="any X / X X / X X", options=DARK_ALLEY)
    t.a.does("place magician downtown_1", "keep")
    assert path(t.a.sees(), tr.LearnTrick(1, 0)).startswith("learn a Trick (3 AP): ")
    t.a.does("bonus")
    assert path(t.a.sees(), tr.LearnTrick(1, 0)).startswith("learn a Trick (2 AP): ")


def test_a_trick_is_offered_with_the_components_that_are_lacking() -> None:
    t = place(2, a=seat("magician:downtown", "", "wood*2 cog*1"))
    menus = Menus(t.a.sees(), str, TERMINAL._content)
    said = {
        trick: menus._trick(trick)
        for trick in (tr.Trick.BARRICADED_BARRELS, tr.Trick.STOCKS_ESCAPE, tr.Trick.MIND_READING)
    }
    assert said == {
        tr.Trick.BARRICADED_BARRELS: "Barricaded Barrels, level 1: 2 Wood; yields 1 Fame and 1 coin",
        tr.Trick.STOCKS_ESCAPE: "Stocks Escape, level 1: 2 Wood, 2 Metal (you lack 2 Metal); yields 1 coin and 1 Shard",
        tr.Trick.MIND_READING: "Mind Reading, level 1: 2 Glass (you have none of it); yields 1 Shard",
    }


def test_what_advertising_costs_is_said_with_the_reason() -> None:
    t = advertise()
    slot = t.a.sees().derived.players[0].initiative_slot
    menu = TERMINAL.menu(t.a.sees(), "advertise", t.game.legal(0).commands, str)
    coins = words.counted(slot, "coin")
    assert menu.entries[0].text == f"pay {coins}, the number of your initiative slot, for 2 Fame"
    assert "1 player-a, 3 player-b" in drawn(place(2, a=seat()).a.sees())


@pytest.mark.parametrize(
    ("dice", "said"),
    [
        ("any X / engineer apprentice / 4 3", "? is any category, X offers nothing until it is set or rolled again"),
        ("any optical / engineer apprentice / 4 3", "? is any category"),
        ("escape optical / engineer apprentice / 4 X", "X offers nothing until it is set or rolled again"),
        ("escape optical / engineer apprentice / 4 3", ""),
    ],
)
def test_the_table_explains_the_faces_that_dice_show(dice: str, said: str) -> None:
    explained = re.search(r"Bank \[.\] \[.\] (.*?) ?Tricks at", flat(place(2, a=seat(), dice=dice).a.sees()))
    assert explained and explained[1] == said


@pytest.mark.parametrize(
    ("players", "said"),
    [(2, "closed with 2 players: slots 2 and 3"), (3, "closed with 3 players: slot 3"), (4, "")],
)
def test_the_table_tells_which_slots_are_closed(players: int, said: str) -> None:
    table = flat(place(players, a=seat(), options=DARK_ALLEY).a.sees())
    assert table.count("closed") == 3 * bool(said) and table.count(said) >= 3


def test_the_bonus_of_a_card_shows_in_markers_and_yields() -> None:
    a = seat("magician:trick_tweaking", "linking_rings", "metal*2")
    t = place(2, a=a, options=DARK_ALLEY)
    t.a.does("place magician workshop_1", "keep")
    before = path(t.a.sees(), tr.Prepare(tr.Trick.LINKING_RINGS))
    t.a.does("bonus")
    after = path(t.a.sees(), tr.Prepare(tr.Trick.LINKING_RINGS))
    assert int(after.split()[-2]) == int(before.split()[-2]) + 1
    a = seat("magician:enhance_trick", "linking_rings", "metal*2", shards=2)
    t = place(2, a=a, options=DARK_ALLEY)
    t.a.does("place magician workshop_1", "keep", "bonus", "prepare linking_rings")
    assert "1F 3c" in drawn(t.a.sees()) and "1F 3c" not in drawn(place(2, a=a).a.sees())


def test_a_theft_names_the_tricks_of_the_card_that_is_performed() -> None:
    t = perform(
        a=seat("magician@friday_stage", magician="red_lotus"),
        b=seat("magician"),
        stage="a/linking_rings@R01:0.0>down b/living_piano@R01:0.1>down "
        "a/levitation@R10:0.0>down b/chinese_sticks@R10:1.0>down",
        options=DARK_ALLEY,
    )
    t.a.does("perform R10")
    assert t.asked == {"a": "steal"}
    menu = TERMINAL.menu(t.a.sees(), "steal", t.game.legal(0).commands, str)
    assert [entry.text for entry in menu.entries if entry.key] == [
        "that of player-b's Chinese Sticks, slot 2: in place of Levitation, slot 1"
    ]
    t.a.does("decline")
    alley = t.a.sees().dark_alley
    assert alley is not None and not alley.performed_card


def test_the_order_of_modifiers_names_the_trick_and_what_changes_its_yield() -> None:
    """Of b's two Tricks on the card the weekday and the fiasco matter with the second one only."""
    t = place(
        2,
        a=seat("magician:arranged_fiasco"),
        b=seat("magician"),
        stage="a/linking_rings@R08:0.0>down b/levitation@R08:0.1>right b/mind_reading@R08:0.2>up",
        display="R08 R10",
        options=DARK_ALLEY,
        rulings={"yield_modifier_order": "ask"},
    )
    teller = Teller(1)
    teller.tell(0, t.story)
    t.a.does("place magician sunday_stage", "keep")
    t.begins("performance")
    t.a.does("perform R08")
    assert t.asked == {"b": "modifier_order"}
    for view in (t.a.sees(), t.b.sees(), t.game.view(None)):
        (asked,) = view.dark_alley.unordered
        assert (asked.slot, [m.source for m in asked.modifiers]) == (
            2,
            [tr.ModifierSource.ARRANGED_FIASCO, tr.ModifierSource.WEEKDAY],
        )
    menu = TERMINAL.menu(t.b.sees(), "modifier_order", t.game.legal(1).commands, str)
    assert menu.question == "In which order is the yield changed of Mind Reading, slot 3?"
    assert [entry.text for entry in menu.entries] == [
        "first Arranged Fiasco (-1 Fame), then the weekday (+1 Fame, +1 coins)",
        "first the weekday (+1 Fame, +1 coins), then Arranged Fiasco (-1 Fame)",
    ]
    teller.look(t.game.version, t.b.sees())
    t.b.does("modifiers 1 0")
    told = teller.tell(t.game.version, t.events)
    assert told[0].startswith("You choose how the yield of your Mind Reading is changed")
    assert t.b.sees().dark_alley.unordered == ()


def test_menus_tell_what_a_special_card_makes_of_a_price() -> None:
    def market(card: str) -> tr.View:
        t = place(
            2,
            a=seat(f"magician:{card}", "", "wood*1 cog*1", coins=9, fame=20),
            options=DARK_ALLEY,
            buy="wood mirror glass fabric",
            quick="cog",
        )
        t.a.does("place magician market_row_1", "keep", "bonus")
        return t.a.sees()

    delivery = market("workshop_delivery")
    assert path(delivery, tr.Buy(tr.Component.WOOD, 1, 0, False)) == "buy (1 AP): Wood at 0: 1"
    assert path(delivery, tr.Buy(tr.Component.COG, 1, 0, False)) == "buy (1 AP): Cog at 2: 1"
    smuggled = market("smuggled_goods")
    assert (
        path(smuggled, tr.Buy(tr.Component.MIRROR, 2, 0, False))
        == "buy (1 AP): Mirror at 3, in Fame and 1 less in all: 2"
    )
    lifted = market("shoplifting")
    assert path(lifted, tr.Buy(tr.Component.MIRROR, 2, 0, False)) == "buy (1 AP): Mirror at 3, one of them free: 2"


def test_ingenuity_brings_one_marker() -> None:
    t = place(2, a=seat("magician:ingenuity", "linking_rings", "metal*1"), options=DARK_ALLEY)
    t.a.does("place magician workshop_1", "keep", "bonus")
    assert path(t.a.sees(), tr.Prepare(tr.Trick.LINKING_RINGS)).endswith(", 1 marker")
    t.a.does("prepare linking_rings")
    assert t.a.markers("linking_rings") == 1


@pytest.mark.parametrize("kind", [kind for kind in OPEN if kind != "assign"])
def test_no_two_commands_have_the_same_words(kind: str) -> None:
    t = OPEN[kind]()
    menus = Menus(t.a.sees(), str, TERMINAL._content)
    paths = [menus.path(kind, command) for command in t.game.legal(0).commands if type(command) is not Undo]
    assert len(set(paths)) == len(paths)


@pytest.mark.parametrize(
    "commands",
    [
        [tr.ChooseComponent(1, False), tr.ChooseComponent(1, True), tr.ChooseComponent(2, True)],
        [tr.StealYield(0, 2), tr.StealYield(1, 2), tr.Decline()],
        [tr.PerformInStreet(tr.PerformanceCard.R01, slot) for slot in (0, 1, 6, 7)],
        [tr.ChooseTrick(1), tr.ChooseTrick(1), tr.ChooseTrick(2)],
    ],
)
def test_no_command_is_hidden_behind_another(commands: list[Any]) -> None:
    """Nor one with the same words."""
    stage = "a/linking_rings@R01:0.0>down a/linking_rings@R01:0.1>down b/levitation@R01:0.2>up"
    view = place(2, a=seat(), stage=stage, options=DARK_ALLEY).a.sees()
    assert sorted(map(repr, leaves(TERMINAL.menu(view, "act", commands, str)))) == sorted(map(repr, commands))


def test_the_table_tells_what_special_cards_do_for_their_owners() -> None:
    t = place(2, a=seat("magician:dubious_sources engineer:business_share"), options=DARK_ALLEY)
    t.a.does("place magician market_row_1", "keep")
    assert "bonus of Dubious Sources" in drawn(t.a.sees(), 120)
    t.a.does("bonus", "quick_order rope", "end")
    t.turn_of("a").does("place engineer market_row_4", "keep", "end")
    assert "The Quick Order Component comes to player-a" in flat(t.b.sees())
    assert "Business Share: what others pay at the Market Row goes to player-a" in flat(t.b.sees())


def test_undo_takes_the_tellers_memory_back() -> None:
    taken_back = 0
    for number in range(3):
        teller = Teller(None)
        for game, decided in played(3, number, {}, undo=0.5):
            events = [told for event in decided.events if (told := redact(RULES, event, None)) is not None]
            teller.tell(game.version, events)
            taken_back += any(type(event).__name__ == "Undone" for event in events)
            view = game.view(None)
            there = {(c.card, m.slot): (m.seat, m.trick) for c in view.display for m in c.markers}
            assert teller.now.markers == there
    assert taken_back > 3


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("levitation", "Levitation: Mechanical, level 1"),
        ("R08", "R08: Riverside, 4 slots, 3 circles, 1 with a Shard"),
        ("optical", "Category Optical: Enchanted Butterflies"),
        ("downtown", "Location Downtown: learn a Trick 3 AP"),
        ("dice", "X offers nothing until the die is set"),
        ("advertise", "as many coins as the number of your initiative slot"),
        ("guest", "Guest Performer: Theater. Set Up"),
        ("cog", "Component Cog: 3 coins"),
        ("electra", "Electra: with the Dark Alley: Supercharge"),
        ("prophecy 1", "Prophecy 1: every Character has 1 AP"),
    ],
)
def test_what_something_is_is_found_by_part_of_its_name(asked: str, said: str) -> None:
    assert said in (TERMINAL.about(asked) or "")


def test_what_there_is_not_is_not_found() -> None:
    assert TERMINAL.about("no such thing") is None and TERMINAL.about(" ") is None
