"""The pool, story by story: each bad request has one clear outcome, and nobody loses their place."""

import contextlib
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guildhall.kernel import ids
from guildhall.kernel.luck import commitment
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import Clock, EndReason
from guildhall.matchmaking.v1 import structs as asked
from guildhall.matchmaking.v1.structs import (
    BotFill,
    GameTerms,
    OfferAccepted,
    OfferLapsed,
    OfferMade,
    OfferMissed,
    Seating,
    TicketEnded,
    TicketOutcome,
    encode_event,
)
from services.matchmaking import deciding, ratings, states
from services.matchmaking.commands import CreationRefused, GameMade, Resignation, Result, TakeResults
from services.matchmaking.evolve import evolve
from services.matchmaking.house import DAY, HOUR, MATCHMAKER, HouseRules
from services.matchmaking.offers import AWAY_MS, draw_seats
from services.matchmaking.pool import MOST_ENDED, PIECE, Rating, restore, snapshot
from services.matchmaking.step import Step
from services.matchmaking.widening import ALL_OPEN_MS
from tests.matchmaking.pools import GAME, HOUSE, Hall, groups

FINISHED = EndReason.FINISHED
SECOND = 1_000


@pytest.fixture
def hall() -> Hall:
    return Hall()


def refused(hall: Hall, reason: str, act: Callable[[], Any]) -> Refusal:
    """The act is refused for that reason, and nothing has changed."""
    before = snapshot(hall.pool)
    with pytest.raises(Refusal) as caught:
        act()
    assert caught.value.reason == reason
    assert snapshot(hall.pool) == before
    return caught.value


def outcomes(events: list[Any]) -> list[TicketOutcome]:
    return [TicketOutcome(event.outcome) for event in events if isinstance(event, TicketEnded)]


# --- the queue


def test_two_who_want_the_same_play_together(hall: Hall) -> None:
    hall.queue("ann", 2)
    assert groups(hall.tick()) == []
    hall.queue("bob", 2)
    assert groups(hall.wait(SECOND)) == [["ann", "bob"]]
    hall.confirm("ann")
    [_, accepted] = hall.confirm("bob")
    assert isinstance(accepted, OfferAccepted)
    assert accepted.game_id == ids.game_id(MATCHMAKER, accepted.offer_id)
    assert sorted(accepted.subjects) == ["ann", "bob"]
    assert outcomes(hall.do(MATCHMAKER, GameMade(accepted.offer_id))) == [TicketOutcome.MATCHED] * 2
    state = states.state_of(hall.pool, "ann")
    assert state.ticket is None and state.offer is None
    assert [game.game_id for game in state.games] == [accepted.game_id]
    assert state.games[0].subjects[state.games[0].seat] == "ann"
    hall.check_log()


def test_terms_must_be_equal_with_defaults_filled_in(hall: Hall) -> None:
    hall.queue("ann", 2)
    hall.queue("bob", 2, terms=GameTerms(options=(("wizard_powers", "false"),)))
    hall.queue("cid", 2, terms=GameTerms(clock=Clock(60_000)))
    hall.queue("dan", 2, terms=GameTerms(options=(("wizard_powers", "true"),)))
    assert groups(hall.wait(ALL_OPEN_MS * 2)) == [["ann", "dan"]]


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        (GameTerms(options=(("colour", "red"),)), "UNKNOWN_OPTION"),
        (GameTerms(options=(("wizard_powers", "perhaps"),)), "INVALID_OPTION"),
        (GameTerms(rulings=(("colour", "red"),)), "UNKNOWN_RULING"),
        (GameTerms(rulings=(("infamy_lap", "7"),)), "INVALID_RULING"),
        (GameTerms(options=(("first_seat", "1"),)), "INVALID_OPTION"),
        (GameTerms(clock=Clock(10)), "INVALID_CLOCK"),
    ],
)
def test_what_the_game_refuses_is_refused_at_once(hall: Hall, terms: GameTerms, reason: str) -> None:
    refused(hall, reason, lambda: hall.queue("ann", 2, 3, terms=terms))
    refused(hall, reason, lambda: hall.table("ann", 2, terms=terms))


@pytest.mark.parametrize("seats", [(1,), (7,), (2, 2), (0,)])
def test_numbers_of_seats_that_the_game_has_not(hall: Hall, seats: tuple[int, ...]) -> None:
    refused(hall, "INVALID_SEATS", lambda: hall.queue("ann", *seats))
    if len(seats) == 1:
        refused(hall, "INVALID_SEATS", lambda: hall.table("ann", seats[0]))


def test_nobody_is_in_two_places(hall: Hall) -> None:
    hall.queue("ann", 2)
    refused(hall, "ALREADY_WAITING", lambda: hall.queue("ann", 2))
    refused(hall, "ALREADY_WAITING", lambda: hall.table("ann", 2))
    refused(hall, "ALREADY_WAITING", lambda: hall.party("ann"))
    table_id = hall.table("bob", 2)
    refused(hall, "ALREADY_AT_TABLE", lambda: hall.queue("bob", 2))
    refused(hall, "ALREADY_AT_TABLE", lambda: hall.table("bob", 2))
    refused(hall, "ALREADY_WAITING", lambda: hall.do("ann", asked.SitDownRequest("x", GAME, table_id)))
    hall.party("cid", "dan")
    refused(hall, "IN_PARTY", lambda: hall.table("dan", 2))
    refused(hall, "IN_PARTY", lambda: hall.party("dan"))
    refused(hall, "BOTS_DO_NOT_QUEUE", lambda: hall.queue("bot/greedy/1", 2))


