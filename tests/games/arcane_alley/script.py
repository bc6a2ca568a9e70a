"""Play scripts: a table set up exactly, commands in words, and what must be so afterwards.

A scenario reads as it is told:

    t = sell(a=seat("DE DE ?x / . . . / . . .", stash="DE"), b=seat("SS . . / . . . / . . ."))
    t.a.does("draw deck", "play DE 0,2", "choose b")
    t.a.has(gold=45)
    t.b.has(gold=32, infamy=2)

The table begins in the middle of a game: rules that begin with this hall and this frame, and then the kernel's own
`create` and `decide`. After each command the records so far are folded and compared, every viewer's hall is kept by
its own events and compared (the law of views), and the items are counted. The notation is that of `notation`.
"""

import re
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final

from guildhall.arcane_alley.v1.structs import Phase, Wizard
from guildhall.kernel.cards import EVERYONE, FRONT, knows
from guildhall.kernel.decide import Creation, Decided, create, created_event, decide, resign, time_out
from guildhall.kernel.fold import fold
from guildhall.kernel.frames import Frame
from guildhall.kernel.game import Game
from guildhall.kernel.ids import decision_id
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import OpenDecision
from services.arcane_alley.asking import HallTable
from services.arcane_alley.bribe import BribePhase
from services.arcane_alley.content import content_of
from services.arcane_alley.geometry import SHAPE_OF, SHAPES
from services.arcane_alley.hall import EMPTY, NOBODY, REVEALED, Hall, new_hall
from services.arcane_alley.inspection import Inspection
from services.arcane_alley.rules import RULES
from services.arcane_alley.sell import start_turn
from services.arcane_alley.setup import Round
from tests.games.arcane_alley.notation import (
    CODE_OF,
    CODES,
    SEATS,
    Token,
    hear,
    parse_rows,
    parse_token,
    say,
    seat_number,
    write_card,
    write_items,
    write_known,
    write_rows,
)
from tests.games.arcane_alley.subject import all_items
from tests.suites.knowledge import Watchers

HIDDEN: Final = ". . . / . . . / . . ."
FILLERS: Final = ("OW", "FC", "BC", "CB", "SK", "DL", "DE", "HT", "CM", "BF", "TC", "SS")
"""What an item without importance is, by preference. None of them acts when it is replaced while hidden."""
SEED: Final = bytes(32)


@dataclass(frozen=True)
class Seat:
    """What lies before one player, as it is written."""

    grid: str = HIDDEN
    stash: str = ". ."
    gold: int = 25
    infamy: int = 0
    markers: int = 0
    wizard: str = ""


def seat(
    grid: str = HIDDEN, stash: str = ". .", gold: int = 25, infamy: int = 0, markers: int = 0, wizard: str = ""
) -> Seat:
    """What lies before one player: nine hidden fillers, two in the stash, 25 gold, unless said otherwise."""
    return Seat(grid, stash, gold, infamy, markers, wizard)


