"""Arcane Alley at a terminal: the table drawn, and what a seat may do as numbered choices.

Everything here is made from one viewer's own view and decisions, so it cannot
show what the viewer does not know. `guildhall play` and `watch` find this
module by the game's name; see `guildhall.cli.faces` for what they use.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from guildhall.arcane_alley.v1 import structs as aa
from guildhall.kernel.v1.structs import Undo
from services.arcane_alley.content import Content, parse
from services.arcane_alley.sentences import Teller
from services.arcane_alley.words import (
    EFFECTS,
    NAMES,
    PHASES,
    POWERS,
    SHORT,
    SHORT_WIZARDS,
    WIZARDS,
    an_item,
    item_name,
    listed,
    place,
)

__all__ = ["Entry", "Menu", "Teller", "Terminal"]

Name: TypeAlias = Callable[[str], str]
"""Makes a name of a subject."""

POWERS_OPTION: Final = "wizard_powers"
"""What `guildhall play --no-powers` switches off."""

PANEL: Final = 26
"""Columns of the narrowest storehouse: three of them share a line of 80."""


class Entry(NamedTuple):
    """One numbered choice: a command, or a further menu."""

    key: int
    text: str
    then: Any


class Menu(NamedTuple):
    """A question with numbered answers."""

    question: str
    entries: tuple[Entry, ...]


HELP: Final = """\
Sell sets of three like items in a row, column or diagonal of your storehouse.
Whoever has the most gold after the third inspection wins.

The number in the corner of a slot is what you type to choose it. Below an
item: the gold of its set / the infamy it gives at the inspection.
  ░░░░░      hidden, and unknown to you
  (Coin)     hidden, but you know what it is
  ▶ turn     ★ starting player     ● fine marker     ! triggered the inspection\