def test_the_preferred_number_of_seats_is_waited_for(hall: Hall) -> None:
    for subject in ("ann", "bob", "cid"):
        hall.queue(subject, 4, 3)
    assert groups(hall.wait(9 * SECOND)) == []
    assert groups(hall.wait(3 * SECOND)) == [["ann", "bob", "cid"]]


def test_ratings_are_matched_near_first_and_any_after_a_minute(hall: Hall) -> None:
    play(hall, [["ann", "zed"]] * 20)
    gap = abs(hall.pool.ratings["ann"].mu - hall.pool.ratings["zed"].mu)
    assert gap > 20_000_000
    hall.queue("ann", 2)
    hall.queue("zed", 2)
    assert groups(hall.wait(40 * SECOND)) == []
    hall.queue("new", 2)
    assert groups(hall.wait(6 * SECOND)) == [["ann", "new"]]
    hall.decline("new")
    assert groups(hall.wait(ALL_OPEN_MS)) == [["ann", "zed"]]


def test_a_ticket_expires(hall: Hall) -> None:
    ticket_id = hall.queue("ann", 2, wait_ms=5_000)
    assert outcomes(hall.wait(4_999)) == []
    assert outcomes(hall.wait(1)) == [TicketOutcome.EXPIRED]
    watched = states.ticket_of(hall.pool, "ann", ticket_id)
    assert watched is not None and watched.ended is not None
    assert states.ticket_of(hall.pool, "bob", ticket_id) is None
    assert [each.ticket_id for each in states.state_of(hall.pool, "ann").ended] == [ticket_id]
    refused(hall, "INVALID_WAIT", lambda: hall.queue("ann", 2, wait_ms=DAY + 1))


def test_the_newest_ended_tickets_of_each_subject_are_kept(hall: Hall) -> None:
    """The others' of a party stay for those who have fewer."""
    hall.party("ann", "bob")
    together = hall.queue("ann", 2)
    hall.cancel("ann")
    hall.do("ann", asked.LeavePartyRequest(hall.command_id(), GAME))
    own = []
    for _ in range(MOST_ENDED + 5):
        own.append(hall.queue("ann", 3))
        hall.cancel("ann")
    assert [each.ticket_id for each in states.state_of(hall.pool, "ann").ended] == own[-MOST_ENDED:]
    assert [each.ticket_id for each in states.state_of(hall.pool, "bob").ended] == [together]
    assert states.ticket_of(hall.pool, "ann", together) is None
    assert len(hall.pool.ended) == MOST_ENDED + 1
    hall.check_log()


def test_what_ended_is_forgotten(hall: Hall) -> None:
    hall.queue("ann", 2, wait_ms=5_000)
    hall.wait(3 * HOUR)
    assert not hall.pool.ended and not hall.pool.terms
    assert deciding.due(hall.pool) is None
    hall.check_log()


def test_cancelling(hall: Hall) -> None:
    hall.queue("ann", 2)
    ticket_id = hall.pool.ticket_of["ann"]
    refused(hall, "TICKET_NOT_FOUND", lambda: hall.do("bob", asked.CancelTicketRequest("x", GAME, ticket_id)))
    assert outcomes(hall.cancel("ann")) == [TicketOutcome.CANCELLED]
    refused(hall, "TICKET_NOT_FOUND", lambda: hall.do("ann", asked.CancelTicketRequest("x", GAME, ticket_id)))


def test_validate_only_changes_nothing(hall: Hall) -> None:
    before = snapshot(hall.pool)
    request = asked.CreateTicketRequest("x", GAME, seats=(2,), validate_only=True)
    assert hall.do("ann", request) == []
    assert snapshot(hall.pool) == before
    assert not hall.pool.ticket_of


# --- offers


def offered(hall: Hall, *subjects: str) -> None:
    for subject in subjects:
        hall.queue(subject, len(subjects))
    assert groups(hall.wait(SECOND)) == [sorted(subjects)]


def test_whoever_does_not_confirm_is_out_and_the_others_keep_their_place(hall: Hall) -> None:
    offered(hall, "ann", "bob", "cid")
    ages = {subject: hall.ticket(subject).age for subject in ("ann", "bob")}
    hall.confirm("ann")
    hall.confirm("bob")
    events = hall.wait(HOUSE.offer_ms)
    assert outcomes(events) == [TicketOutcome.NOT_CONFIRMED]
    assert "cid" not in hall.pool.ticket_of
    assert {subject: hall.ticket(subject).age for subject in ages} == ages
    hall.queue("dan", 3)
    hall.queue("eve", 3)
    assert groups(hall.wait(SECOND)) == [["ann", "bob", "dan"]]


