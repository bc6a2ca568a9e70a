"""Decisions: ids, refusals, defaults, forced choices, frames that ask nobody."""

import base64
from typing import Any, ClassVar

import pytest

from guildhall.kernel.cards import front, knows, new_card, told
from guildhall.kernel.decide import MAX_FRAMES, check_command_id, resign
from guildhall.kernel.frames import Choice
from guildhall.kernel.game import MAX_COMMAND_ID, MAX_LISTED, NOTHING, UNDO, Listing
from guildhall.kernel.ids import base32, game_id, payload_hash
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.table import Overrun
from tests.kernel.stage import Ask, Play, points, score, staged
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import new_hall


def test_an_id_is_version_and_seat() -> None:
    play = Play(staged(Ask(1), Ask(0)))
    assert play.open_ids() == ["1.1"]
    play.do(1, t.Bid(2))
    assert play.open_ids() == ["2.0"]
    assert play.game.waiting()[0].kind == "ask"


def test_a_closed_decision_is_stale_and_another_seats_is_not_yours() -> None:
    play = Play(staged(Ask(1), Ask(0)))
    play.do(1, t.Bid(2))
    for closed in ("1.1", "2.1", "3.0", "02.0", "2.0 ", "", "x"):
        assert play.refused(0, t.Bid(1), of=closed).reason == "STALE_DECISION"
    assert play.refused(1, t.Bid(1), of="2.0").reason == "NOT_YOUR_SEAT"


def test_nothing_is_decided_after_the_end() -> None:
    play = Play(staged(Ask(0)))
    play.do(0, t.Bid(0))
    assert play.game.ended is not None and play.game.open == ()
    assert play.refused(0, t.Bid(0), of="1.0").reason == "GAME_OVER"
    assert play.game.legal(0) == NOTHING
    with pytest.raises(Refusal, match="GAME_OVER"):
        resign(play.game, 1, subject="player-1", command_id="late", at_ms=play.now)


def test_an_accepted_id_gives_its_version_and_with_another_command_is_refused() -> None:
    play = Play(staged(Ask(0), Ask(0)))
    play.do(0, t.Bid(1), of="1.0", command_id="mine")
    payload = payload_hash("1.0", t.encode_command(t.Bid(1)))
    other = payload_hash("1.0", t.encode_command(t.Bid(2)))
    for game in (play.game, play.folded(), play.restored()):
        assert game.accepted_version("player-0", "mine", payload) == 2
        assert game.accepted_version("player-1", "mine", payload) is None
        with pytest.raises(Refusal, match="COMMAND_ID_REUSED") as refused:
            game.accepted_version("player-0", "mine", other)
        assert refused.value.details == {"version": "2"}


def test_an_accepted_id_is_never_accepted_again() -> None:
    play = Play(staged(Ask(0), Ask(0)))
    play.do(0, t.Bid(1), command_id="mine")
    refusal = play.refused(0, t.Bid(1), command_id="mine")
    assert refusal.reason == "COMMAND_ID_REUSED" and refusal.details == {"version": "2"}
    play.do(0, t.Bid(1))
    play.check_stored()


def test_ids_of_one_subject_are_not_another_subjects() -> None:
    play = Play(staged(Ask(0), Ask(1)))
    play.do(0, t.Bid(1), command_id="same")
    play.do(1, t.Bid(1), command_id="same")
    assert play.game.version == 3


