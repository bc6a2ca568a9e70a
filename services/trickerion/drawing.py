"""The table drawn for a terminal: Performance cards with slots, circles and corners, the town, the players' boards."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from guildhall.trickerion.v1 import structs as tr
from guildhall.trickerion.v1.structs import Direction, Location, View
from services.trickerion import links
from services.trickerion.appraisal import (
    day_now,
    missing,
    price_now,
    quick_price_now,
    shards_on,
    tops,
    yield_now,
)
from services.trickerion.content import Content, Yield
from services.trickerion.words import (
    ARROWS,
    CATEGORIES,
    CHARACTERS,
    COMPONENTS,
    LETTERS,
    LOCATIONS,
    MAGICIANS,
    SYMBOLS,
    THEATERS,
    TRICKS,
    WEEKDAYS,
    assignment_name,
    card_name,
    category_of,
    counted,
    face_name,
    level_of,
    listed,
    member_name,
    prophecy_text,
    signed,
    slot_name,
)

Name: TypeAlias = Callable[[str], str]
"""Makes a name of a subject."""

COLOURS: Final = ("cyan", "magenta", "yellow", "green")
"""Of the seats."""
CELL: Final = 5
"""Columns of a slot of a Performance card; it has three rows."""
GAP: Final = 3
"""Columns between two slots side by side; one row lies between two below one another."""
CORNERS: Final = {Direction.UP: (2, 0), Direction.RIGHT: (4, 1), Direction.DOWN: (2, 2), Direction.LEFT: (0, 1)}
"""Where each corner of a marker is in its slot: column and row."""
CARD: Final = 2 * CELL + GAP + 2
"""Columns of a Performance card with its frame."""
BOARD: Final = 38
"""Columns of the narrowest board."""


class Person(NamedTuple):
    """How a seat appears at the table."""

    name: str
    initial: str
    """One letter or digit, another one for each seat."""
    colour: str


def people(view: View, name: Name) -> list[Person]:
    """The seats of a view."""
    subjects = [seat.subject for seat in view.game.seats] if view.game is not None else []
    found: list[Person] = []
    for seat, subject in enumerate(subjects):
        called = name(subject)
        taken = {person.initial for person in found}
        letters = [letter.upper() for letter in called if letter.isalpha() and letter.isascii()]
        initial = next((letter for letter in letters if letter not in taken), str(seat + 1))
        found.append(Person(called, initial, COLOURS[seat % len(COLOURS)]))
    return found


# --- Performance cards


class Canvas:
    """Characters at columns and rows."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], tuple[str, str]] = {}

    def put(self, column: int, row: int, text: str, style: str = "") -> None:
        """Write from there to the right."""
        for offset, character in enumerate(text):
            self._cells[column + offset, row] = (character, style)

    def text(self, columns: int, rows: int) -> Text:
        """All of it as lines."""
        drawn = Text()
        for row in range(rows):
            for column in range(columns):
                drawn.append(*self._cells.get((column, row), (" ", "")))
            drawn.append("\n" if row + 1 < rows else "")
        return drawn


def performance_card(content: Content, card: tr.DisplayedCard, who: Sequence[Person], number: int, rows: int) -> Panel:
    """A card: free slots with their numbers, markers with a category at each corner, circles between slots.

    A circle is ○, with a Shard ◇; filled where two markers are linked. The corner of a Trick's own category is a
    capital letter. `rows` is how many rows of slots are drawn.
    """
    layout = content.performances[card.card].layout
    canvas = Canvas()
    shown = tops(content, card)
    for slot, (column, row) in enumerate(layout.slots):
        marker = next((m for m in card.markers if m.slot == slot and m.direction), None)
        _free_slot(canvas, column * (CELL + GAP), row * 4, slot)
        if marker is not None:
            _marker(canvas, column * (CELL + GAP), row * 4, content, marker, who[marker.seat])
    for circle in layout.circles:
        (column, row), (other, below) = layout.slots[circle.first], layout.slots[circle.second]
        is_linked = links.linked(shown[circle.first], shown[circle.second])
        sign = ("◆" if is_linked else "◇") if circle.shard else ("●" if is_linked else "○")
        style = "bold green" if is_linked else "bold magenta" if circle.shard else "bold"
        if column == other:
            canvas.put(column * (CELL + GAP) + 2, min(row, below) * 4 + 3, sign, style)
        else:
            canvas.put(CELL + 1, row * 4 + 1, sign, style)
    bonus = content.performances[card.card].bonus
    return Panel(
        canvas.text(2 * CELL + GAP, rows * 4 - 1),
        title=Text(f"{number} {card_name(card.card)}", style="bold"),
        subtitle=Text(brief(bonus), style="yellow"),
        width=CARD,
        padding=0,
        box=box.ROUNDED,
        border_style="dim",
    )