def test_confirming_too_late_has_one_outcome_even_before_the_clock_acts(hall: Hall) -> None:
    offered(hall, "ann", "bob")
    offer_id = hall.offer("ann").offer_id
    hall.now_ms += HOUSE.offer_ms
    request = asked.ConfirmOfferRequest("x", GAME, offer_id)
    refused(hall, "OFFER_OVER", lambda: hall.do("ann", request))
    hall.tick()
    refused(hall, "OFFER_OVER", lambda: hall.do("ann", request))
    assert not hall.pool.tickets and not hall.pool.offers


def test_declining_ends_the_own_ticket_only(hall: Hall) -> None:
    offered(hall, "ann", "bob", "cid")
    age = hall.ticket("bob").age
    hall.decline("ann")
    assert "ann" not in hall.pool.ticket_of
    assert hall.ticket("bob").age == age and not hall.ticket("bob").offer_id


def test_cancelling_races_with_the_match(hall: Hall) -> None:
    offered(hall, "ann", "bob")
    assert outcomes(hall.cancel("ann")) == [TicketOutcome.CANCELLED]
    assert not hall.ticket("bob").offer_id
    hall.queue("cid", 2)
    hall.wait(SECOND)
    hall.confirm_all("bob")
    refused(hall, "GAME_STARTING", lambda: hall.cancel("bob"))
    refused(hall, "GAME_STARTING", lambda: hall.decline("bob"))
    assert hall.confirm("bob") == []


def test_strangers_know_of_no_offer(hall: Hall) -> None:
    offered(hall, "ann", "bob")
    offer_id = hall.offer("ann").offer_id
    refused(hall, "OFFER_OVER", lambda: hall.do("eve", asked.ConfirmOfferRequest("x", GAME, offer_id)))
    refused(hall, "OFFER_OVER", lambda: hall.do("eve", asked.DeclineOfferRequest("x", GAME, "nothing")))


def test_an_offer_names_nobody_before_all_have_confirmed(hall: Hall) -> None:
    offered(hall, "ann", "bob")
    state = states.state_of(hall.pool, "ann")
    assert b"bob" not in asked.encode_State(state)
    assert hall.offer("ann").seed not in asked.encode_State(state)


def test_the_draw_of_seats_can_be_checked(hall: Hall) -> None:
    offered(hall, "dan", "ann", "cid", "bob")
    before = states.state_of(hall.pool, "ann").offer
    assert before is not None
    accepted = hall.confirm_all("ann")
    hall.do(MATCHMAKER, GameMade(accepted.offer_id))
    game = states.state_of(hall.pool, "ann").games[0]
    assert commitment(game.seed) == before.seed_hash
    assert draw_seats(sorted(game.subjects), game.seed) == game.subjects


def test_the_draw_of_seats_is_the_published_one() -> None:
    document = (Path(__file__).resolve().parents[2] / "docs" / "luck.md").read_text(encoding="utf-8")
    [seated] = re.findall(r"^seated: (.+)$", document, re.MULTILINE)
    assert list(draw_seats(["dan", "bot/greedy/1", "ann", "cid"], bytes(range(32)))) == seated.split()


def test_seats_are_drawn_evenly() -> None:
    people = ["ann", "bob", "cid"]
    seeds = [hashlib.sha256(b"%d" % number).digest() for number in range(3_000)]
    first = [draw_seats(people, seed)[0] for seed in seeds]
    assert all(900 < first.count(person) < 1_100 for person in people)


def test_a_game_that_is_refused_ends_its_tickets(hall: Hall) -> None:
    offered(hall, "ann", "bob")
    accepted = hall.confirm_all("ann")
    events = hall.do(MATCHMAKER, CreationRefused(accepted.offer_id, "UNKNOWN_OPTION"))
    assert outcomes(events) == [TicketOutcome.GAME_REFUSED] * 2
    assert not hall.pool.offers and not hall.pool.starting
    hall.check_log()


def test_game_made_twice_is_once(hall: Hall) -> None:
    offered(hall, "ann", "bob")
    accepted = hall.confirm_all("ann")
    assert hall.do(MATCHMAKER, GameMade(accepted.offer_id))
    assert hall.do(MATCHMAKER, GameMade(accepted.offer_id)) == []
    assert hall.do(MATCHMAKER, CreationRefused(accepted.offer_id, "late")) == []


def test_so_many_games_at_once() -> None:
    hall = Hall(HouseRules(HOUSE.rules, games_at_once=1))
    offered(hall, "ann", "bob")
    hall.do(MATCHMAKER, GameMade(hall.confirm_all("ann").offer_id))
    refusal = refused(hall, "TOO_MANY_GAMES", lambda: hall.queue("ann", 2))
    assert refusal.details == {"subject": "ann"}


# --- bots


