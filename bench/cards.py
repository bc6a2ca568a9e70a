"""Two ways to keep the cards of a hall, in the size of Arcane Alley with three players (docs/decisions/0001).

As values in places, as the kernel does; and as ids in places, with one table of fronts and of who knows them.
"""

from collections.abc import Callable
from random import Random
from statistics import median
from timeit import repeat
from typing import Any

from msgspec import Struct
from msgspec.msgpack import Encoder

from bench.random_games import play, rules_of
from bench.table import Row, number
from guildhall.kernel.blind import blinder
from guildhall.kernel.cards import FLAGS, FRONT, SPECTATOR, Cards, Hand, Open, knows

VERSION = 150
"""The version of a random game whose cards are measured: about its middle."""
CALLS = 20_000
ROUNDS = 9


class Values(Struct, array_like=True):
    """Cards as values in places."""

    storehouses: list[Cards]
    stashes: list[Hand]
    deck: Cards
    discard: Open


class Ids(Struct, array_like=True):
    """Cards as ids in places; `front` and `known` by id."""

    front: list[int]
    known: list[int]
    storehouses: list[list[int]]
    stashes: list[list[int]]
    deck: list[int]
    discard: list[int]


def blind_ids(hall: Ids, bit: int) -> Ids:
    """The hall of ids for one viewer. Hands are renamed to fronts: an id that leaves one tells when it came."""
    front = [front if known & bit else 0 for front, known in zip(hall.front, hall.known, strict=True)]
    keep = FLAGS | bit
    known = [known if known & SPECTATOR else known & keep for known in hall.known]
    stashes = [sorted([front[card] for card in hand]) for hand in hall.stashes]
    return Ids(front, known, hall.storehouses, stashes, hall.deck, hall.discard)


def halls() -> tuple[Values, Ids]:
    """The cards of the same game, both ways."""
    hall = next(game for game, _ in play(rules_of("arcane_alley"), Random(3), 3) if game.version == VERSION).hall
    values = Values(hall.storehouses, hall.stashes, hall.deck, hall.discard)
    cards: list[int] = []

    def name(place: list[int]) -> list[int]:
        cards.extend(place)
        return list(range(len(cards) - len(place), len(cards)))

    ids = Ids([], [], list(map(name, values.storehouses)), list(map(name, values.stashes)), [], [])
    ids.deck, ids.discard = name(values.deck), name(values.discard)
    ids.front, ids.known = [card & FRONT for card in cards], [card & ~FRONT for card in cards]
    return values, ids


def rows() -> list[Row]:
    """Microseconds to blind and to encode, and bytes, both ways."""
    values, ids = halls()
    blind, bit, encode = blinder(Values), knows(0), Encoder().encode
    pairs: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
        ("blind all cards for a seat", lambda: blind(values, 0), lambda: blind_ids(ids, bit)),
        ("encode all cards", lambda: encode(values), lambda: encode(ids)),
    ]
    table = []
    for what, as_values, as_ids in pairs:
        theirs = microseconds(as_ids)
        table.append(Row(what, microseconds(as_values), "µs", beside=f"a table of ids: {number(theirs)} µs"))
    size = len(encode(values))
    table.append(
        Row(f"encoded, {len(ids.front)} cards", size, "B", beside=f"a table of ids: {number(len(encode(ids)))} B")
    )
    return table


def microseconds(call: Callable[[], Any]) -> float:
    """Of one call: the median of several rounds."""
    return median(repeat(call, repeat=ROUNDS, number=CALLS)) / CALLS * 1e6
