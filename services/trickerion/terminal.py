"""Trickerion at a terminal: the table drawn, and what a seat may do as numbered choices.

Everything here is made from one viewer's own view and decisions, so it cannot show what the viewer does not know.
`guildhall play` and `watch` find this module by the game's name; see `guildhall.cli.faces` for what they use.
"""

from collections.abc import Sequence
from typing import Any, Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from guildhall.trickerion.v1 import structs as tr
from services.trickerion import drawing
from services.trickerion.content import Content
from services.trickerion.drawing import Name, Person, people
from services.trickerion.menus import Entry, Menu, Menus
from services.trickerion.packs import parse
from services.trickerion.sentences import Teller
from services.trickerion.words import (
    ABILITIES,
    ASSIGNMENTS,
    CATEGORIES,
    COMPONENTS,
    END_BONUSES,
    LOCATIONS,
    MAGICIANS,
    SPECIALISTS,
    SPECIALS,
    THEATERS,
    TRICKS,
    amounts,
    card_name,
    category_of,
    counted,
    location_of,
    prophecy_text,
)

__all__ = ["Entry", "Menu", "Teller", "Terminal"]

TERMS: Final[dict[str, str]] = {
    "Advertise": "2 Fame for as many coins as the number of your initiative slot. Whoever has more Fame comes later in "
    "the order, so on a higher slot, and pays more; two players have slots 1 and 3.",
    "Dice (a die)": "X offers nothing until the die is set or rolled again; a die that was used goes to X. ? among "
    "Dahlgaard's is any category.",
    "Character slots": "at Downtown, Market Row and Dark Alley both +1 slots are closed with two players, one of them "
    "with three.",
    "Edition": "with --ruling edition=revised_2019 it costs 1 AP to roll a die again, and 1 to move things in the "
    "Workshop; menus show what holds.",
}
"""What the table and the menus do not say of themselves."""

_GAME: Final = """\
Most Fame after five turns wins (seven with the Dark Alley). A turn: dice, order of initiative (least Fame first),
advertise, assign cards to Characters in secret, place them one by one, performances, end of the turn.

Learn a Trick (Downtown), get what it needs (Market Row), prepare it (Workshop): markers lie on it. Set a marker up
on a Performance card (Theater), and have your Magician perform a card with your markers: all Tricks on it yield.

A Character has AP (Magician 3, Specialist 2, Apprentice 1) and those of its slot; a Shard buys 1 more, not in the
Theater. In the Theater all your Characters stand on one weekday, on which nobody else stands.
Downtown    learn, hire, take coins: 3 AP each; set a die 2; roll a die again 2
Market Row  buy 1 AP (1 to 3 of a type); each AP more: 1 coin off; order 1; order quickly 2
Workshop    prepare: the Trick's AP; move things to a Specialist's slots 3
Theater     set up 1 AP; move a marker 1 AP. On stage: no AP, but your Magician performs on that weekday.

On a Performance card: numbers are free slots; a marker shows a letter at each corner, Spiritual, Mechanical, Optical,
Escape, the Trick's own as a capital, which has to point into a circle. Two equal letters in one circle are a link:
1, 2 or 3 Fame or coins by the Trick's level. ○ circle, ◇ with a Shard for both; ● ◆ linked. F Fame, c coins, S Shards.
On Thursday your Tricks yield 1 Fame and 1 coin less each, on Sunday 1 more. Who performs has also 1 Fame per link, the
card's bonus, and 2 Fame, 3 coins, 1 Shard for Assistant, Manager, Engineer in the Theater.
Wages: 1 for an Apprentice placed, 2 for a Specialist; what is not paid costs 2 Fame a coin.
At the end: 1 Fame per Shard, per 3 coins; 2 per Apprentice, 3 per Specialist (with the Dark Alley 2 per special card
in hand and the bonuses of level 3 Tricks instead).

On a board ✓ says that you have what a Trick needs, ✗ that you lack some of it; ● is a marker on the Trick.
"""
_ASK: Final = """\
Ask for a Trick, a category, a Performance card, a Location, a magician, a special card or one of these words:
? optical   ? R08   ? dice\
"""
HELP: Final = _GAME + "".join(f"{term}: {text}\n" for term, text in TERMS.items()) + _ASK

ACTIONS: Final[dict[str, str]] = {
    "Downtown": "learn a Trick 3 AP, hire 3, take coins 3, set a die 2, roll a die again 2 (? edition). "
    "The die that was used goes to X.",
    "Market Row": "buy 1 to 3 of a type that is in stock 1 AP, each AP more takes 1 coin off the price (not the last); "
    "order a type for the next turn 1; order quickly 2: in stock at once for everybody, 1 coin dearer.",
    "Workshop": "prepare a Trick whose Components you have: its AP; move a Trick to the Engineer's slot, Components to "
    "the Manager's, an Apprentice to the Assistant's 3 AP (? edition).",
    "Theater": "set up a Trick 1 AP, move one of your markers 1; a Magician on stage performs. One weekday for all "
    "your Characters, and nobody else's there.",
    "Dark Alley": "draw a special card 1 AP once, further ones 2 (two of a deck, keep one); tell fortunes 1.",
}
"""What Characters do at each Location."""


