"""Arcane Alley at the terminal: sentences, table and menus, and that none of them tells what a viewer cannot know."""

import io
import re
from typing import Any

import pytest
from rich.console import Console, RenderableType

from guildhall.arcane_alley.v1 import structs as aa
from guildhall.cli.leaderboard import listed
from guildhall.kernel.redact import redact
from guildhall.kernel.v1.structs import Undo
from guildhall.matchmaking.v1.structs import ListLeaderboardResponse, Rating
from services.arcane_alley.rules import RULES
from services.arcane_alley.sentences import _CLAUSES, Teller
from services.arcane_alley.terminal import Terminal
from services.arcane_alley.words import EFFECTS, NAMES, POWERS, SHORT, SHORT_WIZARDS, WIZARDS
from tests.cli.random_games import PACK, steps

COUNTS = range(2, 7)
TERMINAL = Terminal(PACK)
SIZES = (80, 120)


def drawn(view: aa.View, width: int = 80) -> str:
    return printed(TERMINAL.draw(view, str, width), width)


def printed(drawing: RenderableType, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    console.print(drawing)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@pytest.mark.parametrize("name", ["[/x]", "[red]boss"])
def test_a_name_is_no_markup(name: str) -> None:
    *_, (game, _) = steps(3, 1)
    plain = name.replace("[", "(").replace("]", ")")
    as_named, as_plain = (printed(TERMINAL.draw(game.view(0), lambda _, n=n: n, 120), 120) for n in (name, plain))
    assert as_named.replace(name, plain) == as_plain and as_named != as_plain
    board = ListLeaderboardResponse((Rating(name, 25_000_000, 1), Rating("ann", 24_000_000, 1)), 1)
    assert name in printed(listed(board)) and "ann" in printed(listed(board))


def named(text: str) -> set[int]:
    """The items that a text names in full."""
    return {item for item, name in NAMES.items() if name in text or (name[:-1] + "ies") in text}


def fronts(value: Any) -> set[int]:
    """The items that a redacted event tells."""
    told = set()
    for name in value.__struct_fields__:
        field = getattr(value, name)
        if name in ("item", "items"):
            told |= set(field) if isinstance(field, tuple) else {field}
    return told - {0}


def known(view: aa.View) -> set[int]:
    """The items that a view shows."""
    seen: set[int] = {*view.deck, *view.discard, *view.set_aside, *view.turned_up}
    for player in view.players:
        seen |= set(player.stash)
        seen |= {card.item for card in player.storehouse.cells} if player.storehouse else set()
    return seen - {0}


def leaves(menu: Any) -> list[Any]:
    found = []
    for entry in menu.entries:
        found += leaves(entry.then) if hasattr(entry.then, "entries") else [entry.then]
    return found


def test_there_is_a_clause_for_every_event() -> None:
    assert set(_CLAUSES) == set(aa.EVENT_TYPES.values())


def test_everything_has_its_words() -> None:
    items, wizards = {item for item in aa.Item if item}, {wizard for wizard in aa.Wizard if wizard}
    assert set(NAMES) == set(SHORT) == set(EFFECTS) == items
    assert set(WIZARDS) == set(SHORT_WIZARDS) == set(POWERS) == wizards
    assert len(set(SHORT.values())) == len(SHORT) and max(map(len, SHORT.values())) <= 7


@pytest.mark.parametrize("players", COUNTS)
def test_sentences_tell_what_the_viewer_was_told_and_no_more(players: int) -> None:
    viewers = [*range(players), None]
    tellers = {viewer: Teller(viewer) for viewer in viewers}
    said = 0
    for game, decided in steps(players, players):
        for viewer in viewers:
            events = [told for event in decided.events if (told := redact(RULES, event, viewer)) is not None]
            sentences = tellers[viewer].tell(game.version, events)
            text = " ".join(sentences)
            said += len(sentences)
            # The Boomerang and the Ring of these events are public by their type; a sold Sword halves by rule.
            public = {aa.Item.MAGIC_BOOMERANG, aa.Item.INVISIBLE_RING, aa.Item.HAUNTED_DOLL}
            told_items = set().union(*(fronts(event) for event in events)) if events else set()
            assert named(text) <= told_items | public, text
            assert not re.search(r"\b0 infamy less|None|ITEM_|  ", text), text
            assert all(sentence[0].isupper() and sentence[-1] in ".!" for sentence in sentences)
    assert said > 100


@pytest.mark.parametrize("players", COUNTS)
def test_the_table_shows_what_the_viewer_knows_and_no_more(players: int) -> None:
    for game, _ in steps(players, 10 + players):
        if game.version % 23:
            continue
        for viewer in [*range(players), None]:
            view = game.view(viewer)
            for width in SIZES:
                text = drawn(view, width)
                assert max(len(line) for line in text.splitlines()) <= width
                items = known(view)
                assert named(text) <= items
                shorts = {item for item, short in SHORT.items() if re.search(rf"\b{re.escape(short)}(?!\w)", text)}
                # Cells have room for the last word of a name, or for its short form, and for nothing of another's.
                assert shorts <= items | {
                    item for item, name in NAMES.items() if SHORT[item] in " ".join(WIZARDS.values())
                }
            if viewer is not None:
                assert "Your stash" in text


def test_a_hidden_item_is_marked_as_known_only_to_whoever_peeked() -> None:
    peeks = 0
    for game, decided in (step for number in range(10) for step in steps(3, number)):
        slid = any(type(event) is aa.StorehouseSlid for event in decided.events)
        for event in decided.events:
            if type(event) is aa.ItemPeeked and not slid:
                mine, theirs = game.view(event.seat), game.view((event.seat + 1) % 3)
                if cell_of(game.view(None), event).item == 0:
                    peeks += 1
                    assert cell_of(mine, event) == aa.Card(event.item, False)
                    assert f"({SHORT[event.item]}"[:6] in drawn(mine)
                    assert cell_of(theirs, event) == aa.Card(0, False)
    assert peeks > 3


def cell_of(view: aa.View, event: aa.ItemPeeked) -> aa.Card:
    storehouse = view.players[event.seat].storehouse
    assert storehouse is not None
    return storehouse.cells[event.cell]


@pytest.mark.parametrize("powers", ["true", "false"])
@pytest.mark.parametrize("players", COUNTS)
def test_every_legal_command_is_in_the_menu_once(players: int, powers: str) -> None:
    kinds = set()
    for game, _ in steps(players, 20 + players, {"wizard_powers": powers}):
        for decision in game.waiting():
            commands = game.legal(decision.seat).commands
            menu = TERMINAL.menu(game.view(decision.seat), decision.kind, commands, str)
            wanted = [command for command in commands if type(command) is not Undo]
            found = leaves(menu)
            kinds.add(decision.kind)
            # A pair of cells can be named in either order.
            assert set(found) == set(wanted)
            assert len(found) == len(wanted) * (2 if decision.kind == "reveal_items" else 1)
            assert len({entry.key for entry in menu.entries}) == len(menu.entries)
            assert menu.question
    assert {"draw", "act"} <= kinds


def test_undo_takes_the_tellers_memory_back() -> None:
    taken_back = 0
    for number in range(6):
        teller = Teller(None)
        for game, decided in steps(3, number, undo=0.9):
            events = [told for event in decided.events if (told := redact(RULES, event, None)) is not None]
            teller.tell(game.version, events)
            taken_back += any(type(event).__name__ == "Undone" for event in events)
            for shelf, player in zip(teller._now.shelves, game.view(None).players, strict=True):
                storehouse = player.storehouse
                assert storehouse is not None
                if storehouse.rows and game.view(None).round:
                    assert (shelf.rows, shelf.columns) == (storehouse.rows, storehouse.columns)
                    assert shelf.faceup == [card.revealed or card.empty for card in storehouse.cells]
    assert taken_back > 5


def test_what_an_item_does_is_found_by_part_of_its_name() -> None:
    told = TERMINAL.about("coin")
    assert told is not None and told.startswith("Three-Headed Coin: 2/1")
    assert TERMINAL.about("no such thing") is None