def test_bots_fill_up_when_all_agree_to_the_same(hall: Hall) -> None:
    hall.queue("ann", 4, bots=BotFill("greedy", 5_000))
    hall.queue("bob", 4, bots=BotFill("greedy", 8_000))
    hall.queue("cid", 4, bots=BotFill("random", 8_000))
    assert groups(hall.wait(4_900)) == []
    assert groups(hall.wait(2_000)) == [["ann"]]
    assert sorted(hall.offer("ann").subjects) == ["ann", "bot/greedy/1", "bot/greedy/2", "bot/greedy/3"]
    hall.decline("ann")
    hall.queue("eve", 4, bots=BotFill("greedy", 0))
    assert groups(hall.wait(1_000)) == [["eve"]]
    refused(hall, "UNKNOWN_BOT", lambda: hall.queue("fay", 4, bots=BotFill("perfect", 0)))


def test_players_who_both_agree_to_bots_play_together(hall: Hall) -> None:
    hall.queue("ann", 4, bots=BotFill("greedy", 5_000))
    hall.queue("bob", 4, bots=BotFill("greedy", 3_000))
    hall.now_ms += 5_000
    assert groups(hall.tick()) == [["ann", "bob"]]
    accepted = hall.confirm_all("ann")
    hall.do(MATCHMAKER, GameMade(accepted.offer_id))
    assert states.state_of(hall.pool, "bot/greedy/1").games[0].game_id == accepted.game_id


# --- parties


def test_a_party_is_matched_whole(hall: Hall) -> None:
    hall.party("ann", "bob", "cid")
    refused(hall, "NOT_PARTY_LEADER", lambda: hall.queue("bob", 4))
    refused(hall, "PARTY_TOO_LARGE", lambda: hall.queue("ann", 2))
    hall.queue("dan", 4)
    hall.queue("eve", 4)
    hall.queue("ann", 4, 2, 3)
    assert hall.ticket("cid").seats == (4, 3)
    assert groups(hall.wait(SECOND)) == [["ann", "bob", "cid", "dan"]]
    for subject in ("ann", "bob", "dan"):
        hall.confirm(subject)
    hall.decline("cid")
    assert not {"ann", "bob", "cid"} & hall.pool.ticket_of.keys()
    assert hall.ticket("dan").age < hall.ticket("eve").age
    assert hall.pool.parties[hall.pool.party_of["ann"]].members == ("ann", "bob", "cid")


def test_a_party_that_changes_leaves_the_queue(hall: Hall) -> None:
    party_id = hall.party("ann", "bob")
    hall.queue("ann", 4)
    code = hall.pool.parties[party_id].code
    assert outcomes(hall.do("cid", asked.JoinPartyRequest("x", GAME, code))) == [TicketOutcome.CANCELLED]
    hall.queue("ann", 4)
    assert outcomes(hall.do("ann", asked.LeavePartyRequest("x", GAME))) == [TicketOutcome.CANCELLED]
    assert hall.pool.parties[party_id].members == ("bob", "cid")
    hall.queue("bob", 4)
    hall.do("bob", asked.KickFromPartyRequest("x", GAME, "cid"))
    assert "bob" not in hall.pool.ticket_of
    refused(hall, "CODE_NOT_FOUND", lambda: hall.do("cid", asked.JoinPartyRequest("x", GAME, code)))
    refused(hall, "NOT_IN_PARTY", lambda: hall.do("cid", asked.LeavePartyRequest("x", GAME)))
    refused(hall, "NOT_IN_PARTY", lambda: hall.do("bob", asked.KickFromPartyRequest("x", GAME, "bob")))
    hall.do("bob", asked.LeavePartyRequest("x", GAME))
    assert not hall.pool.parties and not hall.pool.party_codes
    hall.check_log()


def test_a_party_has_room_for_a_table(hall: Hall) -> None:
    party_id = hall.party(*(f"p{number}" for number in range(6)))
    code = hall.pool.parties[party_id].code
    refused(hall, "PARTY_FULL", lambda: hall.do("late", asked.JoinPartyRequest("x", GAME, code)))
    hall.queue("p0", 6)
    assert len(groups(hall.tick())[0]) == 6


def test_parties_and_tables_that_nobody_uses_go(hall: Hall) -> None:
    hall.party("ann", "bob")
    hall.table("cid", 2)
    hall.wait(DAY - 1)
    assert hall.pool.parties and hall.pool.tables
    hall.wait(1)
    assert not hall.pool.parties and not hall.pool.tables
    hall.check_log()


# --- tables


def sit(hall: Hall, subject: str, **how: Any) -> list[Any]:
    return hall.do(subject, asked.SitDownRequest(hall.command_id(), GAME, **how))


