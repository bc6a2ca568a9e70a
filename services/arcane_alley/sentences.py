"""What happened at the table, in sentences, from the events that one viewer is sent.

A teller hears a game's versions from the first on and remembers only what it
needs for its words: the shape of each storehouse and which of its items lie
faceup. It knows nothing but the viewer's own redacted events.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from guildhall.arcane_alley.v1 import structs as aa
from guildhall.kernel.v1 import structs as kernel
from services.arcane_alley.words import WIZARDS, an_item, item_name, listed, place, plural


class Clause(NamedTuple):
    """A part of a sentence: whose, and its words without the subject; seat None: a sentence of its own."""

    seat: int | None
    words: str
    opens: bool = False
    """Whether a new sentence begins here."""


@dataclass
class Shelf:
    """What the words need of one storehouse."""

    rows: int = 3
    columns: int = 3
    faceup: list[bool] = field(default_factory=lambda: [False] * 9)


@dataclass
class Memory:
    """What a teller remembers of one version."""

    shelves: list[Shelf] = field(default_factory=list)
    markers: list[int] = field(default_factory=list)


class Teller:
    """Tells one viewer's versions in order, beginning with the game's first."""

    def __init__(self, viewer: int | None, name: Callable[[str], str] = str) -> None:
        """`viewer` is the own seat, None for a spectator; `name` makes a name of a subject."""
        self.viewer = viewer
        self.names: list[str] = []
        self._name = name
        self._now = Memory()
        self._then: dict[int, Memory] = {}

    def tell(self, version: int, events: Sequence[Any]) -> list[str]:
        """The sentences of one version; none where nothing is worth a word."""
        clauses = []
        for event in events:
            clause = _CLAUSES[type(event)](self, event)
            if clause is not None:
                clauses.append(clause)
        self._then[version] = deepcopy(self._now)
        return [self._sentence(group) for group in _grouped(clauses)]

    def look(self, version: int, view: aa.View) -> None:
        """Go on from this view, after a step was taken back."""
        shelves = []
        for player in view.players:
            storehouse = player.storehouse or aa.Storehouse()
            faceup = [card.revealed or card.empty for card in storehouse.cells]
            shelves.append(Shelf(storehouse.rows, storehouse.columns, faceup))
        self._now = Memory(shelves, [player.markers for player in view.players])
        self._then[version] = deepcopy(self._now)

    # --- the parts of a sentence

    def do(self, seat: int, verb: str, rest: str = "", *, opens: bool = False) -> Clause:
        """A clause of a seat with its verb in the right person."""
        return Clause(seat, f"{self.verb(seat, verb)} {rest}".rstrip(), opens)

    def verb(self, seat: int, verb: str) -> str:
        """The verb as it follows that seat's name."""
        if seat == self.viewer:
            return verb
        if verb.endswith(("s", "sh", "ch", "x")):
            return f"{verb}es"
        return f"{verb}s"

    def who(self, seat: int) -> str:
        """A seat as object: "you", "Bob"."""
        return "you" if seat == self.viewer else self.names[seat]

    def whose(self, seat: int) -> str:
        """A seat's possessive by name: "your", "Bob's"."""
        return "your" if seat == self.viewer else f"{self.names[seat]}'s"

    def own(self, seat: int) -> str:
        """The possessive of a sentence's own subject: "your", "their"."""
        return "your" if seat == self.viewer else "their"

    def at(self, seat: int, cell: int) -> str:
        """Where a cell lies: "top left", "middle"."""
        shelf = self._now.shelves[seat]
        return place(cell, shelf.rows, shelf.columns)

    def _sentence(self, group: list[Clause]) -> str:
        seat = group[0].seat
        words = listed([clause.words for clause in group])
        if seat is not None:
            words = f"{self.who(seat)} {words}"
        return f"{words[0].upper()}{words[1:]}{'' if words[-1] in '.!' else '.'}"

    # --- the kernel's events

    def created(self, event: kernel.GameCreated) -> Clause:
        self.names = [self._name(subject) for subject in event.subjects]
        self._now = Memory([Shelf() for _ in event.subjects], [0] * len(event.subjects))
        return Clause(None, f"{listed(self.names)} sit down to a game of Arcane Alley")

    def answered(self, event: kernel.Answered) -> Clause:
        return Clause(event.seat, f"{'have' if event.seat == self.viewer else 'has'} chosen", True)

    def timed_out(self, event: kernel.TimedOut) -> Clause:
        return self.do(event.seat, "run", "out of time", opens=True)

    def undone(self, event: kernel.Undone) -> Clause:
        self._now = deepcopy(self._then.get(event.to_version, self._now))
        return self.do(event.seat, "take", f"back {self.own(event.seat)} last step", opens=True)

    def resigned(self, event: kernel.Resigned) -> Clause:
        return self.do(event.seat, "give", "up", opens=True)

    def paused(self, event: kernel.Paused) -> Clause:
        return Clause(None, f"An operator pauses the game: {event.why}")

    def resumed(self, event: kernel.Resumed) -> Clause:
        return Clause(None, f"An operator lets the game go on: {event.why}")

    def restored(self, event: kernel.Restored) -> Clause:
        self._now = deepcopy(self._then.get(event.to_version, self._now))
        return Clause(None, f"An operator puts the game back and pauses it: {event.why}")

    def ended(self, event: kernel.GameEnded) -> Clause:
        if event.reason == kernel.EndReason.ABORTED:
            return Clause(None, f"An operator has ended the game: {event.why}")
        winners = [seat for seat, rank in enumerate(event.ranks) if rank == 1]
        verb = "win" if len(winners) > 1 or winners == [self.viewer] else "wins"
        why = {
            kernel.EndReason.ABANDONED: "The game was abandoned",
            kernel.EndReason.RESIGNED: "The others have given up",
        }.get(kernel.EndReason(event.reason), "The game is over")
        shared = " together" if len(winners) > 1 else ""
        return Clause(None, f"{why}: {listed([self.who(seat) for seat in winners])} {verb}{shared}!")

    # --- setup and Stock

    def token(self, event: aa.StartingTokenGiven) -> Clause:
        return self.do(event.seat, "hold", "the starting player token", opens=True)

    def wizard(self, event: aa.WizardTaken) -> Clause:
        return self.do(event.seat, "play", f"as {WIZARDS.get(event.wizard, 'nobody in particular')}")

    def round_started(self, event: aa.RoundStarted) -> Clause:
        self._now.shelves = [Shelf() for _ in self._now.shelves]
        return Clause(None, f"Round {event.round} begins")

    def shuffled(self, event: aa.ItemsShuffled) -> Clause:
        return Clause(None, f"All {event.count} items are shuffled")

    def dealt(self, event: aa.StorehouseDealt) -> None:
        self._now.shelves[event.seat] = Shelf()

    def revealed(self, event: aa.ItemsRevealed) -> Clause:
        for cell in event.cells:
            self._now.shelves[event.seat].faceup[cell] = True
        items = [
            f"{an_item(item)} ({self.at(event.seat, cell)})"
            for cell, item in zip(event.cells, event.items, strict=True)
        ]
        return self.do(event.seat, "turn", f"up {listed(items)}", opens=True)

    def stash_grew(self, event: aa.ItemsAddedToStash) -> Clause:
        if any(event.items):
            what = listed([an_item(item) for item in event.items])
        else:
            what = "an item" if event.count == 1 else f"{event.count} items"
        return self.do(event.seat, "put", f"{what} of the deck in {self.own(event.seat)} stash")

    def discard_started(self, event: aa.DiscardStarted) -> Clause:
        return Clause(None, f"The discard begins with {an_item(event.item)}")

    # --- a turn of the Sell phase

    def drew(self, event: aa.ItemDrawn) -> Clause:
        what = f"{an_item(event.item)} from the deck" if event.item else "from the deck"
        return self.do(event.seat, "draw", what, opens=True)

    def took(self, event: aa.DiscardTaken) -> Clause:
        return self.do(event.seat, "take", f"the {item_name(event.item)} from the discard", opens=True)

    def played(self, event: aa.ItemPlayed) -> Clause:
        return self._plays(event.seat, event.item, event.cell, "")

    def played_lamp(self, event: aa.TurnedUpItemPlayed) -> Clause:
        return self._plays(event.seat, event.item, event.cell, "")

    def played_chalice(self, event: aa.LookedAtItemPlayed) -> Clause:
        return self._plays(event.seat, event.item, event.cell, f" of {self.whose(event.target_seat)} stash")

    def played_watch(self, event: aa.DiscardItemPlayed) -> Clause:
        return self._plays(event.seat, event.item, event.cell, " of the discard")

    def played_boomerang(self, event: aa.BoomerangPlayed) -> Clause:
        return self._plays(event.seat, aa.Item.MAGIC_BOOMERANG, event.cell, "")

    def _plays(self, seat: int, item: int, cell: int, source: str) -> Clause:
        shelf = self._now.shelves[seat]
        face = "" if shelf.faceup[cell] else "hidden "
        shelf.faceup[cell] = True
        what = f"{an_item(item)}{source} on {self.own(seat)} {face}{self.at(seat, cell)} slot"
        return self.do(seat, "play", what, opens=True)

    def discarded(self, event: aa.ItemDiscarded) -> Clause:
        return self.do(event.seat, "discard", an_item(event.item), opens=True)

    def activated(self, event: aa.SpecialActivated) -> Clause:
        return self.do(event.seat, "activate", an_item(event.item), opens=True)

    def sank(self, event: aa.RingSank) -> Clause:
        return Clause(None, "The Invisible Ring sinks to the bottom of the discard")

    def skipped(self, event: aa.EffectSkipped) -> Clause:
        return self.do(event.seat, "leave", f"out the effect of the {item_name(event.item)}")

    def peeked(self, event: aa.ItemPeeked) -> Clause:
        seen = f": {an_item(event.item)}" if event.item else ""
        return self.do(
            event.seat, "peek", f"at {self.own(event.seat)} hidden {self.at(event.seat, event.cell)} item{seen}"
        )

    def hid(self, event: aa.ItemsHidden) -> Clause:
        for cell in event.cells:
            self._now.shelves[event.seat].faceup[cell] = False
        places = listed([self.at(event.seat, cell) for cell in event.cells])
        return self.do(event.seat, "turn", f"down {self.own(event.seat)} {places} item{'s'[: len(event.cells) - 1]}")

    def put_on_deck(self, event: aa.ItemPutOnDeck) -> Clause:
        return self.do(event.seat, "put", f"the {item_name(event.item)} of the discard facedown on the deck")

    def sold(self, event: aa.SetSold) -> Clause:
        feline = ", with the help of a Feline" if event.with_feline else ""
        return self.do(event.seat, "sell", f"a set of {plural(event.item)}{feline}")

    def slid(self, event: aa.StorehouseSlid) -> Clause | None:
        old = self._now.shelves[event.seat]
        self._now.shelves[event.seat] = Shelf(
            event.rows, event.columns, [old.faceup[cell] for cell in event.from_cells]
        )
        if event.rows:
            return None
        return Clause(event.seat, f"{'have' if event.seat == self.viewer else 'has'} an empty storehouse")

    def doll(self, event: aa.DollPlaced) -> Clause:
        where = self.at(event.target_seat, event.cell)
        self._now.shelves[event.target_seat].faceup[event.cell] = True
        return self.do(
            event.seat,
            "put",
            f"a Haunted Doll in {self.whose(event.target_seat)} {where} slot, which sends {an_item(event.item)} "
            "to the discard",
        )

    def replaced(self, event: aa.ReplacedItemDiscarded) -> Clause:
        return self.do(event.seat, "discard", f"the {item_name(event.item)} that lay there")

    def replaced_taken(self, event: aa.ReplacedItemTaken) -> Clause:
        what = f"the {item_name(event.item)} that lay there" if event.item else "the item that lay there"
        return self.do(event.seat, "take", f"{what} into {self.own(event.seat)} stash")

    def returned(self, event: aa.BoomerangReturned) -> Clause:
        return self.do(event.seat, "find", "a Magic Boomerang there")

    def turned_up(self, event: aa.ItemTurnedUp) -> Clause:
        return self.do(event.seat, "turn", f"up {an_item(event.item)} of the deck")

    def looked(self, event: aa.StashLookedAt) -> Clause:
        seen = f": {listed([an_item(item) for item in event.items])}" if any(event.items) else ""
        return self.do(event.seat, "look", f"at {self.whose(event.target_seat)} stash{seen}")

    def swapped(self, event: aa.ItemsSwapped) -> Clause:
        mine, theirs = self._now.shelves[event.seat], self._now.shelves[event.target_seat]
        faces = mine.faceup[event.cell], theirs.faceup[event.target_cell]
        theirs.faceup[event.target_cell], mine.faceup[event.cell] = faces
        return self.do(
            event.seat,
            "swap",
            f"{self.own(event.seat)} hidden {self.at(event.seat, event.cell)} item with "
            f"{self.whose(event.target_seat)} revealed {self.at(event.target_seat, event.target_cell)} item",
        )

    def rebuilt(self, event: aa.DeckRebuilt) -> Clause:
        return Clause(None, f"The discard is shuffled into a new deck of {event.count}")

    # --- gold and infamy

    def gold_gained(self, event: aa.GoldGained) -> Clause | None:
        halved = f" ({event.before_swords} before the Sword)" if event.before_swords > event.amount else ""
        if not event.before_swords:
            return None
        return self.do(event.seat, "gain", f"{event.amount} gold{halved}")

    def gold_lost(self, event: aa.GoldLost) -> Clause | None:
        if event.cause == aa.Cause.FINE:
            return self.do(event.seat, "pay", f"a fine of {event.amount} gold")
        if not event.amount:
            return None
        verb = "spend" if event.cause in (aa.Cause.BRIBE, aa.Cause.WIZARD) else "lose"
        return self.do(event.seat, verb, f"{event.amount} gold")

    def infamy_gained(self, event: aa.InfamyGained) -> Clause:
        more = event.markers - self._now.markers[event.seat]
        self._now.markers[event.seat] = event.markers
        why = " for having triggered the inspection" if event.cause == aa.Cause.TRIGGER else ""
        marker = {0: "", 1: " and a fine marker"}.get(more, f" and {more} fine markers")
        return self.do(event.seat, "gain", f"{event.amount} infamy{marker}{why}")

    def infamy_lost(self, event: aa.InfamyLost) -> Clause | None:
        return self.do(event.seat, "lose", f"{event.amount} infamy") if event.amount else None

    # --- the end of a round

    def triggered(self, event: aa.InspectionTriggered) -> Clause:
        return self.do(event.seat, "trigger", "the inspection: everybody else has one more turn", opens=True)

    def tracker(self, event: aa.TurnTrackerMoved) -> Clause | None:
        return Clause(None, "From now on the inspection can be triggered") if event.turn == 15 else None

    def inspection(self, event: aa.InspectionStarted) -> Clause:
        return Clause(None, "The inspection begins")

    def set_aside(self, event: aa.ItemSetAside) -> Clause:
        self._now.shelves[event.seat].faceup[event.cell] = True
        return self.do(
            event.seat, "remove", f"{self.own(event.seat)} hidden {self.at(event.seat, event.cell)} item, unseen"
        )

    def counted(self, event: aa.InfamyCounted) -> Clause:
        return self.do(event.seat, "count", f"{event.total} infamy in {self.own(event.seat)} storehouse", opens=True)

    def markers_removed(self, event: aa.MarkersRemoved) -> Clause:
        self._now.markers[event.seat] = 0
        return self.do(event.seat, "fail", "the inspection", opens=True)

    def bribe_started(self, event: aa.BribeStarted) -> Clause:
        return Clause(None, "The inspectors can be bribed")

    def declined(self, event: aa.Declined) -> Clause:
        return self.do(event.seat, "decline", opens=True)

    def silent(self, event: Any) -> None:
        """Nothing worth a word: what follows says it."""


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


