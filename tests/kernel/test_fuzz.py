"""Fuzz: whatever bytes arrive as a command, they are read or refused, and refused ones change nothing."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guildhall.kernel.decide import decide
from guildhall.kernel.game import Game, restore
from guildhall.kernel.ids import decision_id
from guildhall.kernel.refusal import Refusal
from guildhall.kernel.wire import WireError
from tests.kernel.test_tiny_game import TINY
from tests.kernel.tiny.build import structs as t
from tests.kernel.tiny.game import RULES
from tests.suites.subject import begin, everything_listed, play


def positions() -> list[bytes]:
    """Snapshots of games in all their phases."""
    found = []
    for seed in range(6):
        random = Random(seed)
        game, _ = begin(TINY, random)
        for _ in play(TINY, game, random):
            found.append(game.snapshot())
    return found


POSITIONS = positions()
LEGAL = sorted(
    {
        t.encode_command(command)
        for data in POSITIONS[::3]
        for game in [restore(RULES, data)]
        for decision in game.waiting()
        for command in everything_listed(game, decision.seat, Random(0))
    }
)


@st.composite
def mangled(draw: Any) -> bytes:
    """Bytes of a command that is legal somewhere, with a few bytes changed, put in or taken out."""
    data = bytearray(draw(st.sampled_from(LEGAL)))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        how = draw(st.sampled_from(("set", "insert", "cut")))
        if how == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=3))
        elif how == "cut":
            del data[at : at + 1]
        elif at < len(data):
            data[at] = draw(st.integers(0, 255))
    return bytes(data)


def submit(game: Game, decision: str, seat: int, data: bytes) -> bool:
    """Whether the bytes are an accepted command; refusals of any kind change nothing."""
    before = game.snapshot()
    try:
        command = t.decode_command(data)
        assert t.decode_command(t.encode_command(command)) == command
        decide(game, seat, decision, command, subject="player", command_id="fuzz", at_ms=game.at_ms)
    except (WireError, Refusal) as refused:
        assert str(refused)
        assert game.snapshot() == before
        return False
    assert game.version == restore(RULES, before).version + 1
    return True


@given(st.sampled_from(POSITIONS), st.one_of(st.binary(max_size=24), mangled()), st.integers(0, 5), st.data())
def test_bytes_are_refused_or_are_a_legal_command(position: bytes, data: bytes, seat: int, more: Any) -> None:
    game = restore(RULES, position)
    ids = [decision_id(decision.version, decision.seat) for decision in game.open]
    decision = more.draw(st.one_of(st.sampled_from([*ids, "1.0", ""]), st.text(max_size=8)))
    if submit(game, decision, seat, data):
        assert decision in ids and decision.endswith(f".{seat}")


@pytest.mark.parametrize("position", POSITIONS[::5])
def test_a_command_is_accepted_where_it_is_legal_and_nowhere_else(position: bytes) -> None:
    """The fuzz can find commands that are accepted: all that are legal somewhere are tried here."""
    for data in LEGAL:
        game = restore(RULES, position)
        for decision in game.open:
            legal = game.legal(decision.seat).holds(t.decode_command(data))
            assert submit(game, decision_id(decision.version, decision.seat), decision.seat, data) == legal
            game = restore(RULES, position)