def test_a_public_table_from_opening_to_game(hall: Hall) -> None:
    table_id = hall.table("ann", 3)
    [listed] = states.public_tables(hall.pool, None, 10)
    assert listed.table_id == table_id
    sit(hall, "bob", table_id=table_id, seat=2)
    refused(hall, "SEAT_TAKEN", lambda: sit(hall, "cid", table_id=table_id, seat=2))
    refused(hall, "INVALID_SEATS", lambda: sit(hall, "cid", table_id=table_id, seat=3))
    start = asked.StartTableRequest("start", GAME)
    refused(hall, "NOT_TABLE_OWNER", lambda: hall.do("bob", start))
    refused(hall, "NOT_AT_TABLE", lambda: hall.do("cid", start))
    refused(hall, "TABLE_NOT_FULL", lambda: hall.do("ann", start))
    refused(hall, "UNKNOWN_BOT", lambda: hall.do("ann", asked.AddBotRequest("x", GAME, "perfect")))
    hall.do("ann", asked.AddBotRequest("x", GAME, "random"))
    refused(hall, "TABLE_FULL", lambda: sit(hall, "cid", table_id=table_id))
    refused(hall, "NOT_AT_TABLE", lambda: hall.do("ann", asked.RemoveBotRequest("x", GAME, 2)))
    hall.do("ann", asked.RemoveBotRequest("x", GAME, 1))
    hall.do("ann", asked.AddBotRequest("x", GAME, "greedy"))
    hall.do("ann", start)
    refused(hall, "TABLE_STARTING", lambda: hall.do("ann", start))
    refused(hall, "TABLE_STARTING", lambda: hall.do("ann", asked.RemoveBotRequest("x", GAME, 1)))
    accepted = hall.confirm_all("bob")
    assert sorted(accepted.subjects) == ["ann", "bob", "bot/greedy/1"]
    refused(hall, "GAME_STARTING", lambda: hall.do("bob", asked.LeaveTableRequest("x", GAME)))
    hall.do(MATCHMAKER, GameMade(accepted.offer_id))
    assert not hall.pool.tables and not hall.pool.table_of
    hall.check_log()


def test_alone_against_bots_the_game_is_there_at_once(hall: Hall) -> None:
    hall.table("ann", 3, seating=Seating.AS_SEATED)
    hall.do("ann", asked.AddBotRequest("x", GAME, "greedy"))
    hall.do("ann", asked.AddBotRequest("y", GAME, "random"))
    events = hall.do("ann", asked.StartTableRequest("start", GAME))
    assert events[-1].subjects == ("ann", "bot/greedy/1", "bot/random/2")
    assert hall.offer("ann").seed == b""


def test_a_private_table_takes_whoever_knows_its_code(hall: Hall) -> None:
    table_id = hall.table("ann", 3, private=True)
    code = hall.pool.tables[table_id].code
    assert len(code) == 16 and states.public_tables(hall.pool, None, 10) == []
    refused(hall, "TABLE_NOT_FOUND", lambda: sit(hall, "bob", table_id=table_id))
    refused(hall, "CODE_NOT_FOUND", lambda: sit(hall, "bob", code="a" * 16))
    sit(hall, "bob", code=code)
    hall.do("ann", asked.KickFromTableRequest("x", GAME, "bob"))
    refused(hall, "CODE_NOT_FOUND", lambda: sit(hall, "bob", code=code))
    refused(hall, "BARRED_FROM_TABLE", lambda: sit(hall, "bob", code=hall.pool.tables[table_id].code))
    refused(hall, "NOT_AT_TABLE", lambda: hall.do("ann", asked.KickFromTableRequest("x", GAME, "bob")))


def test_the_table_stays_when_its_start_comes_to_nothing(hall: Hall) -> None:
    table_id = hall.table("ann", 3)
    sit(hall, "bob", table_id=table_id)
    sit(hall, "cid", table_id=table_id)
    hall.do("ann", asked.StartTableRequest("start", GAME))
    hall.confirm("bob")
    hall.wait(HOUSE.offer_ms)
    assert hall.pool.tables[table_id].people == ["ann", "bob"]
    assert not hall.pool.tables[table_id].offer_id
    hall.do("ann", asked.LeaveTableRequest("x", GAME))
    assert hall.pool.tables[table_id].owner == "bob"
    hall.do("bob", asked.LeaveTableRequest("x", GAME))
    assert not hall.pool.tables
    hall.check_log()


def test_leaving_while_an_offer_is_out_ends_it(hall: Hall) -> None:
    table_id = hall.table("ann", 2)
    sit(hall, "bob", table_id=table_id)
    hall.do("ann", asked.StartTableRequest("start", GAME))
    hall.do("bob", asked.LeaveTableRequest("x", GAME))
    assert not hall.pool.offers
    assert hall.pool.tables[table_id].people == ["ann"]


# --- results and ratings


def play(hall: Hall, games: list[list[str]], reason: EndReason = FINISHED, **how: Any) -> None:
    """Games at tables that end in this order of players."""
    for order in games:
        table_id = hall.table(order[0], len(order), seating=Seating.AS_SEATED, **how)
        for subject in order[1:]:
            sit(hall, subject, table_id=table_id)
        hall.do(order[0], asked.StartTableRequest(hall.command_id(), GAME))
        accepted = hall.confirm_all(order[0])
        hall.do(MATCHMAKER, GameMade(accepted.offer_id))
        ranks = () if reason == EndReason.ABORTED else tuple(range(1, len(order) + 1))
        take(hall, Result(accepted.game_id, reason, ranks, hall.now_ms))


def take(hall: Hall, *results: Result) -> list[Any]:
    offset, _ = hall.pool.positions.get(0, (0, 0))
    return hall.do(MATCHMAKER, TakeResults(0, offset, offset + 10, 0, results))


