"""Play scripts: a table set up exactly, commands in words, and what must be so afterwards.

A scenario reads as it is told:

    t = place(a=seat("magician:downtown", coins=7, fame=11), dice="mechanical spiritual / X X / X X")
    t.a.does("place magician downtown_4", "learn bullet_catch dahlgaard_a")
    t.a.has(coins=2, fame=11)

The table begins in the middle of a game: rules that begin with this hall and this frame, and then the kernel's own
`create` and `decide`. After each command the records so far are folded and compared, every viewer's hall is kept by
its own events and compared (the law of views), and the pieces are counted. The notation is that of `notation`.
"""

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final

from guildhall.kernel.cards import EVERYONE, FRONT, knows
from guildhall.kernel.decide import Creation, Decided, create, created_event, decide, resign, time_out
from guildhall.kernel.fold import fold
from guildhall.kernel.frames import Frame
from guildhall.kernel.game import Game
from guildhall.kernel.ids import decision_id
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import GameCreated, OpenDecision
from guildhall.trickerion.v1 import structs as wire
from guildhall.trickerion.v1.structs import (
    Assignment,
    Character,
    Component,
    Location,
    Magician,
    Member,
    PerformanceCard,
    Phase,
    Prophecy,
    Symbol,
    Trick,
)
from services.trickerion.asking import HallTable
from services.trickerion.assign import Assignment as AssignmentPhase
from services.trickerion.content import Content
from services.trickerion.dark_alley.hall import whom
from services.trickerion.end_turn import EndTurn
from services.trickerion.hall import (
    ABSENT,
    HOME,
    IDLE,
    READY,
    THEATER_FLAG,
    Hall,
    direction_of,
    is_pile,
    location_of,
    marker,
    new_hall,
    seat_of,
    trick_of,
)
from services.trickerion.packs import PACK_HASH, PACKS
from services.trickerion.performance import Performance
from services.trickerion.place import PlaceCharacters
from services.trickerion.rules import RULES
from services.trickerion.scoring import FinalScoring
from services.trickerion.turn import AdvertisePhase, NextTurn, SetInitiative
from tests.games.trickerion.notation import (
    DICE,
    MEMBER_OF,
    MEMBERS,
    SEATS,
    SLOT_OF,
    hear,
    read_face,
    read_place,
    say,
    seat_number,
    word,
    write_face,
    write_place,
    write_slot,
)
from tests.games.trickerion.subject import pieces
from tests.suites.knowledge import Watchers

SEED: Final = bytes(32)
CONTENT: Final[Content] = PACKS[PACK_HASH]
REVISED: Final = {"edition": "revised_2019"}
ALLEY: Final = {"dark_alley": "true"}
NO_DICE: Final = "X X / X X / X X"
MAGICIANS: Final = ("master_of_chains", "mechaniker", "great_optico", "yoruba_spiritmaster")
"""Who plays at seats a to d unless a script says otherwise; favorites are escape, mechanical, optical, spiritual."""
ALLEY_MAGICIANS: Final = ("electra", "priestess_of_mysticism", "gentleman", "red_lotus")
"""The same with the Dark Alley; none of them is asked for anything before an own performance."""


@dataclass(frozen=True)
class Seat:
    """What a player has, as it is written: see `seat`."""

    team: str
    tricks: str
    components: str
    fame: int
    coins: int
    shards: int
    magician: str
    hand: str
    hired: str
    lost: str
    advertised: bool


def seat(
    team: str = "magician apprentice",
    tricks: str = "",
    components: str = "",
    *,
    fame: int = 5,
    coins: int = 10,
    shards: int = 1,
    magician: str = "",
    hand: str = "",
    hired: str = "",
    lost: str = "",
    advertised: bool = False,
) -> Seat:
    """What a player has.

    team        "magician:downtown engineer apprentice_1:theater@thursday_1 manager:workshop~": with a card under it,
                placed there, turned down (idle); home without a card where nothing is said
    tricks      "linking_rings:spades*1 stocks_escape!": its symbol (else the next that is free), markers on it; on the
                Engineer's slot
    components  "wood*3 glass*2!": tokens; on a Manager slot
    hand        special cards in hand, beside the Permanent cards that lie under no Character
    hired       Characters on the Inn
    lost        "spades*2": markers that have left the game
    """
    return Seat(team, tricks, components, fame, coins, shards, magician, hand, hired, lost, advertised)


