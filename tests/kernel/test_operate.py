"""Operators' commands: a game paused, resumed, aborted, put back; also one whose records cannot all be folded."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from guildhall.kernel import ids
from guildhall.kernel.decide import Decided
from guildhall.kernel.fold import Unfoldable, fold_all, follow
from guildhall.kernel.game import UNDO, Game, Listing
from guildhall.kernel.operate import MAX_WHY, Order, abort, pause, payload, restore, resume
from guildhall.kernel.redact import redact
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.v1.structs import EndReason, GameEnded, Paused, Restored, Resumed, decode_Record, encode_Record
from guildhall.kernel.verify import Altered, verify
from tests.kernel.stage import SEED, Ask, Play, points, staged
from tests.kernel.tiny.build import structs as t

CLOCK_MS = 60_000


class Operated(Play):
    """A game that an operator works on too."""

    def order(self, why: str = "the cat is on the table", command_id: str = "") -> Order:
        self.now += 1_000
        return Order("operator", command_id or f"operator-{self.game.version}", why, self.now)

    def operate(self, act: Callable[..., Decided], *more: Any) -> Decided:
        self.steps.append(act(self.game, self.order(), *more))
        self.check_stored()
        return self.steps[-1]

    def at(self, version: int) -> Game:
        return fold_all(self.rules, self.records()[:version])

    def to_the_end(self) -> None:
        while self.game.ended is None:
            seat = self.game.waiting()[0].seat
            self.do(seat, next(c for c in self.game.legal(seat).commands if c != UNDO))


def refusal(act: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(Refusal) as caught:
        act(*arguments)
    return caught.value.reason


def test_who_when_and_why_are_in_the_record() -> None:
    play = Operated()
    record = play.operate(pause).record
    [ref] = record.commands
    assert (ref.subject, record.at_ms, record.seat) == ("operator", play.now, None)
    assert ref.payload_hash == payload("pause", "the cat is on the table")
    assert [t.decode_event(event) for event in record.events] == [Paused("the cat is on the table")]
    assert play.game.accepted_version("operator", ref.command_id, ref.payload_hash) == 2


def test_a_paused_game_takes_no_command_of_its_players() -> None:
    play = Operated(decision_ms=CLOCK_MS)
    ids_before = play.open_ids()
    play.operate(pause)
    assert play.refused(0, t.Bid(0)).reason == "GAME_PAUSED"
    assert refusal(play.resign, 0) == refusal(play.time_out, 0) == "GAME_PAUSED"
    assert refusal(pause, play.game, play.order()) == "GAME_PAUSED"
    for seat in (0, 1):
        assert play.game.legal(seat) == Listing([], [])
        assert play.game.view(seat).game.paused == "the cat is on the table"
    play.operate(resume)
    assert play.open_ids() == ids_before and play.game.view(None).game.paused == ""
    play.do(0, t.Bid(0))
    play.check_stored()
    assert refusal(resume, play.game, play.order()) == "GAME_NOT_PAUSED"


def test_clocks_stand_still_while_a_game_is_paused() -> None:
    play = Operated(decision_ms=CLOCK_MS)
    before = [d.deadline_ms for d in play.game.open]
    play.operate(pause)
    play.now += 3_600_000
    [resumed] = play.operate(resume).events
    assert resumed == Resumed("the cat is on the table", 3_601_000)
    assert [d.deadline_ms - old for d, old in zip(play.game.open, before, strict=True)] == [3_601_000] * 2


def test_a_pause_keeps_what_can_be_taken_back_and_its_time() -> None:
    play = Operated(staged(Ask(0), Ask(0), Ask(1)), decision_ms=CLOCK_MS)
    first = play.game.open[0].deadline_ms
    play.do(0, t.Bid(1))
    assert UNDO in play.game.legal(0).commands
    play.operate(pause)
    play.now += 10_000
    play.operate(resume)
    assert UNDO in play.game.legal(0).commands
    play.do(0, UNDO)
    play.check_stored()
    assert points(play.game) == [0, 0] and play.game.open[0].deadline_ms == first + 11_000


def test_a_game_without_clock_has_none_after_a_pause() -> None:
    play = Operated()
    play.operate(pause)
    play.operate(resume)
    assert {d.deadline_ms for d in play.game.open} == {0}


@pytest.mark.parametrize("paused", [False, True])
def test_an_aborted_game_has_ended_without_ranks_and_verifies(paused: bool) -> None:
    play = Operated()
    play.do(0, t.Bid(1))
    if paused:
        play.operate(pause)
    play.operate(abort)
    assert play.game.ended == GameEnded(EndReason.ABORTED, (), "the cat is on the table")
    assert play.game.open == () and play.game.paused == ""
    assert play.refused(0, t.Bid(0), of="1.0").reason == "GAME_OVER"
    for act in (pause, resume, abort):
        assert refusal(act, play.game, play.order()) == "GAME_OVER"
    assert refusal(restore, play.game, play.order(), play.at(1)) == "GAME_OVER"
    assert verify(play.rules, play.records()).game.created.seed == SEED


def test_a_game_put_back_asks_again_what_was_asked_then() -> None:
    play = Operated(seats=3, decision_ms=CLOCK_MS)
    play.do(0, t.Bid(2))
    then = play.at(2)
    play.do(1, t.Bid(0))
    play.resign(2)
    draws, version = play.game.next_draw, play.game.version
    assert draws > then.next_draw or play.game.hall.round == 1
    [event] = play.operate(restore, play.at(2)).events
    assert (event.to_version, event.resigned, event.next_draw) == (2, (), draws)
    assert play.game.state_bytes() == then.state_bytes() and play.game.resigned == (False,) * 3
    assert play.open_ids() == [f"{version + 1}.{d.seat}" for d in then.open]
    assert [d.seat for d in play.game.waiting()] == [d.seat for d in then.waiting()]
    assert refusal(play.do, 1, t.Bid(0)) == "GAME_PAUSED"
    play.operate(resume)
    assert play.game.open[0].deadline_ms == play.now + CLOCK_MS - 1_000 + 1_000
    assert play.refused(1, t.Bid(0), of="1.1").reason == "STALE_DECISION"
    play.do(1, t.Bid(0))
    assert play.game.accepted_version("player-1", "v2", play.steps[2].record.commands[0].payload_hash) == 3
    play.to_the_end()
    play.check_stored()
    assert verify(play.rules, play.records()).draws == play.game.next_draw


def test_seats_that_had_resigned_then_have_resigned_again() -> None:
    play = Operated(seats=3)
    play.resign(1)
    play.do(0, t.Bid(1))
    play.operate(restore, play.at(2))
    assert play.game.resigned == (False, True, False)


def test_nobody_but_the_log_gets_the_state_that_was_restored() -> None:
    play = Operated()
    [event] = play.operate(restore, play.at(1)).events
    assert event.state
    for viewer in (0, 1, None):
        assert redact(play.rules, event, viewer) == Restored(event.why, event.to_version)


@pytest.mark.parametrize("why", ["", "  ", "a\nb", "x" * (MAX_WHY + 1), "\x1b[31m"])
def test_why_is_words_that_can_be_shown(why: str) -> None:
    play = Operated()
    before = play.game.snapshot()
    assert refusal(pause, play.game, play.order(why)) == "INVALID_WHY"
    assert refusal(pause, play.game, Order("operator", "", "why", 1)) == "INVALID_COMMAND_ID"
    assert play.game.snapshot() == before


def test_an_order_counts_once() -> None:
    play = Operated()
    play.operate(pause)
    taken = play.steps[-1].record.commands[0].command_id
    before = play.game.snapshot()
    assert refusal(resume, play.game, play.order(command_id=taken)) == "COMMAND_ID_REUSED"
    assert play.game.snapshot() == before


# --- records that cannot be folded


def read(play: Operated, bad: dict[int, bytes]) -> Game:
    """The game as a reader has it that meets other bytes in place of some bodies."""
    game: Game | None = None
    for number, step in enumerate(play.steps, start=1):
        game, _ = follow(play.rules, game, number, bad.get(number, step.body), step.hash)
    assert game is not None
    return game


def broken(play: Operated) -> Operated:
    """A game some versions on, its version 3 about to be found bad."""
    play.do(0, t.Bid(1))
    play.do(1, t.Bid(0))
    play.do(0, t.Roll())
    play.do(0, next(c for c in play.game.legal(0).commands if type(c) is t.PlayCard))
    return play


BAD = {
    "unreadable": lambda body: b"\xff" + body[1:],
    "truncated": lambda body: body[:-3],
    "a flipped bit": lambda body: body.replace(b"player-1", b"player-0"),
    "an unknown event": lambda body: encode_Record(
        replace(decode_Record(body), events=(*decode_Record(body).events, b"\xfa\x07\x02\x08\x01"))
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_game_goes_on_behind_records_that_cannot_be_folded(bad: str) -> None:
    play = broken(Operated(decision_ms=CLOCK_MS))
    other = {3: BAD[bad](play.steps[2].body)}
    game, whole = read(play, other), play.at(2)
    assert (game.version, game.hash) == (5, play.game.hash)
    assert "version 3" in game.lost or "record cannot" in game.lost
    play.steps.append(restore(game, play.order(), whole))
    [event] = play.steps[-1].events
    assert event.next_draw >= play.game.next_draw > 0
    for reader in (read(play, other), play.folded()):
        assert (reader.version, reader.hash, reader.next_draw) == (6, game.hash, event.next_draw)
        assert reader.state_bytes() == whole.state_bytes() and reader.paused and not reader.lost
        assert (reader.open, reader.timeouts, reader.resigned) == (game.open, (0, 0), (False, False))
        assert len(reader.accepted) >= 5
    play.game = game
    play.steps.append(resume(game, play.order()))
    [draw] = play.do(1, t.Bid(1)).record.draws  # a tie, which a die decides
    assert draw.n == event.next_draw
    play.do(game.waiting()[0].seat, t.Mark())
    assert read(play, other).snapshot() == game.snapshot()
    assert len(play.records()) == 9
    if bad != "an unknown event":
        bodies = [(other.get(n, body), digest) for n, (body, digest) in enumerate(play.records(), start=1)]
        with pytest.raises(Altered, match=r"version 3|record cannot be read"):
            verify(play.rules, bodies)


def test_what_a_flipped_bit_says_of_luck_is_not_believed() -> None:
    """Nor is luck drawn again that lies in records that nobody can read."""
    play = broken(Operated())
    rolled = play.steps[3]
    [draw] = rolled.record.draws
    assert draw.n > 0
    flipped = encode_Record(replace(rolled.record, draws=(replace(draw, n=draw.n - 1),)))
    game = read(play, {4: flipped})
    assert game.next_draw > draw.n
    whole = play.at(3)
    [event] = restore(whole, play.order(), play.at(3), unread=True).events
    assert event.next_draw > draw.n


def test_draws_that_were_passed_over_are_not_counted() -> None:
    play = Operated()
    play.steps.append(restore(play.game, play.order(), play.at(1), unread=True))
    play.operate(resume)
    play.to_the_end()
    made = sum(len(decode_Record(body).draws) for body, _ in play.records())
    assert verify(play.rules, play.records()).draws == made > 0


def test_without_a_first_version_there_is_no_game() -> None:
    play = Operated()
    with pytest.raises(Unfoldable):
        follow(play.rules, None, 1, b"nonsense", play.steps[0].hash)


def test_a_restoring_record_that_cannot_be_folded_itself_restores_nothing() -> None:
    play = broken(Operated())
    play.operate(restore, play.at(1))
    game = read(play, {3: b"nonsense", 6: play.steps[5].body.replace(b"cat", b"dog")})
    assert game.lost and game.version == 6


def test_a_game_with_a_bad_record_can_be_aborted() -> None:
    play = broken(Operated())
    other = {3: b"nonsense"}
    game, whole = read(play, other), play.at(2)
    play.steps.append(abort(game, play.order(), whole))
    for reader in (read(play, other), play.folded(), game):
        assert reader.ended == GameEnded(EndReason.ABORTED, (), "the cat is on the table")
        assert reader.state_bytes() == play.rules.join_state(whole.hall, play.rules.encode_agenda([], 0))
        assert reader.open == () and reader.view(None).game.ended is not None


def test_a_game_that_ended_in_records_that_cannot_be_folded_stays_ended() -> None:
    """Its seed may have been told."""
    play = broken(Operated())
    play.to_the_end()
    game = read(play, {3: BAD["a flipped bit"](play.steps[2].body)})
    whole = play.at(2)
    assert refusal(restore, game, play.order(), whole) == refusal(abort, game, play.order(), whole) == "GAME_OVER"


def test_draws_that_were_skipped_are_not_the_games() -> None:
    """A record may skip draws only by saying so."""
    play = broken(Operated())
    assert play.game.next_draw
    play.operate(restore, play.at(1))
    forged = decode_Record(play.steps[-1].body)
    event = replace(t.decode_event(forged.events[0]), next_draw=0)
    body = encode_Record(replace(forged, events=(t.encode_event(event),)))
    play.steps[-1] = replace_body(play, body)
    play.game = play.folded()
    play.steps.append(resume(play.game, play.order()))
    play.do(0, t.Bid(1))
    play.do(1, t.Bid(0))
    play.do(0, t.Roll())
    play.steps.append(abort(play.game, play.order()))
    with pytest.raises(Altered, match=r"draw 0 of version \d+ is not the seed's"):
        verify(play.rules, play.records())


def replace_body(play: Operated, body: bytes) -> Decided:
    record = decode_Record(body)
    digest = ids.version_hash(record.prev_hash, SEED, record.seq, body)
    return Decided(record, body, digest, [t.decode_event(event) for event in record.events])