def test_winning_and_losing(hall: Hall) -> None:
    play(hall, [["ann", "bob", "cid"]])
    mus = [hall.pool.ratings[subject].mu for subject in ("ann", "bob", "cid")]
    assert mus == sorted(mus, reverse=True) and mus[0] > ratings.START_MU > mus[2]
    assert hall.pool.ratings["ann"].games == hall.pool.ratings["ann"].wins == 1
    hall.check_log()


def test_a_draw_between_equals_only_lessens_doubt(hall: Hall) -> None:
    offered(hall, "ann", "bob")
    accepted = hall.confirm_all("ann")
    hall.do(MATCHMAKER, GameMade(accepted.offer_id))
    take(hall, Result(accepted.game_id, FINISHED, (1, 1), hall.now_ms))
    for subject in ("ann", "bob"):
        assert hall.pool.ratings[subject].mu == ratings.START_MU
        assert hall.pool.ratings[subject].sigma < ratings.START_SIGMA


@pytest.mark.parametrize(
    ("reason", "counts"),
    [
        (EndReason.FINISHED, True),
        (EndReason.RESIGNED, True),
        (EndReason.ABANDONED, False),
        (EndReason.ABORTED, False),
    ],
)
def test_which_ends_count(hall: Hall, reason: EndReason, counts: bool) -> None:
    play(hall, [["ann", "bob"]], reason)
    assert bool(hall.pool.ratings) is counts
    assert not hall.pool.games


def test_games_with_bots_and_unrated_ones_do_not_count(hall: Hall) -> None:
    play(hall, [["ann", "bob"]], unrated=True)
    hall.table("ann", 2)
    hall.do("ann", asked.AddBotRequest("x", GAME, "random"))
    [*_, accepted] = hall.do("ann", asked.StartTableRequest("start", GAME))
    hall.do(MATCHMAKER, GameMade(accepted.offer_id))
    take(hall, Result(accepted.game_id, FINISHED, (1, 2), hall.now_ms))
    assert not hall.pool.ratings and not hall.pool.games


def test_a_game_that_nobody_may_watch_is_not_rated(hall: Hall) -> None:
    for subject in ("ann", "bob"):
        hall.queue(subject, 2, terms=GameTerms(no_spectators=True))
    hall.wait(SECOND)
    accepted = hall.confirm_all("ann")
    hall.do(MATCHMAKER, GameMade(accepted.offer_id))
    take(hall, Result(accepted.game_id, FINISHED, (1, 2), hall.now_ms))
    assert not hall.pool.ratings and not hall.pool.games
    hall.check_log()


def test_a_game_in_which_one_has_resigned_keeps_one_out_of_no_other() -> None:
    hall = Hall(HouseRules(HOUSE.rules, games_at_once=1))
    offered(hall, "ann", "bob", "cid")
    accepted = hall.confirm_all("ann")
    seat = accepted.subjects.index("ann")
    resigned = TakeResults(0, 0, 5, 0, (), (Resignation(accepted.game_id, seat),))
    hall.do(MATCHMAKER, resigned)  # it tells that the game is made, too
    hall.do(MATCHMAKER, TakeResults(0, 5, 6, 0, (), resigned.resigned))
    assert hall.pool.games[accepted.game_id].resigned == (seat,)
    hall.queue("ann", 2)
    refused(hall, "TOO_MANY_GAMES", lambda: hall.queue("bob", 2))
    take(hall, Result(accepted.game_id, EndReason.FINISHED, (1, 2, 3), hall.now_ms))
    hall.queue("bob", 2)
    hall.check_log()


def test_results_are_taken_in_once(hall: Hall) -> None:
    offered(hall, "ann", "bob")
    accepted = hall.confirm_all("ann")
    hall.do(MATCHMAKER, GameMade(accepted.offer_id))
    results = TakeResults(3, 0, 17, 2, (Result(accepted.game_id, FINISHED, (1, 2), hall.now_ms),))
    hall.do(MATCHMAKER, results)
    once = snapshot(hall.pool)
    refused(hall, "RESULTS_TAKEN", lambda: hall.do(MATCHMAKER, results))
    hall.do(MATCHMAKER, TakeResults(3, 17, 20, 2, results.results))
    assert snapshot(hall.pool) != once
    assert hall.pool.ratings["ann"].games == 1
    assert hall.pool.positions[3] == (20, 2)


def test_a_game_may_end_before_it_is_known_to_be_made(hall: Hall) -> None:
    offered(hall, "ann", "bob")
    accepted = hall.confirm_all("ann")
    assert accepted.game_id in hall.pool.starting
    take(hall, Result(accepted.game_id, FINISHED, (1, 2), hall.now_ms), Result("another", FINISHED, (1, 2), 0))
    assert not hall.pool.tickets and not hall.pool.games and not hall.pool.starting
    assert set(hall.pool.ratings) == {"ann", "bob"}
    assert hall.do(MATCHMAKER, GameMade(accepted.offer_id)) == []


# --- who lets offers lapse


