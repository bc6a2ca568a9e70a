"""A greedy player of Arcane Alley: the legal command that leaves the best position, one step ahead.

It knows what its seat knows: the seat's own view and the legal commands. A
position is worth, in gold: the gold that its stacks may still bring, less the
infamy that its items will give at the inspection.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from guildhall.arcane_alley.v1 import structs as aa
from guildhall.arcane_alley.v1.structs import Item, View, Wizard
from guildhall.kernel.v1.structs import Undo
from services.arcane_alley.content import Content, parse
from services.arcane_alley.geometry import ADJACENT, LINES, LINES_THROUGH, SHAPE_OF, SLIDES

HIDDEN: Final = 0
EMPTY: Final = 100
"""A cell is the item that lies there revealed, its negative where it is hidden but known, HIDDEN, or EMPTY."""

HALVES: Final = tuple(math.pow(0.5, n) for n in range(10))

LAP: Final = 25
FINE: Final = 25

SOLD_BONUS: Final = {
    Item.BUBBLING_CAULDRON: 3.0,
    Item.DRAGONS_EGG: -4.0,
    Item.FLOATING_CARPET: 1.5,
    Item.HAUNTED_DOLL: 5.0,
    Item.HYPNOTIC_TOAD: 2.0,
    Item.SKELETOMICON: 5.0,
}
"""What a "when sold" effect is worth beside the gold."""

WIZARD_LIKING: Final = (Wizard.BYROS, Wizard.NINX, Wizard.CORVUS, Wizard.GLYNNA, Wizard.MEEBLEMORE, Wizard.DAFANA)

DECK_HOPE: Final = 2.5
"""What an unknown item of the deck improves the turn by, on average."""
LONG_GAME: Final = 100
"""Versions a player after which a game is long: greedy players may wait for one another to trigger the inspection."""
IMPATIENCE: Final = 0.02
"""Gold that it is then worth to cover a hidden item, for each further version of the game."""
ACTIVATION_HOPE: Final = {Item.MYSTICAL_LAMP: 5.0, Item.SACRED_CHALICE: 4.0}


@dataclass(frozen=True)
class Grid:
    """A storehouse: its shape (an index of geometry.SHAPES) and its cells."""

    shape: int
    cells: tuple[int, ...]


@dataclass(frozen=True)
class Situation:
    """What stays the same while the commands of one decision are compared."""

    view: View
    me: int
    grid: Grid
    stash: tuple[int, ...]
    unseen: tuple[int, ...]
    """Copies of each item that this seat has not seen in this round."""
    turns: int
    """Turns that this seat may expect after this one."""
    weight: float
    """Gold that one point of infamy is worth avoiding."""


class Greedy:
    """Chooses for one seat at a time; keeps nothing between two decisions."""

    def __init__(self, pack: bytes) -> None:
        """`pack` is the content pack's bytes, as GetPack gives them. Raises BadPack."""
        self._content: Content = parse(pack)

    def __call__(self, view: View, kind: str, commands: Sequence[Any]) -> Any:
        """The command to answer this decision of the view's own seat with."""
        options = [command for command in commands if type(command) is not Undo]
        if len(options) == 1:
            return options[0]
        situation = self._situation(view)
        return max(options, key=lambda command: self._worth(situation, kind, command))

    def _situation(self, view: View) -> Situation:
        assert view.game is not None and view.game.viewer_seat is not None
        me = view.game.viewer_seat
        player = view.players[me]
        unseen = self._unseen(view)
        grid = grid_of(player)
        return Situation(
            view, me, grid, tuple(player.stash), unseen, self._turns(view, me), self._weight(view, grid, player)
        )

    def _unseen(self, view: View) -> tuple[int, ...]:
        content = self._content
        five_six = len(view.players) >= 5
        left = [base + extra * five_six for base, extra in zip(content.base, content.five_six, strict=True)]
        seen: list[int] = [*view.deck, *view.discard, *view.set_aside, *view.turned_up]
        for player in view.players:
            seen += player.stash
            seen += [card.item for card in player.storehouse.cells] if player.storehouse else []
        for item in seen:
            left[item] -= 1
        return tuple(max(0, count) for count in (0, *left[1:]))

    def _turns(self, view: View, me: int) -> int:
        if view.phase != aa.Phase.SELL:
            return 6
        if view.trigger_seat is not None:
            return 0
        hidden = [sum(cell <= 0 for cell in grid_of(player).cells) for player in view.players]
        turns = max(1, min(hidden))
        if len(view.players) == 2:
            turns = max(15 - view.turn, min(turns, 21 - view.turn))
        return turns

    def _weight(self, view: View, grid: Grid, player: aa.Player) -> float:
        """A lap of infamy costs a fine; below it, in the last round, infamy costs nothing but a tie."""
        if view.round < 3:
            return 1.0
        expected = player.infamy + sum(self._infamy(cell) for cell in grid.cells)
        return 0.3 if expected < LAP - 12 and not player.markers else 1.2

    # --- what a command is worth

    def _worth(self, now: Situation, kind: str, command: Any) -> float:
        match command:
            case aa.Play(item=item, cell=cell):
                stash = now.stash if kind in ("lamp", "chalice") else without(now.stash, item)
                return self._play(now, item, cell, stash)
            case aa.PlayFromDiscard(position=position, cell=cell):
                return self._play(now, now.view.discard[-1 - position], cell, now.stash)
            case aa.PlayBoomerang(cell=cell):
                return self._play(now, Item.MAGIC_BOOMERANG, cell, now.stash)
            case aa.Discard(item=item):
                return self._value(now, now.grid, without(now.stash, item), now.turns) - self._gift(now, item)
            case aa.Activate(item=item):
                return self._activation(now, item)
            case aa.DrawDeck():
                return self._draw(now, now.view.deck[-1] if now.view.deck else 0)
            case aa.DrawDiscard():
                return self._draw(now, now.view.discard[-1])
            case aa.Swap(cell=cell, target_seat=seat, target_cell=target):
                return self._swap(now, cell, seat, target)
            case aa.Slide(direction=direction):
                return self._slide(now, direction)
            case aa.SellSet(first_cell=first, last_cell=last):
                line = (first, (first + last) // 2, last)
                return max(self._content.gold[abs(now.grid.cells[c])] for c in line if now.grid.cells[c] != EMPTY)
            case aa.SetAside(cell=cell):
                return self._infamy(now.grid.cells[cell])
            case aa.ChooseItem(item=item):
                return self._content.infamy[item]
            case aa.PlaceDoll(target_seat=seat, cell=cell):
                return self._harm(now, seat) + self._damage(now, seat, cell)
            case aa.ChoosePlayer(target_seat=seat):
                return self._target(now, kind, seat)
            case aa.LoseInfamy():
                return 3.0 * now.weight if now.view.players[now.me].infamy >= 3 else 0.0
            case aa.PickWizard(wizard=wizard):
                return -float(WIZARD_LIKING.index(Wizard(wizard)))
            case aa.Peek(cell=cell) | aa.RevealItem(cell=cell):
                return len(LINES_THROUGH[now.grid.shape][cell]) + 4.0 * (now.grid.cells[cell] == HIDDEN)
            case aa.RevealItems(first_cell=first, second_cell=second):
                return float(len(LINES_THROUGH[0][first]) + len(LINES_THROUGH[0][second]))
            case aa.UsePower():
                return 1.0 if self._near_fine(now) else -1.0
            case aa.Bribe(gold=gold):
                return self._bribe(now, gold)
            case aa.ResolveEffect():
                return self._effect(now)
        return 0.0

    def _draw(self, now: Situation, item: int) -> float:
        """The best turn with this item, or with the unknown one."""
        if not item:
            return self._best_act(now, now.stash, now.stash) + DECK_HOPE
        return self._best_act(now, (*now.stash, item), (*now.stash, item))

    def _best_act(self, now: Situation, stash: tuple[int, ...], items: Iterable[int]) -> float:
        worths = [
            self._play(now, item, cell, without(stash, item))
            for item in set(items) - {HIDDEN}
            for cell, card in enumerate(now.grid.cells)
            if card not in (EMPTY, Item.HAUNTED_DOLL)
        ]
        worths += [
            self._value(now, now.grid, without(stash, item), now.turns) - self._gift(now, item) for item in set(items)
        ]
        return max(worths, default=0.0)

    def _activation(self, now: Situation, item: int) -> float:
        stash = without(now.stash, item)
        price = 5 * now.weight
        stay = self._value(now, now.grid, stash, now.turns)
        if item == Item.WIZARDS_WATCH:
            top = now.view.discard[-5:]
            return max(stay, self._best_act(now, (*stash, *top), top)) - price if top else stay - price
        return stay + ACTIVATION_HOPE.get(Item(item), 1.0) - price

    def _play(self, now: Situation, item: int, cell: int, stash: tuple[int, ...]) -> float:
        """Playing an item there: its effect, a set it makes, what it replaces, and the position afterwards."""
        view = now.view
        old = now.grid.cells[cell]
        cells = list(now.grid.cells)
        cells[cell] = item
        worth = 0.0
        if item == Item.DARK_LOTUS:
            worth -= min(5, view.players[now.me].gold)
        elif item == Item.SKELETOMICON:
            worth -= 3 * now.weight
        elif item == Item.CRYSTAL_BALL:
            worth -= now.weight - 0.5 * (HIDDEN in cells)
        elif item == Item.THREE_HEADED_COIN:
            worth += self._coins(view) - (old == item)
        elif item == Item.CURSED_MIRROR:
            for beside in ADJACENT[now.grid.shape][cell]:
                if 0 < cells[beside] < EMPTY:
                    cells[beside] = -cells[beside]
        if old == Item.BOTTLED_FAIRY:
            worth += min(2, view.players[now.me].infamy) * now.weight
        if old not in (HIDDEN, EMPTY):
            worth -= self._gift(now, abs(old))
        elif len(view.players) == 2:
            worth += 0.5
        grid = Grid(now.grid.shape, tuple(cells))
        for index, line in LINES_THROUGH[grid.shape][cell]:
            sold = set_of(grid.cells, line)
            if sold:
                sale, grid = self._sale(now, grid, index, sold, stash)
                worth += sale
                break
        turns = now.turns
        if turns and all(card > 0 for card in grid.cells) and (len(view.players) > 2 or view.turn >= 15):
            turns = 0
            worth -= self._penalty(now, grid)
        if old <= HIDDEN:
            worth += self._impatience(view)
        return worth + self._value(now, grid, stash, turns)

    def _impatience(self, view: View) -> float:
        """What it is worth that the round comes nearer to its end."""
        assert view.game is not None
        return IMPATIENCE * max(0, view.game.version - LONG_GAME * len(view.players))

    def _sale(self, now: Situation, grid: Grid, index: int, item: int, stash: tuple[int, ...]) -> tuple[float, Grid]:
        """Gold and effect of a sold set, and the best way to close up."""
        line = LINES[grid.shape][index]
        rest = [EMPTY if cell in line else card for cell, card in enumerate(grid.cells)]
        gold = self._content.gold[item] * HALVES[rest.count(Item.SOVEREIGN_SWORD)]
        if now.view.players[now.me].wizard == Wizard.BYROS:
            gold += 3
        grids = [
            Grid(slide.shape, tuple(grid.cells[cell] for cell in slide.from_cells))
            for slide in SLIDES[grid.shape][index].values()
        ]
        best = max(grids, key=lambda after: self._value(now, after, stash, now.turns))
        return gold + SOLD_BONUS.get(Item(item), 0.0), best

    def _penalty(self, now: Situation, grid: Grid) -> float:
        """What triggering costs: 10 infamy unless one gains the least."""
        mine = sum(self._infamy(card) for card in grid.cells)
        others = [
            sum(self._infamy(card) for card in grid_of(player).cells)
            for player in now.view.players
            if player.seat != now.me
        ]
        return 0.0 if mine <= min(others) - 2 else 10 * now.weight

    def _coins(self, view: View) -> int:
        return sum(grid_of(player).cells.count(Item.THREE_HEADED_COIN) for player in view.players)

    def _gift(self, now: Situation, item: int) -> float:
        """What an item on top of the discard is worth to the next player."""
        if not item or now.turns == 0 or item == Item.INVISIBLE_RING:
            return 0.0
        seat = (now.me + 1) % len(now.view.players)
        grid = grid_of(now.view.players[seat])
        pairs = any(
            sum(grid.cells[cell] == item for cell in line) == 2
            and all(grid.cells[cell] != Item.HAUNTED_DOLL for cell in line)
            for line in LINES[grid.shape]
        )
        return self._content.gold[item] * (0.35 if pairs else 0.04)

    # --- what a position is worth

    def _infamy(self, card: int) -> float:
        """Infamy that a card will give at the inspection."""
        if card == EMPTY:
            return 0.0
        return float(self._content.infamy[abs(card)]) if card else 3.3

    def _value(self, now: Situation, grid: Grid, stash: tuple[int, ...], turns: int) -> float:
        worth = -now.weight * sum(self._infamy(card) for card in grid.cells)
        if not turns:
            return worth
        chances: dict[int, float] = {}
        swords = grid.cells.count(Item.SOVEREIGN_SWORD)
        for line in LINES[grid.shape]:
            for item in {card for cell in line if 0 < (card := grid.cells[cell]) < EMPTY}:
                chance = self._chance(now, grid, line, item, stash, turns, swords)
                if chance > chances.get(item, 0.0):
                    chances[item] = chance
        best = sorted(chances.values(), reverse=True)
        return worth + sum(chance * HALVES[n] for n, chance in enumerate(best[:4]))

    def _chance(
        self,
        now: Situation,
        grid: Grid,
        line: tuple[int, int, int],
        item: int,
        stash: tuple[int, ...],
        turns: int,
        swords: int,
    ) -> float:
        """Expected gain of completing a set of that item in that stack."""
        have = 0
        relief = 0.0
        for cell in line:
            card = grid.cells[cell]
            if card == item:
                have += 1
            elif card in (EMPTY, Item.HAUNTED_DOLL):
                return 0.0
            relief += self._infamy(card)
        plays = 3 - have
        if plays > turns:
            return 0.0
        held = stash.count(item) + (plays == 1 and Item.FACSIMILOUS_FELINE in stash)
        draws = max(0, plays - held)
        pool = sum(now.unseen) or 1
        odds = min(0.9, 1.7 * now.unseen[item] / pool)
        got = 1.0 if not draws else math.pow(1 - math.pow(1 - odds, turns / draws), draws)
        others_swords = swords - have if item == Item.SOVEREIGN_SWORD else swords
        gain = self._content.gold[item] * HALVES[others_swords] + now.weight * relief + SOLD_BONUS.get(Item(item), 0.0)
        return max(0.0, gain) * got * math.pow(0.9, plays)

    # --- other players

    def _harm(self, now: Situation, seat: int) -> float:
        """How much one would like to harm that player: the leader most, oneself never."""
        if seat == now.me:
            return -100.0
        player = now.view.players[seat]
        return player.gold - 0.5 * player.infamy - FINE * player.markers

    def _target(self, now: Situation, kind: str, seat: int) -> float:
        if kind == "egg":
            return -self._harm(now, seat)
        if kind == "chalice_player":
            return float(len(now.view.players[seat].stash)) + self._harm(now, seat) / 100
        crossing = {"cauldron": 3, "toad": 5}.get(kind, 0)
        falls = now.view.players[seat].infamy + crossing >= LAP
        likes = self._harm(now, seat) / 50 + 10.0 * falls
        return likes if seat != now.me else -50.0

    def _damage(self, now: Situation, seat: int, cell: int) -> float:
        """Stacks of another player that a Doll in that cell spoils."""
        grid = grid_of(now.view.players[seat])
        spoiled = 0.0
        for _, line in LINES_THROUGH[grid.shape][cell]:
            items = [grid.cells[other] for other in line if 0 < grid.cells[other] < EMPTY]
            if len(items) == 2 and items[0] == items[1]:
                spoiled += self._content.gold[items[0]]
        return spoiled

    # --- the rest

    def _swap(self, now: Situation, cell: int, seat: int, target: int) -> float:
        item = grid_of(now.view.players[seat]).cells[target]
        cells = list(now.grid.cells)
        cells[cell] = item
        own = self._value(now, Grid(now.grid.shape, tuple(cells)), now.stash, now.turns)
        return own + self._harm(now, seat) / 50 + self._content.gold[item] * 0.1

    def _slide(self, now: Situation, direction: int) -> float:
        cells = now.grid.cells
        for index, line in enumerate(LINES[now.grid.shape]):
            slides = SLIDES[now.grid.shape][index]
            if direction in slides and len(slides) == 2 and all(cells[cell] == EMPTY for cell in line):
                slide = slides[direction]
                grid = Grid(slide.shape, tuple(cells[cell] for cell in slide.from_cells))
                return self._value(now, grid, now.stash, now.turns)
        return 0.0

    def _near_fine(self, now: Situation) -> bool:
        """Whether the coming inspection is likely to bring a fine that a little less infamy avoids."""
        expected = now.view.players[now.me].infamy + sum(self._infamy(card) for card in now.grid.cells)
        return LAP - 2 <= expected <= LAP + 3

    def _bribe(self, now: Situation, gold: int) -> float:
        """Worth its price where it keeps the next inspection below the fine."""
        infamy = now.view.players[now.me].infamy
        ordinary = 12
        saved = FINE if infamy + ordinary >= LAP > infamy + ordinary - gold // 2 else 0
        return saved * 0.8 - gold

    def _effect(self, now: Situation) -> float:
        """Whether Meeblemore resolves the effect of what he played: the gainful ones."""
        return self._coins(now.view) - 1.5


def grid_of(player: aa.Player) -> Grid:
    """A player's storehouse as the viewer knows it."""
    storehouse = player.storehouse
    if storehouse is None:
        return Grid(SHAPE_OF[0, 0], ())
    cells = tuple(EMPTY if card.empty else card.item if card.revealed else -card.item for card in storehouse.cells)
    return Grid(SHAPE_OF[storehouse.rows, storehouse.columns], cells)


def set_of(cells: Sequence[int], line: tuple[int, int, int]) -> int:
    """The item of which the stack is a set, a Feline standing for one copy; 0 where it is none."""
    items = sorted(cells[cell] for cell in line)
    if items[0] <= 0 or items[2] == EMPTY:
        return 0
    if items[0] == items[2]:
        return items[0]
    others = [item for item in items if item != Item.FACSIMILOUS_FELINE]
    return others[0] if len(others) == 2 and others[0] == others[1] else 0


def without(stash: tuple[int, ...], item: int) -> tuple[int, ...]:
    """The stash after one copy of an item left it."""
    left = list(stash)
    if item in left:
        left.remove(item)
    return tuple(left)
