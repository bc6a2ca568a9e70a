"""The pool of one game: who waits, sits, is offered a game or plays, and how well everybody plays.

Plain data on shelves, each changed by one door, `Shelf.put`, which keeps what is derived from it (who is where, what is
due) and a journal that can be rolled back. Nothing depends on the order of a shelf, so a pool is the
same whether it was folded, restored or rolled back.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from guildhall.matchmaking.v1.structs import BotFill, GameTerms, Seating, TableSeat, TicketOutcome
from services.matchmaking.house import SECOND, HouseRules, is_bot
from services.matchmaking.widening import REACH_STEPS_MS, later_sizes_ms

K = TypeVar("K")
V = TypeVar("V")

MOST_ENDED = 8
"""Tickets that ended of which a subject is told: the newest."""


class Ticket(Struct, frozen=True, gc=False):
    """A subject or a party that waits, or has an offer."""

    ticket_id: str
    subjects: tuple[str, ...]
    party_id: str
    terms_id: str
    seats: tuple[int, ...]
    """Welcome numbers of seats, the best liked first."""
    bots: BotFill | None
    since_ms: int
    number: int
    """Order of tickets of the same millisecond."""
    expires_ms: int
    offer_id: str = ""

    @property
    def age(self) -> tuple[int, int]:
        """Its place in the queue: the least is first."""
        return self.since_ms, self.number


class Ended(Struct, frozen=True, gc=False):
    """A ticket that is over."""

    ticket_id: str
    subjects: tuple[str, ...]
    """Those of its players who are still told."""
    outcome: TicketOutcome
    since_ms: int
    ended_ms: int
    number: int
    game_id: str


class Party(Struct, frozen=True, gc=False):
    """Friends; the first of them leads."""

    party_id: str
    members: tuple[str, ...]
    code: str
    touched_ms: int


class Table(Struct, frozen=True, gc=False):
    """A game that is set up by hand."""

    table_id: str
    owner: str
    seats: tuple[TableSeat, ...]
    terms_id: str
    seating: Seating
    unrated: bool
    code: str
    created_ms: int
    touched_ms: int
    barred: tuple[str, ...] = ()
    offer_id: str = ""

    @property
    def place(self) -> tuple[int, str]:
        """Among the tables: the least is the oldest."""
        return self.created_ms, self.table_id

    @property
    def people(self) -> list[str]:
        """Who sits there, by seat; no bots."""
        return [seat.subject for seat in self.seats if seat.subject]


OVER = 0
"""Deadline of an offer that was open when its pool was put back: nobody could confirm it."""


class Offer(Struct, frozen=True, gc=False):
    """A match that waits for its players, or, once accepted, for its game."""

    offer_id: str
    ticket_ids: tuple[str, ...]
    table_id: str
    subjects: tuple[str, ...]
    """With bots; by seat once accepted."""
    terms_id: str
    deadline_ms: int
    seed: bytes
    unrated: bool
    confirmed: tuple[str, ...] = ()
    game_id: str = ""
    """Set when all have confirmed."""
    accepted_ms: int = 0

    @property
    def missing(self) -> list[str]:
        """Who has not confirmed; bots need not."""
        return [subject for subject in self.subjects if subject not in self.confirmed and not is_bot(subject)]


class Game(Struct, frozen=True, gc=False):
    """A game that matchmaking made and that is not over."""

    game_id: str
    subjects: tuple[str, ...]
    seed: bytes
    unrated: bool
    started_ms: int
    no_spectators: bool = False
    resigned: tuple[int, ...] = ()
    """Seats that have been given up."""


class Rating(Struct, frozen=True, gc=False):
    """How well a subject plays, in millionths of openskill's units."""

    subject: str
    mu: int
    sigma: int
    games: int = 0
    wins: int = 0


class Missed(Struct, frozen=True, gc=False):
    """Offers that a subject has let lapse."""

    subject: str
    times: int
    until_ms: int
    """Before then it may not queue."""
    forgotten_ms: int


class State(Struct, array_like=True):
    """Everything of a pool that its log makes; `SCHEMA` names its shape."""

    at_ms: int
    numbers: int
    terms: dict[str, GameTerms]
    tickets: dict[str, Ticket]
    ended: dict[str, Ended]
    parties: dict[str, Party]
    tables: dict[str, Table]
    offers: dict[str, Offer]
    games: dict[str, Game]
    ratings: dict[str, Rating]
    missed: dict[str, Missed]
    positions: dict[int, tuple[int, int]]