class Begin(Frame, tag="begin"):
    """Enters a game in the middle of a turn."""

    phase: int

    def run(self, table: HallTable) -> None:
        frames = (
            (Phase.SET_INITIATIVE, SetInitiative),
            (Phase.ADVERTISE, AdvertisePhase),
            (Phase.ASSIGNMENT, AssignmentPhase),
            (Phase.PLACE_CHARACTERS, PlaceCharacters),
            (Phase.PERFORMANCE, Performance),
            (Phase.END_TURN, EndTurn),
        )
        if self.phase == Phase.GAME_END:
            table.then(FinalScoring())
        else:
            table.then(*(frame() for phase, frame in frames if phase >= self.phase), NextTurn(table.hall.turn))


def _begins(phase: Phase, text: str, others: str = "magician apprentice") -> Callable[..., "Script"]:
    def begin(players: int = 3, **told: Any) -> "Script":
        return Table(players, **{name: seat(others) for name in SEATS[:players]} | told).begin(phase)

    begin.__doc__ = text + " See `Table` for what can be told of it."
    return begin


initiative = _begins(Phase.SET_INITIATIVE, "A script that begins when initiative is to be set.")
advertise = _begins(Phase.ADVERTISE, "A script that begins with Advertise.")
assign = _begins(Phase.ASSIGNMENT, "A script that begins with the Assignment phase.")
place = _begins(
    Phase.PLACE_CHARACTERS,
    "A script that begins when cards have been turned up; who is not mentioned has two Characters left to place.",
    others="magician:workshop apprentice:workshop",
)
perform = _begins(Phase.PERFORMANCE, "A script that begins with Performance.")
end_turn = _begins(Phase.END_TURN, "A script that begins with End Turn.")
final = _begins(Phase.GAME_END, "A script that begins with final scoring.")


def set_up(t: "Script", **chosen: dict[str, str]) -> "Script":
    """The set-up of a new game, each seat by its commands by kind of decision: {"specialist": "specialist manager"}."""
    while t.phase == "set_up" and t.asked:
        ((name, kind),) = t.asked.items()
        player = t.players[seat_number(name)]
        player.does(chosen.get(name, {}).get(kind) or player.may[0])
    return t


def new_game(
    players: int, *, rulings: dict[str, str] | None = None, options: dict[str, str] | None = None, seed: bytes = SEED
) -> "Script":
    """A whole game from its beginning."""
    names = [f"player-{SEATS[n]}" for n in range(players)]
    created = created_event(RULES, Creation(names, options or {}, rulings or {}), "scripted", seed)
    return Script(new_hall(created), RULES.first(), created)


