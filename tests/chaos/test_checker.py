"""The checker finds nothing in a true story, and every kind of violation in a forged one."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from guildhall.arcane_alley.v1 import event_pb2
from guildhall.kernel.v1 import log_pb2, record_pb2
from tests.chaos import forgery, history
from tests.chaos.checker import counts, judge
from tests.chaos.forgery import GAME, LAST, MS, Story, true_story
from tests.chaos.history import Kind, Result
from tests.chaos.violations import Rule
from tests.chaos.witness import Raw, fold_topic


def found(story: Story) -> set[Rule]:
    return {violation.rule for violation in judge(story.calls, fold_topic([story.log], event_pb2.Event))}


def test_a_true_story_has_no_violation() -> None:
    story = true_story()
    told = fold_topic([story.log], event_pb2.Event)
    assert judge(story.calls, told) == []
    assert (told.records, told.claims, told.void_claim, told.void_seq) == (LAST + 3, 2, 1, 0)
    assert [len(versions) for versions in told.games.values()] == [LAST]


def test_a_history_is_kept(tmp_path: Path) -> None:
    calls = true_story().calls
    history.save(calls, tmp_path / "history")
    assert history.load(tmp_path / "history") == calls
    assert counts(calls)["write refused STALE_DECISION"] == 1


Forge = Callable[[Story], None]


def offset_of(number: int) -> int:
    """Where the record of that version lies in the true log."""
    return number if number < 4 else number + 2


def reencode(story: Story, number: int, **fields: object) -> None:
    """Changes the body of a version, and gives it a hash that goes with it."""
    offset = offset_of(number)
    before = log_pb2.LogValue.FromString(story.log[offset].value or b"").entry
    prev = record_pb2.Record.FromString(before.body).prev_hash
    body = forgery.encoded(number, prev, **fields)  # type: ignore[arg-type]  # names of fields of both
    story.log[offset] = Raw(offset, GAME.encode(), forgery.entry(before.claim, number, body))


def a_lost_tail(story: Story) -> None:
    story.remove(offset_of(LAST))


def a_lost_command(story: Story) -> None:
    reencode(story, LAST, command_id="another", who="alice")
    story.calls.append(forgery.write(LAST, LAST * 10 * MS, command_id="another", result=Result.UNKNOWN))


def a_read_of_what_never_was(story: Story) -> None:
    story.calls.append(forgery.read(Kind.VIEW, "bob", 90 * MS, LAST + 1))


def another_version_told(story: Story) -> None:
    story.change(5, version=4)


def the_same_command_twice(story: Story) -> None:
    reencode(story, LAST, command_id="c4", who=forgery.subject(4))


def another_command_than_was_sent(story: Story) -> None:
    story.change(LAST, payload=forgery.payload(99))


def another_command_than_nobody_heard_of(story: Story) -> None:
    story.calls = [c for c in story.calls if c.command_id != f"c{LAST}" or c.start < 70 * MS]
    story.change(LAST, payload=forgery.payload(99), result=Result.UNKNOWN, version=0)


def nobody_sent_it(story: Story) -> None:
    story.calls = [call for call in story.calls if call.command_id != f"c{LAST}"]


def refused_and_yet_there(story: Story) -> None:
    story.calls = [c for c in story.calls if c.command_id != f"c{LAST}" or c.start < 70 * MS]
    story.change(LAST, result=Result.REFUSED, reason="GAME_BUSY", version=0)


def acknowledged_in_another_order(story: Story) -> None:
    story.change(LAST, start=5 * MS, end=6 * MS)


def seen_before_it_was_sent(story: Story) -> None:
    story.change(5, Kind.VIEW, start=41 * MS, end=42 * MS)


def a_stale_read(story: Story) -> None:
    story.change(4, Kind.LEGAL, start=54 * MS, end=55 * MS)


def a_stale_list_of_events(story: Story) -> None:
    story.change(4, Kind.EVENTS, start=54 * MS, end=55 * MS)


def a_read_that_goes_back(story: Story) -> None:
    """Another client had read the newer version, though nobody has had the acknowledgement yet."""
    story.change(LAST, end=200 * MS)
    story.change(LAST, Kind.LEGAL, start=61 * MS, end=62 * MS)
    story.change(5, Kind.LEGAL, start=63 * MS, end=64 * MS)


def a_stale_refusal(story: Story) -> None:
    story.calls.append(
        forgery.write(
            20, 90 * MS, subject="bob", decision_id="6.1", result=Result.REFUSED, reason="STALE_DECISION", version=5
        )
    )


def refused_though_open(story: Story) -> None:
    story.calls.append(
        forgery.write(
            20, 90 * MS, subject="bob", decision_id="6.1", result=Result.REFUSED, reason="STALE_DECISION", version=LAST
        )
    )


def refused_though_accepted(story: Story) -> None:
    story.calls.append(forgery.write(3, 90 * MS, result=Result.REFUSED, reason="STALE_DECISION", version=LAST))


def not_found_though_created(story: Story) -> None:
    story.calls.append(forgery.write(20, 90 * MS, result=Result.REFUSED, reason="GAME_NOT_FOUND"))


def over_though_it_goes_on(story: Story) -> None:
    story.calls.append(forgery.write(20, 90 * MS, result=Result.REFUSED, reason="GAME_OVER"))


def reused_though_new(story: Story) -> None:
    story.calls.append(forgery.write(20, 90 * MS, result=Result.REFUSED, reason="COMMAND_ID_REUSED"))


def reused_though_the_same(story: Story) -> None:
    story.calls.append(forgery.write(2, 90 * MS, result=Result.REFUSED, reason="COMMAND_ID_REUSED"))


def another_seats_though_ones_own(story: Story) -> None:
    story.calls.append(
        forgery.write(20, 90 * MS, subject="bob", decision_id="6.1", result=Result.REFUSED, reason="NOT_YOUR_SEAT")
    )


def accepted_with_another_payload(story: Story) -> None:
    story.calls.append(forgery.write(3, 90 * MS, result=Result.ACCEPTED, version=3, payload=forgery.payload(99)))


def another_hash_told(story: Story) -> None:
    index = story.call(LAST, Kind.EVENTS)
    hashes = story.calls[index].hashes
    story.change(LAST, Kind.EVENTS, hashes=(hashes[1], *hashes[1:]))


def another_decision_listed(story: Story) -> None:
    story.change(5, Kind.LEGAL, decisions=("5.1",))


def a_decision_not_listed(story: Story) -> None:
    story.change(LAST, Kind.LEGAL, subject="bob", decisions=())


def a_game_without_a_version(story: Story) -> None:
    story.calls.append(forgery.read(Kind.EVENTS, "bob", 1, 0))


def waits_for_another(story: Story) -> None:
    story.change(5, Kind.VIEW, decisions=("4.1",))


def a_stream_with_a_hole(story: Story) -> None:
    story.change(5, Kind.WATCH, after=3)


def a_stream_that_repeats(story: Story) -> None:
    story.change(5, Kind.WATCH, after=5)


def an_internal_error(story: Story) -> None:
    story.calls.append(forgery.write(20, 90 * MS, result=Result.REFUSED, reason="INTERNAL"))


def an_offset_is_missing(story: Story) -> None:
    del story.log[offset_of(2)]


def a_version_is_skipped(story: Story) -> None:
    prev = log_pb2.LogValue.FromString(story.log[-1].value or b"").entry.hash
    story.insert(len(story.log), GAME, forgery.entry(4, LAST + 2, forgery.encoded(LAST + 2, prev)))


def a_flipped_bit(story: Story) -> None:
    value = log_pb2.LogValue.FromString(story.log[-1].value or b"")
    value.entry.hash = bytes([value.entry.hash[0] ^ 1]) + value.entry.hash[1:]
    story.log[-1] = Raw(story.log[-1].offset, GAME.encode(), value.SerializeToString())


def a_rewritten_body(story: Story) -> None:
    reencode(story, 3, rules="other")


def another_seed(story: Story) -> None:
    created = event_pb2.Event()
    created.game_created.subjects.extend(forgery.SEATS)
    created.game_created.seed = forgery.SEED
    created.game_created.seed_hash = bytes(32)
    body = record_pb2.Record.FromString(forgery.encoded(1, b""))
    body.events[0] = created.SerializeToString()
    story.log[1:] = [Raw(1, GAME.encode(), forgery.entry(0, 1, body.SerializeToString()))]


def decided_twice_under_one_claim(story: Story) -> None:
    prev = log_pb2.LogValue.FromString(story.log[offset_of(5)].value or b"").entry.hash
    story.insert(offset_of(LAST) + 1, GAME, forgery.entry(4, LAST, forgery.encoded(LAST, prev, rules="again")))


def another_games_body(story: Story) -> None:
    reencode(story, LAST, aggregate_id="another")


def no_record_of_ours(story: Story) -> None:
    story.insert(len(story.log), GAME, b"\xff\xff\xff")


def a_claim_under_a_games_key(story: Story) -> None:
    story.insert(len(story.log), GAME, forgery.claim("three"))


def no_body_of_ours(story: Story) -> None:
    value = log_pb2.Entry(claim=4, seq=LAST + 1, hash=bytes(32), body=b"\xff\xff")
    story.insert(len(story.log), GAME, log_pb2.LogValue(entry=value).SerializeToString())


def two_commands_in_one_record(story: Story) -> None:
    prev = log_pb2.LogValue.FromString(story.log[-1].value or b"").entry.hash
    body = record_pb2.Record.FromString(forgery.encoded(LAST + 1, prev))
    body.commands.add(subject="bob", command_id="beside")
    story.insert(len(story.log), GAME, forgery.entry(4, LAST + 1, body.SerializeToString()))


@pytest.mark.parametrize(
    ("forge", "rule"),
    [
        (a_lost_tail, Rule.LOST),
        (a_lost_command, Rule.LOST),
        (a_read_of_what_never_was, Rule.LOST),
        (another_version_told, Rule.WRONG_VERSION),
        (the_same_command_twice, Rule.DOUBLED),
        (another_command_than_was_sent, Rule.ALTERED),
        (accepted_with_another_payload, Rule.ALTERED),
        (another_command_than_nobody_heard_of, Rule.ALTERED),
        (nobody_sent_it, Rule.UNASKED),
        (refused_and_yet_there, Rule.REFUSED_YET_EFFECTIVE),
        (acknowledged_in_another_order, Rule.ORDER),
        (seen_before_it_was_sent, Rule.ORDER),
        (a_stale_read, Rule.STALE),
        (a_stale_list_of_events, Rule.STALE),
        (a_read_that_goes_back, Rule.STALE),
        (a_stale_refusal, Rule.STALE),
        (refused_though_open, Rule.UNFOUNDED),
        (refused_though_accepted, Rule.UNFOUNDED),
        (not_found_though_created, Rule.UNFOUNDED),
        (over_though_it_goes_on, Rule.UNFOUNDED),
        (reused_though_new, Rule.UNFOUNDED),
        (reused_though_the_same, Rule.UNFOUNDED),
        (another_seats_though_ones_own, Rule.UNFOUNDED),
        (another_hash_told, Rule.DIFFERENT),
        (another_decision_listed, Rule.DIFFERENT),
        (a_decision_not_listed, Rule.DIFFERENT),
        (a_game_without_a_version, Rule.DIFFERENT),
        (waits_for_another, Rule.DIFFERENT),
        (a_stream_with_a_hole, Rule.GAP),
        (a_stream_that_repeats, Rule.GAP),
        (an_offset_is_missing, Rule.GAP),
        (a_version_is_skipped, Rule.GAP),
        (an_internal_error, Rule.UNEXPECTED),
        (a_flipped_bit, Rule.CHAIN),
        (a_rewritten_body, Rule.CHAIN),
        (another_seed, Rule.CHAIN),
        (decided_twice_under_one_claim, Rule.REDECIDED),
        (another_games_body, Rule.MISPLACED),
        (no_record_of_ours, Rule.UNREADABLE),
        (a_claim_under_a_games_key, Rule.UNREADABLE),
        (no_body_of_ours, Rule.UNREADABLE),
        (two_commands_in_one_record, Rule.UNREADABLE),
    ],
)
def test_a_forged_story_is_found_out(forge: Forge, rule: Rule) -> None:
    story = true_story()
    forge(story)
    assert rule in found(story)


def test_a_game_in_the_wrong_partition_is_found_out() -> None:
    records = true_story().log
    place = int.from_bytes(hashlib.sha256(GAME.encode()).digest()[:8], "big") % 2
    right, wrong = ([records, []], [[], records])[:: 1 - 2 * place]
    assert fold_topic(right, event_pb2.Event).violations == []
    assert {v.rule for v in fold_topic(wrong, event_pb2.Event).violations} == {Rule.MISPLACED}


def test_every_rule_has_its_forgery() -> None:
    """But for STUCK, which the campaign finds by itself."""
    [mark] = [mark for mark in test_a_forged_story_is_found_out.pytestmark if mark.name == "parametrize"]  # type: ignore[attr-defined]  # pytest's own
    assert {rule for _, rule in mark.args[1]} == set(Rule) - {Rule.STUCK}