class Terminal:
    """Draws and words for the games of one content pack."""

    def __init__(self, pack: bytes) -> None:
        """`pack` is the content pack's bytes, as GetPack gives them. Raises BadPack."""
        self._content: Content = parse(pack)

    help = HELP

    def draw(self, view: tr.View, name: Name, width: int) -> RenderableType:
        """The whole table; `width` is the terminal's columns."""
        content, who = self._content, people(view, name)
        parts: list[RenderableType] = [
            drawing.header(view, content, who),
            drawing.stage(view, content, who, width),
            drawing.town(view, content, who, width),
            drawing.boards(view, content, who, width),
        ]
        viewer = view.game.viewer_seat if view.game is not None else None
        if viewer is not None:
            parts.append(drawing.hand(view.players[viewer]))
        if view.game is not None and view.game.ended is not None and view.game.ended.ranks:
            parts.append(self._standing(view, who))
        return Group(*parts)

    def _standing(self, view: tr.View, who: Sequence[Person]) -> RenderableType:
        """The players in the order of their ranks."""
        table = Table(title="Final standing", box=box.SIMPLE_HEAD)
        for head in ("rank", "player", "Fame", "coins", "Shards"):
            table.add_column(head, justify="left" if head == "player" else "right")
        assert view.game is not None and view.game.ended is not None
        ranks = view.game.ended.ranks
        for player in sorted(view.players, key=lambda player: ranks[player.seat]):
            numbers = (str(player.fame), str(player.coins), str(player.shards))
            style = "bold green" if ranks[player.seat] == 1 else ""
            table.add_row(str(ranks[player.seat]), Text(who[player.seat].name), *numbers, style=style)
        return table

    def about(self, words: str) -> str | None:
        """What the component of that name is; part of a name will do. None where nothing is called so."""
        wanted = words.strip().casefold()
        if not wanted:
            return None
        told = {**{TRICKS[trick]: self._about_trick(trick) for trick in TRICKS}, **self._about_cards()}
        told |= {ASSIGNMENTS[card]: f"{LOCATIONS[location_of(card)]}. {text}" for card, text in SPECIALS.items()}
        told |= TERMS
        told |= {f"Location {place}": text for place, text in ACTIONS.items()}
        told |= {MAGICIANS[magician]: f"with the Dark Alley: {ability}" for magician, ability in ABILITIES.items()}
        told |= {text.split(":")[0]: text.split(": ", 1)[1] for text in SPECIALISTS.values()}
        told |= {f"Prophecy {number - 200}": prophecy_text(number) for number in self._content.prophecies if number}
        told |= {f"Category {called}": self._about_category(category) for category, called in CATEGORIES.items()}
        told |= {f"Component {called}": self._about_component(kind) for kind, called in COMPONENTS.items()}
        found = [f"{called}: {text}" for called, text in told.items() if wanted in called.casefold()]
        return "\n".join(found) or None

    def _about_trick(self, trick: int) -> str:
        card = self._content.tricks[trick]
        given = amounts(card.yields.fame, card.yields.coins, card.yields.shards)
        bonus = f"; at the end {END_BONUSES[trick]}" if trick in END_BONUSES else ""
        return (
            f"{CATEGORIES[card.category]}, level {card.level} (Fame {card.threshold}); needs "
            f"{drawing.needs(self._content, trick)}; prepared for {card.ap} AP with {counted(card.markers, 'marker')}; "
            f"yields {given}{bonus}"
        )

    def _about_cards(self) -> dict[str, str]:
        told = {}
        for front, card in self._content.performances.items():
            shards = sum(circle.shard for circle in card.layout.circles)
            bonus = amounts(card.bonus.fame, card.bonus.coins, card.bonus.shards)
            told[card_name(front)] = (
                f"{THEATERS[card.theater]}, {len(card.layout.slots)} slots, {len(card.layout.circles)} circles, "
                f"{shards} with a Shard; the performer gains {bonus}"
            )
        return told

    def _about_category(self, category: int) -> str:
        return ", ".join(name for trick, name in TRICKS.items() if category_of(trick) == category)

    def _about_component(self, component: int) -> str:
        users = [TRICKS[trick] for trick in TRICKS if component in dict(self._content.tricks[trick].needs)]
        return f"{counted(self._content.components[component].price, 'coin')}; needed by {', '.join(users)}"

    def menu(self, view: tr.View, kind: str, options: Sequence[Any], name: Name) -> Any:
        """The commands and families of a decision as numbered choices, in several steps. Undo is left out."""
        return Menus(view, name, self._content).of(kind, options)