def lapse(hall: Hall, subject: str) -> int:
    """The subject queues, is offered a game, and does nothing; whoever plays with it goes away after that. When the
    offer lapsed.
    """
    other = f"other {len(hall.events)}"
    offered(hall, subject, other)
    hall.confirm(other)
    deadline_ms = hall.offer(subject).deadline_ms
    hall.wait(HOUSE.offer_ms)
    hall.cancel(other)
    return deadline_ms


def test_pauses_grow_with_the_offers_that_one_lets_lapse(hall: Hall) -> None:
    lapse(hall, "ann")
    lapsed_ms = lapse(hall, "ann")  # the first was free
    pauses = []
    for _ in range(9):
        refusal = refused(hall, "OFFERS_MISSED", lambda: hall.queue("ann", 2))
        until_ms = int(refusal.details["until_ms"])
        told = states.state_of(hall.pool, "ann").pause
        assert told is not None and told.until_ms == until_ms
        pauses.append(until_ms - lapsed_ms)
        hall.now_ms = until_ms - 1
        refused(hall, "OFFERS_MISSED", lambda: hall.queue("ann", 2))
        hall.now_ms = until_ms
        lapsed_ms = lapse(hall, "ann")
    grown = [HOUSE.pause_ms << number for number in range(9)]
    assert pauses == [min(each, HOUSE.longest_pause_ms) for each in grown]
    assert states.state_of(hall.pool, "bob").pause is None
    hall.check_log()


def test_missed_offers_are_forgotten_in_time(hall: Hall) -> None:
    lapse(hall, "ann")
    lapse(hall, "ann")
    hall.wait(hall.pool.missed["ann"].forgotten_ms - hall.now_ms - 60 * SECOND)
    lapse(hall, "ann")
    refused(hall, "OFFERS_MISSED", lambda: hall.queue("ann", 2))
    hall.now_ms = hall.pool.missed["ann"].forgotten_ms
    lapse(hall, "ann")
    hall.queue("ann", 2)
    hall.cancel("ann")
    hall.wait(2 * HOUSE.missed_ms)
    assert not hall.pool.missed and deciding.due(hall.pool) is None
    hall.check_log()


def test_a_party_waits_for_its_member_that_has_to_pause(hall: Hall) -> None:
    lapse(hall, "ann")
    lapse(hall, "ann")
    hall.party("bob", "ann")
    refusal = refused(hall, "OFFERS_MISSED", lambda: hall.queue("bob", 2))
    assert refusal.details["subject"] == "ann"


@pytest.mark.parametrize("how", ["decline", "cancel"])
def test_whoever_ends_offers_again_and_again_has_to_pause_too(hall: Hall, how: str) -> None:
    for _ in range(2):
        offered(hall, "ann", "bob")
        getattr(hall, how)("ann")
        hall.cancel("bob")  # it waits again, without an offer
    refused(hall, "OFFERS_MISSED", lambda: hall.queue("ann", 2))
    assert "bob" not in hall.pool.missed
    hall.queue("bob", 2)
    hall.check_log()


def test_whoever_ends_the_offer_of_a_party_has_missed_it_and_nobody_else(hall: Hall) -> None:
    hall.party("ann", "bob")
    for subject in ("ann", "cid"):
        hall.queue(subject, 3)
    assert groups(hall.wait(SECOND)) == [["ann", "bob", "cid"]]
    hall.do("bob", asked.LeavePartyRequest(hall.command_id(), GAME))
    assert hall.pool.missed.keys() == {"bob"} and not hall.pool.offers
    hall.check_log()


def test_what_is_over_is_not_matched_however_much_is_over_at_once(hall: Hall) -> None:
    count = deciding.MOST_TIMERS + 50
    for number in range(count):
        hall.queue(f"player {number}", 2, wait_ms=SECOND)
    hall.now_ms += 5 * SECOND  # nobody looked at the pool
    events = hall.tick()
    assert outcomes(events) == [TicketOutcome.EXPIRED] * count and not groups(events)


def test_two_who_only_decline_keep_nobody_apart(hall: Hall) -> None:
    """They are as near in rating as can be, take turns, and decline as late as they can."""
    honest, others = ("ann", "bob"), ("eve", "mal")
    for subject in (*honest, *others):
        hall.pool.ratings.put(subject, Rating(subject, 25_000_000, 2_000_000))
    for subject in ("ann", "eve"):
        hall.queue(subject, 2)
    hall.wait(5 * SECOND)
    for subject in ("bob", "mal"):
        hall.queue(subject, 2)
    began_ms = hall.now_ms
    while not hall.pool.starting:
        for subject in (*honest, *others):
            if not hall.has_offer(subject):
                continue
            if subject in honest and subject in hall.offer(subject).missing:
                hall.confirm(subject)
            elif subject in others and hall.offer(subject).deadline_ms <= hall.now_ms + 3 * SECOND:
                hall.decline(subject)
        for subject in others:
            if subject not in hall.pool.ticket_of:
                with contextlib.suppress(Refusal):
                    hall.queue(subject, 2)
        hall.wait(SECOND)
        assert hall.now_ms - began_ms < 10 * 60 * SECOND
    assert set(next(iter(hall.pool.offers.values())).subjects) == {*honest}


