"""Creating a game: players, options, rulings, clocks, packs."""

import hashlib
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from guildhall.kernel.decide import Creation, created_event
from guildhall.kernel.packs import BadPack, Packs
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.rules import Choosable, Rules
from guildhall.kernel.v1.structs import Clock, Setting
from tests.kernel.stage import SEED, Ask, Play, points, staged
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import PACKS, RULES, parse

SUBJECTS = ("ann", "bob", "cat")
OPTIONS = (
    Choosable("length", "short", ("short", "long"), "How long.", "T-9"),
    Choosable("first", "", None, "Who begins."),
)


def refuse_nine(created: Any) -> Refusal | None:
    return Refusal("INVALID_OPTION", "No ninth seat.") if Setting("first", "9") in created.options else None


WITH_OPTIONS = replace(RULES, options=OPTIONS, check_setup=refuse_nine)


def created(rules: Rules = WITH_OPTIONS, subjects: Any = SUBJECTS, **chosen: Any) -> Any:
    return created_event(rules, Creation(subjects, **chosen), "game", SEED)


def test_the_first_event_holds_everything_resolved_and_sorted() -> None:
    event = created(options={"length": "long"}, rulings={"steal": "3"}, decision_ms=60_000, spectators=False)
    assert event.options == (Setting("first", ""), Setting("length", "long"))
    assert event.rulings == (Setting("steal", "3"),)
    assert event.clock == Clock(60_000) and not event.spectators and not event.seed_given
    assert event.subjects == SUBJECTS and event.pack_hash == RULES.pack_hash
    assert event.seed_hash == hashlib.sha256(SEED).digest()
    assert created().rulings == (Setting("steal", "2"),)


def test_a_seed_that_the_creator_brings_is_used_and_told() -> None:
    event = created(seed=bytes(32))
    assert event.seed == bytes(32) and event.seed_given
    assert event.seed_hash == hashlib.sha256(bytes(32)).digest()


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        ({"subjects": ("ann",)}, "WRONG_PLAYER_COUNT"),
        ({"subjects": ()}, "WRONG_PLAYER_COUNT"),
        ({"subjects": tuple("abcde")}, "WRONG_PLAYER_COUNT"),
        ({"subjects": ("ann", "ann")}, "DUPLICATE_SUBJECT"),
        ({"subjects": ("ann", "")}, "INVALID_SUBJECT"),
        ({"subjects": ("ann", "b" * 129)}, "INVALID_SUBJECT"),
        ({"subjects": ("ann", "guildhall:clock")}, "INVALID_SUBJECT"),
        ({"options": {"lenght": "long"}}, "UNKNOWN_OPTION"),
        ({"options": {"length": "Long"}}, "INVALID_OPTION"),
        ({"options": {"length": ""}}, "INVALID_OPTION"),
        ({"options": {"first": "9"}}, "INVALID_OPTION"),
        ({"options": {"steal": "2"}}, "UNKNOWN_OPTION"),
        ({"rulings": {"stael": "2"}}, "UNKNOWN_RULING"),
        ({"rulings": {"steal": "4"}}, "INVALID_RULING"),
        ({"decision_ms": 999}, "INVALID_CLOCK"),
        ({"decision_ms": 0}, "INVALID_CLOCK"),
        ({"decision_ms": 2**32}, "INVALID_CLOCK"),
        ({"seed": bytes(31)}, "INVALID_SEED"),
    ],
)
def test_what_the_game_does_not_offer_is_refused(chosen: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(Refusal) as refused:
        created(**chosen)
    assert refused.value.reason == reason and refused.value.message


def test_a_refused_value_names_its_rule_and_what_is_allowed() -> None:
    with pytest.raises(Refusal, match=r"short, long.*\(T-9\)"):
        created(options={"length": "x"})


def test_an_unknown_name_is_answered_with_what_there_is() -> None:
    with pytest.raises(Refusal, match=r"no option 'lenght'\. There are: length=short\|long, first=TEXT\."):
        created(options={"lenght": "long"})
    with pytest.raises(Refusal, match=r"There are: none\."):
        created(RULES, options={"length": "long"})


def test_the_default_of_an_option_comes_first() -> None:
    assert str(replace(OPTIONS[0], default="long")) == "length=long|short"


def test_a_refusal_is_short_whatever_was_asked_and_whatever_there_is() -> None:
    many = replace(RULES, options=tuple(Choosable(f"option_{n}", "a", ("a", "b"), "") for n in range(1_000)))
    for chosen in ({"x" * 100_000: "a"}, {"option_1": "x" * 100_000}):
        with pytest.raises(Refusal) as refused:
            created(many, options=chosen)
        assert len(refused.value.message) < 1_200 and "option_1" in refused.value.message


def test_a_refusal_passes_through_context_managers_and_can_be_compared() -> None:
    @contextmanager
    def measured() -> Any:
        yield

    with pytest.raises(Refusal, match="UNKNOWN_OPTION"), measured():
        created(options={"x": "y"})
    assert Refusal("A", "b", details={"c": "d"}) == Refusal("A", "b", details={"c": "d"}) != Refusal("A", "b")
    assert len({Refusal("A", "b", details={"c": "d"}), Refusal("A", "b", details={"c": "d"})}) == 1


def test_a_bad_pack_is_refused_by_name_and_not_kept() -> None:
    packs = Packs(parse)
    for bad in (b"size=two", b"size", b"a=1=2", b"\xff"):
        with pytest.raises(BadPack) as refused:
            packs.add(bad)
        assert repr(bad) in str(refused.value)
        assert hashlib.sha256(bad).digest() not in packs


def test_a_pack_is_known_by_the_hash_of_its_bytes() -> None:
    packs = Packs(parse)
    first, second = packs.add(b"size=1"), packs.add(b"size=2")
    assert first == packs.add(b"size=1") == hashlib.sha256(b"size=1").digest()
    assert packs[first] == {"size": 1} and packs[second] == {"size": 2}
    assert packs.data(second) == b"size=2"
    with pytest.raises(KeyError):
        packs[bytes(32)]


class Measure(Ask, tag="measure"):
    """Its points are the size in the pack."""

    def choose(self, table: Any, seat: int, command: Any) -> None:
        table.emit(t.Rolled(seat, 0, table.content["size"]))


def test_an_old_game_goes_on_with_its_own_pack() -> None:
    old = staged(Measure(0), Measure(1))
    play = Play(old)
    play.rules = replace(old, pack_hash=PACKS.add(b"size=7"))
    play.game = play.folded()
    play.do(0, t.Bid(0))
    play.game = play.restored()
    play.do(1, t.Bid(0))
    assert points(play.game) == [1, 1]
    new = Play(play.rules)
    new.do(0, t.Bid(0))
    assert points(new.game) == [7, 0]


def test_rules_for_more_seats_than_cards_can_tell_apart_are_refused() -> None:
    replace(RULES, seats=range(1, 8))
    for seats in (range(2, 9), range(3)):
        with pytest.raises(ValueError, match="seats"):
            replace(RULES, seats=seats)