class Table:
    """A table as it is written, seat by seat (a=seat(...), b=seat(...)), and what is common to all:

    dice      "mechanical X / engineer apprentice / 4 X"
    display   Performance cards from slot 1 on; deck: from its top; the others are out of the game
    stage     "a/linking_rings@R08:0.0>down": markers on them; a seat that does not own the Trick gets it
    buy, order, quick    the market, "-" where a slot is open
    order_of  seats in the order of initiative
    specials    special cards that lie on top of their decks, the top ones first; the others lie below
    prophecies  active, pending, top of the pile: "p01 / p11 p22 p14 / p05"; the others lie below
    """

    def __init__(
        self,
        players: int,
        *,
        dice: str = NO_DICE,
        display: str = "R01 R10",
        deck: str = "R11 R12 G01 G02",
        stage: str = "",
        buy: str = "wood metal glass fabric",
        order: str = "- - - -",
        quick: str = "-",
        order_of: str = "",
        turn: int = 1,
        rulings: dict[str, str] | None = None,
        options: dict[str, str] | None = None,
        specials: str = "",
        prophecies: str = "- / p23 p17 p13 / p10",
        **seats: Seat,
    ) -> None:
        assert set(seats) == set(SEATS[:players]), "a seat that the game has not"
        names = [f"player-{SEATS[n]}" for n in range(players)]
        self.created = created_event(RULES, Creation(names, options or {}, rulings or {}), "scripted", SEED)
        self.hall = hall = new_hall(self.created)
        hall.turn = turn
        hall.first = 0
        hall.initiative = [seat_number(name) for name in order_of or SEATS[:players]]
        hall.dice = [read_face(die, face) for die, face in enumerate(dice.replace("/", " ").split())]
        hall.buy_area = [_component(name) for name in buy.split()]
        hall.order_area = [_component(name) for name in order.split()]
        hall.quick_order = _component(quick)
        hall.display = [PerformanceCard[name] | EVERYONE for name in display.split()]
        hall.stage = [[0] * 6 for _ in hall.display]
        cards = [PerformanceCard[name] for name in reversed(deck.split())]
        hall.performances = [card | CONTENT.performances[card].theater << THEATER_FLAG for card in cards]
        for number in range(players):
            self._seat(number, seats[SEATS[number]])
        for text in stage.split():
            self._marker(text)
        owned = {trick for tricks in hall.tricks for trick in tricks}
        levels = 3 if hall.dark_alley else 2
        hall.residence = [t for t in range(1, 49) if t not in owned and CONTENT.tricks[t].level <= levels]

        if hall.alley is not None:
            self._alley(specials, prophecies)

    def _alley(self, specials: str, prophecies: str) -> None:
        hall = self.hall
        assert hall.alley is not None and hall.alley_cards is not None
        taken = {card & FRONT for cards in (*hall.hands, *hall.assigned) for card in cards}
        top = [int(Assignment[name.upper()]) for name in reversed(specials.split())]
        for location in range(1, 5):
            left = [card for card in CONTENT.special_deck(location) if card not in taken and card not in top]
            hall.alley_cards.decks[location] = left + [c for c in top if CONTENT.assignments[c].location == location]
        if hall.alley.with_prophecies:
            parts = prophecies.replace("-", "").split("/")
            active, pending, pile = ([int(Prophecy[name.upper()]) for name in part.split()] for part in parts)
            hall.alley.active = [card | EVERYONE for card in active]
            hall.alley.pending = [card | EVERYONE for card in pending]
            rest = [card for card in range(Prophecy.P01, Prophecy.P27 + 1) if card not in (*active, *pending, *pile)]
            hall.alley_cards.pile = rest + pile[::-1]

    def _seat(self, number: int, told: Seat) -> None:
        hall = self.hall
        hall.fame[number], hall.coins[number], hall.shards[number] = told.fame, told.coins, told.shards
        hall.hands[number] = [card | EVERYONE for card in CONTENT.hand(hall.dark_alley)]
        hall.supply[number] = [0] + [CONTENT.markers_per_symbol] * 4
        magicians = ALLEY_MAGICIANS if hall.dark_alley else MAGICIANS
        hall.magicians[number] = Magician[(told.magician or magicians[number]).upper()]
        hall.advertised[number] = told.advertised
        hall.inn[number] = [int(Character[name.upper()]) for name in told.hired.split()]
        hall.posts[number] = [ABSENT] * len(Member)
        for text in told.team.split():
            self._member(number, text)
        hall.hands[number] = sorted(
            [*hall.hands[number], *(Assignment[name.upper()] | knows(number) for name in told.hand.split())]
        )
        for text in told.tricks.split():
            self.own(number, text)
        for text in told.components.split():
            name, _, tokens = text.removesuffix("!").partition("*")
            hall.piles[number][_component(name)] = int(tokens or 1)
            if text.endswith("!"):
                hall.multi[number][hall.multi[number].index(0)] = _component(name)
        for text in told.lost.split():
            name, _, markers = text.partition("*")
            hall.supply[number][Symbol[name.upper()]] -= int(markers)

    def _member(self, number: int, text: str) -> None:
        """One Character: `name`, `name:card`, `name:card~`, `name:card@slot`, `name@slot`."""
        found = re.fullmatch(r"(\w+)(?::(\w+))?(~)?(?:@(\w+))?", text)
        assert found, f"{text!r} is no Character"
        name, card, idle, post = found.groups()
        hall, member = self.hall, MEMBER_OF[name]
        slot = SLOT_OF[post] if post else 0
        hall.posts[number][member] = slot or (IDLE if idle else READY if card else HOME)
        if slot and hall.alley is not None:
            hall.alley.placed.append(whom(number, member))
        if not card and not slot:
            return
        front = Assignment[card.upper()] if card else Assignment(location_of(slot))
        permanent = front | EVERYONE
        if permanent in hall.hands[number]:
            hall.hands[number].remove(permanent)
        hall.assigned[number][member] = permanent

    def own(self, number: int, text: str) -> None:
        """An own Trick: `name`, `name:symbol*markers!`."""
        found = re.fullmatch(r"(\w+?)(?::(\w+))?(?:\*(\d))?(!)?", text)
        assert found, f"{text!r} is no Trick"
        name, symbol, markers, engineers = found.groups()
        hall = self.hall
        slot = 3 if engineers else hall.tricks[number][:3].index(0)
        free = next(s for s in Symbol if s and s not in hall.symbols[number])
        hall.tricks[number][slot] = int(Trick[name.upper()])
        hall.symbols[number][slot] = int(Symbol[symbol.upper()] if symbol else free)
        hall.prepared[number][slot] = int(markers or 0)
        hall.supply[number][hall.symbols[number][slot]] -= int(markers or 0)

    def _marker(self, text: str) -> None:
        """One marker of the stage; with "+" after it two as one."""
        owner, _, rest = text.partition("/")
        name, _, where = rest.removesuffix("+").partition("@")
        number, trick = seat_number(owner), int(Trick[name.upper()])
        if trick not in self.hall.tricks[number]:
            self.own(number, name)
        symbol = self.hall.symbols[number][self.hall.tricks[number].index(trick)]
        card, slot, direction = read_place(CONTENT, where)
        slots = self.hall.stage[self.hall.display.index(card | EVERYONE)]
        pile = text.endswith("+")
        one = marker(trick, number, symbol, direction, pile)
        slots[slot : slot + 1] = [one]
        self.hall.supply[number][symbol] -= 2 if pile else 1

    def begin(self, phase: Phase) -> "Script":
        """The script of this table that begins with that phase."""
        assert all(count >= 0 for supply in self.hall.supply for count in supply), "more than four markers of a symbol"
        return Script(self.hall, Begin(phase), self.created)


