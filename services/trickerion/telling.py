"""How events become sentences: whose clause it is, and which clauses make one sentence."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from guildhall.trickerion.v1.structs import View
from services.trickerion.hall import CARD_SLOTS
from services.trickerion.words import TRICKS, card_name, listed


class Clause(NamedTuple):
    """A part of a sentence: whose, and its words without the subject; seat None: a sentence of its own."""

    seat: int | None
    words: str
    opens: bool = False
    """Whether a new sentence begins here."""


@dataclass
class Memory:
    """What a teller remembers of one version: what events name by its place alone."""

    markers: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """(seat, Trick) by Performance card and slot."""
    pending: list[int] = field(default_factory=lambda: [0, 0, 0])
    """Prophecies that are pending: next, second, third."""
    performed: int = 0
    """The Performance card that was performed last."""


class Narrator:
    """Tells one viewer's versions in order, beginning with the game's first; knows only the viewer's own events."""

    CLAUSES: dict[type, Callable[..., Clause | None]]
    """How each event is told."""

    def __init__(self, viewer: int | None, name: Callable[[str], str] = str) -> None:
        """`viewer` is the own seat, None for a spectator; `name` makes a name of a subject."""
        self.viewer = viewer
        self.names: list[str] = []
        self.now = Memory()
        self._name = name
        self._then: dict[int, Memory] = {}

    def tell(self, version: int, events: Sequence[Any]) -> list[str]:
        """The sentences of one version; none where nothing is worth a word."""
        clauses = [clause for event in events if (clause := self.CLAUSES[type(event)](self, event)) is not None]
        self._then[version] = deepcopy(self.now)
        return [self._sentence(group) for group in _grouped(clauses)]

    def look(self, version: int, view: View) -> None:
        """Go on from this view, after a step was taken back."""
        markers = {}
        for card in view.display:
            for marker in card.markers:
                markers[int(card.card), marker.slot] = (marker.seat, int(marker.trick))
        pending = () if view.dark_alley is None else view.dark_alley.pending
        self.now = Memory(markers, performed=view.dark_alley.performed_card if view.dark_alley is not None else 0)
        self.now.pending[: len(pending)] = map(int, pending)
        self._then[version] = deepcopy(self.now)

    def go_back(self, version: int) -> None:
        """Remember what was so at that version."""
        self.now = deepcopy(self._then.get(version, self.now))

    # --- the parts of a sentence

    def do(self, seat: int, verb: str, rest: str = "", *, opens: bool = False) -> Clause:
        """A clause of a seat with its verb in the right person."""
        return Clause(seat, f"{self.verb(seat, verb)} {rest}".rstrip(), opens)

    def verb(self, seat: int, verb: str) -> str:
        """The verb, or its first word, as it follows that seat's name."""
        if seat == self.viewer:
            return verb
        first, _, rest = verb.partition(" ")
        if first.endswith("y") and first[-2] not in "aeiou":
            return f"{first[:-1]}ies {rest}".rstrip()
        ending = "es" if first.endswith(("s", "sh", "ch", "x")) else "s"
        return f"{first}{ending} {rest}".rstrip()

    def who(self, seat: int) -> str:
        """A seat as object: "you", "Bob"."""
        return "you" if seat == self.viewer else self.names[seat]

    def whose(self, seat: int) -> str:
        """A seat's possessive by name: "your", "Bob's"."""
        return "your" if seat == self.viewer else f"{self.names[seat]}'s"

    def own(self, seat: int) -> str:
        """The possessive of a sentence's own subject: "your", "their"."""
        return "your" if seat == self.viewer else "their"

    def seated(self, subjects: Sequence[str]) -> str:
        """The players sit down; their names."""
        self.names = [self._name(subject) for subject in subjects]
        return listed(self.names)

    # --- markers on Performance cards

    def put(self, card: int, slot: int, seat: int, trick: int) -> None:
        """A marker lies there now."""
        self.now.markers[card, slot] = (seat, trick)

    def put_beside(self, card: int, seat: int, trick: int) -> None:
        """A guest's marker lies beside the slots of that card now, after those that lie there already."""
        slot = CARD_SLOTS
        while (card, slot) in self.now.markers:
            slot += 1
        self.put(card, slot, seat, trick)

    def taken(self, card: int, slot: int) -> tuple[int, int]:
        """The marker that lay there, taken up: (seat, Trick). Guests that lay after it move up."""
        marker = self.now.markers.pop((card, slot), (-1, 0))
        while slot >= CARD_SLOTS and (card, slot + 1) in self.now.markers:
            self.now.markers[card, slot] = self.now.markers.pop((card, slot + 1))
            slot += 1
        return marker

    def cleared(self, card: int) -> None:
        """No marker lies on that card any more."""
        self.now.markers = {place: marker for place, marker in self.now.markers.items() if place[0] != card}

    def trick_left(self, seat: int, trick: int) -> None:
        """No marker stands for that Trick any more; guests that lay after one of them move up."""
        for place in sorted(self.now.markers, reverse=True):
            if self.now.markers[place] == (seat, trick):
                self.taken(*place)

    def trick_replaced(self, seat: int, old: int, new: int) -> None:
        """Markers that stood for a Trick stand for another one."""
        for place, marker in self.now.markers.items():
            if marker == (seat, old):
                self.now.markers[place] = (seat, new)

    def marker_at(self, card: int, slot: int) -> str:
        """The marker there: "Bob's Levitation"."""
        seat, trick = self.now.markers.get((card, slot), (-1, 0))
        return f"{self.whose(seat)} {TRICKS[trick]}" if trick else f"a marker on {card_name(card)}"

    def _sentence(self, group: list[Clause]) -> str:
        seat = group[0].seat
        words = listed([clause.words for clause in group])
        if seat is not None:
            words = f"{self.who(seat)} {words}"
        return f"{words[0].upper()}{words[1:]}{'' if words[-1] in '.!' else '.'}"


def _grouped(clauses: list[Clause]) -> list[list[Clause]]:
    """Neighbouring clauses of one seat, at most four to a sentence."""
    groups: list[list[Clause]] = []
    for clause in clauses:
        if groups and not clause.opens and clause.seat is not None:
            last = groups[-1]
            if last[-1].seat == clause.seat and len(last) < 4:
                last.append(clause)
                continue
        groups.append([clause])
    return groups
