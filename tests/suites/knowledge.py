"""The law of views and the audience check, for every event and every viewer (design sections 2 and 9.2).

Each viewer's hall is kept by the redacted events alone, from version 1 on, and blinded
for that viewer: who else was told a card is in the events, not in a viewer's hall. It must
equal the blind hall after each event, and what a viewer came to know of cards must be what
the event told that viewer.
"""

from collections import Counter
from random import Random
from typing import Any

import msgspec

from guildhall.kernel.blind import places
from guildhall.kernel.cards import EVERYONE, FLAGS, front, knows
from guildhall.kernel.decide import Decided
from guildhall.kernel.game import Game
from guildhall.kernel.redact import redact
from guildhall.kernel.rules import Rules
from guildhall.kernel.v1.structs import GameCreated, Restored, Undone
from tests.suites.subject import Subject, begin, play

encode = msgspec.msgpack.encode


class Watchers:
    """Every viewer's own hall of one game."""

    def __init__(self, rules: Rules, created: GameCreated) -> None:
        self.rules = rules
        self.viewers: list[int | None] = [*range(len(created.subjects)), None]
        self.truth: Any = rules.new_hall(created)
        self._decode = msgspec.msgpack.Decoder(rules.hall).decode
        self.halls = {viewer: self._own(self.truth, viewer) for viewer in self.viewers}

    def _own(self, hall: Any, viewer: int | None) -> Any:
        """A blind hall that shares nothing."""
        return self._decode(encode(self.rules.blind(hall, viewer)))

    def see(self, event: Any) -> None:
        """Apply one event to the truth and, redacted, to each viewer's hall; compare."""
        change = self.rules.evolve.get(type(event))
        if type(event) in (Undone, Restored):
            self.truth = self.rules.decode_state(event.state)[0]
            self.halls = {v: self._own(self.truth, v) for v in self.viewers}
            return
        if change is None:
            return
        change(self.truth, event)
        check_open_places(self.rules, self.truth)
        for viewer in self.viewers:
            told = redact(self.rules, event, viewer)
            hall = self.halls[viewer]
            before = known_fronts(self.rules, hall, viewer)
            if told is not None:
                change(hall, told)
                hall = self.halls[viewer] = self._own(hall, viewer)
            blind = self.rules.blind(self.truth, viewer)
            assert encode(hall) == encode(blind), f"law of views, viewer {viewer}: {event}"
            check_audience(self.rules, told, before, known_fronts(self.rules, blind, viewer), viewer)


def check_audience(rules: Rules, told: Any, before: Counter[int], after: Counter[int], viewer: int | None) -> None:
    """What a viewer came to know is what the event told that viewer."""
    fronts: Counter[int] = Counter()
    if told is not None:
        for name in rules.wire.FRONTS.get(type(told), ()):
            value = getattr(told, name)
            fronts.update(value if isinstance(value, tuple) else [value] if value else [])
    gained = after - before
    assert gained <= fronts, f"viewer {viewer} learned {gained - fronts} that {told} does not tell"
    assert all(after[card] >= count for card, count in fronts.items()), f"viewer {viewer} did not take in {told}"


def check_open_places(rules: Rules, hall: Any) -> None:
    """A place that is never blinded holds only cards that everybody knows."""
    for sort, cards in places(hall, rules.hall):
        if sort == "open":
            assert all(card & EVERYONE == EVERYONE for card in cards)
        if sort == "hand":
            assert cards == sorted(cards)
        # A game may mark a cell in which nothing lies by a flag alone.
        assert all(front(card) or card & FLAGS for card in cards), "a card without a front in the truth"
        assert all(card & EVERYONE == EVERYONE for card in cards if card & knows(None)), (
            "spectators know more than seats"
        )


def known_fronts(rules: Rules, hall: Any, viewer: int | None) -> Counter[int]:
    """The fronts that a hall shows to a viewer."""
    bit = knows(viewer)
    return Counter(front(card) for _, cards in places(hall, rules.hall) for card in cards if card & bit)


def check_game(subject: Subject, random: Random, creation: Any = None) -> Game:
    """Play one random game under the eyes of every viewer."""
    game, decided = begin(subject, random, creation)
    watchers = Watchers(subject.rules, game.created)
    watch(watchers, decided)
    for _, decided in play(subject, game, random):
        watch(watchers, decided)
    return game


def watch(watchers: Watchers, decided: Decided) -> None:
    """Show one record to all watchers."""
    for event in decided.events:
        watchers.see(event)