def _component(name: str) -> int:
    return 0 if name == "-" else int(Component[name.upper()])


class Script:
    """A game in the middle, its seats, and what its last command told."""

    def __init__(self, hall: Hall, frame: Frame, created: GameCreated) -> None:
        self.rules = replace(RULES, new_hall=lambda _: deepcopy(hall), first=lambda: deepcopy(frame))
        self.watchers = Watchers(self.rules, created)
        self.counted: Any = None
        self.shadow: Game | None = None
        self.events: list[Any] = []
        """The events of the last command (of the beginning, before the first)."""
        self.story: list[Any] = []
        """All events."""
        self.players = [Player(self, number) for number in range(len(hall.coins))]
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
    def hall(self) -> Hall:
        """The truth."""
        hall: Hall = self.game.hall
        return hall

    @property
    def asked(self) -> dict[str, str]:
        """Who is asked what: seat to kind of decision."""
        return {SEATS[decision.seat]: decision.kind for decision in self.game.waiting()}

    @property
    def initiative(self) -> str:
        """Seats in the order of initiative."""
        return "".join(SEATS[number] for number in self.hall.initiative)

    @property
    def phase(self) -> str:
        """The phase, in words."""
        return word(Phase(self.hall.phase))

    @property
    def dice(self) -> str:
        """All dice: "mechanical X / engineer X / 4 X"."""
        faces = [write_face(die, face) for die, face in enumerate(self.hall.dice)]
        return " / ".join(" ".join(faces[n : n + 2]) for n in (0, 2, 4))

    @property
    def buy(self) -> str:
        """The Buy area by slot."""
        return _components(self.hall.buy_area)

    @property
    def order(self) -> str:
        """The Order area by slot."""
        return _components(self.hall.order_area)

    @property
    def quick(self) -> str:
        """The Quick Order slot."""
        return _components([self.hall.quick_order])

    @property
    def display(self) -> str:
        """The Performance cards from slot 1 on."""
        return " ".join(PerformanceCard(card & FRONT).name for card in self.hall.display)

    @property
    def stage(self) -> str:
        """All markers on Performance cards: "a/linking_rings@R08:0.0>down", sorted."""
        found = []
        for card, slots in zip(self.hall.display, self.hall.stage, strict=True):
            for slot, one in enumerate(slots):
                if one:
                    where = write_place(CONTENT, card & FRONT, slot, direction_of(one))
                    pile = "+" if is_pile(one) else ""
                    found.append(f"{SEATS[seat_of(one)]}/{word(Trick(trick_of(one)))}@{where}{pile}")
        return " ".join(sorted(found))

    @property
    def prophecies(self) -> str:
        """Active and pending prophecies: "p01 / p11 p22 p14"; "-" where there is none."""
        alley = self.hall.alley
        assert alley is not None
        parts = ([word(Prophecy(card & FRONT)) for card in cards] for cards in (alley.active, alley.pending))
        return " / ".join(" ".join(part) or "-" for part in parts)

    def special_deck(self, location: str) -> str:
        """A deck of special cards from its top."""
        assert self.hall.alley_cards is not None
        cards = self.hall.alley_cards.decks[Location[location.upper()]]
        return " ".join(word(Assignment(card & FRONT)) for card in reversed(cards))

    @property
    def ranks(self) -> list[int]:
        """The ranks of the seats when the game is over."""
        assert self.game.ended is not None, "the game is not over"
        return list(self.game.ended.ranks)

    def told(self, *kinds: type[Any]) -> list[Any]:
        """The events of these types of the last command."""
        return [event for event in self.events if isinstance(event, kinds)]

    def has(self, **expected: Any) -> None:
        """Compare what is common to all."""
        for name, value in expected.items():
            found = getattr(self.hall, name) if name == "turn" else getattr(self, name)
            if name == "stage":
                value = " ".join(sorted(value.split()))
            assert found == value, f"{name} is {found!r}, not {value!r}"

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

    def default(self, number: int) -> Any:
        """What the clock would play for that seat."""
        return self.game.top().default(self.game.blind(number), number)

    def goes_on(self, until: Callable[["Script"], bool], prefer: Iterable[str] = ()) -> None:
        """Everybody answers with the default until that is so, but with one of `prefer` where it is legal."""
        wanted = list(prefer)
        for _ in range(500):
            if until(self):
                return
            assert self.game.ended is None, "the game is over"
            decision = self.game.waiting()[0]
            player = self.players[decision.seat]
            words = [] if decision.kind == "assign" else [w for w in wanted if w in player.may]
            if words:
                player.does(words[0])
            else:
                self.decide(decision.seat, self.default(decision.seat))
        raise AssertionError("it does not come to that")

    def turn_of(self, name: str) -> "Player":
        """All others make a Character idle, or end their placement, until it is that seat's turn to place."""
        self.goes_on(lambda t: t.asked == {name: "place"})
        return self.players[seat_number(name)]

    def ends(self, phase: str) -> None:
        """Everybody answers with the default until that phase is over."""
        self.goes_on(lambda t: t.phase == phase)
        self.goes_on(lambda t: t.phase != phase)

    def begins(self, phase: str) -> None:
        """Everybody answers with the default until something is asked in that phase."""
        self.goes_on(lambda t: t.phase == phase)

    def _check(self, decided: Decided) -> None:
        self.events = decided.events
        self.story += decided.events
        self.shadow, events = fold(self.rules, self.shadow, decided.body, decided.hash)
        assert events == decided.events
        assert self.shadow.state_bytes() == self.game.state_bytes(), "fold(events) is another state"
        for event in decided.events:
            self.watchers.see(event)
        self._count()
        assert self.game.ended is not None or self.game.waiting(), "nobody can act"
        for decision in self.game.open:
            listing = self.game.legal(decision.seat)
            default = self.default(decision.seat)
            assert listing.holds(default), f"the default {default} is not listed"
            assert len(listing.commands) < 1_000
            for command in listing.commands:
                assert hear(CONTENT, say(CONTENT, command)) == command
        for viewer in (*range(len(self.players)), None):
            view = self.game.view(viewer)
            assert RULES.wire.decode_View(RULES.wire.encode_View(view)) == view

    def _count(self) -> None:
        """Pieces are never lost or made, but for markers that a rule takes out of the game."""
        counted = pieces(self.hall)
        assert self.counted is None or counted == self.counted, "pieces were lost or made"
        self.counted = counted


