"""A pool at work in tests: its time, its luck, and a reader that only folds its events."""

import hashlib
from typing import Any

from guildhall.matchmaking.v1 import structs as asked
from guildhall.matchmaking.v1.structs import OfferMade, decode_event, encode_event
from services.arcane_alley.rules import RULES
from services.matchmaking import deciding
from services.matchmaking.evolve import evolve
from services.matchmaking.house import HouseRules, is_bot
from services.matchmaking.pool import Offer, Pool, Ticket, restore, snapshot

GAME = "arcane_alley"
START_MS = 1_000_000_000_000
HOUSE = HouseRules(RULES, bots=("greedy", "random"))


class Hall:
    """One pool that takes commands, and beside it what its log tells."""

    def __init__(self, house: HouseRules = HOUSE) -> None:
        self.house = house
        self.pool = Pool(house)
        self.reader = Pool(house)
        self.now_ms = START_MS
        self.events: list[Any] = []
        self.lucks = 0
        self._ids = 0

    def luck(self) -> bytes:
        """Fresh bytes, the same in every run."""
        self.lucks += 1
        return hashlib.sha256(b"luck %d" % self.lucks).digest()

    def command_id(self) -> str:
        """A new one."""
        self._ids += 1
        return f"c{self._ids}"

    def do(self, subject: str, command: Any) -> list[Any]:
        """The events of a command. Raises Refusal."""
        return self._keep(deciding.decide(self.pool, self.now_ms, subject, command, self.luck()))

    def _keep(self, events: list[Any]) -> list[Any]:
        at_ms = self.pool.at_ms
        for event in events:
            assert decode_event(encode_event(event)) == event
            evolve(self.reader, at_ms, event)
        self.events += events
        self.pool.settle()
        self.reader.settle()
        return events

    def tick(self) -> list[Any]:
        """Everything that is due now; its events."""
        events: list[Any] = []
        for _ in range(10_000):
            due = deciding.due(self.pool)
            if due is None or due > self.now_ms:
                return events
            events += self.tick_once()
        raise AssertionError("ticks without end")

    def tick_once(self) -> list[Any]:
        """One slice of what is due."""
        return self._keep(deciding.tick(self.pool, self.now_ms, self.luck()))

    def wait(self, ms: int) -> list[Any]:
        """Let time go by, and do what is due when it is due."""
        end_ms, events = self.now_ms + ms, self.tick()
        while (due := deciding.due(self.pool)) is not None and due <= end_ms:
            self.now_ms = max(self.now_ms, due)
            events += self.tick()
        self.now_ms = end_ms
        return events

    def check_log(self) -> None:
        """The reader's pool, and one restored from a snapshot, are the same as the pool."""
        data = snapshot(self.pool)
        assert snapshot(self.reader) == data
        restored = restore(self.house, data)
        assert snapshot(restored) == data
        for other in (self.reader, restored):
            assert derived(other) == derived(self.pool)

    # --- what players ask for

    def queue(self, subject: str, *seats: int, **rest: Any) -> str:
        """A ticket's id."""
        request = asked.CreateTicketRequest(self.command_id(), GAME, seats=seats, **rest)
        events = self.do(subject, request)
        ticket_id: str = events[-1].ticket_id
        return ticket_id

    def table(self, subject: str, seats: int, **rest: Any) -> str:
        """A table's id."""
        events = self.do(subject, asked.CreateTableRequest(self.command_id(), GAME, seats=seats, **rest))
        table_id: str = events[-1].table_id
        return table_id

    def party(self, *subjects: str) -> str:
        """A party's id; the first leads."""
        events = self.do(subjects[0], asked.CreatePartyRequest(self.command_id(), GAME))
        party_id: str = events[-1].party_id
        for subject in subjects[1:]:
            code = self.pool.parties[party_id].code
            self.do(subject, asked.JoinPartyRequest(self.command_id(), GAME, code))
        return party_id

    def confirm(self, subject: str) -> list[Any]:
        """Confirm the offer that the subject has."""
        return self.do(subject, asked.ConfirmOfferRequest(self.command_id(), GAME, self.offer(subject).offer_id))

    def decline(self, subject: str) -> list[Any]:
        """Decline it."""
        return self.do(subject, asked.DeclineOfferRequest(self.command_id(), GAME, self.offer(subject).offer_id))

    def cancel(self, subject: str) -> list[Any]:
        """Take the subject's ticket back."""
        return self.do(subject, asked.CancelTicketRequest(self.command_id(), GAME, self.pool.ticket_of[subject]))

    # --- looking

    def ticket(self, subject: str) -> Ticket:
        """The subject's."""
        return self.pool.tickets[self.pool.ticket_of[subject]]

    def offer(self, subject: str) -> Offer:
        """The one that the subject has."""
        return next(offer for offer in self.pool.offers.values() if subject in offer.subjects)

    def has_offer(self, subject: str) -> bool:
        """Whether it has one."""
        return any(subject in offer.subjects for offer in self.pool.offers.values())

    def confirm_all(self, subject: str) -> Offer:
        """All of the subject's offer confirm; the accepted offer."""
        offer_id = self.offer(subject).offer_id
        for each in self.pool.offers[offer_id].missing:
            self.confirm(each)
        return self.pool.offers[offer_id]


def derived(pool: Pool) -> list[Any]:
    """What a pool keeps beside its shelves, but for timers and plans."""
    waiting = {terms_id: set(tickets) for terms_id, tickets in pool.waiting.items()}
    return [
        pool.ticket_of,
        pool.party_of,
        pool.table_of,
        pool.party_codes,
        pool.table_codes,
        pool.ended_of,
        pool.games_of,
        pool.starting,
        waiting,
        pool.public_tables,
    ]


def groups(events: list[Any]) -> list[list[str]]:
    """The people of each offer that was made, in order of names."""
    made = [event for event in events if isinstance(event, OfferMade)]
    return [sorted(subject for subject in event.subjects if not is_bot(subject)) for event in made]