@pytest.mark.parametrize("bad", ["", "x" * (MAX_COMMAND_ID + 1), "é" * (MAX_COMMAND_ID // 2 + 1)])
def test_a_command_id_has_bounds_in_bytes(bad: str) -> None:
    check_command_id("player-0", "x" * MAX_COMMAND_ID)
    with pytest.raises(Refusal, match="INVALID_COMMAND_ID"):
        check_command_id("player-0", bad)


def test_a_game_id_depends_on_subject_and_command_id_and_on_where_they_part() -> None:
    ids = {game_id("ab", "c"), game_id("a", "bc"), game_id("abc", ""), game_id("ab", "d")}
    assert len(ids) == 4 and {len(each) for each in ids} == {26}
    assert game_id("ab", "c") in ids


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 10, 16, 32])
def test_ids_are_written_in_base32(size: int) -> None:
    digest = bytes(range(255 - size, 255))
    assert base32(digest) == base64.b32encode(digest).decode().rstrip("=").lower()


def test_what_is_not_listed_is_refused_by_the_frame_and_changes_nothing() -> None:
    play = Play()
    refusal = play.refused(0, t.Bid(3 + 1))
    assert (refusal.reason, refusal.rule) == ("TOO_FEW_COINS", "T-1")
    assert play.refused(0, t.Mark()).reason == "TOO_FEW_COINS"
    assert play.refused(0, UNDO).reason == "UNDO_CLOSED"


class Unlisted(Ask, tag="unlisted"):
    def default(self, hall: Any, seat: int) -> Any:
        return t.Bid(self.below)


def test_a_default_that_is_not_listed_changes_nothing() -> None:
    play = Play(staged(Unlisted(0)))
    before = play.game.snapshot()
    with pytest.raises(AssertionError, match="default of Unlisted"):
        play.time_out(0)
    assert play.game.snapshot() == before
    play.do(0, t.Bid(1))
    assert points(play.game) == [1, 0]


def test_a_seat_that_is_asked_has_something_to_choose() -> None:
    with pytest.raises(AssertionError, match="lists nothing"):
        Play(staged(Ask(0, below=0)))


def test_a_listing_stays_below_its_bound() -> None:
    Play(staged(Ask(0, below=MAX_LISTED)))
    with pytest.raises(Overrun, match="more than"):
        Play(staged(Ask(0, below=MAX_LISTED + 1)))


class Nobody(Ask, tag="nobody"):
    def asked(self, hall: Any) -> list[int]:
        return []


def test_a_frame_that_asks_nobody_is_passed_over() -> None:
    play = Play(staged(Nobody(0), Nobody(1), Ask(1)))
    assert play.open_ids() == ["1.1"]


def test_a_game_that_asks_nobody_ends_at_once() -> None:
    play = Play(staged(Nobody(0)))
    assert play.game.ended is not None and play.game.version == 1
    play.check_stored()


class Forced(Ask, tag="forced"):
    FORCED: ClassVar[bool] = True


def test_a_forced_choice_with_one_option_is_not_asked() -> None:
    play = Play(staged(Forced(0, below=1), Forced(0, below=2), Forced(0, below=1)))
    assert play.open_ids() == ["1.0"]
    play.do(0, t.Bid(1))
    assert play.game.ended is not None


def test_a_choice_that_is_not_marked_is_asked_even_with_one_option() -> None:
    play = Play(staged(Ask(0, below=1)))
    assert play.game.legal(0) == Listing([t.Bid(0)], [])


class PlayOne(Choice, tag="play_one"):
    """Only its seat can see that there is one card to play."""

    FORCED: ClassVar[bool] = True
    seat: int
    may_pass: bool

    def asked(self, hall: Any) -> list[int]:
        return [self.seat]

    def options(self, hall: Any, seat: int) -> Any:
        if self.may_pass:
            yield t.Allow()
        yield from (t.PlayCard(front(card)) for card in hall.seats[seat].hand if front(card))
        if not self.may_pass and not any(map(front, hall.seats[seat].hand)):
            yield from (t.Allow(), t.Mark())

    def default(self, hall: Any, seat: int) -> Any:
        return next(iter(self.options(hall, seat)))

    def choose(self, table: Any, seat: int, command: Any) -> None:
        score(table, seat, 1)


def hand_of_one(created: Any) -> Any:
    hall = new_hall(created)
    hall.seats[0].hand.append(told(new_card(4), 4, knows(0)))
    return hall


def test_a_forced_choice_that_only_its_seat_sees_to_be_single_is_asked() -> None:
    play = Play(staged(PlayOne(0, False), new_hall=hand_of_one))
    assert play.game.legal(0) == Listing([t.PlayCard(4)], [])


def test_a_forced_choice_cannot_lose_options_that_only_its_seat_sees() -> None:
    with pytest.raises(AssertionError, match="not everybody can see"):
        Play(staged(PlayOne(0, True), new_hall=hand_of_one))


class Watched(Ask, tag="watched"):
    """Keeps the halls that the kernel hands to each method."""

    halls: ClassVar[dict[str, list[Any]]] = {}

    def asked(self, hall: Any) -> list[int]:
        self.halls.setdefault("asked", []).append(hall)
        return super().asked(hall)

    def kind(self, hall: Any) -> str:
        self.halls.setdefault("kind", []).append(hall)
        return "watched"

    def options(self, hall: Any, seat: int) -> list[Any]:
        self.halls.setdefault("options", []).append(hall)
        return super().options(hall, seat)

    def default(self, hall: Any, seat: int) -> Any:
        self.halls.setdefault("default", []).append(hall)
        return super().default(hall, seat)

    def why(self, hall: Any, seat: int, command: Any) -> Refusal:
        self.halls.setdefault("why", []).append(hall)
        return super().why(hall, seat, command)

    def choose(self, table: Any, seat: int, command: Any) -> None:
        self.halls.setdefault("choose", []).append(table.hall)
        super().choose(table, seat, command)


def hands_of_two(created: Any) -> Any:
    hall = new_hall(created)
    for seat, place in enumerate(hall.seats):
        place.hand.append(told(new_card(seat + 1), seat + 1, knows(seat)))
    hall.deck.append(new_card(5))
    return hall


def fronts(hall: Any) -> tuple[int, ...]:
    places = (hall.seats[0].hand, hall.seats[1].hand, hall.deck)
    return tuple(front(card) for place in places for card in place)


def test_only_choose_sees_the_truth() -> None:
    Watched.halls.clear()
    play = Play(staged(Watched(0), Watched(0), new_hall=hands_of_two))
    play.refused(0, t.Bid(9))
    play.do(0, t.Bid(0))
    play.time_out(0)
    shown = {name: {fronts(hall) for hall in halls} for name, halls in Watched.halls.items()}
    everybody, seat_0, truth = {(0, 0, 0)}, {(1, 0, 0)}, {(1, 2, 5)}
    assert shown == {
        "asked": everybody,
        "kind": everybody,
        "options": seat_0,
        "default": seat_0,
        "why": seat_0,
        "choose": truth,
    }


def test_a_decision_is_listed_once_and_reused() -> None:
    Watched.halls.clear()
    play = Play(staged(Watched(0), Ask(0)))
    play.game.legal(0)
    play.refused(0, t.Bid(9))
    play.do(0, t.Bid(1))
    assert len(Watched.halls["options"]) == 1


def test_a_decision_needs_no_more_frames_than_the_bound() -> None:
    assert Play(staged(*(Nobody(0) for _ in range(MAX_FRAMES - 3)), Ask(0))).open_ids() == ["1.0"]
    with pytest.raises(Overrun, match="frames"):
        Play(staged(*(Nobody(0) for _ in range(MAX_FRAMES)), Ask(0)))