"""


class Terminal:
    """Draws and words for the games of one content pack."""

    def __init__(self, pack: bytes) -> None:
        """`pack` is the content pack's bytes, as GetPack gives them. Raises BadPack."""
        self._content = parse(pack)

    help = HELP

    # --- the table

    def draw(self, view: aa.View, name: Name, width: int) -> RenderableType:
        """The whole table; `width` is the terminal's columns."""
        per_row = max(1, min(len(view.players), width // PANEL))
        panel = min(width // per_row, 44)
        rows = Table.grid()
        for first in range(0, len(view.players), per_row):
            players = view.players[first : first + per_row]
            rows.add_row(*(self._player(view, player, name, panel) for player in players))
        parts: list[RenderableType] = [self._header(view, name), rows]
        viewer = _viewer(view)
        if viewer is not None:
            parts.append(self._stash(view.players[viewer]))
        if view.game is not None and view.game.ended is not None and view.game.ended.ranks:
            parts.append(self.standing(view, name))
        return Group(*parts)

    def _header(self, view: aa.View, name: Name) -> Text:
        subjects = _subjects(view)
        parts = [f"Round {view.round} of 3"] if view.round else []
        parts.append(PHASES[view.phase])
        if view.turn:
            parts.append(f"turn {view.turn} of 20")
        if view.trigger_seat is not None:
            parts.append(f"inspection triggered by {name(subjects[view.trigger_seat])}")
        text = Text(" · ".join(parts), style="bold")
        known = f" (top: {item_name(view.deck[-1])})" if view.deck and view.deck[-1] else ""
        discard = f"{item_name(view.discard[-1])} on top of {len(view.discard)}" if view.discard else "empty"
        text.append(f"\nDeck {len(view.deck)}{known} · Discard: {discard}", style="not bold")
        if view.set_aside:
            text.append(f" · set aside {len(view.set_aside)}", style="not bold")
        if view.turned_up:
            text.append(f"\nTurned up: {listed([item_name(item) for item in view.turned_up])}", style="not bold yellow")
        return text

    def _player(self, view: aa.View, player: aa.Player, name: Name, width: int) -> Panel:
        viewer = _viewer(view)
        mine = player.seat == viewer
        active = view.phase == aa.Phase.SELL and view.active_seat == player.seat
        title = Text(("▶ " if active else "") + name(_subjects(view)[player.seat]), style="bold")
        if player.seat == view.starting_seat:
            title.append(" ★", style="yellow")
        if player.seat == view.trigger_seat:
            title.append(" !", style="red")
        title.truncate(width - 6, overflow="ellipsis")
        status = Text(f"{player.gold} gold", style="yellow")
        status.append(f"  {player.infamy} infamy", style="magenta")
        status.append(f" {'●' * player.markers}" if player.markers else "", style="red")
        padding = 0 if width < 2 * PANEL - 20 else 1
        grid = self._grid(player, min(12, (width - 2 - 2 * padding) // 3), mine)
        return Panel(
            Group(status, grid),
            title=title,
            subtitle=Text(" · ".join(_below(player, mine)), style="dim"),
            border_style="green" if active else "cyan" if mine else "dim",
            width=width,
            padding=(0, padding),
            box=box.ROUNDED,
        )

    def _grid(self, player: aa.Player, cell_width: int, mine: bool) -> RenderableType:
        storehouse = player.storehouse
        if storehouse is None or not storehouse.rows:
            return Text("(empty storehouse)", style="dim")
        grid = Table.grid(padding=0)
        for _ in range(storehouse.columns):
            grid.add_column(width=cell_width)
        for row in range(storehouse.rows):
            first = row * storehouse.columns
            cells = storehouse.cells[first : first + storehouse.columns]
            grid.add_row(*(self._cell(first + n, card, mine, cell_width) for n, card in enumerate(cells)))
        return grid

    def _cell(self, cell: int, card: aa.Card, mine: bool, width: int) -> Text:
        corner = f"{cell + 1} " if mine else "  "
        if card.empty:
            return Text(f"\n{corner}·", style="dim")
        if not card.item:
            return Text(f"░░░░░\n{corner}" + ("?" if mine else ""), style="dim")
        label = _fitting(card.item, width - 1 if card.revealed else width - 3)
        worth = self._worth(card.item)
        if card.revealed:
            text = Text(label, style="bold")
            text.append(f"\n{corner}{worth}", style="not bold")
            return text
        return Text(f"({label})\n{corner}{worth}", style="italic dim cyan")

    def _stash(self, player: aa.Player) -> Text:
        text = Text("Your stash: ", style="bold")
        drawn = player.drawn
        for n, item in enumerate(player.stash):
            text.append(", " if n else "", style="not bold")
            text.append(item_name(item), style="bold cyan")
            text.append(f" {self._worth(item)}", style="not bold")
            if drawn is not None and item == drawn:
                text.append(" (just drawn)", style="not bold green")
                drawn = None
        if not player.stash:
            text.append("empty", style="dim")
        return text

    def _worth(self, item: int) -> str:
        """Gold of its set / infamy each."""
        content = self._content
        return f"{'-' if item in content.special else content.gold[item]}/{content.infamy[item]}"

    def standing(self, view: aa.View, name: Name) -> RenderableType:
        """The players in the order of their ranks."""
        table = Table(title="Final standing", box=box.SIMPLE_HEAD)
        table.add_column("rank", justify="right")
        table.add_column("player")
        table.add_column("gold", justify="right")
        table.add_column("infamy", justify="right")
        assert view.game is not None and view.game.ended is not None
        ranks = view.game.ended.ranks
        subjects = _subjects(view)
        for player in sorted(view.players, key=lambda player: ranks[player.seat]):
            rank = ranks[player.seat]
            style = "bold green" if rank == 1 else ""
            called = Text(name(subjects[player.seat]))
            table.add_row(str(rank), called, str(player.gold), str(player.infamy), style=style)
        return table

    # --- what an item does

    def about(self, words: str) -> str | None:
        """What the item or wizard of that name does; part of a name will do. None where nothing is called so."""
        wanted = words.strip().casefold()
        if not wanted:
            return None
        told = [f"{name}: {self._worth(i)} (gold of a set / infamy each). {EFFECTS[i]}" for i, name in NAMES.items()]
        told += [f"{WIZARDS[wizard]} {power}." for wizard, power in POWERS.items()]
        found = [text for text in told if wanted in text.split(":")[0].casefold()]
        return "\n".join(found) or None

    # --- choices

    def menu(self, view: aa.View, kind: str, commands: Sequence[Any], name: Name) -> Menu:
        """The commands of a decision as numbered choices, long lists in several steps. Undo is left out."""
        return _Menus(view, name, self._content).of(kind, [c for c in commands if type(c) is not Undo])


_QUESTIONS: Final = {
    "pick_wizard": "Which wizard are you?",
    "reveal_items": "Which two items do you turn up?",
    "reveal_item": "Which item do you turn up?",
    "draw": "What do you draw?",
    "act": "What do you do?",
    "lamp": "Which of the items that were turned up do you play?",
    "chalice": "Which item of that stash do you play?",
    "chalice_player": "Whose stash do you look at?",
    "discard": "Which item of your stash do you discard?",
    "use_effect": "Do you resolve its effect?",
    "peek": "Which hidden item do you look at?",
    "sale_order": "Which set do you sell first?",
    "slide": "How does your storehouse close up?",
    "cauldron": "The Cauldron is sold. Whose infamy changes?",
    "toad": "Who gains 5 infamy?",
    "egg": "Who gains 2 infamy and 15 gold?",
    "doll": "Where does a Haunted Doll go?",
    "boomerang": "The Boomerang comes back. Where do you play it?",
    "watch": "Which item of the discard do you play?",
    "lockbox": "What do you swap?",
    "dafana": "A set was sold. Do you spend 3 gold to lose 2 infamy?",
    "glynna": "Do you remove a hidden item?",
    "ninx": "Which item's infamy do you gain as gold?",
    "bribe": "Do you bribe the inspectors?",
}


class _Menus:
    """Makes menus of one view's commands."""

    def __init__(self, view: aa.View, name: Name, content: Content) -> None:
        self.view = view
        self.names = [name(subject) for subject in _subjects(view)]
        self.viewer = _viewer(view) or 0
        self.content = content

    def of(self, kind: str, commands: list[Any]) -> Menu:
        """The menu of a decision of that kind."""
        question = _QUESTIONS.get(kind, kind.replace("_", " ").capitalize() + "?")
        kinds = {type(command) for command in commands}
        if kinds <= {aa.RevealItems}:
            return self._pairs(question, commands)
        if kinds <= {aa.RevealItem, aa.Peek, aa.PlayBoomerang}:
            return Menu(question, self._cells(commands))
        if kinds <= {aa.SetAside, aa.Decline}:
            cells = [command for command in commands if type(command) is aa.SetAside]
            return Menu(question, (*self._cells(cells), *self._declines(commands)))
        if kinds <= {aa.Bribe, aa.Decline}:
            bribes = tuple(
                Entry(c.gold, f"spend {c.gold} gold for {c.gold // 2} infamy less", c)
                for c in commands
                if type(c) is aa.Bribe
            )
            return Menu(question, (*bribes, *self._declines(commands)))
        if kinds <= {aa.PlaceDoll}:
            return self._by_seat(question, commands)
        if kinds <= {aa.Swap}:
            return self._swaps(question, commands)
        return Menu(question, tuple(Entry(n, text, then) for n, (text, then) in enumerate(self._lines(commands), 1)))

    def _lines(self, commands: list[Any]) -> list[tuple[str, Any]]:
        """One line for each single command, and one for each item that can be played in several slots."""
        lines: list[tuple[str, Any]] = []
        plays: dict[tuple[type, int], list[Any]] = defaultdict(list)
        for command in commands:
            if type(command) is aa.Play:
                plays[aa.Play, command.item].append(command)
            elif type(command) is aa.PlayFromDiscard:
                plays[aa.PlayFromDiscard, command.position].append(command)
        for (kind, what), cells in plays.items():
            item = what if kind is aa.Play else self.view.discard[-1 - what]
            text = f"play {an_item(item)}"
            lines.append((text, Menu(f"{text[0].upper()}{text[1:]} in place of what?", self._cells(cells))))
        lines += [(self.label(c), c) for c in commands if type(c) not in (aa.Play, aa.PlayFromDiscard)]
        return lines

    def label(self, command: Any) -> str:
        """A single command in words."""
        match command:
            case aa.PickWizard(wizard=wizard):
                return f"{WIZARDS.get(wizard, '?')}, who {POWERS.get(wizard, '')}"
            case aa.DrawDeck():
                top = self.view.deck[-1] if self.view.deck else 0
                return "draw from the deck" + (f" ({an_item(top)})" if top else "")
            case aa.DrawDiscard():
                return f"take the {item_name(self.view.discard[-1] if self.view.discard else 0)} from the discard"
            case aa.Discard(item=item):
                return f"discard {an_item(item)}"
            case aa.Activate(item=item):
                return f"activate {an_item(item)}: {EFFECTS[item].removeprefix('Special: ')}"
            case aa.ResolveEffect():
                return "resolve it"
            case aa.SkipEffect():
                return "leave it out"
            case aa.SellSet(first_cell=first, last_cell=last):
                return f"the set from {self._place(first)} to {self._place(last)}"
            case aa.Slide(direction=direction):
                return {
                    aa.Direction.VERTICAL: "up and down: two rows of three remain",
                    aa.Direction.HORIZONTAL: "sideways: three rows of two remain",
                }[aa.Direction(direction)]
            case aa.LoseInfamy():
                return "lose 3 infamy yourself"
            case aa.ChoosePlayer(target_seat=seat):
                return self._person(seat)
            case aa.UsePower():
                return "yes, spend 3 gold"
            case aa.ChooseItem(item=item):
                return f"{an_item(item)} ({self.content.infamy[item]} infamy)"
            case aa.Decline():
                return "no"
        return str(command)

    def _person(self, seat: int) -> str:
        player = self.view.players[seat]
        who = "yourself" if seat == self.viewer else self.names[seat]
        return f"{who} ({player.gold} gold, {player.infamy} infamy)"

    def _declines(self, commands: Iterable[Any]) -> tuple[Entry, ...]:
        return tuple(Entry(0, self.label(command), command) for command in commands if type(command) is aa.Decline)

    def _place(self, cell: int, seat: int | None = None) -> str:
        storehouse = self._storehouse(self.viewer if seat is None else seat)
        return place(cell, storehouse.rows, storehouse.columns)

    def _storehouse(self, seat: int) -> aa.Storehouse:
        return self.view.players[seat].storehouse or aa.Storehouse()

    def _slot(self, cell: int, seat: int | None = None) -> str:
        """A slot with what lies in it: "top left: hidden", "middle: Coin"."""
        card = self._storehouse(self.viewer if seat is None else seat).cells[cell]
        what = item_name(card.item) if card.item else ""
        if not card.revealed:
            what = f"hidden {what}" if what else "hidden"
        return f"{self._place(cell, seat)}: {what}"

    def _cells(self, commands: Iterable[Any], seat: int | None = None) -> tuple[Entry, ...]:
        return tuple(Entry(command.cell + 1, self._slot(command.cell, seat), command) for command in commands)

    def _pairs(self, question: str, commands: list[Any]) -> Menu:
        partners: dict[int, dict[int, Any]] = defaultdict(dict)
        for command in commands:
            partners[command.first_cell][command.second_cell] = command
            partners[command.second_cell][command.first_cell] = command
        entries = []
        for cell in sorted(partners):
            seconds = tuple(
                Entry(other + 1, self._place(other), command) for other, command in sorted(partners[cell].items())
            )
            entries.append(Entry(cell + 1, self._place(cell), Menu(f"{self._place(cell)} and which other?", seconds)))
        return Menu(question, tuple(entries))

    def _by_seat(self, question: str, commands: list[Any]) -> Menu:
        seats: dict[int, list[Any]] = defaultdict(list)
        for command in commands:
            seats[command.target_seat].append(command)
        return Menu(
            question,
            tuple(
                Entry(n, self._person(seat), Menu(f"Which slot of {self.names[seat]}?", self._cells(places, seat)))
                for n, (seat, places) in enumerate(sorted(seats.items()), 1)
            ),
        )

    def _swaps(self, question: str, commands: list[Any]) -> Menu:
        own: dict[int, dict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
        for command in commands:
            own[command.cell][command.target_seat].append(command)
        entries = []
        for cell, seats in sorted(own.items()):
            targets = tuple(
                Entry(
                    n,
                    self._person(seat),
                    Menu(
                        f"For which item of {self.names[seat]}?",
                        tuple(Entry(c.target_cell + 1, self._slot(c.target_cell, seat), c) for c in swaps),
                    ),
                )
                for n, (seat, swaps) in enumerate(sorted(seats.items()), 1)
            )
            entries.append(Entry(cell + 1, f"your {self._slot(cell)}", Menu("With whom?", targets)))
        return Menu(question, tuple(entries))


def _fitting(item: int, width: int) -> str:
    """The item's name as far as the cell has room for it."""
    if len(NAMES[item]) <= width:
        return NAMES[item]
    last = NAMES[item].split()[-1]
    return last if len(last) <= width else SHORT[item][:width]


def _below(player: aa.Player, mine: bool) -> list[str]:
    """The line below a storehouse: what one knows of the stash of another, and the wizard."""
    parts = []
    if not mine:
        known = ", ".join(SHORT[item] for item in player.stash if item)
        parts.append(f"stash {len(player.stash)}" + (f": {known}" if known else ""))
    if player.wizard:
        parts.append(SHORT_WIZARDS[player.wizard])
    return parts


def _viewer(view: aa.View) -> int | None:
    return view.game.viewer_seat if view.game is not None else None


def _subjects(view: aa.View) -> list[str]:
    return [seat.subject for seat in view.game.seats] if view.game is not None else []