def _components(types: Iterable[int]) -> str:
    return " ".join(word(Component(number)) if number else "-" for number in types)


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
        said = [say(CONTENT, command) for command in listing.commands]
        return [words for words in said if words != "undo"]

    def may_begin(self, *words: str) -> list[str]:
        """The legal commands that begin with one of these words."""
        return [said for said in self.may if said.startswith(words)]

    def may_undo(self) -> bool:
        """Whether the last command can be taken back."""
        return any(say(CONTENT, command) == "undo" for command in self.script.game.legal(self.number).commands)

    def has(self, **expected: Any) -> None:
        """Compare what this player has; names are this class's properties."""
        for name, value in expected.items():
            found = getattr(self, name)
            assert found == value, f"{name} of {SEATS[self.number]} is {found!r}, not {value!r}"

    @property
    def fame(self) -> int:
        return self.script.hall.fame[self.number]

    @property
    def coins(self) -> int:
        return self.script.hall.coins[self.number]

    @property
    def shards(self) -> int:
        return self.script.hall.shards[self.number]

    @property
    def ap(self) -> int:
        """Action points left; 0 without a placement."""
        return self.script.hall.ap if self.script.hall.active == self.number else 0

    @property
    def advertised(self) -> bool:
        return self.script.hall.advertised[self.number]

    @property
    def magician(self) -> str:
        return word(Magician(self.script.hall.magicians[self.number]))

    @property
    def team(self) -> str:
        """Who is on the team, in the order of members, with what `seat` writes: "magician:downtown apprentice_1"."""
        hall = self.script.hall
        words = []
        for member, name in MEMBERS.items():
            post = hall.posts[self.number][member]
            if post == ABSENT:
                continue
            front = hall.assigned[self.number][member] & FRONT
            words.append(name + (f":{word(Assignment(front))}" if front else ""))
            words[-1] += "~" if post == IDLE else f"@{write_slot(post)}" if post > 0 else ""
        return " ".join(words)

    @property
    def members(self) -> str:
        """Who is on the team, without more."""
        posts = self.script.hall.posts[self.number]
        return " ".join(name for member, name in MEMBERS.items() if posts[member] != ABSENT)

    @property
    def hired(self) -> str:
        return " ".join(word(Character(kind)) for kind in self.script.hall.inn[self.number])

    @property
    def hand(self) -> str:
        """Assignment cards in hand, in the order of the contract."""
        return " ".join(
            word(Assignment(front)) for front in sorted(card & FRONT for card in self.script.hall.hands[self.number])
        )

    @property
    def tricks(self) -> str:
        """Own Tricks by slot: "linking_rings:spades*1 stocks_escape:hearts*0!"."""
        hall, number = self.script.hall, self.number
        return " ".join(
            f"{word(Trick(trick))}:{word(Symbol(hall.symbols[number][slot]))}*{hall.prepared[number][slot]}"
            + ("!" if slot == 3 else "")
            for slot, trick in enumerate(hall.tricks[number])
            if trick
        )

    @property
    def components(self) -> str:
        """Own piles in the order of the contract: "wood*3 glass*2!"."""
        hall, number = self.script.hall, self.number
        return " ".join(
            f"{word(Component(kind))}*{tokens}" + ("!" if kind in hall.multi[number] else "")
            for kind, tokens in enumerate(hall.piles[number])
            if tokens
        )

    @property
    def supply(self) -> str:
        """Unused Trick markers: "4 4 4 4" of spades, hearts, diamonds, clubs."""
        return " ".join(map(str, self.script.hall.supply[self.number][1:]))

    def markers(self, trick: str) -> int:
        """Markers on an own Trick."""
        hall = self.script.hall
        return hall.prepared[self.number][hall.tricks[self.number].index(Trick[trick.upper()])]

    def sees(self) -> wire.View:
        """What this player may know."""
        view: wire.View = self.script.game.view(self.number)
        return view

    def _command(self, words: str) -> Any:
        if words.split()[0] != "assign":
            return hear(CONTENT, words)
        cards = dict(pair.split(":") for pair in words.split()[1:])
        (family,) = self.script.game.legal(self.number).families
        named = {name: Assignment[card.upper()] for name, card in cards.items()}
        slots = [MEMBERS[Member[slot.name.upper()]] for slot in family.slots]
        assert set(named) <= set(slots), f"{words!r} names a Character that has no slot: {slots}"
        return wire.Assign(tuple(int(named.get(name, 0)) for name in slots))


def spectator(script: Script) -> wire.View:
    """What somebody without a seat may know."""
    view: wire.View = script.game.view(None)
    return view


__all__ = ["ALLEY", "CONTENT", "DICE", "REVISED", "Player", "Script", "Table", "new_game", "seat", "spectator"]