def test_a_table_has_no_pause(hall: Hall) -> None:
    table_id = hall.table("ann", 2)
    hall.do("bob", asked.SitDownRequest(hall.command_id(), GAME, table_id))
    hall.do("ann", asked.StartTableRequest(hall.command_id(), GAME))
    hall.wait(HOUSE.offer_ms)
    assert not hall.pool.missed


def at_the_end(hall: Hall, subject: str, late_ms: int, heard_ms: int) -> list[Any]:
    """What comes of the subject's offer, looked at so late; answers came from so long after it was made on."""
    deadline_ms = hall.offer(subject).deadline_ms
    hall.now_ms = deadline_ms + late_ms
    made_ms = deadline_ms - HOUSE.offer_ms
    return hall._keep(deciding.tick(hall.pool, hall.now_ms, hall.luck(), made_ms + heard_ms))


@pytest.mark.parametrize(("late_ms", "heard_ms", "fault"), [(0, 0, True), (AWAY_MS, -1, True), (0, 1, False)])
def test_who_could_not_confirm_is_not_at_fault(hall: Hall, late_ms: int, heard_ms: int, fault: bool) -> None:
    offered(hall, "ann", "bob")
    hall.confirm("ann")
    age = hall.ticket("bob").age
    events = at_the_end(hall, "bob", late_ms, heard_ms)
    assert outcomes(events) == [TicketOutcome.NOT_CONFIRMED] * fault
    assert any(isinstance(event, OfferLapsed) for event in events)
    assert ("bob" in hall.pool.missed) == fault == ("bob" not in hall.pool.ticket_of)
    assert fault or hall.ticket("bob").age == age
    hall.check_log()


def test_an_offer_that_is_looked_at_late_is_nobodys_fault(hall: Hall) -> None:
    offered(hall, "ann", "bob")
    assert outcomes(at_the_end(hall, "bob", AWAY_MS + 1, 0)) == []
    assert sorted(hall.pool.ticket_of) == ["ann", "bob"] and not hall.pool.missed


def test_nobody_leaves_the_table_whose_offer_ends_in_an_outage(hall: Hall) -> None:
    table_id = hall.table("ann", 2)
    hall.do("bob", asked.SitDownRequest(hall.command_id(), GAME, table_id))
    hall.do("ann", asked.StartTableRequest(hall.command_id(), GAME))
    at_the_end(hall, "ann", 0, 1)
    assert hall.pool.tables[table_id].people == ["ann", "bob"] and not hall.pool.tables[table_id].offer_id


# --- the machinery


def test_terms_that_are_refused_are_not_remembered() -> None:
    hall = Hall(HouseRules(HOUSE.rules))
    for number in range(100):
        many = tuple((f"{number}.{option}", "") for option in range(200))
        for terms in (GameTerms(many), GameTerms(rulings=many), GameTerms(((f"made up {number}", ""),))):
            with pytest.raises(Refusal) as caught:
                hall.queue("ann", 2, terms=terms)
            assert caught.value.reason in ("UNKNOWN_OPTION", "UNKNOWN_RULING")
    assert not hall.house._resolved
    hall.queue("ann", 2)
    assert len(hall.house._resolved) == 1


def test_so_much_that_is_due_is_more_than_one_entry(hall: Hall) -> None:
    """By its bytes: subjects may be long."""
    deadline_ms = hall.now_ms + SECOND
    for number in range(deciding.MOST_TIMERS):
        subjects = tuple(f"{number:03}.{seat}".ljust(128, "\N{GAME DIE}") for seat in range(6))
        made = OfferMade(f"offer {number}", subjects=subjects, terms_id="none", deadline_ms=deadline_ms)
        for pool in (hall.pool, hall.reader):
            evolve(pool, hall.now_ms, made)
    hall.now_ms = deadline_ms
    sizes, missed = [], 0
    while hall.pool.offers:
        events = hall.tick_once()
        sizes.append(sum(len(encode_event(event)) for event in events))
        missed += sum(isinstance(event, OfferMissed) for event in events)
    assert missed == 6 * deciding.MOST_TIMERS
    assert sum(sizes) > 4 * deciding.MOST_BYTES and max(sizes) < deciding.MOST_BYTES + 4_000


def test_codes_are_unlike_each_other() -> None:
    step = Step(Hall().pool, 0, bytes(32))
    codes = [step.code() for _ in range(1_000)]
    assert len(set(codes)) == 1_000 and all(len(code) == 16 for code in codes)


@pytest.mark.parametrize("count", [0, 15, 16, PIECE, PIECE + 1, 2 * PIECE + 16])
def test_a_snapshot_is_made_in_pieces(hall: Hall, count: int) -> None:
    for number in range(count):
        hall.pool.ratings.put(f"p{number}", Rating(f"p{number}", number, 1))
    hall.pool.settle()
    data = snapshot(hall.pool)
    restored = restore(HOUSE, data)
    assert restored.ratings == hall.pool.ratings and len(restored.ratings) == count
    assert snapshot(restored) == data


def test_old_timers_take_no_memory(hall: Hall) -> None:
    for _ in range(2_000):
        hall.queue("ann", 2)
        hall.cancel("ann")
    assert len(hall.pool.timers) < 200