_SHELVES = ("terms", "tickets", "ended", "parties", "tables", "offers", "games", "ratings", "missed", "positions")
_STATE = msgspec.msgpack.Decoder(State)
_ENCODER = msgspec.msgpack.Encoder()
_ARRAY = 0x90
_MAP = b"\xdf"
"""MessagePack's: an array of less than 16; a map whose length has four bytes."""

PIECE = 500
"""Entries of a shelf that are encoded at once: a millisecond or two."""


def _schema() -> str:
    shapes = [
        f"{kind.__name__}({', '.join(f'{field.name}: {field.type}' for field in msgspec.structs.fields(kind))})"
        for kind in (
            State,
            Ticket,
            Ended,
            Party,
            Table,
            Offer,
            Game,
            Rating,
            Missed,
            GameTerms,
            BotFill,
            TableSeat,
        )
    ]
    return hashlib.sha256("\n".join(shapes).encode()).hexdigest()[:16]


SCHEMA = _schema()
"""Of snapshots."""


class Shelf(dict[K, V], Generic[K, V]):
    """Values by key. Read like any dict; changed by `put` alone."""

    def __init__(self, journal: list[tuple[Any, Any, Any]], moved: Callable[[Any, Any], None]) -> None:
        """`moved(old, new)` is told of each change; None stands for nothing."""
        super().__init__()
        self._journal = journal
        self._moved = moved

    def put(self, key: K, value: V | None) -> None:
        """Keep a value under a key; None: nothing."""
        self._journal.append((self, key, self.restore(key, value)))

    def restore(self, key: K, value: V | None) -> V | None:
        """As `put`, but unwritten in the journal; returns what was there."""
        old = self.get(key)
        if value is not None:
            self[key] = value
        elif old is not None:
            del self[key]
        self._moved(old, value)
        return old


class Mark(NamedTuple):
    """Where `rollback` goes back to."""

    length: int
    at_ms: int
    numbers: int


class Timer(NamedTuple):
    """Something to look at when its time comes; it may be out of date by then."""

    at_ms: int
    kind: str
    key: str