def _free_slot(canvas: Canvas, column: int, row: int, slot: int) -> None:
    canvas.put(column, row, "┌───┐", "dim")
    canvas.put(column, row + 1, f"│ {slot + 1} │", "dim")
    canvas.put(column, row + 2, "└───┘", "dim")


def _marker(canvas: Canvas, column: int, row: int, content: Content, marker: tr.PlacedMarker, who: Person) -> None:
    canvas.put(column, row, "┌───┐", who.colour)
    canvas.put(column, row + 1, f"│{SYMBOLS[marker.symbol]}{who.initial}{'2' if marker.pile else ' '}│", who.colour)
    canvas.put(column, row + 2, "└───┘", who.colour)
    shown = links.corners(content.tricks[marker.trick].category, marker.direction)
    for direction, (right, down) in CORNERS.items():
        letter = LETTERS[shown[direction]]
        own = direction == marker.direction
        style = f"bold {who.colour}" if own else who.colour
        canvas.put(column + right, row + down, letter if own else letter.lower(), style)


def stage(view: View, content: Content, who: Sequence[Person], width: int) -> RenderableType:
    """All cards on display, the newest first, and what their markers stand for."""
    per_row = max(1, width // CARD)
    grid = Table.grid()
    for first in range(0, len(view.display), per_row):
        cards = view.display[first : first + per_row]
        rows = max(row for card in cards for _, row in content.performances[card.card].layout.slots) + 1
        grid.add_row(*(performance_card(content, c, who, first + n + 1, rows) for n, c in enumerate(cards)))
    legend = Text()
    for number, card in enumerate(view.display, 1):
        for marker in card.markers:
            legend.append("\n" if legend else "")
            legend.append_text(_stands_for(view, content, number, card.card, marker, who))
    return Group(grid, legend) if legend else grid


def _stands_for(
    view: View, content: Content, number: int, card: int, marker: tr.PlacedMarker, who: Sequence[Person]
) -> Text:
    person, trick = who[marker.seat], content.tricks[marker.trick]
    place = f"slot {marker.slot + 1}{ARROWS[marker.direction]}" if marker.direction else "beside the slots"
    text = Text(f"{number} {card_name(card)} {place} ", style="dim")
    text.append(f"{SYMBOLS[marker.symbol]}{person.initial} {TRICKS[marker.trick]}", style=person.colour)
    pile = ", two markers as one" if marker.pile else ""
    given = brief(yield_now(view, content, marker.trick))
    text.append(f" ({CATEGORIES[trick.category]} {trick.level}: {given}{pile})", style="dim")
    return text


def brief(amount: Yield) -> str:
    """ "2F 1c 1S": Fame, coins, Shards."""
    parts = ((amount.fame, "F"), (amount.coins, "c"), (amount.shards, "S"))
    return " ".join(f"{number}{unit}" for number, unit in parts if number)


# --- the town


def header(view: View, content: Content, who: Sequence[Person]) -> Text:
    """Turn, phase, order, what is left of the Performance deck."""
    alley = view.dark_alley is not None
    parts = [f"Turn {view.turn} of {content.turns[alley]}"] if view.turn else []
    parts.append(PHASES[view.phase])
    if view.weekday:
        parts.append(WEEKDAYS[view.weekday])
    text = Text(" · ".join(parts), style="bold")
    if view.initiative:
        text.append("\nInitiative: ", style="not bold")
        for place, seat in enumerate(view.initiative):
            text.append(", " if place else "", style="not bold")
            if view.derived is not None:
                text.append(f"{view.derived.players[seat].initiative_slot} ", style="not bold dim")
            text.append(who[seat].name, style=who[seat].colour)
    backs = [THEATERS[card.theater] for card in reversed(view.deck)]
    if backs:
        counts = [f"{backs.count(back)} {back}" for back in dict.fromkeys(backs)]
        text.append(f" · Performance deck: {', then '.join(counts)}", style="not bold dim")
    return text


PHASES: Final[dict[int, str]] = {
    tr.Phase.UNSPECIFIED: "Set-up",
    tr.Phase.SET_UP: "Set-up",
    tr.Phase.ROLL_DICE: "Roll Dice",
    tr.Phase.SET_INITIATIVE: "Set Initiative",
    tr.Phase.ADVERTISE: "Advertise",
    tr.Phase.ASSIGNMENT: "Assignment",
    tr.Phase.PLACE_CHARACTERS: "Place Characters",
    tr.Phase.PERFORMANCE: "Performance",
    tr.Phase.END_TURN: "End Turn",
    tr.Phase.GAME_END: "Game End",
}


def standing_at(view: View) -> dict[int, list[tuple[int, int]]]:
    """(seat, Member) of the Characters on each Character slot."""
    found: dict[int, list[tuple[int, int]]] = {}
    for player in view.players:
        for member in player.team:
            if member.slot:
                found.setdefault(member.slot, []).append((player.seat, member.member))
    return found


def town(view: View, content: Content, who: Sequence[Person], width: int) -> RenderableType:
    """Each Location with its slots, who stands there, and what can be had."""
    there = standing_at(view)
    lines = Table.grid(padding=(0, 1))
    lines.add_column(style="bold", no_wrap=True)
    lines.add_column()
    shared = [Location.DOWNTOWN, Location.MARKET_ROW]
    if view.dark_alley is not None:
        shared.append(Location.DARK_ALLEY)
    offers = {Location.DOWNTOWN: _downtown(view), Location.MARKET_ROW: _market(view, content)}
    for location in shared:
        lines.add_row(LOCATIONS[location], _slots(view, content, who, location, there))
        if location in offers:
            lines.add_row("", offers[location])
        elif view.dark_alley is not None:
            lines.add_row("", _dark_alley(view.dark_alley, who))
    workshops = [
        (seat, member)
        for slot in (tr.Slot.WORKSHOP_1, tr.Slot.WORKSHOP_2)
        for seat, member in sorted(there.get(slot, []))
    ]
    if workshops:
        lines.add_row(LOCATIONS[Location.WORKSHOP], _standing(workshops, who))
    lines.add_row(LOCATIONS[Location.THEATER], _theater(view, content, who, there, width - 12))
    return lines


def _standing(found: Iterable[tuple[int, int]], who: Sequence[Person]) -> Text:
    text = Text()
    for seat, member in found:
        text.append(", " if text else "")
        text.append(f"{who[seat].name}: {member_name(member)}", style=who[seat].colour)
    return text or Text("–", style="dim")


def _slots(
    view: View, content: Content, who: Sequence[Person], location: int, there: dict[int, list[tuple[int, int]]]
) -> Text:
    text = Text()
    place = content.places[location]
    players = len(view.players)
    numbers = place.open_slots(players)
    for number in numbers:
        text.append("   " if text else "")
        text.append(f"{signed(place.slots[number - 1].ap)} ", style="dim")
        text.append_text(_standing(there.get(location * 16 + number, []), who))
    closed = [str(number) for number in range(1, len(place.slots) + 1) if number not in numbers]
    if closed:
        slots = "slot" if len(closed) == 1 else "slots"
        text.append(f"   closed with {players} players: {slots} {listed(closed)}", style="dim")
    return text


def _downtown(view: View) -> Text:
    faces = [face_name(die, face) for die, face in enumerate(view.dice)]
    left = [
        f"{sum(category_of(trick) == category for trick in view.residence)} {name}"
        for category, name in CATEGORIES.items()
    ]
    text = Text(f"Dahlgaard [{faces[0]}] [{faces[1]}]  Inn [{faces[2]}] [{faces[3]}]  Bank [{faces[4]}] [{faces[5]}]")
    meant = ["? is any category"] if "?" in faces else []
    meant += ["X offers nothing until it is set or rolled again"] if "X" in faces else []
    if meant:
        text.append(f"\n{', '.join(meant)}", style="dim")
    text.append(f"\nTricks at Dahlgaard's: {', '.join(left)}", style="dim")
    return text


def _market(view: View, content: Content) -> Text:
    def priced(component: int) -> str:
        return f"{COMPONENTS[component]} ({price_now(view, content, component)})"

    text = Text("In stock: " + ", ".join(priced(component) for component in view.buy_area))
    if view.quick_order:
        price = quick_price_now(view, content, view.quick_order)
        text.append(f" · Quick Order: {COMPONENTS[view.quick_order]} ({price})")
    ordered = [f"{COMPONENTS[c]} for slot {slot}" for slot, c in enumerate(view.order_area, 1) if c]
    if ordered:
        text.append(f" · ordered: {', '.join(ordered)}")
    return text


def _dark_alley(alley: tr.DarkAlleyView, who: Sequence[Person]) -> Text:
    """The prophecies, the special decks, and what special cards hold for this turn."""
    text = Text(f"Prophecy: {prophecy_text(alley.active)}", style="magenta")
    for place, prophecy in zip(("next", "second", "third"), alley.pending, strict=False):
        text.append(f"\n  {place}: {prophecy_text(prophecy)}", style="dim")
    decks = ", ".join(f"{len(deck.cards)} {LOCATIONS[deck.location]}" for deck in alley.decks)
    text.append(f"\nSpecial cards: {decks}", style="dim")
    for draw in alley.drawn:
        cards = ", ".join(assignment_name(card) for card in draw.cards)
        text.append(f"\nDrawn of {LOCATIONS[draw.deck]}: {cards}", style="cyan")
    if alley.in_stock:
        text.append(f"\nIn stock this turn: {', '.join(COMPONENTS[c] for c in alley.in_stock)}")
    if alley.quick_order_claimant is not None:
        text.append(f"\nThe Quick Order Component comes to {who[alley.quick_order_claimant].name} in End Turn")
    if alley.shares:
        names = ", ".join(who[seat].name for seat in alley.shares)
        text.append(f"\nBusiness Share: what others pay at the Market Row goes to {names}")
    return text


def _theater(
    view: View, content: Content, who: Sequence[Person], there: dict[int, list[tuple[int, int]]], width: int
) -> RenderableType:
    days = Table.grid(padding=(0, 1))
    column = max(14, width // 4 - 1)
    for _ in WEEKDAYS:
        days.add_column(width=column)
    heads, backs, stages = [], [], []
    for day, called in WEEKDAYS.items():
        first = tr.Slot.THURSDAY_BACKSTAGE_1 + 3 * (day - 1)
        change = content.days[day]
        head = Text(called, style="bold")
        fame, coins = day_now(view, content, day)
        yields = f", yield {signed(fame)}" if fame == coins != 0 else ""
        head.append(f" {signed(change.ap)}{yields}", style="not bold dim")
        heads.append(head)
        behind = [found for slot in (first, first + 1) for found in there.get(slot, [])]
        backs.append(Text("back: ", style="dim").append_text(_standing(behind, who)))
        stages.append(Text("stage: ", style="dim").append_text(_standing(there.get(first + 2, []), who)))
    days.add_row(*heads)
    days.add_row(*backs)
    days.add_row(*stages)
    return days


# --- boards


def boards(view: View, content: Content, who: Sequence[Person], width: int) -> RenderableType:
    """Every player's board; the viewer's own first."""
    viewer = view.game.viewer_seat if view.game is not None else None
    players = sorted(view.players, key=lambda player: (player.seat != viewer, player.seat))
    per_row = max(1, min(len(players), width // BOARD))
    grid = Table.grid()
    for first in range(0, len(players), per_row):
        row = players[first : first + per_row]
        grid.add_row(*(board(view, content, player, who, min(60, width // per_row)) for player in row))
    return grid


def board(view: View, content: Content, player: tr.Player, who: Sequence[Person], width: int) -> Panel:
    """A player's board: what it has, who is on the team and where, Tricks, Components, markers."""
    person = who[player.seat]
    active = view.placement is not None and view.placement.seat == player.seat
    title = Text(("▶ " if active else "") + f"{person.name} [{person.initial}]", style=f"bold {person.colour}")
    title.truncate(width - 6, overflow="ellipsis")
    lines = [_wealth(view, content, player), _team(view, player), _tricks(view, content, player), _piles(player)]
    if view.dark_alley is not None:
        lines += _special(view.dark_alley, player)
    if player.hired:
        lines.append(Text(f"At the Inn: {', '.join(CHARACTERS[kind] for kind in player.hired)}"))
    supply = " ".join(f"{SYMBOLS[symbol]}{count}" for symbol, count in enumerate(player.supply, 1))
    lines.append(Text(f"Unused markers {supply}", style="dim"))
    return Panel(
        Group(*lines),
        title=title,
        border_style=person.colour if active else "dim",
        width=width,
        padding=(0, 1),
        box=box.ROUNDED,
    )


def _wealth(view: View, content: Content, player: tr.Player) -> Text:
    text = Text()
    if player.magician:
        favorite = CATEGORIES[content.magicians[player.magician].category]
        text.append(f"{MAGICIANS[player.magician]} ({favorite})\n", style="italic")
    text.append(f"{player.fame} Fame", style="bold")
    text.append(f"  {counted(player.coins, 'coin')}", style="yellow")
    text.append(f"  {counted(player.shards, 'Shard')}", style="magenta")
    if view.derived is not None and view.derived.players[player.seat].wages:
        text.append(f"  wages {view.derived.players[player.seat].wages}", style="dim")
    text.append("  advertised" if player.advertised else "", style="green")
    return text


def _team(view: View, player: tr.Player) -> Text:
    acting = view.placement.member if view.placement is not None and view.placement.seat == player.seat else 0
    text = Text()
    for member in player.team:
        text.append("\n" if text else "")
        text.append(("▶ " if member.member == acting else "  ") + member_name(member.member))
        if member.assigned and not (member.slot and member.card <= Location.DARK_ALLEY):
            text.append(f": {assignment_name(member.card)}", style="dim")
        if member.idle:
            text.append(", idle", style="dim italic")
        elif member.slot:
            text.append(f", {slot_name(member.slot)}", style="green")
        if member.member == acting and view.placement is not None:
            text.append(f", {view.placement.action_points} AP left", style="bold")
            text.append(_in_use(view.dark_alley), style="cyan")
    return text


def _in_use(alley: tr.DarkAlleyView | None) -> str:
    """The special card that the acting Character uses, or copies."""
    if alley is None:
        return ""
    copied = f", as {assignment_name(alley.copied)}" if alley.copied else ""
    return copied + (f", bonus of {assignment_name(alley.bonus)}" if alley.bonus else "")


def _special(alley: tr.DarkAlleyView, player: tr.Player) -> list[Text]:
    """What special cards and the magician's ability are doing for a player."""
    of = alley.players[player.seat]
    found = []
    if of.performing:
        found.append(f"Performs with {assignment_name(of.performing)}")
    if of.durable:
        found.append(f"Durable: {', '.join(TRICKS[trick] for trick in of.durable)}")
    if of.talent:
        found.append(f"Hidden Talent: the {member_name(of.talent)} may become a Specialist")
    if of.shown:
        found.append(f"In hand, as all know: {', '.join(assignment_name(card) for card in of.shown)}")
    if of.ability_used:
        found.append("Magician's ability used in this turn")
    return [Text(line, style="cyan") for line in found]


def needs(content: Content, trick: int) -> str:
    """What a Trick needs: "3 Wood, 1 Saw"."""
    return ", ".join(f"{count} {COMPONENTS[component]}" for component, count in content.tricks[trick].needs)


def _tricks(view: View, content: Content, player: tr.Player) -> Text:
    text = Text()
    for own in player.tricks:
        trick = content.tricks[own.trick]
        text.append("\n" if text else "")
        text.append(f"{SYMBOLS[own.symbol]} {TRICKS[own.trick]}", style="bold")
        text.append(f" {LETTERS[category_of(own.trick)]}{level_of(own.trick)} {'●' * own.markers}")
        text.append("◇" * shards_on(view, own.trick), style="magenta")
        text.append(" Engineer's slot" if own.slot == 3 else "", style="dim")
        given = brief(yield_now(view, content, own.trick))
        enough = "✗" if missing(content, player, own.trick) else "✓"
        text.append(f"\n  {needs(content, own.trick)} {enough}", style="dim")
        text.append(f"\n  {trick.ap} AP for {counted(trick.markers, 'marker')}: {given}", style="dim")
    return text or Text("No Tricks", style="dim")


def _piles(player: tr.Player) -> Text:
    piles = [f"{pile.amount} {COMPONENTS[pile.component]}{'+1' if pile.manager_slot else ''}" for pile in player.piles]
    return Text(f"Components: {', '.join(piles) or 'none'}")


def hand(player: tr.Player) -> Text:
    """A viewer's own cards."""
    kinds = dict.fromkeys(player.hand)
    cards = [f"{player.hand.count(card)} {assignment_name(card)}" for card in kinds]
    return Text("Your hand: ", style="bold").append(", ".join(cards) or "empty", style="not bold cyan")