class Items:
    """Takes items for a script out of a game's deck, and finds those that a script does not name."""

    def __init__(self, deck: list[int], texts: list[str]) -> None:
        self.left = Counter(deck)
        self.named: dict[str, str] = {}
        self.spoken = {word for text in texts for word in re.findall(r"\b[A-Z]{2}\b", text)}
        for text in texts:
            self.left.subtract(CODES[word] for word in re.findall(r"\b[A-Z]{2}\b", text))
        short = [CODE_OF[item] for item, count in self.left.items() if count < 0]
        assert not short, f"the game has not so many copies of {short}"
        self.turn = 0

    def code(self, name: str) -> str:
        """The code of an item or of a filler with a name, which is found now if it has none yet."""
        if name in CODES:
            return name
        assert _is_filler(name), f"{name!r} is no item"
        if name not in self.named:
            free = [c for c in FILLERS if c not in self.spoken and c not in self.named.values()]
            self.named[name] = next(c for c in (*free, *FILLERS) if self.left[CODES[c]] > 0)
        return self.named[name]

    def take(self, token: Token) -> int:
        """The front of an item that is written in the script."""
        if token.name in (".", "*"):
            return self.filler()
        code = self.code(token.name)
        if token.name not in CODES:
            self.left[CODES[code]] -= 1
        return int(CODES[code])

    def filler(self) -> int:
        """Some item without importance: by turns of five designs, so that no three of them stand in a stack."""
        unspoken = [c for c in FILLERS if c not in self.spoken and c not in self.named.values()]
        choice = [*unspoken, *(c for c in FILLERS if c not in unspoken)]
        choice = [c for c in choice if self.left[CODES[c]] > 0][:5]
        self.turn += 1
        code = choice[self.turn % len(choice)]
        self.left[CODES[code]] -= 1
        return int(CODES[code])

    def rest(self) -> list[int]:
        """Everything that was not taken, in an order in which neighbours differ."""
        left = sorted(self.left.elements())
        step = next(n for n in range(len(left) // 3, len(left)) if _prime_to(n, len(left))) if len(left) > 3 else 1
        return [left[i * step % len(left)] for i in range(len(left))]


def _is_filler(word: str) -> bool:
    return len(word) == 1 and word.islower()


def _prime_to(a: int, b: int) -> bool:
    while b:
        a, b = b, a % b
    return a == 1


class Begin(Frame, tag="begin"):
    """Enters a game in the middle of a round."""

    phase: int
    active: int

    def run(self, table: HallTable) -> None:
        if self.phase == Phase.SELL:
            start_turn(table, self.active)
        if self.phase in (Phase.SELL, Phase.INSPECTION):
            table.then(Inspection())
        table.then(BribePhase(), Round())


def sell(
    players: int = 3,
    *,
    active: str = "a",
    first: str = "a",
    round: int = 1,
    turn: int = 1,
    deck: str = "...",
    discard: str = "*",
    rulings: dict[str, str] | None = None,
    **seats: Seat,
) -> "Script":
    """A script that begins with a seat's turn of the Sell phase; `turn` is the tracker of two players."""
    table = Table(players, seats, deck, discard, rulings or {})
    return table.begin(Phase.SELL, active, starting=seat_number(first), round=round, turn=turn if players == 2 else 0)


def inspect(
    players: int = 3,
    *,
    trigger: str = "",
    first: str = "a",
    round: int = 1,
    deck: str = "...",
    discard: str = "*",
    rulings: dict[str, str] | None = None,
    **seats: Seat,
) -> "Script":
    """A script that begins with the inspection that `trigger` has triggered."""
    table = Table(players, seats, deck, discard, rulings or {})
    return table.begin(Phase.INSPECTION, "a", starting=seat_number(first), round=round, trigger=seat_number(trigger))


def bribe(
    players: int = 3,
    *,
    first: str = "a",
    round: int = 1,
    turn: int = 1,
    deck: str = "...",
    discard: str = "*",
    rulings: dict[str, str] | None = None,
    **seats: Seat,
) -> "Script":
    """A script that begins with the Bribe phase after the inspection of `round`."""
    table = Table(players, seats, deck, discard, rulings or {})
    return table.begin(Phase.BRIBE, "a", starting=seat_number(first), round=round, turn=turn if players == 2 else 0)


def new_game(
    players: int,
    *,
    wizards: str = "",
    powers: bool = False,
    first: str = "a",
    rulings: dict[str, str] | None = None,
    seed: bytes = SEED,
) -> "Script":
    """A whole game from its beginning; `wizards` gives them, `powers` lets them be assigned as the rulings say."""
    chosen = {"first_player": "given", **(rulings or {})}
    options = {"wizard_powers": "true" if powers or wizards else "false"}
    if chosen["first_player"] == "given":
        options["first_seat"] = str(seat_number(first))
    if wizards:
        options["wizards"] = wizards
        chosen["wizard_assignment"] = "given"
    creation = Creation([f"player-{SEATS[n]}" for n in range(players)], options, chosen)
    created = created_event(RULES, creation, "scripted", seed)
    return Script(new_hall(created), RULES.first(), created, Items(content_of(new_hall(created)).deck(players), []))


def stock_all(t: "Script") -> None:
    """Whatever is asked before the first turn of the next Sell phase, answered with the first that is listed."""
    while t.asked and not set(t.asked.values()) & {"draw", "act"}:
        player = t.players[seat_number(next(iter(t.asked)))]
        player.does("pass" if "pass" in player.may else player.may[0])


class Table:
    """A table as it is written.

    `deck` and `discard` are written from the top; a deck that ends in "..." goes on with all items
    that lie nowhere else, else those are set aside.
    """

    def __init__(self, players: int, seats: dict[str, Seat], deck: str, discard: str, rulings: dict[str, str]) -> None:
        placed = [seats.get(name, Seat()) for name in SEATS[:players]]
        assert set(seats) <= set(SEATS[:players]), "a seat that the game has not"
        powers = {"wizard_powers": "true" if any(s.wizard for s in placed) else "false"}
        names = [f"player-{SEATS[n]}" for n in range(players)]
        self.created = created_event(RULES, Creation(names, powers, rulings), "scripted", SEED)
        self.hall = hall = new_hall(self.created)
        texts = [deck, discard, *(s.grid for s in placed), *(s.stash for s in placed)]
        self.items = items = Items(content_of(hall).deck(players), texts)
        hall.deck = [_told(items, parse_token(word)) for word in reversed(deck.removesuffix("...").split())]
        hall.discard = [items.take(parse_token(word)) | EVERYONE for word in reversed(discard.split())]
        for number, seat in enumerate(placed):
            _place(hall, items, number, seat)
        rest = items.rest()
        if deck.endswith("..."):
            hall.deck = rest + hall.deck
        else:
            hall.set_aside = [item | EVERYONE for item in rest]

    def begin(self, phase: Phase, active: str, **fields: int) -> "Script":
        """The script of this table that begins in that phase; `fields` are further fields of the hall."""
        self.hall.phase = phase
        self.hall.active = seat_number(active)
        for name, value in fields.items():
            setattr(self.hall, name, value)
        return Script(self.hall, Begin(phase, seat_number(active)), self.created, self.items)


def _told(items: Items, token: Token) -> int:
    return items.take(token) | token.known


def _place(hall: Hall, items: Items, number: int, placed: Seat) -> None:
    rows = parse_rows(placed.grid)
    hall.shapes[number] = SHAPE_OF[len(rows), len(rows[0]) if rows else 0]
    for token in (token for row in rows for token in row):
        if token.name == "--":
            card = EMPTY
        elif token.revealed:
            card = items.take(token) | EVERYONE | REVEALED
        else:
            card = _told(items, token)
        hall.storehouses[number].append(card)
    hall.stashes[number] = sorted(
        items.take(token) | (token.known or knows(number)) for token in map(parse_token, placed.stash.split())
    )
    hall.gold[number], hall.infamy[number], hall.markers[number] = placed.gold, placed.infamy, placed.markers
    hall.wizards[number] = Wizard[placed.wizard.upper()] if placed.wizard else 0


class Script:
    """A game in the middle, its seats, and what its last command told."""

    def __init__(self, hall: Hall, frame: Frame, created: Any, items: Items) -> None:
        self.rules = replace(RULES, new_hall=lambda _: deepcopy(hall), first=lambda: deepcopy(frame))
        self.items = items
        self.watchers = Watchers(self.rules, created)
        self.counted = all_items(hall)
        self.shadow: Game | None = None
        self.aside = len(hall.set_aside)
        self.events: list[Any] = []
        """The events of the last command (of the beginning, before the first)."""
        self.story: list[Any] = []
        """All events."""
        self.players = [Player(self, number) for number in range(len(hall.gold))]
        self.game, decided = create(
            self.rules, created, subject="player-a", command_id="create", payload_hash=bytes(32), at_ms=0
        )
        self._check(decided)

    @property
    def a(self) -> "Player":
        return self.players[0]

    @property
    def b(self) -> "Player":
        return self.players[1]

    @property
    def c(self) -> "Player":
        return self.players[2]

    @property
    def d(self) -> "Player":
        return self.players[3]

    @property
    def e(self) -> "Player":
        return self.players[4]

    @property
    def f(self) -> "Player":
        return self.players[5]

    @property
    def hall(self) -> Hall:
        """The truth."""
        hall: Hall = self.game.hall
        return hall

    @property
    def columns(self) -> list[int]:
        """The width of each storehouse."""
        return [SHAPES[shape][1] for shape in self.hall.shapes]

    @property
    def asked(self) -> dict[str, str]:
        """Who is asked what: seat to kind of decision."""
        return {SEATS[decision.seat]: decision.kind for decision in self.game.waiting()}

    @property
    def trigger(self) -> str:
        """Who has triggered the inspection; "" nobody."""
        return SEATS[self.hall.trigger] if self.hall.trigger != NOBODY else ""

    @property
    def active(self) -> str:
        """Whose turn it is."""
        return SEATS[self.hall.active] if self.hall.active != NOBODY else ""

    @property
    def discard(self) -> str:
        """The discard from its top."""
        return write_items(self.hall.discard[::-1])

    @property
    def deck(self) -> str:
        """The deck from its top."""
        return write_items(self.hall.deck[::-1])

    @property
    def set_aside(self) -> str:
        """What was set aside since the script began, sorted by code."""
        return " ".join(sorted(write_items(self.hall.set_aside[self.aside :]).split()))

    @property
    def ranks(self) -> list[int]:
        """The ranks of the seats when the game is over."""
        assert self.game.ended is not None, "the game is not over"
        return list(self.game.ended.ranks)

    def told(self, *kinds: type[Any]) -> list[Any]:
        """The events of these types of the last command."""
        return [event for event in self.events if isinstance(event, kinds)]

    def has(self, **expected: Any) -> None:
        """Compare what is common to all; fillers may be named."""
        for name, value in expected.items():
            if name in ("discard", "set_aside", "deck"):
                value = self.in_codes(value)
            if name == "set_aside":
                value = " ".join(sorted(value.split()))
            found = getattr(self.hall, name) if name in ("round", "turn", "phase") else getattr(self, name)
            assert found == value, f"{name} is {found!r}, not {value!r}"

    def in_codes(self, text: str) -> str:
        """The text with the codes of its fillers that have names."""
        return " ".join(self.items.code(word) if _is_filler(word) else word for word in text.split())

    def decide(self, number: int, command: Any) -> None:
        """One command of a seat, and all checks after it."""
        decision = self.decision(number)
        decided = decide(
            self.game,
            number,
            decision_id(decision.version, decision.seat),
            command,
            subject=f"player-{SEATS[number]}",
            command_id=f"v{self.game.version}",
            at_ms=self.game.at_ms + 1_000,
        )
        self._check(decided)

    def decision(self, number: int) -> OpenDecision:
        """The open decision of a seat."""
        found = [decision for decision in self.game.open if decision.seat == number]
        assert found, f"{SEATS[number]} is not asked; {self.asked} are"
        return found[0]

    def _check(self, decided: Decided) -> None:
        self.events = decided.events
        self.story += decided.events
        self.shadow, events = fold(self.rules, self.shadow, decided.body, decided.hash)
        assert events == decided.events
        assert self.shadow.state_bytes() == self.game.state_bytes(), "fold(events) is another state"
        for event in decided.events:
            self.watchers.see(event)
        assert all_items(self.hall) == self.counted, "items were lost or made"
        assert self.game.ended is not None or self.game.waiting(), "nobody can act"
        for decision in self.game.open:
            assert self.game.legal(decision.seat).holds(
                self.game.top().default(self.game.blind(decision.seat), decision.seat)
            ), "the default is not listed"
        for viewer in (*range(len(self.players)), None):
            view = self.game.view(viewer)
            assert RULES.wire.decode_View(RULES.wire.encode_View(view)) == view


@dataclass(frozen=True)
class Player:
    """One seat of a script."""

    script: Script
    number: int

    def does(self, *commands: str) -> None:
        """Commands in words, one after the other; each must be legal."""
        for words in commands:
            self.script.decide(self.number, self._command(words))

    def cannot(self, words: str, because: str = "") -> Refusal:
        """A command is refused, by that rule, and changes nothing."""
        before = self.script.game.snapshot()
        try:
            self.script.decide(self.number, self._command(words))
        except Refusal as refusal:
            assert self.script.game.snapshot() == before, "a refused command changed something"
            assert refusal.message, f"{words!r} is refused without a word"
            assert not because or refusal.rule == because, f"{words!r} is refused by {refusal}, not by {because}"
            return refusal
        raise AssertionError(f"{words!r} is accepted")

    def passes(self) -> None:
        """A turn of which nothing matters: draw from the deck, discard something."""
        self.does("draw deck")
        self.does(min(word for word in self.may if word.startswith("discard")))

    def waits_too_long(self) -> None:
        """The clock plays the default."""
        script = self.script
        decision = script.decision(self.number)
        id_ = decision_id(decision.version, decision.seat)
        script._check(time_out(script.game, id_, at_ms=script.game.at_ms + 1_000))

    def resigns(self) -> None:
        """The seat is given up."""
        script = self.script
        ids = {"subject": f"player-{SEATS[self.number]}", "command_id": "resign"}
        script._check(resign(script.game, self.number, at_ms=script.game.at_ms + 1_000, **ids))

    @property
    def may(self) -> list[str]:
        """Every legal command, in words, but for taking the last one back."""
        listing = self.script.game.legal(self.number)
        assert not listing.families
        said = [say(command, self.number, self.script.columns) for command in listing.commands]
        return [words for words in said if words != "undo"]

    def may_undo(self) -> bool:
        """Whether the last command can be taken back."""
        listing = self.script.game.legal(self.number)
        return any(say(command, self.number, self.script.columns) == "undo" for command in listing.commands)

    def has(
        self,
        gold: int | None = None,
        infamy: int | None = None,
        markers: int | None = None,
        stash: str | None = None,
        grid: str | None = None,
    ) -> None:
        """Compare what lies before this player; "." and "*" of a storehouse are any hidden and any revealed item."""
        hall, number = self.script.hall, self.number
        for name, value, found in (
            ("gold", gold, hall.gold[number]),
            ("infamy", infamy, hall.infamy[number]),
            ("markers", markers, hall.markers[number]),
        ):
            assert value is None or found == value, f"{name} of {SEATS[number]} is {found}, not {value}"
        if stash is not None:
            expected = sorted(self.script.in_codes(stash).split())
            assert sorted(self.stash.split()) == expected, f"stash of {SEATS[number]} is {self.stash}, not {expected}"
        if grid is not None:
            self._has_grid(grid)

    def _has_grid(self, grid: str) -> None:
        rows = parse_rows(grid)
        columns = len(rows[0]) if rows else 0
        found = self.grid
        shape = SHAPES[self.script.hall.shapes[self.number]]
        assert shape == (len(rows), columns), f"the storehouse of {SEATS[self.number]} is {found!r}"
        for token, card in zip(
            (t for row in rows for t in row), self.script.hall.storehouses[self.number], strict=True
        ):
            if token.name == "--":
                same = bool(card & EMPTY)
            else:
                name = token.name
                item = name in (".", "*") or CODES[self.script.items.code(name)] == card & FRONT
                same = item and not card & EMPTY and token.revealed == bool(card & REVEALED)
            assert same, f"the storehouse of {SEATS[self.number]} is {found!r}, not {grid!r}"

    @property
    def grid(self) -> str:
        """The storehouse with the true items."""
        hall = self.script.hall
        return write_rows(hall.storehouses[self.number], self.script.columns[self.number])

    @property
    def stash(self) -> str:
        """The stash, with the item just drawn."""
        hall = self.script.hall
        drawn = hall.drawn if hall.active == self.number else []
        return write_items([*hall.stashes[self.number], *drawn])

    def sees(self, other: "Player") -> "Sight":
        """What lies before another player, or oneself, as this one knows it."""
        return Sight.of(self.script, self.number, other.number)

    @property
    def sees_deck(self) -> str:
        """The deck from its top, as this player knows it."""
        return " ".join(write_known(card, self.number) for card in reversed(self.script.hall.deck))

    def _command(self, words: str) -> Any:
        parts = words.split()
        named = [self.script.items.named.get(part, part) if i else part for i, part in enumerate(parts)]
        if parts[0] in ("choose", "doll", "swap"):
            named = parts
        return hear(" ".join(named), self.number, self.script.columns)


@dataclass(frozen=True)
class Sight:
    """What a viewer (None: a spectator) knows of a seat; "?" is unknown, "?BC" hidden and known."""

    grid: str
    stash: str

    @staticmethod
    def of(script: Script, viewer: int | None, number: int) -> "Sight":
        """Taken from the viewer's own view."""
        player = script.game.view(viewer).players[number]
        columns = player.storehouse.columns
        cards = [
            EMPTY if cell.empty else cell.item | (REVEALED if cell.revealed else 0) for cell in player.storehouse.cells
        ]
        words = [write_card(card) for card in cards]
        rows = [" ".join(words[start : start + columns]) for start in range(0, len(words), columns or 1)]
        return Sight(" / ".join(rows), write_items(list(player.stash)))


def spectator_sees(script: Script, player: Player) -> Sight:
    """What somebody without a seat knows of a player."""
    return Sight.of(script, None, player.number)
