"""Trickerion as the suites of every game see it."""

from collections import Counter
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from guildhall.kernel.blind import places
from guildhall.kernel.cards import EVERYONE, FLAGS, front
from guildhall.kernel.decide import Creation
from guildhall.kernel.game import Game
from guildhall.kernel.v1.structs import OpenDecision, Undo
from guildhall.trickerion.v1 import structs as wire
from services.trickerion.content import FIRST_SPECIAL
from services.trickerion.greedy import Greedy
from services.trickerion.hall import NOTHING, Hall, is_performance_slot, is_pile, location_of, seat_of
from services.trickerion.packs import PACK_HASH, PACKS
from services.trickerion.rules import RULES
from tests.suites.subject import Subject

CONTENT = PACKS[PACK_HASH]


def creation(random: Random, dark_alley: bool | None = None) -> Creation:
    """Random players, options and rulings; each value of each as likely as the others of it, unless it is given."""
    seats = random.choice(RULES.seats)
    rulings = {ruling.name: random.choice(ruling.values or ()) for ruling in RULES.rulings}
    options = {"set_up": random.choice(("free", "free", "free", "beginners"))}
    if random.choice((False, True)) if dark_alley is None else dark_alley:
        options |= {"dark_alley": "true", "prophecies": random.choice(("true", "true", "false"))}
    return Creation([f"player-{n}" for n in range(seats)], options, rulings)


def pieces(hall: Hall) -> Any:
    """Cards, Tricks and Trick markers of the game, wherever they lie."""
    cards = Counter(front(card) for _, cards in places(hall, Hall) for card in cards if card != NOTHING)
    tricks = Counter(hall.residence + [trick for own in hall.tricks for trick in own if trick])
    return cards, tricks, markers(hall) if hall.rulings.revised else None


def markers(hall: Hall) -> list[int]:
    """Trick markers of each seat: in its supply, on its Tricks, on Performance cards (some may have left the game)."""
    own = [sum(supply) + sum(prepared) for supply, prepared in zip(hall.supply, hall.prepared, strict=True)]
    for card in hall.stage:
        for marker in card:
            if marker:
                own[seat_of(marker)] += 1 + is_pile(marker)
    return own


def alike(card: int) -> Any:
    """What everybody can tell of an unknown card by its place: it is a Permanent one of its owner, who knows it, a
    special one of a Location, a Performance card of a theater, or a prophecy."""
    face = front(card)
    if face < FIRST_SPECIAL:
        return "permanent", card & EVERYONE
    if face < len(CONTENT.assignments):
        return CONTENT.assignments[face].location
    return face // 100, card & FLAGS


def weigh(command: Any) -> float:
    """Random play that comes to something: it hires, prepares, sets up, and keeps what it has."""
    match command:
        case wire.Prepare() | wire.Perform():
            return 10.0
        case wire.SetUpTrick():
            return 4.0
        case wire.DrawCards() | wire.UseBonus() | wire.KeepBonus() | wire.UseAbility():
            return 20.0
        case wire.Hire() | wire.SetDie(2, wire.Character.ASSISTANT):
            return 40.0
        case wire.LearnTrick() | wire.Buy():
            return 2.0
        case wire.Place(_, slot) if location_of(slot) == wire.Location.THEATER and is_performance_slot(slot):
            return 8.0
        case wire.ReturnTrick() | wire.ReturnComponents():
            return 0.05
        case wire.TakeActionPoint() | wire.Decline():
            return 0.3
        case wire.EndPlacement() | wire.MakeIdle() | wire.Order() | wire.SetDie() | Undo():
            return 0.2
    return 1.0


_GREEDY = Greedy(RULES.packs.data(RULES.pack_hash))


def perform(game: Game, decision: OpenDecision) -> Any:
    """What the greedy player would do: it performs, so links, yields and cards that leave occur."""
    listing = game.legal(decision.seat)
    return _GREEDY(game.view(decision.seat), decision.kind, [*listing.commands, *listing.families])


def use_specials(game: Game, decision: OpenDecision) -> Any:
    """Special cards under as many Characters as can be, then half greedy and half random: what the cards do occurs."""
    random = Random(f"{game.version}.{decision.seat}")
    listing = game.legal(decision.seat)
    plans = [plan for family in listing.families for _ in range(12) if (plan := family.sample(random)) is not None]
    if plans:
        return max(plans, key=lambda plan: sum(card >= FIRST_SPECIAL for card in plan.cards))
    if random.random() < 0.5:
        return perform(game, decision)
    return random.choices(listing.commands, [weigh(command) for command in listing.commands])[0]


TRICKERION = Subject(RULES, creation, pieces, max_commands=3_000, weigh=weigh, alike=alike)
"""The game without and with the Dark Alley."""
PERFORMERS = replace(TRICKERION, advice=perform)
"""The same game among players that perform."""
BOTH = (TRICKERION, PERFORMERS)

BASE = replace(TRICKERION, creation=partial(creation, dark_alley=False))
"""The base game."""
CARD_PLAYERS = replace(TRICKERION, creation=partial(creation, dark_alley=True), advice=use_specials)
"""The game with the Dark Alley among players that use its cards."""