_CLAUSES: Final[dict[type, Callable[[Teller, Any], Clause | None]]] = {
    kernel.GameCreated: Teller.created,
    kernel.Answered: Teller.answered,
    kernel.TimedOut: Teller.timed_out,
    kernel.Undone: Teller.undone,
    kernel.Resigned: Teller.resigned,
    kernel.GameEnded: Teller.ended,
    kernel.Paused: Teller.paused,
    kernel.Resumed: Teller.resumed,
    kernel.Restored: Teller.restored,
    aa.StartingTokenGiven: Teller.token,
    aa.WizardTaken: Teller.wizard,
    aa.RoundStarted: Teller.round_started,
    aa.ItemsShuffled: Teller.shuffled,
    aa.StorehouseDealt: Teller.dealt,
    aa.ItemsRevealed: Teller.revealed,
    aa.ItemsAddedToStash: Teller.stash_grew,
    aa.DiscardStarted: Teller.discard_started,
    aa.TurnStarted: Teller.silent,
    aa.ItemDrawn: Teller.drew,
    aa.DiscardTaken: Teller.took,
    aa.ItemPlayed: Teller.played,
    aa.ItemDiscarded: Teller.discarded,
    aa.SpecialActivated: Teller.activated,
    aa.RingSank: Teller.sank,
    aa.EffectSkipped: Teller.skipped,
    aa.ItemPeeked: Teller.peeked,
    aa.ItemsHidden: Teller.hid,
    aa.ItemPutOnDeck: Teller.put_on_deck,
    aa.SetSold: Teller.sold,
    aa.StorehouseSlid: Teller.slid,
    aa.DollPlaced: Teller.doll,
    aa.ReplacedItemDiscarded: Teller.replaced,
    aa.ReplacedItemTaken: Teller.replaced_taken,
    aa.BoomerangReturned: Teller.returned,
    aa.BoomerangPlayed: Teller.played_boomerang,
    aa.ItemTurnedUp: Teller.turned_up,
    aa.TurnedUpItemPlayed: Teller.played_lamp,
    aa.StashLookedAt: Teller.looked,
    aa.LookedAtItemPlayed: Teller.played_chalice,
    aa.DiscardItemPlayed: Teller.played_watch,
    aa.ItemsSwapped: Teller.swapped,
    aa.DeckRebuilt: Teller.rebuilt,
    aa.GoldGained: Teller.gold_gained,
    aa.GoldLost: Teller.gold_lost,
    aa.InfamyGained: Teller.infamy_gained,
    aa.InfamyLost: Teller.infamy_lost,
    aa.InspectionTriggered: Teller.triggered,
    aa.TurnTrackerMoved: Teller.tracker,
    aa.InspectionStarted: Teller.inspection,
    aa.ItemSetAside: Teller.set_aside,
    aa.InfamyCounted: Teller.counted,
    aa.MarkersRemoved: Teller.markers_removed,
    aa.BribeStarted: Teller.bribe_started,
    aa.Declined: Teller.declined,
}
