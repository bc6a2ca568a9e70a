"""Arcane Alley as the suites of every game see it."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

from guildhall.arcane_alley.v1 import structs as wire
from guildhall.kernel.blind import places
from guildhall.kernel.cards import front
from guildhall.kernel.decide import Creation
from guildhall.kernel.game import Game
from guildhall.kernel.v1.structs import OpenDecision, Undo
from services.arcane_alley.content import content_of
from services.arcane_alley.greedy import Greedy
from services.arcane_alley.hall import EMPTY, Hall
from services.arcane_alley.options import WIZARDS
from services.arcane_alley.rules import RULES
from tests.suites.subject import Subject


def creation(random: Random) -> Creation:
    """Random players, powers and rulings; each value of each as likely as the others of it."""
    seats = random.choice(RULES.seats)
    rulings = {ruling.name: random.choice(ruling.values or ()) for ruling in RULES.rulings}
    options = {"wizard_powers": random.choice(("true", "true", "false"))}
    if options["wizard_powers"] == "true" and rulings["wizard_assignment"] == "given":
        options["wizards"] = ",".join(random.sample(WIZARDS, seats))
    if rulings["first_player"] == "given":
        options["first_seat"] = str(random.randrange(seats))
    return Creation([f"player-{n}" for n in range(seats)], options, rulings)


def all_items(hall: Hall) -> Counter[int]:
    """Every item of the game, wherever it lies; before the first deal they lie in the box."""
    found = Counter(front(card) for _, cards in places(hall, Hall) for card in cards if not card & EMPTY)
    return found or Counter(content_of(hall).deck(len(hall.gold)))


def weigh(command: Any) -> float:
    """Random play that sells: each item has its favourite row, so equal ones meet; specials are liked."""
    match command:
        case wire.Play(item, cell):
            return 8.0 if cell // 3 == item % 3 else 0.3
        case wire.Activate():
            return 8.0
        case wire.Discard():
            return 1.5
        case Undo():
            return 0.2
    return 1.0


DISCLOSURES = (
    # A Boomerang that was replaced while hidden must be played at once, so everybody sees whether
    # it was one (AA-166, AA-227).
    frozenset({wire.BoomerangReturned, wire.ReplacedItemDiscarded, wire.ReplacedItemTaken}),
)

_GREEDY = Greedy(RULES.packs.data(RULES.pack_hash))


def sell(game: Game, decision: OpenDecision) -> Any:
    """What the greedy player would do: it sells, so the effects of sold sets occur."""
    return _GREEDY(game.view(decision.seat), decision.kind, game.legal(decision.seat).commands)


ARCANE_ALLEY = Subject(RULES, creation, all_items, max_commands=4_000, disclosures=DISCLOSURES, weigh=weigh)

SELLERS = replace(ARCANE_ALLEY, advice=sell)
"""The same game among players that sell."""

BOTH = (ARCANE_ALLEY, SELLERS)