class Pool:
    """One game's pool. Changed only by `evolve`, `rollback`, and `matching`, which keeps its plan here."""

    def __init__(self, house: HouseRules) -> None:
        self.house = house
        self.at_ms = 0
        """Time of the newest entry."""
        self.numbers = 0
        """Of the next ticket."""
        self._journal: list[tuple[Any, Any, Any]] = []
        self.terms: Shelf[str, GameTerms] = Shelf(self._journal, lambda old, new: self.set_forgetting(self.at_ms))
        self.tickets: Shelf[str, Ticket] = Shelf(self._journal, self._ticket_moved)
        self.ended: Shelf[str, Ended] = Shelf(self._journal, self._ended_moved)
        self.parties: Shelf[str, Party] = Shelf(self._journal, self._party_moved)
        self.tables: Shelf[str, Table] = Shelf(self._journal, self._table_moved)
        self.offers: Shelf[str, Offer] = Shelf(self._journal, self._offer_moved)
        self.games: Shelf[str, Game] = Shelf(self._journal, self._game_moved)
        self.ratings: Shelf[str, Rating] = Shelf(self._journal, lambda old, new: None)
        self.missed: Shelf[str, Missed] = Shelf(self._journal, self._missed_moved)
        self.positions: Shelf[int, tuple[int, int]] = Shelf(self._journal, lambda old, new: None)
        # Derived.
        self.ticket_of: dict[str, str] = {}
        self.party_of: dict[str, str] = {}
        self.table_of: dict[str, str] = {}
        self.party_codes: dict[str, str] = {}
        self.table_codes: dict[str, str] = {}
        self.ended_of: dict[str, set[str]] = {}
        self.games_of: dict[str, set[str]] = {}
        self.starting: dict[str, str] = {}
        """Offers that are accepted, by the id of their game."""
        self.waiting: dict[str, dict[str, None]] = {}
        """Tickets without an offer, by their terms."""
        self.public_tables: list[tuple[int, str]] = []
        """(created_ms, table id) of every table without a code, the oldest first."""
        self.timers: list[Timer] = []
        self.forgetting_ms: int | None = None
        """When to look for what may be forgotten."""
        self.touched: set[str] = set()
        """Whose State may have changed since `settle`."""
        # Of matching: which terms must be looked at, when, and how far it has come.
        self.stale: set[str] = set()
        self.pass_began_ms = 0
        self.next_pass_ms = 0
        self.plan: Iterator[Any] | None = None

    # --- the journal

    def mark(self) -> Mark:
        """The present state, for `rollback`; until `settle`."""
        return Mark(len(self._journal), self.at_ms, self.numbers)

    def rollback(self, mark: Mark) -> None:
        """Be again as at the mark."""
        self.at_ms, self.numbers = mark.at_ms, mark.numbers
        while len(self._journal) > mark.length:
            shelf, key, old = self._journal.pop()
            shelf.restore(key, old)

    def settle(self) -> set[str]:
        """What was done is in the log: it can't be rolled back any more. Returns whose State may have changed."""
        self._journal.clear()
        touched, self.touched = self.touched, set()
        return touched

    # --- what is derived

    def _ticket_moved(self, old: Ticket | None, new: Ticket | None) -> None:
        if old is not None:
            self.touched.update(old.subjects)
            for subject in old.subjects:
                self.ticket_of.pop(subject, None)
            if not old.offer_id:
                waiting = self.waiting[old.terms_id]
                del waiting[old.ticket_id]
                if not waiting:
                    del self.waiting[old.terms_id]
        if new is not None:
            self.touched.update(new.subjects)
            for subject in new.subjects:
                self.ticket_of[subject] = new.ticket_id
            if not new.offer_id:
                self.waiting.setdefault(new.terms_id, {})[new.ticket_id] = None
                self.stale.add(new.terms_id)
                self.set_timer(new.expires_ms, "ticket", new.ticket_id)
                self.ripen(new, self.at_ms)

    def _ended_moved(self, old: Ended | None, new: Ended | None) -> None:
        _relist(self.ended_of, old, new, lambda ended: ended.ticket_id)
        self.set_forgetting(self.at_ms)
        for each in (old, new):
            self.touched.update(() if each is None else each.subjects)

    def _party_moved(self, old: Party | None, new: Party | None) -> None:
        if old is not None:
            self.touched.update(old.members)
            del self.party_codes[old.code]
            for subject in old.members:
                self.party_of.pop(subject, None)
        if new is not None:
            self.touched.update(new.members)
            self.party_codes[new.code] = new.party_id
            for subject in new.members:
                self.party_of[subject] = new.party_id
            self.set_timer(new.touched_ms + self.house.idle_ms, "party", new.party_id)

    def _table_moved(self, old: Table | None, new: Table | None) -> None:
        if old is not None:
            self.touched.update(old.people)
            self.table_codes.pop(old.code, None)
            if not old.code:
                del self.public_tables[bisect_left(self.public_tables, old.place)]
            for subject in old.people:
                self.table_of.pop(subject, None)
        if new is not None:
            self.touched.update(new.people)
            if new.code:
                self.table_codes[new.code] = new.table_id
            else:
                insort(self.public_tables, new.place)
            for subject in new.people:
                self.table_of[subject] = new.table_id
            self.set_timer(new.touched_ms + self.house.idle_ms, "table", new.table_id)

    def _offer_moved(self, old: Offer | None, new: Offer | None) -> None:
        if old is not None:
            self.touched.update(old.subjects)
            self.starting.pop(old.game_id, None)
        if new is not None:
            self.touched.update(new.subjects)
            if new.game_id:
                self.starting[new.game_id] = new.offer_id
            else:
                self.set_timer(new.deadline_ms, "offer", new.offer_id)

    def _game_moved(self, old: Game | None, new: Game | None) -> None:
        _relist(self.games_of, old, new, lambda game: game.game_id)
        for each in (old, new):
            self.touched.update(() if each is None else each.subjects)

    def _missed_moved(self, old: Missed | None, new: Missed | None) -> None:
        self.set_forgetting(self.at_ms)
        for each in (old, new):
            self.touched.update(() if each is None else (each.subject,))

    # --- time

    def set_timer(self, at_ms: int, kind: str, key: str) -> None:
        """Have something looked at when its time comes."""
        heappush(self.timers, Timer(at_ms, kind, key))
        if len(self.timers) > 64 + 4 * (len(self.tickets) + len(self.parties) + len(self.tables) + len(self.offers)):
            self.timers = [timer for timer in set(self.timers) if self._is_true(timer)]
            heapify(self.timers)

    def ripen(self, ticket: Ticket, now_ms: int) -> None:
        """Have a waiting ticket looked at when next it accepts more."""
        steps = (*REACH_STEPS_MS, *later_sizes_ms(len(ticket.seats)), *((ticket.bots.after_ms,) if ticket.bots else ()))
        later = [ticket.since_ms + step for step in steps if ticket.since_ms + step > now_ms]
        if later:
            # At whole seconds, so that many are looked at together.
            self.set_timer(-(-min(later) // SECOND) * SECOND, "ripe", ticket.ticket_id)

    def set_forgetting(self, now_ms: int) -> None:
        """Have what is told no more forgotten some time, if there may be something."""
        if self.forgetting_ms is None and (self.ended or self.terms or self.missed):
            self.forgetting_ms = now_ms + self.house.told_ms // 10
            self.set_timer(self.forgetting_ms, "forget", "")

    def next_timer(self) -> Timer | None:
        """The first timer that is still true."""
        while self.timers:
            if self._is_true(self.timers[0]):
                return self.timers[0]
            heappop(self.timers)
        return None

    def drop_timer(self) -> None:
        """The first timer has been looked at."""
        heappop(self.timers)

    def _is_true(self, timer: Timer) -> bool:
        at_ms, kind, key = timer
        if kind == "forget":
            return at_ms == self.forgetting_ms
        if kind == "offer":
            offer = self.offers.get(key)
            return offer is not None and not offer.game_id and offer.deadline_ms == at_ms
        if kind in ("ticket", "ripe"):
            ticket = self.tickets.get(key)
            return ticket is not None and not ticket.offer_id
        if kind == "party":
            party = self.parties.get(key)
            return party is not None and party.touched_ms + self.house.idle_ms == at_ms
        table = self.tables.get(key)
        return table is not None and table.touched_ms + self.house.idle_ms == at_ms and not table.offer_id


def _relist(lists: dict[str, set[str]], old: Any, new: Any, key: Callable[[Any], str]) -> None:
    """Keep, for each subject, the keys of what it is in."""
    if old is not None:
        for subject in old.subjects:
            keys = lists[subject]
            keys.discard(key(old))
            if not keys:
                del lists[subject]
    if new is not None:
        for subject in new.subjects:
            lists.setdefault(subject, set()).add(key(new))


def copied(pool: Pool) -> State:
    """Everything that the pool's log made, as it is now: to be stored while the pool goes on."""
    return State(pool.at_ms, pool.numbers, *(getattr(pool, name).copy() for name in _SHELVES))


def encoded(state: State) -> Iterator[bytes]:
    """A copy's bytes for `restore`, piece by piece: of a large pool all at once would keep everybody waiting."""
    yield bytes([_ARRAY | 2 + len(_SHELVES)]) + _ENCODER.encode(state.at_ms) + _ENCODER.encode(state.numbers)
    for name in _SHELVES:
        items = iter(getattr(state, name).items())
        yield _MAP + len(getattr(state, name)).to_bytes(4, "big")
        while piece := dict(islice(items, PIECE)):
            # A map's bytes are its length and then its keys and values: here without the length.
            yield _ENCODER.encode(piece)[1 if len(piece) < 16 else 3 :]


def snapshot(pool: Pool) -> bytes:
    """Everything that the pool's log made, for `restore`; equal pools have equal bytes."""
    shelves = (dict(sorted(getattr(pool, name).items())) for name in _SHELVES)
    return b"".join(encoded(State(pool.at_ms, pool.numbers, *shelves)))


def restore(house: HouseRules, data: bytes) -> Pool:
    """The pool of a snapshot. Raises ValueError (msgspec.MsgspecError) for bytes of another shape."""
    state = _STATE.decode(data)
    pool = Pool(house)
    pool.at_ms, pool.numbers = state.at_ms, state.numbers
    for name in _SHELVES:
        shelf = getattr(pool, name)
        for key, value in getattr(state, name).items():
            shelf.restore(key, value)
    pool.settle()
    return pool
