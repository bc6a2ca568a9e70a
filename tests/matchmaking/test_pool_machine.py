"""Anything that players may do, in any order, against a small model.

The model knows only what was told: which tickets and tables there are, whose they are, and how each ended. After every
step it holds the pool to what was promised: nobody is in two places or twice in a game, parties are whole, each ticket
ends once, each offer is resolved once and in time, the order of waiting is kept, what is refused changes nothing, and
what the log says is what the pool is. In the end, when nobody does anything any more, everything ends.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import EndReason
from guildhall.matchmaking.v1 import structs as asked
from guildhall.matchmaking.v1.structs import (
    BotFill,
    GameOver,
    GameRefused,
    GameStarted,
    GameTerms,
    OfferAccepted,
    OfferLapsed,
    OfferMade,
    Rated,
    Seating,
    TicketCreated,
    TicketEnded,
    TicketOutcome,
)
from services.matchmaking import deciding, matching
from services.matchmaking.commands import CreationRefused, GameMade, Result, TakeResults
from services.matchmaking.house import DAY, MATCHMAKER, HouseRules, is_bot
from services.matchmaking.pool import Ticket, restore, snapshot
from services.matchmaking.widening import BUCKET
from tests.matchmaking.pools import GAME, HOUSE, Hall

SUBJECTS = st.sampled_from([f"s{number}" for number in range(9)])
SIZES = st.lists(st.sampled_from([2, 3, 4]), min_size=1, max_size=3, unique=True).map(tuple)
BOTS = st.none() | st.builds(BotFill, st.sampled_from(["greedy", "random"]), st.sampled_from([0, 3_000, 20_000]))
TERMS = st.sampled_from([GameTerms(), GameTerms(), GameTerms(options=(("wizard_powers", "false"),))])
WAITS = st.sampled_from([1_000, 40_000, 0])
PICK = st.integers(0, 1_000)
NO_PICK = st.none() | st.integers(0, 4)

OFFER_REASONS = {"OFFER_OVER", "GAME_STARTING"}


class Pools(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.hall = Hall(HouseRules(HOUSE.rules, HOUSE.bots, games_at_once=3))
        self.tickets: dict[str, TicketCreated] = {}
        self.ages: dict[str, tuple[int, int]] = {}
        self.outcomes: dict[str, TicketOutcome] = {}
        self.offers: dict[str, OfferMade] = {}
        self.resolved: dict[str, str] = {}
        """Offers that lapsed, or whose game started or was refused."""
        self.accepted: dict[str, OfferAccepted] = {}
        self.playing: dict[str, tuple[str, ...]] = {}

    # --- what happens

    def attempt(self, subject: str, command: Any, allowed: set[str]) -> None:
        """A request that is accepted, or refused for one of these reasons with nothing changed."""
        before = snapshot(self.hall.pool)
        try:
            events = self.hall.do(subject, command)
        except Refusal as refusal:
            note(f"{subject} {type(command).__name__}: {refusal}")
            assert refusal.reason in allowed, refusal
            assert snapshot(self.hall.pool) == before
            return
        self.hear(events)

    def hear(self, events: list[Any]) -> None:
        for event in events:
            match event:
                case TicketCreated():
                    assert event.ticket_id not in self.tickets
                    self.tickets[event.ticket_id] = event
                    self.ages[event.ticket_id] = self.hall.pool.tickets[event.ticket_id].age
                case TicketEnded():
                    assert event.ticket_id in self.tickets and event.ticket_id not in self.outcomes
                    self.outcomes[event.ticket_id] = TicketOutcome(event.outcome)
                case OfferMade():
                    self.hear_offer(event)
                case OfferLapsed() | GameRefused() | GameStarted():
                    assert event.offer_id in self.offers and event.offer_id not in self.resolved
                    self.resolved[event.offer_id] = type(event).__name__
                    assert isinstance(event, OfferLapsed) is (event.offer_id not in self.accepted)
                    if isinstance(event, GameStarted):
                        accepted = self.accepted[event.offer_id]
                        self.playing[accepted.game_id] = accepted.subjects
                case OfferAccepted():
                    made = self.offers[event.offer_id]
                    assert sorted(event.subjects) == sorted(made.subjects)
                    assert self.hall.now_ms < made.deadline_ms
                    self.accepted[event.offer_id] = event
                case GameOver():
                    del self.playing[event.game_id]
                case Rated():
                    assert not is_bot(event.subject)

    def hear_offer(self, made: OfferMade) -> None:
        """An offer is of whole tickets that agree, or of a table."""
        assert made.offer_id not in self.offers
        self.offers[made.offer_id] = made
        assert len(set(made.subjects)) == len(made.subjects)
        assert bool(made.ticket_ids) != bool(made.table_id)
        people = [subject for subject in made.subjects if not is_bot(subject)]
        bots = len(made.subjects) - len(people)
        tickets = [self.tickets[ticket_id] for ticket_id in made.ticket_ids]
        for ticket in tickets:
            assert ticket.ticket_id not in self.outcomes
            assert len(made.subjects) in ticket.seats
            assert ticket.terms_id == made.terms_id
            assert not bots or ticket.bots is not None
        if tickets:
            assert people == [subject for ticket in tickets for subject in ticket.subjects]
            strengths = {ticket.bots.strength for ticket in tickets if ticket.bots is not None}
            assert not bots or len(strengths) == 1

    # --- the queue

    @rule(subject=SUBJECTS, seats=SIZES, bots=BOTS, terms=TERMS, wait_ms=WAITS)
    def queue(self, subject: str, seats: tuple[int, ...], bots: BotFill | None, terms: GameTerms, wait_ms: int) -> None:
        request = asked.CreateTicketRequest(self.hall.command_id(), GAME, terms, seats, bots, wait_ms)
        allowed = {"ALREADY_WAITING", "ALREADY_AT_TABLE", "NOT_PARTY_LEADER", "PARTY_TOO_LARGE", "TOO_MANY_GAMES"}
        if any(missed.until_ms > self.hall.now_ms for missed in self.hall.pool.missed.values()):
            allowed |= {"OFFERS_MISSED"}
        self.attempt(subject, request, allowed)

    @rule(crowd=st.lists(SUBJECTS, min_size=3, max_size=7, unique=True), seats=st.sampled_from([(2,), (3,), (4, 3)]))
    def rush(self, crowd: list[str], seats: tuple[int, ...]) -> None:
        """Many want the same, one after the other, and soon have an offer."""
        for subject in crowd:
            self.queue(subject, seats, None, GameTerms(), 0)
            self.hall.now_ms += 1
        self.let_time_go_by(2_000)

    @rule(pick=PICK, subject=SUBJECTS, own=st.booleans())
    def cancel(self, pick: int, subject: str, own: bool) -> None:
        if self.tickets:
            ticket = list(self.tickets.values())[pick % len(self.tickets)]
            who = ticket.subjects[pick % len(ticket.subjects)] if own else subject
            request = asked.CancelTicketRequest(self.hall.command_id(), GAME, ticket.ticket_id)
            self.attempt(who, request, {"TICKET_NOT_FOUND", "GAME_STARTING"})

    @rule(pick=PICK, everybody=st.booleans())
    def confirm(self, pick: int, everybody: bool) -> None:
        if self.offers:
            made = list(self.offers.values())[-1 - pick % min(3, len(self.offers))]
            people = [subject for subject in made.subjects if not is_bot(subject)]
            for subject in people if everybody else [people[pick % len(people)]]:
                request = asked.ConfirmOfferRequest(self.hall.command_id(), GAME, made.offer_id)
                self.attempt(subject, request, OFFER_REASONS)

    @rule(pick=PICK)
    def decline(self, pick: int) -> None:
        if self.offers:
            made = list(self.offers.values())[-1 - pick % min(3, len(self.offers))]
            people = [subject for subject in made.subjects if not is_bot(subject)]
            request = asked.DeclineOfferRequest(self.hall.command_id(), GAME, made.offer_id)
            self.attempt(people[pick % len(people)], request, OFFER_REASONS)

    # --- parties

    @rule(subject=SUBJECTS)
    def create_party(self, subject: str) -> None:
        request = asked.CreatePartyRequest(self.hall.command_id(), GAME)
        self.attempt(subject, request, {"ALREADY_WAITING", "ALREADY_AT_TABLE", "IN_PARTY"})

    @rule(subject=SUBJECTS, pick=PICK)
    def join_party(self, subject: str, pick: int) -> None:
        if codes := sorted(self.hall.pool.party_codes):
            request = asked.JoinPartyRequest(self.hall.command_id(), GAME, codes[pick % len(codes)])
            self.attempt(subject, request, {"ALREADY_WAITING", "ALREADY_AT_TABLE", "IN_PARTY", "PARTY_FULL"})

    @rule(subject=SUBJECTS)
    def leave_party(self, subject: str) -> None:
        self.attempt(subject, asked.LeavePartyRequest(self.hall.command_id(), GAME), {"NOT_IN_PARTY"})

    @rule(subject=SUBJECTS, other=SUBJECTS)
    def kick_from_party(self, subject: str, other: str) -> None:
        request = asked.KickFromPartyRequest(self.hall.command_id(), GAME, other)
        self.attempt(subject, request, {"NOT_IN_PARTY", "NOT_PARTY_LEADER"})

    # --- tables

    @rule(subject=SUBJECTS, seats=st.integers(2, 3), terms=TERMS, as_seated=st.booleans(), private=st.booleans())
    def create_table(self, subject: str, seats: int, terms: GameTerms, as_seated: bool, private: bool) -> None:
        seating = Seating.AS_SEATED if as_seated else Seating.UNSPECIFIED
        request = asked.CreateTableRequest(self.hall.command_id(), GAME, terms, seats, seating, False, private)
        self.attempt(subject, request, {"ALREADY_WAITING", "ALREADY_AT_TABLE", "IN_PARTY", "TOO_MANY_GAMES"})

    @rule(subject=SUBJECTS, pick=PICK, seat=NO_PICK)
    def sit_down(self, subject: str, pick: int, seat: int | None) -> None:
        if tables := sorted(self.hall.pool.tables):
            table = self.hall.pool.tables[tables[pick % len(tables)]]
            table_id = "" if table.code else table.table_id
            request = asked.SitDownRequest(self.hall.command_id(), GAME, table_id, table.code, seat)
            allowed = {"ALREADY_WAITING", "ALREADY_AT_TABLE", "IN_PARTY", "TOO_MANY_GAMES", "BARRED_FROM_TABLE"}
            self.attempt(subject, request, allowed | {"TABLE_FULL", "SEAT_TAKEN", "INVALID_SEATS", "TABLE_STARTING"})

    @rule(subject=SUBJECTS)
    def leave_table(self, subject: str) -> None:
        request = asked.LeaveTableRequest(self.hall.command_id(), GAME)
        self.attempt(subject, request, {"NOT_AT_TABLE", "GAME_STARTING"})

    @rule(subject=SUBJECTS, other=SUBJECTS)
    def kick_from_table(self, subject: str, other: str) -> None:
        request = asked.KickFromTableRequest(self.hall.command_id(), GAME, other)
        self.attempt(subject, request, {"NOT_AT_TABLE", "NOT_TABLE_OWNER", "GAME_STARTING"})

    @rule(pick=PICK, seat=NO_PICK)
    def add_bot(self, pick: int, seat: int | None) -> None:
        if owners := sorted(table.owner for table in self.hall.pool.tables.values()):
            request = asked.AddBotRequest(self.hall.command_id(), GAME, "random", seat)
            allowed = {"TABLE_FULL", "SEAT_TAKEN", "INVALID_SEATS", "TABLE_STARTING"}
            self.attempt(owners[pick % len(owners)], request, allowed)

    @rule(subject=SUBJECTS, seat=st.integers(0, 3))
    def remove_bot(self, subject: str, seat: int) -> None:
        request = asked.RemoveBotRequest(self.hall.command_id(), GAME, seat)
        self.attempt(subject, request, {"NOT_AT_TABLE", "NOT_TABLE_OWNER", "TABLE_STARTING"})

    @rule(pick=PICK)
    def start_table(self, pick: int) -> None:
        if owners := sorted(table.owner for table in self.hall.pool.tables.values()):
            request = asked.StartTableRequest(self.hall.command_id(), GAME)
            self.attempt(owners[pick % len(owners)], request, {"TABLE_NOT_FULL", "TABLE_STARTING"})

    # --- the hall

    @rule(made=st.booleans())
    def create_games(self, made: bool) -> None:
        for offer_id in sorted(self.hall.pool.starting.values()):
            command = GameMade(offer_id) if made else CreationRefused(offer_id, "UNKNOWN_OPTION")
            self.attempt(MATCHMAKER, command, set())

    @rule(pick=PICK, reason=st.sampled_from([EndReason.FINISHED, EndReason.ABANDONED]), again=st.booleans())
    def end_a_game(self, pick: int, reason: EndReason, again: bool) -> None:
        games = sorted({accepted.game_id for accepted in self.accepted.values()})
        if games:
            game_id = games[pick % len(games)]
            [subjects] = [each.subjects for each in self.accepted.values() if each.game_id == game_id]
            ranks = tuple(1 + (seat + pick) % len(subjects) for seat in range(len(subjects)))
            offset, _ = self.hall.pool.positions.get(0, (0, 0))
            command = TakeResults(0, offset, offset + 5, 1, (Result(game_id, reason, ranks, self.hall.now_ms),))
            self.attempt(MATCHMAKER, command, set())
            if again:
                self.attempt(MATCHMAKER, command, {"RESULTS_TAKEN"})

    @rule(ms=st.sampled_from([1, 900, 5_000, 12_000, 31_000, 70_000]))
    def let_time_go_by(self, ms: int) -> None:
        """Due things happen when they are due, each pass as a whole, and in order of waiting."""
        end_ms = self.hall.now_ms + ms
        while (due := deciding.due(self.hall.pool)) is not None and due <= end_ms:
            self.hall.now_ms = max(self.hall.now_ms, due)
            waiting = [ticket for ticket in self.hall.pool.tickets.values() if not ticket.offer_id]
            kinds = {ticket.ticket_id: self.kind(ticket) for ticket in waiting}
            events = self.hall.tick()
            self.hear(events)
            matched = {t for event in events if isinstance(event, OfferMade) for t in event.ticket_ids}
            for younger in matched & kinds.keys():
                for older in kinds.keys() - matched - self.outcomes.keys():
                    assert kinds[older] != kinds[younger] or self.ages[older] > self.ages[younger]
        self.hall.now_ms = end_ms

    @rule(ms=st.sampled_from([1, 2_000, 31_000]))
    def let_time_slip(self, ms: int) -> None:
        """The hall is late with what is due."""
        self.hall.now_ms += ms

    def kind(self, ticket: Ticket) -> tuple[Any, ...]:
        """Tickets of one kind are told apart by age alone."""
        bucket = matching.rating_of(self.hall.pool, ticket) // BUCKET
        return ticket.terms_id, ticket.seats, len(ticket.subjects), bucket, ticket.bots

    @rule()
    def take_over(self) -> None:
        """Another process goes on from a snapshot."""
        self.hall.pool = restore(self.hall.house, snapshot(self.hall.pool))

    @rule(pick=PICK)
    def lose_an_entry(self, pick: int) -> None:
        """What was decided did not get into the log."""
        pool = self.hall.pool
        before, mark = snapshot(pool), pool.mark()
        acts: list[Callable[[], Any]] = [
            lambda: deciding.tick(pool, self.hall.now_ms + pick * 100, self.hall.luck()),
            lambda: deciding.decide(
                pool,
                self.hall.now_ms,
                f"s{pick % 9}",
                asked.CreateTicketRequest(self.hall.command_id(), GAME, seats=(2,)),
                self.hall.luck(),
            ),
        ]
        for act in acts:
            try:
                act()
            except Refusal as refusal:
                note(str(refusal))
        pool.rollback(mark)
        assert snapshot(pool) == before

    # --- what always holds

    @invariant()
    def nobody_is_in_two_places(self) -> None:
        pool = self.hall.pool
        places = [subject for ticket in pool.tickets.values() for subject in ticket.subjects]
        places += [subject for table in pool.tables.values() for subject in table.people]
        assert len(places) == len(set(places))
        for subject in places:
            assert not is_bot(subject)
        members = [member for party in pool.parties.values() for member in party.members]
        assert len(members) == len(set(members))
        for game in pool.games.values():
            assert len(set(game.subjects)) == len(game.subjects)

    @invariant()
    def parties_are_whole(self) -> None:
        pool = self.hall.pool
        for ticket in pool.tickets.values():
            committed = bool(ticket.offer_id) and bool(pool.offers[ticket.offer_id].game_id)
            if ticket.party_id and not committed:
                assert ticket.subjects == pool.parties[ticket.party_id].members

    @invariant()
    def the_model_is_the_pool(self) -> None:
        pool = self.hall.pool
        assert pool.tickets.keys() == self.tickets.keys() - self.outcomes.keys()
        assert pool.offers.keys() == self.offers.keys() - self.resolved.keys()
        assert {game.game_id: game.subjects for game in pool.games.values()} == self.playing
        for ticket in pool.tickets.values():
            assert ticket.age == self.ages[ticket.ticket_id]
            assert not ticket.offer_id or ticket.ticket_id in pool.offers[ticket.offer_id].ticket_ids
        for offer in pool.offers.values():
            assert offer.game_id or all(pool.tickets[t].offer_id == offer.offer_id for t in offer.ticket_ids)
            assert bool(offer.missing) is not bool(offer.game_id)

    @invariant()
    def the_log_tells_it_all(self) -> None:
        self.hall.check_log()

    def teardown(self) -> None:
        """Nobody does anything any more: everything ends, and nothing more is due."""
        self.create_games(True)
        self.hear(self.hall.wait(3 * DAY))
        pool = self.hall.pool
        assert self.outcomes.keys() == self.tickets.keys() and not pool.tickets
        assert self.resolved.keys() == self.offers.keys() and not pool.offers
        assert not pool.parties and not pool.tables and not pool.ended and not pool.terms and not pool.missed
        assert deciding.due(pool) is None
        started = [self.offers[offer_id] for offer_id, how in self.resolved.items() if how == "GameStarted"]
        matched = {ticket_id for made in started for ticket_id in made.ticket_ids}
        assert matched == {t for t, outcome in self.outcomes.items() if outcome is TicketOutcome.MATCHED}
        self.hall.check_log()


TestPools = Pools.TestCase
TestPools.settings = settings(stateful_step_count=50)
